//! Tests of `Keep`: the holder releases the lease, which stays held until its expiry.

use super::*;

const KEEP: Span = Span::from_secs(600);
const RELEASED: Result<Outcome, Refused> = Ok(Outcome::Released { released: true, repeated: false });
const REPEATED: Result<Outcome, Refused> = Ok(Outcome::Released { released: true, repeated: true });

fn bench() -> Bench {
    Bench::held_by_ana(Policy { rolling_timeout: Some(Span::from_secs(60)), ..Policy::default() })
}

impl Bench {
    fn keep(&mut self, keep: Span) -> Decision {
        self.run("ana", Action::Keep { fence: self.fence, claim: Some(1), keep })
    }
}

#[test]
fn kept_lease_is_refused_to_every_holder_until_its_time_and_then_ends_as_released() {
    let mut bench = bench();
    let kept = bench.keep(KEEP);
    assert_eq!((kept.answer, kept.events[0].name.clone()), (RELEASED, EventName::LeaseKept));
    bench.pass(KEEP.0 - 1);
    for user in ["luis", "ana"] {
        let answer = bench.claim(user);
        assert!(matches!(&answer, Err(Refused::HeldBy { grant, .. }) if grant.fence == bench.fence), "{answer:?}");
    }
    bench.pass(1);
    assert_eq!(bench.claim("ana"), Ok(Outcome::Claimed { renewed: false }), "a new ownership");
    let ended = bench.state.ended.clone().expect("ended");
    assert_eq!((ended.reason, ended.cause, ended.at), (Reason::Released, Cause::Released, bench.now));
    assert!(!bench.state.kept);
}

#[test]
fn keep_sets_the_expiry_exactly_and_ignores_the_rolling_timeout() {
    for keep in [Span::from_secs(5), KEEP] {
        let mut bench = bench();
        bench.pass(1_000);
        assert_eq!(bench.keep(keep).answer, RELEASED);
        assert_eq!(bench.expires_at(), Some(bench.now + keep));
    }
    let mut bench = bench();
    assert_eq!(bench.keep(Span::ZERO).answer, RELEASED);
    assert!(bench.state.grant.is_none(), "a keep of zero is a release");
}

#[test]
fn keep_above_max_ttl_is_refused_and_changes_nothing() {
    let mut bench = bench();
    let max = Policy::default().max_ttl;
    let decision = bench.keep(Span(max.0 + 1));
    assert_eq!((decision.answer, decision.changed), (Err(Refused::KeepOutOfBounds { max }), false));
    assert_eq!(bench.keep(max).answer, RELEASED);
}

#[test]
fn repeated_release_gets_the_same_answer_and_the_first_time_counts() {
    let mut bench = bench();
    bench.keep(KEEP);
    let until = bench.expires_at();
    bench.pass(1_000);
    let fence = bench.fence;
    for action in [
        Action::Keep { fence, claim: Some(1), keep: Span::from_secs(7) },
        Action::Keep { fence, claim: None, keep: Span::ZERO },
        Action::Release { fence, claim: None },
        Action::Leave { fence, claim: None, grace: Span::from_secs(5) },
    ] {
        let decision = bench.run("ana", action);
        assert_eq!((decision.answer, decision.changed, bench.expires_at()), (REPEATED, false, until));
    }
    let foreign = bench.run("luis", Action::Keep { fence, claim: None, keep: KEEP });
    assert!(matches!(foreign.answer, Err(Refused::Lost { .. })));
    bench.pass(KEEP.0);
    assert_eq!(bench.keep(KEEP).answer, REPEATED, "also after the end");
}

#[test]
fn keep_with_an_older_claim_changes_nothing() {
    let mut bench = bench();
    bench.claim("ana").expect("Ana holds it");
    let decision = bench.keep(KEEP);
    assert_eq!(decision.answer, Ok(Outcome::Released { released: false, repeated: false }));
    assert_eq!((decision.changed, bench.state.kept), (false, false));
}

#[test]
fn heartbeat_of_a_kept_lease_is_refused_as_released() {
    let mut bench = bench();
    bench.keep(KEEP);
    let (fence, until) = (bench.fence, bench.expires_at());
    let beat = bench.run("ana", Action::Heartbeat { fence, idle: None, worked: true });
    assert!(
        matches!(beat.answer, Err(Refused::Lost { ending: Some(end) }) if end.cause == Cause::Released && end.at == bench.now)
    );
    assert_eq!((beat.changed, bench.expires_at()), (false, until));
}

#[test]
fn former_holder_waits_in_line_like_another() {
    let mut bench = bench();
    bench.keep(Span::from_secs(20));
    for user in ["luis", "ana"] {
        bench.run(user, Action::JoinLine).answer.expect("in line");
    }
    let asked = bench.run("luis", Action::RequestRelease { message: None });
    assert_eq!(asked.answer, Ok(Outcome::ReleaseRequested { delivered: false }), "the holder has released it");
    bench.pass(20_000);
    let names: Vec<EventName> = bench.run("turno", Action::Look).events.into_iter().map(|event| event.name).collect();
    assert_eq!(names, [EventName::LeaseReleased, EventName::LeaseOffered], "the end is announced");
}

#[test]
fn override_and_disabled_account_end_a_kept_lease() {
    let reason = "corre otra vez".to_owned();
    let mut bench = self::bench();
    bench.keep(KEEP);
    bench.pass(1);
    let forced = bench.run("ana", Action::ForceClaim { reason: reason.clone(), fence: None });
    assert_eq!(forced.answer, Ok(Outcome::Claimed { renewed: false }), "a new ownership, with a new fence");
    assert_eq!((forced.ended[0].reason, bench.state.kept), (Reason::Forced, false));
    for action in
        [Action::ForceRelease { reason, fence: None }, Action::Expel { user: UserId::new("ana").expect("valid") }]
    {
        let mut bench = self::bench();
        bench.keep(KEEP);
        assert_eq!(bench.run("eva", action).answer, Ok(Outcome::ForceReleased { changed: true }));
        assert!(bench.state.grant.is_none() && !bench.state.kept);
    }
}

#[test]
fn keep_of_a_pinned_lease_is_refused() {
    let mut bench = bench();
    bench.state.pinned = true;
    assert_eq!(bench.keep(KEEP).answer, Err(Refused::Pinned));
    assert!(!bench.state.kept);
}
