//! The schema: a fresh database, upgrades, and databases that are refused.

use super::{Folder, store};
use crate::clock::Clock;
use crate::store::traits::*;
use crate::store::{Purge, StoreError};
use crate::stores::sqlite::{connection, open, schema};
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;
use turno_core::access::Epoch;
use turno_core::audit::{Actor, Head};
use turno_core::id::{ItemId, QueueName, Resource};
use turno_core::queue::{Kind, Policy};
use turno_core::time::Time;

/// The committed dump, in which a migration shows as a diff.
const DUMP: &str = "src/stores/sqlite/schema.sql";

pub(super) fn fresh(folder: &Folder) -> Connection {
    let mut connection = connection::writer(&folder.file()).unwrap();
    schema::migrate(&mut connection).unwrap();
    connection
}

fn dump(connection: &Connection) -> String {
    let text = "select sql from sqlite_master where sql is not null and name not like 'sqlite_%' order by tbl_name, type desc, name";
    let mut read = connection.prepare(text).unwrap();
    let rows = read.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let mut dump =
        String::from("-- What the migrations make. Written by the test that compares it: TURNO_UPDATE_SCHEMA=1.\n");
    for row in rows {
        dump.push_str(&format!("\n{};\n", row.unwrap()));
    }
    dump
}

#[test]
fn the_committed_schema_dump_matches_the_migrations() {
    let folder = Folder::new();
    let made = dump(&fresh(&folder));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(DUMP);
    if std::env::var_os("TURNO_UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(made == committed, "{DUMP} is out of date; run the test with TURNO_UPDATE_SCHEMA=1:\n{made}");
}

/// The state in which a program left it that knew only the first schema.
#[tokio::test]
async fn a_database_of_the_first_schema_is_upgraded_with_its_data() {
    let folder = Folder::new();
    let old = connection::writer(&folder.file()).unwrap();
    let text = "
        insert into schema_version (version, min_compatible) values (1, 1);
        update mark set high = 5;
        insert into queue (name, policy, kind, version, paused) values ('jobs', '{policy}', 'inbox', 4, 1);
        insert into body (seq, queue, id, key, payload, enqueued_at) values (3, 1, 'a', null, '{}', 77);
        insert into done (seq, queue, ended, at, attempt, fence, revision) values (3, 1, 0, 78, 1, 2, 0);
        insert into lease (resource, holder_user, holder_name, fence, claim, ttl_ms, locked_at, worked_at, heartbeat_at,
                           expires_at, idle)
            values ('held', 'ana', 'Ana', 7, 1, 30000, 1, 2, 3, 9000000000000, 0);
        insert into lease (resource, waiting) values ('offered', '{\"line\":[],\"offer\":null,\"requests\":[]}');";
    let policy = serde_json::to_string(&Policy::for_kind(Kind::Inbox)).unwrap();
    old.execute_batch(include_str!("../migrations/0001_engine.sql")).unwrap();
    old.execute_batch(&text.replace("{policy}", &policy)).unwrap();
    drop(old);

    let (store, _) = store(&folder).await;
    let row = store.queue(QueueName::new("jobs").unwrap()).await.unwrap().unwrap();
    assert_eq!((row.version, row.paused, row.purged), (4, true, 0));
    let item = store.item(row.id, ItemId::new("a").unwrap()).await.unwrap().unwrap();
    assert_eq!((item.body.enqueued_at, item.done.unwrap().at), (Time(77), Time(78)));
    let held = store.peek(vec![Resource::new("held").unwrap()]).await.unwrap().states.remove(0);
    assert_eq!(held.look_at, Some(Time(9_000_000_000_000)), "the expiry will be announced");
    let due = store.due_leases(10).await.unwrap().0;
    assert_eq!(due, [Resource::new("offered").unwrap()], "an offer is due at once");
    assert_eq!(store.epoch().await, Ok(Epoch(0)));
    assert_eq!(store.audit_head().await, Ok(Head::default()));
    assert_eq!(store.purge(Purge::Items(row.id, Actor::system()), Time(79), 9).await, Ok(1));
}

/// The state in which 0.1.0 left tasks when a finalize ended early.
#[test]
fn tasks_in_processing_with_applied_lines_become_partially_completed() {
    let folder = Folder::new();
    let db = fresh(&folder);
    db.execute_batch(
        "insert into task (id, title, status, created_at, created_by, updated_at) values
             (1, 'a', 'processing', 1, 'eva', 1), (2, 'b', 'processing', 1, 'eva', 1), (3, 'c', 'cancelled', 1, 'eva', 1);
         insert into task_line (task, number, movement, sku, quantity, status) values
             (1, 1, 'in', 'x', 1, 'failed'), (1, 2, 'in', 'x', 1, 'applied'), (2, 1, 'in', 'x', 1, 'failed'),
             (3, 1, 'in', 'x', 1, 'applied');",
    )
    .unwrap();
    db.execute_batch(include_str!("../migrations/0017_applied_lines.sql")).unwrap();
    let mut read = db.prepare("select status from task order by id").unwrap();
    let statuses: Vec<String> = read.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(statuses, ["partially_completed", "processing", "cancelled"]);
}

/// Reading needed no permission in 0.1.0.
#[test]
fn tokens_with_a_list_of_permissions_may_still_read_after_the_migration() {
    let folder = Folder::new();
    let db = fresh(&folder);
    db.execute_batch(
        "alter table token drop column queues;
         alter table token drop column reads;
         insert into token (id, hash, user_id, machine, scope, resources, created_at, created_by, parent) values
             ('all', x'01', 'ana', 0, null, '[]', 1, 'ana', null),
             ('list', x'02', 'ana', 1, 'leases.use queues.consume', '[]', 1, 'ana', null),
             ('none', x'03', 'ana', 1, '', '[]', 1, 'ana', null),
             ('session', x'04', 'paco', 0, 'leases.use', '[]', 1, 'ana', 'all');",
    )
    .unwrap();
    db.execute_batch(include_str!("../migrations/0018_scopes.sql")).unwrap();
    let mut read = db.prepare("select scope, reads, queues from token order by id").unwrap();
    let rows = read.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    let rows: Vec<(Option<String>, String, String)> = rows.map(Result::unwrap).collect();
    let stored: Vec<(Option<&str>, &str, &str)> = rows.iter().map(|(a, b, c)| (a.as_deref(), &**b, &**c)).collect();
    let read = "queues.read tasks.read metrics.read";
    let list = Some("leases.use queues.consume");
    let expected = [(None, "", "[]"), (list, read, "[]"), (Some(""), read, "[]"), (Some("leases.use"), "", "[]")];
    assert_eq!(stored, expected);
}

#[tokio::test]
async fn a_newer_schema_is_refused_unless_it_is_compatible() {
    let folder = Folder::new();
    fresh(&folder).execute("update schema_version set version = 99, min_compatible = 1", []).unwrap();
    store(&folder).await;
    fresh(&folder).execute("update schema_version set min_compatible = 98", []).unwrap();
    let refused = open(&folder.file(), Arc::new(Clock::system()), true).await.err().unwrap();
    assert!(matches!(&refused, StoreError::Schema(crate::store::SchemaFault::New { found: 99, .. })), "{refused}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused() {
    let folder = Folder::new();
    std::fs::write(folder.file(), "not a database, but long enough to have a header ".repeat(50)).unwrap();
    let refused = open(&folder.file(), Arc::new(Clock::system()), true).await.err().unwrap();
    assert!(matches!(refused, StoreError::File(crate::store::FileFault::NotADatabase)), "{refused}");
}

#[test]
fn concurrently_started_processes_migrate_once() {
    let folder = Folder::new();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| fresh(&folder));
        }
    });
    let rows: i64 = fresh(&folder).query_row("select count(*) from schema_version", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 1);
}

#[tokio::test]
async fn reading_the_schema_creates_no_file_and_leaves_no_log() {
    let folder = Folder::new();
    let files = || std::fs::read_dir(&folder.0).unwrap().count();
    let none = crate::stores::sqlite::schema(&folder.file()).await.unwrap();
    assert_eq!((none.found, none.compatible, files()), (0, false, 0));
    let refused = open(&folder.file(), Arc::new(Clock::system()), false).await.err().unwrap();
    assert!(matches!(refused, StoreError::Schema(_)) && files() == 0, "{refused}");
    drop(fresh(&folder));
    let there = crate::stores::sqlite::schema(&folder.file()).await.unwrap();
    assert_eq!((there.found, there.compatible, files()), (there.wanted, true, 1), "no log is left behind");
    fresh(&folder).execute("update schema_version set version = 3", []).unwrap();
    let refused = open(&folder.file(), Arc::new(Clock::system()), false).await.err().unwrap();
    assert!(refused.to_string().contains("schema 3"), "{refused}");
}

#[tokio::test]
async fn an_open_store_notices_an_incompatible_schema() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    assert!(store.schema().await.unwrap().compatible);
    let text = "update schema_version set version = 900, min_compatible = 900";
    store.writer.run(move |db| Ok(db.execute(text, [])?)).await.unwrap();
    assert!(store.schema().await.unwrap().required().is_err());
}
