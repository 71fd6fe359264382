//! What comes back from outside, what people clear, and what they are told.

use super::super::*;
use super::shelf::{START, Shelf};
use crate::id::{ItemId, Key, Seq};
use crate::time::Span;

fn eager() -> Policy {
    Policy { window: Span::ZERO, ..Policy::of(Kind::Lane) }
}

#[test]
fn a_delivery_of_another_size_or_first_item_is_stale() {
    let mut shelf = Shelf::new(eager());
    for id in ["1", "2", "3"] {
        shelf.put("ana", id);
    }
    let got = shelf.claim_one();
    let (first, second) = (got.items[0], got.items[1]);
    let without_the_last = Delivery { items: vec![first, second], ..got.clone() };
    let without_the_first = Delivery { seq: second.0, items: got.items[1..].to_vec(), ..got.clone() };
    let with_one_more = Delivery { items: [&got.items[..], &[(Seq(99), 1)]].concat(), ..got.clone() };
    for altered in [without_the_last, without_the_first, with_one_more] {
        for act in [Act::Ack { through: None }, Act::Return { error: None }, Act::Beat, Act::Complete] {
            assert_eq!(shelf.settle(&altered, act), SettleOutcome::Stale);
        }
    }
    assert_eq!(shelf.ack(&got), SettleOutcome::Acked, "the true name still counts");
}

#[test]
fn a_cleared_lane_is_empty_and_goes_on() {
    let mut shelf = Shelf::new(Policy { batch_max: 2, ..eager() });
    for id in ["1", "2", "3"] {
        shelf.put("ana", id);
    }
    let got = shelf.claim_one();
    shelf.pass(10).put("ana", "later");
    assert_eq!(shelf.clear("ana", START, Vec::new()), Cleared { count: 3, more: false });
    assert_eq!(shelf.ack(&got), SettleOutcome::Stale);
    assert!(shelf.done.iter().all(|done| done.ended == Ended::Cancelled));
    let next = shelf.claim_one();
    assert_eq!(shelf.ids(&next), ["later"], "what came afterwards heads the lane");
}

#[test]
fn clearing_spares_what_somebody_is_completing() {
    let mut shelf = Shelf::new(Policy { batch_max: 1, ..eager() });
    shelf.put("ana", "1");
    shelf.put("ana", "2");
    let got = shelf.claim_one();
    assert_eq!(shelf.clear("ana", START, vec![got.fence]), Cleared { count: 1, more: false });
    assert_eq!(shelf.settle(&got, Act::Complete), SettleOutcome::Acked);
}

#[test]
fn an_edit_replaces_what_an_exhausted_item_carries_and_is_a_newer_change() {
    let mut shelf = Shelf::new(Policy { max_attempts: 1, ..eager() });
    shelf.put("ana", "1");
    let got = shelf.claim_one();
    assert_eq!(shelf.fail(&got, None), SettleOutcome::Exhausted);
    assert_eq!(shelf.manage("1", Manage::RetryWith { payload: "new".into() }), Ok(ManageAnswer::Retried));
    let again = shelf.claim_one();
    assert_eq!((&*shelf.bodies[0].payload, again.revision > got.revision), ("new", true));
}

#[test]
fn only_what_lives_is_resumed_and_each_delivery_by_itself() {
    let mut shelf = Shelf::new(eager());
    for key in ["ana", "luis"] {
        shelf.put(key, &format!("{key} 1"));
        shelf.put(key, &format!("{key} 2"));
    }
    let got = shelf.claim(2);
    assert_eq!(resume(shelf.hot.clone(), shelf.now), got);
    shelf.ack(&got[0]);
    assert_eq!(resume(shelf.hot.clone(), shelf.now), got[1..]);
    shelf.pass(15_000);
    assert!(resume(shelf.hot.clone(), shelf.now).is_empty());
}

#[test]
fn a_reason_is_the_one_that_comes_first() {
    let mut shelf = Shelf::new(Policy { batch_max: 2, on_exhausted: OnExhausted::Hold, ..Policy::of(Kind::Lane) });
    shelf.put("ana", "1");
    shelf.put_later("luis", "later", "x", Span(60_000));
    assert_eq!((shelf.why("1", false), shelf.why("1", true)), ("window_open", "paused"));
    assert_eq!(shelf.why("later", false), "delayed");
    shelf.pass(3_000);
    shelf.put("ana", "2");
    shelf.put("ana", "3");
    assert_eq!((shelf.why("1", false), shelf.why("2", false)), ("ready", "ready"));
    assert_eq!(shelf.why("3", false), "behind_head");
    let got = shelf.claim_one();
    assert_eq!((shelf.why("1", true), shelf.why("2", false)), ("running", "running"));
    assert_eq!(shelf.why("3", false), "behind_in_flight");
    shelf.settle(&got, Act::Fail { error: "no".to_owned(), item: None, retry_in: Some(Span(500)), give_up: false });
    assert_eq!((shelf.why("1", false), shelf.why("2", false)), ("retry_later", "behind_head"));
    shelf.pass(500);
    assert_eq!((shelf.why("1", false), shelf.why("2", false)), ("ready", "ready"), "the group stays together");
    let got = shelf.claim_one();
    shelf.settle(&got, Act::Fail { error: "no".to_owned(), item: None, retry_in: None, give_up: true });
    assert_eq!((shelf.why("1", false), shelf.why("3", false)), ("exhausted", "lane_held"));
}

#[test]
fn with_two_attempts_the_last_one_is_everybodys_own() {
    let mut shelf = Shelf::new(Policy { max_attempts: 2, ..eager() });
    for id in ["1", "bad", "3"] {
        shelf.put("ana", id);
    }
    let got = shelf.claim_one();
    assert_eq!(shelf.ids(&got).join(" "), "1 bad 3");
    shelf.fail(&got, None);
    let mut exhausted = Vec::new();
    while let Some(got) = shelf.pass(3_600_000).claim(1).pop() {
        let id = shelf.ids(&got).join(" ");
        if id == "bad" {
            assert_eq!(shelf.fail(&got, None), SettleOutcome::Exhausted);
            exhausted.push(id);
        } else {
            shelf.ack(&got);
        }
    }
    assert_eq!(exhausted, ["bad"]);
}

#[test]
fn what_was_left_earlier_is_as_old_as_its_call_and_its_turn_counts_from_its_admission() {
    let mut shelf = Shelf::new(Policy::of(Kind::Lane));
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
    assert_eq!(ages, [START, shelf.now], "never later than now, whatever another clock says");
    assert_eq!(shelf.bodies[0].enqueued_at, START);
    assert!(shelf.claim(1).is_empty(), "the window begins when it is known");
    shelf.pass(3_000);
    let got = shelf.claim_one();
    assert_eq!(shelf.ids(&got), ["early", "ahead"]);
}

#[test]
fn what_an_application_is_completing_is_running_whatever_its_time() {
    let mut shelf = Shelf::new(Policy { batch_max: 2, ..eager() });
    for id in ["1", "2", "3"] {
        shelf.put("ana", id);
    }
    let got = shelf.claim_one();
    shelf.pass(60_000);
    let seen = |shelf: &Shelf, completing| ["1", "2", "3"].map(|id| shelf.why_while(id, false, completing));
    assert_eq!(seen(&shelf, Some(got.fence)), ["completing", "completing", "behind_head"]);
    assert_eq!(seen(&shelf, None)[0], "ready", "its time is over, and nobody completes it");
    assert_eq!(shelf.why_while("1", true, Some(got.fence)), "completing", "a pause does not end it");
}

#[test]
fn a_change_that_outlives_an_expired_hand_out_of_the_older_one_is_pending() {
    let mut shelf = Shelf::new(Policy::of(Kind::Sync));
    shelf.put("ana", "1");
    let old = shelf.claim_one();
    shelf.put("ana", "2");
    shelf.pass(60_000);
    assert_eq!(shelf.settle(&old, Act::Expire), SettleOutcome::Expired);
    assert_eq!(shelf.hot[0].state(shelf.now), ItemState::Pending, "of the newest state nothing was tried");
    let new = shelf.claim_one();
    shelf.pass(60_000);
    shelf.settle(&new, Act::Expire);
    assert_eq!(shelf.hot[0].state(shelf.now), ItemState::Error, "now it was");
}
