//! Pushing: a worker that sends every delivery of a queue to one destination.
//!
//! An application implements [`Sender`]: one call of its destination. The pusher claims, renews, settles and stops like
//! any worker. In addition it protects a destination that is down: it sends no deliveries, so that they spend no
//! attempts, and probes from time to time. After the first success it revives the items that the outage exhausted. All
//! processes share the state of the destination, by the rules of `turno_core::destination`.
//!
//! `calls` decides what the end of a call means, `health` keeps the state of the destination, and `keeper` probes and
//! revives. How a call is made is not known here.

mod calls;
mod health;
mod keeper;

use super::queue::{Delivery, QueueHandle};
use super::sync::{SyncChange, SyncHandle};
use super::worker::{RunningWorker, WorkerLimit};
use crate::error::Error;
use std::pin::Pin;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use turno_core::destination::{Destination, Fault};
use turno_core::id::QueueName;
use turno_core::queue::{Kind, Policy};
use turno_core::time::{Span, Time};

/// Default number of concurrent calls.
const CONCURRENCY: usize = 8;
/// Default time limit of a call, and default grace period after a stop.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Default interval between two probes.
const PROBE: Duration = Duration::from_secs(30);

/// Calls a destination.
pub trait Sender: Send + Sync + 'static {
    /// Sends one delivery. Returns `Ok` if the destination has accepted it. The call must end within
    /// [`Parcel::within`], so that it cannot overlap with the next delivery of the same key.
    fn send<'a>(&'a self, parcel: &'a Parcel) -> SendFuture<'a>;

    /// Reports how a delivery ended, and the time since its hand-out if it was tried. For metrics.
    fn ended(&self, _outcome: PushOutcome, _took: Option<Duration>) {}

    /// Reports that the destination is down. For metrics.
    fn went_down(&self) {}

    /// Reports that the destination is not down, or is called no more. For metrics.
    fn came_back(&self) {}
}

/// The future of a call.
pub type SendFuture<'a> = Pin<Box<dyn Future<Output = Result<(), SendFailed>> + Send + 'a>>;

/// What a sender sends.
#[derive(Clone, Debug)]
pub struct Parcel {
    /// The delivery, as it was claimed.
    pub delivery: Delivery,
    /// The change to send, if the pusher has a source.
    pub change: Option<SyncChange>,
    /// The kind of the queue.
    pub kind: Kind,
    /// The database's time at the start of the call.
    pub now: Time,
    /// The time limit of the call.
    pub within: Duration,
}

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendFailed {
    /// The error as a sentence, shown with the item.
    pub error: String,
    /// The likely cause.
    pub fault: Fault,
    /// How long the destination asks to wait before the next call. A wait shorter than the back-off is ignored.
    pub retry_after: Option<Duration>,
}

impl SendFailed {
    /// Builds a failure that counts against the destination.
    pub fn new(error: impl Into<String>) -> SendFailed {
        SendFailed { error: error.into(), fault: Fault::Destination, retry_after: None }
    }
}

/// How a delivery of a pusher ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PushOutcome {
    /// The destination accepted it.
    Delivered,
    /// The attempt failed.
    Failed,
    /// It was returned or deferred and cost no attempt.
    Returned,
    /// There was nothing to send.
    Skipped,
}

/// A pusher that is not started yet.
#[must_use = "a pusher does nothing until it is started"]
pub struct Pusher {
    queue: QueueHandle,
    sender: Arc<dyn Sender>,
    source: Option<SyncHandle>,
    instance: Option<Arc<str>>,
    concurrency: usize,
    timeout: Duration,
    probe: Duration,
    grace: Duration,
}

impl std::fmt::Debug for Pusher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pusher").field("queue", &self.queue).field("instance", &self.instance).finish_non_exhaustive()
    }
}

impl QueueHandle {
    /// Creates a pusher that sends every delivery of the queue with `sender`. Needs `queues.consume`, and in a sync
    /// queue `queues.manage` for probes with exhausted items.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// # use turno::queue::{Draft, Kind, Policy};
    /// use turno::push::{Parcel, SendFailed, SendFuture, Sender};
    ///
    /// struct Printer(tokio::sync::mpsc::Sender<String>);
    ///
    /// impl Sender for Printer {
    ///     fn send<'a>(&'a self, parcel: &'a Parcel) -> SendFuture<'a> {
    ///         let text = parcel.delivery.items[0].payload.to_string();
    ///         Box::pin(async move { self.0.send(text).await.map_err(|_| SendFailed::new("out of paper")) })
    ///     }
    /// }
    ///
    /// let queue = turno.put_queue("mails", Policy::for_kind(Kind::Inbox)).await?;
    /// queue.enqueue(vec![Draft::json("hola")?]).await?;
    /// let (print, mut paper) = tokio::sync::mpsc::channel(1);
    /// let running = queue.pusher(Printer(print)).start().await?;
    /// assert_eq!(paper.recv().await.as_deref(), Some("\"hola\""));
    /// running.stop().await;
    /// # Ok(()) });
    /// ```
    pub fn pusher(&self, sender: impl Sender) -> Pusher {
        Pusher {
            queue: self.clone(),
            sender: Arc::new(sender),
            source: None,
            instance: None,
            concurrency: CONCURRENCY,
            timeout: TIMEOUT,
            probe: PROBE,
            grace: TIMEOUT,
        }
    }
}

impl Pusher {
    /// Sends the changes of this source, with the current row, instead of the items.
    pub fn source(self, source: SyncHandle) -> Pusher {
        Pusher { source: Some(source), ..self }
    }

    /// Sets the worker's instance, shown in the history of its deliveries. The default is a random name.
    pub fn instance(self, name: &str) -> Pusher {
        Pusher { instance: Some(name.into()), ..self }
    }

    /// Sets how many calls run at the same time. The default is 8.
    pub fn concurrency(self, calls: usize) -> Pusher {
        Pusher { concurrency: calls, ..self }
    }

    /// Sets the time limit of a call. The default is ten seconds. The end of the delivery may shorten it.
    pub fn timeout(self, timeout: Duration) -> Pusher {
        Pusher { timeout, ..self }
    }

    /// Sets how long a destination that is down is left alone before the next probe. The default is 30 seconds.
    pub fn probe(self, every: Duration) -> Pusher {
        Pusher { probe: every, ..self }
    }

    /// Sets how long calls may go on after a stop. The default is ten seconds.
    pub fn grace(self, grace: Duration) -> Pusher {
        Pusher { grace, ..self }
    }

    /// Starts the pusher on the current runtime.
    pub async fn start(self) -> Result<RunningPusher, Error> {
        let row = self.queue.row().await?;
        // A process that starts during an outage must not begin with a burst of calls, so it reads the state first.
        let destination = self.queue.destination().await?;
        let limit = watch::Sender::new(WorkerLimit::UpTo(0));
        let worker_limit = limit.subscribe();
        let random = || format!("pusher-{}", uuid::Uuid::now_v7().simple()).into();
        let grace = self.grace;
        let inner = Arc::new(Inner {
            name: row.name.clone(),
            instance: self.instance.clone().unwrap_or_else(random),
            seen: watch::Sender::new(None),
            limit,
            ticket: Mutex::default(),
            revived: AtomicU64::default(),
            settings: self,
        });
        inner.update_state(destination);
        inner.update_limit();
        let handler = inner.clone();
        let worker = inner
            .settings
            .queue
            .delivery_worker(move |got| handler.clone().deliver(got))
            .instance(&inner.instance)
            .concurrency(inner.settings.concurrency)
            .limit(worker_limit)
            .margin(margin(&row.policy).into())
            .grace(grace)
            .start()?;
        let mut keeper = JoinSet::new();
        keeper.spawn(inner.clone().keep());
        Ok(RunningPusher { inner, worker, keeper })
    }
}

/// A running pusher.
pub struct RunningPusher {
    inner: Arc<Inner>,
    worker: RunningWorker,
    /// The keeper's task. It ends with the pusher.
    keeper: JoinSet<()>,
}

impl std::fmt::Debug for RunningPusher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunningPusher").field("queue", &self.inner.name).finish_non_exhaustive()
    }
}

impl RunningPusher {
    /// Takes over the state of the destination that another process stored, as [`Turno::destinations`] returns it. Call
    /// it about once a second. `None` means that the destination works: if only this process has seen a failure, it
    /// reads the stored state again.
    ///
    /// [`Turno::destinations`]: crate::Turno::destinations
    pub async fn update(&self, destination: Option<Destination>) {
        if destination.is_some() {
            return self.inner.update_state(destination);
        }
        let failing = self.inner.seen.borrow().as_ref().is_some_and(|seen| !seen.is_well());
        if failing && let Ok(destination) = self.inner.settings.queue.destination().await {
            self.inner.update_state(destination);
        }
    }

    /// Stops the worker. Running calls may finish within the grace period; other deliveries are returned.
    pub async fn stop(mut self) {
        self.keeper.abort_all();
        self.worker.stop().await;
        self.inner.settings.sender.came_back();
    }
}

/// The shared parts of a running pusher.
struct Inner {
    settings: Pusher,
    name: QueueName,
    instance: Arc<str>,
    /// The last known state of the destination.
    seen: watch::Sender<Option<Destination>>,
    limit: watch::Sender<WorkerLimit>,
    /// Until when this process may make one probe.
    ticket: Mutex<Option<Time>>,
    /// The number of items revived after the last outage.
    revived: AtomicU64,
}

impl Inner {
    fn now(&self) -> Time {
        self.settings.queue.turno().now()
    }
}

/// How long before a delivery's expiry its call must end, so that it cannot overlap with the next delivery's call.
fn margin(policy: &Policy) -> Span {
    Span((policy.lock_timeout.0 / 10).clamp(10, 1_000))
}
