//! Tests of expired deliveries that no sweep has taken back: commands and reads treat them as taken back.

use super::shelf::Shelf;
use crate::queue::{
    Act, Ended, ItemState, Kind, Last, Manage, ManageAnswer, ManageRefused, OnExhausted, Policy, SettleOutcome,
};
use crate::time::Span;

fn strict(kind: Kind, max_attempts: u32, on_exhausted: OnExhausted) -> Policy {
    Policy { window: Span::ZERO, batch_max: 2, max_attempts, on_exhausted, ..Policy::for_kind(kind) }
}

/// Returns a shelf with `a`, `b` and `c` of one key, and an expired delivery of the first ones.
fn expired(policy: Policy) -> Shelf {
    let mut shelf = Shelf::new(policy);
    ["a", "b", "c"].into_iter().for_each(|id| drop(shelf.put("ana", id)));
    shelf.claim_one();
    shelf.pass(60_000);
    shelf
}

#[test]
fn cancel_of_an_expired_delivery_takes_it_back_first() {
    for kind in [Kind::Lane, Kind::Inbox] {
        let mut shelf = expired(strict(kind, 5, OnExhausted::Continue));
        assert_eq!(shelf.manage("a", Manage::Cancel), Ok(ManageAnswer::Cancelled), "{kind:?}");
        assert_eq!((shelf.done[0].ended, shelf.done[0].handed_at), (Ended::Cancelled, None), "no worker has it");
        assert!(shelf.errors.iter().any(|error| error.seq == shelf.done[0].seq && error.is_expiry()), "{kind:?}");
        let next = shelf.claim_one();
        assert_eq!(shelf.ids(&next)[0], "b", "{kind:?}: the next item is due");
    }
}

#[test]
fn command_about_another_item_of_the_lane_takes_the_expired_delivery_back() {
    let mut shelf = expired(strict(Kind::Lane, 5, OnExhausted::Continue));
    assert_eq!(shelf.manage("c", Manage::Cancel), Ok(ManageAnswer::Cancelled));
    assert!(shelf.hot.iter().all(|item| item.expires_at.is_none() && item.last == Last::Expired));
    let again = shelf.claim_one();
    assert_eq!(shelf.ids(&again), ["a", "b"], "the same group");
}

#[test]
fn item_whose_last_attempt_expired_counts_as_exhausted() {
    for kind in [Kind::Lane, Kind::Inbox] {
        let mut shelf = expired(strict(kind, 1, OnExhausted::Continue));
        assert_eq!(shelf.manage("a", Manage::Cancel), Err(ManageRefused::Finished), "{kind:?}");
        assert_eq!(shelf.done[0].ended, Ended::Exhausted);
        let mut shelf = expired(strict(kind, 1, OnExhausted::Continue));
        assert_eq!(shelf.manage("a", Manage::Retry), Ok(ManageAnswer::Retried), "{kind:?}");
        let spent = shelf.errors.iter().find(|error| error.seq == shelf.bodies[0].seq).expect("the error is stored");
        assert!(spent.is_expiry() && spent.retry_at.is_none(), "{kind:?}");
        let deliveries = shelf.claim(3);
        let again = deliveries.iter().find(|delivery| shelf.ids(delivery) == ["a"]).expect("alone");
        assert_eq!(again.attempt, 1, "{kind:?}: the attempts start again");
    }
    let mut held = expired(strict(Kind::Lane, 1, OnExhausted::Hold));
    assert_eq!(held.manage("c", Manage::Retry), Err(ManageRefused::Waiting));
    assert!(held.hot.iter().any(|item| item.parked), "the command is refused, but the expiry is stored");
    assert_eq!(held.manage("a", Manage::Retry), Ok(ManageAnswer::Retried));
}

#[test]
fn expired_item_needs_no_retry_and_a_changed_one_can_be_cancelled() {
    let mut shelf = expired(strict(Kind::Lane, 5, OnExhausted::Continue));
    assert_eq!(shelf.manage("a", Manage::Retry), Err(ManageRefused::Waiting));
    let mut sync = Shelf::new(Policy::for_kind(Kind::Sync));
    sync.put("ana", "a");
    sync.claim_one();
    sync.put("ana", "b");
    assert_eq!(sync.manage("a", Manage::Cancel), Err(ManageRefused::Changing));
    sync.pass(60_000);
    assert_eq!(sync.manage("a", Manage::Cancel), Ok(ManageAnswer::Cancelled));
}

#[test]
fn cancel_is_refused_while_the_delivery_is_live_or_being_completed() {
    let mut shelf = Shelf::holding(strict(Kind::Inbox, 1, OnExhausted::Continue), &["a"]);
    let delivery = shelf.claim_one();
    shelf.pass(59_999);
    assert_eq!(shelf.manage("a", Manage::Cancel), Err(ManageRefused::InProcess), "one millisecond before the expiry");
    shelf.pass(1);
    shelf.spared = vec![delivery.fence];
    assert_eq!(shelf.manage("a", Manage::Cancel), Err(ManageRefused::InProcess), "an application is completing it");
    assert_eq!(shelf.settle(&delivery, Act::Complete), SettleOutcome::Acked);
}

#[test]
fn read_of_an_expired_item_matches_what_the_sweep_writes() {
    for (max_attempts, on_exhausted) in
        [(5, OnExhausted::Continue), (1, OnExhausted::Continue), (1, OnExhausted::Hold), (5, OnExhausted::Hold)]
    {
        let policy = strict(Kind::Lane, max_attempts, on_exhausted);
        let mut shelf = Shelf::holding(policy.clone(), &["a"]);
        let delivery = shelf.claim_one();
        assert_eq!(shelf.hot[0].lapsed(&policy, shelf.now), None, "the delivery is live");
        shelf.pass(15_000);
        let seen = shelf.hot[0].lapsed(&policy, shelf.now).expect("the delivery has expired");
        assert_eq!(shelf.settle(&delivery, Act::Expire), SettleOutcome::Expired);
        let state = seen.item.as_ref().map(|item| item.state(shelf.now));
        assert_eq!(state, shelf.hot.first().map(|item| item.state(shelf.now)));
        assert_eq!(seen.done, shelf.done.first().cloned());
        assert_eq!(seen.error.as_ref(), shelf.errors.last());
        let final_state = state.or(seen.done.map(|done| done.ended.into()));
        assert_eq!(final_state, Some(if max_attempts == 1 { ItemState::Exhausted } else { ItemState::Error }));
    }
}
