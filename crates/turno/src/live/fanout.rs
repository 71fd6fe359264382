//! One reader per process for all who listen: it reads what was committed behind its cursor and puts it into a ring.
//!
//! It rests while nobody listens. Whenever it begins, or has lost its place, it says up to where the stream has come:
//! who has not seen all of that reads the store. So it may begin anew at any time and nobody misses anything.

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

/// Events kept for those who are a moment behind: about a second of a busy system, some megabytes at the very most,
/// since texts are bounded. Who is further behind reads the store.
const RING: usize = 1_024;
/// Events read at once; also what a slow listener may have read ahead.
pub(super) const PAGE: u32 = 256;
/// Changes of queues kept for a listener; beyond that they are dropped.
const CHANGES: usize = 256;
/// The shortest time between two changes of the same queue: a person sees no more, and a busy queue changes all the time.
const CHANGES_EVERY: Span = Span(250);

/// What goes through the ring.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// The next event.
    Event(Position, Arc<Event>),
    /// The stream has come this far; what leads there is in the store only.
    UpTo(Position),
}

/// A queue in which something happened.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) queue: QueueName,
    pub(super) topic: Topic,
    pub(super) at: Time,
}

/// Where listeners join.
pub(crate) struct Fanout {
    events: Sender<Item>,
    queues: Sender<Change>,
    joined: Arc<Joined>,
}

/// Somebody has joined, who found nobody there perhaps.
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

    /// How many listen.
    pub(super) fn listeners(&self) -> usize {
        self.events.receiver_count()
    }

    /// From here on everything that is put into the ring reaches the receiver, or tells it that it came too late.
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

    /// Reads on until nobody listens any more, or until it has lost its place.
    async fn follow(&self, ring: &Sender<Item>) -> Result<(), StoreError> {
        let mut cursor = self.store.event_span().await?.newest;
        // A receiver that is gone needs nothing; so here and below.
        let _ = ring.send(Item::UpTo(cursor));
        while ring.receiver_count() > 0 {
            let page = self.store.events(cursor, PAGE).await?;
            let full = page.len() == PAGE as usize;
            for (position, event) in page {
                if position != cursor.next() {
                    // Purged before it was read: begin anew, and let everybody find that out.
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

    /// Until there are events, or until it is time to look without having been told.
    async fn wait(&self) {
        tokio::select! {
            () = self.signals.events.notified() => {}
            () = self.clock.sleep_until(self.clock.estimate() + LOOK_AGAIN) => {}
        }
    }

    /// Tells of queues that changed, all that have gathered at once.
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

    /// The queues by name, each with its topic. Neither ever changes, so they are asked for only when one is not known.
    async fn name(
        &self,
        changed: Changed,
        known: &mut HashMap<QueueId, (QueueName, Topic)>,
    ) -> Result<Vec<(QueueName, Topic)>, StoreError> {
        if changed.all || changed.queues.iter().any(|queue| !known.contains_key(queue)) {
            let rows = self.store.queues().await?.into_iter();
            *known = rows.map(|row| (row.id, (row.name, Topic::of(row.policy.kind)))).collect();
        }
        let is_meant = |queue: &QueueId| changed.all || changed.queues.contains(queue);
        Ok(known.iter().filter(|(queue, _)| is_meant(queue)).map(|(_, named)| named.clone()).collect())
    }
}
