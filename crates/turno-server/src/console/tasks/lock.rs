//! The lock of a task as the page shows it: holder, times, and the waiting line.

use turno::core::id::Fence;
use turno::core::lease::State;
use turno::core::time::Time;

use crate::http::Stamp;

/// The state of a lease at one moment, for one reader.
pub(super) struct Lock {
    /// `free`, `locked` or `offered`.
    pub(super) word: &'static str,
    /// The name of the holder, or of the person it is offered to. Empty if there is none.
    pub(super) who: String,
    /// When the holder got the lease.
    pub(super) since: Option<Time>,
    /// The fence, which binds an override to this ownership.
    pub(super) fence: Option<Fence>,
    /// The expiry of the lease.
    pub(super) expires: Option<Time>,
    /// Whether the reader is the holder, or the person it is offered to.
    pub(super) mine: bool,
    /// The number of live tickets.
    pub(super) waiting: usize,
    /// The end of the offer.
    pub(super) until: Option<Time>,
    /// The reader's position in the waiting line, from 1.
    pub(super) place: Option<usize>,
}

impl Lock {
    /// Returns when this state ends by itself.
    pub(super) fn ends(&self) -> Option<Stamp> {
        self.expires.or(self.until).map(Stamp)
    }

    /// Returns the lock as the person `me` sees it.
    pub(super) fn from_state(state: &State, now: Time, me: &str) -> Lock {
        let line = || state.line.iter().filter(|ticket| now < ticket.expires_at);
        let place = line().position(|ticket| ticket.who.user.as_str() == me).map(|index| index + 1);
        let offer = state.offer.as_ref().filter(|offer| now < offer.until);
        let (word, holder, since) = match (state.live(now), offer) {
            (Some(grant), _) => ("locked", Some(&grant.holder), Some(grant.locked_at)),
            (None, Some(offer)) => ("offered", Some(&offer.to), None),
            (None, None) => ("free", None, None),
        };
        let mine = !state.kept && holder.is_some_and(|holder| holder.user.as_str() == me);
        let who = holder.map(|holder| holder.name.clone()).unwrap_or_default();
        let fence = state.live(now).map(|grant| grant.fence);
        let expires = state.live(now).map(|grant| grant.expires_at);
        let until = offer.filter(|_| word == "offered").map(|offer| offer.until);
        Lock { word, who, since, fence, expires, mine, waiting: line().count(), until, place }
    }
}
