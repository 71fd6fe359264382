//! Checks the table of `docs/internals/asvs.md`: every requirement of levels 1 and 2 has a row with a known state, and the
//! files and tests that a row names as evidence exist.
//!
//! A reviewer judges whether the evidence shows the requirement. This rule finds a missing row, and a row whose evidence
//! was renamed or deleted.

use std::collections::BTreeMap;

use super::Finding;
use super::invariants::Names;
use super::markdown::{cells, code_spans};
use super::tree::Tree;

const FILE: &str = "docs/internals/asvs.md";

/// The states of a row. The first two need evidence.
const STATES: [&str; 4] = ["met", "partly", "not met", "not applicable"];

/// The sections of ASVS 5.0.0 with their requirements of levels 1 and 2. Chapter 17 (WebRTC) has no row, because nothing
/// of it applies.
const WANTED: &[(&str, &[u8])] = &[
    ("1.1", &[1, 2]),
    ("1.2", &[1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ("1.3", &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
    ("1.4", &[1, 2, 3]),
    ("1.5", &[1, 2]),
    ("2.1", &[1, 2, 3]),
    ("2.2", &[1, 2, 3]),
    ("2.3", &[1, 2, 3, 4]),
    ("2.4", &[1]),
    ("3.2", &[1, 2]),
    ("3.3", &[1, 2, 3, 4]),
    ("3.4", &[1, 2, 3, 4, 5, 6]),
    ("3.5", &[1, 2, 3, 4, 5]),
    ("3.7", &[1, 2]),
    ("4.1", &[1, 2, 3]),
    ("4.2", &[1]),
    ("4.3", &[1, 2]),
    ("4.4", &[1, 2, 3, 4]),
    ("5.1", &[1]),
    ("5.2", &[1, 2, 3]),
    ("5.3", &[1, 2]),
    ("5.4", &[1, 2, 3]),
    ("6.1", &[1, 2, 3]),
    ("6.2", &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
    ("6.3", &[1, 2, 3, 4]),
    ("6.4", &[1, 2, 3, 4]),
    ("6.5", &[1, 2, 3, 4, 5]),
    ("6.6", &[1, 2, 3]),
    ("6.8", &[1, 2, 3, 4]),
    ("7.1", &[1, 2, 3]),
    ("7.2", &[1, 2, 3, 4]),
    ("7.3", &[1, 2]),
    ("7.4", &[1, 2, 3, 4, 5]),
    ("7.5", &[1, 2]),
    ("7.6", &[1, 2]),
    ("8.1", &[1, 2]),
    ("8.2", &[1, 2, 3]),
    ("8.3", &[1]),
    ("8.4", &[1]),
    ("9.1", &[1, 2, 3]),
    ("9.2", &[1, 2, 3, 4]),
    ("10.1", &[1, 2]),
    ("10.2", &[1, 2]),
    ("10.3", &[1, 2, 3, 4]),
    ("10.4", &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
    ("10.5", &[1, 2, 3, 4, 5]),
    ("10.6", &[1, 2]),
    ("10.7", &[1, 2, 3]),
    ("11.1", &[1, 2]),
    ("11.2", &[1, 2, 3]),
    ("11.3", &[1, 2, 3]),
    ("11.4", &[1, 2, 3, 4]),
    ("11.5", &[1]),
    ("11.6", &[1]),
    ("12.1", &[1, 2, 3]),
    ("12.2", &[1, 2]),
    ("12.3", &[1, 2, 3, 4]),
    ("13.1", &[1]),
    ("13.2", &[1, 2, 3, 4, 5]),
    ("13.3", &[1, 2]),
    ("13.4", &[1, 2, 3, 4, 5]),
    ("14.1", &[1, 2]),
    ("14.2", &[1, 2, 3, 4]),
    ("14.3", &[1, 2, 3]),
    ("15.1", &[1, 2, 3]),
    ("15.2", &[1, 2, 3]),
    ("15.3", &[1, 2, 3, 4, 5, 6, 7]),
    ("16.1", &[1]),
    ("16.2", &[1, 2, 3, 4, 5]),
    ("16.3", &[1, 2, 3, 4]),
    ("16.4", &[1, 2, 3]),
    ("16.5", &[1, 2, 3]),
];

pub(super) fn every_requirement_has_a_row(tree: &Tree) -> Vec<Finding> {
    let Some(file) = tree.get(FILE) else {
        return vec![Finding::new(FILE, 0, "it does not exist: write the table `| id | … | state | … | evidence |`")];
    };
    let names = Names::collect(tree);
    let (mut findings, mut rows) = (Vec::new(), BTreeMap::new());
    for (line, text) in file.lines() {
        let cells = cells(text);
        let Some(id) = cells.first().map(|cell| cell.trim()).filter(|cell| is_id(cell)) else {
            continue;
        };
        let mut add = |message: String| findings.push(Finding::new(FILE, line, format!("{id}: {message}")));
        let [_, _, state, _, evidence] = cells[..] else {
            add("a row has five columns".to_owned());
            continue;
        };
        if !STATES.contains(&state.trim()) {
            add(format!("the state is one of {}", STATES.join(", ")));
        }
        let spans: Vec<&str> = code_spans(evidence).collect();
        if spans.is_empty() && STATES[..2].contains(&state.trim()) {
            add("names no file and no test in its last column".to_owned());
        }
        for span in spans.iter().filter(|span| !exists(span, tree, &names)) {
            add(format!("there is no file and no test `{span}`"));
        }
        if rows.insert(id.to_owned(), line).is_some() {
            add("has two rows".to_owned());
        }
    }
    for id in wanted().filter(|id| !rows.contains_key(id)) {
        findings.push(Finding::new(FILE, 0, format!("{id} has no row")));
    }
    findings
}

/// Evidence with a slash or a dot is a path, everything else a test.
fn exists(evidence: &str, tree: &Tree, names: &Names) -> bool {
    if evidence.contains(['/', '.']) { tree.contains(evidence) } else { names.contain(evidence) }
}

fn wanted() -> impl Iterator<Item = String> {
    WANTED.iter().flat_map(|(section, numbers)| numbers.iter().map(move |number| format!("{section}.{number}")))
}

fn is_id(text: &str) -> bool {
    text.split('.').count() == 3 && text.split('.').all(|part| part.parse::<u8>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(row: impl Fn(&str) -> Option<String>) -> Vec<String> {
        let rows: String = wanted().filter_map(|id| row(&id)).collect();
        let page = format!("| id | about | state | how | evidence |\n|---|---|---|---|---|\n{rows}");
        let code = ("crates/turno/src/lib.rs", "fn holds() {}");
        let tree = Tree::from_files(&[(FILE, &page), code, ("SECURITY.md", "")]);
        every_requirement_has_a_row(&tree).into_iter().map(|finding| finding.message).collect()
    }

    fn complete(id: &str) -> String {
        format!("| {id} | a | met | b | `holds`, `crates/turno/src/lib.rs`, `SECURITY.md` |\n")
    }

    #[test]
    fn a_complete_table_passes() {
        assert_eq!(messages(|id| Some(complete(id))), Vec::<String>::new());
        let other = messages(|id| Some(format!("| {id} | a | not applicable | no such thing | |\n")));
        assert_eq!(other, Vec::<String>::new(), "what does not apply needs no evidence");
    }

    #[test]
    fn missing_evidence_unknown_states_and_missing_rows_are_found() {
        let found = messages(|id| match id {
            "1.1.1" => Some(complete(id).replace("holds", "renamed")),
            "1.1.2" => Some(complete(id).replace("src/lib.rs", "src/gone.rs")),
            "1.2.1" => Some("| 1.2.1 | a | partly | `holds` | none |\n".to_owned()),
            "1.2.2" => Some("| 1.2.2 | a | fine | b | `holds` |\n".to_owned()),
            "1.2.3" => Some("| 1.2.3 | a | met | `holds` |\n".to_owned()),
            "1.2.4" => Some(format!("{}{}", complete(id), complete(id))),
            "16.5.3" => None,
            _ => Some(complete(id)),
        });
        let expected = [
            "1.1.1: there is no file and no test `renamed`",
            "1.1.2: there is no file and no test `crates/turno/src/gone.rs`",
            "1.2.1: names no file and no test in its last column",
            "1.2.2: the state is one of met, partly, not met, not applicable",
            "1.2.3: a row has five columns",
            "1.2.4: has two rows",
            "1.2.3 has no row",
            "16.5.3 has no row",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_missing_page_is_found() {
        assert_eq!(every_requirement_has_a_row(&Tree::from_files(&[])).len(), 1);
    }
}
