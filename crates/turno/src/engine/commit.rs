//! The committer: group commit, one group after another on each route.
//!
//! Commands that arrive during a commit form the next group, so that many callers share one flush of the disk. If the
//! database rejects a group, its commands are redone one by one, so that only the rejected command fails.

mod batch;
mod claim_answer;
mod route;

pub(crate) use claim_answer::ClaimAnswer;

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
use turno_core::queue::{Accepted, ClaimRequest, Cleared, Enqueue, Settle, SettleOutcome};
use turno_core::time::Time;

/// The largest number of commands waiting on one route. Beyond it, callers get `Overloaded`. Bounds memory and delay.
const WAITING_MAX: usize = 8_192;

/// The part of `WAITING_MAX` reserved for heartbeats, releases and settlements on a route that they share with new
/// work.
const RESERVED: usize = WAITING_MAX / 4;

/// With this many commands waiting, a group is worth its own commit, and further commands may use another route.
const CROWD: usize = 256;

/// With this many items, a call is worth its own commit.
const MANY: usize = 100;

/// The channel for a command's answer.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, Error>>;

/// The answer to a lease command: the decision, the state after it, and the time of the decision.
pub(crate) type LeaseDecided = (Decision, State, Time);
/// The answers to a call's settlements, and the time of the decisions.
pub(crate) type SettleDecided = (Time, Vec<SettleOutcome>);

/// Every command of the engine, each with the channel for its answer.
pub(crate) enum Job {
    Lease(Command, Reply<LeaseDecided>),
    Enqueue(Enqueue, Reply<Vec<Accepted>>),
    Claim(Arc<QueueRow>, ClaimRequest, Reply<ClaimAnswer>),
    ClaimItem(Arc<QueueRow>, ClaimRequest, ItemId, Reply<ClaimAnswer>),
    Settle(Vec<Settle>, Reply<SettleDecided>),
    Manage(ManageGroup, Reply<ManageOutcome>),
    Clear(ClearGroup, Reply<Cleared>),
    Typing(TypingGroup, Reply<()>),
    Task(Box<TaskGroup>, Reply<TaskOutcome>),
    Access(Box<AccessGroup>, Reply<AccessOutcome>),
}

/// A command that waits on its route.
pub(super) struct Waiting {
    /// The epoch of access at which it was allowed. `None` for commands that need no permission.
    as_of: Option<Epoch>,
    job: Job,
}

impl Job {
    /// Returns whether the job is a heartbeat, release or settlement. They are refused last, because live leases and
    /// deliveries depend on them.
    fn serves_live_holder(&self) -> bool {
        match self {
            Job::Lease(command, _) => matches!(command.action, Action::Heartbeat { .. }) || command.action.releases(),
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
    /// Counts the jobs, to spread them over the routes.
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

    /// Submits a job to its route and waits for the answer. If the route is full, returns `Overloaded` at once and
    /// stores nothing.
    ///
    /// With `as_of`, executes the command only if the epoch of access is unchanged.
    pub(crate) async fn submit<T>(&self, as_of: Option<Epoch>, job: impl FnOnce(Reply<T>) -> Job) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        let job = job(reply);
        let route = self.route(&job, self.turn.fetch_add(1, Ordering::Relaxed));
        if !job.serves_live_holder() && self.waiting[route].capacity() < RESERVED {
            return Err(Error::Overloaded);
        }
        self.waiting[route].try_send(Waiting { as_of, job }).map_err(|full| match full {
            mpsc::error::TrySendError::Full(_) => Error::Overloaded,
            mpsc::error::TrySendError::Closed(_) => Error::Closed,
        })?;
        answer.await.map_err(|_| Error::Closed)?
    }

    /// Returns whether enough commands wait on the route to use another one.
    fn is_crowded(&self, route: usize) -> bool {
        self.waiting[route].capacity() + CROWD < WAITING_MAX
    }

    /// Selects the route. Heartbeats, releases and settlements have their own. Leases are spread by resource, larger
    /// enqueues by lane. Calls that overlap in time have no defined order, so spreading them is allowed.
    fn route(&self, job: &Job, turn: usize) -> usize {
        match job {
            Job::Settle(..) => self.routes.reserved,
            Job::Lease(..) if job.serves_live_holder() => self.routes.reserved,
            Job::Lease(command, _) => pick(&self.routes.leases, hash(&command.resource)),
            // A few items cost less than a commit, so put them into a larger group.
            Job::Enqueue(call, _) if call.items.len() < MANY && !self.is_crowded(self.routes.items[0]) => {
                self.routes.items[0]
            }
            Job::Enqueue(call, _) => match call.items.first().and_then(|item| item.key.as_ref()) {
                Some(key) => pick(&self.routes.items, Lane::from_key(key).0 as usize),
                None => pick(&self.routes.items, turn),
            },
            Job::Claim(..) | Job::ClaimItem(..) => pick(&self.routes.items, turn),
            Job::Manage(group, _) => pick(&self.routes.items, group.queue.0 as usize),
            Job::Clear(group, _) => pick(&self.routes.items, group.queue.0 as usize),
            Job::Typing(group, _) => pick(&self.routes.items, group.queue.0 as usize),
            // On the route of the same lease's claims.
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

/// Collects the next group: the waiting commands, and those that arrive while other tasks run. Returns `false` when
/// the channel is closed.
///
/// Callers that were just answered often send their next command at once. Closing the group before that would produce
/// two half-full groups that alternate forever, each with a full flush of the disk.
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
