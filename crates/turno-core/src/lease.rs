//! Leases: who may work on a resource, until when, and with which fence.
//!
//! A lease is live while it has a grant whose `expires_at` lies after now; at any other time it is free.
//! A lease expires without a sweep: the next command finds the grant dead, ends it, and goes on. So that listeners
//! hear of it, each lease carries the instant at which it is looked at next (`look`). A fence names one ownership
//! for ever; a command with another fence changes nothing.
//!
//! Deliberately not here: permissions (the caller has checked them) and announcing events (that happens
//! after the commit).

mod command;
mod decide;
#[cfg(test)]
mod leaving;
mod line;
mod look;
mod lost;
#[cfg(test)]
mod overrides;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use command::{Action, Beat, Command, Decision, Outcome, Refused};
pub use decide::decide;
pub use lost::Lost;

use crate::id::{Fence, Instance, Resource, UserId};
use crate::limits::{BEAT_MIN, SPAN_MAX, SPAN_MIN};
use crate::queue::BadPolicy;
use crate::time::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Who holds, waits or asks. Two are the same only if user and instance are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Holder {
    /// The person, or the machine's account.
    pub user: UserId,
    /// How people call them.
    pub name: String,
    /// Which process, for machines.
    pub instance: Option<Instance>,
}

impl Holder {
    /// The same actor, whatever display name they carried at the time.
    pub fn is(&self, other: &Holder) -> bool {
        self.user == other.user && self.instance == other.instance
    }

    /// Whether they may say something about an ownership of `owner` whose fence they know: the same user, and the same
    /// instance if they name one. The fence names the ownership already, so they need not.
    pub fn speaks_for(&self, owner: &Holder) -> bool {
        self.user == owner.user && (self.instance.is_none() || self.instance == owner.instance)
    }
}

/// The times that govern a resource, chosen by its prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How long a claim or a heartbeat keeps the lease.
    pub ttl: Span,
    /// The longest ttl that a claim may ask for.
    pub max_ttl: Span,
    /// No renewal once the person has done nothing for this long.
    pub idle_guard: Option<Span>,
    /// No renewal past this long after the holder's last work.
    pub rolling_timeout: Option<Span>,
    /// How often a holder is asked to beat.
    pub heartbeat_interval: Span,
    /// How long a freed lease is kept for the next in line.
    pub offer: Span,
}

impl Policy {
    /// Checks every time against its bounds; the first that is outside is named, as people know it. The heartbeat
    /// interval must be below the ttl, because otherwise every lease expires between two heartbeats.
    pub fn check(&self) -> Result<(), BadPolicy> {
        let times = [
            ("ttl_ms", Some(self.ttl)),
            ("max_ttl_ms", Some(self.max_ttl)),
            ("idle_guard_ms", self.idle_guard),
            ("rolling_timeout_ms", self.rolling_timeout),
            ("offer_ms", Some(self.offer)),
        ];
        let (min, max) = (SPAN_MIN.0, SPAN_MAX.0);
        let bad = times.into_iter().find(|(_, time)| time.is_some_and(|time| !(min..=max).contains(&time.0)));
        if let Some((field, _)) = bad {
            return Err(BadPolicy { field, min, max });
        }
        let (min, max) = (BEAT_MIN.0, self.ttl.0 - 1);
        if (min..=max).contains(&self.heartbeat_interval.0) {
            return Ok(());
        }
        Err(BadPolicy { field: "heartbeat_interval_ms", min, max })
    }
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            ttl: Span::from_secs(30),
            max_ttl: Span::from_secs(3_600),
            idle_guard: None,
            rolling_timeout: None,
            heartbeat_interval: Span::from_secs(10),
            offer: Span::from_secs(30),
        }
    }
}

impl Policy {
    /// What people who process tasks are given: a lock that lives three minutes between beats, is not renewed for
    /// who has done nothing for two, and ends a quarter of an hour after the last real work.
    pub fn of_tasks() -> Policy {
        Policy {
            ttl: Span::from_secs(180),
            max_ttl: Span::from_secs(180),
            idle_guard: Some(Span::from_secs(120)),
            rolling_timeout: Some(Span::from_secs(900)),
            ..Policy::default()
        }
    }
}

/// The policies in force, by the part of a resource's name before the first `:`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policies {
    /// For every prefix that has none of its own.
    pub default: Policy,
    /// By prefix, `task` among them.
    pub by_prefix: HashMap<String, Policy>,
}

impl Default for Policies {
    fn default() -> Policies {
        let by_prefix = [("task".to_owned(), Policy::of_tasks())].into();
        Policies { default: Policy::default(), by_prefix }
    }
}

impl Policies {
    /// The policy that governs a resource.
    pub fn of(&self, resource: &Resource) -> &Policy {
        let prefix = resource.as_str().split_once(':').map(|(prefix, _)| prefix);
        prefix.and_then(|prefix| self.by_prefix.get(prefix)).unwrap_or(&self.default)
    }

    /// Checks all of them; the first that is outside its bounds is named.
    pub fn check(&self) -> Result<(), BadPolicy> {
        self.by_prefix.values().chain([&self.default]).try_for_each(Policy::check)
    }
}

/// One ownership, from its claim until it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Who owns it.
    pub holder: Holder,
    /// Names this ownership; never used again.
    pub fence: Fence,
    /// Counts the holder's claim calls, so that a page being left cannot free what its reload re-claimed.
    pub claim: i64,
    /// What a renewal extends by: the ttl of the claim.
    pub ttl: Span,
    /// Since when.
    pub locked_at: Time,
    /// The last real work; the rolling timeout counts from here.
    pub worked_at: Time,
    /// The last beat that was written down.
    pub heartbeat_at: Time,
    /// Dead from this instant on.
    pub expires_at: Time,
    /// The last beat came from an idle person: if it expires now, that is why.
    pub idle: bool,
}

/// How an ownership ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Its time ran out.
    Expired,
    /// The holder gave it back.
    Released,
    /// An override ended it.
    Forced,
}

/// What led to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// No beat arrived in time.
    NoHeartbeat,
    /// The person was idle, so beats did not renew it.
    Idle,
    /// The rolling timeout was reached without work.
    RollingTimeout,
    /// Somebody with the right to do so.
    Override,
    /// The holder was locked out.
    UserDisabled,
    /// The holder.
    Released,
}

/// The end of one ownership: what is remembered, so that the late one can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// The ownership that ended.
    pub grant: Grant,
    /// When it ended; for an expired one, when it expired, not when that was noticed.
    pub at: Time,
    /// How.
    pub reason: Reason,
    /// Why.
    pub cause: Cause,
    /// Who did it, for an override.
    pub by: Option<UserId>,
    /// The override's reason.
    pub note: Option<String>,
}

/// A place in the waiting line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// Whose.
    pub who: Holder,
    /// Since when they wait.
    pub since: Time,
    /// The ticket is dead from here on unless repeated.
    pub expires_at: Time,
}

/// A freed lease, kept for the first in line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// For whom.
    pub to: Holder,
    /// Until when.
    pub until: Time,
}

/// Somebody asked the holder to let go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Who asks.
    pub by: Holder,
    /// What they said.
    pub message: Option<String>,
    /// When.
    pub at: Time,
    /// The holder has answered that they go on. Left out where it is not so, for programs that do not know of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declined: Option<Declined>,
}

/// The holder's answer to a request: not now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declined {
    /// When.
    pub at: Time,
    /// What they said.
    pub message: Option<String>,
}

/// Everything known about one resource. The default is a resource that nobody has ever seen: free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The resource.
    pub resource: Resource,
    /// The current ownership, live or expired.
    pub grant: Option<Grant>,
    /// The ownership before: how it ended.
    pub ended: Option<Ending>,
    /// Who waits, in order.
    pub line: Vec<Ticket>,
    /// To whom it is offered while free.
    pub offer: Option<Offer>,
    /// Who asked the holder to let go.
    pub requests: Vec<Request>,
    /// The holder's page is being left: the ownership ends as released when its time is up, unless they come back.
    pub leaving: bool,
    /// When the lease is looked at next. Never later than [`State::due_at`], but it may be earlier: heartbeats and
    /// releases leave it as it is, so that they touch no index.
    pub look_at: Option<Time>,
    /// Somebody's transaction is finishing under the ownership and must not see it taken. Found when it was
    /// locked, never stored.
    pub pinned: bool,
}

impl State {
    /// A resource that nobody has ever seen.
    pub fn unseen(resource: Resource) -> State {
        let (line, requests) = (Vec::new(), Vec::new());
        State {
            resource,
            grant: None,
            ended: None,
            line,
            offer: None,
            requests,
            leaving: false,
            look_at: None,
            pinned: false,
        }
    }

    /// Returns the moments at which something about it is over: the ownership, the offer, the tickets.
    pub fn ends(&self) -> impl Iterator<Item = Time> {
        let grant = self.grant.iter().map(|grant| grant.expires_at);
        let offer = self.offer.iter().map(|offer| offer.until);
        grant.chain(offer).chain(self.line.iter().map(|ticket| ticket.expires_at))
    }

    /// When it was last decided on, as far as the row tells: no decision takes place before another.
    pub(crate) fn decided_at(&self) -> Time {
        let grant = self.grant.as_ref().map(|grant| grant.heartbeat_at.max(grant.worked_at));
        let ended = self.ended.as_ref().map(|ending| ending.at);
        grant.max(ended).unwrap_or(Time(i64::MIN))
    }

    /// Whether a user stands in its line, or it is offered to them.
    pub fn waits(&self, user: &UserId) -> bool {
        let offered = self.offer.as_ref().is_some_and(|offer| offer.to.user == *user);
        offered || self.line.iter().any(|ticket| ticket.who.user == *user)
    }

    /// Sends away everybody who waits, as what they wait for is over. Answers whether anybody did.
    pub(crate) fn dismiss(&mut self) -> bool {
        let waited = !self.line.is_empty() || self.offer.is_some();
        self.line.clear();
        self.offer = None;
        waited
    }

    /// The ownership that is live at `now`, if there is one.
    pub fn live(&self, now: Time) -> Option<&Grant> {
        self.grant.as_ref().filter(|grant| now < grant.expires_at)
    }
}
