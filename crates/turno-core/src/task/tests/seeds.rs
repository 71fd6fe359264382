//! What the seeds 000 and 001 ask for, as rules, by the names of the seeds. Over HTTP the same are in the server's tests
//! `seed_000.rs` and `seed_001.rs`, in the browser in `web/test/process*.test.mjs`.

use super::*;
use crate::lease::Beat;

fn on_lock(desk: &mut Desk, who: &str, action: OnLease) -> Result<Outcome, Refused> {
    desk.ask(who, Action::Lease(action))
}

fn claim(desk: &mut Desk, who: &str) -> Result<Outcome, Refused> {
    on_lock(desk, who, OnLease::Claim { ttl: None, wait: false })
}

fn beat(desk: &mut Desk, fence: Fence, idle: Span) -> Result<Outcome, Refused> {
    on_lock(desk, ANA, OnLease::Heartbeat { fence, idle: Some(idle), worked: false })
}

#[test]
fn seed_001_ac1_a_claim_keeps_others_out_until_it_ends() {
    let mut desk = Desk::ready();
    let fence = desk.claim(ANA);
    let refused = claim(&mut desk, LUIS);
    assert!(matches!(refused, Err(Refused::Lease(lease::Refused::HeldBy { .. }))), "{refused:?}");
    assert!(lost(&desk.ask(LUIS, quantity(1, fence, 7))), "nor does her fence serve him");
    on_lock(&mut desk, ANA, OnLease::Release { fence, claim: None }).expect("given back");
    assert!(claim(&mut desk, LUIS).is_ok(), "the control: free, it is his");
}

#[test]
fn seed_001_ac2_the_refusal_says_who_has_it_and_since_when() {
    let mut desk = Desk::ready();
    desk.claim(ANA);
    let since = desk.now;
    desk.now = desk.now + Span::from_secs(60);
    let Err(Refused::Lease(lease::Refused::HeldBy { grant, .. })) = claim(&mut desk, LUIS) else {
        panic!("not refused");
    };
    assert_eq!((grant.holder.name.as_str(), grant.locked_at), ("«ana»", since));
}

#[test]
fn seed_001_ac3_every_heartbeat_renews_for_three_minutes() {
    let mut desk = Desk::ready();
    let fence = desk.claim(ANA);
    for _ in 0..30 {
        desk.now = desk.now + Span::from_secs(10);
        assert_eq!(beat(&mut desk, fence, Span::ZERO), Ok(Outcome::Lease(lease::Outcome::Beat(Beat::Renewed))));
        let ends = desk.lease.grant.as_ref().expect("held").expires_at;
        assert_eq!(ends, desk.now + Span::from_secs(180));
    }
}

#[test]
fn seed_001_ac4_who_is_idle_for_two_minutes_is_not_renewed_and_loses_it_by_the_ttl() {
    let mut desk = Desk::ready();
    let fence = desk.claim(ANA);
    let ends = desk.lease.grant.as_ref().expect("held").expires_at;
    desk.now = desk.now + Span::from_secs(120);
    let idle = beat(&mut desk, fence, Span::from_secs(120));
    assert_eq!(idle, Ok(Outcome::Lease(lease::Outcome::Beat(Beat::Idle))));
    assert_eq!(desk.lease.grant.as_ref().expect("still hers").expires_at, ends);
    desk.now = ends;
    assert!(lost(&beat(&mut desk, fence, Span::ZERO)), "too late: activity brings nothing back");
}

#[test]
fn seed_001_ac5_an_expired_lock_can_be_claimed_and_not_a_moment_before() {
    let mut desk = Desk::ready();
    let hers = desk.claim(ANA);
    desk.now = desk.lease.grant.as_ref().expect("held").expires_at + Span(-1);
    assert!(claim(&mut desk, LUIS).is_err());
    desk.now = desk.now + Span(1);
    let his = desk.claim(LUIS);
    assert!(his > hers);
}

#[test]
fn seed_001_ac6_whoever_lost_it_changes_nothing_and_is_told_how() {
    let mut desk = Desk::ready();
    let fence = desk.claim(ANA);
    desk.now = desk.now + Span::from_secs(180);
    let before = desk.task.clone();
    let refused = desk.ask(ANA, quantity(1, fence, 7));
    let Err(Refused::Lease(lease::Refused::Lost { ending: Some(ending) })) = refused else {
        panic!("not told: {refused:?}");
    };
    assert_eq!(ending.cause.as_str(), "no_heartbeat");
    assert_eq!(desk.task, before);
}

#[test]
fn seed_001_ac7_finalizing_leaves_no_lock_behind() {
    let mut desk = Desk::ready();
    let fence = desk.claim(ANA);
    let lines = vec![(1, desk.step(fence, 1, Ok(()))), (2, desk.step(fence, 2, Ok(())))];
    desk.ask(ANA, Action::Close { fence, lines }).expect("finalized");
    assert_eq!((desk.status(), desk.lease.grant.as_ref()), (Status::Completed, None));
}

#[test]
fn seed_000_overrides_end_any_ownership_are_audited_and_may_be_repeated() {
    let mut desk = Desk::ready();
    let hers = desk.claim(ANA);
    let force = |desk: &mut Desk| on_lock(desk, LUIS, OnLease::ForceRelease { reason: "urge".to_owned(), fence: None });
    let changed = |changed| Ok(Outcome::Lease(lease::Outcome::ForceReleased { changed }));
    assert_eq!(force(&mut desk), changed(true));
    assert_eq!(force(&mut desk), changed(false), "idempotent");
    assert!(lost(&desk.ask(ANA, quantity(1, hers, 7))));
    let take = |desk: &mut Desk| {
        on_lock(desk, LUIS, OnLease::ForceClaim { reason: "urge".to_owned(), fence: None }).expect("taken")
    };
    take(&mut desk);
    let his = desk.lease.grant.as_ref().expect("held").fence;
    take(&mut desk);
    assert_eq!(desk.lease.grant.as_ref().expect("held").fence, his, "a renewal keeps the fence");
    let audit: Vec<_> = desk.audit.iter().map(|entry| entry.action).collect();
    assert_eq!(audit, ["lock_force_release", "lock_force_release", "lock_force_claim", "lock_force_claim"]);
}

#[test]
fn seed_000_an_applied_line_is_skipped_by_every_later_finalize() {
    let mut desk = Desk::ready();
    let first = desk.claim(ANA);
    desk.step(first, 1, Ok(()));
    on_lock(&mut desk, ANA, OnLease::Release { fence: first, claim: None }).expect("given back");
    let second = desk.claim(LUIS);
    assert_eq!(desk.begin(LUIS, second, 1), Begin::Settled(LineOutcome::Skipped));
    assert_eq!(desk.begin(LUIS, second, 2), Begin::Go, "the control: what was not applied is applied");
}
