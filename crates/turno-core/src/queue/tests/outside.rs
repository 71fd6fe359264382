//! Tests of altered deliveries, clearing, retries with a payload, repeated claims and `why`.

use super::super::*;
use super::shelf::{START, Shelf};
use crate::id::{ItemId, Key, Seq};
use crate::time::Span;

fn eager() -> Policy {
    Policy { window: Span::ZERO, ..Policy::for_kind(Kind::Lane) }
}

#[test]
fn delivery_name_with_another_size_or_first_item_is_stale() {
    let mut shelf = Shelf::holding(eager(), &["1", "2", "3"]);
    let delivery = shelf.claim_one();
    let (first, second) = (delivery.items[0], delivery.items[1]);
    let without_the_last = Delivery { items: vec![first, second], ..delivery.clone() };
    let without_the_first = Delivery { seq: second.0, items: delivery.items[1..].to_vec(), ..delivery.clone() };
    let with_one_more = Delivery { items: [&delivery.items[..], &[(Seq(99), 1)]].concat(), ..delivery.clone() };
    for altered in [without_the_last, without_the_first, with_one_more] {
        for act in [Act::Ack { through: None }, Act::Return { error: None }, Act::Beat, Act::Complete] {
            assert_eq!(shelf.settle(&altered, act), SettleOutcome::Stale);
        }
    }
    assert_eq!(shelf.ack(&delivery), SettleOutcome::Acked, "the unaltered name");
}

#[test]
fn clear_cancels_earlier_items_and_later_ones_go_on() {
    let mut shelf = Shelf::holding(Policy { batch_max: 2, ..eager() }, &["1", "2", "3"]);
    let delivery = shelf.claim_one();
    shelf.pass(10).put("ana", "later");
    assert_eq!(shelf.clear("ana", START, Vec::new()), Cleared { count: 3, more: false });
    assert_eq!(shelf.ack(&delivery), SettleOutcome::Stale);
    assert!(shelf.done.iter().all(|done| done.ended == Ended::Cancelled));
    let next = shelf.claim_one();
    assert_eq!(shelf.ids(&next), ["later"], "the later item is the head");
}

#[test]
fn clear_spares_a_delivery_that_an_application_is_completing() {
    let mut shelf = Shelf::holding(Policy { batch_max: 1, ..eager() }, &["1", "2"]);
    let delivery = shelf.claim_one();
    assert_eq!(shelf.clear("ana", START, vec![delivery.fence]), Cleared { count: 1, more: false });
    assert_eq!(shelf.settle(&delivery, Act::Complete), SettleOutcome::Acked);
}

#[test]
fn retry_with_a_payload_replaces_the_content_and_raises_the_revision() {
    let mut shelf = Shelf::holding(Policy { max_attempts: 1, ..eager() }, &["1"]);
    let delivery = shelf.claim_one();
    assert_eq!(shelf.fail(&delivery, None), SettleOutcome::Exhausted);
    assert_eq!(shelf.manage("1", Manage::RetryWith { payload: "new".into() }), Ok(ManageAnswer::Retried));
    let again = shelf.claim_one();
    assert_eq!((&*shelf.bodies[0].payload, again.revision > delivery.revision), ("new", true));
}

#[test]
fn repeated_claim_returns_only_its_live_deliveries() {
    let mut shelf = Shelf::new(eager());
    for key in ["ana", "luis"] {
        shelf.put(key, &format!("{key} 1"));
        shelf.put(key, &format!("{key} 2"));
    }
    let deliveries = shelf.claim(2);
    assert_eq!(resume(shelf.hot.clone(), shelf.now), deliveries);
    shelf.ack(&deliveries[0]);
    assert_eq!(resume(shelf.hot.clone(), shelf.now), deliveries[1..]);
    shelf.pass(15_000);
    assert!(resume(shelf.hot.clone(), shelf.now).is_empty());
}

#[test]
fn why_returns_the_first_reason_that_applies() {
    let mut shelf =
        Shelf::new(Policy { batch_max: 2, on_exhausted: OnExhausted::Hold, ..Policy::for_kind(Kind::Lane) });
    shelf.put("ana", "1");
    shelf.put_later("luis", "later", "x", Span(60_000));
    assert_eq!((shelf.why("1", false), shelf.why("1", true)), ("window_open", "paused"));
    assert_eq!(shelf.why("later", false), "delayed");
    shelf.pass(3_000);
    shelf.put("ana", "2");
    shelf.put("ana", "3");
    assert_eq!((shelf.why("1", false), shelf.why("2", false)), ("ready", "ready"));
    assert_eq!(shelf.why("3", false), "behind_head");
    let delivery = shelf.claim_one();
    assert_eq!((shelf.why("1", true), shelf.why("2", false)), ("running", "running"));
    assert_eq!(shelf.why("3", false), "behind_in_flight");
    shelf
        .settle(&delivery, Act::Fail { error: "no".to_owned(), item: None, retry_in: Some(Span(500)), give_up: false });
    assert_eq!((shelf.why("1", false), shelf.why("2", false)), ("retry_later", "behind_head"));
    shelf.pass(500);
    assert_eq!((shelf.why("1", false), shelf.why("2", false)), ("ready", "ready"), "the group stays together");
    let delivery = shelf.claim_one();
    shelf.settle(&delivery, Act::Fail { error: "no".to_owned(), item: None, retry_in: None, give_up: true });
    assert_eq!((shelf.why("1", false), shelf.why("3", false)), ("exhausted", "lane_held"));
}

#[test]
fn last_of_two_attempts_is_made_item_by_item() {
    let mut shelf = Shelf::holding(Policy { max_attempts: 2, ..eager() }, &["1", "bad", "3"]);
    let delivery = shelf.claim_one();
    assert_eq!(shelf.ids(&delivery).join(" "), "1 bad 3");
    shelf.fail(&delivery, None);
    let mut exhausted = Vec::new();
    while let Some(delivery) = shelf.pass(3_600_000).claim(1).pop() {
        let id = shelf.ids(&delivery).join(" ");
        if id == "bad" {
            assert_eq!(shelf.fail(&delivery, None), SettleOutcome::Exhausted);
            exhausted.push(id);
        } else {
            shelf.ack(&delivery);
        }
    }
    assert_eq!(exhausted, ["bad"]);
}

#[test]
fn item_from_an_application_has_the_age_of_its_call_and_the_order_of_its_acceptance() {
    let mut shelf = Shelf::new(Policy::for_kind(Kind::Lane));
    let left = |id: &str, since| NewItem {
        id: ItemId::new(id).expect("valid"),
        id_given: true,
        key: Some(Key::new("ana").expect("valid")),
        action: None,
        payload: id.into(),
        delay: Span::ZERO,
        since: Some(since),
    };
    shelf.pass(60_000).put_item(left("early", START));
    let ahead = shelf.now + Span(5_000);
    shelf.put_item(left("ahead", ahead));
    let ages: Vec<_> = shelf.hot.iter().map(|item| item.enqueued_at).collect();
    assert_eq!(ages, [START, shelf.now], "never later than now, even if another clock is ahead");
    assert_eq!(shelf.bodies[0].enqueued_at, START);
    assert!(shelf.claim(1).is_empty(), "the window begins when the item is accepted");
    shelf.pass(3_000);
    let delivery = shelf.claim_one();
    assert_eq!(shelf.ids(&delivery), ["early", "ahead"]);
}

#[test]
fn why_reports_completing_for_an_expired_delivery_in_an_open_transaction() {
    let mut shelf = Shelf::holding(Policy { batch_max: 2, ..eager() }, &["1", "2", "3"]);
    let delivery = shelf.claim_one();
    shelf.pass(60_000);
    let seen = |shelf: &Shelf, completing| ["1", "2", "3"].map(|id| shelf.why_while(id, false, completing));
    assert_eq!(seen(&shelf, Some(delivery.fence)), ["completing", "completing", "behind_head"]);
    assert_eq!(seen(&shelf, None)[0], "ready", "expired, and no application completes it");
    assert_eq!(shelf.why_while("1", true, Some(delivery.fence)), "completing", "a pause changes nothing");
}

#[test]
fn newer_change_is_pending_after_the_older_delivery_expired() {
    let mut shelf = Shelf::holding(Policy::for_kind(Kind::Sync), &["1"]);
    let old = shelf.claim_one();
    shelf.put("ana", "2");
    shelf.pass(60_000);
    assert_eq!(shelf.settle(&old, Act::Expire), SettleOutcome::Expired);
    assert_eq!(shelf.hot[0].state(shelf.now), ItemState::Pending, "the newest change was not tried");
    let new = shelf.claim_one();
    shelf.pass(60_000);
    shelf.settle(&new, Act::Expire);
    assert_eq!(shelf.hot[0].state(shelf.now), ItemState::Error, "now it was tried");
}
