//! Tests of sizes: payloads end a claim and close a group.

use super::super::*;
use super::shelf::Shelf;
use crate::limits::CLAIM_BYTES_MAX;
use crate::time::Span;

fn put(shelf: &mut Shelf, key: &str, id: &str, bytes: usize) {
    shelf.put_later(key, id, &"x".repeat(bytes), Span::ZERO);
}

#[test]
fn claim_ends_before_the_payload_that_does_not_fit() {
    let mut shelf = Shelf::new(Policy::for_kind(Kind::Inbox));
    shelf.group_bytes = 100;
    for (id, bytes) in [("1", 150), ("2", 60), ("3", 40), ("4", 1)] {
        put(&mut shelf, "ana", id, bytes);
    }
    assert_eq!(shelf.claim(10).len(), 1, "the first payload goes out whatever its size");
    assert_eq!(shelf.claim(10).len(), 2, "two payloads have exactly 100 bytes");
    assert_eq!(shelf.claim(10).len(), 1);
}

#[test]
fn head_that_does_not_fit_goes_to_the_next_caller() {
    let mut shelf = Shelf::new(Policy::for_kind(Kind::Inbox));
    shelf.group_bytes = 100;
    for id in ["1", "2", "3"] {
        put(&mut shelf, "ana", id, 80);
    }
    let wants = [shelf.want("worker-1", 9, false), shelf.want("worker-2", 9, false)];
    let handed_out = shelf.claim_together(18, &wants);
    assert_eq!(handed_out.deliveries.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
    assert!(handed_out.left, "the third head is still due");
    assert_eq!(shelf.claim(1).len(), 1);
}

#[test]
fn answers_of_several_callers_have_a_common_bound_and_the_first_caller_has_none() {
    let mut shelf = Shelf::new(Policy::for_kind(Kind::Inbox));
    shelf.group_bytes = usize::MAX;
    for id in ["1", "2", "3"] {
        put(&mut shelf, "ana", id, CLAIM_BYTES_MAX / 2 + 1);
    }
    let wants = [shelf.want("worker-1", 1, false), shelf.want("worker-2", 1, false)];
    let handed_out = shelf.claim_together(2, &wants);
    assert_eq!((handed_out.deliveries[0].len(), handed_out.deliveries[1].len(), handed_out.left), (1, 0, true));
    assert_eq!(shelf.claim(9).len(), 2, "one caller alone may take more");
}

#[test]
fn group_of_a_lane_closes_by_bytes_as_by_its_number_of_items() {
    let policy = Policy { window: Span(1_000), ..Policy::for_kind(Kind::Lane) };
    let mut shelf = Shelf::new(policy);
    shelf.group_bytes = 100;
    for id in ["1", "2"] {
        put(&mut shelf, "ana", id, 50);
    }
    assert!(shelf.claim(1).is_empty() && shelf.why("1", false) == "window_open", "the group fits and waits");
    put(&mut shelf, "ana", "3", 50);
    assert_eq!((shelf.why("1", false), shelf.why("3", false)), ("ready", "behind_head"), "the third does not fit");
    let first = shelf.claim_one();
    assert_eq!(shelf.ids(&first), ["1", "2"]);
    shelf.group_bytes = 60;
    assert!(matches!(shelf.fail(&first, None), SettleOutcome::Retrying { .. }));
    let again = shelf.pass(100_000).claim_one();
    assert_eq!(shelf.ids(&again), ["1"], "a retry closes by bytes too");
}
