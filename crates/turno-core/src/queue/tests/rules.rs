//! One test per rule of a queue.

use super::super::*;
use super::shelf::Shelf;
use crate::id::Seq;
use crate::limits::BACKOFF_MAX;
use crate::time::Span;

fn lane() -> Policy {
    Policy::for_kind(Kind::Lane)
}

/// A lane without a window, one item at a time.
fn strict() -> Policy {
    Policy { window: Span::ZERO, batch_max: 1, ..lane() }
}

/// A lane without a window that hands out all waiting items as one group.
fn eager() -> Policy {
    Policy { window: Span::ZERO, ..lane() }
}

fn ids(shelf: &Shelf, delivery: &Delivery) -> String {
    shelf.ids(delivery).join(" ")
}

#[test]
fn items_of_a_key_are_handed_out_in_arrival_order_one_at_a_time() {
    let mut shelf = Shelf::holding(strict(), &["1", "2", "3"]);
    for id in ["1", "2", "3"] {
        let delivery = shelf.claim_one();
        assert_eq!(ids(&shelf, &delivery), id);
        assert!(shelf.claim(5).is_empty(), "one delivery in flight per key");
        assert_eq!(shelf.ack(&delivery), SettleOutcome::Acked);
    }
}

#[test]
fn delivery_of_one_key_does_not_block_other_keys() {
    let mut shelf = Shelf::holding(strict(), &["a1", "a2"]);
    shelf.put("luis", "l1");
    assert_eq!(shelf.claim(5).len(), 2);
}

#[test]
fn items_within_a_window_are_handed_out_together_when_it_ends() {
    let mut shelf = Shelf::holding(lane(), &["hola"]);
    shelf.pass(2_000).put("ana", "disponibilidad");
    shelf.pass(2_999);
    assert!(shelf.claim(1).is_empty(), "each message restarts the window");
    shelf.pass(1);
    let delivery = shelf.claim_one();
    assert_eq!(ids(&shelf, &delivery), "hola disponibilidad");
}

#[test]
fn max_wait_ends_a_window_that_new_items_keep_open() {
    let mut shelf = Shelf::holding(lane(), &["0"]);
    for n in 1..=14 {
        assert!(shelf.pass(2_000).claim(1).is_empty(), "still within the window");
        shelf.put("ana", &n.to_string());
    }
    shelf.pass(1_999);
    assert!(shelf.claim(1).is_empty());
    shelf.pass(1);
    assert_eq!(shelf.claim_one().items.len(), 15, "due 30 s after the first item");
}

#[test]
fn a_full_batch_is_due_at_once() {
    let mut shelf = Shelf::holding(Policy { batch_max: 3, ..lane() }, &["1", "2"]);
    assert!(shelf.claim(1).is_empty());
    shelf.put("ana", "3");
    let delivery = shelf.claim_one();
    assert_eq!(ids(&shelf, &delivery), "1 2 3");
}

#[test]
fn item_that_arrives_after_the_hand_out_does_not_join_its_retry() {
    let mut shelf = Shelf::holding(eager(), &["1"]);
    let delivery = shelf.claim_one();
    shelf.put("ana", "2");
    assert_eq!(shelf.fail(&delivery, None), SettleOutcome::Retrying { retry_at: shelf.now });
    let again = shelf.claim_one();
    assert_eq!(ids(&shelf, &again), "1", "newer items do not join a group that was handed out");
    shelf.ack(&again);
    let next = shelf.claim_one();
    assert_eq!(ids(&shelf, &next), "2");
}

#[test]
fn failing_item_of_a_group_exhausts_only_itself() {
    let mut shelf = Shelf::holding(eager(), &["1", "bad", "3"]);
    for _ in 0..2 {
        let delivery = shelf.claim_one();
        assert_eq!(ids(&shelf, &delivery), "1 bad 3", "the group stays together");
        shelf.fail(&delivery, None);
    }
    let mut order = Vec::new();
    while let Some(delivery) = shelf.claim(1).pop() {
        assert_eq!(delivery.items.len(), 1, "from the third attempt on one by one");
        let id = ids(&shelf, &delivery);
        if id == "bad" {
            shelf.fail(&delivery, None)
        } else {
            shelf.ack(&delivery)
        };
        order.push(id);
    }
    assert_eq!(order.join(" "), "1 bad bad bad 3");
    let exhausted: Vec<_> = shelf.done.iter().filter(|done| done.ended == Ended::Exhausted).collect();
    assert_eq!((exhausted.len(), exhausted[0].attempt), (1, 5));
}

#[test]
fn partial_ack_returns_the_rest_untried() {
    let mut shelf = Shelf::holding(eager(), &["1", "2", "3"]);
    let delivery = shelf.claim_one();
    let through = Some(ItemId::new("1").expect("valid"));
    assert_eq!(shelf.settle(&delivery, Act::Ack { through }), SettleOutcome::Acked);
    let rest = shelf.claim_one();
    assert_eq!((ids(&shelf, &rest).as_str(), rest.attempt), ("2 3", 1));
}

#[test]
fn failing_one_item_finishes_those_before_and_returns_those_after_it() {
    let mut shelf = Shelf::holding(eager(), &["1", "2", "3"]);
    let delivery = shelf.claim_one();
    shelf.fail(&delivery, Some("2"));
    assert_eq!(shelf.done.len(), 1);
    let rest = shelf.claim_one();
    assert_eq!(rest.items.iter().map(|(_, attempt)| *attempt).collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn settlement_that_names_an_item_outside_the_delivery_changes_nothing() {
    let mut shelf = Shelf::holding(eager(), &["1"]);
    let delivery = shelf.claim_one();
    let before = shelf.hot.clone();
    let through = Some(ItemId::new("other").expect("valid"));
    assert_eq!(shelf.settle(&delivery, Act::Ack { through }), SettleOutcome::NotInDelivery);
    assert_eq!(shelf.hot, before);
}

#[test]
fn a_stale_settlement_changes_nothing() {
    let mut shelf = Shelf::holding(strict(), &["1", "2"]);
    let old = shelf.claim_one();
    shelf.pass(15_000);
    let before = (shelf.hot.clone(), shelf.done.clone(), shelf.errors.clone());
    for act in [Act::Ack { through: None }, Act::Return { error: None }, Act::Beat] {
        assert_eq!(shelf.settle(&old, act), SettleOutcome::Stale, "expired, though not taken back yet");
    }
    assert_eq!(before, (shelf.hot.clone(), shelf.done.clone(), shelf.errors.clone()));
    assert_eq!(shelf.settle(&old, Act::Expire), SettleOutcome::Expired);
    let new = shelf.claim_one();
    assert!(new.fence > old.fence);
    let before = shelf.hot.clone();
    assert_eq!(shelf.ack(&old), SettleOutcome::Stale);
    assert_eq!(shelf.hot, before);
}

#[test]
fn complete_needs_the_live_fence_but_not_a_live_delivery() {
    for late in [0, 15_000, 3_600_000] {
        let mut shelf = Shelf::holding(strict(), &["1", "2"]);
        let delivery = shelf.claim_one();
        shelf.pass(late);
        assert_eq!(shelf.settle(&delivery, Act::Complete), SettleOutcome::Acked, "after {late} ms");
        assert_eq!(shelf.settle(&delivery, Act::Complete), SettleOutcome::Stale, "only once");
        assert_eq!((shelf.done[0].ended, shelf.done[0].fence), (Ended::Processed, delivery.fence));
        assert_eq!(shelf.claim_one().attempt, 1, "the next item of the lane is due");
    }
}

#[test]
fn complete_after_the_delivery_was_taken_back_is_stale() {
    let mut shelf = Shelf::holding(strict(), &["1"]);
    let old = shelf.claim_one();
    shelf.pass(15_000);
    assert_eq!(shelf.settle(&old, Act::Expire), SettleOutcome::Expired);
    assert_eq!(shelf.settle(&old, Act::Complete), SettleOutcome::Stale, "the item waits");
    let new = shelf.claim_one();
    assert_eq!(shelf.settle(&old, Act::Complete), SettleOutcome::Stale, "another worker has the item");
    assert_eq!(shelf.settle(&new, Act::Complete), SettleOutcome::Acked);
}

#[test]
fn expire_of_a_live_or_finished_delivery_is_stale() {
    let mut shelf = Shelf::holding(strict(), &["1"]);
    let delivery = shelf.claim_one();
    assert_eq!(shelf.settle(&delivery, Act::Expire), SettleOutcome::Stale, "the delivery has not expired");
    shelf.ack(&delivery);
    shelf.pass(60_000);
    assert_eq!(shelf.settle(&delivery, Act::Expire), SettleOutcome::Stale, "the item is finished");
}

#[test]
fn expired_delivery_counts_as_an_attempt_and_is_due_at_once() {
    let mut shelf = Shelf::holding(strict(), &["1"]);
    for attempt in 1..=5 {
        let delivery = shelf.claim_one();
        assert_eq!(delivery.attempt, attempt);
        shelf.pass(15_000);
        assert_eq!(shelf.settle(&delivery, Act::Expire), SettleOutcome::Expired);
    }
    assert!(shelf.claim(1).is_empty());
    assert_eq!((shelf.done[0].ended, shelf.errors.len()), (Ended::Exhausted, 5));
}

#[test]
fn a_return_takes_the_attempt_back() {
    let mut shelf = Shelf::holding(strict(), &["1"]);
    for _ in 0..20 {
        let delivery = shelf.claim_one();
        assert_eq!(delivery.attempt, 1);
        assert_eq!(shelf.settle(&delivery, Act::Return { error: None }), SettleOutcome::Returned);
    }
}

#[test]
fn each_hand_out_raises_the_fence() {
    let mut shelf = Shelf::new(Policy::for_kind(Kind::Inbox));
    shelf.put("any", "1");
    let mut last = Fence(0);
    for _ in 0..5 {
        let delivery = shelf.claim_one();
        assert!(delivery.fence > last);
        last = delivery.fence;
        shelf.fail(&delivery, None);
    }
}

#[test]
fn failed_head_blocks_its_key_until_its_retry() {
    let mut shelf = Shelf::holding(strict(), &["1", "2"]);
    let delivery = shelf.claim_one();
    let act = Act::Fail { error: "x".to_owned(), item: None, retry_in: Some(Span(500)), give_up: false };
    shelf.settle(&delivery, act);
    assert!(shelf.claim(5).is_empty(), "the second does not overtake the first");
    shelf.pass(500);
    let again = shelf.claim_one();
    assert_eq!(ids(&shelf, &again), "1");
}

#[test]
fn heartbeat_extends_a_delivery_up_to_max_hold() {
    let mut shelf = Shelf::holding(Policy { max_hold: Some(Span::from_secs(20)), ..strict() }, &["1"]);
    let delivery = shelf.claim_one();
    let taken = shelf.now;
    shelf.pass(10_000);
    let end = taken + Span::from_secs(20);
    let renewed = |expires_at, limited_by| SettleOutcome::Renewed { expires_at, limited_by };
    assert_eq!(shelf.settle(&delivery, Act::Beat), renewed(end, None));
    shelf.pass(9_000);
    assert_eq!(shelf.settle(&delivery, Act::Beat), renewed(end, Some(LimitedBy::MaxHold)), "no further extension");
    shelf.pass(1_000);
    assert_eq!(shelf.settle(&delivery, Act::Beat), SettleOutcome::Stale);
}

#[test]
fn default_lane_delivery_lives_at_most_fifteen_seconds() {
    let mut shelf = Shelf::holding(Policy { window: Span::ZERO, ..lane() }, &["1"]);
    let delivery = shelf.claim_one();
    let limited_by = Some(LimitedBy::MaxHold);
    for pause in [0, 14_000] {
        shelf.pass(pause);
        let renewed = SettleOutcome::Renewed { expires_at: delivery.expires_at, limited_by };
        assert_eq!(shelf.settle(&delivery, Act::Beat), renewed, "after {pause} ms");
    }
}

#[test]
fn heartbeat_that_extends_too_little_to_write_is_not_limited_by_max_hold() {
    for max_hold in [None, Some(Span::from_secs(60))] {
        let mut shelf = Shelf::holding(Policy { max_hold, ..strict() }, &["1"]);
        let delivery = shelf.claim_one();
        shelf.pass(1);
        let unchanged = SettleOutcome::Renewed { expires_at: delivery.expires_at, limited_by: None };
        assert_eq!(shelf.settle(&delivery, Act::Beat), unchanged, "{max_hold:?}");
    }
}

#[test]
fn delayed_item_delays_its_lane() {
    let mut shelf = Shelf::new(strict());
    shelf.put_later("ana", "1", "1", Span(5_000));
    shelf.put("ana", "2");
    shelf.pass(4_999);
    assert!(shelf.claim(5).is_empty());
    shelf.pass(1);
    let delivery = shelf.claim_one();
    assert_eq!(ids(&shelf, &delivery), "1");
}

#[test]
fn lane_held_by_an_exhausted_head_waits_for_a_retry_or_cancel() {
    let mut shelf =
        Shelf::holding(Policy { on_exhausted: OnExhausted::Hold, max_attempts: 1, ..strict() }, &["1", "2"]);
    let delivery = shelf.claim_one();
    assert_eq!(shelf.fail(&delivery, None), SettleOutcome::Exhausted);
    shelf.pass(1_000_000);
    assert!(shelf.claim(5).is_empty());
    assert_eq!(shelf.manage("1", Manage::Retry), Ok(ManageAnswer::Retried));
    let again = shelf.claim_one();
    assert_eq!((ids(&shelf, &again).as_str(), again.attempt), ("1", 1));
    shelf.fail(&again, None);
    assert_eq!(shelf.manage("1", Manage::Cancel), Ok(ManageAnswer::Cancelled));
    let next = shelf.claim_one();
    assert_eq!(ids(&shelf, &next), "2");
}

#[test]
fn retried_item_goes_before_later_items() {
    let mut shelf = Shelf::holding(Policy { max_attempts: 1, ..strict() }, &["1", "2", "3"]);
    let first = shelf.claim_one();
    shelf.fail(&first, None);
    let second = shelf.claim_one();
    assert_eq!(ids(&shelf, &second), "2", "the lane goes on after exhaustion");
    assert_eq!(shelf.manage("1", Manage::Retry), Ok(ManageAnswer::Retried));
    assert!(shelf.claim(5).is_empty(), "still one in flight per key");
    shelf.ack(&second);
    let third = shelf.claim_one();
    assert_eq!(ids(&shelf, &third), "1");
    assert_eq!(shelf.manage("2", Manage::Retry), Err(ManageRefused::Finished));
    assert_eq!(shelf.manage("1", Manage::Retry), Err(ManageRefused::InProcess));
    assert_eq!(shelf.manage("1", Manage::Cancel), Err(ManageRefused::InProcess));
    assert_eq!(shelf.manage("9", Manage::Retry), Err(ManageRefused::Unknown));
}

#[test]
fn exhausted_keeps_payload_and_errors() {
    let mut shelf = Shelf::new(Policy { max_attempts: 2, ..Policy::for_kind(Kind::Inbox) });
    shelf.put("any", "1");
    for _ in 0..2 {
        let delivery = shelf.claim_one();
        shelf.fail(&delivery, None);
    }
    assert_eq!(shelf.done[0].ended, Ended::Exhausted);
    assert_eq!(shelf.errors.iter().map(|error| error.attempt).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(&*shelf.bodies[0].payload, "1");
}

#[test]
fn giving_up_exhausts_at_the_first_failure() {
    let mut shelf = Shelf::new(Policy::for_kind(Kind::Inbox));
    shelf.put("any", "1");
    let delivery = shelf.claim_one();
    let act = Act::Fail { error: "never".to_owned(), item: None, retry_in: None, give_up: true };
    assert_eq!(shelf.settle(&delivery, act), SettleOutcome::Exhausted);
}

#[test]
fn back_off_doubles_within_its_bounds_with_jitter() {
    let policy = Policy::for_kind(Kind::Inbox);
    for attempt in 1..40 {
        let nominal = (1_000i64 << (attempt - 1).min(22)).min(BACKOFF_MAX.0);
        let wait = policy.backoff_after(Seq(7), attempt as u32).0;
        let most = (nominal + nominal / 4).min(BACKOFF_MAX.0);
        assert!((nominal..=most).contains(&wait), "attempt {attempt}: {wait}");
    }
    let long = Policy { backoff: Span(2 * BACKOFF_MAX.0), ..policy };
    assert_eq!(long.backoff_after(Seq(7), 9), long.backoff, "a longer configured back-off is used as it is");
    assert_ne!(policy.backoff_after(Seq(7), 3), policy.backoff_after(Seq(8), 3));
}

fn sync() -> Policy {
    Policy::for_kind(Kind::Sync)
}

#[test]
fn newer_change_replaces_the_waiting_item() {
    let mut shelf = Shelf::new(sync());
    shelf.put("idper-1", "a");
    let id = ItemId::new("a").expect("valid");
    assert_eq!(shelf.put("idper-1", "b"), Accepted::Coalesced { id });
    let delivery = shelf.claim_one();
    assert_eq!(&*shelf.bodies[0].payload, "b");
    assert_eq!(shelf.ack(&delivery), SettleOutcome::Acked);
    assert_eq!(shelf.put("idper-1", "c"), Accepted::Queued, "a processed item is not replaced");
    assert!(shelf.claim_one().revision > delivery.revision, "revisions never decrease");
}

#[test]
fn change_during_a_delivery_is_handed_out_after_it_is_settled() {
    let mut shelf = Shelf::new(sync());
    shelf.put("idper-1", "a");
    let old = shelf.claim_one();
    shelf.put("idper-1", "b");
    assert_eq!(shelf.hot[0].attempt, 0, "shown as pending with no attempts");
    assert!(shelf.claim(5).is_empty(), "two workers could deliver the old state last");
    assert_eq!(shelf.ack(&old), SettleOutcome::Superseded);
    let new = shelf.claim_one();
    assert!(new.revision > old.revision);
    assert_eq!(shelf.ack(&new), SettleOutcome::Acked);
}

#[test]
fn failure_of_an_older_change_is_superseded() {
    let mut shelf = Shelf::new(sync());
    shelf.put("idper-1", "a");
    let old = shelf.claim_one();
    shelf.put("idper-1", "b");
    assert_eq!(shelf.fail(&old, None), SettleOutcome::Superseded);
    assert_eq!(shelf.claim_one().attempt, 1);
}

#[test]
fn newer_change_ends_back_off_and_revives_an_exhausted_item() {
    let mut shelf = Shelf::new(sync());
    shelf.put("idper-1", "a");
    let delivery = shelf.claim_one();
    let act =
        Act::Fail { error: "down".to_owned(), item: None, retry_in: Some(Span::from_secs(3_000)), give_up: false };
    shelf.settle(&delivery, act);
    shelf.put("idper-1", "b");
    for attempt in 1..=5 {
        let delivery = shelf.claim_one();
        assert_eq!(delivery.attempt, attempt, "the attempts start again");
        shelf.fail(&delivery, None);
    }
    assert!(shelf.hot[0].parked);
    assert!(shelf.claim(5).is_empty());
    shelf.put("idper-1", "c");
    assert_eq!(shelf.claim_one().attempt, 1);
}

#[test]
fn change_during_a_delivery_survives_its_expiry() {
    let mut shelf = Shelf::new(sync());
    shelf.put("idper-1", "a");
    let old = shelf.claim_one();
    shelf.put("idper-1", "b");
    shelf.pass(60_000);
    assert_eq!(shelf.settle(&old, Act::Expire), SettleOutcome::Expired);
    let new = shelf.claim_one();
    assert!(new.revision > old.revision && new.attempt == 1);
}

#[test]
fn retry_of_one_exhausted_item_leaves_the_others_exhausted() {
    let mut shelf = Shelf::holding(Policy { on_exhausted: OnExhausted::Hold, ..eager() }, &["1", "2", "3"]);
    let delivery = shelf.claim_one();
    let act = Act::Fail { error: "never".to_owned(), item: None, retry_in: None, give_up: true };
    assert_eq!(shelf.settle(&delivery, act), SettleOutcome::Exhausted);
    assert_eq!(shelf.manage("1", Manage::Retry), Ok(ManageAnswer::Retried));
    let again = shelf.claim_one();
    assert_eq!(ids(&shelf, &again), "1", "the others are still exhausted");
    shelf.ack(&again);
    assert!(shelf.claim(5).is_empty());
}
