//! What comes back untried, and who goes with it then.

use super::super::*;
use super::shelf::Shelf;
use crate::time::Span;

/// How the hand-out of a delivery's first item was settled, as its rows tell it now.
fn told(shelf: &Shelf, delivery: &Delivery) -> Option<SettleOutcome> {
    let done = shelf.done.iter().find(|done| done.seq == delivery.seq);
    let errors: Vec<AttemptError> = shelf.errors.iter().filter(|error| error.seq == delivery.seq).cloned().collect();
    let back: Vec<CameBack> = shelf.came_back.iter().filter(|back| back.seq == delivery.seq).cloned().collect();
    Trace::of(delivery.fence, done, &errors, &back).settled()
}

fn ids(shelf: &Shelf, delivery: &Delivery) -> String {
    shelf.ids(delivery).join(" ")
}

#[test]
fn who_arrives_meanwhile_goes_with_what_comes_back_untried() {
    let mut shelf = Shelf::new(Policy { window: Span::ZERO, ..Policy::of(Kind::Lane) });
    for id in ["1", "2"] {
        shelf.put("ana", id);
    }
    let got = shelf.claim_one();
    shelf.put("ana", "3");
    shelf.settle(&got, Act::Ack { through: ItemId::new("1").ok() });
    let rest = shelf.claim_one();
    assert_eq!((ids(&shelf, &rest).as_str(), rest.attempt), ("2 3", 1), "the rest of a partial ack");
    shelf.put("ana", "4");
    shelf.settle(&rest, Act::Return { error: None });
    let again = shelf.claim_one();
    assert_eq!((ids(&shelf, &again).as_str(), again.attempt), ("2 3 4", 1), "a return");
    // What has failed keeps its group, whatever happens to it later.
    shelf.put("ana", "5");
    shelf.fail(&again, Some("3"));
    let failed = shelf.claim_one();
    assert_eq!(ids(&shelf, &failed), "3 4", "a failure, with what stood behind it");
    shelf.settle(&failed, Act::Return { error: None });
    let failed = shelf.claim_one();
    assert_eq!((ids(&shelf, &failed).as_str(), failed.attempt), ("3 4", 2));
    shelf.settle(&failed, Act::Ack { through: ItemId::new("3").ok() });
    let last = shelf.claim_one();
    assert_eq!(ids(&shelf, &last), "4", "what was in it");
}

#[test]
fn what_comes_back_untried_waits_for_no_window_of_its_own() {
    let mut shelf = Shelf::new(Policy::of(Kind::Lane));
    for id in ["1", "2"] {
        shelf.put("ana", id);
    }
    shelf.pass(3_000);
    let got = shelf.claim_one();
    shelf.pass(2_000);
    shelf.settle(&got, Act::Ack { through: ItemId::new("1").ok() });
    let rest = shelf.claim_one();
    assert_eq!(ids(&shelf, &rest), "2", "its window is over, and nobody has come");
    shelf.put("ana", "3");
    shelf.settle(&rest, Act::Return { error: None });
    assert!(shelf.claim(1).is_empty(), "who has just come may say more");
    shelf.pass(3_000);
    let both = shelf.claim_one();
    assert_eq!(ids(&shelf, &both), "2 3");
}

#[test]
fn that_it_was_given_back_is_known_whoever_has_had_it_since() {
    let mut shelf = Shelf::new(Policy { window: Span::ZERO, ..Policy::of(Kind::Lane) });
    shelf.put("ana", "1");
    let first = shelf.claim_one();
    assert_eq!(told(&shelf, &first), None, "nobody has settled it");
    shelf.settle(&first, Act::Return { error: None });
    let late = shelf.claim_one();
    assert_eq!(told(&shelf, &first), Some(SettleOutcome::Returned), "another has it");
    shelf.pass(15_000);
    shelf.settle(&late, Act::Expire);
    assert_eq!((told(&shelf, &first), told(&shelf, &late)), (Some(SettleOutcome::Returned), None));
    let failed = shelf.claim_one();
    shelf.fail(&failed, None);
    let last = shelf.pass(3_600_000).claim_one();
    shelf.ack(&last);
    assert_eq!(told(&shelf, &first), Some(SettleOutcome::Returned), "it is finished");
    assert_eq!(told(&shelf, &last), Some(SettleOutcome::Acked));
    assert!(matches!(told(&shelf, &failed), Some(SettleOutcome::Retrying { .. })));
}

#[test]
fn that_a_newer_change_overtook_it_is_known_also_when_that_was_delivered() {
    let mut shelf = Shelf::new(Policy::of(Kind::Sync));
    shelf.put("ana", "1");
    let (first, acted) = (shelf.claim_one(), Act::Ack { through: None });
    shelf.put("ana", "2");
    assert_eq!(shelf.settle(&first, acted), SettleOutcome::Superseded);
    // A third change, while nobody has it.
    shelf.put("ana", "3");
    assert_eq!(told(&shelf, &first), Some(SettleOutcome::Superseded));
    let second = shelf.claim_one();
    shelf.put("ana", "4");
    shelf.pass(60_000);
    shelf.settle(&second, Act::Expire);
    assert_eq!(
        (told(&shelf, &first), told(&shelf, &second)),
        (Some(SettleOutcome::Superseded), None),
        "expiry is nobody's"
    );
    let third = shelf.claim_one();
    assert_eq!(shelf.ack(&third), SettleOutcome::Acked);
    assert_eq!(told(&shelf, &first), Some(SettleOutcome::Superseded), "it is finished");
}

#[test]
fn what_was_exhausted_and_comes_back_still_knows_who_gave_it_back() {
    let mut shelf = Shelf::new(Policy { window: Span::ZERO, max_attempts: 1, ..Policy::of(Kind::Lane) });
    shelf.put("ana", "1");
    let first = shelf.claim_one();
    shelf.settle(&first, Act::Return { error: None });
    let second = shelf.claim_one();
    assert_eq!(shelf.fail(&second, None), SettleOutcome::Exhausted);
    assert_eq!(shelf.manage("1", Manage::Retry), Ok(ManageAnswer::Retried));
    assert_eq!(told(&shelf, &first), Some(SettleOutcome::Returned));
}

#[test]
fn a_probe_goes_to_whoever_was_never_tried_and_then_to_the_least_recently_tried() {
    let mut shelf = Shelf::new(Policy::of(Kind::Sync));
    for id in ["bad-0", "bad-1"] {
        shelf.put(id, id);
    }
    for _ in 0..2 {
        let got = shelf.claim_one();
        shelf.pass(10);
        shelf.fail(&got, None);
    }
    shelf.put("well", "well");
    let by_age = shelf.claim_one();
    assert_eq!(ids(&shelf, &by_age), "bad-0", "an ordinary claim goes by the order");
    shelf.settle(&by_age, Act::Return { error: None });
    for wanted in ["well", "bad-1", "bad-0", "well"] {
        shelf.pass(10);
        let probe = shelf.probe();
        assert_eq!(ids(&shelf, &probe), wanted);
        shelf.settle(&probe, Act::Return { error: None });
    }
}

#[test]
fn every_hand_out_that_came_back_is_kept_with_what_was_said() {
    let mut shelf = Shelf::new(Policy::of(Kind::Sync));
    shelf.put("ana", "1");
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
    let said = Some("boom");
    assert_eq!(
        kept,
        [
            (returned.fence, Last::Returned, None),
            (acked.fence, Last::Superseded, None),
            (failed.fence, Last::Superseded, said),
            (expired.fence, Last::Expired, Some("not settled in time")),
        ]
    );
    assert!(shelf.came_back.iter().all(|back| back.holder.is_some() && back.handed_at.is_some()));
    assert!(shelf.errors.is_empty(), "none of them counts");
}

#[test]
fn only_a_row_without_a_flag_is_told_to_be_an_expiry_by_its_text() {
    let text = "not settled in time";
    let expired = AttemptError::expired_from;
    assert!(expired(None, text) && !expired(None, "boom"), "rows of 0.1.0");
    assert!(!expired(Some(false), text) && expired(Some(true), "boom"));
}

#[test]
fn worker_error_with_the_text_of_an_expiry_is_an_ordinary_failure() {
    let mut shelf = Shelf::new(Policy { max_attempts: 5, ..Policy::of(Kind::Inbox) });
    shelf.put("ana", "1");
    let got = shelf.claim_one();
    let text = "not settled in time".to_owned();
    let outcome = shelf.settle(&got, Act::Fail { error: text, item: None, retry_in: Some(Span(500)), give_up: false });
    assert_eq!(outcome, SettleOutcome::Retrying { retry_at: shelf.now + Span(500) });
    assert_eq!(told(&shelf, &got), Some(outcome), "a repeated settlement gets the same answer");
    assert!(!shelf.errors[0].is_expiry());
    // The control: an expiry with the same text is one, and answers no repeated settlement.
    let again = shelf.pass(500).claim_one();
    shelf.pass(60_000).settle(&again, Act::Expire);
    assert!(shelf.errors[1].is_expiry());
    assert_eq!((shelf.errors[1].error.as_str(), told(&shelf, &again)), ("not settled in time", None));
}
