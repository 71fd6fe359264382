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
mod purge;
mod queue;
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
    Answer, AuditQuery, Check, Counts, Delivered, Effect, EventSpan, Finding, Group, Hint, ItemQuery, ItemRecord,
    LaneFront, LaneLocks, LeaseQuery, LineStep, Outcomes, Past, PauseQueue, Peeked, Pending, Pulse, Purge, PutQueue,
    QueueRow, RepairGroup, RepairOutcome, Routes, SchemaState, Sequenced, StockLevel, Store, StoreError, TaskPage,
    TaskQuery, TokenFound,
};
use checkpoint::Checkpoints;
use commit::{commit, numbers};
use file::{File, Probed};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tokio::sync::Notify;
use turno_core::access::{Epoch, Link, Person, Token};
use turno_core::audit::{Actor, Entry, Hash, Head};
use turno_core::destination::Destination;
use turno_core::event::Event;
use turno_core::id::{Fence, ItemId, Key, Lane, Once, Position, QueueId, QueueName, Resource, Sku, UserId};
use turno_core::lease::{Ending, State};
use turno_core::queue::{DeliveryRef, SettleOutcome, Waited};
use turno_core::task::{Apply, Note, Task, TaskId};
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
    opened.unwrap_or_else(|error| Err(StoreError::Unavailable(error.to_string())))
}

/// Reads the schema's version of the file at `path`, if the file exists.
pub(crate) async fn schema(path: &str) -> Result<SchemaState, StoreError> {
    let path = path.to_owned();
    let looked = tokio::task::spawn_blocking(move || look(&path)).await;
    looked.unwrap_or_else(|error| Err(StoreError::Unavailable(error.to_string())))
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

    fn peek(&self, resources: Vec<Resource>) -> Pending<'_, Peeked> {
        let clock = self.clock.clone();
        self.beats.run(move |db| lease::peek(db, &clock, |tx| lease::states(tx, resources)))
    }

    fn leases(&self, query: LeaseQuery) -> Pending<'_, Peeked> {
        let clock = self.clock.clone();
        self.looks.run(move |db| lease::peek(db, &clock, |tx| lease::list(tx, &query)))
    }

    fn due_leases(&self, limit: u32) -> Pending<'_, (Vec<Resource>, Option<Time>)> {
        let clock = self.clock.clone();
        self.looks.run(move |db| lease::due(db, now(&clock), limit))
    }

    fn lines(&self, after: Option<Resource>, limit: u32) -> Pending<'_, Vec<State>> {
        self.looks.run(move |db| lease::lines(db, after.as_ref(), limit))
    }

    fn ending(&self, resource: Resource, fence: Fence) -> Pending<'_, Option<Ending>> {
        self.beats.run(move |db| lease::ending(db, &resource, fence))
    }

    fn history(&self, resource: Resource, from: Past, limit: u32) -> Pending<'_, Vec<Ending>> {
        self.looks.run(move |db| lease::history(db, &resource, from, limit))
    }

    fn put_queue(&self, put: PutQueue, by: Actor) -> Pending<'_, Option<QueueRow>> {
        self.write(move |write| queue::put(write, &put, by))
    }

    fn destination(&self, queue: QueueId) -> Pending<'_, Option<Destination>> {
        self.beats.run(move |db| destination::read(db, queue))
    }

    fn destinations(&self) -> Pending<'_, Vec<(QueueId, Destination)>> {
        self.beats.run(|db| destination::list(db))
    }

    fn put_destination(&self, queue: QueueId, destination: Destination, news: Option<Event>) -> Pending<'_, bool> {
        self.write(move |write| destination::put(write, queue, &destination, news.as_slice()))
    }

    fn pause_queue(&self, pause: PauseQueue) -> Pending<'_, ()> {
        self.write(move |write| queue::pause(write, &pause))
    }

    fn queue(&self, name: QueueName) -> Pending<'_, Option<QueueRow>> {
        self.looks.run(move |db| queue::find(db, &name))
    }

    fn queues(&self) -> Pending<'_, Vec<QueueRow>> {
        self.looks.run(|db| queue::list(db))
    }

    fn expired(&self, limit: u32) -> Pending<'_, (Vec<DeliveryRef>, Option<Time>)> {
        let clock = self.clock.clone();
        self.looks.run(move |db| item::expired(db, now(&clock), limit))
    }

    fn next_look(&self, queue: QueueId, after: Time) -> Pending<'_, Option<Time>> {
        self.looks.run(move |db| item::next_look(db, queue, after))
    }

    fn settled(&self, reference: Vec<DeliveryRef>) -> Pending<'_, Vec<Option<SettleOutcome>>> {
        self.beats.run(move |db| settle::settled(db, &reference))
    }

    fn item(&self, queue: QueueId, id: ItemId) -> Pending<'_, Option<ItemRecord>> {
        let clock = self.clock.clone();
        self.looks.run(move |db| item::find_item(db, now(&clock), queue, &id))
    }

    fn absorber(&self, queue: QueueId, id: ItemId, key: Key) -> Pending<'_, Option<ItemId>> {
        self.looks.run(move |db| item::absorber(db, queue, &id, &key))
    }

    fn items(&self, queue: QueueId, query: ItemQuery) -> Pending<'_, Vec<ItemRecord>> {
        let clock = self.clock.clone();
        self.looks.run(move |db| item::list(db, now(&clock), queue, &query))
    }

    fn counts(&self, queue: QueueId) -> Pending<'_, Counts> {
        let clock = self.clock.clone();
        self.looks.run(move |db| item::counts(db, now(&clock), queue))
    }

    fn pulse(&self, queue: QueueId, since: Time) -> Pending<'_, Pulse> {
        let clock = self.clock.clone();
        self.looks.run(move |db| item::pulse(db, now(&clock), queue, since))
    }

    fn count_purgeable(&self, queue: QueueId, before: Time) -> Pending<'_, u64> {
        self.looks.run(move |db| purge::count(db, queue, before))
    }

    fn waits(&self, queue: QueueId, since: Time, limit: u32) -> Pending<'_, Vec<Waited>> {
        self.looks.run(move |db| item::waits(db, queue, since, limit))
    }

    fn lane_front(&self, queue: QueueId, lane: Lane, size: u32) -> Pending<'_, LaneFront> {
        let clock = self.clock.clone();
        self.looks.run(move |db| item::lane_front(db, now(&clock), queue, lane, size))
    }

    fn lanes(&self, queue: QueueId, after: Option<Lane>, limit: u32) -> Pending<'_, Vec<Lane>> {
        self.looks.run(move |db| item::lanes(db, queue, after, limit))
    }

    fn lane_locks(&self) -> Pending<'_, LaneLocks> {
        let clock = self.clock.clone();
        self.looks.run(move |db| item::lane_locks(db, now(&clock)))
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

    fn task(&self, id: TaskId) -> Pending<'_, Option<Task>> {
        self.looks.run(move |db| task::get(db, id))
    }

    fn task_look(&self, id: TaskId) -> Pending<'_, TaskPage> {
        let clock = self.clock.clone();
        self.looks.run(move |db| task::page(db, &clock, 1, |tx| Ok(task::read(tx, id)?.into_iter().collect())))
    }

    fn tasks(&self, query: TaskQuery) -> Pending<'_, TaskPage> {
        let clock = self.clock.clone();
        self.looks.run(move |db| task::page(db, &clock, query.limit, |tx| task::list(tx, &query)))
    }

    fn task_notes(&self, id: TaskId, after: i64, limit: u32) -> Pending<'_, Vec<(i64, Note)>> {
        self.looks.run(move |db| task::notes(db, id, after, limit))
    }

    fn stock(&self, sku: Sku) -> Pending<'_, Option<StockLevel>> {
        self.looks.run(move |db| stock::level(db, sku))
    }

    fn token(&self, hash: Hash) -> Pending<'_, TokenFound> {
        let clock = self.clock.clone();
        self.beats.run(move |db| access::found(db, &clock, hash))
    }

    fn link(&self, hash: Hash) -> Pending<'_, Option<Link>> {
        self.looks.run(move |db| access::link(db, hash))
    }

    fn admins(&self) -> Pending<'_, i64> {
        self.looks.run(|db| access::admins(db))
    }

    fn answer(&self, once: Once) -> Pending<'_, Option<(Answer, Time)>> {
        self.looks.run(move |db| answer::read(db, &once))
    }

    fn sync_delivered(&self, delivered: Delivered) -> Pending<'_, ()> {
        self.write(move |write| sync::delivered(write, &delivered))
    }

    fn keep_answer(&self, once: Once, answer: Answer, at: Time, lapsed: Time) -> Pending<'_, Answer> {
        self.write(move |write| answer::keep(write, &once, &answer, at, lapsed))
    }

    fn schema(&self) -> Pending<'_, SchemaState> {
        self.beats.run(|db| schema::state(db))
    }

    fn ready(&self) -> Pending<'_, ()> {
        Box::pin(async move {
            self.file.check()?;
            self.schema().await?.required()?;
            self.probe().await
        })
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

    fn epoch(&self) -> Pending<'_, Epoch> {
        self.beats.run(|db| Ok(marks(db)?.1))
    }

    fn person(&self, id: UserId) -> Pending<'_, Option<Person>> {
        self.looks.run(move |db| access::person(db, &id))
    }

    fn people(&self, after: Option<UserId>, limit: u32) -> Pending<'_, Vec<Person>> {
        self.looks.run(move |db| access::people(db, after.as_ref(), limit))
    }

    fn tokens(&self, user: Option<UserId>, after: Option<String>, limit: u32) -> Pending<'_, Vec<Token>> {
        self.looks.run(move |db| access::tokens(db, user.as_ref(), after.as_deref(), limit))
    }

    fn touch_tokens(&self, used: Vec<(String, Time)>) -> Pending<'_, ()> {
        if used.is_empty() {
            return Box::pin(std::future::ready(Ok(())));
        }
        self.write(move |write| access::touch(write, &used))
    }

    fn renew_session(&self, id: String, until: Time) -> Pending<'_, bool> {
        self.write(move |write| access::renew(write, &id, until))
    }

    fn audit(&self, query: AuditQuery) -> Pending<'_, Vec<Entry>> {
        self.looks.run(move |db| audit::list(db, &query))
    }

    fn audit_head(&self) -> Pending<'_, Head> {
        self.looks.run(|db| audit::head(db))
    }

    fn purge(&self, what: Purge, limit: u32) -> Pending<'_, u64> {
        self.write(move |write| purge::run(write, &what, limit))
    }

    fn purge_leases(&self, after: Option<Resource>, before: Time, limit: u32) -> Pending<'_, (u64, Option<Resource>)> {
        self.write(move |write| purge::leases(write, after.as_ref(), before, limit))
    }

    fn check(&self, check: Check, limit: u32) -> Pending<'_, Vec<Finding>> {
        self.looks.run(move |db| check::run(db, check, limit))
    }

    fn repair(&self, repair: RepairGroup) -> Pending<'_, RepairOutcome> {
        self.write(move |write| repair::lane(write, &repair))
    }

    /// Runs on its own thread and connection, because a large file takes long and must not delay other calls.
    fn backup(&self, to: std::path::PathBuf) -> Pending<'_, ()> {
        let from = self.path.clone();
        Box::pin(async move {
            let written = tokio::task::spawn_blocking(move || backup::write(&from, &to)).await;
            written.unwrap_or_else(|error| Err(StoreError::Unavailable(error.to_string())))
        })
    }

    /// Does nothing, because SQLite has one writer at a time: an event's row number is its position.
    fn sequence(&self) -> Pending<'_, Sequenced> {
        Box::pin(std::future::ready(Ok(Sequenced::AtCommit)))
    }

    fn events(&self, after: Position, limit: u32) -> Pending<'_, Vec<(Position, Event)>> {
        self.looks.run(move |db| event::list(db, after, limit))
    }

    fn event_span(&self) -> Pending<'_, EventSpan> {
        self.looks.run(|db| event::span(db))
    }

    fn purge_events(&self, before: Time, limit: u32) -> Pending<'_, u64> {
        self.writer.run(move |db| event::purge(db, before, limit))
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
