//! The checker's own idea of a waiting line.

use turno_core::lease::Holder;
use turno_core::time::{Span, Time};

/// How long a ticket lives, as the contract says.
const TICKET: Span = Span(30_000);

#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    tickets: Vec<(Holder, Time)>,
    /// To whom the free resource was offered, and until when.
    pub(super) offer: Option<(Holder, Time)>,
}

impl Line {
    pub(super) fn forget_dead(&mut self, now: Time) {
        self.tickets.retain(|(_, until)| now < *until);
    }

    /// Whoever let an offer pass, or does not wait any more, has lost offer and place.
    pub(super) fn drop_passed(&mut self, now: Time) {
        let Some((to, until)) = &self.offer else {
            return;
        };
        let waits = self.tickets.iter().any(|(who, _)| who.is(to));
        if *until <= now || !waits {
            let to = to.clone();
            self.leave(&to);
        }
    }

    /// Where `who` stands, from 0.
    pub(super) fn place(&self, who: &Holder) -> Option<usize> {
        self.tickets.iter().position(|(known, _)| known.is(who))
    }

    /// Takes or keeps a place; answers it, from 1.
    pub(super) fn stand(&mut self, who: &Holder, now: Time) -> usize {
        let index = self.place(who).unwrap_or_else(|| {
            self.tickets.push((who.clone(), now));
            self.tickets.len() - 1
        });
        self.tickets[index].1 = now + TICKET;
        index + 1
    }

    pub(super) fn leave(&mut self, who: &Holder) {
        self.tickets.retain(|(known, _)| !known.is(who));
        if self.offer.as_ref().is_some_and(|(to, _)| to.is(who)) {
            self.offer = None;
        }
    }

    /// What they wait for is over: nobody does any more.
    pub(super) fn close(&mut self) {
        *self = Line::default();
    }

    /// Whose turn it is.
    pub(super) fn first(&self) -> Option<&Holder> {
        match &self.offer {
            Some((to, _)) => Some(to),
            None => self.tickets.first().map(|(who, _)| who),
        }
    }
}
