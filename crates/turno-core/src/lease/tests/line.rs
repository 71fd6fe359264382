//! Tests of the waiting line: places, offers and dead tickets.

use super::*;

#[test]
fn waiting_holders_are_served_in_the_order_of_their_tickets() {
    let mut bench = Bench::new();
    let fence = bench.claimed("ana");
    for (who, place) in [("luis", 1), ("eva", 2)] {
        let answer = bench.run(who, Action::JoinLine).answer;
        assert_eq!(answer, Ok(Outcome::InLine { position: place, offered: false, ticket: TICKET_TTL }));
    }
    bench.release("ana", fence).expect("released");
    assert!(matches!(bench.claim("ana"), Err(Refused::OfferedTo { .. })), "the former holder does not go first");
    assert!(matches!(bench.claim("eva"), Err(Refused::OfferedTo { .. })));
    bench.claimed("luis");
    assert_eq!(bench.state.line.len(), 1);
}

#[test]
fn keeping_a_place_renews_it_and_takes_no_new_one() {
    let mut bench = Bench::new();
    bench.claimed("ana");
    assert_eq!(bench.run("luis", Action::RenewTicket).answer, Ok(Outcome::LeftLine));
    bench.run("luis", Action::JoinLine).answer.expect("in line");
    for _ in 0..2 {
        bench.pass(TICKET_TTL.0 - 1);
        let kept = bench.run("luis", Action::RenewTicket).answer;
        assert!(matches!(kept, Ok(Outcome::InLine { position: 1, .. })), "{kept:?}");
    }
    bench.run("luis", Action::LeaveLine).answer.expect("left");
    assert_eq!(bench.run("luis", Action::RenewTicket).answer, Ok(Outcome::LeftLine));
    assert!(bench.state.line.is_empty(), "renewing from another page takes no new ticket");
}

#[test]
fn lapsed_offer_goes_to_the_next_ticket() {
    let mut bench = Bench::new();
    let fence = bench.claimed("ana");
    bench.run("luis", Action::JoinLine).answer.expect("in line");
    bench.run("eva", Action::JoinLine).answer.expect("in line");
    bench.release("ana", fence).expect("released");
    bench.pass(29_000);
    bench.run("luis", Action::JoinLine).answer.expect("still there");
    bench.run("eva", Action::JoinLine).answer.expect("still there");
    bench.pass(1_000);
    bench.claimed("eva");
    assert!(bench.state.line.is_empty(), "a lapsed offer removes the ticket");
}

#[test]
fn a_dead_ticket_is_never_granted() {
    let mut bench = Bench::new();
    let fence = bench.claimed("ana");
    bench.run("luis", Action::JoinLine).answer.expect("in line");
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
    bench.run("luis", Action::JoinLine).answer.expect("in line");
    bench.pass(20_000);
    bench.beat("ana", fence).expect("alive");
    bench.run("eva", Action::JoinLine).answer.expect("in line");
    bench.pass(10_000);
    let again = bench.run("luis", Action::JoinLine).answer;
    assert_eq!(again, Ok(Outcome::InLine { position: 2, offered: false, ticket: TICKET_TTL }));
}

#[test]
fn leaving_the_line_passes_the_offer_on() {
    let mut bench = Bench::new();
    let fence = bench.claimed("ana");
    bench.run("luis", Action::JoinLine).answer.expect("in line");
    bench.run("eva", Action::JoinLine).answer.expect("in line");
    bench.release("ana", fence).expect("released");
    bench.run("luis", Action::LeaveLine).answer.expect("left");
    assert_eq!(bench.state.offer.as_ref().map(|offer| &offer.to), Some(&holder("eva")));
}

#[test]
fn joining_the_line_of_a_free_lease_is_answered_with_an_offer() {
    let mut bench = Bench::new();
    let answer = bench.run("luis", Action::JoinLine).answer;
    assert_eq!(answer, Ok(Outcome::InLine { position: 1, offered: true, ticket: TICKET_TTL }));
}

#[test]
fn refused_claim_with_wait_takes_a_ticket() {
    let mut bench = Bench::new();
    bench.claimed("ana");
    let waiting = bench.run("luis", Action::Claim { ttl: None, wait: true }).answer;
    assert!(matches!(waiting, Err(Refused::HeldBy { position: Some(1), .. })));
    assert_eq!(bench.run("ana", Action::JoinLine).answer, Err(Refused::AlreadyHolder));
}

#[test]
fn joining_a_full_line_is_refused() {
    let mut bench = Bench::new();
    bench.claimed("ana");
    for n in 0..LINE_MAX {
        bench.run(&format!("u{n}"), Action::JoinLine).answer.expect("room");
    }
    assert_eq!(bench.run("one more", Action::JoinLine).answer, Err(Refused::LineFull));
}

#[test]
fn force_claim_skips_the_line_and_keeps_its_tickets() {
    let mut bench = Bench::new();
    bench.claimed("ana");
    bench.run("luis", Action::JoinLine).answer.expect("in line");
    bench.run("admin", Action::ForceClaim { reason: "urgent".to_owned(), fence: None }).answer.expect("forced");
    assert_eq!(bench.state.line.len(), 1);
}
