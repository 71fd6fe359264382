//! The pusher of one queue: a worker whose handler calls the queue's endpoint.
//!
//! The library's worker claims, renews, settles and stops. This file decides what the end of a call means, and how many
//! deliveries the worker may hold at once. While the destination is down that is none, or one if this process has taken
//! the probe. A failed probe is returned, so it costs no attempt. A delivery whose row cannot be read is deferred with
//! the error and does not count against the destination, because no call was made. Probing and reviving are in
//! `keeper`.

mod keeper;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use turno::core::destination::{Destination, Failure, Fault};
use turno::core::id::{Key, Lane, QueueName};
use turno::core::queue::{Act, Kind, Policy};
use turno::core::sync::UNREADABLE_WAIT;
use turno::core::time::{Span, Time};
use turno::{Delivery, Error, Prepared, QueueHandle, RunningWorker, SyncHandle, Turno, WorkerLimit};

use super::body::{render_change, render_delivery};
use super::call::{Call, EndpointClient, Refused};
use super::figures::{Figures, Outcome};
use super::signature::Secret;
use crate::config::endpoint::Endpoint;
use crate::stopwatch::Stopwatch;

/// The destination of a queue.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) endpoint: Endpoint,
    pub(crate) secret: Option<Secret>,
    /// True if the endpoint was set over the API.
    pub(crate) guarded: bool,
    /// The source whose changes are sent. Without one, the deliveries themselves are sent.
    pub(crate) source: Option<SyncHandle>,
}

impl Target {
    /// Returns whether a pusher for one target can go on for the other.
    fn is_like(&self, other: &Target) -> bool {
        (&self.endpoint, &self.secret, self.guarded) == (&other.endpoint, &other.secret, other.guarded)
    }
}

/// What the pushers of a process share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) turno: Turno,
    pub(crate) caller: EndpointClient,
    pub(crate) figures: Arc<Figures>,
    /// The name of this process in the history of items.
    pub(crate) instance: Arc<str>,
    /// How long calls may go on after a stop.
    pub(crate) grace: Span,
}

/// A running pusher.
pub(super) struct Pusher {
    inner: Arc<Inner>,
    worker: RunningWorker,
    /// The keeper's task. It ends with the pusher.
    keeper: JoinSet<()>,
}

struct Inner {
    shared: Shared,
    queue: QueueHandle,
    name: QueueName,
    target: Target,
    /// The last known state of the destination.
    seen: watch::Sender<Option<Destination>>,
    hands: watch::Sender<WorkerLimit>,
    /// Until when this process may make one probe.
    ticket: Mutex<Option<Time>>,
    /// The number of items revived after the last outage.
    revived: AtomicU64,
}

/// Why a delivery did not reach the receiver.
enum NotDelivered {
    /// The call failed.
    Refused(Refused),
    /// No call was made, because the row could not be read. The act makes the delivery wait.
    Unread { error: String, act: Act },
}

impl NotDelivered {
    /// Builds the result of an error of the database.
    fn unread(error: &Error) -> NotDelivered {
        let error = error.to_string();
        let act = Act::Defer { error: Some(error.clone()), retry_in: UNREADABLE_WAIT };
        NotDelivered::Unread { error, act }
    }
}

/// Whether the worker renews a delivery during its call.
#[derive(Clone, Copy)]
enum Renewal {
    Yes,
    /// The delivery expires at its first expiry.
    No,
}

/// The result of a delivery that did not fail.
enum CallResult {
    /// The receiver accepted it.
    Accepted,
    /// No call was made, because there was nothing to send.
    NothingToSend,
}

impl Pusher {
    pub(super) async fn start(shared: Shared, queue: QueueHandle, target: Target) -> Result<Pusher, Error> {
        let row = queue.row().await?;
        // A process that starts during an outage must not begin with a burst of calls, so it reads the state first.
        let destination = queue.destination().await?;
        let hands = watch::Sender::new(WorkerLimit::UpTo(0));
        let worker_hands = hands.subscribe();
        let inner = Arc::new(Inner {
            queue: queue.clone(),
            name: row.name.clone(),
            target,
            seen: watch::Sender::new(None),
            hands,
            ticket: Mutex::default(),
            revived: AtomicU64::default(),
            shared,
        });
        inner.update_state(destination);
        inner.allow_hands();
        let handler = inner.clone();
        let worker = queue
            .delivery_worker(move |got| handler.clone().deliver(got))
            .instance(&inner.shared.instance)
            .concurrency(inner.target.endpoint.concurrency)
            .limit(worker_hands)
            .margin(margin(&row.policy).into())
            .grace(inner.shared.grace.into())
            .start()?;
        let mut keeper = JoinSet::new();
        keeper.spawn(inner.clone().keep());
        Ok(Pusher { inner, worker, keeper })
    }

    pub(super) fn serves(&self, target: &Target) -> bool {
        self.inner.target.is_like(target)
    }

    /// Takes over the destination state that another process stored. If only this process has seen a failure, re-reads
    /// the stored state.
    pub(super) async fn update(&self, destination: Option<Destination>) {
        if destination.is_some() {
            return self.inner.update_state(destination);
        }
        let failing = self.inner.seen.borrow().as_ref().is_some_and(|seen| !seen.is_well());
        if failing && let Ok(destination) = self.inner.queue.destination().await {
            self.inner.update_state(destination);
        }
    }

    /// Stops the worker. Running calls may finish within the grace period; other deliveries are returned.
    pub(super) async fn stop(mut self) {
        self.keeper.abort_all();
        self.worker.stop().await;
        self.inner.shared.figures.set_down(&self.inner.name, false);
    }
}

impl Inner {
    /// Handles one delivery, from the claim to the settlement that the worker makes.
    async fn deliver(self: Arc<Self>, got: Delivery) -> Act {
        let Some(probe) = self.admit() else {
            self.shared.figures.count(&self.name, Outcome::Returned, None);
            return Act::Return { error: None };
        };
        let began = Stopwatch::start();
        let policy = self.queue.row().await.map(|row| row.policy.clone());
        let answer = match policy {
            Ok(policy) => self.call(&got, &policy, Renewal::Yes).await.map_err(|failure| (failure, Some(policy))),
            Err(error) => Err((NotDelivered::unread(&error), None)),
        };
        let (outcome, act) = match answer {
            Ok(CallResult::Accepted) => {
                self.note_success(probe).await;
                (Outcome::Delivered, Act::Ack { through: None })
            }
            // No call was made, so nothing is known about the destination.
            Ok(CallResult::NothingToSend) => (Outcome::Skipped, Act::Skip),
            Err((NotDelivered::Unread { act, .. }, _)) => (Outcome::Returned, act),
            Err((NotDelivered::Refused(refused), policy)) => self.settle_failure(&got, probe, refused, policy).await,
        };
        self.shared.figures.count(&self.name, outcome, Some(began.elapsed()));
        act
    }

    /// Returns whether this delivery may be tried, and if so whether it is a probe.
    fn admit(&self) -> Option<bool> {
        if !self.is_down() {
            return Some(false);
        }
        let ticket = self.ticket.lock().unwrap_or_else(PoisonError::into_inner).take();
        let good = ticket.filter(|until| self.shared.turno.now() < *until);
        self.allow_hands();
        good.map(|_| true)
    }

    async fn call(&self, got: &Delivery, policy: &Policy, renewal: Renewal) -> Result<CallResult, NotDelivered> {
        let Endpoint { url, method, timeout, .. } = &self.target.endpoint;
        let change = match &self.target.source {
            None => None,
            Some(sync) => match sync.prepare(got).await.map_err(|error| NotDelivered::unread(&error))? {
                Prepared::Send(change) => Some((sync, change)),
                Prepared::Nothing => return Ok(CallResult::NothingToSend),
                Prepared::Wait { error, act } => return Err(NotDelivered::Unread { error, act }),
            },
        };
        let body = match &change {
            None => render_delivery(&self.name, policy.kind, got.clone()),
            Some((_, change)) => render_change(change),
        };
        let body = body.map_err(|error| {
            let error = format!("failed to write the body: {error}");
            NotDelivered::Refused(Refused { fault: Fault::Key, ..Refused::new(error) })
        })?;
        let now = self.shared.turno.now();
        let call = Call {
            url,
            method,
            key: got.key.as_ref().map(Key::as_str),
            guarded: self.target.guarded,
            secret: self.target.secret.as_ref(),
            // The first item's position and revision: equal for every attempt, different after an edit.
            id: format!("msg_{}_{}", got.reference.seq.0, got.revision),
            fence: got.reference.fence.0,
            attempt: got.attempt,
            at: now,
            body,
            within: call_time_limit(*timeout, got, policy, renewal, now),
        };
        self.shared.caller.call(call).await.map_err(NotDelivered::Refused)?;
        if let Some((sync, change)) = change {
            // If this is lost, a later check of the source finds the difference and sends the key again.
            let noted = sync.delivered(&change).await;
            let queue = &self.name;
            noted.unwrap_or_else(|error| tracing::warn!(%error, %queue, "what was delivered is not remembered"));
        }
        Ok(CallResult::Accepted)
    }

    /// Stores that the destination answers: it accepted the delivery, or refused only this message.
    async fn note_success(&self, probe: bool) {
        let failing = self.seen.borrow().as_ref().is_some_and(|seen| seen.failures > 0);
        if !(probe || failing) {
            return;
        }
        match self.queue.destination_succeeded().await {
            Ok(destination) => self.update_state(destination),
            Err(error) => tracing::warn!(%error, queue = %self.name, "a success was not noted; the next one will be"),
        }
    }

    /// Returns the settlement after a failed call. While the destination is down, no attempt is spent. A failure that
    /// is the message's own fault always costs an attempt.
    async fn settle_failure(
        &self,
        got: &Delivery,
        probe: bool,
        refused: Refused,
        policy: Option<Policy>,
    ) -> (Outcome, Act) {
        let spared = match refused.fault {
            Fault::Key => false,
            Fault::Message => {
                self.note_success(probe).await;
                false
            }
            fault => {
                self.note_failure(got, &refused.error, fault, self.round_began(got, policy.as_ref()).await).await
                    || probe
            }
        };
        if spared {
            return (Outcome::Returned, Act::Return { error: Some(refused.error) });
        }
        // The receiver may ask for a longer wait than the policy's back-off, but not for a shorter one.
        let backoff = policy.map_or(Span::ZERO, |policy| policy.backoff_after(got.reference.seq, got.attempt));
        let retry_in = refused.retry_after.map(|wait| wait.max(backoff));
        (Outcome::Failed, Act::Fail { error: refused.error, item: None, retry_in, give_up: false })
    }

    /// Returns when the first failed attempt of a sync key was handed out, if the key has at most one attempt left. In
    /// other queues a person decides about exhausted items; see `revive`.
    async fn round_began(&self, got: &Delivery, policy: Option<&Policy>) -> Option<Time> {
        let policy = policy.filter(|policy| policy.kind == Kind::Sync && got.attempt + 1 >= policy.max_attempts)?;
        let began = self.queue.round_began(got).await;
        began.inspect_err(|error| tracing::warn!(%error, queue = %self.name, attempts = policy.max_attempts, "an outage of one key may go unnoticed")).ok()
    }

    /// Stores a failure of the destination. Returns whether it was down before.
    async fn note_failure(&self, got: &Delivery, error: &str, fault: Fault, round_began: Option<Time>) -> bool {
        let unreached = fault == Fault::Unreached;
        let failure =
            Failure { of: failure_lane(got), handed_at: got.now, error: error.to_owned(), unreached, round_began };
        let noted = self.queue.destination_failed(&failure, self.target.endpoint.probe).await;
        match noted {
            Ok((was_down, destination)) => {
                self.update_state(Some(destination));
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

    /// Takes over a destination state if it is newer than the known one.
    fn update_state(&self, destination: Option<Destination>) {
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
        self.shared.figures.set_down(&self.name, new.is_down());
        self.allow_hands();
    }

    fn allow_hands(&self) {
        let ticket = *self.ticket.lock().unwrap_or_else(PoisonError::into_inner);
        let probes = ticket.is_some_and(|until| self.shared.turno.now() < until);
        let hands = match (self.is_down(), probes) {
            (false, _) => WorkerLimit::UpTo(self.target.endpoint.concurrency),
            (true, true) => WorkerLimit::Probe,
            (true, false) => WorkerLimit::UpTo(0),
        };
        self.hands.send_if_modified(|now| std::mem::replace(now, hands) != hands);
    }
}

/// Returns the lane that a failure counts against: the key's, or the item's if it has no key.
fn failure_lane(got: &Delivery) -> Lane {
    match (&got.key, got.items.first()) {
        (Some(key), _) => Lane::from_key(key),
        (None, Some(item)) => Key::new(item.id.as_str()).map_or(Lane(got.reference.seq.0), |id| Lane::from_key(&id)),
        (None, None) => Lane(got.reference.seq.0),
    }
}

/// How long before a delivery's expiry its call must end, so that it cannot overlap with the next delivery's call.
fn margin(policy: &Policy) -> Span {
    Span((policy.lock_timeout.0 / 10).clamp(10, 1_000))
}

/// Returns how long a call may take: its timeout, but not beyond the time to which heartbeats can extend the delivery,
/// minus a margin for settling the failure.
fn call_time_limit(timeout: Duration, got: &Delivery, policy: &Policy, renewal: Renewal, now: Time) -> Duration {
    let over_at = match renewal {
        Renewal::Yes => policy.max_hold.map(|hold| got.now + hold),
        Renewal::No => Some(got.expires_at),
    };
    let Some(over_at) = over_at else { return timeout };
    let left = now.until(over_at).0 - 2 * margin(policy).0;
    timeout.min(Duration::from_millis(left.max(1).unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use turno::core::id::{Fence, QueueId, Seq};
    use turno::core::queue::DeliveryRef;

    #[test]
    fn call_ends_before_the_last_expiry_of_its_delivery() {
        let reference = DeliveryRef { queue: QueueId(1), seq: Seq(2), lane: None, size: 1, fence: Fence(4) };
        let (now, expires_at) = (Time(100_000), Time(115_000));
        let got = Delivery { reference, key: None, attempt: 1, revision: 1, now, expires_at, items: Vec::new() };
        let lane = Policy::for_kind(Kind::Lane);
        let timeout = Duration::from_secs(10);
        let limit = |policy, renewal, now| call_time_limit(timeout, &got, policy, renewal, Time(now));
        assert_eq!(limit(&lane, Renewal::Yes, 100_000), timeout);
        assert_eq!(limit(&lane, Renewal::Yes, 107_000), Duration::from_secs(6), "two seconds before the end");
        assert_eq!(limit(&lane, Renewal::Yes, 120_000), Duration::from_millis(1));
        let sync = Policy::for_kind(Kind::Sync);
        assert_eq!(limit(&sync, Renewal::Yes, 900_000), timeout, "heartbeats extend the delivery");
        assert_eq!(limit(&sync, Renewal::No, 107_000), Duration::from_secs(6), "a probe is not renewed");
    }
}
