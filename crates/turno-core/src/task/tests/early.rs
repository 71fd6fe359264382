//! A finalize that ends early, and what becomes of the lines it applied.

use super::*;

#[test]
fn the_first_applied_line_makes_the_task_partially_completed() {
    let mut desk = Desk::ready();
    let fence = desk.claim(ANA);
    desk.step(fence, 1, Err(LineError::Incomplete));
    assert_eq!(desk.status(), Status::Processing, "a line that failed changed nothing");
    desk.step(fence, 2, Ok(()));
    assert_eq!(desk.status(), Status::PartiallyCompleted);
    desk.step(fence, 1, Ok(()));
    assert_eq!(desk.status(), Status::PartiallyCompleted, "only the end of the finalize completes the task");
    desk.ask(ANA, Action::Close { fence, lines: Vec::new() }).expect("her lock is live");
    assert_eq!(desk.status(), Status::Completed);
}

#[test]
fn a_finalize_whose_lock_is_lost_is_told_so_also_after_another_completed_the_task() {
    let mut desk = Desk::ready();
    let fence = desk.claim(ANA);
    let first = vec![(1, desk.step(fence, 1, Ok(())))];
    desk.ask(LUIS, Action::Lease(OnLease::ForceClaim { reason: "urge".to_owned(), fence: None })).expect("taken");
    let taken = desk.lease.grant.as_ref().expect("held").fence;
    let apply = desk.apply(LUIS, taken, 2);
    let task = desk.task.as_mut().expect("there is one");
    task.lines[1] = task.lines[1].clone().after(&apply, Ok(()), desk.now).0;
    desk.ask(LUIS, Action::Close { fence: taken, lines: Vec::new() }).expect("his lock is live");
    assert_eq!(desk.status(), Status::Completed);
    assert!(lost(&desk.ask(ANA, Action::Close { fence, lines: first.clone() })));
    let outcomes = desk.task.as_ref().expect("there is one").outcomes(fence, &first);
    assert_eq!(outcomes, [(1, LineOutcome::Applied), (2, LineOutcome::Skipped)]);
}

#[test]
fn a_finalize_of_a_task_that_nobody_ever_held_is_refused_for_its_status() {
    let mut desk = Desk::ready();
    let close = Action::Close { fence: Fence(1), lines: Vec::new() };
    assert_eq!(desk.ask(ANA, close), Err(Refused::WrongStatus(Status::Ready)));
}

#[test]
fn the_report_of_a_lost_finalize_names_the_lines_that_it_saw_fail_and_no_others() {
    let mut desk = Desk::ready();
    let fence = desk.claim(ANA);
    desk.step(fence, 1, Err(LineError::Incomplete));
    let task = desk.task.as_ref().expect("there is one");
    assert_eq!(task.outcomes(fence, &[]), [], "another finalize saw it fail");
    let seen = [(1, LineOutcome::Failed(LineError::Incomplete))];
    assert_eq!(task.outcomes(fence, &seen), seen);
}

#[test]
fn cancelling_a_task_with_applied_lines_is_refused_and_names_them() {
    let mut desk = Desk::ready();
    let fence = desk.claim(ANA);
    desk.step(fence, 2, Ok(()));
    let cancel = |keep_applied| Action::Cancel { reason: None, keep_applied };
    assert_eq!(desk.ask(ANA, cancel(false)), Err(Refused::LinesApplied(vec![2])));
    assert!(desk.lease.grant.is_some(), "a refusal releases nothing");
    let held = desk.ask(LUIS, cancel(true));
    assert!(matches!(held, Err(Refused::Lease(lease::Refused::HeldBy { .. }))), "{held:?}");
    desk.ask(ANA, cancel(true)).expect("she says that the lines stay");
    assert_eq!(desk.status(), Status::Cancelled);
    let detail: serde_json::Value = serde_json::from_str(&desk.audit[0].detail).expect("JSON");
    assert_eq!(detail["lines_applied"], serde_json::json!([2]));
}

/// A task of a server that wrote no status with its lines.
#[test]
fn cancelling_looks_at_the_lines_and_not_at_the_status() {
    let mut desk = Desk::ready();
    let fence = desk.claim(ANA);
    desk.step(fence, 1, Ok(()));
    desk.task.as_mut().expect("there is one").status = Status::Processing;
    let cancel = Action::Cancel { reason: None, keep_applied: false };
    assert_eq!(desk.ask(ANA, cancel), Err(Refused::LinesApplied(vec![1])));
}
