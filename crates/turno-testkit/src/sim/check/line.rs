//! The checker's own model of a waiting line.

use turno_core::lease::Holder;
use turno_core::time::{Span, Time};

/// The lifetime of a ticket, by the contract.
const TICKET: Span = Span(30_000);

#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    tickets: Vec<(Holder, Time)>,
    /// The holder to whom the free lease is offered, and the end of the offer.
    pub(super) offer: Option<(Holder, Time)>,
}

impl Line {
    pub(super) fn forget_dead(&mut self, now: Time) {
        self.tickets.retain(|(_, until)| now < *until);
    }

    /// Removes the offer and the ticket of a holder whose offer has lapsed or whose ticket is gone.
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

    /// Returns the index of the ticket of `who`, from 0.
    pub(super) fn index_of(&self, who: &Holder) -> Option<usize> {
        self.tickets.iter().position(|(known, _)| known.is(who))
    }

    /// Adds or keeps a ticket. Returns its position, from 1.
    pub(super) fn stand(&mut self, who: &Holder, now: Time) -> usize {
        let index = self.index_of(who).unwrap_or_else(|| {
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

    /// Empties the line, because its task is over.
    pub(super) fn close(&mut self) {
        *self = Line::default();
    }

    /// Returns the holder whose turn it is.
    pub(super) fn first(&self) -> Option<&Holder> {
        match &self.offer {
            Some((to, _)) => Some(to),
            None => self.tickets.first().map(|(who, _)| who),
        }
    }
}
