//! The database in memory: rows, indexes, locks and one sequence. It stores state and decides nothing.
//!
//! It reads and writes the rows of a decision as the stores do in SQL. The model (`crate::model`) runs a whole group on
//! it at once and is compared with the real stores. The simulator (`crate::sim`) runs transactions on it step by step,
//! with the locks of `lock`. So the comparison also covers the rows on which the simulator relies.
//!
//! Numbers that were taken stay taken. Ids are unique. Left out: the application's intake.

mod lock;
mod map;
mod queue;
mod stream;
mod task;

pub(crate) use lock::Lock;
pub(crate) use map::Map;
pub(crate) use stream::{Placed, Stream};
pub(crate) use task::Level;

use lock::Locks;
use std::collections::{BTreeMap, BTreeSet};
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

/// The sequence number at which a read of a whole lane begins.
pub(crate) const BOTTOM: Seq = Seq(i64::MIN);

#[derive(Clone, Debug, Default)]
pub(crate) struct Db {
    pub(crate) leases: Map<Resource, State>,
    pub(crate) hot: BTreeMap<Seq, Item>,
    pub(crate) lanes: Map<(QueueId, Lane), BTreeSet<Seq>>,
    pub(crate) ready: Map<QueueId, BTreeSet<(Time, Seq)>>,
    pub(crate) expiring: BTreeSet<(Time, Seq)>,
    pub(crate) bodies: BTreeMap<Seq, Body>,
    pub(crate) ids: Map<(QueueId, ItemId), Seq>,
    /// Ids of changes that were coalesced into items.
    pub(crate) absorbed: Map<(QueueId, ItemId), Absorbed>,
    /// The payloads accepted under the ids of items whose payload was replaced since.
    pub(crate) accepted: Map<Seq, Arc<str>>,
    pub(crate) done: BTreeMap<Seq, Done>,
    pub(crate) errors: Map<Seq, Vec<AttemptError>>,
    pub(crate) came_back: Map<Seq, Vec<UncountedDelivery>>,
    /// The items handed out under a fence, like an index.
    pub(crate) handed_out: Map<Fence, Vec<Seq>>,
    pub(crate) typing: Map<(QueueId, Lane), Time>,
    /// Request ids of claims, by the item handed out, with the fence of the delivery.
    pub(crate) requests: Map<Seq, (Fence, Arc<str>)>,
    /// The paused queues of the simulator. The model has a row for each queue.
    pub(crate) paused: BTreeSet<QueueId>,
    pub(crate) tasks: BTreeMap<TaskId, Task>,
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
    locks: Locks,
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
        Db { locks: Locks::default(), ..self.clone() }
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

    pub(crate) fn lease(&self, resource: &Resource) -> State {
        match self.leases.get(resource) {
            Some(state) => state.clone(),
            None => State::unseen(resource.clone()),
        }
    }

    /// Returns the leases whose `look_at` is due, earliest first, and the earliest `look_at` after `now`.
    pub(crate) fn due_leases(&self, now: Time, limit: usize) -> (Vec<Resource>, Option<Time>) {
        let looks = self.leases.values().filter_map(|state| Some((state.look_at?, &state.resource)));
        let (mut due, later): (Vec<_>, Vec<_>) = looks.partition(|(at, _)| *at <= now);
        due.sort();
        let next = later.iter().map(|(at, _)| *at).min();
        (due.into_iter().take(limit).map(|(_, resource)| resource.clone()).collect(), next)
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
