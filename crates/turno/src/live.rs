//! Live events: a listener receives every committed change in order, and a reset where events are missing.
//!
//! The store has all events, and a listener's cursor is a position in it. The ring only saves reads: while a listener
//! keeps up, one reader per process (`fanout`) serves all listeners from memory. A listener that fell out of the ring,
//! or resumes from an earlier position, reads the store page by page. Events that it receives twice are recognised by
//! their position.
//!
//! There is no event per processed item. A queue only reports that it changed.

mod fanout;
mod sequence;

pub(crate) use fanout::Fanout;

use crate::engine::access::{Identity, Needs};
use crate::engine::{Inner, Turno};
use crate::error::Error;
use crate::store::{Store, StoreError};
use fanout::{Change, Item, PAGE};
use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinHandle;
use turno_core::access::Permission;
use turno_core::event::{Event, Topic, Topics};
use turno_core::id::{Position, QueueName, Resource};
use turno_core::time::Time;

/// A message to a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Live {
    /// A committed event.
    Event {
        /// The event's position. After handling the event, a listener can resume from here.
        position: Position,
        /// The event.
        event: Arc<Event>,
    },
    /// Events are missing: they are no longer stored, or the position belongs to another database. Read the current
    /// state again and continue from `position`.
    Reset {
        /// Where the stream continues.
        position: Position,
    },
    /// Items of a queue were admitted, freed or managed. Sent at most once per queue and 250 ms; some may be dropped.
    QueueChanged {
        /// The queue.
        queue: QueueName,
        /// [`Topic::Sync`] for a sync queue, otherwise [`Topic::Queues`].
        topic: Topic,
        /// The approximate time.
        at: Time,
    },
}

/// A listener. Dropping it ends the subscription. A slow listener buffers at most one page and delays no other
/// listener.
pub struct Subscription {
    store: Arc<dyn Store>,
    topics: Topics,
    ring: Receiver<Item>,
    queues: Option<Receiver<Change>>,
    /// All events up to here were returned or filtered out.
    cursor: Position,
    /// A reset to return first.
    reset: Option<Position>,
    /// Whether the store may have events after the cursor that will not come through the ring.
    behind: bool,
    /// The read of the next page. It is a task, so that a caller that drops every `next` early still gets forward.
    reading: Option<JoinHandle<Result<Page, StoreError>>>,
    /// Events read from the store and not returned yet.
    page: VecDeque<(Position, Event)>,
    /// The caller, if the handle has one.
    listener: Option<Listener>,
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscription").field("topics", &self.topics).field("cursor", &self.cursor).finish()
    }
}

impl Turno {
    /// Subscribes to topics: from now on, or after the position `resume`. Events that the caller may not see are left
    /// out. The subscription ends if the caller loses the right to listen or the token expires.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// use turno::core::event::Topic;
    /// use turno::event::Live;
    ///
    /// let mut listener = turno.subscribe(Topic::Leases.into(), None).await?;
    /// turno.lease("caja:7").claim("ana").await?;
    ///
    /// let Live::Event { position, event } = listener.next().await? else { panic!("no event is missing") };
    /// assert_eq!((event.name.as_str(), &*event.resource), ("lease.claimed", "caja:7"));
    /// // After a restart: turno.subscribe(Topic::Leases.into(), Some(position))
    /// # let _ = position;
    /// # Ok(()) });
    /// ```
    pub async fn subscribe(&self, topics: Topics, resume: Option<Position>) -> Result<Subscription, Error> {
        self.authorize_read(Needs::READING).await?;
        let audit = self.check_cached(Needs::permission(Permission::AuditRead)).is_ok();
        let topics: Topics = Topic::ALL
            .into_iter()
            .filter(|topic| topics.contains(*topic) && (*topic != Topic::Audit || audit))
            .collect();
        let listener =
            self.caller.clone().map(|caller| Listener { inner: Arc::downgrade(&self.inner), caller, audited: false });
        let store = self.inner.store.clone();
        // Join the ring before reading the store. Events in between are then in both, and none is missed.
        let watches = topics.contains(Topic::Queues) || topics.contains(Topic::Sync);
        let (ring, queues) = self.inner.fanout.join(watches);
        let span = store.event_span().await?;
        let kept = resume.filter(|position| span.continues(*position));
        let cursor = kept.unwrap_or(span.newest);
        let reset = (resume != kept).then_some(cursor);
        let behind = cursor < span.newest;
        let (reading, page) = (None, VecDeque::new());
        Ok(Subscription { store, topics, ring, queues, cursor, reset, behind, reading, page, listener })
    }

    /// Returns the number of listeners of this engine.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// let listener = turno.subscribe(turno::core::event::Topics::ALL, None).await?;
    /// assert_eq!(turno.listeners(), 1);
    /// # drop(listener);
    /// # Ok(()) });
    /// ```
    pub fn listeners(&self) -> usize {
        self.inner.fanout.listeners()
    }
}

impl Subscription {
    /// Waits for the next message. Dropping the future or a database error loses nothing: call it again.
    pub async fn next(&mut self) -> Result<Live, Error> {
        loop {
            if let Some(position) = self.reset.take() {
                // The missing events may include a change of access.
                self.listener.iter_mut().for_each(|listener| listener.audited = true);
                return Ok(Live::Reset { position });
            }
            self.still_may().await?;
            while let Some((position, event)) = self.page.pop_front() {
                self.cursor = position;
                if self.is_for_listener(&event) {
                    return Ok(Live::Event { position, event: self.redacted(Arc::new(event)) });
                }
            }
            if self.behind {
                self.catch_up().await?;
                continue;
            }
            tokio::select! {
                item = self.ring.recv() => match item {
                    Ok(Item::Event(position, event)) if position == self.cursor.next() => {
                        self.cursor = position;
                        if self.is_for_listener(&event) {
                            return Ok(Live::Event { position, event: self.redacted(event) });
                        }
                    }
                    Ok(Item::Event(position, _) | Item::UpTo(position)) => self.behind = self.cursor < position,
                    Err(RecvError::Lagged(_)) => self.behind = true,
                    Err(RecvError::Closed) => return Err(Error::Closed),
                },
                Change { queue, topic, at } = change(&mut self.queues, self.topics) => {
                    if self.listener.as_ref().is_none_or(|listener| listener.may_read_queue(&queue)) {
                        return Ok(Live::QueueChanged { queue, topic, at });
                    }
                }
                () = expiry(&self.listener) => {}
            }
        }
    }

    /// Returns whether the listener gets the event, by its topic and by the token's reach and permissions.
    fn is_for_listener(&mut self, event: &Event) -> bool {
        if let Some(listener) = &mut self.listener {
            // Every change of access is audited, so it may concern this listener.
            listener.audited |= event.topic == Topic::Audit;
            if !listener.may_see(event) {
                return false;
            }
        }
        self.topics.contains(event.topic)
    }

    /// Removes a private detail, unless the event concerns the listener or the listener may read the audit.
    fn redacted(&self, event: Arc<Event>) -> Arc<Event> {
        match &self.listener {
            Some(listener) if event.detail.is_some() && event.is_private() && !listener.may_read_detail(&event) => {
                Arc::new(Event { detail: None, to: Vec::new(), ..(*event).clone() })
            }
            _ => event,
        }
    }

    /// Checks now that the caller may still listen. Without this call, that is checked after the next change of access
    /// and at the token's expiry.
    ///
    /// ```
    /// # use turno::access::{NewPerson, NewToken, Role};
    /// # turno_testkit::example(async |turno| {
    /// use turno::core::event::Topics;
    /// turno.add_person(NewPerson::new("ana", "Ana", Role::Editor)?).await?;
    /// let (token, secret) = turno.create_token(NewToken::for_user("ana")?).await?;
    /// let mut listener = turno.authenticate(&secret).await?.subscribe(Topics::ALL, None).await?;
    /// assert!(listener.recheck().await.is_ok());
    /// turno.revoke_token(&token.id).await?;
    /// assert!(listener.recheck().await.is_err());
    /// # Ok(()) });
    /// ```
    pub async fn recheck(&mut self) -> Result<(), Error> {
        self.listener.iter_mut().for_each(|listener| listener.audited = true);
        self.still_may().await
    }

    /// Checks that the caller may still listen, if access may have changed.
    async fn still_may(&mut self) -> Result<(), Error> {
        let Some(listener) = &mut self.listener else {
            return Ok(());
        };
        let turno = listener.turno()?;
        turno.check_cached(Needs::READING)?;
        if listener.audited {
            turno.authorize_read(Needs::READING).await?;
            listener.audited = false;
        }
        Ok(())
    }

    /// Returns the position up to which everything was returned: the place to resume from.
    pub fn position(&self) -> Position {
        self.cursor
    }

    /// Returns the number of buffered events: at most one page.
    pub fn read_ahead(&self) -> usize {
        self.page.len()
    }

    /// Reads the next page from the store, or sets a reset if it is no longer stored.
    async fn catch_up(&mut self) -> Result<(), Error> {
        let reading = self.reading.get_or_insert_with(|| tokio::spawn(read_page(self.store.clone(), self.cursor)));
        // The task fails only if the runtime shuts down.
        let read = reading.await.map_err(|_| Error::Closed);
        self.reading = None;
        match read?? {
            Page::Events(page) => {
                self.behind = page.len() == PAGE as usize;
                self.page = page.into();
            }
            Page::End => self.behind = false,
            Page::Missing(newest) => {
                self.behind = false;
                self.cursor = newest;
                self.reset = Some(newest);
            }
        }
        Ok(())
    }
}

/// A read of the store after a position.
enum Page {
    /// The next events.
    Events(Vec<(Position, Event)>),
    /// There are no later events.
    End,
    /// The next event is no longer stored. The newest position follows.
    Missing(Position),
}

async fn read_page(store: Arc<dyn Store>, after: Position) -> Result<Page, StoreError> {
    let page = store.events(after, PAGE).await?;
    if page.first().is_some_and(|(position, _)| *position == after.next()) {
        return Ok(Page::Events(page));
    }
    let span = store.event_span().await?;
    Ok(if page.is_empty() && span.continues(after) { Page::End } else { Page::Missing(span.newest) })
}

/// The caller of a subscription. Refers to the engine weakly, so that a subscription does not keep a closed engine
/// alive.
struct Listener {
    inner: Weak<Inner>,
    caller: Arc<Identity>,
    /// Whether an audit event arrived since the last access check.
    audited: bool,
}

impl Listener {
    fn turno(&self) -> Result<Turno, Error> {
        let inner = self.inner.upgrade().ok_or(Error::Closed)?;
        Ok(Turno { inner, caller: Some(self.caller.clone()) })
    }

    fn may_see(&self, event: &Event) -> bool {
        match event.topic {
            Topic::Audit => self.is_unbounded() && self.may(Needs::permission(Permission::AuditRead)),
            Topic::Leases => self.may_see_resource(Needs::READING, &event.resource),
            Topic::Tasks => self.may_see_resource(Needs::READING_TASKS, &event.resource),
            Topic::Queues | Topic::Sync => match event.about_queue().map(QueueName::new) {
                Some(queue) => queue.is_ok_and(|queue| self.may_read_queue(&queue)),
                None => self.is_unbounded() && self.may(Needs::permission(Permission::QueuesRead)),
            },
        }
    }

    fn may_see_resource(&self, needs: Needs<'_>, resource: &str) -> bool {
        Resource::new(resource).is_ok_and(|resource| self.may(needs.on(&resource)))
    }

    fn may_read_queue(&self, queue: &QueueName) -> bool {
        self.may(Needs::permission(Permission::QueuesRead).on_queue(queue))
    }

    fn may_read_detail(&self, event: &Event) -> bool {
        self.turno().is_ok_and(|turno| turno.may_read_private(|user| event.concerns(user)))
    }

    fn is_unbounded(&self) -> bool {
        self.turno().is_ok_and(|turno| turno.principal().is_none_or(|principal| !principal.is_bounded()))
    }

    fn may(&self, needs: Needs<'_>) -> bool {
        self.turno().is_ok_and(|turno| turno.check_cached(needs).is_ok())
    }
}

/// Waits until the caller's token expires, if it does.
async fn expiry(listener: &Option<Listener>) {
    let turno = listener.as_ref().and_then(|listener| listener.turno().ok());
    let at = turno.as_ref().and_then(|turno| turno.principal()?.expires_at);
    match (turno, at) {
        (Some(turno), Some(at)) => {
            let clock = turno.inner.clock.clone();
            drop(turno);
            clock.sleep_until(at).await;
        }
        _ => std::future::pending().await,
    }
}

/// Waits for the next change of a queue in the subscribed topics. Changes that fell out of the ring are dropped.
async fn change(queues: &mut Option<Receiver<Change>>, topics: Topics) -> Change {
    while let Some(changes) = queues {
        match changes.recv().await {
            Ok(changed) if topics.contains(changed.topic) => return changed,
            Ok(_) => {}
            Err(RecvError::Lagged(_)) => {}
            // The ring of events reports that the engine is closed.
            Err(RecvError::Closed) => *queues = None,
        }
    }
    std::future::pending().await
}
