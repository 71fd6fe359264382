//! The trace of a past delivery in the stored rows: whether it expired, and how its worker settled it.
//!
//! A repeated settlement is answered from the trace, so that it gets the same answer as the first one.

use super::{AttemptError, Done, Ended, Last, SettleOutcome, UncountedDelivery, WorkerName};
use crate::id::Fence;
use crate::time::Time;

/// The error text of an attempt whose delivery expired. For display only, except for rows of 0.1.0 (see
/// [`AttemptError::expired_from`]).
pub(super) const NOT_SETTLED: &str = "not settled in time";

impl AttemptError {
    /// Returns whether the delivery expired, as opposed to a worker reporting a failure.
    pub fn is_expiry(&self) -> bool {
        self.expired
    }

    /// Returns whether a stored attempt expired.
    ///
    /// Turno 0.1.0 stored no flag. Its rows (`None`) are recognised by the text that it wrote for an expiry.
    pub fn expired_from(stored: Option<bool>, error: &str) -> bool {
        stored.unwrap_or_else(|| error == NOT_SETTLED)
    }
}

/// What the stored rows contain about a past delivery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// How the item finished, if it finished under this fence.
    pub ended: Option<Ended>,
    /// How the item came back without counting an attempt, even if another worker has had it since.
    pub back: Option<Last>,
    /// The failed attempt under this fence.
    pub failed: Option<FailedAttempt>,
    /// The worker of the delivery.
    pub holder: Option<WorkerName>,
}

/// A failed attempt, as far as a repeated settlement needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedAttempt {
    /// The delivery expired, so its worker did not settle it.
    pub expired: bool,
    /// When the next attempt was planned. `None` if the item was exhausted.
    pub retry_at: Option<Time>,
}

impl Trace {
    /// Collects the trace of the delivery under `fence` from the rows of one of its items.
    pub fn find(fence: Fence, done: Option<&Done>, errors: &[AttemptError], came_back: &[UncountedDelivery]) -> Trace {
        let failed = errors.iter().rev().find(|error| error.fence == fence);
        let done = done.filter(|done| done.fence == fence);
        let back = came_back.iter().find(|back| back.fence == fence);
        let holders = [failed.map(|error| &error.holder), done.map(|done| &done.holder), back.map(|back| &back.holder)];
        Trace {
            ended: done.map(|done| done.ended),
            back: back.map(|back| back.how),
            failed: failed.map(|error| FailedAttempt { expired: error.expired, retry_at: error.retry_at }),
            holder: holders.into_iter().flatten().flatten().next().cloned(),
        }
    }

    /// Returns how the worker settled the delivery, as the answer to a repeated settlement.
    ///
    /// Returns `None` if the delivery expired, because the worker did not settle it.
    pub fn settled(&self) -> Option<SettleOutcome> {
        match self.failed {
            Some(FailedAttempt { expired: true, .. }) => return None,
            Some(FailedAttempt { retry_at: Some(retry_at), .. }) => return Some(SettleOutcome::Retrying { retry_at }),
            Some(FailedAttempt { retry_at: None, .. }) => return Some(SettleOutcome::Exhausted),
            None => {}
        }
        match (self.ended, self.back) {
            (Some(Ended::Processed), _) => Some(SettleOutcome::Acked),
            (_, Some(Last::Returned)) => Some(SettleOutcome::Returned),
            (_, Some(Last::Superseded)) => Some(SettleOutcome::Superseded),
            _ => None,
        }
    }
}
