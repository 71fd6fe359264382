//! SQLite: embedded, one file, one writer.
//!
//! A thread owns the only connection that writes and runs one group after another, each transaction with the
//! write lock from its beginning: what a group reads cannot change until it has committed, and a row that is
//! not there yet needs no lock of its own. Other threads read beside it and hold nobody up. Another process
//! (the command line) may work on the same file at the same time; it takes its turn for the write lock.
//!
//! Not here: any rule. What a statement chooses is said in its file under `sqlite/sql`.

mod changes;
mod checkpoint;
mod connection;
mod error;
mod event;
mod lease;
mod looks;
mod queue;
mod rows;
mod schema;
mod statements;
#[cfg(test)]
mod tests;
mod workers;

use crate::clock::Clock;
use crate::store::{
    AuditQuery, Counts, Effect, EventSpan, Group, Hint, ItemRecord, LeaseQuery, LineStep, Outcomes, Peeked, Pending,
    Purge, QueueRow, Routes, Sequenced, StockLevel, Store, StoreError, TaskQuery, TokenFound,
};
use checkpoint::Checkpoints;
use rusqlite::{Connection, TransactionBehavior};
use statements as sql;
use std::sync::Arc;
use tokio::sync::Notify;
use turno_core::access::{Epoch, Person, Token};
use turno_core::audit::{Actor, Entry, Hash, Head};
use turno_core::event::Event;
use turno_core::id::{Fence, ItemId, Numbers, Position, QueueId, QueueName, Resource, Seq, Sku, UserId};
use turno_core::lease::Ending;
use turno_core::queue::{Handed, Policy, SettleOutcome};
use turno_core::task::{Apply, Note, Task, TaskId};
use turno_core::time::{Span, Time};
use workers::Workers;

/// A database in a file.
///
/// The fields' order is the order of closing: whoever closes last moves the rest of the log into the file.
pub(crate) struct SqliteStore {
    described: String,
    clock: Arc<Clock>,
    /// For heartbeats and settlements: never behind a long look.
    beats: Workers,
    /// For everything else that reads.
    looks: Workers,
    writer: Workers,
    _checkpoints: Checkpoints,
    changed: Arc<Notify>,
}

/// Opens the file at `path`, creates or upgrades its schema, and lets `clock` go on from its mark.
pub(crate) async fn open(path: &str, clock: Arc<Clock>) -> Result<SqliteStore, StoreError> {
    let path = path.to_owned();
    let opened = tokio::task::spawn_blocking(move || start(&path, clock)).await;
    opened.unwrap_or_else(|error| Err(StoreError::Unavailable(error.to_string())))
}

fn start(path: &str, clock: Arc<Clock>) -> Result<SqliteStore, StoreError> {
    let mut writer = connection::writer(path)?;
    schema::migrate(&mut writer)?;
    clock.resume(Time(writer.query_row(sql::MARK_READ, [], |row| row.get(0))?));
    // So that the first estimate is of today, and not of when the file was last used.
    now(&clock);
    let checkpoints = Checkpoints::start(&mut writer, connection::checkpointer(path)?)?;
    let changed = Arc::new(Notify::new());
    let beats = vec![connection::reader(path)?, connection::reader(path)?];
    Ok(SqliteStore {
        described: format!("SQLite {}, {path}", rusqlite::version()),
        clock,
        beats: Workers::readers("turno-beat", beats)?,
        looks: Workers::readers("turno-look", vec![connection::reader(path)?])?,
        writer: Workers::writer(writer, changed.clone())?,
        _checkpoints: checkpoints,
        changed,
    })
}

/// The time to decide with. The machine's clock is this database's clock.
fn now(clock: &Clock) -> Time {
    clock.observe(clock.machine())
}

/// How far the recorded time may lag behind the time decided with.
const MARK_LAG: Span = Span::from_secs(1);

/// All groups in one transaction. The clock is read once the write lock is held.
fn commit(db: &mut Connection, clock: &Clock, groups: &[Group]) -> Result<Vec<Outcomes>, StoreError> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have decided with a later time, and recorded it.
    let mark = Time(tx.prepare_cached(sql::MARK_READ)?.query_row([], |row| row.get(0))?);
    clock.resume(mark);
    let now = now(clock);
    let run = |group: &Group| match group {
        Group::Lease(group) => lease::run(&tx, now, group),
        Group::Enqueue(group) => queue::enqueue(&tx, now, group),
        Group::Claim(group) => queue::claim(&tx, now, group),
        Group::Settle(group) => queue::settle(&tx, now, group),
        Group::Manage(group) => queue::manage(&tx, now, group),
        Group::Typing(group) => queue::typing(&tx, now, group),
        Group::Task(_) | Group::Access(_) => Err(StoreError::Rejected("not built yet".into())),
    };
    let outcomes = groups.iter().map(run).collect::<Result<_, _>>()?;
    if mark + MARK_LAG <= now {
        tx.prepare_cached(sql::MARK_SAVE)?.execute([now.0])?;
    }
    tx.commit().map_err(error::at_commit)?;
    Ok(outcomes)
}

/// Fresh numbers from the one sequence.
fn numbers(tx: &Connection, count: usize) -> Result<Numbers, StoreError> {
    if count == 0 {
        return Ok(Numbers::new(Vec::new()));
    }
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let mut take = tx.prepare_cached(sql::NUMBER_TAKE)?;
    let last: i64 = take.query_row([count], |row| row.get(0))?;
    Ok(Numbers::new((last - count + 1..=last).collect()))
}

impl Store for SqliteStore {
    fn describe(&self) -> &str {
        &self.described
    }

    fn routes(&self) -> Routes {
        Routes { merges: true, leases: vec![0], items: vec![0], reserved: 0 }
    }

    fn commit(&self, _route: usize, groups: Arc<[Group]>, _as_of: Option<Epoch>) -> Pending<'_, Vec<Outcomes>> {
        let clock = self.clock.clone();
        self.writer.run(move |db| commit(db, &clock, &groups))
    }

    fn peek(&self, resources: Vec<Resource>) -> Pending<'_, Peeked> {
        let clock = self.clock.clone();
        self.beats.run(move |db| {
            let tx = db.transaction()?;
            let states = lease::states(&tx, resources)?;
            tx.commit()?;
            Ok(Peeked { now: now(&clock), epoch: Epoch(0), states })
        })
    }

    fn ending(&self, resource: Resource, fence: Fence) -> Pending<'_, Option<Ending>> {
        self.beats.run(move |db| lease::ending(db, &resource, fence))
    }

    fn history(&self, resource: Resource, limit: u32) -> Pending<'_, Vec<Ending>> {
        self.looks.run(move |db| lease::history(db, &resource, limit))
    }

    fn put_queue(&self, name: QueueName, policy: Policy, _by: Actor) -> Pending<'_, QueueRow> {
        self.writer.run(move |db| looks::put_queue(db, &name, &policy))
    }

    fn pause_queue(&self, queue: QueueId, paused: bool, _by: Actor) -> Pending<'_, ()> {
        self.writer.run(move |db| looks::pause_queue(db, queue, paused))
    }

    fn queue(&self, name: QueueName) -> Pending<'_, Option<QueueRow>> {
        self.looks.run(move |db| looks::queue_named(db, &name))
    }

    fn queues(&self) -> Pending<'_, Vec<QueueRow>> {
        self.looks.run(|db| looks::queues(db))
    }

    fn expired(&self, limit: u32) -> Pending<'_, (Vec<Handed>, Option<Time>)> {
        let clock = self.clock.clone();
        self.looks.run(move |db| looks::expired(db, now(&clock), limit))
    }

    fn next_look(&self, queue: QueueId, after: Time) -> Pending<'_, Option<Time>> {
        self.looks.run(move |db| looks::next_look(db, queue, after))
    }

    fn settled(&self, handed: Vec<Handed>) -> Pending<'_, Vec<Option<SettleOutcome>>> {
        self.beats.run(move |db| looks::settled(db, &handed))
    }

    fn item(&self, queue: QueueId, id: ItemId) -> Pending<'_, Option<ItemRecord>> {
        self.looks.run(move |db| looks::item_record(db, queue, &id))
    }

    fn items(&self, queue: QueueId, after: Seq, limit: u32) -> Pending<'_, Vec<ItemRecord>> {
        self.looks.run(move |db| looks::item_records(db, queue, after, limit))
    }

    fn counts(&self, queue: QueueId) -> Pending<'_, Counts> {
        let clock = self.clock.clone();
        self.looks.run(move |db| looks::counts(db, now(&clock), queue))
    }

    fn leases(&self, _query: LeaseQuery) -> Pending<'_, Peeked> {
        unbuilt()
    }

    fn apply_line(&self, _apply: Apply, _effect: Option<Arc<dyn Effect>>) -> Pending<'_, LineStep> {
        unbuilt()
    }

    fn task(&self, _id: TaskId) -> Pending<'_, Option<Task>> {
        unbuilt()
    }

    fn tasks(&self, _query: TaskQuery) -> Pending<'_, Vec<Task>> {
        unbuilt()
    }

    fn task_notes(&self, _id: TaskId, _limit: u32) -> Pending<'_, Vec<Note>> {
        unbuilt()
    }

    fn stock(&self, _sku: Sku) -> Pending<'_, Option<StockLevel>> {
        unbuilt()
    }

    fn token(&self, _hash: Hash) -> Pending<'_, TokenFound> {
        unbuilt()
    }

    fn epoch(&self) -> Pending<'_, Epoch> {
        unbuilt()
    }

    fn person(&self, _id: UserId) -> Pending<'_, Option<Person>> {
        unbuilt()
    }

    fn people(&self, _after: Option<UserId>, _limit: u32) -> Pending<'_, Vec<Person>> {
        unbuilt()
    }

    fn tokens(&self, _user: Option<UserId>, _after: Option<String>, _limit: u32) -> Pending<'_, Vec<Token>> {
        unbuilt()
    }

    fn touch_tokens(&self, _used: Vec<(String, Time)>) -> Pending<'_, ()> {
        unbuilt()
    }

    fn audit(&self, _query: AuditQuery) -> Pending<'_, Vec<Entry>> {
        unbuilt()
    }

    fn audit_head(&self) -> Pending<'_, Head> {
        unbuilt()
    }

    fn purge(&self, _what: Purge, _limit: u32) -> Pending<'_, u64> {
        unbuilt()
    }

    fn backup(&self, _to: std::path::PathBuf) -> Pending<'_, ()> {
        unbuilt()
    }

    /// There is one writer at a time, so the number that an event is written with is its position.
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

    /// Another process wrote to the file; what it wrote is not known, so it is always everything.
    fn hint(&self) -> Pending<'_, Hint> {
        Box::pin(async move {
            self.changed.notified().await;
            Ok(Hint::All)
        })
    }

    /// Others notice the write itself.
    fn announce(&self, _hints: Vec<Hint>) -> Pending<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// For what is still to come.
fn unbuilt<'a, T: Send + 'a>() -> Pending<'a, T> {
    Box::pin(std::future::ready(Err(StoreError::Rejected("not built yet".into()))))
}
