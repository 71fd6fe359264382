//! Live events: who listens hears of every committed change, in order, and is told where there is a gap.
//!
//! The store is the truth, and a listener's cursor is a position in it. The ring only saves reading: as long as a
//! listener keeps up, one reader per process (`fanout`) serves all of them from memory. Whoever has fallen out of the
//! ring, resumes from earlier, or missed anything for whatever reason, finds it in the store, page by page. What came
//! through the ring and was read already is recognised by its position.
//!
//! Left out on purpose: one event per processed item. That a queue changed is told without saying how.

mod fanout;
mod sequence;

pub(crate) use fanout::Fanout;

use crate::engine::access::{Caller, Needs};
use crate::engine::{Inner, Turno};
use crate::error::Error;
use crate::store::Store;
use fanout::{Change, Item, PAGE};
use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use turno_core::access::Permission;
use turno_core::event::{Event, Topic, Topics};
use turno_core::id::{Position, QueueName, Resource};
use turno_core::time::Time;

/// What a listener hears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Live {
    /// Something that was committed.
    Event {
        /// Where it is in the stream: whoever has handled it resumes from here.
        position: Position,
        /// What happened.
        event: Arc<Event>,
    },
    /// Events were left out: they are not kept any more, or the position asked for is of another database. What was
    /// known before is void; read it anew, and what follows goes on from there.
    Reset {
        /// Where it goes on.
        position: Position,
    },
    /// Items of a queue were admitted, freed or managed; at most one per queue and 250 ms, and some may be dropped.
    QueueChanged {
        /// Which.
        queue: QueueName,
        /// Where it belongs: [`Topic::Sync`] of a sync queue, otherwise [`Topic::Queues`].
        topic: Topic,
        /// About when.
        at: Time,
    },
}

/// Somebody who listens. Dropping it ends that; a slow one costs one page of events, and delays nobody.
pub struct Subscription {
    store: Arc<dyn Store>,
    topics: Topics,
    ring: Receiver<Item>,
    queues: Option<Receiver<Change>>,
    /// Everything up to here was handed on or left out by its topic.
    cursor: Position,
    /// To be told before anything else.
    reset: Option<Position>,
    /// There may be events behind the cursor that will not come through the ring.
    behind: bool,
    /// Read from the store, not asked for yet.
    page: VecDeque<(Position, Event)>,
    /// Whose listening it is, if it is somebody's.
    listener: Option<Listener>,
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscription").field("topics", &self.topics).field("cursor", &self.cursor).finish()
    }
}

impl Turno {
    /// Listens to some topics: to what is committed from now on, or to everything behind the position of the last
    /// event that was handled. What the caller may not see is left out; if they lose the right to listen, or their
    /// token dies, so does the listening.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-live-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = turno::Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// use turno::core::event::Topic;
    /// use turno::{Action, Live};
    ///
    /// let mut listener = turno.subscribe(Topic::Leases.into(), None).await?;
    /// turno.lease(turno.command("caja:7", "ana", Action::Claim { ttl: None, wait: false })?).await?;
    ///
    /// let Live::Event { position, event } = listener.next().await? else { panic!("nothing was left out") };
    /// assert_eq!((&*event.name, &*event.resource), ("lease.claimed", "caja:7"));
    /// // After a restart: turno.subscribe(Topic::Leases.into(), Some(position))
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # let _ = position;
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn subscribe(&self, topics: Topics, resume: Option<Position>) -> Result<Subscription, Error> {
        self.reads(Needs::READING).await?;
        let audit = self.may(Needs::of(Permission::AuditRead)).is_ok();
        let topics: Topics = Topic::ALL
            .into_iter()
            .filter(|topic| topics.contains(*topic) && (*topic != Topic::Audit || audit))
            .collect();
        let listener =
            self.caller.clone().map(|caller| Listener { inner: Arc::downgrade(&self.inner), caller, audited: false });
        let store = self.inner.store.clone();
        // First the ring, then the store: what comes in between is in both, and nothing is in neither.
        let watches = topics.contains(Topic::Queues) || topics.contains(Topic::Sync);
        let (ring, queues) = self.inner.fanout.join(watches);
        let span = store.event_span().await?;
        let kept = resume.filter(|position| span.continues(*position));
        let cursor = kept.unwrap_or(span.newest);
        let reset = (resume != kept).then_some(cursor);
        let behind = cursor < span.newest;
        Ok(Subscription { store, topics, ring, queues, cursor, reset, behind, page: VecDeque::new(), listener })
    }

    /// How many listen to this engine's events.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-listeners-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// let listener = turno.subscribe(turno::core::event::Topics::ALL, None).await?;
    /// assert_eq!(turno.listeners(), 1);
    /// # drop(listener);
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub fn listeners(&self) -> usize {
        self.inner.fanout.listeners()
    }
}

impl Subscription {
    /// Waits for what comes next. Nothing is lost if the wait is given up, or if the database did not answer: ask
    /// again.
    pub async fn next(&mut self) -> Result<Live, Error> {
        loop {
            if let Some(position) = self.reset.take() {
                // What was left out may have been a change of access.
                self.listener.iter_mut().for_each(|listener| listener.audited = true);
                return Ok(Live::Reset { position });
            }
            self.still_may().await?;
            while let Some((position, event)) = self.page.pop_front() {
                self.cursor = position;
                if self.hears(&event) {
                    return Ok(Live::Event { position, event: Arc::new(event) });
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
                        if self.hears(&event) {
                            return Ok(Live::Event { position, event });
                        }
                    }
                    Ok(Item::Event(position, _) | Item::UpTo(position)) => self.behind = self.cursor < position,
                    Err(RecvError::Lagged(_)) => self.behind = true,
                    Err(RecvError::Closed) => return Err(Error::Closed),
                },
                Change { queue, topic, at } = change(&mut self.queues, self.topics) => {
                    return Ok(Live::QueueChanged { queue, topic, at });
                }
                () = expiry(&self.listener) => {}
            }
        }
    }

    /// Whether this event is for the listener: by its topic, and by the resources that their token is for.
    fn hears(&mut self, event: &Event) -> bool {
        if let Some(listener) = &mut self.listener {
            // Every change of access is audited: it may have been this listener's.
            listener.audited |= event.topic == Topic::Audit;
            if event.topic == Topic::Audit && !listener.may_audit() {
                return false;
            }
            if matches!(event.topic, Topic::Leases | Topic::Tasks) && !listener.may_see(&event.resource) {
                return false;
            }
        }
        self.topics.contains(event.topic)
    }

    /// Makes sure now that the listener still may; otherwise that is found out with the next change of access, or
    /// when their token dies.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-live-recheck-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// use turno::core::event::Topics;
    /// turno.add_person(NewPerson::new("ana", "Ana", Role::Editor)?).await?;
    /// let (token, secret) = turno.create_token(NewToken::of("ana")?).await?;
    /// let mut listener = turno.authenticate(&secret).await?.subscribe(Topics::ALL, None).await?;
    /// assert!(listener.recheck().await.is_ok());
    /// turno.revoke_token(&token.id).await?;
    /// assert!(listener.recheck().await.is_err());
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn recheck(&mut self) -> Result<(), Error> {
        self.listener.iter_mut().for_each(|listener| listener.audited = true);
        self.still_may().await
    }

    /// Makes sure that the listener still may, if there is a reason to ask.
    async fn still_may(&mut self) -> Result<(), Error> {
        let Some(listener) = &mut self.listener else {
            return Ok(());
        };
        let turno = listener.turno()?;
        turno.may(Needs::READING)?;
        if listener.audited {
            turno.reads(Needs::READING).await?;
            listener.audited = false;
        }
        Ok(())
    }

    /// Up to where everything was handed on: where to resume from.
    pub fn position(&self) -> Position {
        self.cursor
    }

    /// How many events it has read ahead: never more than a page.
    pub fn read_ahead(&self) -> usize {
        self.page.len()
    }

    /// Reads the next page from the store, or finds that it is gone.
    async fn catch_up(&mut self) -> Result<(), Error> {
        let page = self.store.events(self.cursor, PAGE).await?;
        let goes_on = page.first().map(|(position, _)| *position == self.cursor.next());
        if goes_on == Some(true) {
            self.behind = page.len() == PAGE as usize;
            self.page = page.into();
            return Ok(());
        }
        let span = self.store.event_span().await?;
        self.behind = false;
        if goes_on.is_some() || !span.continues(self.cursor) {
            self.cursor = span.newest;
            self.reset = Some(span.newest);
        }
        Ok(())
    }
}

/// Somebody with a token who listens. Holds the engine weakly: listening keeps no closed engine alive.
struct Listener {
    inner: Weak<Inner>,
    caller: Arc<Caller>,
    /// Something was audited since it was last made sure that they may listen.
    audited: bool,
}

impl Listener {
    fn turno(&self) -> Result<Turno, Error> {
        let inner = self.inner.upgrade().ok_or(Error::Closed)?;
        Ok(Turno { inner, caller: Some(self.caller.clone()) })
    }

    fn may_audit(&self) -> bool {
        self.turno().is_ok_and(|turno| turno.may(Needs::of(Permission::AuditRead)).is_ok())
    }

    fn may_see(&self, resource: &str) -> bool {
        let (Ok(turno), Ok(resource)) = (self.turno(), Resource::new(resource)) else {
            return false;
        };
        turno.may(Needs::READING.on(&resource)).is_ok()
    }
}

/// Waits until the listener's token dies, if it will.
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

/// The next change of a queue, for who listens to queues of its kind. Those that fell out of the ring are dropped.
async fn change(queues: &mut Option<Receiver<Change>>, topics: Topics) -> Change {
    while let Some(changes) = queues {
        match changes.recv().await {
            Ok(changed) if topics.contains(changed.topic) => return changed,
            Ok(_) => {}
            Err(RecvError::Lagged(_)) => {}
            // The other ring says that it is over.
            Err(RecvError::Closed) => *queues = None,
        }
    }
    std::future::pending().await
}
