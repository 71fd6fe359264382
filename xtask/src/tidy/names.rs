//! Finds names that say nothing: `fn told`, `struct Work`.
//!
//! A name says what a function returns or does, or what a type is (CONTRIBUTING.md). These names were once frequent here
//! and made readers look up each definition.

use super::Finding;
use super::rust::Source;
use super::tree::Tree;

const FUNCTIONS: &[&str] = &["told", "shown", "said", "of", "one", "got"];
const TYPES: &[&str] =
    &["What", "Work", "One", "Place", "Got", "Dealt", "Hands", "Desk", "Say", "Taker", "CameBack", "Handed"];

/// Each word that begins a definition, with the names that may not follow it.
const DEFINITIONS: &[(&str, &[&str])] = &[("fn", FUNCTIONS), ("struct", TYPES), ("enum", TYPES), ("type", TYPES)];

pub(super) fn say_something(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        for (line, text) in (1..).zip(Source::parse(&file.text).code.lines()) {
            let words = text.split(|one: char| !one.is_alphanumeric() && one != '_').filter(|word| !word.is_empty());
            let words: Vec<&str> = words.collect();
            for pair in words.windows(2) {
                if DEFINITIONS.iter().any(|(word, banned)| pair[0] == *word && banned.contains(&pair[1])) {
                    let message = format!("`{} {}`: name what it returns, does or is", pair[0], pair[1]);
                    findings.push(Finding::new(&file.path, line, message));
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn banned_names_are_found_in_definitions_only() {
        let text = "pub(crate) fn told(&self) {}\nstruct Work;\nenum What {}\ntype Got<'a> = &'a str;\n\
                    fn retold() {} // fn told\nlet one = \"fn of\"; of(one); impl Work {}\nfn\tof() {}";
        let tree = Tree::from_files(&[("crates/turno/src/a.rs", text)]);
        let lines: Vec<usize> = say_something(&tree).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [1, 2, 3, 4, 7]);
    }
}
