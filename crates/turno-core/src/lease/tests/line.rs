//! The waiting line: places, offers and tickets that die.

use super::*;

#[test]
fn waiters_are_served_in_order_and_nobody_jumps_the_line() {
    let mut bench = Bench::new();
    let fence = bench.claimed("ana");
    for (who, place) in [("luis", 1), ("eva", 2)] {
        let answer = bench.does(who, Action::JoinLine).answer;
        assert_eq!(answer, Ok(Outcome::InLine { position: place, offered: false, ticket: TICKET_TTL }));
    }
    bench.release("ana", fence).expect("released");
    assert!(matches!(bench.claim("ana"), Err(Refused::OfferedTo { .. })), "an ex-holder goes to the back");
    assert!(matches!(bench.claim("eva"), Err(Refused::OfferedTo { .. })));
    bench.claimed("luis");
    assert_eq!(bench.state.line.len(), 1);
}

#[test]
fn keeping_a_place_renews_it_and_takes_no_new_one() {
    let mut bench = Bench::new();
    bench.claimed("ana");
    assert_eq!(bench.does("luis", Action::KeepPlace).answer, Ok(Outcome::LeftLine));
    bench.does("luis", Action::JoinLine).answer.expect("in line");
    for _ in 0..2 {
        bench.pass(TICKET_TTL.0 - 1);
        let kept = bench.does("luis", Action::KeepPlace).answer;
        assert!(matches!(kept, Ok(Outcome::InLine { position: 1, .. })), "{kept:?}");
    }
    bench.does("luis", Action::LeaveLine).answer.expect("left");
    assert_eq!(bench.does("luis", Action::KeepPlace).answer, Ok(Outcome::LeftLine));
    assert!(bench.state.line.is_empty(), "another page that keeps the place does not undo the leaving");
}

#[test]
fn an_offer_that_is_not_taken_goes_to_the_next() {
    let mut bench = Bench::new();
    let fence = bench.claimed("ana");
    bench.does("luis", Action::JoinLine).answer.expect("in line");
    bench.does("eva", Action::JoinLine).answer.expect("in line");
    bench.release("ana", fence).expect("released");
    bench.pass(29_000);
    bench.does("luis", Action::JoinLine).answer.expect("still there");
    bench.does("eva", Action::JoinLine).answer.expect("still there");
    bench.pass(1_000);
    bench.claimed("eva");
    assert!(bench.state.line.is_empty(), "who let an offer pass has lost the place");
}

#[test]
fn a_dead_ticket_is_never_granted() {
    let mut bench = Bench::new();
    let fence = bench.claimed("ana");
    bench.does("luis", Action::JoinLine).answer.expect("in line");
    bench.pass(29_000);
    bench.beat("ana", fence).expect("alive");
    bench.pass(1_000);
    bench.release("ana", fence).expect("released");
    bench.claimed("eva");
}

#[test]
fn a_ticket_that_died_is_not_revived_in_its_old_place() {
    let mut bench = Bench::new();
    let fence = bench.claimed("ana");
    bench.does("luis", Action::JoinLine).answer.expect("in line");
    bench.pass(20_000);
    bench.beat("ana", fence).expect("alive");
    bench.does("eva", Action::JoinLine).answer.expect("in line");
    bench.pass(10_000);
    let again = bench.does("luis", Action::JoinLine).answer;
    assert_eq!(again, Ok(Outcome::InLine { position: 2, offered: false, ticket: TICKET_TTL }));
}

#[test]
fn leaving_the_line_passes_the_offer_on() {
    let mut bench = Bench::new();
    let fence = bench.claimed("ana");
    bench.does("luis", Action::JoinLine).answer.expect("in line");
    bench.does("eva", Action::JoinLine).answer.expect("in line");
    bench.release("ana", fence).expect("released");
    bench.does("luis", Action::LeaveLine).answer.expect("left");
    assert_eq!(bench.state.offer.as_ref().map(|offer| &offer.to), Some(&holder("eva")));
}

#[test]
fn joining_the_line_of_a_free_lease_is_offered_at_once() {
    let mut bench = Bench::new();
    let answer = bench.does("luis", Action::JoinLine).answer;
    assert_eq!(answer, Ok(Outcome::InLine { position: 1, offered: true, ticket: TICKET_TTL }));
}

#[test]
fn a_claim_that_waits_is_a_ticket_too() {
    let mut bench = Bench::new();
    bench.claimed("ana");
    let waiting = bench.does("luis", Action::Claim { ttl: None, wait: true }).answer;
    assert!(matches!(waiting, Err(Refused::HeldBy { position: Some(1), .. })));
    assert_eq!(bench.does("ana", Action::JoinLine).answer, Err(Refused::AlreadyHolder));
}

#[test]
fn a_full_line_says_so() {
    let mut bench = Bench::new();
    bench.claimed("ana");
    for n in 0..LINE_MAX {
        bench.does(&format!("u{n}"), Action::JoinLine).answer.expect("room");
    }
    assert_eq!(bench.does("one more", Action::JoinLine).answer, Err(Refused::LineFull));
}

#[test]
fn force_claim_ignores_the_line_and_leaves_it_standing() {
    let mut bench = Bench::new();
    bench.claimed("ana");
    bench.does("luis", Action::JoinLine).answer.expect("in line");
    bench.does("admin", Action::ForceClaim { reason: "urgent".to_owned(), fence: None }).answer.expect("forced");
    assert_eq!(bench.state.line.len(), 1);
}
