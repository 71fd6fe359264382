//! A task's lock in a few words: who has it, since when, and who waits.

use turno::core::id::Fence;
use turno::core::lease::State;
use turno::core::time::Time;

use crate::http::Stamp;

/// How a lock stands at one moment, for whoever looks.
pub(super) struct Lock {
    /// `free`, `locked` or `offered`.
    pub(super) word: &'static str,
    /// Who has it, or to whom it is offered; nobody's name is empty.
    pub(super) who: String,
    /// Since when somebody has it.
    pub(super) since: Option<Time>,
    /// The ownership, by which an override names whom it means.
    pub(super) fence: Option<Fence>,
    /// When it ends unless it is renewed.
    pub(super) expires: Option<Time>,
    /// Whoever looks is the one.
    pub(super) mine: bool,
    /// How many stand in line.
    pub(super) waiting: usize,
    /// Until when it is kept for whom it is offered to.
    pub(super) until: Option<Time>,
    /// The place in line of whoever looks, from 1.
    pub(super) place: Option<usize>,
}

impl Lock {
    /// When what is shown ceases to be true by itself.
    pub(super) fn ends(&self) -> Option<Stamp> {
        self.expires.or(self.until).map(Stamp)
    }

    /// The lock as the person `me` sees it.
    pub(super) fn of(state: &State, now: Time, me: &str) -> Lock {
        let line = || state.line.iter().filter(|ticket| now < ticket.expires_at);
        let place = line().position(|ticket| ticket.who.user.as_str() == me).map(|index| index + 1);
        let offer = state.offer.as_ref().filter(|offer| now < offer.until);
        let (word, holder, since) = match (state.live(now), offer) {
            (Some(grant), _) => ("locked", Some(&grant.holder), Some(grant.locked_at)),
            (None, Some(offer)) => ("offered", Some(&offer.to), None),
            (None, None) => ("free", None, None),
        };
        let mine = holder.is_some_and(|holder| holder.user.as_str() == me);
        let who = holder.map(|holder| holder.name.clone()).unwrap_or_default();
        let fence = state.live(now).map(|grant| grant.fence);
        let expires = state.live(now).map(|grant| grant.expires_at);
        let until = offer.filter(|_| word == "offered").map(|offer| offer.until);
        Lock { word, who, since, fence, expires, mine, waiting: line().count(), until, place }
    }
}
