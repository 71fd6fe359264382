//! One reader per process for all listeners: reads committed events after its cursor and puts them into a ring.
//!
//! The reader rests while there are no listeners. When it starts, or when its next event is missing, it sends the
//! newest position (`UpTo`). A listener that has not seen everything up to there reads the store. So the reader may
//! restart at any time without losing events.

use super::sequence;
use crate::clock::Clock;
use crate::engine::{Announce, LOOK_AGAIN};
use crate::signal::{Changed, Signals};
use crate::store::{Store, StoreError};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Notify;
use tokio::sync::broadcast::{Receiver, Sender, channel};
use tokio::task::JoinSet;
use turno_core::event::{Event, Topic};
use turno_core::id::{Position, QueueId, QueueName};
use turno_core::time::{Span, Time};

/// Events kept in the ring: about a second of a busy system, at most some megabytes because texts are bounded. A
/// listener further behind reads the store.
const RING: usize = 1_024;
/// Events read at once, which also bounds what a slow listener buffers.
pub(super) const PAGE: u32 = 256;
/// Queue changes kept in the ring. Older ones are dropped.
const CHANGES: usize = 256;
/// The shortest time between two changes of the same queue. A person cannot see more, and a busy queue changes all the
/// time.
const CHANGES_EVERY: Span = Span(250);

/// An entry of the ring.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// The next event.
    Event(Position, Arc<Event>),
    /// The newest position. Events up to it are only in the store.
    UpTo(Position),
}

/// A change in a queue.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) queue: QueueName,
    pub(super) topic: Topic,
    pub(super) at: Time,
}

/// Serves the listeners of this process.
pub(crate) struct Fanout {
    events: Sender<Item>,
    queues: Sender<Change>,
    joined: Arc<Joined>,
}

/// Wakes the readers when a listener joins.
#[derive(Default)]
struct Joined {
    events: Notify,
    queues: Notify,
}

impl Fanout {
    pub(crate) fn start(
        tasks: &mut JoinSet<()>,
        store: Arc<dyn Store>,
        clock: Arc<Clock>,
        announce: Announce,
    ) -> Fanout {
        let (events, queues) = (channel(RING).0, channel(CHANGES).0);
        let joined: Arc<Joined> = Arc::default();
        let signals = announce.signals.clone();
        tasks.spawn(sequence::run(store.clone(), clock.clone(), announce));
        let reader = Reader { store, clock, signals, joined: joined.clone() };
        tasks.spawn(reader.clone().events(events.clone()));
        tasks.spawn(reader.queues(queues.clone()));
        Fanout { events, queues, joined }
    }

    /// Returns the number of listeners.
    pub(super) fn listeners(&self) -> usize {
        self.events.receiver_count()
    }

    /// Subscribes to the rings. Everything sent from here on reaches the receiver, or the receiver learns that it
    /// lagged.
    pub(super) fn join(&self, queues: bool) -> (Receiver<Item>, Option<Receiver<Change>>) {
        let events = self.events.subscribe();
        self.joined.events.notify_one();
        let queues = queues.then(|| {
            let queues = self.queues.subscribe();
            self.joined.queues.notify_one();
            queues
        });
        (events, queues)
    }
}

#[derive(Clone)]
struct Reader {
    store: Arc<dyn Store>,
    clock: Arc<Clock>,
    signals: Arc<Signals>,
    joined: Arc<Joined>,
}

impl Reader {
    async fn events(self, ring: Sender<Item>) {
        loop {
            while ring.receiver_count() == 0 {
                self.joined.events.notified().await;
            }
            if let Err(error) = self.follow(&ring).await {
                tracing::warn!(%error, "no live events for now; looking again by the clock");
                self.wait().await;
            }
        }
    }

    /// Reads until there are no listeners, or until an event is missing.
    async fn follow(&self, ring: &Sender<Item>) -> Result<(), StoreError> {
        let mut cursor = self.store.event_span().await?.newest;
        // A send fails only without receivers, which is fine here and below.
        let _ = ring.send(Item::UpTo(cursor));
        while ring.receiver_count() > 0 {
            let page = self.store.events(cursor, PAGE).await?;
            let full = page.len() == PAGE as usize;
            for (position, event) in page {
                if position != cursor.next() {
                    // The event was purged before it was read. Start again: the next `UpTo` tells the listeners.
                    return Ok(());
                }
                cursor = position;
                let _ = ring.send(Item::Event(position, Arc::new(event)));
            }
            if !full {
                self.wait().await;
            }
        }
        Ok(())
    }

    /// Waits for events, at most `LOOK_AGAIN`.
    async fn wait(&self) {
        tokio::select! {
            () = self.signals.events.notified() => {}
            () = self.clock.sleep_until(self.clock.estimate() + LOOK_AGAIN) => {}
        }
    }

    /// Sends the changed queues, all that were collected at once.
    async fn queues(self, ring: Sender<Change>) {
        let mut names = HashMap::new();
        loop {
            while ring.receiver_count() == 0 {
                self.joined.queues.notified().await;
            }
            let changed = self.signals.changed().await;
            let at = self.clock.estimate();
            let again = at + CHANGES_EVERY;
            match self.name(changed, &mut names).await {
                Ok(named) => named.into_iter().for_each(|(queue, topic)| drop(ring.send(Change { queue, topic, at }))),
                Err(error) => tracing::debug!(%error, "changes of queues were dropped"),
            }
            self.clock.sleep_until(again).await;
        }
    }

    /// Returns the names and topics of the changed queues. Both never change, so the store is read only for unknown
    /// queues.
    async fn name(
        &self,
        changed: Changed,
        known: &mut HashMap<QueueId, (QueueName, Topic)>,
    ) -> Result<Vec<(QueueName, Topic)>, StoreError> {
        if changed.all || changed.queues.iter().any(|queue| !known.contains_key(queue)) {
            let rows = self.store.queues().await?.into_iter();
            *known = rows.map(|row| (row.id, (row.name, Topic::for_kind(row.policy.kind)))).collect();
        }
        let is_changed = |queue: &QueueId| changed.all || changed.queues.contains(queue);
        Ok(known.iter().filter(|(queue, _)| is_changed(queue)).map(|(_, named)| named.clone()).collect())
    }
}
