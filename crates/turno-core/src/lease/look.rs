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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::EventName;
    use crate::id::{Fence, Numbers, Resource, UserId};
    use crate::lease::{Action, Command, Decision, Holder, Outcome, decide};
    use crate::time::Span;

    const START: Time = Time(1_700_000_000_000);

    /// One resource, with a clock that the test moves.
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

        /// Sends `Look`, as the engine does. Returns the names and details of its events.
        fn look(&mut self) -> Vec<(EventName, Option<String>)> {
            let decision = self.ask("turno", Action::Look);
            let news = !decision.events.is_empty();
            assert_eq!(decision.answer, Ok(Outcome::Looked { news }));
            decision.events.into_iter().map(|event| (event.name, event.detail)).collect()
        }

        fn fence(&self) -> Fence {
            self.state.grant.as_ref().expect("held").fence
        }

        fn pass(&mut self, ms: i64) {
            self.now = self.now + Span(ms);
        }
    }

    fn lost() -> (EventName, Option<String>) {
        (EventName::LeaseLost, Some("expired".to_owned()))
    }

    fn offered() -> (EventName, Option<String>) {
        (EventName::LeaseOffered, None)
    }

    #[test]
    fn a_due_look_ends_the_ownership_and_announces_it_once() {
        let mut bench = Bench::held_by_ana();
        assert_eq!(bench.state.look_at, Some(START + Span(30_000)), "the claim sets the look");
        bench.pass(30_000);
        assert_eq!(bench.look(), [lost()]);
        assert_eq!((bench.state.grant.is_none(), bench.state.look_at), (true, None));
        assert_eq!(bench.look(), []);
    }

    #[test]
    fn look_at_a_renewed_lease_is_set_to_the_new_expiry() {
        let mut bench = Bench::held_by_ana();
        bench.pass(20_000);
        let beat = Action::Heartbeat { fence: bench.fence(), idle: None, worked: false };
        bench.ask("ana", beat).answer.expect("alive");
        assert_eq!(bench.state.look_at, Some(START + Span(30_000)), "the heartbeat does not change the look");
        bench.pass(10_000);
        assert_eq!(bench.look(), []);
        assert_eq!(bench.state.look_at, Some(START + Span(50_000)));
    }

    #[test]
    fn release_keeps_the_look_and_the_next_claim_only_moves_it_earlier() {
        let mut bench = Bench::held_by_ana();
        let release = Action::Release { fence: bench.fence(), claim: None };
        bench.ask("ana", release).answer.expect("Ana holds it");
        assert_eq!(bench.state.look_at, Some(START + Span(30_000)));
        bench.ask("luis", Action::Claim { ttl: Some(Span::from_secs(60)), wait: false }).answer.expect("free");
        assert_eq!(bench.state.look_at, Some(START + Span(30_000)), "a look before the expiry is harmless");
        let release = Action::Release { fence: bench.fence(), claim: None };
        bench.ask("luis", release).answer.expect("Luis holds it");
        bench.ask("eva", Action::Claim { ttl: Some(Span::from_secs(10)), wait: false }).answer.expect("free");
        assert_eq!(bench.state.look_at, Some(START + Span(10_000)), "a look after the expiry is not");
        let release = Action::Release { fence: bench.fence(), claim: None };
        bench.ask("eva", release).answer.expect("Eva holds it");
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
        assert_eq!(bench.state.look_at, Some(START + Span(50_000)), "the end of Luis's ticket");
        bench.pass(10_000);
        for user in ["luis", "eva"] {
            bench.ask(user, Action::JoinLine).answer.expect("waits");
        }
        bench.pass(10_000);
        assert_eq!(bench.look(), []);
        assert_eq!(bench.state.look_at, Some(START + Span(60_000)), "the end of the offer");
        bench.pass(10_000);
        assert_eq!(bench.look(), [offered()]);
        assert_eq!(bench.state.offer.as_ref().map(|offer| offer.to.user.as_str()), Some("eva"));
        bench.pass(10_000);
        assert_eq!((bench.look(), bench.state.look_at), (vec![], None), "her ticket is dead, and the line is empty");
    }

    #[test]
    fn leave_moves_the_look_to_the_end_of_the_grace_period() {
        let mut bench = Bench::held_by_ana();
        let grace = Span::from_secs(5);
        let leave = Action::Leave { fence: bench.fence(), claim: None, grace };
        bench.ask("ana", leave).answer.expect("Ana holds it");
        assert_eq!(bench.state.look_at, Some(START + grace));
        bench.pass(5_000);
        assert_eq!(bench.look(), [(EventName::LeaseReleased, None)]);
    }

    #[test]
    fn lease_without_a_look_gets_one_from_the_next_command() {
        let mut bench = Bench::held_by_ana();
        bench.state.look_at = None;
        let beat = Action::Heartbeat { fence: bench.fence(), idle: None, worked: false };
        assert!(bench.ask("ana", beat).changed, "an older program wrote this row without a look");
        assert_eq!(bench.state.look_at, bench.state.due_at());
    }
}
