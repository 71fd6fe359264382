//! Tests of a finalize that ends early: its applied lines stay and are reported.

use super::*;

#[test]
fn the_first_applied_line_makes_the_task_partially_completed() {
    let mut bench = Bench::ready();
    let fence = bench.claim(ANA);
    bench.step(fence, 1, Err(LineError::Incomplete));
    assert_eq!(bench.status(), Status::Processing, "a failed line does not change the status");
    bench.step(fence, 2, Ok(()));
    assert_eq!(bench.status(), Status::PartiallyCompleted);
    bench.step(fence, 1, Ok(()));
    assert_eq!(bench.status(), Status::PartiallyCompleted, "only the end of the finalize completes the task");
    bench.ask(ANA, Action::Close { fence, lines: Vec::new() }).expect("Ana's lease is live");
    assert_eq!(bench.status(), Status::Completed);
}

#[test]
fn finalize_with_a_lost_lease_is_refused_as_lost_after_another_user_completed_the_task() {
    let mut bench = Bench::ready();
    let fence = bench.claim(ANA);
    let first = vec![(1, bench.step(fence, 1, Ok(())))];
    bench.ask(LUIS, Action::Lease(OnLease::ForceClaim { reason: "urge".to_owned(), fence: None })).expect("taken");
    let taken = bench.lease.grant.as_ref().expect("held").fence;
    let apply = bench.apply(LUIS, taken, 2);
    let task = bench.task.as_mut().expect("there is one");
    task.lines[1] = task.lines[1].clone().after(&apply, Ok(()), bench.now).0;
    bench.ask(LUIS, Action::Close { fence: taken, lines: Vec::new() }).expect("Luis's lease is live");
    assert_eq!(bench.status(), Status::Completed);
    assert!(lost(&bench.ask(ANA, Action::Close { fence, lines: first.clone() })));
    let outcomes = bench.task.as_ref().expect("there is one").outcomes(fence, &first);
    assert_eq!(outcomes, [(1, LineOutcome::Applied), (2, LineOutcome::Skipped)]);
}

#[test]
fn finalize_of_a_task_that_was_never_claimed_is_refused_for_its_status() {
    let mut bench = Bench::ready();
    let close = Action::Close { fence: Fence(1), lines: Vec::new() };
    assert_eq!(bench.ask(ANA, close), Err(Refused::WrongStatus(Status::Ready)));
}

#[test]
fn report_of_a_lost_finalize_names_only_the_lines_that_it_saw_fail() {
    let mut bench = Bench::ready();
    let fence = bench.claim(ANA);
    bench.step(fence, 1, Err(LineError::Incomplete));
    let task = bench.task.as_ref().expect("there is one");
    assert_eq!(task.outcomes(fence, &[]), [], "this finalize did not try the line");
    let seen = [(1, LineOutcome::Failed(LineError::Incomplete))];
    assert_eq!(task.outcomes(fence, &seen), seen);
}

#[test]
fn cancel_of_a_task_with_applied_lines_is_refused_and_names_them() {
    let mut bench = Bench::ready();
    let fence = bench.claim(ANA);
    bench.step(fence, 2, Ok(()));
    let cancel = |keep_applied| Action::Cancel { reason: None, keep_applied };
    assert_eq!(bench.ask(ANA, cancel(false)), Err(Refused::LinesApplied(vec![2])));
    assert!(bench.lease.grant.is_some(), "a refusal releases nothing");
    let held = bench.ask(LUIS, cancel(true));
    assert!(matches!(held, Err(Refused::Lease(lease::Refused::HeldBy { .. }))), "{held:?}");
    bench.ask(ANA, cancel(true)).expect("Ana keeps the applied lines");
    assert_eq!(bench.status(), Status::Cancelled);
    let detail: serde_json::Value = serde_json::from_str(&bench.audit[0].detail).expect("JSON");
    assert_eq!(detail["lines_applied"], serde_json::json!([2]));
}

/// An older server did not change the status when it applied a line.
#[test]
fn cancel_checks_the_lines_and_not_the_status() {
    let mut bench = Bench::ready();
    let fence = bench.claim(ANA);
    bench.step(fence, 1, Ok(()));
    bench.task.as_mut().expect("there is one").status = Status::Processing;
    let cancel = Action::Cancel { reason: None, keep_applied: false };
    assert_eq!(bench.ask(ANA, cancel), Err(Refused::LinesApplied(vec![1])));
}
