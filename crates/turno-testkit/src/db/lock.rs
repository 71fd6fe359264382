//! Locks of simulated transactions, held until commit or crash, some of them shared.

use super::{Db, Map};
use turno_core::id::{Lane, QueueId, Resource, Seq, Sku};
use turno_core::task::TaskId;

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

/// The locks that are held, shared and waited for.
#[derive(Clone, Debug, Default)]
pub(super) struct Locks {
    owners: Map<Lock, u64>,
    shared: Map<Lock, Vec<u64>>,
    waiting: Map<Lock, Vec<u64>>,
}

impl Db {
    /// Takes a lock. If another transaction has it, queues `tx` for it and returns false.
    pub(crate) fn lock(&mut self, lock: Lock, tx: u64, held: &mut Vec<Lock>) -> bool {
        match self.locks.owners.get(&lock) {
            Some(owner) if *owner == tx => true,
            Some(_) => {
                self.locks.waiting.entry(lock).or_default().push(tx);
                false
            }
            None => {
                self.locks.owners.insert(lock.clone(), tx);
                held.push(lock);
                true
            }
        }
    }

    /// Takes a lock without waiting. Returns false if another transaction has or shares it.
    pub(crate) fn try_lock(&mut self, lock: Lock, tx: u64, held: &mut Vec<Lock>) -> bool {
        if let Some(owner) = self.locks.owners.get(&lock) {
            return *owner == tx;
        }
        if self.locks.shared.contains_key(&lock) {
            return false;
        }
        self.locks.owners.insert(lock.clone(), tx);
        held.push(lock);
        true
    }

    /// Shares a lock. If another transaction has it exclusively, queues `tx` for it and returns false.
    pub(crate) fn share(&mut self, lock: Lock, tx: u64, held: &mut Vec<Lock>) -> bool {
        if self.locks.owners.contains_key(&lock) {
            self.locks.waiting.entry(lock).or_default().push(tx);
            return false;
        }
        let sharers = self.locks.shared.entry(lock.clone()).or_default();
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
            if self.locks.owners.get(&lock) == Some(&tx) {
                self.locks.owners.remove(&lock);
            } else if let Some(sharers) = self.locks.shared.get_mut(&lock) {
                sharers.retain(|sharer| *sharer != tx);
                if sharers.is_empty() {
                    self.locks.shared.remove(&lock);
                }
            }
            if let Some(mut waiting) = self.locks.waiting.remove(&lock) {
                woken.append(&mut waiting);
            }
        }
        woken
    }
}
