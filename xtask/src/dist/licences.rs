//! Compares the licences of the crates in the program with `deny.toml`, without cargo-deny.

use std::collections::BTreeMap;

use super::crates::{Crate, Id};
use super::{expect, files};
use crate::deny;
use crate::tools::{StepResult, root};

/// Checks that every crate can be used under allowed licences.
pub(super) fn check(crates: &BTreeMap<Id, Crate>) -> StepResult {
    let config = files::read(&root().join(deny::FILE))?;
    let allowed = deny::list(&config, "allow");
    let refused = crates.iter().filter(|(_, entry)| !permits(&entry.licence, &allowed));
    let refused: Vec<String> = refused.map(|((name, _), entry)| format!("{name}: {}", entry.licence)).collect();
    expect(refused.is_empty(), &format!("{} allows the licences of all crates {}", deny::FILE, refused.join(", ")))
}

/// Returns whether an SPDX expression can be satisfied with these licences. `/` is the old way to write `OR`.
fn permits(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    any(&mut words, allowed) && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any(words: &mut Words, allowed: &[&str]) -> bool {
    let mut holds = all(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        holds |= all(words, allowed);
    }
    holds
}

fn all(words: &mut Words, allowed: &[&str]) -> bool {
    let mut holds = term(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        holds &= term(words, allowed);
    }
    holds
}

/// A licence with its exception counts as a licence of its own.
fn term(words: &mut Words, allowed: &[&str]) -> bool {
    match words.next() {
        Some("(") => any(words, allowed) & words.next_if_eq(&")").is_some(),
        Some(name) if words.next_if_eq(&"WITH").is_some() => {
            let exception = words.next().unwrap_or_default();
            allowed.contains(&format!("{name} WITH {exception}").as_str())
        }
        Some(name) => allowed.contains(&name),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_permitted_if_one_choice_has_allowed_licences_only() {
        let allowed = ["MIT", "ISC", "Unicode-3.0"];
        for good in ["MIT", "MIT/GPL-2.0", "(MIT OR GPL-2.0) AND Unicode-3.0", "GPL-2.0 AND BSL-1.0 OR ISC AND MIT"] {
            assert!(permits(good, &allowed), "{good}");
        }
        for bad in
            ["", "GPL-2.0", "MIT AND GPL-2.0", "MIT WITH x", "(MIT", "MIT)", "MIT ISC", "(MIT OR ISC) AND GPL-2.0"]
        {
            assert!(!permits(bad, &allowed), "{bad}");
        }
        assert!(permits("MIT WITH x OR GPL-2.0", &["MIT WITH x"]));
    }
}
