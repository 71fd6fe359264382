//! Tests of deliveries that come back without counting as an attempt.

use super::super::*;
use super::shelf::Shelf;
use crate::time::Span;

/// Returns how a past delivery was settled, according to the stored rows.
fn settled_outcome(shelf: &Shelf, delivery: &Delivery) -> Option<SettleOutcome> {
    let done = shelf.done.iter().find(|done| done.seq == delivery.seq);
    let errors: Vec<AttemptError> = shelf.errors.iter().filter(|error| error.seq == delivery.seq).cloned().collect();
    let back: Vec<UncountedDelivery> =
        shelf.came_back.iter().filter(|back| back.seq == delivery.seq).cloned().collect();
    Trace::find(delivery.fence, done, &errors, &back).settled()
}

fn ids(shelf: &Shelf, delivery: &Delivery) -> String {
    shelf.ids(delivery).join(" ")
}

#[test]
fn later_item_joins_items_that_come_back_untried() {
    let mut shelf = Shelf::holding(Policy { window: Span::ZERO, ..Policy::for_kind(Kind::Lane) }, &["1", "2"]);
    let delivery = shelf.claim_one();
    shelf.put("ana", "3");
    shelf.settle(&delivery, Act::Ack { through: ItemId::new("1").ok() });
    let rest = shelf.claim_one();
    assert_eq!((ids(&shelf, &rest).as_str(), rest.attempt), ("2 3", 1), "the rest of a partial ack");
    shelf.put("ana", "4");
    shelf.settle(&rest, Act::Return { error: None });
    let again = shelf.claim_one();
    assert_eq!((ids(&shelf, &again).as_str(), again.attempt), ("2 3 4", 1), "a return");
    // A failed item keeps its group, even after a return or a partial ack.
    shelf.put("ana", "5");
    shelf.fail(&again, Some("3"));
    let failed = shelf.claim_one();
    assert_eq!(ids(&shelf, &failed), "3 4", "a failure, with the item after it");
    shelf.settle(&failed, Act::Return { error: None });
    let failed = shelf.claim_one();
    assert_eq!((ids(&shelf, &failed).as_str(), failed.attempt), ("3 4", 2));
    shelf.settle(&failed, Act::Ack { through: ItemId::new("3").ok() });
    let last = shelf.claim_one();
    assert_eq!(ids(&shelf, &last), "4", "the rest of the failed group");
}

#[test]
fn untried_item_does_not_start_a_new_window() {
    let mut shelf = Shelf::holding(Policy::for_kind(Kind::Lane), &["1", "2"]);
    shelf.pass(3_000);
    let delivery = shelf.claim_one();
    shelf.pass(2_000);
    shelf.settle(&delivery, Act::Ack { through: ItemId::new("1").ok() });
    let rest = shelf.claim_one();
    assert_eq!(ids(&shelf, &rest), "2", "its window is over, and no other item waits");
    shelf.put("ana", "3");
    shelf.settle(&rest, Act::Return { error: None });
    assert!(shelf.claim(1).is_empty(), "the window of the new item is open");
    shelf.pass(3_000);
    let both = shelf.claim_one();
    assert_eq!(ids(&shelf, &both), "2 3");
}

#[test]
fn repeated_return_is_recognised_after_later_deliveries() {
    let mut shelf = Shelf::holding(Policy { window: Span::ZERO, ..Policy::for_kind(Kind::Lane) }, &["1"]);
    let first = shelf.claim_one();
    assert_eq!(settled_outcome(&shelf, &first), None, "the delivery is not settled");
    shelf.settle(&first, Act::Return { error: None });
    let late = shelf.claim_one();
    assert_eq!(settled_outcome(&shelf, &first), Some(SettleOutcome::Returned), "another worker has the item");
    shelf.pass(15_000);
    shelf.settle(&late, Act::Expire);
    assert_eq!(
        (settled_outcome(&shelf, &first), settled_outcome(&shelf, &late)),
        (Some(SettleOutcome::Returned), None)
    );
    let failed = shelf.claim_one();
    shelf.fail(&failed, None);
    let last = shelf.pass(3_600_000).claim_one();
    shelf.ack(&last);
    assert_eq!(settled_outcome(&shelf, &first), Some(SettleOutcome::Returned), "the item is finished");
    assert_eq!(settled_outcome(&shelf, &last), Some(SettleOutcome::Acked));
    assert!(matches!(settled_outcome(&shelf, &failed), Some(SettleOutcome::Retrying { .. })));
}

#[test]
fn superseded_delivery_is_recognised_after_the_newer_change_was_delivered() {
    let mut shelf = Shelf::holding(Policy::for_kind(Kind::Sync), &["1"]);
    let (first, acted) = (shelf.claim_one(), Act::Ack { through: None });
    shelf.put("ana", "2");
    assert_eq!(shelf.settle(&first, acted), SettleOutcome::Superseded);
    // A third change, while no worker has the item.
    shelf.put("ana", "3");
    assert_eq!(settled_outcome(&shelf, &first), Some(SettleOutcome::Superseded));
    let second = shelf.claim_one();
    shelf.put("ana", "4");
    shelf.pass(60_000);
    shelf.settle(&second, Act::Expire);
    assert_eq!(
        (settled_outcome(&shelf, &first), settled_outcome(&shelf, &second)),
        (Some(SettleOutcome::Superseded), None),
        "the worker did not settle the expired delivery"
    );
    let third = shelf.claim_one();
    assert_eq!(shelf.ack(&third), SettleOutcome::Acked);
    assert_eq!(settled_outcome(&shelf, &first), Some(SettleOutcome::Superseded), "the item is finished");
}

#[test]
fn repeated_return_is_recognised_after_exhaustion_and_retry() {
    let mut shelf =
        Shelf::holding(Policy { window: Span::ZERO, max_attempts: 1, ..Policy::for_kind(Kind::Lane) }, &["1"]);
    let first = shelf.claim_one();
    shelf.settle(&first, Act::Return { error: None });
    let second = shelf.claim_one();
    assert_eq!(shelf.fail(&second, None), SettleOutcome::Exhausted);
    assert_eq!(shelf.manage("1", Manage::Retry), Ok(ManageAnswer::Retried));
    assert_eq!(settled_outcome(&shelf, &first), Some(SettleOutcome::Returned));
}

#[test]
fn probe_prefers_untried_heads_then_those_tried_longest_ago() {
    let mut shelf = Shelf::new(Policy::for_kind(Kind::Sync));
    for id in ["bad-0", "bad-1"] {
        shelf.put(id, id);
    }
    for _ in 0..2 {
        let delivery = shelf.claim_one();
        shelf.pass(10);
        shelf.fail(&delivery, None);
    }
    shelf.put("well", "well");
    let by_age = shelf.claim_one();
    assert_eq!(ids(&shelf, &by_age), "bad-0", "an ordinary claim follows the order of arrival");
    shelf.settle(&by_age, Act::Return { error: None });
    for wanted in ["well", "bad-1", "bad-0", "well"] {
        shelf.pass(10);
        let probe = shelf.probe();
        assert_eq!(ids(&shelf, &probe), wanted);
        shelf.settle(&probe, Act::Return { error: None });
    }
}

#[test]
fn every_delivery_that_does_not_count_is_recorded_with_its_error() {
    let mut shelf = Shelf::holding(Policy::for_kind(Kind::Sync), &["1"]);
    let returned = shelf.claim_one();
    shelf.settle(&returned, Act::Return { error: None });
    let acked = shelf.pass(1).claim_one();
    shelf.put("ana", "2");
    shelf.ack(&acked);
    let failed = shelf.pass(1).claim_one();
    shelf.put("ana", "3");
    assert_eq!(shelf.fail(&failed, None), SettleOutcome::Superseded);
    let expired = shelf.pass(1).claim_one();
    shelf.put("ana", "4");
    shelf.pass(60_000).settle(&expired, Act::Expire);
    let kept: Vec<_> = shelf.came_back.iter().map(|back| (back.fence, back.how, back.error.as_deref())).collect();
    let error = Some("boom");
    assert_eq!(
        kept,
        [
            (returned.fence, Last::Returned, None),
            (acked.fence, Last::Superseded, None),
            (failed.fence, Last::Superseded, error),
            (expired.fence, Last::Expired, Some("not settled in time")),
        ]
    );
    assert!(shelf.came_back.iter().all(|back| back.holder.is_some() && back.handed_at.is_some()));
    assert!(shelf.errors.is_empty(), "none of them is a failed attempt");
}

#[test]
fn only_a_row_without_a_flag_is_recognised_as_expiry_by_its_text() {
    let text = "not settled in time";
    let expired = AttemptError::expired_from;
    assert!(expired(None, text) && !expired(None, "boom"), "rows of 0.1.0");
    assert!(!expired(Some(false), text) && expired(Some(true), "boom"));
}

#[test]
fn worker_error_with_the_text_of_an_expiry_is_an_ordinary_failure() {
    let mut shelf = Shelf::holding(Policy { max_attempts: 5, ..Policy::for_kind(Kind::Inbox) }, &["1"]);
    let delivery = shelf.claim_one();
    let text = "not settled in time".to_owned();
    let outcome =
        shelf.settle(&delivery, Act::Fail { error: text, item: None, retry_in: Some(Span(500)), give_up: false });
    assert_eq!(outcome, SettleOutcome::Retrying { retry_at: shelf.now + Span(500) });
    assert_eq!(settled_outcome(&shelf, &delivery), Some(outcome), "a repeated settlement gets the same answer");
    assert!(!shelf.errors[0].is_expiry());
    // Control: a real expiry has the same text, and a repeated settlement gets no answer from it.
    let again = shelf.pass(500).claim_one();
    shelf.pass(60_000).settle(&again, Act::Expire);
    assert!(shelf.errors[1].is_expiry());
    assert_eq!((shelf.errors[1].error.as_str(), settled_outcome(&shelf, &again)), ("not settled in time", None));
}
