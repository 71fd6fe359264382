//! Tests of `Leave` (a page closes and may be reloading) and of `Decline` (the holder answers requests to release).

use super::*;
use crate::event::EventName;
use crate::id::Numbers;

const GRACE: Span = Span::from_secs(5);

/// A resource that Ana has held since 1,000, with a clock that the test moves.
struct Bench {
    state: State,
    now: Time,
    fence: Fence,
}

impl Bench {
    fn held_by_ana() -> Bench {
        let state = State::unseen(Resource::new("task:7").expect("valid"));
        let mut bench = Bench { state, now: Time(1_000), fence: Fence(0) };
        bench.ask("ana", Action::Claim { ttl: None, wait: false }).answer.expect("free");
        bench.fence = bench.state.grant.as_ref().expect("Ana holds it").fence;
        bench
    }

    fn ask(&mut self, user: &str, action: Action) -> Decision {
        let who = Holder { user: UserId::new(user).expect("valid"), name: user.to_owned(), instance: None };
        let policy = Policy { idle_guard: Some(Span::from_secs(20)), ..Policy::default() };
        let command = Command { resource: self.state.resource.clone(), who, via: None, policy, action };
        decide(&mut self.state, &command, self.now, &mut Numbers::new(vec![self.now.0]))
    }

    fn claim(&mut self, user: &str) -> Result<Outcome, Refused> {
        self.ask(user, Action::Claim { ttl: None, wait: false }).answer
    }

    fn leave(&mut self, claim: i64) -> Decision {
        self.ask("ana", Action::Leave { fence: self.fence, claim: Some(claim), grace: GRACE })
    }

    fn beat(&mut self, idle: Span) -> Result<Outcome, Refused> {
        self.ask("ana", Action::Heartbeat { fence: self.fence, idle: Some(idle), worked: false }).answer
    }

    fn pass(&mut self, span: Span) {
        self.now = self.now + span;
    }
}

const KEPT: Result<Outcome, Refused> = Ok(Outcome::Released { released: false, repeated: false });

#[test]
fn leave_keeps_the_lease_for_the_grace_period_and_then_releases_it() {
    let mut bench = Bench::held_by_ana();
    let left = bench.leave(1);
    assert_eq!(left.answer, KEPT);
    assert_eq!(left.events[0].name, EventName::LeaseLeaving, "waiting holders learn that the lease ends soon");
    bench.pass(Span(GRACE.0 - 1));
    assert!(matches!(bench.claim("luis"), Err(Refused::HeldBy { .. })));
    bench.pass(Span(1));
    assert_eq!(bench.claim("luis"), Ok(Outcome::Claimed { renewed: false }));
    let ended = bench.state.ended.clone().expect("ended");
    assert_eq!((ended.reason, ended.cause, ended.at), (Reason::Released, Cause::Released, bench.now));
}

#[test]
fn claim_within_the_grace_period_keeps_the_same_ownership() {
    let mut bench = Bench::held_by_ana();
    bench.leave(1);
    bench.pass(Span::from_secs(2));
    assert_eq!(bench.claim("ana"), Ok(Outcome::Claimed { renewed: true }));
    bench.pass(Span::from_secs(10));
    assert!(matches!(bench.claim("luis"), Err(Refused::HeldBy { grant, .. }) if grant.fence == bench.fence));
    // A late `Leave` of the previous page names an older claim, so it changes nothing.
    assert_eq!(bench.leave(1).answer, KEPT);
    bench.pass(Span::from_secs(10));
    assert_eq!(bench.beat(Span::ZERO), Ok(Outcome::Beat(Beat::Renewed)));
}

#[test]
fn heartbeat_clears_leaving_unless_the_person_is_idle() {
    let mut bench = Bench::held_by_ana();
    bench.leave(1);
    // This heartbeat is stored although it follows the last stored one at once, because it clears `leaving`.
    assert_eq!(bench.beat(Span::ZERO), Ok(Outcome::Beat(Beat::Renewed)));
    assert_eq!(bench.state.grant.as_ref().map(|grant| grant.expires_at), Some(bench.now + Span::from_secs(30)));
    bench.leave(1);
    assert_eq!(bench.beat(Span::from_secs(25)), Ok(Outcome::Beat(Beat::Idle)));
    bench.pass(GRACE);
    assert!(matches!(bench.beat(Span::ZERO), Err(Refused::Lost { ending: Some(end) }) if end.cause == Cause::Released));
}

#[test]
fn leave_never_extends_and_zero_grace_ends_only_a_leaving_ownership() {
    let mut bench = Bench::held_by_ana();
    bench.pass(Span::from_secs(28));
    let at_once = Action::Leave { fence: bench.fence, claim: Some(1), grace: Span::ZERO };
    let early = bench.ask("ana", at_once.clone());
    assert_eq!((early.answer, early.changed), (KEPT, false), "no page has left before");
    bench.leave(1);
    assert_eq!(bench.state.grant.as_ref().map(|grant| grant.expires_at), Some(Time(31_000)));
    assert_eq!(bench.ask("ana", at_once).answer, Ok(Outcome::Released { released: true, repeated: false }));
    assert_eq!(bench.leave(1).answer, Ok(Outcome::Released { released: true, repeated: true }), "repeated");
}

#[test]
fn waiting_holder_is_offered_the_lease_after_the_grace_period() {
    let mut bench = Bench::held_by_ana();
    bench.ask("luis", Action::JoinLine).answer.expect("in line");
    bench.leave(1);
    assert!(bench.state.offer.is_none());
    bench.pass(GRACE);
    let answer = bench.ask("luis", Action::JoinLine).answer;
    assert!(matches!(answer, Ok(Outcome::InLine { position: 1, offered: true, .. })), "{answer:?}");
}

#[test]
fn holder_declines_every_open_request_once() {
    let mut bench = Bench::held_by_ana();
    let decline = |fence| Action::Decline { fence, message: Some("en cinco minutos".to_owned()) };
    let fence = bench.fence;
    assert_eq!(
        bench.ask("ana", decline(fence)).answer,
        Ok(Outcome::ReleaseRequested { delivered: false }),
        "there is no request"
    );
    for user in ["luis", "eva"] {
        bench.ask(user, Action::RequestRelease { message: None }).answer.expect("requested");
    }
    for (user, fence) in [("luis", fence), ("ana", Fence(fence.0 - 1))] {
        assert!(matches!(bench.ask(user, decline(fence)).answer, Err(Refused::Lost { .. })), "{user}");
    }
    bench.pass(Span::from_secs(1));
    let decision = bench.ask("ana", decline(fence));
    assert_eq!(
        (decision.answer, decision.events[0].name.clone()),
        (Ok(Outcome::ReleaseRequested { delivered: true }), EventName::LeaseDeclined)
    );
    let declined = Some(Declined { at: bench.now, message: Some("en cinco minutos".to_owned()) });
    assert!(bench.state.requests.iter().all(|request| request.declined == declined), "{:?}", bench.state.requests);
    assert!(!bench.ask("ana", decline(fence)).changed, "all requests are already declined");
    // A repeated request is open again.
    bench.ask("luis", Action::RequestRelease { message: None }).answer.expect("requested");
    let open = bench.state.requests.iter().filter(|request| request.declined.is_none()).count();
    assert_eq!(open, 1);
}
