//! Who waits for a task that ends.

use super::*;
use crate::event::Topic;

const EVA: &str = "eva";

/// Ana has it, Luis and Eva wait.
fn waited_for() -> (Desk, Fence) {
    let mut desk = Desk::ready();
    let fence = desk.claim(ANA);
    for who in [LUIS, EVA] {
        desk.ask(who, Action::Lease(OnLease::JoinLine)).expect("in line");
    }
    (desk, fence)
}

fn waits(desk: &Desk) -> (usize, bool) {
    (desk.lease.line.len(), desk.lease.offer.is_some())
}

#[test]
fn the_end_of_a_task_sends_away_who_waits_and_offers_it_to_nobody() {
    let (mut desk, fence) = waited_for();
    for number in [1, 2] {
        desk.step(fence, number, Ok(()));
    }
    desk.ask(ANA, Action::Close { fence, lines: Vec::new() }).expect("finalized");
    assert_eq!((desk.status(), waits(&desk)), (Status::Completed, (0, false)));
    let told = desk.events.iter().find(|event| event.name == "lease.line_closed").expect("those who wait are told");
    assert_eq!((told.topic, told.detail.as_deref()), (Topic::Leases, Some("completed")));
    assert!(desk.events.iter().all(|event| event.name != "lease.offered"), "{:?}", desk.events);
}

#[test]
fn a_cancelled_task_is_offered_to_nobody() {
    let (mut desk, _) = waited_for();
    desk.ask(ANA, Action::Cancel { reason: None, keep_applied: false }).expect("hers to cancel");
    assert_eq!((desk.status(), waits(&desk)), (Status::Cancelled, (0, false)));
}

#[test]
fn a_task_that_is_cancelled_while_it_is_offered_is_offered_no_more() {
    let (mut desk, fence) = waited_for();
    desk.ask(ANA, Action::Lease(OnLease::Release { fence, claim: None })).expect("given back");
    assert_eq!(waits(&desk), (2, true), "the control: as long as it can be processed it is kept for the first");
    desk.ask(ANA, Action::Cancel { reason: None, keep_applied: false }).expect("nobody has it");
    assert_eq!(waits(&desk), (0, false));
}

#[test]
fn what_is_partially_finalized_is_offered_to_the_next() {
    let (mut desk, fence) = waited_for();
    desk.step(fence, 1, Ok(()));
    desk.step(fence, 2, Err(LineError::Incomplete));
    desk.ask(ANA, Action::Close { fence, lines: Vec::new() }).expect("finalized");
    assert_eq!((desk.status(), waits(&desk)), (Status::PartiallyCompleted, (2, true)));
}

#[test]
fn whoever_waits_goes_on_waiting_where_the_end_is_refused() {
    let (mut desk, fence) = waited_for();
    for number in [1, 2] {
        desk.step(fence, number, Ok(()));
    }
    desk.lease.pinned = true;
    assert!(desk.ask(ANA, Action::Cancel { reason: None, keep_applied: false }).is_err());
    desk.lease.pinned = false;
    let other = Fence(fence.0 - 1);
    assert!(lost(&desk.ask(ANA, Action::Close { fence: other, lines: Vec::new() })));
    assert!(lost(&desk.ask(EVA, Action::Close { fence, lines: Vec::new() })));
    assert_eq!(waits(&desk), (2, false));
}
