//! Tests of item ids: each is accepted once within the retention.

use super::super::*;
use super::shelf::{START, Shelf};
use crate::id::Seq;
use crate::time::Span;

/// A lane without a window, one item at a time.
fn strict() -> Policy {
    Policy { window: Span::ZERO, batch_max: 1, ..Policy::for_kind(Kind::Lane) }
}

#[test]
fn id_is_accepted_once_and_equal_contents_are_no_duplicates() {
    let mut shelf = Shelf::new(strict());
    assert_eq!(shelf.put("ana", "1"), Accepted::Queued);
    assert_eq!(shelf.put("ana", "1"), Accepted::Duplicate { differs: false });
    let delivery = shelf.claim_one();
    shelf.ack(&delivery);
    let again = shelf.put_later("ana", "1", "other payload", Span::ZERO);
    assert_eq!(again, Accepted::Duplicate { differs: true }, "after the item is finished, too");
    assert_eq!(shelf.put_later("ana", "2", "1", Span::ZERO), Accepted::Queued, "equal contents are not duplicates");
}

#[test]
fn a_late_repeat_of_a_change_that_was_taken_in_does_not_bring_an_old_state_back() {
    let mut shelf = Shelf::new(Policy::for_kind(Kind::Sync));
    assert_eq!(shelf.put_later("ana", "a", r#"{"v":1,"w":1}"#, Span::ZERO), Accepted::Queued);
    let into = || Accepted::Coalesced { id: ItemId::new("a").expect("valid") };
    assert_eq!(shelf.put_later("ana", "b", r#"{"v":2,"w":1}"#, Span::ZERO), into());
    assert_eq!(shelf.put_later("ana", "c", r#"{"v":3}"#, Span::ZERO), into());
    let repeat = |shelf: &mut Shelf, id: &str, payload: &str| shelf.put_later("ana", id, payload, Span::ZERO);
    assert_eq!(repeat(&mut shelf, "b", r#"{"w":1.0, "v":2}"#), Accepted::Duplicate { differs: false });
    assert_eq!(repeat(&mut shelf, "b", r#"{"v":9}"#), Accepted::Duplicate { differs: true });
    let first = repeat(&mut shelf, "a", r#"{"v":1,"w":1}"#);
    assert_eq!(first, Accepted::Duplicate { differs: false }, "the accepted payload counts, not the current one");
    let delivery = shelf.claim_one();
    assert_eq!(&*shelf.bodies[0].payload, r#"{"v":3}"#);
    shelf.ack(&delivery);
    assert_eq!(repeat(&mut shelf, "b", r#"{"v":2,"w":1}"#), Accepted::Duplicate { differs: false });
    assert!(shelf.hot.is_empty(), "a repeat queues nothing");
}

#[test]
fn duplicate_differs_if_its_key_or_json_value_differs() {
    let mut shelf = Shelf::new(strict());
    shelf.put_later("ana", "1", r#"{"n":1,"s":"x"}"#, Span::ZERO);
    let again = shelf.put_later("ana", "1", r#"{ "s":"x", "n":1.0 }"#, Span::ZERO);
    assert_eq!(again, Accepted::Duplicate { differs: false }, "the same value, written in another way");
    let other = shelf.put_later("eva", "1", r#"{"n":1,"s":"x"}"#, Span::ZERO);
    assert_eq!(other, Accepted::Duplicate { differs: true }, "another key");
}

#[test]
fn id_is_outlived_one_millisecond_after_its_retention() {
    let policy = strict();
    let item = |over_at| Known::Item { seq: Seq(1), key: None, payload: "1".into(), over_at };
    let absorbed = Known::Absorbed { digest: Digest::compute(None, "1"), at: START };
    let last = START + policy.retention;
    for known in [item(Some(START)), absorbed] {
        assert!(!known.is_outlived(&policy, last) && known.is_outlived(&policy, last + Span(1)));
    }
    assert!(!item(None).is_outlived(&policy, last + Span(1)), "the id of an unfinished or exhausted item stays");
}
