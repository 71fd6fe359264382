//! Tests of a page that is left and may come back, and of the answer to those who ask for what somebody holds.

use super::*;
use crate::id::Numbers;

const GRACE: Span = Span::from_secs(5);

/// A resource that Ana holds since 1,000, by a clock that the test moves.
struct Desk {
    state: State,
    now: Time,
    fence: Fence,
}

impl Desk {
    fn of_ana() -> Desk {
        let state = State::unseen(Resource::new("task:7").expect("valid"));
        let mut desk = Desk { state, now: Time(1_000), fence: Fence(0) };
        desk.ask("ana", Action::Claim { ttl: None, wait: false }).answer.expect("free");
        desk.fence = desk.state.grant.as_ref().expect("hers").fence;
        desk
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
fn a_page_that_is_left_keeps_it_for_a_moment_and_then_has_released_it() {
    let mut desk = Desk::of_ana();
    let left = desk.leave(1);
    assert_eq!(left.answer, KEPT);
    assert_eq!(left.events[0].name, "lease.leaving", "whoever waits learns that the end is near");
    desk.pass(Span(GRACE.0 - 1));
    assert!(matches!(desk.claim("luis"), Err(Refused::HeldBy { .. })));
    desk.pass(Span(1));
    assert_eq!(desk.claim("luis"), Ok(Outcome::Claimed { renewed: false }));
    let ended = desk.state.ended.clone().expect("hers");
    assert_eq!((ended.reason, ended.cause, ended.at), (Reason::Released, Cause::Released, desk.now));
}

#[test]
fn a_reload_within_the_moment_goes_on_with_the_same_ownership() {
    let mut desk = Desk::of_ana();
    desk.leave(1);
    desk.pass(Span::from_secs(2));
    assert_eq!(desk.claim("ana"), Ok(Outcome::Claimed { renewed: true }));
    desk.pass(Span::from_secs(10));
    assert!(matches!(desk.claim("luis"), Err(Refused::HeldBy { grant, .. }) if grant.fence == desk.fence));
    // The word of the page before, which came late, changes nothing.
    assert_eq!(desk.leave(1).answer, KEPT);
    desk.pass(Span::from_secs(10));
    assert_eq!(desk.beat(Span::ZERO), Ok(Outcome::Beat(Beat::Renewed)));
}

#[test]
fn a_beat_of_another_page_undoes_the_leaving_unless_nobody_is_there() {
    let mut desk = Desk::of_ana();
    desk.leave(1);
    // Sooner after the last written beat than a beat is usually written at all.
    assert_eq!(desk.beat(Span::ZERO), Ok(Outcome::Beat(Beat::Renewed)));
    assert_eq!(desk.state.grant.as_ref().map(|grant| grant.expires_at), Some(desk.now + Span::from_secs(30)));
    desk.leave(1);
    assert_eq!(desk.beat(Span::from_secs(25)), Ok(Outcome::Beat(Beat::Idle)));
    desk.pass(GRACE);
    assert!(matches!(desk.beat(Span::ZERO), Err(Refused::Lost { ending: Some(end) }) if end.cause == Cause::Released));
}

#[test]
fn leaving_never_lengthens_and_a_moment_of_nothing_is_a_release() {
    let mut desk = Desk::of_ana();
    desk.pass(Span::from_secs(28));
    desk.leave(1);
    assert_eq!(desk.state.grant.as_ref().map(|grant| grant.expires_at), Some(Time(31_000)));
    let at_once = Action::Leave { fence: desk.fence, claim: Some(1), grace: Span::ZERO };
    assert_eq!(desk.ask("ana", at_once).answer, Ok(Outcome::Released { released: true, repeated: false }));
    assert_eq!(desk.leave(1).answer, Ok(Outcome::Released { released: true, repeated: true }), "said again");
}

#[test]
fn whoever_waits_is_served_when_the_moment_has_passed() {
    let mut desk = Desk::of_ana();
    desk.ask("luis", Action::JoinLine).answer.expect("stands");
    desk.leave(1);
    assert!(desk.state.offer.is_none());
    desk.pass(GRACE);
    let answer = desk.ask("luis", Action::JoinLine).answer;
    assert!(matches!(answer, Ok(Outcome::InLine { position: 1, offered: true, .. })), "{answer:?}");
}

#[test]
fn everybody_who_asked_is_told_not_now_once_and_only_by_the_holder() {
    let mut desk = Desk::of_ana();
    let decline = |fence| Action::Decline { fence, message: Some("en cinco minutos".to_owned()) };
    let fence = desk.fence;
    assert_eq!(desk.ask("ana", decline(fence)).answer, Ok(Outcome::Asked { told: false }), "nobody has asked");
    for user in ["luis", "eva"] {
        desk.ask(user, Action::RequestRelease { message: None }).answer.expect("told");
    }
    for (user, fence) in [("luis", fence), ("ana", Fence(fence.0 - 1))] {
        assert!(matches!(desk.ask(user, decline(fence)).answer, Err(Refused::Lost { .. })), "{user}");
    }
    desk.pass(Span::from_secs(1));
    let told = desk.ask("ana", decline(fence));
    assert_eq!((told.answer, &*told.events[0].name), (Ok(Outcome::Asked { told: true }), "lease.declined"));
    let declined = Some(Declined { at: desk.now, message: Some("en cinco minutos".to_owned()) });
    assert!(desk.state.requests.iter().all(|request| request.declined == declined), "{:?}", desk.state.requests);
    assert!(!desk.ask("ana", decline(fence)).changed, "they have been answered");
    // Who asks again is somebody who has not been answered.
    desk.ask("luis", Action::RequestRelease { message: None }).answer.expect("told");
    let open = desk.state.requests.iter().filter(|request| request.declined.is_none()).count();
    assert_eq!(open, 1);
}
