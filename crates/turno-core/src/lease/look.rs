//! What time alone does to a lease: an ownership runs out, an offer lapses, a ticket dies.

use super::{Cause, Ending, Policy, Reason, State, line};
use crate::time::Time;

impl State {
    /// Returns the instant at which time alone changes who may claim the lease, or `None` if it never does.
    ///
    /// While somebody holds it, that is the end of the ownership. While it is offered, it is the end of the offer, or of
    /// the ticket it was offered for. Other tickets die in silence: who comes next finds them dead.
    pub fn due_at(&self) -> Option<Time> {
        if let Some(grant) = &self.grant {
            return Some(grant.expires_at);
        }
        let offer = self.offer.as_ref()?;
        let ticket = self.line.iter().find(|ticket| ticket.who.is(&offer.to));
        Some(ticket.map_or(offer.until, |ticket| ticket.expires_at.min(offer.until)))
    }

    /// Returns the lease as a decision at `now` finds it: an ownership that has run out is ended, a lapsed offer passed on.
    ///
    /// Reads show this, so that no read says `free` where a claim is refused.
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

    /// Puts an ending in the place of the ownership. Requests to let go end with it.
    pub(super) fn end(&mut self, ending: Ending) {
        self.grant = None;
        self.requests.clear();
        self.leaving = false;
        self.ended = Some(ending);
    }

    /// Returns how the ownership ended that has run out by `now`. The row keeps the ownership until the next decision
    /// writes its end; a read answers the same before that.
    pub fn ran_out(&self, policy: &Policy, now: Time) -> Option<Ending> {
        let grant = self.grant.as_ref().filter(|grant| grant.expires_at <= now)?;
        let (reason, cause) = match policy.rolling_timeout {
            _ if self.leaving => (Reason::Released, Cause::Released),
            _ if grant.idle => (Reason::Expired, Cause::Idle),
            Some(rolling) if grant.worked_at + rolling <= grant.expires_at => (Reason::Expired, Cause::RollingTimeout),
            _ => (Reason::Expired, Cause::NoHeartbeat),
        };
        Some(Ending { grant: grant.clone(), at: grant.expires_at, reason, cause, by: None, note: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Fence, Numbers, Resource, UserId};
    use crate::lease::{Action, Command, Decision, Holder, Outcome, decide};
    use crate::time::Span;

    const START: Time = Time(1_700_000_000_000);

    /// A resource whose time the test moves.
    struct Bench {
        state: State,
        now: Time,
        next: i64,
    }

    impl Bench {
        fn held_by_ana() -> Bench {
            let state = State::unseen(Resource::new("caja:3").expect("valid"));
            let mut bench = Bench { state, now: START, next: 10 };
            bench.ask("ana", Action::Claim { ttl: None, wait: false }).answer.expect("free");
            bench
        }

        fn ask(&mut self, user: &str, action: Action) -> Decision {
            self.next += 1;
            let who = Holder { user: UserId::new(user).expect("valid"), name: user.to_uppercase(), instance: None };
            let (resource, policy) = (self.state.resource.clone(), Policy::default());
            let command = Command { resource, who, via: None, policy, action };
            decide(&mut self.state, &command, self.now, &mut Numbers::new(vec![self.next]))
        }

        /// Looks, as the engine does; returns the names of the events and their details.
        fn look(&mut self) -> Vec<(String, Option<String>)> {
            let decision = self.ask("turno", Action::Look);
            let news = !decision.events.is_empty();
            assert_eq!(decision.answer, Ok(Outcome::Looked { news }));
            decision.events.into_iter().map(|event| (event.name.to_string(), event.detail)).collect()
        }

        fn fence(&self) -> Fence {
            self.state.grant.as_ref().expect("held").fence
        }

        fn pass(&mut self, ms: i64) {
            self.now = self.now + Span(ms);
        }
    }

    fn lost() -> (String, Option<String>) {
        ("lease.lost".to_owned(), Some("expired".to_owned()))
    }

    fn offered() -> (String, Option<String>) {
        ("lease.offered".to_owned(), None)
    }

    #[test]
    fn a_due_look_ends_the_ownership_and_announces_it_once() {
        let mut bench = Bench::held_by_ana();
        assert_eq!(bench.state.look_at, Some(START + Span(30_000)), "the claim sets it");
        bench.pass(30_000);
        assert_eq!(bench.look(), [lost()]);
        assert_eq!((bench.state.grant.is_none(), bench.state.look_at), (true, None));
        assert_eq!(bench.look(), []);
    }

    #[test]
    fn a_look_at_an_extended_lease_moves_to_its_new_end() {
        let mut bench = Bench::held_by_ana();
        bench.pass(20_000);
        let beat = Action::Heartbeat { fence: bench.fence(), idle: None, worked: false };
        bench.ask("ana", beat).answer.expect("alive");
        assert_eq!(bench.state.look_at, Some(START + Span(30_000)), "the heartbeat leaves it");
        bench.pass(10_000);
        assert_eq!(bench.look(), []);
        assert_eq!(bench.state.look_at, Some(START + Span(50_000)));
    }

    #[test]
    fn a_release_leaves_the_look_and_the_next_claim_too_unless_it_is_too_late() {
        let mut bench = Bench::held_by_ana();
        let release = Action::Release { fence: bench.fence(), claim: None };
        bench.ask("ana", release).answer.expect("hers");
        assert_eq!(bench.state.look_at, Some(START + Span(30_000)));
        bench.ask("luis", Action::Claim { ttl: Some(Span::from_secs(60)), wait: false }).answer.expect("free");
        assert_eq!(bench.state.look_at, Some(START + Span(30_000)), "earlier than needed is harmless");
        let release = Action::Release { fence: bench.fence(), claim: None };
        bench.ask("luis", release).answer.expect("his");
        bench.ask("eva", Action::Claim { ttl: Some(Span::from_secs(10)), wait: false }).answer.expect("free");
        assert_eq!(bench.state.look_at, Some(START + Span(10_000)), "later than needed is not");
        let release = Action::Release { fence: bench.fence(), claim: None };
        bench.ask("eva", release).answer.expect("hers");
        bench.pass(10_000);
        assert_eq!((bench.look(), bench.state.look_at), (vec![], None));
    }

    #[test]
    fn a_lapsed_offer_is_passed_on_and_announced_to_the_next() {
        let mut bench = Bench::held_by_ana();
        for user in ["luis", "eva"] {
            bench.ask(user, Action::JoinLine).answer.expect("waits");
        }
        bench.pass(20_000);
        for user in ["luis", "eva"] {
            bench.ask(user, Action::JoinLine).answer.expect("waits");
        }
        bench.pass(10_000);
        assert_eq!(bench.look(), [lost(), offered()]);
        assert_eq!(bench.state.look_at, Some(START + Span(50_000)), "when the ticket of Luis dies");
        bench.pass(10_000);
        for user in ["luis", "eva"] {
            bench.ask(user, Action::JoinLine).answer.expect("waits");
        }
        bench.pass(10_000);
        assert_eq!(bench.look(), []);
        assert_eq!(bench.state.look_at, Some(START + Span(60_000)), "when the offer ends");
        bench.pass(10_000);
        assert_eq!(bench.look(), [offered()]);
        assert_eq!(bench.state.offer.as_ref().map(|offer| offer.to.user.as_str()), Some("eva"));
        bench.pass(10_000);
        assert_eq!((bench.look(), bench.state.look_at), (vec![], None), "her ticket is dead, and nobody is left");
    }

    #[test]
    fn leaving_a_page_brings_the_look_forward() {
        let mut bench = Bench::held_by_ana();
        let grace = Span::from_secs(5);
        let leave = Action::Leave { fence: bench.fence(), claim: None, grace };
        bench.ask("ana", leave).answer.expect("hers");
        assert_eq!(bench.state.look_at, Some(START + grace));
        bench.pass(5_000);
        assert_eq!(bench.look(), [("lease.released".to_owned(), None)]);
    }

    #[test]
    fn a_lease_without_a_look_gets_one_from_whatever_is_decided_next() {
        let mut bench = Bench::held_by_ana();
        bench.state.look_at = None;
        let beat = Action::Heartbeat { fence: bench.fence(), idle: None, worked: false };
        assert!(bench.ask("ana", beat).changed, "a row that an older program wrote");
        assert_eq!(bench.state.look_at, bench.state.due_at());
    }
}
