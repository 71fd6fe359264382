//! Leases: the right to work on a resource, held by one holder until it expires.
//!
//! A claim of a free resource is answered with a [`Grant`]: an ownership with a holder, an expiry and a fence. The
//! holder renews it with heartbeats and ends it with a release. While the grant is live (`now < expires_at`), claims by
//! other holders are refused. At any other time the resource is free.
//!
//! - **Fence.** Every grant gets a new, higher number, its fence. Heartbeats and releases carry the fence. If it is not
//!   the fence of the live grant, the command is refused as lost and changes nothing.
//! - **Expiry needs no sweep.** Each command first ends a grant that has expired, and then decides. Reads evaluate the
//!   same rule ([`State::as_of`]).
//! - **Announcing an expiry.** Each lease stores the instant at which the engine looks at it next
//!   ([`State::look_at`]), so that listeners hear of an expiry even if no command arrives.
//! - **Waiting line.** Holders who want a held resource take a ticket. When the resource becomes free, it is offered to
//!   the first ticket for a while ([`Offer`]).
//!
//! The entry point is [`decide()`]. This module does not check permissions (the engine has done that before), and does
//! not announce events (the engine does that after the commit).

mod command;
mod decide;
mod line;
mod look;
mod lost;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use command::{Action, Beat, Command, Decision, Outcome, Refused};
pub use decide::decide;
pub use lost::Lost;

use crate::fault::Vocabulary;
use crate::id::{BadName, Fence, Instance, Resource, UserId};
use crate::limits::{BEAT_MIN, SPAN_MAX, SPAN_MIN};
use crate::named::named;
use crate::queue::BadPolicy;
use crate::time::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::time::Duration;

/// A person, or a machine's account together with one of its instances. Two holders are the same only if both the user
/// and the instance are equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Holder {
    /// The person, or the machine's account.
    pub user: UserId,
    /// The display name.
    pub name: String,
    /// The running process, for machines.
    pub instance: Option<Instance>,
}

/// A person, or a machine's account without its instance. The display name is the id.
impl TryFrom<&str> for Holder {
    type Error = BadName;

    fn try_from(user: &str) -> Result<Holder, BadName> {
        Ok(Holder { user: UserId::new(user)?, name: user.to_owned(), instance: None })
    }
}

impl Holder {
    /// Returns whether both are the same holder. Ignores the display name, which may have changed.
    pub fn is(&self, other: &Holder) -> bool {
        self.user == other.user && self.instance == other.instance
    }

    /// Returns whether this caller may renew or release an ownership of `owner` with the right fence: the same user,
    /// and the same instance if the caller names one. The instance is optional because the fence already identifies
    /// the ownership.
    pub fn speaks_for(&self, owner: &Holder) -> bool {
        self.user == owner.user && (self.instance.is_none() || self.instance == owner.instance)
    }
}

/// The times that govern a lease. The prefix of the resource's name selects the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How long a claim or a heartbeat keeps the lease.
    pub ttl: Span,
    /// The longest ttl that a claim may ask for.
    pub max_ttl: Span,
    /// A heartbeat renews nothing if the person has been idle for this long.
    pub idle_guard: Option<Span>,
    /// No heartbeat moves the expiry further than this after the holder's last work.
    pub rolling_timeout: Option<Span>,
    /// How often clients send heartbeats.
    pub heartbeat_interval: Span,
    /// How long a free lease stays reserved for the first ticket.
    pub offer: Span,
}

impl Policy {
    /// Checks every time against its bounds and returns the first one outside, by its configuration key. The heartbeat
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

impl Policy {
    /// Returns the longest time that a lease lives without a heartbeat.
    pub(crate) fn longest(&self) -> Span {
        self.max_ttl.max(self.ttl)
    }

    /// Sets how long a claim or a heartbeat keeps the lease. It is also the longest ttl that a claim may ask for.
    pub fn ttl(self, time: Duration) -> Policy {
        Policy { ttl: time.into(), max_ttl: time.into(), ..self }
    }

    /// Sets the longest ttl that a claim may ask for.
    pub fn max_ttl(self, time: Duration) -> Policy {
        Policy { max_ttl: time.into(), ..self }
    }

    /// Sets the idle time after which a heartbeat renews nothing.
    pub fn idle_guard(self, time: Duration) -> Policy {
        Policy { idle_guard: Some(time.into()), ..self }
    }

    /// Sets the time after the last work that no heartbeat passes.
    pub fn rolling_timeout(self, time: Duration) -> Policy {
        Policy { rolling_timeout: Some(time.into()), ..self }
    }

    /// Sets how often clients send heartbeats.
    pub fn heartbeat_interval(self, time: Duration) -> Policy {
        Policy { heartbeat_interval: time.into(), ..self }
    }

    /// Sets how long a free lease stays reserved for the first ticket.
    pub fn offer(self, time: Duration) -> Policy {
        Policy { offer: time.into(), ..self }
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
    /// Returns the policy of tasks that people process. The lock lives for three minutes after a heartbeat, is not
    /// renewed once the person has been idle for two, and ends 15 minutes after the last work.
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

/// All lease policies. The prefix is the part of a resource's name before the first `:`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policies {
    /// The policy of resources whose prefix has no policy of its own.
    pub default: Policy,
    /// The policies by prefix. `task` is always among them by default.
    pub by_prefix: HashMap<String, Policy>,
}

impl Default for Policies {
    fn default() -> Policies {
        let by_prefix = [("task".to_owned(), Policy::of_tasks())].into();
        Policies { default: Policy::default(), by_prefix }
    }
}

impl Policies {
    /// Returns the policy that governs a resource.
    pub fn for_resource(&self, resource: &Resource) -> &Policy {
        let prefix = resource.as_str().split_once(':').map(|(prefix, _)| prefix);
        prefix.and_then(|prefix| self.by_prefix.get(prefix)).unwrap_or(&self.default)
    }

    /// Checks every policy and returns the first time outside its bounds.
    pub fn check(&self) -> Result<(), BadPolicy> {
        self.by_prefix.values().chain([&self.default]).try_for_each(Policy::check)
    }
}

/// One ownership of a resource, from the claim that was granted until its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The holder.
    pub holder: Holder,
    /// The number that identifies this ownership. It is never reused.
    pub fence: Fence,
    /// Counts the holder's claim calls. A page that closes releases with its own count, so it cannot free a lease that
    /// its reload has claimed again.
    pub claim: i64,
    /// How long a renewal lasts: the ttl of the last claim.
    pub ttl: Span,
    /// When the ownership began.
    pub locked_at: Time,
    /// When the holder last worked. The rolling timeout counts from here.
    pub worked_at: Time,
    /// When a heartbeat was last stored.
    pub heartbeat_at: Time,
    /// The instant from which the ownership is over.
    pub expires_at: Time,
    /// The last heartbeat reported an idle person. If the lease expires now, the cause is [`Cause::Idle`].
    pub idle: bool,
}

named! {
    /// How an ownership ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Reason {
        /// The ownership reached its expiry.
        Expired = "expired",
        /// The holder released it.
        Released = "released",
        /// An override, or disabling the holder, ended it.
        Forced = "forced",
    } else Vocabulary::Reason
}

named! {
    /// Why an ownership ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Cause {
        /// No heartbeat arrived in time.
        NoHeartbeat = "no_heartbeat",
        /// The person was idle, so heartbeats did not renew it.
        Idle = "idle",
        /// The rolling timeout passed without work.
        RollingTimeout = "rolling_timeout",
        /// A user with the right to do so forced a release or a claim.
        Override = "override",
        /// The holder's account was disabled.
        UserDisabled = "user_disabled",
        /// The holder released it.
        Released = "released",
    } else Vocabulary::Cause
}

/// The end of one ownership. It is stored so that the former holder can be told how the ownership ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// The ownership that ended.
    pub grant: Grant,
    /// When it ended. For an expired ownership this is its expiry, not the time at which a command found it expired.
    pub at: Time,
    /// How it ended.
    pub reason: Reason,
    /// Why it ended.
    pub cause: Cause,
    /// The user who forced the end.
    pub by: Option<UserId>,
    /// The override's reason.
    pub note: Option<String>,
}

impl Ending {
    /// Returns whether the end concerns the user: the former holder, or the user who forced it.
    pub fn concerns(&self, user: &UserId) -> bool {
        self.grant.holder.user == *user || self.by.as_ref() == Some(user)
    }

    /// Returns whether a release by `who` repeats the release that ended this ownership.
    pub fn repeats_release(&self, fence: Fence, who: &Holder) -> bool {
        self.reason == Reason::Released && self.grant.fence == fence && who.speaks_for(&self.grant.holder)
    }
}

/// A place in the waiting line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// The holder of the ticket.
    pub who: Holder,
    /// When the holder joined the line.
    pub since: Time,
    /// The instant from which the ticket is dead, unless its holder renews it before.
    pub expires_at: Time,
}

/// The reservation of a free lease for the first ticket in the line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The holder of the first ticket.
    pub to: Holder,
    /// When the offer lapses.
    pub until: Time,
}

/// A request to the holder to release the lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Who asks for the release.
    pub by: Holder,
    /// The message to the holder.
    pub message: Option<String>,
    /// When the request was made.
    pub at: Time,
    /// The holder's answer, if the holder declined. Omitted from the stored JSON otherwise, so that older programs can
    /// read the row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declined: Option<Declined>,
}

/// The holder's answer to a request: not now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declined {
    /// When the holder declined.
    pub at: Time,
    /// The holder's message.
    pub message: Option<String>,
}

/// The stored state of one resource's lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The resource.
    pub resource: Resource,
    /// The current ownership. It may have expired already.
    pub grant: Option<Grant>,
    /// The end of the previous ownership.
    pub ended: Option<Ending>,
    /// The waiting line, in order.
    pub line: Vec<Ticket>,
    /// The offer to the first ticket, while the resource is free.
    pub offer: Option<Offer>,
    /// Requests to the holder to release the lease.
    pub requests: Vec<Request>,
    /// The holder's page closed and may be reloading. At its expiry the ownership ends as released, unless a heartbeat
    /// or a claim arrives before.
    pub leaving: bool,
    /// The holder released the lease with [`Action::Keep`]. It stays held until its expiry, then ends as released. Its
    /// former holder cannot use it any more: the fence is refused, and a claim is refused as for any other holder.
    pub kept: bool,
    /// When the engine looks at the lease next, to announce its expiry. Never later than [`State::due_at`]. May be
    /// earlier, because heartbeats and releases do not update it, so that they write no index entry.
    pub look_at: Option<Time>,
    /// An open application transaction relies on the ownership, so the ownership must not end now. The store sets this
    /// when it locks the row; it is not stored.
    pub pinned: bool,
}

impl State {
    /// Returns the state of a resource that has no stored row: free, with an empty line.
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
            kept: false,
            look_at: None,
            pinned: false,
        }
    }

    /// Returns every instant at which a part of the state ends: the ownership, the offer, the tickets.
    pub fn ends(&self) -> impl Iterator<Item = Time> {
        let grant = self.grant.iter().map(|grant| grant.expires_at);
        let offer = self.offer.iter().map(|offer| offer.until);
        grant.chain(offer).chain(self.line.iter().map(|ticket| ticket.expires_at))
    }

    /// Returns the latest decision time that the state shows. [`decide()`] never uses an earlier `now`, so that a clock
    /// that steps back cannot revive an expired ownership.
    pub(crate) fn decided_at(&self) -> Time {
        let grant = self.grant.as_ref().map(|grant| grant.heartbeat_at.max(grant.worked_at));
        let ended = self.ended.as_ref().map(|ending| ending.at);
        grant.max(ended).unwrap_or(Time(i64::MIN))
    }

    /// Returns the state without messages and reasons that do not concern the user. A request concerns its author and the
    /// holder, the reason of an override the former holder and the user who made it.
    pub fn as_seen_by(mut self, user: &UserId) -> State {
        let holds = self.grant.as_ref().is_some_and(|grant| grant.holder.user == *user);
        for request in self.requests.iter_mut().filter(|request| !holds && request.by.user != *user) {
            request.message = None;
            request.declined.iter_mut().for_each(|declined| declined.message = None);
        }
        if let Some(ending) = self.ended.as_mut().filter(|ending| !ending.concerns(user)) {
            ending.note = None;
        }
        self
    }

    /// Returns whether the user has a ticket or an offer.
    pub fn waits(&self, user: &UserId) -> bool {
        let offered = self.offer.as_ref().is_some_and(|offer| offer.to.user == *user);
        offered || self.line.iter().any(|ticket| ticket.who.user == *user)
    }

    /// Removes all tickets and the offer, because the task is over. Returns whether there were any.
    pub(crate) fn dismiss(&mut self) -> bool {
        let waited = !self.line.is_empty() || self.offer.is_some();
        self.line.clear();
        self.offer = None;
        waited
    }

    /// Returns whether `who` holds the lease and has not released it.
    pub fn held_by(&self, who: &Holder) -> bool {
        !self.kept && self.grant.as_ref().is_some_and(|grant| grant.holder.is(who))
    }

    /// Returns whether `who` may use the ownership with this fence: renew it, work under it, release it.
    pub(crate) fn owned(&self, fence: Fence, who: &Holder) -> bool {
        !self.kept && self.names(fence, who)
    }

    /// Returns whether the ownership has this fence and belongs to `who`, released with [`Action::Keep`] or not.
    fn names(&self, fence: Fence, who: &Holder) -> bool {
        self.grant.as_ref().is_some_and(|grant| grant.fence == fence && who.speaks_for(&grant.holder))
    }

    /// Returns how the ownership with this fence ended, as far as the row tells.
    pub(crate) fn ending_of(&self, fence: Fence) -> Option<Ending> {
        let kept = self.grant.as_ref().filter(|grant| self.kept && grant.fence == fence);
        let released = kept.map(|grant| Ending {
            grant: grant.clone(),
            at: grant.heartbeat_at,
            reason: Reason::Released,
            cause: Cause::Released,
            by: None,
            note: None,
        });
        released.or_else(|| self.ended.clone().filter(|ending| ending.grant.fence == fence))
    }

    /// Returns the ownership that is live at `now`.
    pub fn live(&self, now: Time) -> Option<&Grant> {
        self.grant.as_ref().filter(|grant| now < grant.expires_at)
    }
}
