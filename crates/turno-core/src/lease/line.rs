//! The waiting line of a lease: tickets that must be kept alive, and the offer to the first.

use super::{Declined, Holder, Offer, Request, Ticket};
use crate::id::UserId;
use crate::limits::{LINE_MAX, REQUESTS_MAX, TICKET_TTL};
use crate::time::{Span, Time};

/// Takes a place at the back, or keeps the one `who` has. Answers the place from 1, or nothing if the line is full.
pub(super) fn stand(line: &mut Vec<Ticket>, who: Holder, now: Time) -> Option<usize> {
    line.retain(|ticket| ticket.who.is(&who) || now < ticket.expires_at);
    if let Some(index) = line.iter().position(|ticket| ticket.who.is(&who)) {
        // A ticket that has died is not revived in its old place: others stayed.
        if now < line[index].expires_at {
            line[index].expires_at = now + TICKET_TTL;
            return Some(index + 1);
        }
        line.remove(index);
    }
    if line.len() >= LINE_MAX {
        return None;
    }
    line.push(Ticket { who, since: now, expires_at: now + TICKET_TTL });
    Some(line.len())
}

/// Gives up the place of `who`; answers whether there was one.
pub(super) fn leave(line: &mut Vec<Ticket>, who: &Holder) -> bool {
    let before = line.len();
    line.retain(|ticket| !ticket.who.is(who));
    line.len() != before
}

/// Gives up all places of a user, whatever their instances; answers whether there were any.
pub(super) fn leave_all(line: &mut Vec<Ticket>, user: &UserId) -> bool {
    let before = line.len();
    line.retain(|ticket| ticket.who.user != *user);
    line.len() != before
}

/// Ends an offer that was not taken in time, and makes one to the first living ticket.
///
/// An offer begins when somebody asks, not when the lease became free: those who wait cannot know earlier.
/// Whoever let an offer pass has lost the place, or the line would stand still behind them.
pub(super) fn evaluate(line: &mut Vec<Ticket>, offer: &mut Option<Offer>, length: Span, now: Time) {
    if let Some(current) = offer {
        let alive = line.iter().any(|ticket| ticket.who.is(&current.to) && now < ticket.expires_at);
        if now < current.until && alive {
            return;
        }
        let passed = current.to.clone();
        leave(line, &passed);
        *offer = None;
    }
    line.retain(|ticket| now < ticket.expires_at);
    if let Some(first) = line.first() {
        *offer = Some(Offer { to: first.who.clone(), until: now + length });
    }
}

/// Notes a request to let go; a second one of the same person replaces the first.
pub(super) fn ask(requests: &mut Vec<Request>, by: Holder, message: Option<String>, at: Time) {
    requests.retain(|request| !request.by.is(&by));
    if requests.len() >= REQUESTS_MAX {
        requests.remove(0);
    }
    requests.push(Request { by, message, at, declined: None });
}

/// Answers all who were not answered yet; says whether there was anybody.
pub(super) fn decline(requests: &mut [Request], message: Option<&str>, at: Time) -> bool {
    let mut told = false;
    for request in requests.iter_mut().filter(|request| request.declined.is_none()) {
        request.declined = Some(Declined { at, message: message.map(str::to_owned) });
        told = true;
    }
    told
}
