//! The engine: groups commands, commits each group in one transaction, and answers after the commit.
//!
//! A command goes to the *committer* of its route. Commands that arrive during a commit form the next group. No answer
//! and no event leaves the process before its commit. Heartbeats take a shorter path: the engine reads their leases
//! without a lock, and only heartbeats that must be stored join a group.

pub(crate) mod access;
mod answer;
pub(crate) mod audit;
mod beats;
pub(crate) mod check;
mod commit;
pub(crate) mod hold;
pub(crate) mod lease;
mod mark;
pub(crate) mod push;
pub(crate) mod queue;
pub(crate) mod schema;
pub(crate) mod sync;
pub(crate) mod task;
pub(crate) mod telemetry;
pub(crate) mod worker;

pub use lease::{ClaimLease, Heartbeat, Lease, LeaseAnswer, LeasePage};

use crate::clock::Clock;
use crate::error::{Error, Misuse};
use crate::expiry::Announcer;
use crate::intake::Intake;
use crate::live::Fanout;
use crate::signal::Signals;
use crate::store::{Effect, Hint, QueueRow, Store};
use crate::stores;
use crate::sweep::Sweep;
use crate::upkeep::Upkeep;
pub(crate) use commit::{Committers, Job};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use turno_core::access::Epoch;
use turno_core::fault::Thing;
use turno_core::id::{QueueId, QueueName};
use turno_core::lease::{Command, Policies};
use turno_core::limits::{ANSWER_BYTES, PAYLOAD_MAX};
use turno_core::time::{Span, Time};

/// Options for [`Turno::open_with`].
pub struct Options {
    /// The clock. Tests pass a manual one.
    pub clock: Arc<Clock>,
    /// Whether background tasks run: the sweep of expired deliveries, the announcement of expired leases, the intake and
    /// the hourly purge. Answers stay correct without them, because every call checks expiry and the intake itself.
    /// Without them, subscribers receive no expiry events.
    pub sweep: bool,
    /// The lease policies, by prefix of the resource's name.
    pub leases: Policies,
    /// How long ended ownerships are kept.
    pub keep: Duration,
    /// What applying a task's line does. `None` posts the line to the stock ledger.
    pub effect: Option<Arc<dyn Effect>>,
    /// Whether to create or upgrade the schema. If `false`, opening fails unless the schema matches this program.
    pub migrate: bool,
    /// A second URL of the same PostgreSQL database, for `LISTEN`. Needed only if the first one leads through a pooler
    /// that shares sessions. Without it, changes by other processes are noticed within a second there.
    pub direct: Option<String>,
    /// The payload bytes at which a claim ends early and a lane's group closes. At least one item goes out.
    pub answer_bytes: usize,
    /// The largest payload that is accepted. Never more than [`PAYLOAD_MAX`](crate::core::limits::PAYLOAD_MAX).
    pub payload_bytes: usize,
}

/// Default for [`Options::keep`]: a quarter, so that last month's history is still complete.
const KEEP: Duration = Duration::from_hours(90 * 24);

impl Default for Options {
    fn default() -> Options {
        Options {
            clock: Arc::new(Clock::system()),
            sweep: true,
            leases: Policies::default(),
            keep: KEEP,
            effect: None,
            migrate: true,
            direct: None,
            answer_bytes: ANSWER_BYTES,
            payload_bytes: PAYLOAD_MAX,
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Options { sweep, leases, effect, migrate, .. } = self;
        let effect = effect.is_some();
        write!(f, "Options {{ sweep: {sweep}, leases: {leases:?}, effect: {effect}, migrate: {migrate} }}")
    }
}

/// An open engine. Clones share it. It closes when the last clone is dropped.
#[derive(Clone)]
pub struct Turno {
    pub(crate) inner: Arc<Inner>,
    /// The caller whose rights apply. `None` is the embedding program itself, which may do everything.
    pub(crate) caller: Option<Arc<access::Identity>>,
}

impl std::fmt::Debug for Turno {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let by = self.principal().map(|principal| principal.user.clone());
        f.debug_struct("Turno").field("database", &self.inner.store.describe()).field("by", &by).finish()
    }
}

pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) signals: Arc<Signals>,
    pub(crate) sweep: Sweep,
    pub(crate) intake: Intake,
    pub(crate) leases: Policies,
    pub(crate) answer_bytes: usize,
    payload_bytes: usize,
    effect: Option<Arc<dyn Effect>>,
    access: Arc<access::Access>,
    pub(crate) upkeep: Upkeep,
    finalizing: task::Finalizing,
    pub(crate) fanout: Fanout,
    committers: Committers,
    beats: beats::Beats,
    telemetry: telemetry::Telemetry,
    queues: Arc<Queues>,
    /// Dropping the set ends the background tasks together with the engine.
    _tasks: JoinSet<()>,
}

impl Turno {
    /// Opens `sqlite:PATH` or `postgres://…`, creating or upgrading the schema. PostgreSQL's URLs have libpq's TLS
    /// parameters, and libpq's `key=value` form is accepted too.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// let turno = turno::Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// assert!(turno.database().starts_with("SQLite"));
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn open(url: &str) -> Result<Turno, Error> {
        Turno::open_with(url, Options::default()).await
    }

    /// Opens a database with `options` instead of the defaults.
    ///
    /// ```
    /// # use turno::{Options, Turno};
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-open-with-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// let options = Options { sweep: false, ..Options::default() };
    /// assert!(Turno::open_with(&format!("sqlite:{}/other.db", dir.display()), options).await.is_ok());
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn open_with(url: &str, options: Options) -> Result<Turno, Error> {
        options.leases.check()?;
        let store: Arc<dyn Store> = stores::open(url, &options).await?;
        Ok(Turno::on(store, options))
    }

    /// Starts the engine on an already open store.
    pub fn on(store: Arc<dyn Store>, options: Options) -> Turno {
        let mut tasks = JoinSet::new();
        let signals = Arc::new(Signals::default());
        let hints = announcer(&mut tasks, store.clone());
        let announce = Announce { signals: signals.clone(), hints };
        let fanout = Fanout::start(&mut tasks, store.clone(), options.clock.clone(), announce.clone());
        let intake = Intake::new(store.clone(), options.clock.clone(), announce.clone());
        let telemetry = telemetry::Telemetry::start(&mut tasks, &store, &options.clock);
        let committers = Committers::start(&mut tasks, store.clone(), announce, &telemetry);
        let beats = beats::Beats::start(&mut tasks, &store, &committers, &telemetry);
        let queues = Arc::<Queues>::default();
        listen(&mut tasks, store.clone(), signals.clone(), queues.clone());
        let sweep = Sweep::new(store.clone(), options.clock.clone(), committers.clone(), telemetry.clone());
        if options.sweep {
            tasks.spawn(intake.clone().run());
            tasks.spawn(sweep.clone().run());
            let (store, clock, committers) = (store.clone(), options.clock.clone(), committers.clone());
            tasks.spawn(Announcer { store, clock, committers, leases: options.leases.clone() }.run());
        }
        let access = Arc::new(access::Access::start(&mut tasks, &store));
        let upkeep = Upkeep { store: store.clone(), clock: options.clock.clone(), keep: options.keep.into() };
        if options.sweep {
            tasks.spawn(upkeep.clone().run(access.clone()));
        }
        let inner = Inner {
            store,
            clock: options.clock,
            signals,
            sweep,
            intake,
            fanout,
            leases: options.leases,
            answer_bytes: options.answer_bytes,
            payload_bytes: options.payload_bytes.min(PAYLOAD_MAX),
            effect: options.effect,
            access,
            upkeep,
            finalizing: task::Finalizing::default(),
            committers,
            beats,
            telemetry,
            queues,
            _tasks: tasks,
        };
        Turno { inner: Arc::new(inner), caller: None }
    }

    /// Describes the database and its location for people.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// assert!(turno.database().starts_with("SQLite"));
    /// # Ok(()) });
    /// ```
    pub fn database(&self) -> &str {
        self.inner.store.describe()
    }

    /// Returns this process's estimate of the database's time. Use it for display, never for a decision.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// let (asked, _) = turno.lease_state("caja:3".try_into()?).await?;
    /// assert!(turno.now() >= asked);
    /// # Ok(()) });
    /// ```
    pub fn now(&self) -> Time {
        self.inner.clock.estimate()
    }

    /// Returns the store underneath, for checks and tools. Fails for a handle that acts for a caller, because the
    /// store checks no rights.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// assert!(turno.store()?.audit_head().await?.n == 0, "nothing was audited yet");
    /// # Ok(()) });
    /// ```
    pub fn store(&self) -> Result<&Arc<dyn Store>, Error> {
        if self.caller.is_none() { Ok(&self.inner.store) } else { Err(Misuse::TrustedOnly.into()) }
    }
}

impl Inner {
    /// Submits a command of the engine itself, without an access check, and returns the answer after the commit.
    pub(crate) async fn submit<T>(&self, job: impl FnOnce(commit::Reply<T>) -> Job) -> Result<T, Error> {
        self.committers.submit(None, job).await
    }

    pub(crate) async fn beat(&self, command: Command, as_of: Option<Epoch>) -> Result<LeaseAnswer, Error> {
        self.beats.beat(command, as_of).await
    }

    /// Returns the queue from this process's cache, or reads it. A cached policy may be outdated: a claim detects that
    /// and refreshes the row.
    pub(crate) async fn queue(&self, name: &QueueName) -> Result<Arc<QueueRow>, Error> {
        match self.queues.get(name) {
            Some(row) => Ok(row),
            None => self.refresh(name).await,
        }
    }

    /// Reads the queue from the database and caches it.
    pub(crate) async fn refresh(&self, name: &QueueName) -> Result<Arc<QueueRow>, Error> {
        let row = self.store.queue(name.clone()).await?;
        let row = row.ok_or_else(|| Error::Unknown(Thing::Queue(name.clone())))?;
        Ok(self.remember(row))
    }

    /// Makes every waiting claim of this queue look again, in this process and in the others.
    pub(crate) async fn wake_queue(&self, queue: QueueId) {
        let hint = Hint::Queue(queue);
        self.signals.wake(&hint);
        // A lost hint is harmless: waiting claims look again after `LOOK_AGAIN`.
        drop(self.store.announce(vec![hint]).await);
    }

    pub(crate) fn remember(&self, row: QueueRow) -> Arc<QueueRow> {
        self.telemetry.remember_queue(&row);
        let row = Arc::new(row);
        self.queues.put(row.clone());
        row
    }

    /// Announces that the queue's policy changed, so that every process drops its cached row.
    pub(crate) async fn announce_policy(&self, queue: QueueId) {
        let hint = Hint::Policy(queue);
        self.signals.wake(&hint);
        // A lost hint is harmless: a process that reconnects drops its whole cache, and a claim compares the policy's
        // version.
        drop(self.store.announce(vec![hint]).await);
    }
}

/// This process's cache of queues and their policies, so that an enqueue does not read the policy for every item.
#[derive(Default)]
pub(crate) struct Queues(RwLock<HashMap<QueueName, Arc<QueueRow>>>);

impl Queues {
    fn get(&self, name: &QueueName) -> Option<Arc<QueueRow>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    fn put(&self, row: Arc<QueueRow>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(row.name.clone(), row);
    }

    /// Drops the queues that another process has changed or may have changed.
    fn forget(&self, hint: &Hint) {
        let gone = |id: QueueId| match hint {
            Hint::Policy(queue) => id == *queue,
            _ => true,
        };
        if matches!(hint, Hint::Policy(_) | Hint::All) {
            self.0.write().unwrap_or_else(PoisonError::into_inner).retain(|_, row| !gone(row.id));
        }
    }
}

/// Announces changes to this process and to the others.
#[derive(Clone)]
pub(crate) struct Announce {
    pub(crate) signals: Arc<Signals>,
    hints: Arc<Hints>,
}

#[derive(Default)]
struct Hints {
    waiting: Mutex<HashSet<Hint>>,
    added: Notify,
}

impl Announce {
    pub(crate) fn send(&self, hint: Hint) {
        self.signals.wake(&hint);
        let fresh = self.hints.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(hint);
        if fresh {
            self.hints.added.notify_one();
        }
    }

    /// Wakes the sequencer, because a committed group may have written events that need positions.
    pub(crate) fn wrote_events(&self) {
        self.signals.wrote.notify_one();
    }
}

/// Starts the task that sends hints to other processes. Each round sends all hints collected so far; the store limits
/// the rate.
fn announcer(tasks: &mut JoinSet<()>, store: Arc<dyn Store>) -> Arc<Hints> {
    let hints = Arc::new(Hints::default());
    let gathered = hints.clone();
    tasks.spawn(async move {
        loop {
            gathered.added.notified().await;
            let hints = std::mem::take(&mut *gathered.waiting.lock().unwrap_or_else(PoisonError::into_inner));
            if !hints.is_empty() && store.announce(hints.into_iter().collect()).await.is_err() {
                tracing::debug!("a hint to other processes was dropped; they look again by the clock");
            }
        }
    });
    hints
}

/// Starts the task that receives hints from other processes.
fn listen(tasks: &mut JoinSet<()>, store: Arc<dyn Store>, signals: Arc<Signals>, queues: Arc<Queues>) {
    tasks.spawn(async move {
        loop {
            match store.hint().await {
                Ok(hint) => {
                    queues.forget(&hint);
                    signals.wake(&hint);
                }
                Err(error) => {
                    tracing::warn!(%error, "no hints from other processes for now; looking again by the clock");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
    });
}

/// The longest wait without looking at the database, in case every hint was lost.
pub(crate) const LOOK_AGAIN: Span = Span::from_secs(1);
