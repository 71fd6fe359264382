//! The waiting line of a lease: tickets that their holders must renew, and the offer to the first one.
//!
//! Also the requests to the holder to release the lease.

use super::{Declined, Holder, Offer, Request, Ticket};
use crate::id::UserId;
use crate::limits::{LINE_MAX, REQUESTS_MAX, TICKET_TTL};
use crate::time::{Span, Time};

/// Adds a ticket at the end, or renews the ticket of `who`. Returns its place from 1, or `None` if the line is full.
pub(super) fn stand(line: &mut Vec<Ticket>, who: Holder, now: Time) -> Option<usize> {
    line.retain(|ticket| ticket.who.is(&who) || now < ticket.expires_at);
    if let Some(index) = line.iter().position(|ticket| ticket.who.is(&who)) {
        // A dead ticket loses its place, because the holders behind it have renewed theirs.
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

/// Removes the ticket of `who`. Returns whether there was one.
pub(super) fn leave(line: &mut Vec<Ticket>, who: &Holder) -> bool {
    let before = line.len();
    line.retain(|ticket| !ticket.who.is(who));
    line.len() != before
}

/// Removes all tickets of a user, for every instance. Returns whether there were any.
pub(super) fn leave_all(line: &mut Vec<Ticket>, user: &UserId) -> bool {
    let before = line.len();
    line.retain(|ticket| ticket.who.user != *user);
    line.len() != before
}

/// Ends an offer that has lapsed, and offers the lease to the first live ticket.
///
/// An offer begins when a command evaluates the line, not when the lease became free, because the waiting holder cannot
/// know of it earlier. A holder who lets an offer lapse loses the ticket; otherwise the line would never advance.
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

/// Adds a request to release the lease. It replaces an earlier request of the same holder.
pub(super) fn ask(requests: &mut Vec<Request>, by: Holder, message: Option<String>, at: Time) {
    requests.retain(|request| !request.by.is(&by));
    if requests.len() >= REQUESTS_MAX {
        requests.remove(0);
    }
    requests.push(Request { by, message, at, declined: None });
}

/// Declines every open request. Returns whether there was one.
pub(super) fn decline(requests: &mut [Request], message: Option<&str>, at: Time) -> bool {
    let mut declined_any = false;
    for request in requests.iter_mut().filter(|request| request.declined.is_none()) {
        request.declined = Some(Declined { at, message: message.map(str::to_owned) });
        declined_any = true;
    }
    declined_any
}
