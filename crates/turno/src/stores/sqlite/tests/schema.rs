//! The schema: what a fresh database looks like, and whose databases are refused.

use super::{Folder, store};
use crate::clock::Clock;
use crate::store::StoreError;
use crate::stores::sqlite::{connection, open, schema};
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;

/// The committed dump: a migration shows in it as a diff.
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
fn the_committed_dump_is_what_the_migrations_make() {
    let folder = Folder::new();
    let made = dump(&fresh(&folder));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(DUMP);
    if std::env::var_os("TURNO_UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(made == committed, "{DUMP} is out of date; run the test with TURNO_UPDATE_SCHEMA=1:\n{made}");
}

#[tokio::test]
async fn a_newer_schema_is_refused_unless_it_is_compatible() {
    let folder = Folder::new();
    fresh(&folder).execute("update schema_version set version = 9, min_compatible = 1", []).unwrap();
    store(&folder).await;
    fresh(&folder).execute("update schema_version set min_compatible = 8", []).unwrap();
    let refused = open(&folder.file(), Arc::new(Clock::system())).await.err().unwrap();
    assert!(
        matches!(&refused, StoreError::Schema(text) if text.contains("schema 9") && text.contains("newer turno")),
        "{refused}"
    );
}

#[tokio::test]
async fn a_file_of_something_else_is_refused() {
    let folder = Folder::new();
    std::fs::write(folder.file(), "not a database, but long enough to have a header ".repeat(50)).unwrap();
    let refused = open(&folder.file(), Arc::new(Clock::system())).await.err().unwrap();
    assert!(matches!(refused, StoreError::Schema(_)), "{refused}");
}

#[test]
fn several_processes_that_start_at_once_migrate_once() {
    let folder = Folder::new();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| fresh(&folder));
        }
    });
    let rows: i64 = fresh(&folder).query_row("select count(*) from schema_version", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 1);
}
