//! The commands of a lease, their outcomes and refusals.

use super::{Ending, Grant, Holder, Offer, Policy};
use crate::audit::Draft;
use crate::event::Event;
use crate::id::{Fence, Resource, UserId};
use crate::time::Span;

/// A command about one resource. It carries the policy, because the stored row does not contain it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The resource.
    pub resource: Resource,
    /// The caller.
    pub who: Holder,
    /// The account that calls on behalf of `who`, if it is another one.
    pub via: Option<UserId>,
    /// The policy that governs the resource.
    pub policy: Policy,
    /// What to do.
    pub action: Action,
}

/// The verbs of a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Take the lease, or renew it if the caller already holds it.
    Claim {
        /// The wanted ttl, up to the policy's maximum. The default is the policy's ttl.
        ttl: Option<Span>,
        /// If the claim is refused, take a ticket in the waiting line.
        wait: bool,
    },
    /// Renew the lease.
    Heartbeat {
        /// The fence of the caller's ownership.
        fence: Fence,
        /// How long the person has been idle.
        idle: Option<Span>,
        /// The holder has worked since the last heartbeat.
        worked: bool,
    },
    /// Give the lease back.
    Release {
        /// The fence of the caller's ownership.
        fence: Fence,
        /// The claim call that is released. If the holder has claimed again since, nothing is freed.
        claim: Option<i64>,
    },
    /// Give the lease back after a grace period, unless the holder comes back before. A page that closes sends this,
    /// because it cannot know whether it is being reloaded.
    Leave {
        /// The fence of the caller's ownership.
        fence: Fence,
        /// The claim call that is left. If the holder has claimed again since, nothing changes.
        claim: Option<i64>,
        /// How long the lease is kept. Zero releases it now, if it is still in its grace period.
        grace: Span,
    },
    /// Give the lease back, but keep it from every holder for a while: a job that may run once per period uses this.
    /// Nothing ends that time earlier except an override or disabling the holder.
    Keep {
        /// The fence of the caller's ownership.
        fence: Fence,
        /// The claim call that is released. If the holder has claimed again since, nothing changes.
        claim: Option<i64>,
        /// How long the lease stays held, up to the policy's `max_ttl`. Zero releases it now.
        keep: Span,
    },
    /// Take the lease from its holder (an override).
    ForceClaim {
        /// The reason, for the audit and the former holder.
        reason: String,
        /// The ownership that the caller wants to end. If another ownership is live by now, the override is refused.
        fence: Option<Fence>,
    },
    /// End the lease of its holder (an override).
    ForceRelease {
        /// The reason, for the audit and the former holder.
        reason: String,
        /// The ownership that the caller wants to end, as in [`Action::ForceClaim`].
        fence: Option<Fence>,
    },
    /// End the lease and the tickets of a user who was disabled.
    Expel {
        /// The disabled user.
        user: UserId,
    },
    /// Ask the holder to release the lease.
    RequestRelease {
        /// The message to the holder.
        message: Option<String>,
    },
    /// Decline the open requests to release the lease, as its holder.
    Decline {
        /// The fence of the caller's ownership.
        fence: Fence,
        /// The message to those who asked.
        message: Option<String>,
    },
    /// Take a ticket in the waiting line, or renew it.
    JoinLine,
    /// Renew the caller's ticket if it is alive. Never takes a new ticket: otherwise a page that repeats this would
    /// bring a person back who left the line on another page.
    RenewTicket,
    /// Leave the waiting line.
    LeaveLine,
    /// Apply the effects of time: end an expired ownership, pass on a lapsed offer, and set the next look. Only the
    /// engine sends this, when [`State::look_at`](super::State::look_at) is due.
    Look,
}

impl Action {
    /// Returns whether the holder gives the lease back: now, after a grace period, or after a time of keeping it.
    pub fn releases(&self) -> bool {
        matches!(self, Action::Release { .. } | Action::Leave { .. } | Action::Keep { .. })
    }
}

/// The successful result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The caller holds the lease.
    Claimed {
        /// The claim renewed the caller's own live lease, so the fence is unchanged.
        renewed: bool,
    },
    /// The caller still holds the lease. [`Beat`] says whether the heartbeat renewed it.
    Beat(Beat),
    /// The release was accepted.
    Released {
        /// The caller's ownership is over. `false` if a newer claim of the same holder keeps the lease, or during a grace
        /// period. After [`Action::Keep`] the lease stays held nevertheless.
        released: bool,
        /// The same release had already happened.
        repeated: bool,
    },
    /// The forced release was accepted.
    ForceReleased {
        /// An ownership ended. `false` if there was none.
        changed: bool,
    },
    /// The request or the holder's answer was accepted.
    ReleaseRequested {
        /// It was passed on. `false` if there is no holder to ask, or no open request to decline.
        delivered: bool,
    },
    /// The caller has a ticket. If the lease is offered to the caller, the caller should claim it now.
    InLine {
        /// The place in the line, from 1.
        position: usize,
        /// The lease is offered to the caller.
        offered: bool,
        /// How long the ticket lives unless it is renewed.
        ticket: Span,
    },
    /// The caller has no ticket.
    LeftLine,
    /// The effects of time were applied.
    Looked {
        /// An ownership ended, or the lease was offered to a waiting holder.
        news: bool,
    },
}

/// The answer to a heartbeat of a live lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beat {
    /// The lease is renewed. `expires_at` may be unchanged if the last heartbeat was stored a moment ago.
    Renewed,
    /// The expiry is unchanged, because the person is idle.
    Idle,
    /// The expiry is unchanged, because it has reached the rolling timeout.
    RollingTimeout,
}

/// The reason why a command was refused. The command had no effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Another holder has a live lease.
    #[error("held by {}", .grant.holder.name)]
    HeldBy {
        /// The live ownership.
        grant: Grant,
        /// The caller's place in the line, if the claim asked to wait.
        position: Option<usize>,
    },
    /// The lease is free, but offered to a waiting holder.
    #[error("offered to {}", .offer.to.name)]
    OfferedTo {
        /// The offer.
        offer: Offer,
        /// The caller's place in the line, if the claim asked to wait.
        position: Option<usize>,
    },
    /// The ownership with the caller's fence is over, or never was the caller's.
    #[error("the lease was lost")]
    Lost {
        /// How the ownership ended. `None` if the row no longer holds that ending; the history may.
        ending: Option<Ending>,
    },
    /// An open application transaction relies on the ownership, which cannot end before that transaction does.
    #[error("an open transaction relies on the lease")]
    Pinned,
    /// The waiting line is full.
    #[error("the waiting line is full")]
    LineFull,
    /// The caller already holds the lease, so the caller cannot wait for it.
    #[error("the caller already holds the lease")]
    AlreadyHolder,
    /// The policy has an idle guard, so a heartbeat must say for how long the person has been idle.
    #[error("the heartbeat must say for how long the person has been idle")]
    IdleMissing,
    /// The requested ttl is outside the policy's bounds.
    #[error("the ttl must lie between {} and {} ms", crate::limits::SPAN_MIN.0, .max.0)]
    TtlOutOfBounds {
        /// The longest ttl that a claim may ask for.
        max: Span,
    },
    /// The requested time of [`Action::Keep`] is above the policy's `max_ttl`.
    #[error("the lease can be kept for at most {} ms", .max.0)]
    KeepOutOfBounds {
        /// The longest time.
        max: Span,
    },
}

impl Refused {
    /// Returns the stable code of the refusal, the same as in the HTTP API.
    pub fn code(&self) -> &'static str {
        match self {
            Refused::HeldBy { .. } => "lease_held",
            Refused::OfferedTo { .. } => "lease_offered",
            Refused::Lost { .. } => "lease_lost",
            Refused::Pinned => "lease_pinned",
            Refused::LineFull => "line_full",
            Refused::AlreadyHolder => "already_holder",
            Refused::IdleMissing => "idle_required",
            Refused::TtlOutOfBounds { .. } | Refused::KeepOutOfBounds { .. } => "ttl_out_of_bounds",
        }
    }
}

/// The complete decision: the answer, and what the store must write with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The answer for the caller.
    pub answer: Result<Outcome, Refused>,
    /// The state has changed and must be written.
    pub changed: bool,
    /// Ownerships that ended, for the history.
    pub ended: Vec<Ending>,
    /// Events to announce after the commit.
    pub events: Vec<Event>,
    /// Audit entries of overrides.
    pub audit: Vec<Draft>,
}
