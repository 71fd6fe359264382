//! The simulated database: rows, locks and one sequence. It remembers, and decides nothing.
//!
//! It does what the stores do in SQL. Locks are held until commit or crash, some of them shared; a transaction's
//! writes become visible together at its commit; numbers that were taken stay taken; unique ids are enforced.
//!
//! Left out: several groups in one transaction (SQLite), retention and purging, and the application's intake.

mod queue;
mod stream;
mod task;

pub(crate) use stream::{Placed, Stream};
pub(crate) use task::Level;

use super::rng::Map;
use super::setup::QUEUES;
use std::collections::BTreeSet;
use std::sync::Arc;
use turno::store::LeaseWrite;
use turno_core::audit::{Entry, Head};
use turno_core::id::{Fence, ItemId, Lane, QueueId, Resource, Seq, Sku};
use turno_core::lease::State;
use turno_core::queue::{Absorbed, AttemptError, Body, CameBack, Done, Item};
use turno_core::task::{Task, TaskId};
use turno_core::time::Time;

/// By how much the sequence moves up in a new life: more than any standby lags behind.
const LIFE_NUMBERS: i64 = 1_000_000;

/// So few that lanes share them.
const STRIPES: u64 = 8;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Lock {
    /// What keeps commands about a lease apart, heartbeats included.
    Lease(Resource),
    /// What keeps takers of a lease from whoever finishes something under it: shared by those who finish.
    Pin(Resource),
    Task(TaskId),
    Line(TaskId, u32),
    Stock(Sku),
    /// The head of the audit, locked last.
    Head,
    /// Whoever gives positions to events.
    Sequencer,
    Stripe(u64),
    Row(Seq),
}

impl Lock {
    pub(crate) fn stripe(queue: QueueId, lane: Lane) -> Lock {
        Lock::Stripe((lane.0 as u64 ^ queue.0 as u64) % STRIPES)
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Db {
    pub(crate) leases: Map<Resource, State>,
    pub(crate) hot: Map<Seq, Item>,
    pub(crate) lanes: Map<(QueueId, Lane), BTreeSet<Seq>>,
    pub(crate) ready: [BTreeSet<(Time, Seq)>; QUEUES],
    pub(crate) expiring: BTreeSet<(Time, Seq)>,
    pub(crate) bodies: Map<Seq, Body>,
    pub(crate) ids: Map<(QueueId, ItemId), Seq>,
    /// Ids of changes that items took in.
    pub(crate) absorbed: Map<(QueueId, ItemId), Absorbed>,
    /// What was accepted under the ids of items whose bodies say something else by now.
    pub(crate) accepted: Map<Seq, Arc<str>>,
    pub(crate) done: Map<Seq, Done>,
    pub(crate) errors: Map<Seq, Vec<AttemptError>>,
    pub(crate) came_back: Map<Seq, Vec<CameBack>>,
    /// Which items were handed out under a fence, as an index on it would tell.
    pub(crate) handed: Map<Fence, Vec<Seq>>,
    pub(crate) typing: Map<(QueueId, Lane), Time>,
    pub(crate) paused: [bool; QUEUES],
    pub(crate) tasks: Map<TaskId, Task>,
    pub(crate) stock: Map<Sku, Level>,
    pub(crate) head: Head,
    pub(crate) stream: Stream,
    /// The highest time that anything was decided with.
    pub(crate) mark: Time,
    /// Grows when a finished item comes back to its old place.
    pub(crate) rebirth: i64,
    /// Grows with every failover.
    pub(crate) life: u64,
    sequence: i64,
    locks: Map<Lock, u64>,
    shared: Map<Lock, Vec<u64>>,
    waiting: Map<Lock, Vec<u64>>,
}

impl Db {
    pub(crate) fn numbers(&mut self, count: usize) -> Vec<i64> {
        let first = self.sequence + 1;
        self.sequence += count as i64;
        (first..=self.sequence).collect()
    }

    pub(crate) fn last_number(&self) -> i64 {
        self.sequence
    }

    /// All rows as they are committed now, without the locks of anybody.
    pub(crate) fn copy(&self) -> Db {
        Db { locks: Map::default(), shared: Map::default(), waiting: Map::default(), ..self.clone() }
    }

    /// Begins another life with what a standby had. `lost` is the database as it was when the primary died. Numbers and
    /// positions jump beyond what may have been lost; numbers only if `jumps`.
    pub(crate) fn begin_life(&mut self, lost: &Db, jumps: bool) {
        self.life = lost.life + 1;
        if jumps {
            self.sequence += LIFE_NUMBERS;
        }
        self.stream.begin_life(&lost.stream);
    }

    /// Lets the sequence fall back, which no database may do.
    pub(crate) fn forget_numbers(&mut self, count: i64) {
        self.sequence = (self.sequence - count).max(0);
    }

    /// Takes a lock, unless another transaction has it; then `tx` is told when it is free.
    pub(crate) fn lock(&mut self, lock: Lock, tx: u64, held: &mut Vec<Lock>) -> bool {
        match self.locks.get(&lock) {
            Some(owner) if *owner == tx => true,
            Some(_) => {
                self.waiting.entry(lock).or_default().push(tx);
                false
            }
            None => {
                self.locks.insert(lock.clone(), tx);
                held.push(lock);
                true
            }
        }
    }

    /// Takes a lock if nobody else has it or shares it, and does not wait.
    pub(crate) fn try_lock(&mut self, lock: Lock, tx: u64, held: &mut Vec<Lock>) -> bool {
        if let Some(owner) = self.locks.get(&lock) {
            return *owner == tx;
        }
        if self.shared.contains_key(&lock) {
            return false;
        }
        self.locks.insert(lock.clone(), tx);
        held.push(lock);
        true
    }

    /// Shares a lock with others who share it, unless somebody has it alone; then `tx` is told when it is free.
    pub(crate) fn share(&mut self, lock: Lock, tx: u64, held: &mut Vec<Lock>) -> bool {
        if self.locks.contains_key(&lock) {
            self.waiting.entry(lock).or_default().push(tx);
            return false;
        }
        let sharers = self.shared.entry(lock.clone()).or_default();
        if !sharers.contains(&tx) {
            sharers.push(tx);
            held.push(lock);
        }
        true
    }

    /// Frees what `tx` held and answers who was waiting for it.
    pub(crate) fn unlock(&mut self, tx: u64, held: Vec<Lock>) -> Vec<u64> {
        let mut woken = Vec::new();
        for lock in held {
            if self.locks.get(&lock) == Some(&tx) {
                self.locks.remove(&lock);
            } else if let Some(sharers) = self.shared.get_mut(&lock) {
                sharers.retain(|sharer| *sharer != tx);
                if sharers.is_empty() {
                    self.shared.remove(&lock);
                }
            }
            if let Some(mut waiting) = self.waiting.remove(&lock) {
                woken.append(&mut waiting);
            }
        }
        woken
    }

    pub(crate) fn lease(&self, resource: &Resource) -> State {
        match self.leases.get(resource) {
            Some(state) => state.clone(),
            None => State::unseen(resource.clone()),
        }
    }

    /// Leases whose look is due, in a stable order.
    pub(crate) fn due_leases(&self, now: Time) -> Vec<Resource> {
        let due = self.leases.values().filter(|state| state.look_at.is_some_and(|at| at <= now));
        let mut due: Vec<Resource> = due.map(|state| state.resource.clone()).collect();
        due.sort();
        due
    }

    pub(crate) fn write_leases(&mut self, write: &LeaseWrite) {
        for state in &write.states {
            // That somebody is finishing something is found anew by everybody, and not written down.
            self.leases.insert(state.resource.clone(), State { pinned: false, ..state.clone() });
        }
        self.follow(&write.audit);
    }

    /// Moves the head of the audit on.
    pub(crate) fn follow(&mut self, entries: &[Entry]) {
        if let Some(last) = entries.last() {
            self.head = Head { n: last.n, hash: last.hash };
        }
    }
}
