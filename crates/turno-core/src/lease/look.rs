//! The effects of time on a lease: an ownership expires, an offer lapses, a ticket dies.

use super::{Cause, Ending, Policy, Reason, State, line};
use crate::time::Time;

impl State {
    /// Returns the instant at which time alone changes who may claim the lease, or `None` if it never does.
    ///
    /// For a held lease this is the expiry. For an offered lease it is the end of the offer, or of the ticket that the
    /// offer belongs to. The end of other tickets changes nothing until the line is evaluated.
    pub fn due_at(&self) -> Option<Time> {
        if let Some(grant) = &self.grant {
            return Some(grant.expires_at);
        }
        let offer = self.offer.as_ref()?;
        let ticket = self.line.iter().find(|ticket| ticket.who.is(&offer.to));
        Some(ticket.map_or(offer.until, |ticket| ticket.expires_at.min(offer.until)))
    }

    /// Returns the lease as a decision at `now` finds it: an expired ownership is ended, and a lapsed offer passed on.
    ///
    /// Reads return this state, so that a read never says `free` when a claim would be refused.
    pub fn as_of(mut self, policy: &Policy, now: Time) -> State {
        let now = now.max(self.decided_at());
        if let Some(ending) = self.ran_out(policy, now) {
            self.end(ending);
        }
        if self.grant.is_none() {
            line::evaluate(&mut self.line, &mut self.offer, policy.offer, now);
        }
        self
    }

    /// Replaces the ownership by its ending and removes the requests to release it.
    pub(super) fn end(&mut self, ending: Ending) {
        self.grant = None;
        self.requests.clear();
        self.leaving = false;
        self.kept = false;
        self.ended = Some(ending);
    }

    /// Returns the ending of an ownership that has expired by `now`. The row keeps the ownership until the next
    /// decision stores this ending; until then, reads compute the same ending.
    pub fn ran_out(&self, policy: &Policy, now: Time) -> Option<Ending> {
        let grant = self.grant.as_ref().filter(|grant| grant.expires_at <= now)?;
        let (reason, cause) = match policy.rolling_timeout {
            _ if self.leaving || self.kept => (Reason::Released, Cause::Released),
            _ if grant.idle => (Reason::Expired, Cause::Idle),
            Some(rolling) if grant.worked_at + rolling <= grant.expires_at => (Reason::Expired, Cause::RollingTimeout),
            _ => (Reason::Expired, Cause::NoHeartbeat),
        };
        Some(Ending { grant: grant.clone(), at: grant.expires_at, reason, cause, by: None, note: None })
    }
}
