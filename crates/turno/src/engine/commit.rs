//! The committer: group commit, one group after another on every route.
//!
//! What arrives while a commit is under way forms the next group, so that many callers share one flush of
//! the disk. One bad command must not sink its group: if the database refuses a group, its commands are
//! redone one by one and only the culprit fails.

mod batch;
mod dealt;
mod route;

pub(crate) use dealt::Dealt;

use super::Announce;
use super::telemetry::Telemetry;
use crate::error::Error;
use crate::store::{
    AccessGroup, AccessOutcome, ClearGroup, ManageGroup, ManageOutcome, QueueRow, Routes, Store, TaskGroup,
    TaskOutcome, TypingGroup,
};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use turno_core::access::Epoch;
use turno_core::id::{ItemId, Lane};
use turno_core::lease::{Action, Command, Decision, State};
use turno_core::queue::{Accepted, Cleared, Enqueue, Settle, SettleOutcome, Want};
use turno_core::time::Time;

/// Commands that may wait at one route before callers are told to come back: bounds memory and delay.
const WAITING_MAX: usize = 8_192;

/// Of these, kept for heartbeats, releases and settlements where they share a route with new work.
const RESERVED: usize = WAITING_MAX / 4;

/// So many waiting commands are a group worth its commit, and the next ones may form another beside it.
const CROWD: usize = 256;

/// From so many items on, a call is worth a commit of its own.
const MANY: usize = 100;

/// Where the answer goes.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, Error>>;

/// The answer to a lease command: the decision, the state after it, and the time it was decided with.
pub(crate) type LeaseDecided = (Decision, State, Time);
/// The answers to a call's settlements, and the time they were decided with.
pub(crate) type SettleDecided = (Time, Vec<SettleOutcome>);

/// The closed set of commands, each with the way its answer takes.
pub(crate) enum Job {
    Lease(Command, Reply<LeaseDecided>),
    Enqueue(Enqueue, Reply<Vec<Accepted>>),
    Claim(Arc<QueueRow>, Want, Reply<Dealt>),
    ClaimItem(Arc<QueueRow>, Want, ItemId, Reply<Dealt>),
    Settle(Vec<Settle>, Reply<SettleDecided>),
    Manage(ManageGroup, Reply<ManageOutcome>),
    Clear(ClearGroup, Reply<Cleared>),
    Typing(TypingGroup, Reply<()>),
    Task(Box<TaskGroup>, Reply<TaskOutcome>),
    Access(Box<AccessGroup>, Reply<AccessOutcome>),
}

/// A command in its route's line.
pub(super) struct Waiting {
    /// The epoch of access under which it was allowed; nothing for what needs no permission.
    as_of: Option<Epoch>,
    job: Job,
}

impl Job {
    /// Heartbeats, releases and settlements: turned away last, because what is held already depends on them.
    fn keeps_something_held(&self) -> bool {
        match self {
            Job::Lease(command, _) => {
                matches!(command.action, Action::Heartbeat { .. } | Action::Release { .. } | Action::Leave { .. })
            }
            Job::Settle(..) => true,
            _ => false,
        }
    }
}

/// The committers of all routes.
#[derive(Clone)]
pub(crate) struct Committers {
    routes: Arc<Routes>,
    waiting: Arc<[mpsc::Sender<Waiting>]>,
    /// Counts the jobs, to spread them.
    turn: Arc<AtomicUsize>,
}

impl Committers {
    pub(super) fn start(
        tasks: &mut JoinSet<()>,
        store: Arc<dyn Store>,
        announce: Announce,
        telemetry: &Telemetry,
    ) -> Committers {
        let routes = store.routes();
        let most = routes.leases.iter().chain(&routes.items).chain([&routes.reserved]).max().copied().unwrap_or(0);
        let (waiting, jobs): (Vec<_>, Vec<_>) = (0..=most).map(|_| mpsc::channel(WAITING_MAX)).unzip();
        for (number, jobs) in jobs.into_iter().enumerate() {
            let back = waiting[routes.reserved].downgrade();
            let (store, announce, telemetry) = (store.clone(), announce.clone(), telemetry.clone());
            tasks.spawn(route::Route { number, back, store, announce, telemetry }.run(jobs));
        }
        Committers { routes: Arc::new(routes), waiting: waiting.into(), turn: Arc::new(AtomicUsize::new(0)) }
    }

    /// Hands a job to its route and waits for its answer. A full route answers at once, and stores nothing.
    ///
    /// With `as_of`, the command is carried out only if access has not changed since.
    pub(crate) async fn submit<T>(&self, as_of: Option<Epoch>, job: impl FnOnce(Reply<T>) -> Job) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        let job = job(reply);
        let route = self.route(&job, self.turn.fetch_add(1, Ordering::Relaxed));
        if !job.keeps_something_held() && self.waiting[route].capacity() < RESERVED {
            return Err(Error::Overloaded);
        }
        self.waiting[route].try_send(Waiting { as_of, job }).map_err(|full| match full {
            mpsc::error::TrySendError::Full(_) => Error::Overloaded,
            mpsc::error::TrySendError::Closed(_) => Error::Closed,
        })?;
        answer.await.map_err(|_| Error::Closed)?
    }

    /// Whether so many wait there already that another route serves them sooner.
    fn is_crowded(&self, route: usize) -> bool {
        self.waiting[route].capacity() + CROWD < WAITING_MAX
    }

    /// Heartbeats, releases and settlements have a route of their own. The rest is spread: leases by resource, arrivals by
    /// lane where they are many. Calls that overlap in time have no order among each other.
    fn route(&self, job: &Job, turn: usize) -> usize {
        match job {
            _ if job.keeps_something_held() => self.routes.reserved,
            Job::Lease(command, _) => pick(&self.routes.leases, hash(&command.resource)),
            Job::Settle(..) => self.routes.reserved,
            // A few items cost less than their commit, which a larger group shares.
            Job::Enqueue(call, _) if call.items.len() < MANY && !self.is_crowded(self.routes.items[0]) => {
                self.routes.items[0]
            }
            Job::Enqueue(call, _) => match call.items.first().and_then(|item| item.key.as_ref()) {
                Some(key) => pick(&self.routes.items, Lane::of(key).0 as usize),
                None => pick(&self.routes.items, turn),
            },
            Job::Claim(..) | Job::ClaimItem(..) => pick(&self.routes.items, turn),
            Job::Manage(group, _) => pick(&self.routes.items, group.queue.0 as usize),
            Job::Clear(group, _) => pick(&self.routes.items, group.queue.0 as usize),
            Job::Typing(group, _) => pick(&self.routes.items, group.queue.0 as usize),
            // With the claims of the same lease.
            Job::Task(group, _) => pick(&self.routes.leases, group.resource().map_or(turn, |resource| hash(&resource))),
            Job::Access(..) => pick(&self.routes.leases, 0),
        }
    }
}

fn pick(routes: &[usize], number: usize) -> usize {
    routes[number % routes.len()]
}

fn hash(resource: &impl Hash) -> usize {
    let mut hasher = DefaultHasher::new();
    resource.hash(&mut hasher);
    hasher.finish() as usize
}

/// Waits for the next group: whatever is there, and whatever comes while the other tasks have their turn.
///
/// Those who were just answered often ask again at once. Closing the group before they could would make two
/// half groups take turns for ever, each paying for a whole flush of the disk. Answers `false` at the end.
pub(super) async fn gather<T>(jobs: &mut mpsc::Receiver<T>, waiting: &mut Vec<T>, most: usize) -> bool {
    if jobs.recv_many(waiting, most).await == 0 {
        return false;
    }
    loop {
        let before = waiting.len();
        tokio::task::yield_now().await;
        while waiting.len() < most {
            match jobs.try_recv() {
                Ok(job) => waiting.push(job),
                Err(_) => break,
            }
        }
        if waiting.len() == before || waiting.len() == most {
            return true;
        }
    }
}
