//! The acceptance criteria of exclusive processing, as tests of the rules.
//!
//! `task_exclusive.rs` of the server checks the same over HTTP, and `web/test/process*.test.mjs` in the browser.

use super::*;
use crate::audit::AuditAction;
use crate::lease::Beat;

fn on_lock(bench: &mut Bench, who: &str, action: OnLease) -> Result<Outcome, Refused> {
    bench.ask(who, Action::Lease(action))
}

fn claim(bench: &mut Bench, who: &str) -> Result<Outcome, Refused> {
    on_lock(bench, who, OnLease::Claim { ttl: None, wait: false })
}

fn beat(bench: &mut Bench, fence: Fence, idle: Span) -> Result<Outcome, Refused> {
    on_lock(bench, ANA, OnLease::Heartbeat { fence, idle: Some(idle), worked: false })
}

#[test]
fn claim_is_refused_while_another_user_holds_the_task() {
    let mut bench = Bench::ready();
    let fence = bench.claim(ANA);
    let refused = claim(&mut bench, LUIS);
    assert!(matches!(refused, Err(Refused::Lease(lease::Refused::HeldBy { .. }))), "{refused:?}");
    assert!(lost(&bench.ask(LUIS, quantity(1, fence, 7))), "Ana's fence is refused for Luis");
    on_lock(&mut bench, ANA, OnLease::Release { fence, claim: None }).expect("released");
    assert!(claim(&mut bench, LUIS).is_ok(), "control: the task is free");
}

#[test]
fn refusal_names_the_holder_and_since_when() {
    let mut bench = Bench::ready();
    bench.claim(ANA);
    let since = bench.now;
    bench.now = bench.now + Span::from_secs(60);
    let Err(Refused::Lease(lease::Refused::HeldBy { grant, .. })) = claim(&mut bench, LUIS) else {
        panic!("not refused");
    };
    assert_eq!((grant.holder.name.as_str(), grant.locked_at), ("«ana»", since));
}

#[test]
fn every_heartbeat_renews_for_three_minutes() {
    let mut bench = Bench::ready();
    let fence = bench.claim(ANA);
    for _ in 0..30 {
        bench.now = bench.now + Span::from_secs(10);
        assert_eq!(beat(&mut bench, fence, Span::ZERO), Ok(Outcome::Lease(lease::Outcome::Beat(Beat::Renewed))));
        let ends = bench.lease.grant.as_ref().expect("held").expires_at;
        assert_eq!(ends, bench.now + Span::from_secs(180));
    }
}

#[test]
fn idle_heartbeat_renews_nothing_and_the_lease_expires() {
    let mut bench = Bench::ready();
    let fence = bench.claim(ANA);
    let ends = bench.lease.grant.as_ref().expect("held").expires_at;
    bench.now = bench.now + Span::from_secs(120);
    let idle = beat(&mut bench, fence, Span::from_secs(120));
    assert_eq!(idle, Ok(Outcome::Lease(lease::Outcome::Beat(Beat::Idle))));
    assert_eq!(bench.lease.grant.as_ref().expect("still held").expires_at, ends);
    bench.now = ends;
    assert!(lost(&beat(&mut bench, fence, Span::ZERO)), "activity after the expiry revives nothing");
}

#[test]
fn claim_succeeds_at_the_expiry_and_not_before() {
    let mut bench = Bench::ready();
    let hers = bench.claim(ANA);
    bench.now = bench.lease.grant.as_ref().expect("held").expires_at + Span(-1);
    assert!(claim(&mut bench, LUIS).is_err());
    bench.now = bench.now + Span(1);
    let his = bench.claim(LUIS);
    assert!(his > hers);
}

#[test]
fn change_after_a_lost_lease_is_refused_with_the_cause() {
    let mut bench = Bench::ready();
    let fence = bench.claim(ANA);
    bench.now = bench.now + Span::from_secs(180);
    let before = bench.task.clone();
    let refused = bench.ask(ANA, quantity(1, fence, 7));
    let Err(Refused::Lease(lease::Refused::Lost { ending: Some(ending) })) = refused else {
        panic!("no ending in the refusal: {refused:?}");
    };
    assert_eq!(ending.cause.as_str(), "no_heartbeat");
    assert_eq!(bench.task, before);
}

#[test]
fn finalize_releases_the_lease() {
    let mut bench = Bench::ready();
    let fence = bench.claim(ANA);
    let lines = vec![(1, bench.step(fence, 1, Ok(()))), (2, bench.step(fence, 2, Ok(())))];
    bench.ask(ANA, Action::Close { fence, lines }).expect("finalized");
    assert_eq!((bench.status(), bench.lease.grant.as_ref()), (Status::Completed, None));
}

#[test]
fn override_ends_any_ownership_is_audited_and_can_be_repeated() {
    let mut bench = Bench::ready();
    let hers = bench.claim(ANA);
    let force =
        |bench: &mut Bench| on_lock(bench, LUIS, OnLease::ForceRelease { reason: "urge".to_owned(), fence: None });
    let changed = |changed| Ok(Outcome::Lease(lease::Outcome::ForceReleased { changed }));
    assert_eq!(force(&mut bench), changed(true));
    assert_eq!(force(&mut bench), changed(false), "idempotent");
    assert!(lost(&bench.ask(ANA, quantity(1, hers, 7))));
    let take = |bench: &mut Bench| {
        on_lock(bench, LUIS, OnLease::ForceClaim { reason: "urge".to_owned(), fence: None }).expect("taken")
    };
    take(&mut bench);
    let his = bench.lease.grant.as_ref().expect("held").fence;
    take(&mut bench);
    assert_eq!(bench.lease.grant.as_ref().expect("held").fence, his, "a renewal keeps the fence");
    let audit: Vec<_> = bench.audit.iter().map(|entry| entry.action).collect();
    assert_eq!(
        audit,
        [
            AuditAction::LockForceRelease,
            AuditAction::LockForceRelease,
            AuditAction::LockForceClaim,
            AuditAction::LockForceClaim
        ]
    );
}

#[test]
fn an_applied_line_is_skipped_by_every_later_finalize() {
    let mut bench = Bench::ready();
    let first = bench.claim(ANA);
    bench.step(first, 1, Ok(()));
    on_lock(&mut bench, ANA, OnLease::Release { fence: first, claim: None }).expect("released");
    let second = bench.claim(LUIS);
    assert_eq!(bench.begin(LUIS, second, 1), Begin::Settled(LineOutcome::Skipped));
    assert_eq!(bench.begin(LUIS, second, 2), Begin::Go, "control: the other line is applied");
}
