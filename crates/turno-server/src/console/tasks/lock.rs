//! A task's lock in a few words: who has it, since when, and who waits.

use turno::core::lease::State;
use turno::core::time::Time;

/// How a lock stands at one moment, for whoever looks.
pub(super) struct Lock {
    /// `free`, `locked` or `offered`.
    pub(super) word: &'static str,
    /// Who has it, or to whom it is offered; nobody's name is empty.
    pub(super) who: String,
    /// Since when somebody has it.
    pub(super) since: Option<Time>,
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
        let until = offer.filter(|_| word == "offered").map(|offer| offer.until);
        Lock { word, who, since, mine, waiting: line().count(), until, place }
    }
}
