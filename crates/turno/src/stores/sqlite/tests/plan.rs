//! Every statement can be prepared, and none scans a growing table.

use super::Folder;
use super::schema::fresh;
use crate::stores::sqlite::sql::ALL;
use crate::stores::statement::names_in;
use rusqlite::Connection;
use std::collections::BTreeSet;
use std::path::Path;

/// Tables that grow with use. No statement may scan one of them.
const GROWING: &[&str] = &[
    "hot",
    "body",
    "lease",
    "lease_history",
    "done",
    "attempt_error",
    "came_back",
    "event_in",
    "typing",
    "token",
    "audit",
    "task",
    "task_line",
    "task_note",
    "stock",
    "stock_serial",
    "stock_move",
    "answer",
];

/// Returns the steps of a plan that scan a growing table.
fn scans(connection: &Connection, text: &str) -> Vec<String> {
    let mut explain = connection.prepare(&format!("explain query plan {text}")).unwrap();
    let mut rows = explain.raw_query();
    let mut found = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let step: String = row.get(3).unwrap();
        let mut words = step.split_whitespace();
        if words.next() == Some("SCAN") && words.next().is_some_and(|table| GROWING.contains(&table)) {
            found.push(step);
        }
    }
    found
}

/// Inserts ten thousand rows into every table, in three queues, without `analyze`, as in a new installation.
fn fill(connection: &Connection) {
    let text = "
        with recursive n (i) as (select 1 union all select i + 1 from n where i < 10000)
        insert into body (seq, queue, id, payload, enqueued_at) select i, i % 3, 'item ' || i, '{}', i from n;
        insert into hot (seq, queue, lane, enqueued_at, not_before, ready_at, expires_at, attempt, fence, grp, last,
            revision, handed, parked)
        select seq, queue, seq / 10, seq, seq, iif(seq % 10 = 0, seq, null), iif(seq % 10 = 1, seq, null), 0, seq, 0, 0,
            seq, 0, 0 from body;
        insert into done (seq, queue, ended, at, attempt, fence, revision) select seq, queue, seq % 3, seq, 1, seq, 0 from body;
        insert into attempt_error (seq, attempt, fence, at, error) select seq, 1, seq, seq, 'no' from body;
        insert into came_back (seq, fence, how, at) select seq, seq, 2, seq from body;
        insert into lease (resource, fence) select id, seq from body;
        insert into event_in (topic, name, resource, at) select 'leases', 'lease.claimed', id, seq from body;
        insert into typing (queue, lane, at) select 1, seq, seq from body;";
    connection.execute_batch(text).unwrap();
}

#[test]
fn every_statement_can_be_prepared() {
    let folder = Folder::new();
    let connection = fresh(&folder);
    for sql in ALL {
        assert!(connection.prepare(sql).is_ok(), "{}: {:?}", sql.name, connection.prepare(sql).err());
    }
}

#[test]
fn every_statement_of_the_folder_is_in_the_list() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/stores/sqlite/sql");
    let known: BTreeSet<String> = ALL.iter().map(|sql| sql.name.clone()).collect();
    assert_eq!(names_in(&folder), known);
    assert_eq!(known.len(), ALL.len(), "every name is unique");
}

#[test]
fn no_statement_scans_a_growing_table() {
    let folder = Folder::new();
    let connection = fresh(&folder);
    fill(&connection);
    for sql in ALL.iter().filter(|sql| !sql.contains("pragma")) {
        assert_eq!(scans(&connection, sql), Vec::<String>::new(), "{}", sql.name);
    }
    let control = scans(&connection, "select seq from hot where attempt = ?1");
    assert_eq!(control.len(), 1, "the check detects a scan");
}

#[test]
fn frequent_statements_use_their_index_and_do_not_sort() {
    let folder = Folder::new();
    let connection = fresh(&folder);
    fill(&connection);
    let expected = [
        ("hot_heads", "hot_ready (queue=? AND ready_at<?)"),
        ("hot_front", "hot_lane (queue=? AND lane=? AND seq>?)"),
        ("hot_front_named", "hot_lane (queue=? AND lane=?)"),
        ("hot_members", "hot_lane (queue=? AND lane=? AND seq>?)"),
        ("hot_next", "hot_lane (queue=? AND lane=?)"),
        ("hot_expired", "hot_expiry (expires_at<?)"),
        ("hot_next_expiry", "hot_expiry (expires_at>?)"),
        ("hot_next_look", "hot_ready (queue=? AND ready_at>?)"),
        ("done_count", "COVERING INDEX done_age (queue=?)"),
        ("body_find", "(queue=? AND id=?)"),
        ("item_of_key", "body_key (queue=? AND key=? AND seq>?)"),
        ("item_cancelled", "done_unacked (queue=? AND ended=? AND seq>?)"),
        ("item_processed", "PRIMARY KEY (rowid>?)"),
        ("item_waiting", "PRIMARY KEY (rowid>?)"),
        ("hot_requested", "hot_request (queue=? AND request=?)"),
        ("lane_names", "hot_lane (queue=? AND lane>?)"),
        ("event_list", "PRIMARY KEY (rowid>?)"),
        ("lease_read", "PRIMARY KEY (resource=?)"),
        ("lease_list", "PRIMARY KEY (resource>? AND resource<?)"),
        ("token_find", "token_2 (hash=?)"),
        ("audit_of_before", "audit_resource (resource=? AND n<?)"),
        ("task_list_in", "task_status (status=? AND id<?)"),
        ("note_list", "task_note_task (task=? AND n>?)"),
        ("task_once", "task_once (once_scope=? AND once_key=?)"),
        ("item_purge", "done_age (queue=? AND at<?)"),
    ];
    for (name, index) in expected {
        let sql = ALL.iter().find(|sql| sql.name == name).expect(name);
        let mut explain = connection.prepare(&format!("explain query plan {}", sql.text)).unwrap();
        let mut rows = explain.raw_query();
        let mut plan = String::new();
        while let Some(row) = rows.next().unwrap() {
            plan.push_str(&row.get::<_, String>(3).unwrap());
            plan.push('\n');
        }
        assert!(plan.contains(index) && !plan.contains("TEMP B-TREE"), "{name}:\n{plan}");
    }
}
