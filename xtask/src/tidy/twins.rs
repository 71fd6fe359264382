//! Compares the two stores: what both do has the same file name and the same statement name, so that a reader who knows
//! one store finds the same thing in the other.

use super::tree::Tree;
use super::{Finding, sql};
use std::collections::BTreeMap;

const STORES: &str = "crates/turno/src/stores/";

/// Names without a twin, with the reason.
struct Alone {
    store: &'static str,
    reason: &'static str,
    /// Separated by spaces.
    names: &'static str,
}

/// Rust files that only one store has.
const FILES: &[Alone] = &[
    Alone {
        store: "sqlite",
        reason: "the database is a file, and its connections belong to threads",
        names: "backup.rs checkpoint.rs file.rs workers.rs",
    },
    Alone {
        store: "postgres",
        reason: "the database is a server: round trips, connections that can be lost, hints to other processes",
        names: "arrive.rs call.rs hint.rs slot.rs",
    },
    Alone {
        store: "postgres",
        reason: "the server is reached over a network: its URL has parameters, and TLS",
        names: "tls.rs tls/der.rs tls/stream.rs tls/verify.rs url.rs url/tests.rs",
    },
    Alone {
        store: "postgres",
        reason: "dead index entries stay while a transaction is open, so that scans need a floor",
        names: "expiry.rs floor.rs lane.rs",
    },
    Alone {
        store: "postgres",
        reason: "applications write in the same database",
        names: "intake.rs intake/backlog.rs sync/body.rs sync/facts.rs sync/keys.rs sync/parts.rs sync/read.rs \
                sync/render.rs",
    },
];

/// Statements that only one store has.
const STATEMENTS: &[Alone] = &[
    Alone {
        store: "sqlite",
        reason: "PostgreSQL does this in a larger statement; in SQLite a further statement costs no trip",
        names: "absorbed_read audit_of_after audit_of_before body_id body_remove came_back_of_fence \
                came_back_remove came_back_trim done_count error_of_fence error_remove hot_count lease_walk \
                line_list line_read serial_find serial_list stock_count task_held task_held_in task_list_in \
                token_list_of",
    },
    Alone {
        store: "sqlite",
        reason: "SQLite rewrites the index entry of every column that an update names",
        names: "lease_look",
    },
    Alone {
        store: "sqlite",
        reason: "SQLite has no sequences and no clock, and keeps one row for its schema",
        names: "life_events life_first mark_read number_take schema_clear",
    },
    Alone {
        store: "sqlite",
        reason: "the database is a file",
        names: "checkpoint_passive checkpoint_restart data_version",
    },
    Alone {
        store: "postgres",
        reason: "these statements only lock rows or insert rows to be locked; SQLite has one writer",
        names: "audit_lock hot_first_lock hot_front_lock hot_request_lock lane_lock lease_insert lease_lock \
                lease_lock_beats lease_pin life_lock line_lock pace_insert queue_lock repair_lock schema_lock \
                stock_insert stock_lock stock_remove task_lease_insert task_lock task_share",
    },
    Alone {
        store: "postgres",
        reason: "a line renews its lease under a lock that does not exclude heartbeats",
        names: "lease_work",
    },
    Alone {
        store: "postgres",
        reason: "one statement saves round trips",
        names: "arrive hot_head_of_id item_purge_named item_read queue_counts settled stock_of_line",
    },
    Alone {
        store: "postgres",
        reason: "the transaction, its clock and the server's state are statements",
        names: "begin clock commit epoch_read life_name rollback server setting_unsafe xact_status",
    },
    Alone {
        store: "postgres",
        reason: "several processes write at the same time",
        names: "event_lock event_sequence hint_listen hint_notify rebirth_note rebirth_read",
    },
    Alone {
        store: "postgres",
        reason: "applications write in the same database",
        names: "completing intake_list intake_list_all intake_lock intake_look intake_queues intake_read \
                intake_refuse intake_remove settle_completed settle_completing sync_begin sync_function \
                sync_mark_refuse sync_mark_remove sync_marked sync_refused sync_table sync_triggers sync_unfinished",
    },
];

/// Finds files and statements without a twin, and exceptions that are not needed.
pub(super) fn have_twins(tree: &Tree) -> Vec<Finding> {
    compare(tree, FILES, STATEMENTS)
}

fn compare(tree: &Tree, lone_files: &[Alone], lone_statements: &[Alone]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (kind, alone, names) in
        [("file", lone_files, files as fn(&Tree, &str) -> Names), ("statement", lone_statements, statements)]
    {
        let (sqlite, postgres) = (names(tree, "sqlite"), names(tree, "postgres"));
        for (store, here, there) in [("sqlite", &sqlite, &postgres), ("postgres", &postgres, &sqlite)] {
            let listed = alone.iter().filter(|alone| alone.store == store);
            let listed: Vec<&str> = listed.flat_map(|alone| alone.names.split_whitespace()).collect();
            for (name, (path, line)) in here {
                if !there.contains_key(name) && !listed.contains(&name.as_str()) {
                    let message = format!("the {kind} `{name}` has no twin in the other store");
                    findings.push(Finding::new(path, *line, message));
                }
            }
            for name in listed.iter().filter(|name| !here.contains_key(**name) || there.contains_key(**name)) {
                let message = format!("the {kind} `{name}` of {store} is no exception any more");
                findings.push(Finding::new("xtask/src/tidy/twins.rs", 0, message));
            }
        }
    }
    for alone in lone_files.iter().chain(lone_statements).filter(|alone| alone.reason.is_empty()) {
        findings.push(Finding::new("xtask/src/tidy/twins.rs", 0, format!("{:?} have no reason", alone.names)));
    }
    findings
}

/// Names with the path and line where each is found.
type Names = BTreeMap<String, (String, usize)>;

/// Returns the Rust files of a store without its tests, by their paths in the store's folder.
fn files(tree: &Tree, store: &str) -> Names {
    let folder = format!("{STORES}{store}/");
    let inside = tree.rust().filter_map(|file| Some((file, file.path.strip_prefix(&folder)?)));
    let code = inside.filter(|(_, name)| !name.starts_with("tests"));
    code.map(|(file, name)| (name.to_owned(), (file.path.clone(), 0))).collect()
}

/// Returns the statements of a store.
fn statements(tree: &Tree, store: &str) -> Names {
    let folder = format!("{STORES}{store}/sql/");
    let mut names = Names::new();
    for file in tree.with_extension("sql").filter(|file| file.path.starts_with(&folder)) {
        names.extend(sql::names(file).map(|(line, name)| (name.to_owned(), (file.path.clone(), line))));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &[(&str, &str)] = &[
        ("crates/turno/src/stores/sqlite/lease.rs", ""),
        ("crates/turno/src/stores/sqlite/file.rs", ""),
        ("crates/turno/src/stores/sqlite/tests/plan.rs", ""),
        ("crates/turno/src/stores/postgres/lease.rs", ""),
        (
            "crates/turno/src/stores/sqlite/sql/lease.sql",
            "-- name: lease_read\nselect 1\n\n-- name: lease_walk\nselect 2",
        ),
        ("crates/turno/src/stores/postgres/sql/lease_read.sql", "-- name: lease_read\nselect 1"),
    ];

    fn messages(lone_files: &[Alone], lone_statements: &[Alone]) -> Vec<String> {
        compare(&Tree::from_files(TREE), lone_files, lone_statements)
            .into_iter()
            .map(|finding| finding.to_string())
            .collect()
    }

    #[test]
    fn a_file_and_a_statement_without_a_twin_are_found() {
        let found = messages(&[], &[]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("sqlite/file.rs: the file `file.rs` has no twin"));
        assert!(found[1].contains("lease.sql:4: the statement `lease_walk` has no twin"));
    }

    #[test]
    fn an_exception_needs_a_reason_and_a_missing_twin() {
        let reason = "a reason";
        let file = Alone { store: "sqlite", reason, names: "file.rs" };
        assert!(messages(&[file], &[Alone { store: "sqlite", reason, names: "lease_walk" }]).is_empty());
        let file = Alone { store: "sqlite", reason: "", names: "file.rs lease.rs" };
        let found = messages(&[file], &[Alone { store: "sqlite", reason, names: "lease_walk gone" }]);
        assert_eq!(found.len(), 3, "{found:?}");
    }
}
