//! Tests of `Leave` (a page closes and may be reloading) and of `Decline` (the holder answers requests to release).

use super::*;

const GRACE: Span = Span::from_secs(5);

const KEPT: Result<Outcome, Refused> = Ok(Outcome::Released { released: false, repeated: false });

fn bench() -> Bench {
    Bench::held_by_ana(Policy { idle_guard: Some(Span::from_secs(20)), ..Policy::default() })
}

impl Bench {
    fn leave(&mut self, claim: i64) -> Decision {
        self.run("ana", Action::Leave { fence: self.fence, claim: Some(claim), grace: GRACE })
    }
}

#[test]
fn leave_keeps_the_lease_for_the_grace_period_and_then_releases_it() {
    let mut bench = bench();
    let left = bench.leave(1);
    assert_eq!(left.answer, KEPT);
    assert_eq!(left.events[0].name, EventName::LeaseLeaving, "waiting holders learn that the lease ends soon");
    bench.pass(GRACE.0 - 1);
    assert!(matches!(bench.claim("luis"), Err(Refused::HeldBy { .. })));
    bench.pass(1);
    assert_eq!(bench.claim("luis"), Ok(Outcome::Claimed { renewed: false }));
    let ended = bench.state.ended.clone().expect("ended");
    assert_eq!((ended.reason, ended.cause, ended.at), (Reason::Released, Cause::Released, bench.now));
}

#[test]
fn claim_within_the_grace_period_keeps_the_same_ownership() {
    let mut bench = bench();
    bench.leave(1);
    bench.pass(2_000);
    assert_eq!(bench.claim("ana"), Ok(Outcome::Claimed { renewed: true }));
    bench.pass(10_000);
    assert!(matches!(bench.claim("luis"), Err(Refused::HeldBy { grant, .. }) if grant.fence == bench.fence));
    // A late `Leave` of the previous page names an older claim, so it changes nothing.
    assert_eq!(bench.leave(1).answer, KEPT);
    bench.pass(10_000);
    assert_eq!(bench.beat_idle(Span::ZERO), Ok(Outcome::Beat(Beat::Renewed)));
}

#[test]
fn heartbeat_clears_leaving_unless_the_person_is_idle() {
    let mut bench = bench();
    bench.leave(1);
    // This heartbeat is stored although it follows the last stored one at once, because it clears `leaving`.
    assert_eq!(bench.beat_idle(Span::ZERO), Ok(Outcome::Beat(Beat::Renewed)));
    assert_eq!(bench.expires_at(), Some(bench.now + Span::from_secs(30)));
    bench.leave(1);
    assert_eq!(bench.beat_idle(Span::from_secs(25)), Ok(Outcome::Beat(Beat::Idle)));
    bench.pass(GRACE.0);
    assert!(
        matches!(bench.beat_idle(Span::ZERO), Err(Refused::Lost { ending: Some(end) }) if end.cause == Cause::Released)
    );
}

#[test]
fn leave_never_extends_and_zero_grace_ends_only_a_leaving_ownership() {
    let mut bench = bench();
    bench.pass(28_000);
    let at_once = Action::Leave { fence: bench.fence, claim: Some(1), grace: Span::ZERO };
    let early = bench.run("ana", at_once.clone());
    assert_eq!((early.answer, early.changed), (KEPT, false), "no page has left before");
    bench.leave(1);
    assert_eq!(bench.expires_at(), Some(START + Span::from_secs(30)));
    assert_eq!(bench.run("ana", at_once).answer, Ok(Outcome::Released { released: true, repeated: false }));
    assert_eq!(bench.leave(1).answer, Ok(Outcome::Released { released: true, repeated: true }), "repeated");
}

#[test]
fn waiting_holder_is_offered_the_lease_after_the_grace_period() {
    let mut bench = bench();
    bench.run("luis", Action::JoinLine).answer.expect("in line");
    bench.leave(1);
    assert!(bench.state.offer.is_none());
    bench.pass(GRACE.0);
    let answer = bench.run("luis", Action::JoinLine).answer;
    assert!(matches!(answer, Ok(Outcome::InLine { position: 1, offered: true, .. })), "{answer:?}");
}

#[test]
fn holder_declines_every_open_request_once() {
    let mut bench = bench();
    let decline = |fence| Action::Decline { fence, message: Some("en cinco minutos".to_owned()) };
    let fence = bench.fence;
    assert_eq!(
        bench.run("ana", decline(fence)).answer,
        Ok(Outcome::ReleaseRequested { delivered: false }),
        "there is no request"
    );
    for user in ["luis", "eva"] {
        bench.run(user, Action::RequestRelease { message: None }).answer.expect("requested");
    }
    for (user, fence) in [("luis", fence), ("ana", Fence(fence.0 - 1))] {
        assert!(matches!(bench.run(user, decline(fence)).answer, Err(Refused::Lost { .. })), "{user}");
    }
    bench.pass(1_000);
    let decision = bench.run("ana", decline(fence));
    assert_eq!(
        (decision.answer, decision.events[0].name.clone()),
        (Ok(Outcome::ReleaseRequested { delivered: true }), EventName::LeaseDeclined)
    );
    let declined = Some(Declined { at: bench.now, message: Some("en cinco minutos".to_owned()) });
    assert!(bench.state.requests.iter().all(|request| request.declined == declined), "{:?}", bench.state.requests);
    assert!(!bench.run("ana", decline(fence)).changed, "all requests are already declined");
    // A repeated request is open again.
    bench.run("luis", Action::RequestRelease { message: None }).answer.expect("requested");
    let open = bench.state.requests.iter().filter(|request| request.declined.is_none()).count();
    assert_eq!(open, 1);
}
