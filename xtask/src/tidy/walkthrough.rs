//! Checks that the files named in ARCHITECTURE.md exist, because the page leads a reader from file to file.

use super::Finding;
use super::markdown::code_spans;
use super::tree::Tree;

const FILE: &str = "ARCHITECTURE.md";
const ENDINGS: &[&str] = &[".rs", ".sql", ".md", ".toml", "/"];

pub(super) fn paths_exist(tree: &Tree) -> Vec<Finding> {
    let Some(file) = tree.get(FILE) else {
        return vec![Finding::new(FILE, 0, "it does not exist")];
    };
    let mut findings = Vec::new();
    for (line, text) in file.lines() {
        for span in code_spans(text).filter(|span| looks_like_a_path(span, tree)) {
            if !tree.contains(span) {
                findings.push(Finding::new(FILE, line, format!("`{span}` does not exist")));
            }
        }
    }
    findings
}

/// Returns whether the text is a path: by its ending, or because it begins with a top folder of the repository. Routes
/// begin with a slash and are not paths.
fn looks_like_a_path(span: &str, tree: &Tree) -> bool {
    let plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '_' | '-' | '.' | '/');
    if span.starts_with('/') || !span.contains('/') || !span.chars().all(plain) {
        return false;
    }
    let top = span.split('/').next().unwrap_or_default();
    ENDINGS.iter().any(|ending| span.ends_with(ending)) || tree.contains(&format!("{top}/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_path_is_found() {
        let text = "`crates/turno/src/lib.rs`, `crates/turno`, `crates/turno/`, `POST /v1/x`, `/v1/x`, `a/b`\n\
                    `crates/turno/src/gone.rs` and `crates/gone`\n`gone/` and `gone/a.sql`";
        let tree = Tree::from_files(&[(FILE, text), ("crates/turno/src/lib.rs", "")]);
        let lines: Vec<usize> = paths_exist(&tree).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [2, 2, 3, 3]);
    }

    #[test]
    fn a_missing_walkthrough_is_found() {
        assert_eq!(paths_exist(&Tree::from_files(&[])).len(), 1);
    }
}
