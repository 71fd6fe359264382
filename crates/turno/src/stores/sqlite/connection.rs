//! Opening the file: separately for the writer, for readers and for checkpoints.
//!
//! Every connection waits for a lock by polling every 0.2 ms. SQLite's own handler backs off to 100 ms between
//! attempts, and a busy committer releases the lock only for microseconds, so a second process starved that way.

use crate::store::StoreError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::fs::OpenOptions;
use std::path::Path;
use std::time::Duration;

/// The time between two attempts to get a lock.
const POLL: Duration = Duration::from_micros(200);
/// Attempts before giving up: about 5 s, because a sleep of 0.2 ms takes a quarter of a millisecond.
const POLLS: i32 = 20_000;
/// Attempts of a checkpoint, which holds the write lock while it waits for readers: about 20 ms.
const POLLS_OF_CHECKPOINT: i32 = 80;
/// More than there are statements, so that each is prepared once per connection.
const STATEMENTS: usize = 256;
/// After a burst the log is cut back to this many bytes.
pub(super) const LOG_KEPT: i64 = 16 * 1024 * 1024;
/// Cache of the writer, in the unit of the setting: negative KiB.
const CACHE: i64 = -16 * 1024;
/// Cache of every other connection; the system's cache holds the rest.
const CACHE_OF_READER: i64 = -2 * 1024;

/// Opens the connection that writes, and creates a missing file.
pub(super) fn writer(path: &str) -> Result<Connection, StoreError> {
    check_folder(path)?;
    create(path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let connection = open(path, flags, POLLS)?;
    use_log(&connection)?;
    connection.pragma_update(None, "cache_size", CACHE)?;
    // A commit must be on disk before it is answered.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "journal_size_limit", LOG_KEPT)?;
    Ok(connection)
}

/// Creates a missing file that only its owner may read, because it contains hashes of secrets. SQLite gives the log and
/// the index of the log the same permissions. An error is left to SQLite, which reports it with the path.
fn create(path: &str) {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    if !path.starts_with(":memory:") {
        drop(options.open(path));
    }
}

/// Opens a read-only connection. It neither waits for the writer nor blocks it.
pub(super) fn reader(path: &str) -> Result<Connection, StoreError> {
    open(path, OpenFlags::SQLITE_OPEN_READ_ONLY, POLLS)
}

/// Opens the connection that moves the log into the file.
pub(super) fn checkpointer(path: &str) -> Result<Connection, StoreError> {
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE, POLLS_OF_CHECKPOINT)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

/// Opens a connection for one read of a file that may have no schema yet. It may write, so that closing it as the last
/// one leaves no log behind, but it creates nothing. Returns `None` if the file does not exist.
pub(super) fn visitor(path: &str) -> Result<Option<Connection>, StoreError> {
    check_folder(path)?;
    if !Path::new(path).exists() {
        return Ok(None);
    }
    open(path, OpenFlags::SQLITE_OPEN_READ_WRITE, POLLS).map(Some)
}

fn open(path: &str, flags: OpenFlags, polls: i32) -> Result<Connection, StoreError> {
    // Each connection belongs to one thread, so SQLite's own mutexes are not needed.
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    connection.busy_handler(Some(move |tries| {
        pause();
        tries < polls
    }))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Otherwise SQLite inspects parameter values and prepares a statement again whenever they change.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "foreign_keys", false)?;
    connection.pragma_update(None, "cache_size", CACHE_OF_READER)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(connection)
}

/// Turns the write-ahead log on. It stays on, so only the first of several processes has to do it. SQLite does not use
/// the busy handler for this, so the loop polls.
fn use_log(connection: &Connection) -> Result<(), StoreError> {
    for _ in 0..POLLS {
        let mode: Result<String, _> = connection.query_row("pragma journal_mode = wal", [], |row| row.get(0));
        match mode {
            Ok(mode) if mode.eq_ignore_ascii_case("wal") => return Ok(()),
            Ok(mode) => {
                let text = format!("the file cannot have a write-ahead log (it says {mode}); put it on a local disk");
                return Err(StoreError::Unavailable(text.into()));
            }
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => pause(),
            Err(error) => return Err(error.into()),
        }
    }
    Err(StoreError::Unavailable("another process keeps the file locked; stop it and try again".into()))
}

/// Checks the path first, because SQLite only says "unable to open database file".
fn check_folder(path: &str) -> Result<(), StoreError> {
    let folder = match Path::new(path).parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if path.is_empty() {
        return Err(StoreError::Unavailable("no file is named; write sqlite:PATH".into()));
    }
    if Path::new(path).is_dir() {
        let text = format!("{path} is a folder; name a file in it, such as sqlite:{path}/turno.db");
        return Err(StoreError::Unavailable(text.into()));
    }
    if !folder.is_dir() {
        let text = format!("the folder {} does not exist; create it first", folder.display());
        return Err(StoreError::Unavailable(text.into()));
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "SQLite has no signal for a lock that was let go")]
fn pause() {
    std::thread::sleep(POLL);
}
