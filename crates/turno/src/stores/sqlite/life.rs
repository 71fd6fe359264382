//! Lives of the file. At every start the counters move past what lost commits may have handed out.
//!
//! A copy or a restored backup continues from an earlier point. It is recognised by the file: another inode, or a
//! modification long after the last time that the database recorded. A process caches nothing that could be wrong in
//! another life, because a file is only exchanged while it is closed.

use super::sql;
use super::{SqliteStore, Write, audit, begin};
use crate::clock::Clock;
use crate::store::StoreError;
use rusqlite::{Connection, params};
use std::fs::Metadata;
use std::time::{SystemTime, UNIX_EPOCH};
use turno_core::audit::{Actor, AuditAction, Draft};
use turno_core::life::{self, Beginning, Counters, Occasion, Origin};
use turno_core::time::{Span, Time};

/// If the file was modified longer than this after the recorded time, something else has written it. The recorded time
/// lags by a second, and closing may move the log into the file a little later.
const WRITTEN_LATER: Span = Span::from_secs(10);

/// The file's metadata.
#[derive(Clone, Debug, Default)]
pub(super) struct FileStamp {
    identifier: String,
    written: Option<Time>,
}

impl FileStamp {
    /// Reads the metadata before the file is opened; empty if the file does not exist.
    pub(super) fn read(path: &str) -> FileStamp {
        let Ok(file) = std::fs::metadata(path) else {
            return FileStamp::default();
        };
        FileStamp { identifier: identifier(&file), written: file.modified().ok().and_then(ms).map(Time) }
    }
}

#[cfg(unix)]
fn identifier(file: &Metadata) -> String {
    let created = file.created().ok().and_then(ms).unwrap_or_default();
    format!("{}/{created}", std::os::unix::fs::MetadataExt::ino(file))
}

#[cfg(not(unix))]
fn identifier(file: &Metadata) -> String {
    file.created().ok().and_then(ms).map(|created| created.to_string()).unwrap_or_default()
}

fn ms(time: SystemTime) -> Option<i64> {
    i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}

impl Drop for SqliteStore {
    /// Records the time once more. Closing moves the log into the file, and without a recent time that would look like
    /// a write by another program.
    fn drop(&mut self) {
        let clock = self.clock.clone();
        self.writer.leave(move |db| drop(begin(db, &clock).and_then(Write::commit)));
    }
}

/// Begins a life, in one transaction. `before` is the file's metadata before it was opened.
pub(super) fn start(db: &mut Connection, path: &str, clock: &Clock, before: &FileStamp) -> Result<(), StoreError> {
    let write = begin(db, clock)?;
    let (stored, was) = read(&write.tx, write.mark)?;
    // A test's clock is unrelated to the times of files.
    let restored = clock.fixed().is_none()
        && before.written.is_some_and(|written| write.mark > Time(0) && write.mark + WRITTEN_LATER < written);
    let count = stored.as_ref().map_or(0, |stored| stored.timeline.parse::<u64>().unwrap_or_default());
    let timeline = (count + u64::from(restored)).to_string();
    let found = Origin { identifier: FileStamp::read(path).identifier, timeline, started: String::new() };
    apply(&write, stored.as_ref(), &found, was, Occasion::Start)?;
    write.commit()
}

/// Begins another life, because an operator says that the file was restored.
pub(super) fn restored(write: &Write<'_>) -> Result<(), StoreError> {
    let (stored, was) = read(&write.tx, write.mark)?;
    let found = stored.clone().unwrap_or_default();
    apply(write, stored.as_ref(), &found, was, Occasion::Restored)
}

fn apply(
    write: &Write<'_>,
    stored: Option<&Origin>,
    found: &Origin,
    was: Counters,
    occasion: Occasion,
) -> Result<(), StoreError> {
    let begun = life::begin(occasion, stored, found, was, None, write.now);
    if begun.writes {
        save(write, found, &begun)?;
    }
    if begun.went_back {
        note(write, was, begun.counters)?;
        let number = begun.counters.number;
        tracing::warn!(number, "the database is a copy or a restored backup; its counters were moved");
    }
    Ok(())
}

fn read(tx: &Connection, recorded: Time) -> Result<(Option<Origin>, Counters), StoreError> {
    Ok(tx.query_row(&sql::LIFE_READ, [], |row| {
        let part = |column| row.get::<_, Option<String>>(column);
        let (timeline, started) = (part(1)?.unwrap_or_default(), part(2)?.unwrap_or_default());
        let stored = part(0)?.map(|identifier| Origin { identifier, timeline, started });
        Ok((stored, Counters { number: row.get(3)?, task: row.get(4)?, position: row.get(5)?, recorded }))
    })?)
}

fn save(write: &Write<'_>, found: &Origin, begun: &Beginning) -> Result<(), StoreError> {
    let (tx, counters) = (&write.tx, begun.counters);
    tx.execute(&sql::LIFE_SAVE, params![found.identifier, found.timeline, found.started])?;
    tx.execute(&sql::LIFE_MOVE, [counters.number])?;
    if begun.went_back {
        tx.execute(&sql::LIFE_EVENTS, [])?;
        for (table, last) in [("task", counters.task), ("event_in", counters.position)] {
            tx.execute(&sql::LIFE_FIRST, [table])?;
            tx.execute(&sql::LIFE_JUMP, params![table, last])?;
        }
    }
    Ok(())
}

/// Adds the audit entry: how far the counters moved.
fn note(write: &Write<'_>, was: Counters, now: Counters) -> Result<(), StoreError> {
    let moved = |from: i64, to: i64| serde_json::json!({"from": from, "to": to});
    let draft = Draft::new(Actor::system(), AuditAction::DatabaseLife, "database").with([
        ("number", moved(was.number, now.number)),
        ("task", moved(was.task, now.task)),
        ("position", moved(was.position, now.position)),
    ]);
    audit::note(&write.tx, write.now, draft)
}
