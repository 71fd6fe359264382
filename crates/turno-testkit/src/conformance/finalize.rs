//! A finalize that stops early: what it leaves applied, what it reports, and how the task is cancelled.

use super::task::{ask, claim, finalize, get, ready, stock, units};
use super::world::{World, holder};
use std::sync::Arc;
use turno::Turno;
use turno::clock::Manual;
use turno::core::id::Fence;
use turno::core::lease::{self, Action as OnLease, Policy};
use turno::core::task::{Action, Apply, LineOutcome, Movement, Outcome, Refused, Status, TaskId};
use turno::core::time::Span;
use turno::store::{AuditQuery, Effect, EffectFuture, LineStep, LineToApply, TaskQuery, Tx};

super::cases![
    a_finalize_cut_off_by_a_crash_leaves_the_task_partially_completed,
    a_finalize_that_lost_its_lock_lists_every_applied_line,
    cancelling_a_task_with_applied_lines_needs_a_confirmation,
    a_lease_that_expires_during_an_effect_is_ended_by_the_next_command,
];

/// Applies one line as a finalize does and stops there, as if the process had died afterwards.
async fn apply(turno: &Turno, id: TaskId, who: &str, fence: Fence, number: u32) -> LineStep {
    let (who, policy) = (holder(who), Policy::of_tasks());
    let apply = Apply { task: id, number, fence, who, via: None, policy };
    turno.store().unwrap().apply_line(apply, None).await.unwrap()
}

async fn in_status(turno: &Turno, status: Status) -> Vec<TaskId> {
    let query = TaskQuery { status: Some(status), limit: 10, ..TaskQuery::default() };
    turno.tasks(query).await.unwrap().tasks.into_iter().map(|(task, _)| task.id).collect()
}

async fn a_finalize_cut_off_by_a_crash_leaves_the_task_partially_completed(mut world: World) {
    let lines = vec![units("x", Movement::Out, 9), units("x", Movement::In, 4), units("x", Movement::In, 2)];
    let id = ready(&world.turno, lines).await;
    let fence = claim(&world.turno, id, "ana").await;
    let failed = apply(&world.turno, id, "ana", fence, 1).await;
    assert!(matches!(failed, LineStep::Settled(LineOutcome::Failed(_))), "{failed:?}");
    assert_eq!(in_status(&world.turno, Status::Processing).await, [id], "no line is applied yet");
    world.advance(1_000);
    let before = get(&world.turno, id).await.updated_at;
    assert_eq!(apply(&world.turno, id, "ana", fence, 2).await, LineStep::Settled(LineOutcome::Applied));
    world.reopen().await;
    let task = get(&world.turno, id).await;
    assert_eq!(task.status, Status::PartiallyCompleted);
    assert!(before < task.updated_at);
    assert_eq!(in_status(&world.turno, Status::PartiallyCompleted).await, [id]);
    assert_eq!(in_status(&world.turno, Status::Processing).await, []);
    let done = finalize(&world.turno, id, "ana", fence).await;
    assert_eq!(done.answer.unwrap().status, Status::PartiallyCompleted, "line 1 still fails");
    assert_eq!(stock(&world.turno, "x").await.0, 6, "line 2 was applied once");
}

async fn a_finalize_that_lost_its_lock_lists_every_applied_line(world: World) {
    let turno = &world.turno;
    let id = ready(turno, (0..3).map(|_| units("x", Movement::In, 1)).collect()).await;
    let fence = claim(turno, id, "ana").await;
    apply(turno, id, "ana", fence, 1).await;
    let force = OnLease::ForceClaim { reason: "urge".to_owned(), fence: None };
    let taken = ask(turno, id, "luis", Action::Lease(force)).await.lease.grant.unwrap().fence;
    assert_eq!(finalize(turno, id, "luis", taken).await.answer.unwrap().status, Status::Completed);
    let late = finalize(turno, id, "ana", fence).await;
    let Err(Refused::Lease(lease::Refused::Lost { ending: Some(ending) })) = late.answer else {
        panic!("{:?}", late.answer)
    };
    assert_eq!((ending.grant.fence, ending.note.as_deref()), (fence, Some("urge")));
    let outcomes = [(1, LineOutcome::Applied), (2, LineOutcome::Skipped), (3, LineOutcome::Skipped)];
    assert_eq!(late.lines, outcomes);
    assert_eq!(stock(turno, "x").await.0, 3);
}

async fn cancelling_a_task_with_applied_lines_needs_a_confirmation(world: World) {
    let turno = &world.turno;
    let id = ready(turno, vec![units("x", Movement::In, 5), units("x", Movement::In, 1)]).await;
    let fence = claim(turno, id, "ana").await;
    apply(turno, id, "ana", fence, 1).await;
    let cancel = |keep_applied| Action::Cancel { reason: None, keep_applied };
    assert_eq!(ask(turno, id, "ana", cancel(false)).await.answer, Err(Refused::LinesApplied(vec![1])));
    let (now, lease) = turno.lease_state(id.resource()).await.unwrap();
    assert!(lease.live(now).is_some() && get(turno, id).await.status == Status::PartiallyCompleted);
    assert_eq!(ask(turno, id, "ana", cancel(true)).await.answer, Ok(Outcome::Done));
    assert_eq!((get(turno, id).await.status, stock(turno, "x").await.0), (Status::Cancelled, 5));
    let entries = turno.audit(AuditQuery { limit: 10, ..AuditQuery::default() }).await.unwrap();
    let actions: Vec<_> = entries.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["task_cancel"], "the refusal left no entry");
    assert!(entries[0].detail.contains("\"lines_applied\":[1]"), "{}", entries[0].detail);
}

/// An effect that takes longer than the ttl.
struct Slow(Arc<Manual>);

impl Effect for Slow {
    fn apply<'a>(&'a self, _: &'a LineToApply, _: &'a mut dyn Tx) -> EffectFuture<'a> {
        self.0.advance(Span::from_secs(200));
        Box::pin(std::future::ready(Ok(())))
    }
}

async fn a_lease_that_expires_during_an_effect_is_ended_by_the_next_command(world: World) {
    let turno = &world.turno;
    let id = ready(turno, vec![units("x", Movement::In, 5)]).await;
    let fence = claim(turno, id, "ana").await;
    let apply = Apply { task: id, number: 1, fence, who: holder("ana"), via: None, policy: Policy::of_tasks() };
    let store = turno.store().unwrap();
    let step = store.apply_line(apply, Some(Arc::new(Slow(world.time.clone())))).await.unwrap();
    assert_eq!(step, LineStep::Settled(LineOutcome::Applied), "the line's lock kept other holders away");
    assert_eq!(store.ending(id.resource(), fence).await.unwrap(), None, "the line does not end the lease");
    let peeked = store.peek(vec![id.resource()]).await.unwrap();
    let grant = peeked.states[0].grant.clone().unwrap();
    assert!(grant.fence == fence && grant.expires_at <= peeked.now, "the lease is not renewed either");
    claim(turno, id, "luis").await;
    let ending = store.ending(id.resource(), fence).await.unwrap().unwrap();
    assert_eq!(ending.reason, lease::Reason::Expired);
}
