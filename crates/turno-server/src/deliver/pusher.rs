//! The pusher of one queue: the library's pusher, whose sender calls the queue's endpoint over HTTP.
//!
//! The library decides what to send, when, and what the end of a call means. This file makes the call.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use turno::core::destination::{DeliveryFailure, Destination, Fault};
use turno::core::id::{Key, Lane, QueueName, Seq};
use turno::core::queue::{Act, Kind, Policy};
use turno::core::time::{Span, Time};
use turno::{Delivery, Error, QueueHandle, RunningWorker, Turno, WorkerLimit};

use super::body::{render_change, render_delivery};
use super::call::{Call, EndpointClient};
use super::figures::Figures;
use super::signature::Secret;
use crate::config::endpoint::Endpoint;

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
    pub(crate) grace: Duration,
}

/// A running pusher and its destination.
pub(super) struct Pusher {
    target: Target,
    running: RunningPusher,
}

/// Calls the endpoint of one queue.
struct EndpointSender {
    name: QueueName,
    target: Target,
    caller: EndpointClient,
    figures: Arc<Figures>,
}

impl Pusher {
    pub(super) async fn start(shared: &Shared, queue: &QueueHandle, target: Target) -> Result<Pusher, Error> {
        let Endpoint { concurrency, timeout, probe, .. } = target.endpoint;
        let sender = EndpointSender {
            name: queue.row().await?.name.clone(),
            target: target.clone(),
            caller: shared.caller.clone(),
            figures: shared.figures.clone(),
        };
        let pusher = queue
            .pusher(sender)
            .instance(&shared.instance)
            .concurrency(concurrency)
            .timeout(timeout)
            .probe(probe.into())
            .grace(shared.grace);
        let pusher = match &target.source {
            Some(source) => pusher.source(source.clone()),
            None => pusher,
        };
        Ok(Pusher { running: pusher.start().await?, target })
    }

    pub(super) fn serves(&self, target: &Target) -> bool {
        self.target.is_like(target)
    }

    /// Takes over the destination state that another process stored.
    pub(super) async fn update(&self, destination: Option<Destination>) {
        self.running.update(destination).await;
    }

    pub(super) async fn stop(self) {
        self.running.stop().await;
    }
}

impl Sender for EndpointSender {
    fn send<'a>(&'a self, parcel: &'a Parcel) -> SendFuture<'a> {
        Box::pin(self.call(parcel))
    }

    fn ended(&self, outcome: PushOutcome, took: Option<Duration>) {
        self.figures.count(&self.name, outcome, took);
    }

    fn is_down(&self, down: bool) {
        self.figures.set_down(&self.name, down);
    }
}

impl EndpointSender {
    async fn call(&self, parcel: &Parcel) -> Result<(), SendFailed> {
        let got = &parcel.delivery;
        let body = match &parcel.change {
            None => render_delivery(&self.name, parcel.kind, got.clone()),
            Some(change) => render_change(change),
        };
        let body = body.map_err(|error| SendFailed {
            fault: Fault::Key,
            ..SendFailed::new(format!("failed to write the body: {error}"))
        })?;
        let call = Call {
            url: &self.target.endpoint.url,
            method: self.target.endpoint.method,
            key: got.key.as_ref().map(Key::as_str),
            guarded: self.target.guarded,
            secret: self.target.secret.as_ref(),
            // The first item's position and revision: equal for every attempt, different after an edit.
            id: format!("msg_{}_{}", got.reference.seq.0, got.revision),
            fence: got.reference.fence.0,
            attempt: got.attempt,
            at: parcel.now,
            body,
            within: parcel.within,
        };
        self.shared.caller.call(call).await.map_err(NotDelivered::Refused)?;
        // If this is lost, a later check of the source finds the difference and sends the key again.
        let noted = self.target.form.note_delivered(got, &body).await;
        noted
            .unwrap_or_else(|error| tracing::warn!(%error, queue = %self.name, "what was delivered is not remembered"));
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

    /// Returns the settlement of a delivery whose row could not be read. The row is read again with growing waits.
    /// Stores the error only if it differs from the last one.
    fn defer(&self, got: &Delivery, error: String, policy: Option<&Policy>) -> Act {
        let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        if unread.len() >= UNREAD_MAX {
            unread.clear();
        }
        let (times, last) = unread.entry(got.reference.seq).or_default();
        *times = times.saturating_add(1);
        let backoff = policy.map_or(READ_AGAIN, |policy| policy.backoff_after(got.reference.seq, *times));
        let repeated = std::mem::replace(last, error.clone()) == error;
        Act::Defer { error: (!repeated).then_some(error), retry_in: backoff.min(READ_AGAIN) }
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
        let failure = DeliveryFailure {
            of: failure_lane(got),
            handed_at: got.now,
            error: error.to_owned(),
            unreached,
            round_began,
        };
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
