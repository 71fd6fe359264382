//! What is asked about a lease, and what is answered.

use super::{Ending, Grant, Holder, Offer, Policy};
use crate::audit::Draft;
use crate::event::Event;
use crate::id::{Fence, Resource, UserId};
use crate::time::Span;

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
        /// The ownership it is meant for: another one that is live meanwhile is left alone.
        fence: Option<Fence>,
    },
    /// Free it whoever holds it.
    ForceRelease {
        /// Why.
        reason: String,
        /// The ownership it is meant for, as in [`Action::ForceClaim`].
        fence: Option<Fence>,
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
    /// Renew the caller's place in the waiting line if they still have it. Takes no new place, so a page that repeats
    /// this cannot undo that the same person left the line on another page.
    KeepPlace,
    /// Leave the waiting line.
    LeaveLine,
    /// Carry out what time alone has brought: end an ownership that has run out, pass a lapsed offer on, and set when
    /// to look again. The engine asks for this when [`State::look_at`](super::State::look_at) is due; nobody else does.
    Look,
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
    /// The lease was looked at.
    Looked {
        /// An ownership ended, or the lease was offered to somebody.
        news: bool,
    },
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
