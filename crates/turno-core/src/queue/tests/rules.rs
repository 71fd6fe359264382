//! The rules, one by one.

use super::super::*;
use super::shelf::Shelf;
use crate::id::Seq;
use crate::limits::BACKOFF_MAX;
use crate::time::Span;

fn lane() -> Policy {
    Policy::of(Kind::Lane)
}

/// A lane without a window, one item at a time.
fn strict() -> Policy {
    Policy { window: Span::ZERO, batch_max: 1, ..lane() }
}

/// A lane without a window that hands out what is there.
fn eager() -> Policy {
    Policy { window: Span::ZERO, ..lane() }
}

fn ids(shelf: &Shelf, delivery: &Delivery) -> String {
    shelf.ids(delivery).join(" ")
}

#[test]
fn items_of_a_key_are_handed_out_in_arrival_order_one_at_a_time() {
    let mut shelf = Shelf::new(strict());
    for id in ["1", "2", "3"] {
        shelf.put("ana", id);
    }
    for id in ["1", "2", "3"] {
        let got = shelf.claim_one();
        assert_eq!(ids(&shelf, &got), id);
        assert!(shelf.claim(5).is_empty(), "one delivery in flight per key");
        assert_eq!(shelf.ack(&got), SettleOutcome::Acked);
    }
}

#[test]
fn other_keys_do_not_wait() {
    let mut shelf = Shelf::new(strict());
    shelf.put("ana", "a1");
    shelf.put("ana", "a2");
    shelf.put("luis", "l1");
    assert_eq!(shelf.claim(5).len(), 2);
}

#[test]
fn messages_within_the_window_are_handed_over_together_and_not_before() {
    let mut shelf = Shelf::new(lane());
    shelf.put("ana", "hola");
    shelf.pass(2_000).put("ana", "disponibilidad");
    shelf.pass(2_999);
    assert!(shelf.claim(1).is_empty(), "each message restarts the window");
    shelf.pass(1);
    let got = shelf.claim_one();
    assert_eq!(ids(&shelf, &got), "hola disponibilidad");
}

#[test]
fn max_wait_ends_a_window_that_is_stretched_for_ever() {
    let mut shelf = Shelf::new(lane());
    shelf.put("ana", "0");
    for n in 1..=14 {
        assert!(shelf.pass(2_000).claim(1).is_empty(), "still within the window");
        shelf.put("ana", &n.to_string());
    }
    shelf.pass(1_999);
    assert!(shelf.claim(1).is_empty());
    shelf.pass(1);
    assert_eq!(shelf.claim_one().items.len(), 15, "30 s after the first message it is due, whatever came since");
}

#[test]
fn a_full_batch_is_due_at_once() {
    let mut shelf = Shelf::new(Policy { batch_max: 3, ..lane() });
    shelf.put("ana", "1");
    shelf.put("ana", "2");
    assert!(shelf.claim(1).is_empty());
    shelf.put("ana", "3");
    let got = shelf.claim_one();
    assert_eq!(ids(&shelf, &got), "1 2 3");
}

#[test]
fn what_arrives_after_the_hand_out_is_not_in_it() {
    let mut shelf = Shelf::new(eager());
    shelf.put("ana", "1");
    let got = shelf.claim_one();
    shelf.put("ana", "2");
    assert_eq!(shelf.fail(&got, None), SettleOutcome::Retrying { retry_at: shelf.now });
    let again = shelf.claim_one();
    assert_eq!(ids(&shelf, &again), "1", "nobody joins a group that was handed out");
    shelf.ack(&again);
    let next = shelf.claim_one();
    assert_eq!(ids(&shelf, &next), "2");
}

#[test]
fn a_poisoned_item_exhausts_only_itself() {
    let mut shelf = Shelf::new(eager());
    for id in ["1", "bad", "3"] {
        shelf.put("ana", id);
    }
    for _ in 0..2 {
        let got = shelf.claim_one();
        assert_eq!(ids(&shelf, &got), "1 bad 3", "the same frozen group");
        shelf.fail(&got, None);
    }
    let mut order = Vec::new();
    while let Some(got) = shelf.claim(1).pop() {
        assert_eq!(got.items.len(), 1, "from the third attempt on one by one");
        let id = ids(&shelf, &got);
        if id == "bad" {
            shelf.fail(&got, None)
        } else {
            shelf.ack(&got)
        };
        order.push(id);
    }
    assert_eq!(order.join(" "), "1 bad bad bad 3");
    let exhausted: Vec<_> = shelf.done.iter().filter(|done| done.ended == Ended::Exhausted).collect();
    assert_eq!((exhausted.len(), exhausted[0].attempt), (1, 5));
}

#[test]
fn ack_through_returns_the_rest_to_the_head_unattempted() {
    let mut shelf = Shelf::new(eager());
    for id in ["1", "2", "3"] {
        shelf.put("ana", id);
    }
    let got = shelf.claim_one();
    let through = Some(ItemId::new("1").expect("valid"));
    assert_eq!(shelf.settle(&got, Act::Ack { through }), SettleOutcome::Acked);
    let rest = shelf.claim_one();
    assert_eq!((ids(&shelf, &rest).as_str(), rest.attempt), ("2 3", 1));
}

#[test]
fn failing_one_item_finishes_those_before_and_returns_those_behind() {
    let mut shelf = Shelf::new(eager());
    for id in ["1", "2", "3"] {
        shelf.put("ana", id);
    }
    let got = shelf.claim_one();
    shelf.fail(&got, Some("2"));
    assert_eq!(shelf.done.len(), 1);
    let rest = shelf.claim_one();
    assert_eq!(rest.items.iter().map(|(_, attempt)| *attempt).collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn an_item_that_is_not_in_the_delivery_is_refused_and_nothing_changes() {
    let mut shelf = Shelf::new(eager());
    shelf.put("ana", "1");
    let got = shelf.claim_one();
    let before = shelf.hot.clone();
    let through = Some(ItemId::new("other").expect("valid"));
    assert_eq!(shelf.settle(&got, Act::Ack { through }), SettleOutcome::NotInDelivery);
    assert_eq!(shelf.hot, before);
}

#[test]
fn a_stale_settlement_changes_nothing() {
    let mut shelf = Shelf::new(strict());
    shelf.put("ana", "1");
    shelf.put("ana", "2");
    let old = shelf.claim_one();
    shelf.pass(15_000);
    let before = (shelf.hot.clone(), shelf.done.clone(), shelf.errors.clone());
    for act in [Act::Ack { through: None }, Act::Return { error: None }, Act::Beat] {
        assert_eq!(shelf.settle(&old, act), SettleOutcome::Stale, "its time is over, though nobody took it yet");
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
fn what_an_application_completed_counts_by_its_fence_whatever_the_time() {
    for late in [0, 15_000, 3_600_000] {
        let mut shelf = Shelf::new(strict());
        shelf.put("ana", "1");
        shelf.put("ana", "2");
        let got = shelf.claim_one();
        shelf.pass(late);
        assert_eq!(shelf.settle(&got, Act::Complete), SettleOutcome::Acked, "after {late} ms");
        assert_eq!(shelf.settle(&got, Act::Complete), SettleOutcome::Stale, "once");
        assert_eq!((shelf.done[0].ended, shelf.done[0].fence), (Ended::Processed, got.fence));
        assert_eq!(shelf.claim_one().attempt, 1, "the next of the lane follows");
    }
}

#[test]
fn what_was_taken_back_is_not_completed() {
    let mut shelf = Shelf::new(strict());
    shelf.put("ana", "1");
    let old = shelf.claim_one();
    shelf.pass(15_000);
    assert_eq!(shelf.settle(&old, Act::Expire), SettleOutcome::Expired);
    assert_eq!(shelf.settle(&old, Act::Complete), SettleOutcome::Stale, "it waits");
    let new = shelf.claim_one();
    assert_eq!(shelf.settle(&old, Act::Complete), SettleOutcome::Stale, "somebody else has it");
    assert_eq!(shelf.settle(&new, Act::Complete), SettleOutcome::Acked);
}

#[test]
fn the_sweeper_repeats_its_condition() {
    let mut shelf = Shelf::new(strict());
    shelf.put("ana", "1");
    let got = shelf.claim_one();
    assert_eq!(shelf.settle(&got, Act::Expire), SettleOutcome::Stale, "it has not expired");
    shelf.ack(&got);
    shelf.pass(60_000);
    assert_eq!(shelf.settle(&got, Act::Expire), SettleOutcome::Stale, "it is finished");
}

#[test]
fn an_expired_hand_out_counts_as_an_attempt_and_comes_back_at_once() {
    let mut shelf = Shelf::new(strict());
    shelf.put("ana", "1");
    for attempt in 1..=5 {
        let got = shelf.claim_one();
        assert_eq!(got.attempt, attempt);
        shelf.pass(15_000);
        assert_eq!(shelf.settle(&got, Act::Expire), SettleOutcome::Expired);
    }
    assert!(shelf.claim(1).is_empty());
    assert_eq!((shelf.done[0].ended, shelf.errors.len()), (Ended::Exhausted, 5));
}

#[test]
fn a_return_takes_the_attempt_back() {
    let mut shelf = Shelf::new(strict());
    shelf.put("ana", "1");
    for _ in 0..20 {
        let got = shelf.claim_one();
        assert_eq!(got.attempt, 1);
        assert_eq!(shelf.settle(&got, Act::Return { error: None }), SettleOutcome::Returned);
    }
}

#[test]
fn each_hand_out_raises_the_fence() {
    let mut shelf = Shelf::new(Policy::of(Kind::Inbox));
    shelf.put("any", "1");
    let mut last = Fence(0);
    for _ in 0..5 {
        let got = shelf.claim_one();
        assert!(got.fence > last);
        last = got.fence;
        shelf.fail(&got, None);
    }
}

#[test]
fn a_failing_head_blocks_its_own_key_and_returns_to_its_place() {
    let mut shelf = Shelf::new(strict());
    shelf.put("ana", "1");
    shelf.put("ana", "2");
    let got = shelf.claim_one();
    let act = Act::Fail { error: "x".to_owned(), item: None, retry_in: Some(Span(500)), give_up: false };
    shelf.settle(&got, act);
    assert!(shelf.claim(5).is_empty(), "the second does not overtake the first");
    shelf.pass(500);
    let again = shelf.claim_one();
    assert_eq!(ids(&shelf, &again), "1");
}

#[test]
fn a_beat_extends_and_stops_at_max_hold() {
    let mut shelf = Shelf::new(Policy { max_hold: Some(Span::from_secs(20)), ..strict() });
    shelf.put("ana", "1");
    let got = shelf.claim_one();
    let taken = shelf.now;
    shelf.pass(10_000);
    let end = taken + Span::from_secs(20);
    let renewed = |expires_at, limited_by| SettleOutcome::Renewed { expires_at, limited_by };
    assert_eq!(shelf.settle(&got, Act::Beat), renewed(end, None));
    shelf.pass(9_000);
    assert_eq!(shelf.settle(&got, Act::Beat), renewed(end, Some(LimitedBy::MaxHold)), "with what is left");
    shelf.pass(1_000);
    assert_eq!(shelf.settle(&got, Act::Beat), SettleOutcome::Stale);
}

#[test]
fn the_lane_default_is_held_for_fifteen_seconds_at_most() {
    let mut shelf = Shelf::new(Policy { window: Span::ZERO, ..lane() });
    shelf.put("ana", "1");
    let got = shelf.claim_one();
    let limited_by = Some(LimitedBy::MaxHold);
    for pause in [0, 14_000] {
        shelf.pass(pause);
        let renewed = SettleOutcome::Renewed { expires_at: got.expires_at, limited_by };
        assert_eq!(shelf.settle(&got, Act::Beat), renewed, "at any time");
    }
}

#[test]
fn beat_that_gains_too_little_to_be_written_is_not_limited_by_max_hold() {
    for max_hold in [None, Some(Span::from_secs(60))] {
        let mut shelf = Shelf::new(Policy { max_hold, ..strict() });
        shelf.put("ana", "1");
        let got = shelf.claim_one();
        shelf.pass(1);
        let unchanged = SettleOutcome::Renewed { expires_at: got.expires_at, limited_by: None };
        assert_eq!(shelf.settle(&got, Act::Beat), unchanged, "{max_hold:?}");
    }
}

#[test]
fn a_delayed_item_waits_and_delays_its_lane() {
    let mut shelf = Shelf::new(strict());
    shelf.put_later("ana", "1", "1", Span(5_000));
    shelf.put("ana", "2");
    shelf.pass(4_999);
    assert!(shelf.claim(5).is_empty());
    shelf.pass(1);
    let got = shelf.claim_one();
    assert_eq!(ids(&shelf, &got), "1");
}

#[test]
fn a_lane_that_holds_waits_for_a_person() {
    let mut shelf = Shelf::new(Policy { on_exhausted: OnExhausted::Hold, max_attempts: 1, ..strict() });
    shelf.put("ana", "1");
    shelf.put("ana", "2");
    let got = shelf.claim_one();
    assert_eq!(shelf.fail(&got, None), SettleOutcome::Exhausted);
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
fn a_retried_item_returns_to_its_place_before_what_came_later() {
    let mut shelf = Shelf::new(Policy { max_attempts: 1, ..strict() });
    for id in ["1", "2", "3"] {
        shelf.put("ana", id);
    }
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
    let mut shelf = Shelf::new(Policy { max_attempts: 2, ..Policy::of(Kind::Inbox) });
    shelf.put("any", "1");
    for _ in 0..2 {
        let got = shelf.claim_one();
        shelf.fail(&got, None);
    }
    assert_eq!(shelf.done[0].ended, Ended::Exhausted);
    assert_eq!(shelf.errors.iter().map(|error| error.attempt).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(&*shelf.bodies[0].payload, "1");
}

#[test]
fn giving_up_exhausts_at_the_first_failure() {
    let mut shelf = Shelf::new(Policy::of(Kind::Inbox));
    shelf.put("any", "1");
    let got = shelf.claim_one();
    let act = Act::Fail { error: "never".to_owned(), item: None, retry_in: None, give_up: true };
    assert_eq!(shelf.settle(&got, act), SettleOutcome::Exhausted);
}

#[test]
fn back_off_doubles_within_its_bounds_and_scatters() {
    let policy = Policy::of(Kind::Inbox);
    for attempt in 1..40 {
        let nominal = (1_000i64 << (attempt - 1).min(22)).min(BACKOFF_MAX.0);
        let wait = policy.backoff_after(Seq(7), attempt as u32).0;
        let most = (nominal + nominal / 4).min(BACKOFF_MAX.0);
        assert!((nominal..=most).contains(&wait), "attempt {attempt}: {wait}");
    }
    let long = Policy { backoff: Span(2 * BACKOFF_MAX.0), ..policy };
    assert_eq!(long.backoff_after(Seq(7), 9), long.backoff, "who asks for more than an hour gets that");
    assert_ne!(policy.backoff_after(Seq(7), 3), policy.backoff_after(Seq(8), 3));
}

fn sync() -> Policy {
    Policy::of(Kind::Sync)
}

#[test]
fn a_newer_change_replaces_the_waiting_one() {
    let mut shelf = Shelf::new(sync());
    shelf.put("idper-1", "a");
    let id = ItemId::new("a").expect("valid");
    assert_eq!(shelf.put("idper-1", "b"), Accepted::Coalesced { id });
    let got = shelf.claim_one();
    assert_eq!(&*shelf.bodies[0].payload, "b");
    assert_eq!(shelf.ack(&got), SettleOutcome::Acked);
    assert_eq!(shelf.put("idper-1", "c"), Accepted::Queued, "after it is processed: a new event");
    assert!(shelf.claim_one().revision > got.revision, "revisions never decrease");
}

#[test]
fn a_change_during_processing_is_delivered_afterwards_and_not_meanwhile() {
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
fn a_failure_of_a_stale_state_is_superseded_by_the_newest() {
    let mut shelf = Shelf::new(sync());
    shelf.put("idper-1", "a");
    let old = shelf.claim_one();
    shelf.put("idper-1", "b");
    assert_eq!(shelf.fail(&old, None), SettleOutcome::Superseded);
    assert_eq!(shelf.claim_one().attempt, 1);
}

#[test]
fn a_new_change_overtakes_retries_and_revives_what_was_exhausted() {
    let mut shelf = Shelf::new(sync());
    shelf.put("idper-1", "a");
    let got = shelf.claim_one();
    let act =
        Act::Fail { error: "down".to_owned(), item: None, retry_in: Some(Span::from_secs(3_000)), give_up: false };
    shelf.settle(&got, act);
    shelf.put("idper-1", "b");
    for attempt in 1..=5 {
        let got = shelf.claim_one();
        assert_eq!(got.attempt, attempt, "attempts began again");
        shelf.fail(&got, None);
    }
    assert!(shelf.hot[0].parked);
    assert!(shelf.claim(5).is_empty());
    shelf.put("idper-1", "c");
    assert_eq!(shelf.claim_one().attempt, 1);
}

#[test]
fn a_change_during_processing_survives_an_expired_claim() {
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
fn a_retry_of_one_parked_item_takes_no_other_parked_one_along() {
    let mut shelf = Shelf::new(Policy { on_exhausted: OnExhausted::Hold, ..eager() });
    for id in ["1", "2", "3"] {
        shelf.put("ana", id);
    }
    let got = shelf.claim_one();
    let act = Act::Fail { error: "never".to_owned(), item: None, retry_in: None, give_up: true };
    assert_eq!(shelf.settle(&got, act), SettleOutcome::Exhausted);
    assert_eq!(shelf.manage("1", Manage::Retry), Ok(ManageAnswer::Retried));
    let again = shelf.claim_one();
    assert_eq!(ids(&shelf, &again), "1", "nobody has decided on the others");
    shelf.ack(&again);
    assert!(shelf.claim(5).is_empty());
}
