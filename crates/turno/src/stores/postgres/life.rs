//! Lives of the database, and caches that are valid in one life only.
//!
//! After an asynchronous failover, a restore or a restart of the server, the database may lack its newest commits. Then
//! the caches of a process that keeps running (floors of lanes and queues, the recorded time) describe items that no
//! longer exist, and newer items would be overlooked. So every cache belongs to one *life*, and every transaction
//! compares the database's life before it decides. If the life differs, the transaction is rolled back, the caches are
//! cleared, and the life is begun: once per life, the first process moves the counters past everything that the lost
//! commits may have handed out. The rule is [`turno_core::life::begin`].

use super::audit;
use super::call::Call;
use super::connection::Link;
use super::error::TripError;
use super::row::{garbled, get};
use super::slot::Taken;
use super::sql;
use super::tx::{Answers, Moment};
use super::{PostgresStore, Shared};
use crate::store::StoreError;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_postgres::Row;
use turno_core::audit::{Actor, AuditAction, Draft, Entry, chain};
use turno_core::life::{Beginning, Counters, Occasion, Origin, begin};
use turno_core::time::Time;

/// The number of the life, as counted by this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Generation(u64);

#[cfg(test)]
impl Generation {
    pub(super) const FIRST: Generation = Generation(1);
}

/// The life that this process is in, with the server's description of it.
#[derive(Debug, Default)]
pub(super) struct Lives {
    current: Mutex<(Generation, Arc<str>)>,
    /// For tests: never notices that a life has ended.
    #[cfg(test)]
    pub(super) blind: std::sync::atomic::AtomicBool,
}

impl Lives {
    pub(super) fn current(&self) -> (Generation, Arc<str>) {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn generation(&self) -> Generation {
        self.current().0
    }

    /// Returns whether `words` describe the life of `generation` and this process is still in it. A transaction that
    /// read caches in an earlier life must not decide, even if this process has entered the new life since.
    pub(super) fn continues(&self, generation: Generation, words: &str) -> bool {
        #[cfg(test)]
        if self.blind.load(std::sync::atomic::Ordering::SeqCst) {
            return true;
        }
        let (current, known) = self.current();
        current == generation && *known == *words
    }

    /// Enters the life that was begun.
    fn enter(&self, words: &str) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if *current.1 != *words {
            *current = (Generation(current.0.0 + 1), words.into());
        }
    }
}

/// A value that is valid in one life, and reset to its default in the next.
#[derive(Debug, Default)]
pub(super) struct Remembered<T>(Mutex<(Generation, T)>);

impl<T: Default> Remembered<T> {
    /// Runs `work` on the value of this generation. A caller of an earlier generation gets a default value, and its
    /// changes are dropped.
    pub(super) fn with<A>(&self, generation: Generation, work: impl FnOnce(&mut T) -> A) -> A {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.0 < generation {
            *memory = (generation, T::default());
        }
        if memory.0 == generation { work(&mut memory.1) } else { work(&mut T::default()) }
    }
}

impl Shared {
    /// Enters a life. From here on all caches are empty.
    fn enter(&self, words: &str) {
        self.lives.enter(words);
        self.floors.drop_all();
    }
}

impl PostgresStore {
    /// Begins the database's current life, or enters it if another process has begun it.
    pub(super) async fn begin_life(&self, occasion: Occasion) -> Result<(), StoreError> {
        let mut again = true;
        loop {
            let mut link = self.keeper.take(&self.address).await?;
            match Start::read(&self.shared, &mut link, occasion).await {
                Ok(start) => return self.save_life(link, start).await,
                Err(failure) => self.failed(link, failure, &mut again).await?,
            }
        }
    }

    async fn save_life(&self, link: Taken<'_>, start: Start) -> Result<(), StoreError> {
        if !start.begun.writes {
            link.cancel();
            self.shared.enter(&start.words);
            return Ok(());
        }
        let words =
            self.commit_calls(link, start.calls(), Some(Call::new(&sql::LIFE_NAME)), start.xid.as_deref()).await?;
        // If the answer was lost with the connection, the next transaction meets an unknown life and begins again here.
        let words = words.and_then(|rows| rows.first().and_then(|row| get::<String>(row, 0).ok()));
        self.shared.enter(&words.unwrap_or_default());
        if start.begun.went_back {
            let (number, timeline) = (start.begun.counters.number, &*start.origin.timeline);
            tracing::warn!(number, timeline, "the database is in another life; it may lack its newest commits");
            self.hints.announce(vec![crate::store::Hint::All]);
        }
        Ok(())
    }

    /// Returns whether a new connection leads to the life that this process is in.
    pub(super) async fn is_same_life(&self, link: &mut Link) -> Result<bool, TripError> {
        let answers = link.trip(&[Call::new(&sql::LIFE_NAME)]).await?;
        let row = answers.first().and_then(|rows| rows.first()).ok_or_else(|| garbled("a database without a life"))?;
        let (generation, known) = self.shared.lives.current();
        Ok(known.is_empty() || self.shared.lives.continues(generation, get(row, 0)?))
    }
}

/// A life that is about to begin: the rows read under the lock, and the decision.
struct Start {
    origin: Origin,
    begun: Beginning,
    entries: Vec<Entry>,
    words: String,
    xid: Option<String>,
}

impl Start {
    async fn read(shared: &Shared, link: &mut Link, occasion: Occasion) -> Result<Start, TripError> {
        let locks = [Call::new(&sql::BEGIN), Call::new(&sql::LIFE_LOCK), audit::lock()];
        let reads = [Call::new(&sql::LIFE_READ), Moment::call(0, true)];
        let calls: Vec<Call<'_>> = locks.into_iter().chain(reads).collect();
        let mut answers = Answers::new(link.trip(&calls).await?.into_iter());
        answers.take();
        answers.take();
        let mut head = audit::head(&answers.take())?;
        let rows = answers.take();
        let row = rows.first().ok_or_else(|| garbled("a database without a life"))?;
        let Moment { now, recorded, xid, life, .. } = Moment::read(&shared.clock, &answers.take())?;
        let (stored, found, was) = (stored(row)?, found(row)?, counters(row, recorded)?);
        let committed = shared.recorded.get(shared.lives.generation());
        let begun = begin(occasion, stored.as_ref(), &found, was, committed, now);
        let drafts = begun.went_back.then(|| life_entry(stored.as_ref(), &found, was, begun.counters));
        let entries = chain(&mut head, now, drafts.into_iter().collect());
        Ok(Start { origin: found, begun, entries, words: life, xid })
    }

    fn calls(&self) -> Vec<Call<'_>> {
        let Origin { identifier, timeline, started } = &self.origin;
        let Counters { number, task, position, .. } = self.begun.counters;
        let mut calls = vec![
            Call::new(&sql::LIFE_MOVE).big(number),
            Call::new(&sql::LIFE_SAVE).text(identifier).text(timeline).text(started),
        ];
        if self.begun.went_back {
            calls.push(Call::new(&sql::LIFE_JUMP).big(task).big(position));
        }
        calls.extend(audit::calls(&self.entries));
        calls
    }
}

fn stored(row: &Row) -> Result<Option<Origin>, TripError> {
    let [identifier, timeline, started]: [Option<String>; 3] = [get(row, 0)?, get(row, 1)?, get(row, 2)?];
    let part = Option::<String>::unwrap_or_default;
    Ok(identifier.is_some().then(|| Origin {
        identifier: part(identifier),
        timeline: part(timeline),
        started: part(started),
    }))
}

fn found(row: &Row) -> Result<Origin, TripError> {
    Ok(Origin { identifier: get(row, 3)?, timeline: get(row, 4)?, started: get(row, 5)? })
}

fn counters(row: &Row, recorded: Time) -> Result<Counters, TripError> {
    Ok(Counters { number: get(row, 6)?, task: get(row, 7)?, position: get(row, 8)?, recorded })
}

/// Builds the audit entry: both origins, and how far the counters moved.
fn life_entry(stored: Option<&Origin>, found: &Origin, was: Counters, counters: Counters) -> Draft {
    let origin = |origin: &Origin| serde_json::json!({"identifier": origin.identifier, "timeline": origin.timeline});
    let moved = |from: i64, to: i64| serde_json::json!({"from": from, "to": to});
    Draft::new(Actor::system(), AuditAction::DatabaseLife, "database").with([
        ("before", stored.map_or(serde_json::Value::Null, origin)),
        ("now", origin(found)),
        ("number", moved(was.number, counters.number)),
        ("task", moved(was.task, counters.task)),
        ("position", moved(was.position, counters.position)),
    ])
}

/// The highest time that this process has recorded in the database.
#[derive(Debug, Default)]
pub(super) struct Recorded(Remembered<Option<Time>>);

impl Recorded {
    pub(super) fn get(&self, generation: Generation) -> Option<Time> {
        self.0.with(generation, |time| *time)
    }

    pub(super) fn raise(&self, generation: Generation, to: Time) {
        self.0.with(generation, |time| *time = (*time).max(Some(to)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_life_clears_the_cache_and_drops_late_writes() {
        let (lives, memory) = (Lives::default(), Remembered::<Vec<i32>>::default());
        lives.enter("first");
        let first = lives.generation();
        memory.with(first, |seen| seen.push(1));
        lives.enter("first");
        assert_eq!(memory.with(lives.generation(), |seen| seen.clone()), [1], "the same life goes on");
        lives.enter("second");
        assert!(memory.with(lives.generation(), |seen| seen.is_empty()));
        memory.with(first, |late| late.push(2));
        assert!(memory.with(lives.generation(), |seen| seen.is_empty()), "a late answer of the first life is dropped");
    }

    #[test]
    fn a_transaction_of_an_earlier_life_does_not_decide_in_the_next() {
        let lives = Lives::default();
        lives.enter("first");
        let began = lives.generation();
        assert!(lives.continues(began, "first"));
        assert!(!lives.continues(began, "second"), "the server is another one");
        lives.enter("second");
        assert!(!lives.continues(began, "second"), "the process has noticed, but this transaction used old memory");
    }
}
