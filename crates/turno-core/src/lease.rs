//! Leases: who may work on a resource, until when, and with which fence.
//!
//! A lease is live while it has a grant whose `expires_at` lies after now; at any other time it is free.
//! Expiry needs nobody to notice it: whoever asks next finds the grant dead, ends it, and goes on. A fence
//! names one ownership for ever; whatever arrives with another one changes nothing.
//!
//! Deliberately not here: permissions (the caller has checked them) and announcing events (that happens
//! after the commit).

mod decide;
#[cfg(test)]
mod leaving;
mod line;
mod lost;
#[cfg(test)]
mod overrides;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use decide::decide;
pub use lost::Lost;

use crate::audit::Draft;
use crate::event::Event;
use crate::id::{Fence, Instance, Resource, UserId};
use crate::limits::{SPAN_MAX, SPAN_MIN};
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
    /// Checks every time against its bounds; the first that is outside is named, as people know it.
    pub fn check(&self) -> Result<(), BadPolicy> {
        let times = [
            ("ttl_ms", Some(self.ttl)),
            ("max_ttl_ms", Some(self.max_ttl)),
            ("idle_guard_ms", self.idle_guard),
            ("rolling_timeout_ms", self.rolling_timeout),
            ("heartbeat_interval_ms", Some(self.heartbeat_interval)),
            ("offer_ms", Some(self.offer)),
        ];
        let (min, max) = (SPAN_MIN.0, SPAN_MAX.0);
        let bad = times.into_iter().find(|(_, time)| time.is_some_and(|time| !(min..=max).contains(&time.0)));
        bad.map_or(Ok(()), |(field, _)| Err(BadPolicy { field, min, max }))
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
    /// Somebody's transaction is finishing under the ownership and must not see it taken. Found when it was
    /// locked, never stored.
    pub pinned: bool,
}

impl State {
    /// A resource that nobody has ever seen.
    pub fn unseen(resource: Resource) -> State {
        let (line, requests) = (Vec::new(), Vec::new());
        State { resource, grant: None, ended: None, line, offer: None, requests, leaving: false, pinned: false }
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

    /// How the ownership ended that has run out by `now`. The row has it until the next decision, which writes this down;
    /// whoever only looks need not wait for that.
    pub fn ran_out(&self, policy: &Policy, now: Time) -> Option<Ending> {
        let grant = self.grant.as_ref().filter(|grant| grant.expires_at <= now)?;
        let (reason, cause) = match policy.rolling_timeout {
            _ if self.leaving => (Reason::Released, Cause::Released),
            _ if grant.idle => (Reason::Expired, Cause::Idle),
            Some(rolling) if grant.worked_at + rolling <= grant.expires_at => (Reason::Expired, Cause::RollingTimeout),
            _ => (Reason::Expired, Cause::NoHeartbeat),
        };
        Some(Ending { grant: grant.clone(), at: grant.expires_at, reason, cause, by: None, note: None })
    }

    /// The ownership that is live at `now`, if there is one.
    pub fn live(&self, now: Time) -> Option<&Grant> {
        self.grant.as_ref().filter(|grant| now < grant.expires_at)
    }
}

/// What somebody wants of a resource. Its policy comes with it, since the engine knows it and the row does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Which resource.
    pub resource: Resource,
    /// Who wants it.
    pub who: Holder,
    /// The account that speaks for them, if it is not themselves.
    pub via: Option<UserId>,
    /// The times that govern the resource.
    pub policy: Policy,
    /// What they want.
    pub action: Action,
}

/// The verbs of a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Take it, or renew what is already one's own.
    Claim {
        /// Another ttl than the policy's, up to its maximum.
        ttl: Option<Span>,
        /// If it cannot be had, stand in line.
        wait: bool,
    },
    /// Keep it.
    Heartbeat {
        /// Which ownership.
        fence: Fence,
        /// For how long the person has done nothing.
        idle: Option<Span>,
        /// There was real work since the last beat.
        worked: bool,
    },
    /// Give it back.
    Release {
        /// Which ownership.
        fence: Fence,
        /// As of which claim call; an older one frees nothing.
        claim: Option<i64>,
    },
    /// Give it back a moment from now, unless the holder comes back before: what a page says that is being left and
    /// does not know whether it is reloaded.
    Leave {
        /// Which ownership.
        fence: Fence,
        /// As of which claim call; an older one ends nothing.
        claim: Option<i64>,
        /// For how long it is kept. Nothing: end it now if it is still being left.
        grace: Span,
    },
    /// Take it whoever holds it.
    ForceClaim {
        /// Why.
        reason: String,
    },
    /// Free it whoever holds it.
    ForceRelease {
        /// Why.
        reason: String,
    },
    /// Free what somebody holds who was locked out, and their places in the line.
    Expel {
        /// Who was.
        user: UserId,
    },
    /// Ask the holder to let go.
    RequestRelease {
        /// What to tell them.
        message: Option<String>,
    },
    /// The holder answers those who asked: not now.
    Decline {
        /// Which ownership.
        fence: Fence,
        /// What to tell them.
        message: Option<String>,
    },
    /// Take a place in the waiting line, or keep it.
    JoinLine,
    /// Leave the waiting line.
    LeaveLine,
}

/// What was decided, for the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The caller holds it. `renewed` if they already did.
    Claimed {
        /// It was a renewal of the caller's own live lease.
        renewed: bool,
    },
    /// The lease is still the caller's; whether it was renewed, and if not, why.
    Beat(Beat),
    /// The lease was given back. `false` if a newer claim of the same holder keeps it, or it is kept for a moment.
    Released {
        /// Whether it became free.
        released: bool,
        /// The same release had already happened.
        repeated: bool,
    },
    /// The override was carried out; `false` if there was nothing to end.
    ForceReleased {
        /// Whether somebody lost it.
        changed: bool,
    },
    /// The holder will be told, or whoever asked them will; `false` if there is nobody to tell.
    Asked {
        /// Whether there is.
        told: bool,
    },
    /// The caller's place in the line, from 1; 1 and `offered` means: claim it now.
    InLine {
        /// Place, from 1.
        position: usize,
        /// Whether it is offered to the caller.
        offered: bool,
        /// How long the ticket lives without being repeated.
        ticket: Span,
    },
    /// The caller is not in the line any more.
    LeftLine,
}

/// The answer to a heartbeat of a live lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beat {
    /// It lives on (`expires_at` may be unchanged if the last beat was a moment ago).
    Renewed,
    /// Not extended: the person is idle.
    Idle,
    /// Not extended: too long without work.
    RollingTimeout,
}

/// Why not. A refusal is an answer: nothing of what was asked has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Somebody else's live lease.
    HeldBy {
        /// The live ownership.
        grant: Grant,
        /// The caller's place in line, if they asked to wait.
        position: Option<usize>,
    },
    /// Free, but kept for somebody in line.
    OfferedTo {
        /// For whom and until when.
        offer: Offer,
        /// The caller's place in line, if they asked to wait.
        position: Option<usize>,
    },
    /// The caller's ownership is over. How it ended, if the row still knows.
    Lost {
        /// The end of the caller's ownership; `None` if it lies further back in the history.
        ending: Option<Ending>,
    },
    /// Somebody's transaction is finishing under the ownership: it cannot end before that does.
    Pinned,
    /// The waiting line is full.
    LineFull,
    /// The caller holds it already and cannot wait for it.
    AlreadyHolder,
    /// The policy has an idle guard, so a beat must say for how long the person has been idle.
    IdleMissing,
    /// The asked ttl is outside the policy's bounds.
    TtlOutOfBounds {
        /// The longest that may be asked for.
        max: Span,
    },
}

/// The whole of a decision: the answer, and what must be written with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The answer for the caller.
    pub answer: Result<Outcome, Refused>,
    /// The state differs from the one that was read and must be written.
    pub changed: bool,
    /// An ownership that ended here, for the history.
    pub ended: Vec<Ending>,
    /// What to announce after the commit.
    pub events: Vec<Event>,
    /// Overrides, for the audit.
    pub audit: Vec<Draft>,
}
