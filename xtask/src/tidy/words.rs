//! Finds riddles: words that stand for a noun which the reader has to guess.
//!
//! CONTRIBUTING.md has the house style with examples. This rule finds its most frequent violations in comments of Rust,
//! SQL and JavaScript files and in Markdown files. String literals are not checked, because users and tests depend on
//! their exact text. A reviewer judges the rest of the style.

use super::markdown::{prose, without_code};
use super::rust::Source;
use super::tree::{File, Tree};
use super::{Finding, OURSELVES};

/// Each marker hides the subject of its sentence. Name the holder, the worker, the caller, the user instead.
const MARKERS: &[&str] = &[
    "whoever",
    "whomever",
    "somebody",
    "anybody",
    "nobody",
    "that which",
    "is told",
    "are told",
    "is no news",
    "the late one",
];

/// Openings of a sentence whose subject is a clause: "What was left behind is …", "Who is not whole makes …". Questions
/// and headings may begin like this.
const OPENINGS: &[&str] = &[
    "Who is",
    "Who was",
    "Who has",
    "Who had",
    "Who may",
    "Who comes",
    "Who hears",
    "What is",
    "What was",
    "What were",
    "What has",
    "What had",
    "What may",
    "What comes",
    "What came",
    "What goes",
    "What stands",
    "What only",
    "What nothing",
];

/// Files and folders that may contain markers, each with its reason.
const ALLOWED: &[(&str, &str)] = &[
    ("CONTRIBUTING.md", "shows sentences before and after their rewrite"),
    ("crates/turno/src/stores/postgres/schema.sql", "generated from the migrations"),
    ("crates/turno/src/stores/sqlite/schema.sql", "generated from the migrations"),
    ("crates/turno/src/stores/postgres/sync/body.sql", "installed with its comments, which its hash covers"),
    ("docs/reference/access.md", "generated from the table of routes"),
    ("docs/reference/cli.md", "generated from `--help`"),
    ("web/turno.js", "joined from web/turno/, which is checked"),
    ("web/console/vendor/", "files of other projects, unchanged"),
    (OURSELVES, "the rules' own counterexamples"),
];

/// Applied migrations never change, so that their text stays as it was.
const MIGRATIONS: &str = "/migrations/";

pub(super) fn no_riddles(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_allowed = |file: &File| ALLOWED.iter().any(|(path, _)| file.path.starts_with(path));
    for file in tree.files.iter().filter(|file| !is_allowed(file) && !file.path.contains(MIGRATIONS)) {
        for (line, text) in sentences(file) {
            for marker in markers(&without_code(&text)) {
                findings.push(Finding::new(&file.path, line, format!("\"{marker}\": name the subject instead")));
            }
        }
    }
    findings
}

/// Returns the comments of a source file, or the prose of a page, line by line.
fn sentences(file: &File) -> Vec<(usize, String)> {
    match file.path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("rs") => Source::parse(&file.text).comments,
        Some("md") => prose(file).into_iter().map(|(line, text)| (line, text.to_owned())).collect(),
        Some("sql") => comments(file, &["--"]),
        Some("js" | "mjs") => comments(file, &["// ", "/*", "* "]),
        _ => Vec::new(),
    }
}

/// Returns the comments of a file line by line. A comment begins at the line's beginning or after a space.
fn comments(file: &File, openings: &[&str]) -> Vec<(usize, String)> {
    let comment = |text: &str| {
        let trimmed = text.trim_start();
        let begins = openings.iter().any(|opening| trimmed.starts_with(opening));
        let inner = || openings.first().and_then(|opening| trimmed.split_once(&format!(" {opening}")));
        if begins { Some(trimmed.to_owned()) } else { inner().map(|(_, rest)| rest.to_owned()) }
    };
    file.lines().filter_map(|(line, text)| comment(text).map(|text| (line, text))).collect()
}

/// Returns the markers in a line, as whole words. Openings count only with their capital letter.
fn markers(text: &str) -> Vec<&'static str> {
    let words = text.split(|one: char| !one.is_alphanumeric()).filter(|word| !word.is_empty());
    let plain: Vec<&str> = words.collect();
    let lower: Vec<String> = plain.iter().map(|word| word.to_lowercase()).collect();
    let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
    let found = |words: &[&str], marker: &str| {
        let marker: Vec<&str> = marker.split(' ').collect();
        words.windows(marker.len()).any(|window| window == marker)
    };
    let may_ask = text.contains('?') || text.starts_with('#');
    let openings = OPENINGS.iter().filter(|opening| !may_ask && found(&plain, opening));
    MARKERS.iter().filter(|marker| found(&lower, marker)).chain(openings).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(files: &[(&str, &str)]) -> Vec<usize> {
        no_riddles(&Tree::from_files(files)).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn riddles_are_found_in_comments_and_prose_and_not_in_code_and_strings() {
        let rust = "//! Whoever waits.\nlet nobody = \"somebody\"; // Tells anybody.\n/* a\n nobody */\n/// `Plain`.";
        assert_eq!(lines(&[("crates/turno/src/a.rs", rust)]), [1, 2, 4]);
        let page = "# What is promised\nWhat is told\n```\nnobody\n```\n`nobody` is a role.";
        assert_eq!(lines(&[("docs/a.md", page)]), [2, 2]);
        assert_eq!(lines(&[("crates/turno/src/a.sql", "-- a: nobody waits\nselect 'nobody' -- Who is not")]), [1, 2]);
        assert_eq!(lines(&[("docs/a.md", "A user who is not signed in. What is due? See what is due.")]), []);
        assert_eq!(lines(&[("web/a.mjs", "/** Nobody. */\nlet nobody = 1; // somebody\n'http://nobody/'")]), [1, 2]);
    }

    #[test]
    fn allowed_files_and_migrations_are_left_alone() {
        let migration = "crates/turno/src/stores/sqlite/migrations/0001_start.sql";
        assert!(lines(&[(migration, "-- nobody"), ("CONTRIBUTING.md", "nobody")]).is_empty());
    }
}
