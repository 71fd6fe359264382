//! `cargo xtask deny`: cargo-deny on every dependency. Advisories need the network, so it is no step of `cargo xtask test`.
//!
//! The lists of `deny.toml` are read here too, so that the steps `tidy` and `packaging` can check sources and licences
//! without cargo-deny.

use std::process::ExitCode;

use crate::tools::{Problem, StepResult, answers, cargo};

/// The configuration, at the root.
pub(crate) const FILE: &str = "deny.toml";

/// Checks advisories, licences, versions and sources.
pub(crate) fn run() -> ExitCode {
    match check() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            println!("--- deny: FAILED, {problem}");
            ExitCode::FAILURE
        }
    }
}

fn check() -> StepResult {
    if !answers("cargo", &["deny", "--version"]) {
        let get = "install it with `cargo install --locked cargo-deny`".into();
        return Err(Problem::Missing { what: "cargo-deny".into(), get });
    }
    cargo(&["deny", "--locked", "check"])
}

/// Returns the texts of a list in `deny.toml`, such as `allow`.
pub(crate) fn list<'a>(text: &'a str, key: &str) -> Vec<&'a str> {
    let begin = format!("\n{key} = [");
    let rest = text.split_once(&begin).map_or("", |(_, rest)| rest);
    let list = rest.split_once(']').map_or("", |(list, _)| list);
    list.split('"').skip(1).step_by(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_found_by_its_whole_key() {
        let text = "[licenses]\nallow = [\n    \"MIT\",\n    \"ISC\",\n]\nallow-registry = [\"a\"]\n";
        assert_eq!(list(text, "allow"), ["MIT", "ISC"]);
        assert_eq!(list(text, "allow-registry"), ["a"]);
        assert!(list(text, "registry").is_empty());
    }
}
