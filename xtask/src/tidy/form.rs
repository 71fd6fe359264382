//! Checks the form of source files, and finds tests that sleep or are ignored.

use super::rust::Source;
use super::tree::{File, Tree};
use super::{Finding, OURSELVES};

/// A longer file usually has two subjects.
const MOST_LINES: usize = 500;
/// Notes about later work belong in the issue tracker.
const MARKERS: &[&str] = &["TODO", "FIXME"];
/// Kinds of files that are checked for markers. In prose `TODO` may be a Spanish word.
const SOURCES: &[&str] = &["rs", "sql", "toml", "js", "css", "html", "sh"];
/// Where the size rule also holds for JavaScript.
const WEB: &str = "web/";
/// JavaScript that others wrote, and the file that is joined from its modules.
const UNSIZED: &[&str] = &["web/console/vendor/", crate::bundle::JOINED];
const TESTKIT: &str = "crates/turno-testkit/";

pub(super) fn files(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with_extension("rs") {
        findings.extend(form(file));
    }
    for file in tree.files.iter().filter(|file| is_our_script(file)) {
        findings.extend(too_long(file));
    }
    for file in &tree.files {
        let is_source = SOURCES.iter().any(|extension| file.has_extension(extension));
        if is_source && !file.path.starts_with(OURSELVES) {
            findings.extend(markers(file));
        }
    }
    findings
}

fn form(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    if file.name() == "mod.rs" {
        findings.push(Finding::new(&file.path, 0, "a module's file is named as the module, beside its folder"));
    }
    findings.extend(too_long(file));
    if !file.text.starts_with("//!") {
        findings.push(Finding::new(&file.path, 1, "open the file with `//!`: its purpose and its contract"));
    }
    findings
}

fn too_long(file: &File) -> Option<Finding> {
    let length = file.text.lines().count();
    let message = || format!("{length} lines, at most {MOST_LINES}: split it");
    (length > MOST_LINES).then(|| Finding::new(&file.path, 0, message()))
}

fn is_our_script(file: &File) -> bool {
    let is_script = ["js", "mjs", "ts"].iter().any(|extension| file.has_extension(extension));
    is_script && file.path.starts_with(WEB) && !file.lies_in(UNSIZED)
}

fn markers(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, text) in file.lines() {
        let words = || text.split(|one: char| !one.is_alphanumeric() && one != '_');
        if let Some(marker) = words().find(|word| MARKERS.contains(word)) {
            findings.push(Finding::new(&file.path, line, format!("`{marker}`: do it now or open an issue")));
        }
    }
    if file.has_extension("rs") {
        for (index, line) in Source::parse(&file.text).code.lines().enumerate() {
            if line.contains("#[ignore") {
                findings.push(Finding::new(&file.path, index + 1, "an ignored test proves nothing: fix or delete it"));
            }
        }
    }
    findings
}

/// Waits with a deadline for another program to start or to end, because that program sends no signal.
const WAITS_FOR_A_PROGRAM: &[&str] = &["crates/turno-testkit/src/postgres/server.rs"];

/// Checks the testkit, files and folders called `tests`, and the test module of every other file.
pub(super) fn tests_never_sleep(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| !WAITS_FOR_A_PROGRAM.contains(&file.path.as_str())) {
        let source = Source::parse(&file.text);
        let only_tests = file.path.contains("/tests/") || file.stem() == "tests";
        let begin = if only_tests || file.path.starts_with(TESTKIT) {
            0
        } else {
            module_of_tests(&source.code).unwrap_or(usize::MAX)
        };
        for (line, path) in source.paths() {
            let sleeps = path.ends_with("thread::sleep") || path.ends_with("time::sleep");
            if sleeps && line > begin {
                let message = format!("`{path}` in a test: move the clock or wait on a signal");
                findings.push(Finding::new(&file.path, line, message));
            }
        }
    }
    findings
}

/// Returns the line of an inline test module. A module with a file of its own does not count.
fn module_of_tests(code: &str) -> Option<usize> {
    let lines: Vec<&str> = code.lines().map(str::trim).collect();
    let begins = |pair: &[&str]| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].contains('{');
    lines.windows(2).position(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_broken_form_is_found() {
        let long = format!("//! Long.\n{}", "\n".repeat(MOST_LINES));
        let tree = Tree::from_files(&[
            ("crates/turno/src/store/mod.rs", "//! Fine."),
            ("crates/turno/src/long.rs", long.as_str()),
            ("crates/turno/src/bare.rs", "use a;\n//! Late."),
            ("crates/turno/src/marked.rs", "//! A.\n// TODO: b\n// \"#[ignore]\" TODOS\n#[ignore = \"c\"]"),
            ("README.es.md", "TODO lo aceptado se conserva"),
        ]);
        let found: Vec<(String, usize)> = files(&tree).into_iter().map(|one| (one.path, one.line)).collect();
        let expected = [("store/mod.rs", 0), ("long.rs", 0), ("bare.rs", 1), ("marked.rs", 2), ("marked.rs", 4)];
        assert_eq!(found, expected.map(|(path, line)| (format!("crates/turno/src/{path}"), line)));
    }

    #[test]
    fn a_long_script_is_found_unless_it_is_vendored_or_joined() {
        let long = "\n".repeat(MOST_LINES + 1);
        let found = |path| files(&Tree::from_files(&[(path, long.as_str())])).len();
        assert_eq!(
            (found("web/console/process.js"), found("web/test/process.test.mjs"), found("web/turno.d.ts")),
            (1, 1, 1)
        );
        assert_eq!(
            (found("web/turno.js"), found("web/console/vendor/htmx/htmx.js"), found("examples/a.js")),
            (0, 0, 0)
        );
    }

    #[test]
    fn sleeping_is_found_in_tests_and_only_there() {
        let text = "//! A.\nuse tokio::time::{self, sleep};\n#[cfg(test)]\nmod cases;\n#[cfg(test)]\nmod tests { std::thread::sleep(d); }";
        let found = |path| tests_never_sleep(&Tree::from_files(&[(path, text)])).len();
        assert_eq!(found("crates/turno/src/sweep.rs"), 1);
        assert_eq!(found("crates/turno/tests/sweep.rs"), 2);
        assert_eq!(found("crates/turno/src/sweep/tests.rs"), 2);
        assert_eq!(found("crates/turno-testkit/src/sim.rs"), 2);
    }
}
