//! The pusher of one queue: a worker whose handler calls the queue's endpoint.
//!
//! Claiming, renewing, settling and stopping are the library's worker's. Here: what a call's end means, and how many
//! hands the worker may use. While the destination is down that is none, or one for the probe that this process has
//! taken; a probe that fails is given back, so that it is no attempt. What cannot be read to be delivered waits with the
//! error, and says nothing of the destination: nobody was called. Probing and reviving are in `keeper`.

mod keeper;

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use turno::core::destination::{Destination, Failure, Fault};
use turno::core::id::{Key, Lane, QueueName, Seq};
use turno::core::queue::{Act, Kind, Policy};
use turno::core::time::{Span, Time};
use turno::{Error, Got, Hands, QueueHandle, RunningWorker, Turno};

use super::body::Form;
use super::call::{Call, Caller, Refused};
use super::figures::{Figures, Outcome};
use super::signature::Secret;
use crate::config::endpoint::Endpoint;
use crate::uptime::Uptime;

/// The longest that what could not be read waits until it is read again: whoever repairs the table sees it go on soon.
pub(crate) const READ_AGAIN: Span = Span::from_secs(60);
/// Of how many items it is known that they could not be read; with more, some say so twice.
const UNREAD_MAX: usize = 10_000;

/// Where the deliveries of a queue go.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) endpoint: Endpoint,
    pub(crate) secret: Option<Secret>,
    /// It was set over the API.
    pub(crate) guarded: bool,
    pub(crate) form: Form,
}

impl Target {
    /// Whether a pusher for the one can go on for the other.
    fn is_like(&self, other: &Target) -> bool {
        (&self.endpoint, &self.secret, self.guarded) == (&other.endpoint, &other.secret, other.guarded)
    }
}

/// Everything that the pushers of a process share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) turno: Turno,
    pub(crate) caller: Caller,
    pub(crate) figures: Arc<Figures>,
    /// Which process this is, in the history of items.
    pub(crate) instance: Arc<str>,
    /// How long calls may go on after the stop.
    pub(crate) grace: Span,
}

/// A pusher at work.
pub(super) struct Pusher {
    inner: Arc<Inner>,
    worker: RunningWorker,
    /// Ends with it.
    keeper: JoinSet<()>,
}

struct Inner {
    shared: Shared,
    queue: QueueHandle,
    name: QueueName,
    target: Target,
    /// How the destination is doing, as last seen.
    seen: watch::Sender<Option<Destination>>,
    hands: watch::Sender<Hands>,
    /// This process may make one probe until then.
    ticket: Mutex<Option<Time>>,
    /// What could not be read: how often in a row, and why the last time.
    unread: Mutex<HashMap<Seq, (u32, String)>>,
    /// Items that were revived after the outage that ended last.
    revived: AtomicU64,
}

/// Why nobody has taken a delivery.
enum Missed {
    /// The call failed.
    Refused(Refused),
    /// There was none: what it was to carry could not be read.
    Unread(String),
}

/// Whether the worker renews a delivery while its call goes on.
#[derive(Clone, Copy)]
enum Renewed {
    Yes,
    /// It is over when it expires.
    No,
}

/// Where a delivery went that did not fail.
enum Went {
    /// To the receiver, who took it.
    Taken,
    /// Nowhere: there was nothing to be told.
    Nowhere,
}

impl Pusher {
    pub(super) async fn start(shared: Shared, queue: QueueHandle, target: Target) -> Result<Pusher, Error> {
        let row = queue.row().await?;
        // A process that starts in the middle of an outage must not begin with a burst of calls.
        let destination = queue.destination().await?;
        let hands = watch::Sender::new(Hands::UpTo(0));
        let worker_hands = hands.subscribe();
        let inner = Arc::new(Inner {
            queue: queue.clone(),
            name: row.name.clone(),
            target,
            seen: watch::Sender::new(None),
            hands,
            ticket: Mutex::default(),
            unread: Mutex::default(),
            revived: AtomicU64::default(),
            shared,
        });
        inner.saw(destination);
        inner.allow_hands();
        let handler = inner.clone();
        let worker = queue
            .delivery_worker(move |got| handler.clone().deliver(got))
            .instance(&inner.shared.instance)
            .concurrency(inner.target.endpoint.concurrency)
            .hands(worker_hands)
            .margin(margin(&row.policy))
            .grace(inner.shared.grace)
            .start()?;
        let mut keeper = JoinSet::new();
        keeper.spawn(inner.clone().keep());
        Ok(Pusher { inner, worker, keeper })
    }

    pub(super) fn serves(&self, target: &Target) -> bool {
        self.inner.target.is_like(target)
    }

    /// What another process has found out. Who believes to know of a failure that the others do not looks itself.
    pub(super) async fn hear(&self, destination: Option<Destination>) {
        if destination.is_some() {
            return self.inner.saw(destination);
        }
        let ill = self.inner.seen.borrow().as_ref().is_some_and(|seen| !seen.is_well());
        if ill && let Ok(destination) = self.inner.queue.destination().await {
            self.inner.saw(destination);
        }
    }

    /// Lets calls finish within the grace, and gives the rest back.
    pub(super) async fn stop(mut self) {
        self.keeper.abort_all();
        self.worker.stop().await;
        self.inner.shared.figures.down(&self.inner.name, false);
    }
}

impl Inner {
    /// One delivery, from the hand-out to what is settled.
    async fn deliver(self: Arc<Self>, got: Got) -> Act {
        let Some(probe) = self.admitted() else {
            self.shared.figures.ended(&self.name, Outcome::Returned, None);
            return Act::Return { error: None };
        };
        let began = Uptime::start();
        let policy = self.queue.row().await.map(|row| row.policy.clone());
        let answer = match policy {
            Ok(policy) => self.call(&got, &policy, Renewed::Yes).await.map_err(|missed| (missed, Some(policy))),
            Err(error) => Err((Missed::Unread(error.to_string()), None)),
        };
        if !matches!(answer, Err((Missed::Unread(_), _))) {
            self.unread.lock().unwrap_or_else(PoisonError::into_inner).remove(&got.handed.seq);
        }
        let (outcome, act) = match answer {
            Ok(Went::Taken) => {
                self.answered(probe).await;
                (Outcome::Delivered, Act::Ack { through: None })
            }
            // Nobody was called: nothing is known of the destination by it.
            Ok(Went::Nowhere) => (Outcome::Skipped, Act::Skip),
            Err((Missed::Unread(error), policy)) => (Outcome::Returned, self.defer(&got, error, policy.as_ref())),
            Err((Missed::Refused(refused), policy)) => self.failed(&got, probe, refused, policy).await,
        };
        self.shared.figures.ended(&self.name, outcome, Some(began.elapsed()));
        act
    }

    /// Whether this delivery may be tried, and whether as a probe.
    fn admitted(&self) -> Option<bool> {
        if !self.is_down() {
            return Some(false);
        }
        let ticket = self.ticket.lock().unwrap_or_else(PoisonError::into_inner).take();
        let good = ticket.filter(|until| self.shared.turno.now() < *until);
        self.allow_hands();
        good.map(|_| true)
    }

    async fn call(&self, got: &Got, policy: &Policy, renewed: Renewed) -> Result<Went, Missed> {
        let Endpoint { url, method, timeout, .. } = &self.target.endpoint;
        let Some(body) = self.target.form.body(&self.name, policy.kind, got).await.map_err(Missed::Unread)? else {
            self.target.form.skipped(got).await.map_err(|error| Missed::Unread(error.to_string()))?;
            return Ok(Went::Nowhere);
        };
        let now = self.shared.turno.now();
        let call = Call {
            url,
            method,
            key: got.key.as_ref().map(Key::as_str),
            guarded: self.target.guarded,
            secret: self.target.secret.as_ref(),
            // The place of the first item and its change: the same for every attempt, another one for what was edited.
            id: format!("msg_{}_{}", got.handed.seq.0, got.revision),
            fence: got.handed.fence.0,
            attempt: got.attempt,
            at: now,
            body: body.bytes.clone(),
            within: within(*timeout, got, policy, renewed, now),
        };
        self.shared.caller.call(call).await.map_err(Missed::Refused)?;
        // Should it not be kept, a comparison finds a difference later, and sends it once more.
        let taken = self.target.form.taken(got, &body).await;
        taken
            .unwrap_or_else(|error| tracing::warn!(%error, queue = %self.name, "what was delivered is not remembered"));
        Ok(Went::Taken)
    }

    /// The destination is alive: it took what it was sent, or refused that and nothing else.
    async fn answered(&self, probe: bool) {
        let ill = self.seen.borrow().as_ref().is_some_and(|seen| seen.failures > 0);
        if !(probe || ill) {
            return;
        }
        match self.queue.destination_succeeded().await {
            Ok(destination) => self.saw(destination),
            Err(error) => tracing::warn!(%error, queue = %self.name, "a success was not noted; the next one will be"),
        }
    }

    /// What is settled if there was nothing to call with: it is read again, less and less often. The same error is written
    /// down once, however long the repair takes.
    fn defer(&self, got: &Got, error: String, policy: Option<&Policy>) -> Act {
        let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        if unread.len() >= UNREAD_MAX {
            unread.clear();
        }
        let (times, last) = unread.entry(got.handed.seq).or_default();
        *times = times.saturating_add(1);
        let backoff = policy.map_or(READ_AGAIN, |policy| policy.backoff_after(got.handed.seq, *times));
        let told = std::mem::replace(last, error.clone()) == error;
        Act::Defer { error: (!told).then_some(error), retry_in: backoff.min(READ_AGAIN) }
    }

    /// What is settled after a failure. Once the destination is known to be down, no attempt is spent on it; what is its
    /// own fault costs it one, however the destination is doing.
    async fn failed(&self, got: &Got, probe: bool, refused: Refused, policy: Option<Policy>) -> (Outcome, Act) {
        let spared = match refused.fault {
            Fault::Key => false,
            Fault::Message => {
                self.answered(probe).await;
                false
            }
            fault => {
                self.was_down(got, &refused.error, fault, self.round_began(got, policy.as_ref()).await).await || probe
            }
        };
        if spared {
            return (Outcome::Returned, Act::Return { error: Some(refused.error) });
        }
        // The receiver may ask for more time than the policy gives it, and not for less.
        let backoff = policy.map_or(Span::ZERO, |policy| policy.backoff_after(got.handed.seq, got.attempt));
        let retry_in = refused.retry_after.map(|wait| wait.max(backoff));
        (Outcome::Failed, Act::Fail { error: refused.error, item: None, retry_in, give_up: false })
    }

    /// Of a key of a sync queue that has at most one attempt left: when its first failed attempt was handed out. Elsewhere a
    /// person decides about what is exhausted, see `revive`.
    async fn round_began(&self, got: &Got, policy: Option<&Policy>) -> Option<Time> {
        let policy = policy.filter(|policy| policy.kind == Kind::Sync && got.attempt + 1 >= policy.max_attempts)?;
        let began = self.queue.round_began(got).await;
        began.inspect_err(|error| tracing::warn!(%error, queue = %self.name, attempts = policy.max_attempts, "an outage of one key may go unnoticed")).ok()
    }

    /// Notes a failure of the destination; answers whether it was down before that.
    async fn was_down(&self, got: &Got, error: &str, fault: Fault, round_began: Option<Time>) -> bool {
        let unreached = fault == Fault::Unreached;
        let failure = Failure { of: whose(got), handed_at: got.now, error: error.to_owned(), unreached, round_began };
        let noted = self.queue.destination_failed(&failure, self.target.endpoint.probe).await;
        match noted {
            Ok((was_down, destination)) => {
                self.saw(Some(destination));
                was_down
            }
            Err(error) => {
                tracing::warn!(%error, queue = %self.name, "a failure was not noted");
                self.is_down()
            }
        }
    }

    fn is_down(&self) -> bool {
        self.seen.borrow().as_ref().is_some_and(Destination::is_down)
    }

    /// Takes over what is known, unless something newer is known already.
    fn saw(&self, destination: Option<Destination>) {
        let Some(new) = destination else { return };
        let was_down = self.is_down();
        let newer = |old: &mut Option<Destination>| {
            let newer = old.as_ref().is_none_or(|old| old.version < new.version);
            if newer {
                *old = Some(new.clone());
            }
            newer
        };
        if !self.seen.send_if_modified(newer) {
            return;
        }
        match (was_down, new.is_down()) {
            (false, true) => {
                tracing::warn!(queue = %self.name, error = new.error, "the destination is down: no attempts are spent on it");
            }
            (true, false) => tracing::info!(queue = %self.name, "the destination is back"),
            _ => {}
        }
        self.shared.figures.down(&self.name, new.is_down());
        self.allow_hands();
    }

    fn allow_hands(&self) {
        let ticket = *self.ticket.lock().unwrap_or_else(PoisonError::into_inner);
        let probes = ticket.is_some_and(|until| self.shared.turno.now() < until);
        let hands = match (self.is_down(), probes) {
            (false, _) => Hands::UpTo(self.target.endpoint.concurrency),
            (true, true) => Hands::Probe,
            (true, false) => Hands::UpTo(0),
        };
        self.hands.send_if_modified(|now| std::mem::replace(now, hands) != hands);
    }
}

/// Whose failure it is.
fn whose(got: &Got) -> Lane {
    match (&got.key, got.items.first()) {
        (Some(key), _) => Lane::of(key),
        (None, Some(item)) => Key::new(item.id.as_str()).map_or(Lane(got.handed.seq.0), |id| Lane::of(&id)),
        (None, None) => Lane(got.handed.seq.0),
    }
}

/// How long before a delivery's end its call must be over: what is under way then must not meet the next one.
fn margin(policy: &Policy) -> Span {
    Span((policy.lock_timeout.0 / 10).clamp(10, 1_000))
}

/// How long a call may take: its timeout, and not beyond the time that heartbeats can stretch its delivery to, with a
/// margin in which its failure can still be settled.
fn within(timeout: Duration, got: &Got, policy: &Policy, renewed: Renewed, now: Time) -> Duration {
    let over_at = match renewed {
        Renewed::Yes => policy.max_hold.map(|hold| got.now + hold),
        Renewed::No => Some(got.expires_at),
    };
    let Some(over_at) = over_at else { return timeout };
    let left = now.until(over_at).0 - 2 * margin(policy).0;
    timeout.min(Duration::from_millis(left.max(1).unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use turno::core::id::{Fence, QueueId, Seq};
    use turno::core::queue::Handed;

    #[test]
    fn a_call_ends_before_the_delivery_that_heartbeats_cannot_stretch_any_more() {
        let handed = Handed { queue: QueueId(1), seq: Seq(2), lane: None, size: 1, fence: Fence(4) };
        let (now, expires_at) = (Time(100_000), Time(115_000));
        let got = Got { handed, key: None, attempt: 1, revision: 1, now, expires_at, items: Vec::new() };
        let lane = Policy::of(Kind::Lane);
        let timeout = Duration::from_secs(10);
        let within = |policy, renewed, now| within(timeout, &got, policy, renewed, Time(now));
        assert_eq!(within(&lane, Renewed::Yes, 100_000), timeout);
        assert_eq!(within(&lane, Renewed::Yes, 107_000), Duration::from_secs(6), "two seconds before the end");
        assert_eq!(within(&lane, Renewed::Yes, 120_000), Duration::from_millis(1));
        let sync = Policy::of(Kind::Sync);
        assert_eq!(within(&sync, Renewed::Yes, 900_000), timeout, "heartbeats stretch it");
        assert_eq!(within(&sync, Renewed::No, 107_000), Duration::from_secs(6), "nobody renews a probe");
    }
}
