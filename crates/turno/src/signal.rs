//! Wakes waiting tasks with hints that carry no data.
//!
//! A task registers first, then looks, then sleeps, so that it misses no hint in between. A lost hint costs time and
//! nothing else, because every waiting task also looks again by the clock.

use crate::store::Hint;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::Notify;
use turno_core::id::{QueueId, Resource};

/// The tasks of this process that wait for a change.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    queues: Waiters<QueueId>,
    leases: Waiters<Resource>,
    /// This process committed a group that may have events. Only the sequencer waits on it.
    pub(crate) wrote: Notify,
    /// Events received positions. Only the fan-out waits on it.
    pub(crate) events: Notify,
    changed: Mutex<Changed>,
    change: Notify,
}

/// The queues that changed, for the fan-out.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    /// The changed queues. Never more than there are queues.
    pub(crate) queues: HashSet<QueueId>,
    /// Other queues may have changed too.
    pub(crate) all: bool,
}

impl Signals {
    /// Returns the signal for work of a queue.
    pub(crate) fn queue(&self, queue: QueueId) -> Arc<Notify> {
        self.queues.join(queue)
    }

    /// Returns the signal for a lease.
    pub(crate) fn lease(&self, resource: &Resource) -> Arc<Notify> {
        self.leases.join(resource.clone())
    }

    /// Wakes the tasks that the hint concerns.
    pub(crate) fn wake(&self, hint: &Hint) {
        match hint {
            Hint::Queue(queue) | Hint::Policy(queue) => {
                self.queues.wake(queue);
                self.change(|changed| changed.queues.insert(*queue));
            }
            Hint::Lease(resource) => self.leases.wake(resource),
            Hint::Events => self.events.notify_one(),
            Hint::All => {
                self.queues.wake_all();
                self.leases.wake_all();
                self.events.notify_one();
                self.change(|changed| !std::mem::replace(&mut changed.all, true));
            }
        }
    }

    /// Waits until a queue changes. Only for the fan-out.
    pub(crate) async fn changed(&self) -> Changed {
        loop {
            let changed = std::mem::take(&mut *self.changed.lock().unwrap_or_else(PoisonError::into_inner));
            if changed.all || !changed.queues.is_empty() {
                return changed;
            }
            self.change.notified().await;
        }
    }

    fn change(&self, note: impl FnOnce(&mut Changed) -> bool) {
        if note(&mut self.changed.lock().unwrap_or_else(PoisonError::into_inner)) {
            self.change.notify_one();
        }
    }
}

/// Waiting tasks by key. An entry lives only while a task waits, so idle keys cost nothing.
#[derive(Debug)]
struct Waiters<K>(Mutex<HashMap<K, Weak<Notify>>>);

impl<K> Default for Waiters<K> {
    fn default() -> Self {
        Waiters(Mutex::new(HashMap::new()))
    }
}

impl<K: Eq + Hash> Waiters<K> {
    fn map(&self) -> MutexGuard<'_, HashMap<K, Weak<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(&self, key: K) -> Arc<Notify> {
        let mut map = self.map();
        if map.len() > 64 {
            map.retain(|_, waiter| waiter.strong_count() > 0);
        }
        if let Some(waiter) = map.get(&key).and_then(Weak::upgrade) {
            return waiter;
        }
        let waiter = Arc::new(Notify::new());
        map.insert(key, Arc::downgrade(&waiter));
        waiter
    }

    fn wake(&self, key: &K) {
        let waiter = self.map().get(key).and_then(Weak::upgrade);
        if let Some(waiter) = waiter {
            waiter.notify_waiters();
        }
    }

    fn wake_all(&self) {
        let waiters: Vec<_> = self.map().values().filter_map(Weak::upgrade).collect();
        for waiter in waiters {
            waiter.notify_waiters();
        }
    }
}
