//! Checks that every invariant and every requirement of the sync preset names its tests, and that those tests exist.
//!
//! A reviewer judges whether a test really checks its invariant. These rules find a missing row, and a row that names a
//! test that was renamed or deleted.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::markdown::{cells, code_spans};
use super::rust::Source;
use super::tree::Tree;

const FILE: &str = "docs/internals/invariants.md";
/// Folders in which tests are named by strings: the testkit's lists of conformance cases, and tests that run once per
/// database, with the database before the name.
const NAMED_BY_STRINGS: [&str; 2] = ["crates/turno-testkit/", "crates/turno/tests/"];

/// The invariants that must have a row.
const WANTED: &[(&str, &[u8])] = &[
    ("T", &[1, 2, 3, 4]),
    ("L", &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]),
    ("Q", &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20]),
    ("S", &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
    ("K", &[1, 2, 3, 4, 5]),
    ("V", &[1, 2]),
    ("R", &[1, 2, 3, 4, 5]),
    ("U", &[1, 2]),
];

/// The requirements of a sync preset: its sections, with the number of requirements in each.
const REQUIREMENTS: &str = "docs/internals/sync-preset.md";
const SECTIONS: &[(u8, u8)] = &[(1, 12), (2, 4), (3, 6), (4, 7), (5, 4)];

pub(super) fn every_one_is_tested(tree: &Tree) -> Vec<Finding> {
    rows_are_tested(tree, FILE, is_id, wanted())
}

pub(super) fn every_requirement_is_tested(tree: &Tree) -> Vec<Finding> {
    rows_are_tested(tree, REQUIREMENTS, is_requirement, requirements())
}

fn rows_are_tested(
    tree: &Tree,
    page: &'static str,
    is_id: fn(&str) -> bool,
    wanted: impl Iterator<Item = String>,
) -> Vec<Finding> {
    let Some(file) = tree.get(page) else {
        return vec![Finding::new(page, 0, "it does not exist: write the table `| id | … | tests |`")];
    };
    let names = Names::collect(tree);
    let (mut findings, mut rows) = (Vec::new(), BTreeMap::new());
    for (line, text) in file.lines() {
        let cells = cells(text);
        let Some(id) = cells.first().map(|cell| cell.trim_matches(['*', '`', ' '])) else {
            continue;
        };
        if !is_id(id) || cells.len() < 2 {
            continue;
        }
        let tests: Vec<&str> = cells.last().map(|cell| code_spans(cell).collect()).unwrap_or_default();
        for test in tests.iter().filter(|test| !names.contain(test)) {
            findings.push(Finding::new(page, line, format!("{id}: there is no test `{test}`")));
        }
        if tests.is_empty() {
            findings.push(Finding::new(page, line, format!("{id} names no test in its last column")));
        }
        if rows.insert(id.to_string(), line).is_some() {
            findings.push(Finding::new(page, line, format!("{id} has two rows")));
        }
    }
    for id in wanted.filter(|id| !rows.contains_key(id)) {
        findings.push(Finding::new(page, 0, format!("{id} has no row")));
    }
    findings
}

fn wanted() -> impl Iterator<Item = String> {
    WANTED.iter().flat_map(|(letter, numbers)| numbers.iter().map(move |number| format!("{letter}{number}")))
}

fn requirements() -> impl Iterator<Item = String> {
    SECTIONS.iter().flat_map(|(section, count)| (1..=*count).map(move |number| format!("{section}.{number}")))
}

fn is_requirement(text: &str) -> bool {
    text.split_once('.').is_some_and(|(section, number)| section.parse::<u8>().is_ok() && number.parse::<u8>().is_ok())
}

fn is_id(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|one| one.is_ascii_uppercase()) && characters.as_str().parse::<u8>().is_ok()
}

/// The names of all functions, and of all tests that are named by strings.
pub(super) struct Names {
    functions: BTreeSet<String>,
    cases: BTreeSet<String>,
}

impl Names {
    pub(super) fn collect(tree: &Tree) -> Self {
        let (mut functions, mut cases) = (BTreeSet::new(), BTreeSet::new());
        for file in tree.rust() {
            let source = Source::parse(&file.text);
            let words = source.code.split(|one: char| !one.is_alphanumeric() && one != '_');
            let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
            let named = words.windows(2).filter(|pair| pair[0] == "fn").map(|pair| pair[1].to_string());
            functions.extend(named);
            if NAMED_BY_STRINGS.iter().any(|folder| file.path.starts_with(folder)) {
                let last = |text: String| text.rsplit("::").next().map_or_else(String::new, str::to_owned);
                cases.extend(source.strings.into_iter().map(|(_, text)| last(text)));
            }
        }
        Self { functions, cases }
    }

    /// Accepts a test's path, because the test runner shows tests with their modules.
    pub(super) fn contain(&self, test: &str) -> bool {
        let function = test.rsplit("::").next().unwrap_or(test);
        self.cases.contains(function) || self.functions.contains(function)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: impl Iterator<Item = String>) -> String {
        format!("| id | claim | tests |\n|---|---|---|\n{}", rows.collect::<String>())
    }

    fn messages(invariants: &str) -> Vec<String> {
        let code = ("crates/turno/src/lib.rs", "// fn only_mentioned\nfn holds() {} \"a quoted case\"");
        let kit = ("crates/turno-testkit/src/cases.rs", "(\"a case\", run)");
        let tree = Tree::from_files(&[(FILE, invariants), code, kit]);
        every_one_is_tested(&tree).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_missing_requirement_and_an_unknown_test_are_found() {
        let row = |id: String| format!("| {id} | a | `holds` |\n");
        let code = ("crates/turno/src/lib.rs", "fn holds() {}");
        let found = |page: &str| every_requirement_is_tested(&Tree::from_files(&[(REQUIREMENTS, page), code])).len();
        assert_eq!(found(&table(requirements().map(row))), 0);
        assert_eq!(found(&table(requirements().skip(1).map(row))), 1, "left out");
        assert_eq!(found(&table(requirements().map(row)).replacen("`holds`", "`gone`", 1)), 1, "renamed");
    }

    #[test]
    fn a_complete_table_passes() {
        let complete = table(wanted().map(|id| format!("| {id} | a | `lease::holds`, `a case` |\n")));
        assert_eq!(messages(&complete), Vec::<String>::new());
    }

    #[test]
    fn a_missing_row_a_row_without_tests_and_an_unknown_test_are_found() {
        let rows = wanted().filter(|id| id != "Q11").map(|id| match id.as_str() {
            "T1" => "| T1 | `holds` | none |\n".to_string(),
            "L2" => "| **L2** | a | `only_mentioned` |\n".to_string(),
            "L3" => "| L3 | a | `a quoted case` |\n".to_string(),
            _ => format!("| {id} | a | `holds` |\n"),
        });
        let found = messages(&table(rows));
        let expected = [
            "T1 names no test in its last column",
            "L2: there is no test `only_mentioned`",
            "L3: there is no test `a quoted case`",
            "Q11 has no row",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_missing_table_is_found() {
        assert_eq!(every_one_is_tested(&Tree::from_files(&[])).len(), 1);
    }
}
