//! Checks which layer uses what. ARCHITECTURE.md lists each rule under "What never happens".

use super::rust::Source;
use super::tree::{File, Tree};
use super::{Finding, OURSELVES};

const CORE: &str = "crates/turno-core/";
const LIBRARY: &str = "crates/turno/";

/// Paths and keywords that would make a decision depend on more than its arguments.
const IMPURE: &[&str] = &[
    "std::time::SystemTime",
    "std::time::Instant",
    "std::time::*",
    "std::fs",
    "std::net",
    "std::thread",
    "std::env",
    "std::process",
    "std::io",
    "tokio",
    "rand",
    "async",
    "await",
];

/// Files that may contain SQL in strings: the stores, and tests and benchmarks that query the database from outside.
/// SQL files may also lie in [`APPLICATION_SQL`].
const SQL_HOMES: &[&str] = &[
    "crates/turno/src/stores/",
    "crates/turno/src/stores.rs",
    // Insert damaged rows for the self-check.
    "crates/turno/tests/check.rs",
    "crates/turno/tests/check/",
    // Call the SQL functions as an application does.
    "crates/turno/tests/sql/",
    "crates/turno/tests/sql.rs",
    "crates/turno-server/tests/http/scopes.rs",
    // Change an application's own tables.
    "crates/turno/tests/sync/",
    "crates/turno/tests/sync.rs",
    "crates/turno-server/tests/http/push_sync.rs",
    "crates/turno-server/tests/http/sync.rs",
    "crates/turno-server/tests/http/sync_soak.rs",
    "crates/turno-server/tests/cli/repair.rs",
    "crates/turno-server/tests/cli/sync.rs",
    // Look at the server's sessions.
    "crates/turno/tests/connect/",
    "crates/turno-server/tests/program/database.rs",
    "crates/turno-testkit/",
    "bench/",
    OURSELVES,
];

/// SQL files of applications, which use tables of their own and none of Turno's.
const APPLICATION_SQL: &[&str] = &[
    // The demo plays an application that changes its table.
    "crates/turno-server/src/cli/demo/siper/",
    "crates/turno-server/tests/cli/",
    "docs/guides/",
];

pub(super) fn core_is_pure(tree: &Tree) -> Vec<Finding> {
    let mut findings = paths_under(tree, CORE, IMPURE, "the core decides from its arguments alone");
    // A module that is imported as a whole would hide which of its names are used.
    for file in tree.rust().filter(|file| file.path.starts_with(CORE)) {
        for (line, path) in Source::parse(&file.text).paths() {
            if path == "std::time" || path == "std" {
                let message = format!("import the names from `{path}` one by one, so that they can be checked");
                findings.push(Finding::new(&file.path, line, message));
            }
        }
    }
    findings
}

pub(super) fn library_knows_no_http(tree: &Tree) -> Vec<Finding> {
    paths_under(tree, LIBRARY, &["axum", "hyper"], "HTTP belongs in crates/turno-server")
}

pub(super) fn examples_show_the_stable_api(tree: &Tree) -> Vec<Finding> {
    let inside = ["turno::core", "turno::store", "turno::clock"];
    paths_under(tree, "crates/turno/examples/", &inside, "it is public only with the feature `unstable`")
}

pub(super) fn sql_lives_in_the_stores(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| !file.lies_in(SQL_HOMES)) {
        for (line, text) in Source::parse(&file.text).strings {
            if text.lines().any(is_sql) {
                let message = "SQL belongs in a file under crates/turno/src/stores/*/sql";
                findings.push(Finding::new(&file.path, line, message));
            }
        }
    }
    let strays = |file: &&File| !file.lies_in(SQL_HOMES) && !file.lies_in(APPLICATION_SQL);
    for file in tree.with_extension("sql").filter(strays) {
        findings.push(Finding::new(&file.path, 1, "SQL for Turno's tables belongs in the stores"));
    }
    findings
}

fn paths_under(tree: &Tree, folder: &str, banned: &[&str], why: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| file.path.starts_with(folder)) {
        for (line, path) in Source::parse(&file.text).paths() {
            if banned.iter().any(|one| begins_with(&path, one)) {
                findings.push(Finding::new(&file.path, line, format!("`{path}` is not allowed here: {why}")));
            }
        }
    }
    findings
}

/// Returns whether a path is the banned one or begins with it.
fn begins_with(path: &str, banned: &str) -> bool {
    path.strip_prefix(banned).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Returns whether a line is an SQL statement: it begins with the keyword and contains the word that belongs to it.
/// A sentence for people rarely does both.
fn is_sql(line: &str) -> bool {
    let words: Vec<String> = line.to_lowercase().split_whitespace().map(String::from).collect();
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    match words.first().map(String::as_str) {
        Some("select") => has("from") || words.len() == 1 || line.contains('('),
        Some("update") => has("set"),
        Some("insert") => words.get(1).is_some_and(|word| word == "into"),
        Some("delete") => words.get(1).is_some_and(|word| word == "from"),
        Some("create" | "alter" | "drop") => has("table") || has("index"),
        Some("with") => words.get(2).is_some_and(|word| word == "as"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(findings: &[Finding]) -> Vec<usize> {
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn the_core_may_not_know_time_files_threads_or_chance() {
        let text = "//! std::fs is not used\nuse std::{fs, time::{Duration, Instant}};\nasync fn a() {}\n\
                    fn b() { rand::random() }\nfn c(env: operand::X) { ::std::thread::park() }\nuse std::time;";
        let findings = core_is_pure(&Tree::from_files(&[("crates/turno-core/src/lib.rs", text)]));
        assert_eq!(lines(&findings), [2, 2, 3, 4, 5, 6]);
        assert!(core_is_pure(&Tree::from_files(&[("crates/turno/src/lib.rs", text)])).is_empty());
    }

    #[test]
    fn the_library_may_not_know_http() {
        let text = "//! axum\nuse axum::Router;";
        assert_eq!(lines(&library_knows_no_http(&Tree::from_files(&[("crates/turno/src/lib.rs", text)]))), [2]);
        assert!(library_knows_no_http(&Tree::from_files(&[("crates/turno-server/src/http.rs", text)])).is_empty());
    }

    #[test]
    fn inside_of_the_library_is_found_in_an_example() {
        let text = "use turno::Turno;\nuse turno::core::time::Span;\nuse turno::queue::Claim;\n";
        assert_eq!(
            lines(&examples_show_the_stable_api(&Tree::from_files(&[("crates/turno/examples/a.rs", text)]))),
            [2]
        );
    }

    #[test]
    fn sql_outside_the_stores_is_found_and_sentences_are_not() {
        let sentences = "\"select a queue first\"; \"update your settings\"; // select a from b\n";
        let statements = "\"select a\n from b\"; \"\n  INSERT INTO c\"; \"delete from d\"; \"select f(1)\"";
        let both = format!("{sentences}\"select a from b\";\n{statements}");
        let findings = sql_lives_in_the_stores(&Tree::from_files(&[("crates/turno/src/engine.rs", both.as_str())]));
        assert_eq!(lines(&findings), [2, 4, 5, 5]);
        let home = Tree::from_files(&[("crates/turno/src/stores/sqlite.rs", both.as_str())]);
        assert!(sql_lives_in_the_stores(&home).is_empty());
    }

    #[test]
    fn sql_files_lie_in_the_stores_or_belong_to_an_application() {
        let file = |path| sql_lives_in_the_stores(&Tree::from_files(&[(path, "select 1")])).len();
        assert_eq!(file("crates/turno-server/src/http/items.sql"), 1);
        assert_eq!(file("crates/turno/src/stores/sqlite/sql/items.sql"), 0);
        assert_eq!(file("crates/turno-server/src/cli/demo/siper/add.sql"), 0, "the application's own table");
    }
}
