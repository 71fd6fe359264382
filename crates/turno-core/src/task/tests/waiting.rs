//! Tests of the waiting line of a task that is completed or cancelled.

use super::*;
use crate::event::EventName;
use crate::event::Topic;

const EVA: &str = "eva";

/// Returns a task that Ana holds, with Luis and Eva in its waiting line.
fn held_with_waiting_line() -> (Bench, Fence) {
    let mut bench = Bench::ready();
    let fence = bench.claim(ANA);
    for who in [LUIS, EVA] {
        bench.ask(who, Action::Lease(OnLease::JoinLine)).expect("in line");
    }
    (bench, fence)
}

/// Returns the number of tickets, and whether the lease is offered.
fn waiting_line(bench: &Bench) -> (usize, bool) {
    (bench.lease.line.len(), bench.lease.offer.is_some())
}

#[test]
fn completed_task_empties_its_waiting_line_and_makes_no_offer() {
    let (mut bench, fence) = held_with_waiting_line();
    for number in [1, 2] {
        bench.step(fence, number, Ok(()));
    }
    bench.ask(ANA, Action::Close { fence, lines: Vec::new() }).expect("finalized");
    assert_eq!((bench.status(), waiting_line(&bench)), (Status::Completed, (0, false)));
    let closed =
        bench.events.iter().find(|event| event.name == EventName::LeaseLineClosed).expect("the line is closed");
    assert_eq!((closed.topic, closed.detail.as_deref()), (Topic::Leases, Some("completed")));
    assert!(bench.events.iter().all(|event| event.name != EventName::LeaseOffered), "{:?}", bench.events);
}

#[test]
fn cancelled_task_empties_its_waiting_line_and_makes_no_offer() {
    let (mut bench, _) = held_with_waiting_line();
    bench.ask(ANA, Action::Cancel { reason: None, keep_applied: false }).expect("Ana holds the task");
    assert_eq!((bench.status(), waiting_line(&bench)), (Status::Cancelled, (0, false)));
}

#[test]
fn cancelling_an_offered_task_ends_the_offer() {
    let (mut bench, fence) = held_with_waiting_line();
    bench.ask(ANA, Action::Lease(OnLease::Release { fence, claim: None })).expect("released");
    assert_eq!(waiting_line(&bench), (2, true), "control: the released task is offered");
    bench.ask(ANA, Action::Cancel { reason: None, keep_applied: false }).expect("the task is free");
    assert_eq!(waiting_line(&bench), (0, false));
}

#[test]
fn partially_completed_task_is_offered_to_the_next_ticket() {
    let (mut bench, fence) = held_with_waiting_line();
    bench.step(fence, 1, Ok(()));
    bench.step(fence, 2, Err(LineError::Incomplete));
    bench.ask(ANA, Action::Close { fence, lines: Vec::new() }).expect("finalized");
    assert_eq!((bench.status(), waiting_line(&bench)), (Status::PartiallyCompleted, (2, true)));
}

#[test]
fn refused_cancel_or_finalize_keeps_the_waiting_line() {
    let (mut bench, fence) = held_with_waiting_line();
    for number in [1, 2] {
        bench.step(fence, number, Ok(()));
    }
    bench.lease.pinned = true;
    assert!(bench.ask(ANA, Action::Cancel { reason: None, keep_applied: false }).is_err());
    bench.lease.pinned = false;
    let other = Fence(fence.0 - 1);
    assert!(lost(&bench.ask(ANA, Action::Close { fence: other, lines: Vec::new() })));
    assert!(lost(&bench.ask(EVA, Action::Close { fence, lines: Vec::new() })));
    assert_eq!(waiting_line(&bench), (2, false));
}
