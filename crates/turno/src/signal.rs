//! Waking those who wait: hints without data.
//!
//! Whoever waits registers first, looks, and only then sleeps, so that a hint between looking and sleeping
//! is not missed. A lost hint costs time, never work: every waiter also looks again by the clock.

use crate::store::Hint;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::Notify;
use turno_core::id::{QueueId, Resource};

/// Everybody in this process who waits for something to change.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    queues: Waiters<QueueId>,
    leases: Waiters<Resource>,
    /// This process has committed something that may have come with events. For the sequencer alone.
    pub(crate) wrote: Notify,
    /// Events got their positions. For the fan-out alone.
    pub(crate) events: Notify,
    changed: Mutex<Changed>,
    change: Notify,
}

/// Queues in which something happened, for those who watch.
#[derive(Debug, Default)]
pub(crate) struct Changed {
    /// These; there are never more than there are queues.
    pub(crate) queues: HashSet<QueueId>,
    /// Perhaps in others too.
    pub(crate) all: bool,
}

impl Signals {
    /// What to wait on for work of a queue.
    pub(crate) fn queue(&self, queue: QueueId) -> Arc<Notify> {
        self.queues.join(queue)
    }

    /// What to wait on for a lease.
    pub(crate) fn lease(&self, resource: &Resource) -> Arc<Notify> {
        self.leases.join(resource.clone())
    }

    /// Wakes those whom the hint concerns.
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

    /// Waits until a queue changes. For the fan-out alone.
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

/// Waiters by what they wait for. An entry lives as long as somebody waits: idle things cost nothing.
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
