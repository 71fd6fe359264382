//! The simulated database: rows, locks and one sequence. It stores state and decides nothing.
//!
//! It does what the stores do in SQL. Locks are held until commit or crash, some of them shared. The writes of a
//! transaction become visible together at its commit. Numbers that were taken stay taken. Ids are unique.
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
use turno_core::queue::{Absorbed, AttemptError, Body, Done, Item, UncountedDelivery};
use turno_core::task::{Task, TaskId};
use turno_core::time::Time;

/// How far the sequence jumps in a new life: more than any standby lags behind.
const LIFE_NUMBERS: i64 = 1_000_000;

/// Few, so that lanes share them.
const STRIPES: u64 = 8;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Lock {
    /// Serialises the commands about a lease, heartbeats included.
    Lease(Resource),
    /// Keeps a lease from being taken while a finalize applies lines under it. Finalizes share it.
    Pin(Resource),
    Task(TaskId),
    Line(TaskId, u32),
    Stock(Sku),
    /// The head of the audit chain, locked last.
    Head,
    /// Held by the sequencer.
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
    /// Ids of changes that were coalesced into items.
    pub(crate) absorbed: Map<(QueueId, ItemId), Absorbed>,
    /// The payloads accepted under the ids of items whose payload was replaced since.
    pub(crate) accepted: Map<Seq, Arc<str>>,
    pub(crate) done: Map<Seq, Done>,
    pub(crate) errors: Map<Seq, Vec<AttemptError>>,
    pub(crate) came_back: Map<Seq, Vec<UncountedDelivery>>,
    /// The items handed out under a fence, like an index.
    pub(crate) reference: Map<Fence, Vec<Seq>>,
    pub(crate) typing: Map<(QueueId, Lane), Time>,
    pub(crate) paused: [bool; QUEUES],
    pub(crate) tasks: Map<TaskId, Task>,
    pub(crate) stock: Map<Sku, Level>,
    pub(crate) head: Head,
    pub(crate) stream: Stream,
    /// The highest time that decided a commit.
    pub(crate) mark: Time,
    /// Grows when a finished item is re-queued with its old sequence number.
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

    /// Returns all committed rows, without locks.
    pub(crate) fn copy(&self) -> Db {
        Db { locks: Map::default(), shared: Map::default(), waiting: Map::default(), ..self.clone() }
    }

    /// Begins another life with the rows of a standby. `lost` is the database at the death of the primary. Positions
    /// jump beyond what may have been lost, and so do numbers if `jumps` is set.
    pub(crate) fn begin_life(&mut self, lost: &Db, jumps: bool) {
        self.life = lost.life + 1;
        if jumps {
            self.sequence += LIFE_NUMBERS;
        }
        self.stream.begin_life(&lost.stream);
    }

    /// Moves the sequence back, which no database may do; for a bug.
    pub(crate) fn forget_numbers(&mut self, count: i64) {
        self.sequence = (self.sequence - count).max(0);
    }

    /// Takes a lock. If another transaction has it, queues `tx` for it and returns false.
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

    /// Takes a lock without waiting. Returns false if another transaction has or shares it.
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

    /// Shares a lock. If another transaction has it exclusively, queues `tx` for it and returns false.
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

    /// Frees the locks of `tx` and returns the transactions that waited for them.
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

    /// Returns the leases whose `look_at` is due, in a stable order.
    pub(crate) fn due_leases(&self, now: Time) -> Vec<Resource> {
        let due = self.leases.values().filter(|state| state.look_at.is_some_and(|at| at <= now));
        let mut due: Vec<Resource> = due.map(|state| state.resource.clone()).collect();
        due.sort();
        due
    }

    pub(crate) fn write_leases(&mut self, write: &LeaseWrite) {
        for state in &write.states {
            // `pinned` is derived from the locks at every read, so it is not stored.
            self.leases.insert(state.resource.clone(), State { pinned: false, ..state.clone() });
        }
        self.follow(&write.audit);
    }

    /// Moves the head of the audit chain behind these entries.
    pub(crate) fn follow(&mut self, entries: &[Entry]) {
        if let Some(last) = entries.last() {
            self.head = Head { n: last.n, hash: last.hash };
        }
    }
}
