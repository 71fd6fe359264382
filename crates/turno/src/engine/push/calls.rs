//! The calls of a pusher: what is sent, and what the end of a call means.
//!
//! A failed probe is returned, so it costs no attempt. A delivery whose row cannot be read is deferred with the error
//! and does not count against the destination, because no call was made.

use super::{Inner, Parcel, PushOutcome, SendFailed, margin};
use crate::clock::Stopwatch;
use crate::engine::queue::Delivery;
use crate::engine::sync::Prepared;
use crate::error::Error;
use std::sync::Arc;
use std::time::Duration;
use turno_core::destination::Fault;
use turno_core::queue::{Act, Kind, Policy};
use turno_core::sync::UNREADABLE_WAIT;
use turno_core::time::{Span, Time};

/// Why a delivery did not reach the destination.
pub(super) enum NotDelivered {
    /// The call failed.
    Refused(SendFailed),
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
pub(super) enum Renewal {
    Yes,
    /// The delivery expires at its first expiry.
    No,
}

/// The result of a delivery that did not fail.
pub(super) enum CallResult {
    /// The destination accepted it.
    Accepted,
    /// No call was made, because there was nothing to send.
    NothingToSend,
}

impl Inner {
    /// Handles one delivery, from the claim to the settlement that the worker makes.
    pub(super) async fn deliver(self: Arc<Self>, got: Delivery) -> Act {
        let Some(probe) = self.admit() else {
            self.settings.sender.ended(PushOutcome::Returned, None);
            return Act::Return { error: None };
        };
        let began = Stopwatch::start();
        let policy = self.settings.queue.row().await.map(|row| row.policy.clone());
        let answer = match policy {
            Ok(policy) => self.call(&got, &policy, Renewal::Yes).await.map_err(|failure| (failure, Some(policy))),
            Err(error) => Err((NotDelivered::unread(&error), None)),
        };
        let (outcome, act) = match answer {
            Ok(CallResult::Accepted) => {
                self.note_success(probe).await;
                (PushOutcome::Delivered, Act::Ack { through: None })
            }
            // No call was made, so nothing is known about the destination.
            Ok(CallResult::NothingToSend) => (PushOutcome::Skipped, Act::Skip),
            Err((NotDelivered::Unread { act, .. }, _)) => (PushOutcome::Returned, act),
            Err((NotDelivered::Refused(refused), policy)) => self.settle_failure(&got, probe, refused, policy).await,
        };
        self.settings.sender.ended(outcome, Some(began.elapsed()));
        act
    }

    /// Sends a delivery, or the change of the source that it stands for.
    pub(super) async fn call(
        &self,
        got: &Delivery,
        policy: &Policy,
        renewal: Renewal,
    ) -> Result<CallResult, NotDelivered> {
        let change = match &self.settings.source {
            None => None,
            Some(sync) => match sync.prepare(got).await.map_err(|error| NotDelivered::unread(&error))? {
                Prepared::Send(change) => Some(change),
                Prepared::Nothing => return Ok(CallResult::NothingToSend),
                Prepared::Wait { error, act } => return Err(NotDelivered::Unread { error, act }),
            },
        };
        let now = self.now();
        let within = call_time_limit(self.settings.timeout, got, policy, renewal, now);
        let parcel = Parcel { delivery: got.clone(), change, kind: policy.kind, now, within };
        self.settings.sender.send(&parcel).await.map_err(NotDelivered::Refused)?;
        if let (Some(sync), Some(change)) = (&self.settings.source, &parcel.change) {
            sync.note_delivered(change).await;
        }
        Ok(CallResult::Accepted)
    }

    /// Returns the settlement after a failed call. While the destination is down, no attempt is spent. A failure that
    /// is the message's own fault always costs an attempt.
    async fn settle_failure(
        &self,
        got: &Delivery,
        probe: bool,
        refused: SendFailed,
        policy: Option<Policy>,
    ) -> (PushOutcome, Act) {
        let spared = match refused.fault {
            Fault::Key => false,
            Fault::Message => {
                self.note_success(probe).await;
                false
            }
            fault => {
                let began = self.round_began(got, policy.as_ref()).await;
                self.note_failure(got, &refused.error, fault, began).await || probe
            }
        };
        if spared {
            return (PushOutcome::Returned, Act::Return { error: Some(refused.error) });
        }
        // The receiver may ask for a longer wait than the policy's back-off, but not for a shorter one.
        let backoff = policy.map_or(Span::ZERO, |policy| policy.backoff_after(got.reference.seq, got.attempt));
        let retry_in = refused.retry_after.map(|wait| Span::from(wait).max(backoff));
        (PushOutcome::Failed, Act::Fail { error: refused.error, item: None, retry_in, give_up: false })
    }

    /// Returns when the first failed attempt of a sync key was handed out, if the key has at most one attempt left. In
    /// other queues a person decides about exhausted items; see `revive`.
    async fn round_began(&self, got: &Delivery, policy: Option<&Policy>) -> Option<Time> {
        let policy = policy.filter(|policy| policy.kind == Kind::Sync && got.attempt + 1 >= policy.max_attempts)?;
        let (queue, attempts) = (&self.name, policy.max_attempts);
        let began = self.settings.queue.round_began(got).await;
        began
            .inspect_err(|error| tracing::warn!(%error, %queue, attempts, "an outage of one key may go unnoticed"))
            .ok()
    }
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
    use turno_core::id::{Fence, QueueId, Seq};
    use turno_core::queue::DeliveryRef;

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
