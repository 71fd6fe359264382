//! Tests of probes: an exhausted item is handed out to find out whether its destination works again.

use super::shelf::Shelf;
use crate::queue::{
    Act, Ended, ItemState, Kind, Last, Manage, ManageAnswer, ManageRefused, Policy, Probe, SettleOutcome,
};

fn exhausted() -> Shelf {
    let mut shelf = Shelf::holding(Policy { max_attempts: 1, ..Policy::for_kind(Kind::Sync) }, &["1"]);
    let delivery = shelf.claim(1).remove(0);
    assert_eq!(shelf.fail(&delivery, None), SettleOutcome::Exhausted);
    shelf
}

fn probe(shelf: &mut Shelf) -> Probe {
    match shelf.manage("1", Manage::Probe { taker: "pusher-1".into() }) {
        Ok(ManageAnswer::Probing(probe)) => probe,
        other => panic!("{other:?}"),
    }
}

#[test]
fn failed_probe_leaves_the_item_exhausted() {
    let mut shelf = exhausted();
    let errors = shelf.errors.len();
    for _ in 0..3 {
        let fence = shelf.hot[0].fence;
        let probe = probe(shelf.pass(1_000));
        assert!(probe.reference.fence > fence, "each hand-out raises the fence");
        assert_eq!((probe.attempt, probe.expires_at), (1, shelf.now + shelf.policy.lock_timeout));
        assert!(shelf.claim(1).is_empty(), "no claim gets the item meanwhile");
        assert_eq!(shelf.manage("1", Manage::Revive), Err(ManageRefused::Waiting));
        let act = Act::Park { error: Some("HTTP 503".to_owned()) };
        assert_eq!(shelf.settle_handed(probe.reference, act), SettleOutcome::Returned);
        let item = &shelf.hot[0];
        assert_eq!((item.state(shelf.now), item.attempt, item.parked), (ItemState::Exhausted, 1, true));
    }
    assert_eq!(shelf.errors.len(), errors, "a probe is not an attempt");
    assert_eq!(shelf.came_back.last().map(|back| back.how), Some(Last::Returned), "the error is stored");
}

#[test]
fn successful_probe_finishes_the_item() {
    let mut shelf = exhausted();
    assert_eq!(shelf.manage("1", Manage::Probed), Err(ManageRefused::Waiting), "no probe is under way");
    let probe = probe(&mut shelf);
    assert_eq!(shelf.manage("1", Manage::Probed), Ok(ManageAnswer::Probed));
    assert_eq!(shelf.settle_handed(probe.reference, Act::Ack { through: None }), SettleOutcome::Acked);
    assert_eq!(shelf.done[0].ended, Ended::Processed);
    assert_eq!(shelf.manage("1", Manage::Probe { taker: "x".into() }), Err(ManageRefused::Finished));
}

#[test]
fn change_during_a_probe_is_queued_after_it() {
    let mut shelf = exhausted();
    let probe = probe(&mut shelf);
    shelf.put("ana", "2");
    assert_eq!(shelf.settle_handed(probe.reference, Act::Park { error: None }), SettleOutcome::Superseded);
    assert_eq!(shelf.claim(1).remove(0).attempt, 1, "with all its attempts");
}

#[test]
fn expired_probe_leaves_the_item_exhausted() {
    let mut shelf = exhausted();
    probe(&mut shelf);
    let lock = shelf.policy.lock_timeout;
    shelf.pass(lock.0);
    assert_eq!(shelf.manage("1", Manage::Probed), Err(ManageRefused::Waiting), "the probe has expired");
    assert_eq!((shelf.hot[0].parked, shelf.hot[0].attempt), (true, 1));
}

#[test]
fn probe_of_an_item_that_is_not_exhausted_is_refused() {
    let mut shelf = Shelf::holding(Policy::for_kind(Kind::Sync), &["1"]);
    let command = || Manage::Probe { taker: "pusher-1".into() };
    assert_eq!(shelf.manage("1", command()), Err(ManageRefused::Waiting));
    assert_eq!(shelf.manage("2", command()), Err(ManageRefused::Unknown));
}
