//! How an ownership ended, as its former holder sees it.

use super::{Beat, Cause, Ending, Holder, Reason, State};
use crate::id::UserId;
use crate::time::Time;

impl Beat {
    /// Returns whether the heartbeat renewed the lease.
    pub fn renewed(self) -> bool {
        self == Beat::Renewed
    }

    /// Returns why the heartbeat did not renew the lease.
    pub fn reason(self) -> Option<&'static str> {
        match self {
            Beat::Renewed => None,
            Beat::Idle => Some(Cause::Idle.as_str()),
            Beat::RollingTimeout => Some(Cause::RollingTimeout.as_str()),
        }
    }
}

/// How an ownership ended, as its former holder sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost<'a> {
    /// `expired`, `taken`, `released` or `forced`. `taken` means that it expired and another holder has the lease now.
    pub reason: &'static str,
    /// Why it ended. `None` if the ownership never existed, or ended before the oldest stored history.
    pub cause: Option<&'static str>,
    /// The user who forced the end.
    pub by: Option<&'a UserId>,
    /// The override's reason.
    pub note: Option<&'a str>,
}

impl<'a> Lost<'a> {
    /// Describes the end of an ownership of `who`, from its stored ending, if there is one, and the lease at `now`.
    pub fn describe(ending: Option<&'a Ending>, state: &State, who: &Holder, now: Time) -> Lost<'a> {
        let others = state.live(now).is_some_and(|grant| !grant.holder.is(who));
        let reason = match ending.map_or(Reason::Expired, |ending| ending.reason) {
            Reason::Expired if others => "taken",
            reason => reason.as_str(),
        };
        Lost {
            reason,
            cause: ending.map(|ending| ending.cause.as_str()),
            by: ending.and_then(|ending| ending.by.as_ref()),
            note: ending.and_then(|ending| ending.note.as_deref()),
        }
    }
}
