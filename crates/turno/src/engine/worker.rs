//! Workers: an application's handler, called for every delivery of a queue.
//!
//! A worker claims as many deliveries as it may run at once, renews them while their handlers run, and settles
//! finished deliveries in batches. In addition to the queue's guarantees:
//!
//! - `Ok` acks the delivery. `Err` or a panic is a failed attempt. Neither ends the worker.
//! - If a delivery is lost, its handler is dropped at once and nothing is settled.
//! - In a lane's group, the items after a processed one are retried without it.
//! - A worker that stops returns its unfinished deliveries, and the attempt does not count.
//!
//! A delivery can still be processed twice, if a worker dies after its effect and before its ack. Effects that must
//! not repeat use [`Job::fence`] or [`Job::id`]. The queue's policy, not the worker, decides which item is next, when
//! it is retried and when it is exhausted.

mod handler;
mod held;
mod job;
mod runner;

pub use job::{Failed, Job};
use std::time::Duration;

use super::queue::{Delivery, QueueHandle};
use super::sync::SyncHandle;
use crate::error::Error;
use handler::HandlerFn;
use runner::Runner;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use turno_core::fault::{Fault, Invalid};
use turno_core::id::Instance;
use turno_core::limits::BATCH_MAX;
use turno_core::queue::Act;
use turno_core::time::Span;

/// Default number of concurrent deliveries: what a small pool of connections can serve.
const CONCURRENCY: usize = 8;
/// Default time for handlers to finish after a stop: less than platforms wait before they kill a process.
const GRACE: Span = Span::from_secs(10);

/// How many deliveries a worker may run at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerLimit {
    /// At most this many deliveries at once.
    UpTo(usize),
    /// One delivery, to test whether the destination is back. Prefers an item that was never tried, then the least
    /// recently tried one.
    Probe,
}

impl WorkerLimit {
    pub(super) fn count(self) -> usize {
        match self {
            WorkerLimit::UpTo(count) => count,
            WorkerLimit::Probe => 1,
        }
    }
}

/// A worker that is not started yet.
///
/// ```
/// # turno_testkit::queue_example(async |_, queue| {
/// # use std::time::Duration;
/// # let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
/// # drop(stop);
/// use turno::queue::{Failed, Job};
///
/// let worker = queue
///     .worker(|job: Job<String>| async move {
///         if job.payload.is_empty() {
///             return Err(Failed::new("no address").give_up());
///         }
///         Ok(())
///     })
///     .instance("mailer-1")
///     .concurrency(4)
///     .grace(Duration::from_secs(5));
/// worker.run_until(async { drop(stopped.await) }).await?;
/// # Ok(()) });
/// ```
#[must_use = "a worker does nothing until it is started"]
pub struct Worker {
    queue: QueueHandle,
    instance: Arc<str>,
    concurrency: usize,
    grace: Span,
    handler: HandlerFn,
    limit: Option<watch::Receiver<WorkerLimit>>,
    margin: Span,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("queue", &self.queue).field("instance", &self.instance).finish_non_exhaustive()
    }
}

impl QueueHandle {
    /// Creates a worker that calls `handler` for every item.
    ///
    /// In a lane, the items of a group are handled in order. If an item fails, the items before it are acked and the
    /// items after it wait. An item whose payload is not a `T` is exhausted at once, because a retry cannot help;
    /// [`QueueHandle::retry`] queues it again for a version that can read it.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// use turno::{id::QueueName, queue::{Kind, Policy}};
    /// use turno::queue::{Draft, Job};
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Mail { to: String }
    ///
    /// let queue = turno.put_queue(QueueName::new("mail")?, Policy::for_kind(Kind::Inbox)).await?;
    /// queue.enqueue(vec![Draft { payload: r#"{"to":"ana"}"#.into(), ..Draft::default() }]).await?;
    ///
    /// let (sent, mut outbox) = tokio::sync::mpsc::channel(1);
    /// let worker = queue.worker(move |job: Job<Mail>| {
    ///     let sent = sent.clone();
    ///     async move {
    ///         sent.send(job.payload.to).await?;
    ///         Ok(())
    ///     }
    /// });
    /// let running = worker.start()?;
    /// assert_eq!(outbox.recv().await.as_deref(), Some("ana"));
    /// running.stop().await;
    /// assert_eq!(queue.counts().await?.processed, 1);
    /// # Ok(()) });
    /// ```
    pub fn worker<T, F, R>(&self, handler: F) -> Worker
    where
        T: DeserializeOwned + Send + 'static,
        F: Fn(Job<T>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), Failed>> + Send + 'static,
    {
        Worker::new(self, handler::each(handler))
    }

    /// Creates a worker that calls `handler` for every delivery as a whole: one item, or the group of a lane in order.
    ///
    /// An error fails the whole group. The group is retried together, and item by item from the third attempt on. An
    /// error with [`Failed::at`] fails only that item. If a payload is not a `T`, the handler gets the items before
    /// it, that item is exhausted, and the rest is delivered again.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// use turno::{id::{Key, QueueName, Span}, queue::{Kind, Policy}};
    /// use turno::queue::{Draft, Job};
    ///
    /// let policy = Policy { window: Span::ZERO, ..Policy::for_kind(Kind::Lane) };
    /// let queue = turno.put_queue(QueueName::new("chat")?, policy).await?;
    /// let message = |text: &str| Draft { key: Key::new("ana").ok(), payload: text.into(), ..Draft::default() };
    /// queue.enqueue(vec![message(r#""hola""#), message(r#""¿hay alguien?""#)]).await?;
    ///
    /// let (read, mut chats) = tokio::sync::mpsc::channel(1);
    /// let worker = queue.group_worker(move |group: Vec<Job<String>>| {
    ///     let read = read.clone();
    ///     async move {
    ///         let lines: Vec<String> = group.into_iter().map(|job| job.payload).collect();
    ///         read.send(lines.join("\n")).await?;
    ///         Ok(())
    ///     }
    /// });
    /// let running = worker.start()?;
    /// assert_eq!(chats.recv().await.as_deref(), Some("hola\n¿hay alguien?"));
    /// running.stop().await;
    /// # Ok(()) });
    /// ```
    pub fn group_worker<T, F, R>(&self, handler: F) -> Worker
    where
        T: DeserializeOwned + Send + 'static,
        F: Fn(Vec<Job<T>>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), Failed>> + Send + 'static,
    {
        Worker::new(self, handler::whole(handler))
    }
}

impl QueueHandle {
    /// Creates a worker that passes every delivery to `handler` unchanged and settles it with the [`Act`] that the
    /// handler returns.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// # use turno::queue::{Draft, Delivery, Kind, Policy};
    /// use turno::queue::Act;
    /// let queue = turno.put_queue("mail", Policy::for_kind(Kind::Inbox)).await?;
    /// queue.enqueue(vec![Draft::json("hola")?]).await?;
    /// let (sent, mut outbox) = tokio::sync::mpsc::channel(1);
    /// let worker = queue.delivery_worker(move |got: Delivery| {
    ///     let sent = sent.clone();
    ///     async move {
    ///         drop(sent.send(got.items[0].payload.clone()).await);
    ///         Act::Ack { through: None }
    ///     }
    /// });
    /// let running = worker.start()?;
    /// assert_eq!(outbox.recv().await.as_deref(), Some("\"hola\""));
    /// running.stop().await;
    /// # Ok(()) });
    /// ```
    pub fn delivery_worker<F, R>(&self, handler: F) -> Worker
    where
        F: Fn(Delivery) -> R + Send + Sync + 'static,
        R: Future<Output = Act> + Send + 'static,
    {
        Worker::new(self, handler::settling(handler))
    }
}

impl SyncHandle {
    /// Creates a worker that calls `handler` for every change of the source, with the destination's action and the
    /// current row. The payload is `None` for a deactivation.
    ///
    /// A change that the handler has processed is recorded as delivered. If a key has nothing to send, or its row cannot
    /// be read, the handler is not called. A row that changes during the call is delivered again.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// use turno::sync::Source;
    /// use turno::queue::{Draft, Job, Kind, Policy};
    ///
    /// let sync = turno.sync(Source::siper());
    /// let queue = turno.put_queue(sync.source().queue.clone(), Policy::for_kind(Kind::Sync)).await?;
    /// queue.enqueue(vec![Draft::json("Ana")?.key("7")?]).await?; // on PostgreSQL the table's trigger does this
    ///
    /// let (sent, mut module) = tokio::sync::mpsc::channel(1);
    /// let worker = sync.worker(move |job: Job<Option<String>>| {
    ///     let sent = sent.clone();
    ///     async move {
    ///         sent.send((job.action, job.payload)).await?;
    ///         Ok(())
    ///     }
    /// });
    /// let running = worker.await?.start()?;
    /// assert_eq!(module.recv().await, Some((Some("ACTUALIZAR".to_owned()), Some("Ana".to_owned()))));
    /// running.stop().await;
    /// # Ok(()) });
    /// ```
    pub async fn worker<T, F, R>(&self, handler: F) -> Result<Worker, Error>
    where
        T: DeserializeOwned + Send + 'static,
        F: Fn(Job<Option<T>>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), Failed>> + Send + 'static,
    {
        let queue = self.consumed_queue().await?;
        Ok(Worker::new(&queue, handler::filled(self.clone(), handler::each(handler))))
    }
}

impl Worker {
    fn new(queue: &QueueHandle, handler: HandlerFn) -> Worker {
        let instance = format!("worker-{}", uuid::Uuid::now_v7().simple()).into();
        Worker {
            queue: queue.clone(),
            instance,
            concurrency: CONCURRENCY,
            grace: GRACE,
            handler,
            limit: None,
            margin: Span::ZERO,
        }
    }

    /// Sets the worker's instance, shown in the history of its deliveries. The default is a random name.
    pub fn instance(mut self, name: &str) -> Worker {
        self.instance = name.into();
        self
    }

    /// Sets how many deliveries run at the same time. The default is 8.
    pub fn concurrency(mut self, deliveries: usize) -> Worker {
        self.concurrency = deliveries;
        self
    }

    /// Sets a changing limit below the concurrency. At 0 the worker claims nothing, and running handlers continue. For
    /// callers that must throttle for a while.
    pub fn limit(mut self, limit: watch::Receiver<WorkerLimit>) -> Worker {
        self.limit = Some(limit);
        self
    }

    /// Sets how long before its expiry an unrenewed delivery's handler is dropped. The default is zero. For handlers
    /// whose effect outlasts them a little, such as a remote call.
    pub fn margin(mut self, margin: Duration) -> Worker {
        self.margin = margin.into();
        self
    }

    /// Sets how long handlers may run after a stop before they are dropped. The default is ten seconds.
    pub fn grace(mut self, grace: Duration) -> Worker {
        self.grace = grace.into();
        self
    }

    /// Starts the worker on the current runtime. Invalid settings (an empty instance, a concurrency of 0) are refused
    /// at once. An unreachable database is retried.
    ///
    /// ```
    /// # turno_testkit::queue_example(async |_, queue| {
    /// let running = queue.worker(|_: turno::queue::Job<String>| async { Ok(()) }).start()?;
    /// running.stop().await;
    /// # Ok(()) });
    /// ```
    pub fn start(self) -> Result<RunningWorker, Error> {
        Instance::new(self.instance.clone())?;
        if self.concurrency == 0 || self.concurrency > BATCH_MAX {
            return Err(Invalid::new("concurrency", Fault::OutOfBounds { min: 1, max: BATCH_MAX as i64 }).into());
        }
        let (stop, stopping) = watch::channel(false);
        let task = tokio::spawn(Runner::new(self, stopping).run());
        Ok(RunningWorker { stop, task })
    }

    /// Runs the worker until `stop` completes, then stops it like [`RunningWorker::stop`]. If the worker loses its
    /// access, for example because its token was revoked, returns that error.
    ///
    /// ```
    /// # turno_testkit::queue_example(async |_, queue| {
    /// # let signal = std::future::ready(());
    /// queue.worker(|_: turno::queue::Job<String>| async { Ok(()) }).run_until(signal).await?;
    /// # Ok(()) });
    /// ```
    pub async fn run_until(self, stop: impl Future) -> Result<(), Error> {
        let mut running = self.start()?;
        tokio::select! {
            _ = stop => {
                running.stop.send_replace(true);
                running.wait().await
            }
            over = running.wait() => over,
        }
    }
}

/// A running worker. Dropping it without [`RunningWorker::stop`] aborts its handlers, and their deliveries expire.
#[derive(Debug)]
pub struct RunningWorker {
    stop: watch::Sender<bool>,
    task: JoinHandle<Result<(), Error>>,
}

impl RunningWorker {
    /// Stops the worker: claims no more, returns deliveries that were not started, lets handlers finish within the
    /// grace period, then drops them and returns their deliveries. Returns when all deliveries are settled or expired.
    ///
    /// ```
    /// # turno_testkit::queue_example(async |_, queue| {
    /// # use std::time::Duration;
    /// queue.enqueue(vec![turno::queue::Draft { payload: "1".into(), ..Default::default() }]).await?;
    /// let endless = |_: turno::queue::Job<u8>| std::future::pending();
    /// let running = queue.worker(endless).grace(Duration::ZERO).start()?;
    /// running.stop().await;
    /// assert_eq!(queue.counts().await?.pending, 1, "the delivery was returned, and the attempt does not count");
    /// # Ok(()) });
    /// ```
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        // An earlier error was already logged.
        drop(self.wait().await);
    }

    /// Waits for the worker's end.
    async fn wait(&mut self) -> Result<(), Error> {
        match (&mut self.task).await {
            Ok(over) => over,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => Err(Error::Closed),
        }
    }
}

impl Drop for RunningWorker {
    fn drop(&mut self) {
        self.task.abort();
    }
}
