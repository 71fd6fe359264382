//! Workers: an application's function, called for every delivery of a queue.
//!
//! A worker claims as many deliveries as it has free hands, keeps them alive while the function runs, and
//! settles what is done, many at a time. What it promises on top of the queue:
//!
//! - an `Ok` is acked, an `Err` or a panic is a failed attempt, and neither ends the worker;
//! - a function whose claim is lost is dropped at once, and nothing is settled in its name;
//! - what stands behind a done item of a lane's group is tried again without the done one;
//! - a worker that is stopped gives back what it has not done, with the attempt taken back.
//!
//! A delivery may still be processed twice, if a worker dies after its effect and before its ack: effects that
//! must not repeat use [`Job::fence`] or [`Job::id`]. Not here: which item comes next, when it is tried again and
//! when it is exhausted, which the queue's policy decides.

mod desk;
mod handler;
mod held;
mod job;

pub use job::{Failed, Job};

use super::queue::{Got, QueueHandle};
use crate::error::Error;
use desk::Desk;
use handler::Work;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use turno_core::id::Instance;
use turno_core::limits::BATCH_MAX;
use turno_core::queue::Act;
use turno_core::time::Span;

/// Deliveries at the same time, unless said otherwise: as many as a small pool of connections bears.
const CONCURRENCY: usize = 8;
/// How long a function may go on after the stop, unless said otherwise: less than platforms wait before they kill.
const GRACE: Span = Span::from_secs(10);

/// How much a worker may do at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hands {
    /// At most so many deliveries at the same time.
    UpTo(usize),
    /// One, to find out whether things go again: rather one that was never tried, or else the least recently tried one.
    Probe,
}

impl Hands {
    pub(super) fn count(self) -> usize {
        match self {
            Hands::UpTo(count) => count,
            Hands::Probe => 1,
        }
    }
}

/// A worker that has not started yet.
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// # let dir = std::env::temp_dir().join(format!("turno-doc-worker-{}", std::process::id()));
/// # std::fs::create_dir_all(&dir).unwrap();
/// # let turno = turno::Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
/// # use turno::core::{id::QueueName, queue::{Kind, Policy}, time::Span};
/// # let queue = turno.put_queue(QueueName::new("mail")?, Policy::of(Kind::Inbox)).await?;
/// # let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
/// # drop(stop);
/// use turno::{Failed, Job};
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
///     .grace(Span::from_secs(5));
/// worker.run_until(async { drop(stopped.await) }).await?;
/// # std::fs::remove_dir_all(&dir).unwrap();
/// # Ok::<(), turno::Error>(()) }).unwrap();
/// ```
#[must_use = "a worker does nothing until it is started"]
pub struct Worker {
    queue: QueueHandle,
    instance: Arc<str>,
    concurrency: usize,
    grace: Span,
    work: Work,
    hands: Option<watch::Receiver<Hands>>,
    margin: Span,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("queue", &self.queue).field("instance", &self.instance).finish_non_exhaustive()
    }
}

impl QueueHandle {
    /// A worker that calls `handler` for every item.
    ///
    /// In a lane, which hands out groups, the items of a group follow each other; if one fails, those before it
    /// are done and those behind it wait for it. An item whose payload is not a `T` fails for good, because
    /// trying again cannot help; [`QueueHandle::retry`] sends it round again once a new version reads it.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-item-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = turno::Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// use turno::core::{id::QueueName, queue::{Kind, Policy}};
    /// use turno::{Draft, Job};
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Mail { to: String }
    ///
    /// let queue = turno.put_queue(QueueName::new("mail")?, Policy::of(Kind::Inbox)).await?;
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
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub fn worker<T, F, R>(&self, handler: F) -> Worker
    where
        T: DeserializeOwned + Send + 'static,
        F: Fn(Job<T>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), Failed>> + Send + 'static,
    {
        Worker::new(self, handler::each(handler))
    }

    /// A worker that calls `handler` for every delivery as a whole: one item, or the group of a lane in order.
    ///
    /// An error fails the whole group, which is tried again together and from the third attempt on item by
    /// item; one with [`Failed::at`] fails that item only. If a payload is not a `T`, the handler gets what
    /// stands before it, that item fails for good, and the rest comes again.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-group-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = turno::Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// use turno::core::{id::{Key, QueueName}, queue::{Kind, Policy}, time::Span};
    /// use turno::{Draft, Job};
    ///
    /// let policy = Policy { window: Span::ZERO, ..Policy::of(Kind::Lane) };
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
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
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
    /// A worker that calls `handler` for every delivery as it was handed out, and settles it as the handler says.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-delivery-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = turno::Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// # use turno::{Draft, Got, Kind, Policy};
    /// use turno::core::queue::Act;
    /// let queue = turno.put_queue("mail", Policy::of(Kind::Inbox)).await?;
    /// queue.enqueue(vec![Draft::json("hola")?]).await?;
    /// let (sent, mut outbox) = tokio::sync::mpsc::channel(1);
    /// let worker = queue.delivery_worker(move |got: Got| {
    ///     let sent = sent.clone();
    ///     async move {
    ///         drop(sent.send(got.items[0].payload.clone()).await);
    ///         Act::Ack { through: None }
    ///     }
    /// });
    /// let running = worker.start()?;
    /// assert_eq!(outbox.recv().await.as_deref(), Some("\"hola\""));
    /// running.stop().await;
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub fn delivery_worker<F, R>(&self, handler: F) -> Worker
    where
        F: Fn(Got) -> R + Send + Sync + 'static,
        R: Future<Output = Act> + Send + 'static,
    {
        Worker::new(self, handler::settling(handler))
    }
}

impl Worker {
    fn new(queue: &QueueHandle, work: Work) -> Worker {
        let instance = format!("worker-{}", uuid::Uuid::now_v7().simple()).into();
        Worker {
            queue: queue.clone(),
            instance,
            concurrency: CONCURRENCY,
            grace: GRACE,
            work,
            hands: None,
            margin: Span::ZERO,
        }
    }

    /// Its name in the history of what it is handed; made up if it is not given.
    pub fn instance(mut self, name: &str) -> Worker {
        self.instance = name.into();
        self
    }

    /// How many deliveries it works on at the same time; 8 unless said otherwise.
    pub fn concurrency(mut self, deliveries: usize) -> Worker {
        self.concurrency = deliveries;
        self
    }

    /// How many deliveries it may work on at the moment, at most its concurrency: at 0 it claims nothing, and what it
    /// works on goes on. For whoever has reasons to hold back for a while.
    pub fn hands(mut self, hands: watch::Receiver<Hands>) -> Worker {
        self.hands = Some(hands);
        self
    }

    /// How long before a claim expires its handler is dropped if the claim could not be renewed; not at all unless said
    /// otherwise. For handlers whose effect outlives them a little, such as a call to somewhere else.
    pub fn margin(mut self, margin: Span) -> Worker {
        self.margin = margin;
        self
    }

    /// How long handlers may go on after the stop before they are dropped; ten seconds unless said otherwise.
    pub fn grace(mut self, grace: Span) -> Worker {
        self.grace = grace;
        self
    }

    /// Starts it on the current runtime. What cannot be (an empty name, no hands) is refused at once; a database
    /// that cannot be reached is tried again until it can.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-start-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = turno::Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// # use turno::core::{id::QueueName, queue::{Kind, Policy}};
    /// # let queue = turno.put_queue(QueueName::new("mail")?, Policy::of(Kind::Inbox)).await?;
    /// let running = queue.worker(|_: turno::Job<String>| async { Ok(()) }).start()?;
    /// running.stop().await;
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub fn start(self) -> Result<RunningWorker, Error> {
        Instance::new(self.instance.clone())?;
        if self.concurrency == 0 || self.concurrency > BATCH_MAX {
            return Err(Error::Invalid(format!("a worker's concurrency must be between 1 and {BATCH_MAX}")));
        }
        let (stop, stopping) = watch::channel(false);
        let task = tokio::spawn(Desk::new(self, stopping).run());
        Ok(RunningWorker { stop, task })
    }

    /// Runs it until `stop` is there, and then stops it as [`RunningWorker::stop`] does. Should the worker not be allowed
    /// to go on, since its token died, it ends with that error.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-until-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = turno::Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// # use turno::core::{id::QueueName, queue::{Kind, Policy}};
    /// # let queue = turno.put_queue(QueueName::new("mail")?, Policy::of(Kind::Inbox)).await?;
    /// # let signal = std::future::ready(());
    /// queue.worker(|_: turno::Job<String>| async { Ok(()) }).run_until(signal).await?;
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn run_until(self, stop: impl Future) -> Result<(), Error> {
        let mut running = self.start()?;
        tokio::select! {
            _ = stop => {
                running.stop.send_replace(true);
                running.over().await
            }
            over = running.over() => over,
        }
    }
}

/// A worker at work. Dropped without [`RunningWorker::stop`] it ends at once, its handlers with it, and what it
/// was working on expires.
#[derive(Debug)]
pub struct RunningWorker {
    stop: watch::Sender<bool>,
    task: JoinHandle<Result<(), Error>>,
}

impl RunningWorker {
    /// Takes no more work, gives back what has not begun, lets handlers finish within the grace, then drops
    /// them and gives their deliveries back too. Returns once all of it is settled, or has expired.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-stop-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = turno::Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// # use turno::core::{id::QueueName, queue::{Kind, Policy}, time::Span};
    /// # let queue = turno.put_queue(QueueName::new("mail")?, Policy::of(Kind::Inbox)).await?;
    /// queue.enqueue(vec![turno::Draft { payload: "1".into(), ..Default::default() }]).await?;
    /// let endless = |_: turno::Job<u8>| std::future::pending();
    /// let running = queue.worker(endless).grace(Span::ZERO).start()?;
    /// running.stop().await;
    /// assert_eq!(queue.counts().await?.pending, 1, "given back, and the attempt does not count");
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        // Why it may have ended before, it has said in the log.
        drop(self.over().await);
    }

    /// Waits for its end.
    async fn over(&mut self) -> Result<(), Error> {
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
