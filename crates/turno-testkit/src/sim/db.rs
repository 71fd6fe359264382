//! The simulated database: rows, locks and one sequence. It remembers, and decides nothing.
//!
//! It does what the stores do in SQL. Locks are held until commit or crash; a transaction's writes become
//! visible together at its commit; numbers that were taken stay taken; unique ids are enforced.
//!
//! Left out: several groups in one transaction (SQLite), retention and purging, and the application's intake.

mod queue;

use super::rng::Map;
use super::setup::QUEUES;
use std::collections::BTreeSet;
use turno::store::LeaseWrite;
use turno_core::id::{Fence, ItemId, Lane, QueueId, Resource, Seq};
use turno_core::lease::State;
use turno_core::queue::{AttemptError, Body, Done, Item};
use turno_core::time::Time;

/// So few that lanes share them.
const STRIPES: u64 = 8;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Lock {
    Lease(Resource),
    Stripe(u64),
    Row(Seq),
}

impl Lock {
    pub(crate) fn stripe(queue: QueueId, lane: Lane) -> Lock {
        Lock::Stripe((lane.0 as u64 ^ queue.0 as u64) % STRIPES)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Db {
    pub(crate) leases: Map<Resource, State>,
    pub(crate) hot: Map<Seq, Item>,
    pub(crate) lanes: Map<(QueueId, Lane), BTreeSet<Seq>>,
    pub(crate) ready: [BTreeSet<(Time, Seq)>; QUEUES],
    pub(crate) expiring: BTreeSet<(Time, Seq)>,
    pub(crate) bodies: Map<Seq, Body>,
    pub(crate) ids: Map<(QueueId, ItemId), Seq>,
    pub(crate) done: Map<Seq, Done>,
    pub(crate) errors: Map<Seq, Vec<AttemptError>>,
    /// Which items were handed out under a fence, as an index on it would tell.
    pub(crate) handed: Map<Fence, Vec<Seq>>,
    pub(crate) typing: Map<(QueueId, Lane), Time>,
    pub(crate) paused: [bool; QUEUES],
    /// The highest time that anything was decided with.
    pub(crate) mark: Time,
    sequence: i64,
    locks: Map<Lock, u64>,
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

    /// Takes a row's lock if it is free, and does not wait.
    pub(crate) fn try_lock(&mut self, lock: Lock, tx: u64, held: &mut Vec<Lock>) -> bool {
        if self.locks.contains_key(&lock) {
            return false;
        }
        self.locks.insert(lock.clone(), tx);
        held.push(lock);
        true
    }

    /// Frees locks and answers who was waiting for them.
    pub(crate) fn unlock(&mut self, held: Vec<Lock>) -> Vec<u64> {
        let mut woken = Vec::new();
        for lock in held {
            self.locks.remove(&lock);
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

    pub(crate) fn write_leases(&mut self, write: &LeaseWrite) {
        for state in &write.states {
            self.leases.insert(state.resource.clone(), state.clone());
        }
    }
}
