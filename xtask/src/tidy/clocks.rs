//! Finds code that reads a clock where it must not. If one decision used two clocks, a lease could get two holders.

use super::Finding;
use super::rust::Source;
use super::tree::Tree;

/// The only files that read PostgreSQL's clock: the clock's statement, and a statement that never waits for a lock.
/// Functions for applications are added by name: they run in the application's transaction, so that Turno cannot pass
/// them the time.
const DATABASE_CLOCKS: &[&str] = &[
    "crates/turno/src/stores/postgres/sql/arrive.sql",
    "crates/turno/src/stores/postgres/sql/clock.sql",
    "crates/turno/src/stores/postgres/migrations/0004_application.sql",
    "crates/turno/src/stores/postgres/sync/body.sql",
];

/// The only files that read the machine's clock. The server's uptime is only displayed.
const MACHINE_CLOCKS: &[&str] =
    &["crates/turno/src/clock.rs", "crates/turno-server/src/stopwatch.rs", "crates/turno-testkit/", "bench/", "xtask/"];

pub(super) fn one_database_clock(tree: &Tree) -> Vec<Finding> {
    let name = "clock_timestamp";
    let message = "only the stores' clock statement reads this; pass the time on as a parameter";
    let mut findings = Vec::new();
    for file in tree.rust() {
        let strings = Source::parse(&file.text).strings;
        let found = strings.into_iter().filter(|(_, text)| text.to_lowercase().contains(name));
        findings.extend(found.map(|(line, _)| Finding::new(&file.path, line, message)));
    }
    for file in tree.with_extension("sql").filter(|file| !file.lies_in(DATABASE_CLOCKS)) {
        for (line, text) in file.lines() {
            let statement = text.split("--").next().unwrap_or_default();
            if statement.to_lowercase().contains(name) {
                findings.push(Finding::new(&file.path, line, message));
            }
        }
    }
    findings
}

pub(super) fn one_machine_clock(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| !file.lies_in(MACHINE_CLOCKS)) {
        for (line, path) in Source::parse(&file.text).paths() {
            if path.ends_with("SystemTime::now") || path.ends_with("Instant::now") {
                let message = format!("`{path}`: time is an argument; only the clock asks for it");
                findings.push(Finding::new(&file.path, line, message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(findings: &[Finding]) -> Vec<usize> {
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn a_second_file_that_reads_the_databases_clock_is_found() {
        let clock = ("crates/turno/src/stores/postgres/sql/clock.sql", "-- clock\nselect clock_timestamp()");
        let claim = ("crates/turno/src/stores/postgres/sql/claim.sql", "-- claim\nselect 1, Clock_Timestamp()");
        let code = ("crates/turno/src/stores/postgres.rs", "// clock_timestamp\n\"select clock_timestamp()\"");
        assert!(one_database_clock(&Tree::from_files(&[clock])).is_empty());
        assert_eq!(lines(&one_database_clock(&Tree::from_files(&[clock, claim, code]))), [2, 2]);
    }

    #[test]
    fn a_second_file_that_reads_the_machines_clock_is_found() {
        let text = "// Instant::now\nlet a = std::time::Instant::now();\nlet b = SystemTime::now();";
        assert_eq!(lines(&one_machine_clock(&Tree::from_files(&[("crates/turno/src/engine.rs", text)]))), [2, 3]);
        assert!(one_machine_clock(&Tree::from_files(&[("crates/turno/src/clock.rs", text)])).is_empty());
    }
}
