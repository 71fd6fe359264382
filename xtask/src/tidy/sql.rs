//! Checks SQL files: each statement begins with its name and lists its columns, and both stores have the same
//! migrations.

use super::Finding;
use super::tree::{File, Tree};

const STORES: &str = "crates/turno/src/stores/";

/// Checks names and columns of the statements under `stores/*/sql`, and columns in migrations.
pub(super) fn files(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with_extension("sql").filter(|file| file.path.starts_with(STORES)) {
        if file.path.contains("/sql/") {
            findings.extend(wrong_name(file).map(|message| Finding::new(&file.path, 1, message)));
        }
        let line = line_of_star(&file.text);
        findings.extend(line.map(|line| Finding::new(&file.path, line, "`select *`: name the columns")));
    }
    findings
}

/// Compares the migrations of both stores, because one number must identify the schema of a database.
pub(super) fn migrations(tree: &Tree) -> Vec<Finding> {
    let folders = ["sqlite", "postgres"].map(|store| format!("{STORES}{store}/migrations/"));
    let mut findings = Vec::new();
    for (here, there) in [(&folders[0], &folders[1]), (&folders[1], &folders[0])] {
        for file in tree.files.iter().filter(|file| file.path.starts_with(here.as_str())) {
            let other = file.path.replacen(here.as_str(), there, 1);
            if tree.get(&other).is_none() {
                findings.push(Finding::new(&file.path, 0, format!("its twin {other} does not exist")));
            }
        }
    }
    findings
}

/// Returns the names of the statements in a file, with their lines.
pub(super) fn names(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let lines = file.text.lines().enumerate();
    lines.filter_map(|(index, line)| Some((index + 1, line.strip_prefix("-- name: ")?.trim())))
}

/// Returns what is wrong with the names: each statement begins with its name, and a file with one statement has its
/// name.
fn wrong_name(file: &File) -> Option<String> {
    let names: Vec<(usize, &str)> = names(file).collect();
    match names[..] {
        [(1, name)] if name == file.stem() => None,
        [(1, name)] => Some(format!("a file with one statement has its name, `{name}`")),
        [(1, _), ..] => None,
        _ => Some("the first line is not the comment `-- name: NAME`".to_owned()),
    }
}

/// Returns the line of the star in `select *`, also over a line break, but not in a comment.
fn line_of_star(text: &str) -> Option<usize> {
    let mut previous = String::new();
    for (index, line) in text.lines().enumerate() {
        let statement = line.split("--").next().unwrap_or_default().to_lowercase();
        for word in statement.split_whitespace() {
            let word = word.trim_start_matches('(');
            if previous == "select" && word.starts_with('*') {
                return Some(index + 1);
            }
            previous = word.to_string();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_without_its_name_is_found() {
        let tree = Tree::from_files(&[
            ("crates/turno/src/stores/sqlite/sql/lease_lock.sql", "-- name: lease_lock\nselect a from b"),
            ("crates/turno/src/stores/sqlite/sql/lease_save.sql", "-- name: lease_saved\nselect a from b"),
            (
                "crates/turno/src/stores/sqlite/sql/lease.sql",
                "-- name: lease_a\nselect a\n\n-- name: lease_b\nselect b",
            ),
            ("crates/turno/src/stores/sqlite/sql/clock.sql", "select 1\n-- name: clock"),
            ("crates/turno/src/stores/sqlite/migrations/0001_start.sql", "create table a (b)"),
        ]);
        let found: Vec<String> = files(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(found.len(), 2);
        assert!(found[0].ends_with("lease_save.sql") && found[1].ends_with("clock.sql"));
    }

    #[test]
    fn a_star_is_found_over_a_line_break_and_not_in_a_comment() {
        assert_eq!(line_of_star("-- select *\nselect count(*)\nfrom (SELECT\n  * from a)"), Some(4));
        assert_eq!(line_of_star("-- select *\nselect a, count(*), b * 2 from c"), None);
    }

    #[test]
    fn a_migration_without_its_twin_is_found() {
        let tree = Tree::from_files(&[
            ("crates/turno/src/stores/sqlite/migrations/0001_start.sql", ""),
            ("crates/turno/src/stores/postgres/migrations/0001_start.sql", ""),
            ("crates/turno/src/stores/postgres/migrations/0002_more.sql", ""),
        ]);
        let findings = migrations(&tree);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].path.ends_with("postgres/migrations/0002_more.sql"));
    }
}
