//! What the rows of a delivery still tell once it is over: whether its claim expired, and how its worker settled it.

use super::{AttemptError, CameBack, Done, Ended, Last, SettleOutcome};
use crate::id::Fence;
use crate::time::Time;

/// The error that is shown for an attempt whose claim expired. Only shown: no rule compares it.
pub(super) const NOT_SETTLED: &str = "not settled in time";

impl AttemptError {
    /// Returns whether the claim expired, as opposed to a worker reporting a failure.
    pub fn is_expiry(&self) -> bool {
        self.expired
    }

    /// Reads the flag of a stored attempt.
    ///
    /// Turno 0.1.0 stored no flag, so its rows (`None`) are told apart by the text that it wrote for an expiry.
    pub fn expired_from(stored: Option<bool>, error: &str) -> bool {
        stored.unwrap_or_else(|| error == NOT_SETTLED)
    }
}

/// What is left in the rows of a delivery that is not live any more, under its fence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Its first item finished under this fence.
    pub ended: Option<Ended>,
    /// The first item came back under this fence without an attempt, also if another worker has had it since.
    pub back: Option<Last>,
    /// An attempt under this fence failed.
    pub failed: Option<FailedAttempt>,
}

/// What is left of a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedAttempt {
    /// The claim expired: its worker did not settle it.
    pub expired: bool,
    /// When it was to be tried again; never, if it was exhausted.
    pub retry_at: Option<Time>,
}

impl Trace {
    /// What the rows of one item tell about its hand-out under `fence`.
    pub fn of(fence: Fence, done: Option<&Done>, errors: &[AttemptError], came_back: &[CameBack]) -> Trace {
        let failed = errors.iter().rev().find(|error| error.fence == fence);
        Trace {
            ended: done.filter(|done| done.fence == fence).map(|done| done.ended),
            back: came_back.iter().find(|back| back.fence == fence).map(|back| back.how),
            failed: failed.map(|error| FailedAttempt { expired: error.expired, retry_at: error.retry_at }),
        }
    }

    /// How the worker with this fence settled it, if it did: what a repeated settlement is answered with.
    ///
    /// Expiry is not a settlement by the worker, whatever it made of the item.
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
