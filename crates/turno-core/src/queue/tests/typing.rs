//! Signs of typing: which window they keep open, and which not.

use super::super::*;
use super::shelf::Shelf;
use crate::time::Span;

#[test]
fn typing_keeps_the_window_open_and_means_nothing_without_a_message() {
    let mut shelf = Shelf::new(Policy::of(Kind::Lane));
    shelf.types("ana");
    shelf.put("ana", "hola");
    shelf.pass(2_900).types("ana");
    shelf.pass(2_999);
    assert!(shelf.claim(1).is_empty());
    shelf.pass(1);
    assert_eq!(shelf.claim(1).len(), 1);
}

#[test]
fn typing_counts_for_the_message_behind_one_that_is_being_answered() {
    let mut shelf = Shelf::new(Policy::of(Kind::Lane));
    shelf.put("ana", "hola");
    let hola = shelf.pass(3_000).claim_one();
    shelf.put("ana", "quiero");
    shelf.pass(2_900).types("ana");
    shelf.ack(&hola);
    shelf.pass(2_999);
    assert!(shelf.claim(1).is_empty(), "she types on, though the bot was busy");
    shelf.pass(1);
    let next = shelf.claim_one();
    assert_eq!(shelf.ids(&next), ["quiero"]);
}

#[test]
fn typing_counts_for_the_message_behind_one_that_waits_for_a_retry() {
    let mut shelf = Shelf::new(Policy::of(Kind::Lane));
    shelf.put("ana", "hola");
    let hola = shelf.pass(3_000).claim_one();
    shelf.fail(&hola, None);
    shelf.put("ana", "quiero");
    shelf.pass(2_000).types("ana");
    let again = shelf.claim_one();
    assert_eq!(shelf.ids(&again), ["hola"], "a retry has no window");
    shelf.ack(&again);
    shelf.pass(2_999);
    assert!(shelf.claim(1).is_empty());
    assert_eq!(shelf.pass(1).claim(1).len(), 1);
}

#[test]
fn typing_while_the_only_message_is_being_answered_means_nothing() {
    let mut shelf = Shelf::new(Policy { typing_extension: Span(9_000), ..Policy::of(Kind::Lane) });
    shelf.put("ana", "hola");
    let hola = shelf.pass(3_000).claim_one();
    shelf.types("ana");
    shelf.ack(&hola);
    shelf.put("ana", "quiero");
    assert_eq!(shelf.pass(3_000).claim(1).len(), 1, "it had its window");
}
