//! Tests of typing signals: which windows they keep open.

use super::super::*;
use super::shelf::Shelf;
use crate::time::Span;

#[test]
fn typing_keeps_the_window_open_and_is_ignored_without_an_item() {
    let mut shelf = Shelf::new(Policy::for_kind(Kind::Lane));
    shelf.type_in("ana");
    shelf.put("ana", "hola");
    shelf.pass(2_900).type_in("ana");
    shelf.pass(2_999);
    assert!(shelf.claim(1).is_empty());
    shelf.pass(1);
    assert_eq!(shelf.claim(1).len(), 1);
}

#[test]
fn typing_keeps_the_window_of_an_item_behind_a_delivery_open() {
    let mut shelf = Shelf::holding(Policy::for_kind(Kind::Lane), &["hola"]);
    let hola = shelf.pass(3_000).claim_one();
    shelf.put("ana", "quiero");
    shelf.pass(2_900).type_in("ana");
    shelf.ack(&hola);
    shelf.pass(2_999);
    assert!(shelf.claim(1).is_empty(), "the typing signal arrived during the delivery");
    shelf.pass(1);
    let next = shelf.claim_one();
    assert_eq!(shelf.ids(&next), ["quiero"]);
}

#[test]
fn typing_keeps_the_window_of_an_item_behind_a_retry_open() {
    let mut shelf = Shelf::holding(Policy::for_kind(Kind::Lane), &["hola"]);
    let hola = shelf.pass(3_000).claim_one();
    shelf.fail(&hola, None);
    shelf.put("ana", "quiero");
    shelf.pass(2_000).type_in("ana");
    let again = shelf.claim_one();
    assert_eq!(shelf.ids(&again), ["hola"], "a retry has no window");
    shelf.ack(&again);
    shelf.pass(2_999);
    assert!(shelf.claim(1).is_empty());
    assert_eq!(shelf.pass(1).claim(1).len(), 1);
}

#[test]
fn typing_is_ignored_while_the_only_item_is_handed_out() {
    let mut shelf = Shelf::holding(Policy { typing_extension: Span(9_000), ..Policy::for_kind(Kind::Lane) }, &["hola"]);
    let hola = shelf.pass(3_000).claim_one();
    shelf.type_in("ana");
    shelf.ack(&hola);
    shelf.put("ana", "quiero");
    assert_eq!(shelf.pass(3_000).claim(1).len(), 1, "only the ordinary window");
}
