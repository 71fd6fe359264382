//! The SQLite store: embedded, one file, one writer.
//!
//! One thread owns the only connection that writes, and runs one group after another. Each transaction takes the write
//! lock at its beginning. So the rows that a group has read cannot change before its commit, and a missing row needs no
//! lock of its own. Other threads read at the same time and block nothing. Another process, such as the command line,
//! may use the same file; it waits for the write lock like the writer thread.
//!
//! Not here: rules. Each statement under `sqlite/sql` says in its file which rows it chooses.

mod access;
mod answer;
mod audit;
mod backup;
mod changes;
mod check;
mod checkpoint;
mod claim;
mod commit;
mod connection;
mod destination;
mod effect;
mod enqueue;
mod error;
mod event;
mod file;
mod item;
mod lease;
mod life;
mod line;
mod manage;
mod pace;
mod purge;
mod queue;
mod read;
mod repair;
mod row;
mod schema;
mod settle;
mod sql;
mod stock;
mod sync;
mod task;
#[cfg(test)]
mod tests;
mod tx;
mod workers;

use crate::clock::Clock;
use crate::store::{
    Delivered, Effect, Group, Hint, LineStep, Outcomes, Pending, Routes, SchemaState, Store, StoreError,
};
use checkpoint::Checkpoints;
use commit::{commit, numbers};
use file::{File, Probed};
use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tokio::sync::Notify;
use turno_core::access::Epoch;
use turno_core::task::Apply;
use turno_core::time::Time;
use tx::{Write, begin, marks};
use workers::Workers;

/// The store for a SQLite file.
///
/// Fields are dropped in this order. The checkpoint thread's connection must close last, because it moves the rest of
/// the log into the file.
pub(crate) struct SqliteStore {
    described: String,
    path: String,
    clock: Arc<Clock>,
    /// For heartbeats and settlements, which must not wait behind a long read.
    beats: Workers,
    /// For all other reads.
    looks: Workers,
    writer: Workers,
    /// Restricts the statements of effects on the writer's connection.
    guard: effect::Guard,
    _checkpoints: Checkpoints,
    changed: Arc<Notify>,
    file: Arc<File>,
    probed: Probed,
    /// The highest time that is known to be recorded.
    recorded: AtomicI64,
}

/// Opens the file at `path` and resumes `clock` from the recorded mark. Creates or upgrades the schema if `migrate` is
/// true. Otherwise returns an error if this program cannot use the schema.
pub(crate) async fn open(path: &str, clock: Arc<Clock>, migrate: bool) -> Result<SqliteStore, StoreError> {
    let path = path.to_owned();
    let opened = tokio::task::spawn_blocking(move || start(&path, clock, migrate)).await;
    opened.unwrap_or_else(|error| Err(StoreError::Unavailable(error.to_string().into())))
}

/// Reads the schema's version of the file at `path`, if the file exists.
pub(crate) async fn schema(path: &str) -> Result<SchemaState, StoreError> {
    let path = path.to_owned();
    let looked = tokio::task::spawn_blocking(move || look(&path)).await;
    looked.unwrap_or_else(|error| Err(StoreError::Unavailable(error.to_string().into())))
}

fn look(path: &str) -> Result<SchemaState, StoreError> {
    connection::visitor(path)?.map_or_else(|| Ok(schema::none()), |visitor| schema::state(&visitor))
}

fn start(path: &str, clock: Arc<Clock>, migrate: bool) -> Result<SqliteStore, StoreError> {
    if !migrate {
        look(path)?.required()?;
    }
    let before = life::FileStamp::read(path);
    let mut writer = connection::writer(path)?;
    if migrate {
        schema::migrate(&mut writer)?;
    }
    clock.resume(Time(writer.query_row(&sql::MARK_READ, [], |row| row.get(0))?));
    // So that the first estimate is based on today and not on when the file was last used.
    now(&clock);
    life::start(&mut writer, path, &clock, &before)?;
    let checkpoints = Checkpoints::start(&mut writer, connection::checkpointer(path)?)?;
    let guard = effect::Guard::install(&mut writer)?;
    let changed = Arc::new(Notify::new());
    let file = Arc::new(File::opened(path));
    let beats = vec![connection::reader(path)?, connection::reader(path)?];
    Ok(SqliteStore {
        described: format!("SQLite {}, {path}", rusqlite::version()),
        path: path.to_owned(),
        clock,
        beats: Workers::readers("turno-beat", beats)?,
        looks: Workers::readers("turno-look", vec![connection::reader(path)?])?,
        writer: Workers::writer(writer, changed.clone(), file.clone())?,
        guard,
        _checkpoints: checkpoints,
        changed,
        file,
        probed: Probed::default(),
        recorded: AtomicI64::new(i64::MIN),
    })
}

/// Returns the time to decide with. This database's clock is the machine's clock.
fn now(clock: &Clock) -> Time {
    clock.observe(clock.machine())
}

impl SqliteStore {
    /// Runs `read` on a reader's connection, with the time to decide with.
    fn look<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut Connection, Time) -> Result<T, StoreError> + Send + 'static,
    ) -> Pending<'_, T> {
        let clock = self.clock.clone();
        self.looks.run(move |db| read(db, now(&clock)))
    }

    /// Runs `work` in a write transaction, which `work` commits.
    fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(Write<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Pending<'_, T> {
        let clock = self.clock.clone();
        self.writer.run(move |db| work(begin(db, &clock)?))
    }
}

impl Store for SqliteStore {
    fn describe(&self) -> &str {
        &self.described
    }

    fn routes(&self) -> Routes {
        Routes { merges: true, leases: vec![0], items: vec![0], reserved: 0 }
    }

    fn commit(&self, _route: usize, groups: Arc<[Group]>, as_of: Option<Epoch>) -> Pending<'_, Vec<Outcomes>> {
        let clock = self.clock.clone();
        self.writer.run(move |db| commit(db, &clock, &groups, as_of))
    }

    fn apply_line(&self, apply: Apply, effect: Option<Arc<dyn Effect>>) -> Pending<'_, LineStep> {
        match effect {
            Some(effect) => effect::apply(self, apply, effect, effect::PATIENCE),
            None => {
                let clock = self.clock.clone();
                self.writer.run(move |db| line::apply(db, &clock, &apply))
            }
        }
    }

    fn sync_delivered(&self, delivered: Delivered) -> Pending<'_, ()> {
        self.write(move |write| sync::delivered(write, &delivered))
    }

    fn recorded(&self) -> Option<Time> {
        Some(Time(self.recorded.load(Ordering::Relaxed)))
    }

    fn raise_mark(&self, now: Time) -> Pending<'_, ()> {
        Box::pin(async move {
            self.write(move |write| if write.mark < now { write.raise() } else { Ok(()) }).await?;
            self.recorded.fetch_max(now.0, Ordering::Relaxed);
            Ok(())
        })
    }

    /// Waits until another process has written. SQLite does not say what changed, so the hint is always `All`.
    fn hint(&self) -> Pending<'_, Hint> {
        Box::pin(async move {
            self.changed.notified().await;
            Ok(Hint::All)
        })
    }

    /// Does nothing, because other processes notice the write by the file's data version.
    fn announce(&self, _hints: Vec<Hint>) -> Pending<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
}
