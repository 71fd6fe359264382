//! Tests of overrides, of disabling a holder, and of pinned leases.

use super::*;
use crate::audit::AuditAction;

fn ask(state: &mut State, user: &str, via: Option<&str>, action: Action, now: i64) -> Decision {
    let via = via.map(|via| UserId::new(via).expect("valid"));
    let command =
        Command { resource: state.resource.clone(), who: holder(user), via, policy: Policy::default(), action };
    decide(state, &command, Time(now), &mut Numbers::new(vec![now]))
}

fn claim() -> Action {
    Action::Claim { ttl: None, wait: false }
}

fn held_by_ana() -> State {
    let mut state = State::unseen(Resource::new("caja:1").expect("valid"));
    assert!(ask(&mut state, "ana", None, claim(), 1_000).answer.is_ok());
    state
}

fn forced(reason: &str) -> Action {
    Action::ForceClaim { reason: reason.to_owned(), fence: None }
}

#[test]
fn override_audit_entry_names_actor_reason_and_ended_ownership() {
    let mut state = held_by_ana();
    let decision = ask(&mut state, "eva", Some("portal"), forced("se fue"), 2_000);
    let [entry] = &decision.audit[..] else { panic!("one entry: {:?}", decision.audit) };
    assert_eq!((entry.action, entry.resource.as_str()), (AuditAction::LockForceClaim, "caja:1"));
    assert_eq!(entry.actor.via.as_ref().map(UserId::as_str), Some("portal"));
    let detail: serde_json::Value = serde_json::from_str(&entry.detail).expect("JSON");
    let expected = serde_json::json!(
        {"reason": "se fue", "changed": true, "holder_before": "ana", "fence_before": 1000, "fence": 2000});
    assert_eq!(detail, expected);
}

#[test]
fn override_with_a_fence_never_ends_a_later_ownership() {
    let (ended_fence, reason) = (Some(Fence(1_000)), || "se fue".to_owned());
    let take = || Action::ForceClaim { reason: reason(), fence: ended_fence };
    let free = || Action::ForceRelease { reason: reason(), fence: ended_fence };
    for action in [take(), free()] {
        let mut state = held_by_ana();
        assert!(ask(&mut state, "eva", None, action.clone(), 2_000).answer.is_ok(), "the named ownership is live");
        let mut state = held_by_ana();
        ask(&mut state, "ana", None, Action::Release { fence: Fence(1_000), claim: None }, 2_000);
        ask(&mut state, "beto", None, claim(), 3_000);
        let before = state.clone();
        let late = ask(&mut state, "eva", None, action, 4_000);
        assert!(matches!(late.answer, Err(Refused::HeldBy { grant, .. }) if grant.holder == holder("beto")));
        assert_eq!(
            (state.grant, late.audit.len(), late.ended.len()),
            (before.grant, 0, 0),
            "the refused override changed nothing"
        );
    }
    let mut state = held_by_ana();
    ask(&mut state, "ana", None, Action::Release { fence: Fence(1_000), claim: None }, 2_000);
    assert_eq!(ask(&mut state, "eva", None, free(), 3_000).answer, Ok(Outcome::ForceReleased { changed: false }));
    assert!(
        ask(&mut state, "eva", None, take(), 4_000).answer.is_ok(),
        "the resource is free, so no holder is affected"
    );
    assert!(ask(&mut state, "eva", None, take(), 5_000).answer.is_ok(), "a repeat renews the caller's own lease");
}

#[test]
fn override_that_changes_nothing_is_audited() {
    let mut state = held_by_ana();
    let renewed = ask(&mut state, "ana", None, forced("por si acaso"), 2_000);
    assert_eq!(renewed.answer, Ok(Outcome::Claimed { renewed: true }));
    assert_eq!(state.grant.as_ref().map(|grant| grant.fence), Some(Fence(1_000)), "a renewal keeps the fence");
    let release = || Action::ForceRelease { reason: "fin".to_owned(), fence: None };
    assert_eq!(ask(&mut state, "eva", None, release(), 3_000).answer, Ok(Outcome::ForceReleased { changed: true }));
    let nothing = ask(&mut state, "eva", None, release(), 4_000);
    assert_eq!(nothing.answer, Ok(Outcome::ForceReleased { changed: false }));
    for (decision, changed) in [(renewed, false), (nothing, false)] {
        let [entry] = &decision.audit[..] else { panic!("one entry each") };
        assert!(entry.detail.contains(&format!("\"changed\":{changed}")), "{}", entry.detail);
    }
}

#[test]
fn ordinary_lease_commands_write_no_audit_entry() {
    let mut state = held_by_ana();
    let fence = state.grant.as_ref().expect("held").fence;
    let beat = Action::Heartbeat { fence, idle: None, worked: true };
    for action in [claim(), beat, Action::RequestRelease { message: None }, Action::Release { fence, claim: None }] {
        assert_eq!(ask(&mut state, "ana", None, action, 1_500).audit, []);
    }
}

#[test]
fn expel_ends_only_the_lease_of_the_disabled_user() {
    let mut state = held_by_ana();
    let expel = |user: &str| Action::Expel { user: UserId::new(user).expect("valid") };
    let other = ask(&mut state, "eva", None, expel("luis"), 2_000);
    assert_eq!((other.answer, other.changed), (Ok(Outcome::ForceReleased { changed: false }), false));
    assert!(ask(&mut state, "eva", None, expel("ana"), 3_000).changed);
    let ending = state.ended.expect("over");
    assert_eq!((ending.reason, ending.cause), (Reason::Forced, Cause::UserDisabled));
    assert_eq!(ending.by.as_ref().map(UserId::as_str), Some("eva"));
}

#[test]
fn pinned_lease_is_renewed_but_neither_taken_nor_ended() {
    let mut state = State { pinned: true, ..held_by_ana() };
    let fence = state.grant.as_ref().expect("held").fence;
    let beat = || Action::Heartbeat { fence, idle: None, worked: false };
    assert!(ask(&mut state, "ana", None, beat(), 3_000).answer.is_ok());
    let release = Action::Release { fence, claim: None };
    let force_release = Action::ForceRelease { reason: "ya".to_owned(), fence: None };
    let expel = Action::Expel { user: UserId::new("ana").expect("valid") };
    for action in [release, force_release, expel] {
        let decision = ask(&mut state, "ana", None, action, 4_000);
        assert_eq!((decision.answer, decision.audit), (Err(Refused::Pinned), Vec::new()));
    }
    assert_eq!(ask(&mut state, "eva", None, forced("ya"), 4_000).answer, Err(Refused::Pinned));
    assert!(state.live(Time(4_000)).is_some(), "still ana's");
    let expired = 1_000_000;
    assert_eq!(
        ask(&mut state, "eva", None, claim(), expired).answer,
        Err(Refused::Pinned),
        "not even after the expiry"
    );
    assert!(ask(&mut state, "ana", None, beat(), expired).answer.is_err(), "an expired lease is not revived");
    state.pinned = false;
    assert!(ask(&mut state, "eva", None, claim(), expired).answer.is_ok());
}
