//! What has expired is over for whoever asks, whether or not the sweep has come by.

use super::shelf::Shelf;
use crate::queue::{
    Act, Ended, ItemState, Kind, Last, Manage, ManageAnswer, ManageRefused, OnExhausted, Policy, SettleOutcome,
};
use crate::time::Span;

fn strict(kind: Kind, max_attempts: u32, on_exhausted: OnExhausted) -> Policy {
    Policy { window: Span::ZERO, batch_max: 2, max_attempts, on_exhausted, ..Policy::of(kind) }
}

/// A shelf with `a`, `b` and `c` of one key, the first of them handed out until it was over.
fn expired(policy: Policy) -> Shelf {
    let mut shelf = Shelf::new(policy);
    ["a", "b", "c"].into_iter().for_each(|id| drop(shelf.put("ana", id)));
    shelf.claim_one();
    shelf.pass(60_000);
    shelf
}

#[test]
fn what_has_expired_is_cancelled_as_if_it_had_been_taken_back() {
    for kind in [Kind::Lane, Kind::Inbox] {
        let mut shelf = expired(strict(kind, 5, OnExhausted::Continue));
        assert_eq!(shelf.manage("a", Manage::Cancel), Ok(ManageAnswer::Cancelled), "{kind:?}");
        assert_eq!((shelf.done[0].ended, shelf.done[0].handed_at), (Ended::Cancelled, None), "nobody had it any more");
        assert!(shelf.errors.iter().any(|error| error.seq == shelf.done[0].seq && error.is_expiry()), "{kind:?}");
        let next = shelf.claim_one();
        assert_eq!(shelf.ids(&next)[0], "b", "{kind:?}: and its lane goes on");
    }
}

#[test]
fn a_neighbour_is_managed_as_if_the_expired_delivery_had_been_taken_back() {
    let mut shelf = expired(strict(Kind::Lane, 5, OnExhausted::Continue));
    assert_eq!(shelf.manage("c", Manage::Cancel), Ok(ManageAnswer::Cancelled));
    assert!(shelf.hot.iter().all(|item| item.expires_at.is_none() && item.last == Last::Expired));
    let again = shelf.claim_one();
    assert_eq!(shelf.ids(&again), ["a", "b"], "the group as it was");
}

#[test]
fn the_last_attempt_that_expired_is_exhausted_for_whoever_wants_anything_of_it() {
    for kind in [Kind::Lane, Kind::Inbox] {
        let mut shelf = expired(strict(kind, 1, OnExhausted::Continue));
        assert_eq!(shelf.manage("a", Manage::Cancel), Err(ManageRefused::Finished), "{kind:?}");
        assert_eq!(shelf.done[0].ended, Ended::Exhausted);
        let mut shelf = expired(strict(kind, 1, OnExhausted::Continue));
        assert_eq!(shelf.manage("a", Manage::Retry), Ok(ManageAnswer::Retried), "{kind:?}");
        let spent =
            shelf.errors.iter().find(|error| error.seq == shelf.bodies[0].seq).expect("it is kept what happened");
        assert!(spent.is_expiry() && spent.retry_at.is_none(), "{kind:?}");
        let got = shelf.claim(3);
        let again = got.iter().find(|got| shelf.ids(got) == ["a"]).expect("alone");
        assert_eq!(again.attempt, 1, "{kind:?}: from the beginning");
    }
    let mut held = expired(strict(Kind::Lane, 1, OnExhausted::Hold));
    assert_eq!(held.manage("c", Manage::Retry), Err(ManageRefused::Waiting));
    assert!(held.hot.iter().any(|item| item.parked), "refused, and yet what was over is written down");
    assert_eq!(held.manage("a", Manage::Retry), Ok(ManageAnswer::Retried));
}

#[test]
fn an_expired_item_waits_already_and_a_changed_one_may_be_taken_out() {
    let mut shelf = expired(strict(Kind::Lane, 5, OnExhausted::Continue));
    assert_eq!(shelf.manage("a", Manage::Retry), Err(ManageRefused::Waiting));
    let mut sync = Shelf::new(Policy::of(Kind::Sync));
    sync.put("ana", "a");
    sync.claim_one();
    sync.put("ana", "b");
    assert_eq!(sync.manage("a", Manage::Cancel), Err(ManageRefused::Changing));
    sync.pass(60_000);
    assert_eq!(sync.manage("a", Manage::Cancel), Ok(ManageAnswer::Cancelled));
}

#[test]
fn what_still_lives_or_is_being_completed_is_in_process() {
    let mut shelf = Shelf::new(strict(Kind::Inbox, 1, OnExhausted::Continue));
    shelf.put("ana", "a");
    let got = shelf.claim_one();
    shelf.pass(59_999);
    assert_eq!(shelf.manage("a", Manage::Cancel), Err(ManageRefused::InProcess), "a millisecond is left");
    shelf.pass(1);
    shelf.spared = vec![got.fence];
    assert_eq!(shelf.manage("a", Manage::Cancel), Err(ManageRefused::InProcess), "an application has it");
    assert_eq!(shelf.settle(&got, Act::Complete), SettleOutcome::Acked);
}

#[test]
fn whoever_looks_sees_what_the_sweep_would_write() {
    for (max_attempts, on_exhausted) in
        [(5, OnExhausted::Continue), (1, OnExhausted::Continue), (1, OnExhausted::Hold), (5, OnExhausted::Hold)]
    {
        let policy = strict(Kind::Lane, max_attempts, on_exhausted);
        let mut shelf = Shelf::new(policy.clone());
        shelf.put("ana", "a");
        let got = shelf.claim_one();
        assert_eq!(shelf.hot[0].lapsed(&policy, shelf.now), None, "it lives");
        shelf.pass(15_000);
        let seen = shelf.hot[0].lapsed(&policy, shelf.now).expect("its time is over");
        assert_eq!(shelf.settle(&got, Act::Expire), SettleOutcome::Expired);
        let state = seen.item.as_ref().map(|item| item.state(shelf.now));
        assert_eq!(state, shelf.hot.first().map(|item| item.state(shelf.now)));
        assert_eq!(seen.done, shelf.done.first().cloned());
        assert_eq!(seen.error.as_ref(), shelf.errors.last());
        let shown = state.or(seen.done.map(|done| done.ended.into()));
        assert_eq!(shown, Some(if max_attempts == 1 { ItemState::Exhausted } else { ItemState::Error }));
    }
}
