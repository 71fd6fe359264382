//! Tasks: one holder at a time, and each line's effect exactly once.

use super::world::{START, World, holder};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use turno::clock::Manual;
use turno::core::fault::Thing;
use turno::core::id::{Fence, Serial, Sku};
use turno::core::lease::{self, Action as OnLease, Cause};
use turno::core::task::{
    Action, Goods, LineError, LineOutcome, LineStatus, Movement, NewLine, Outcome, Patch, Refused, Status, Task, TaskId,
};
use turno::core::time::Span;
use turno::store::{AuditQuery, Effect, EffectError, EffectFuture, LineToApply, TaskQuery, Tx, Value};
use turno::task::{FinalizeAnswer, NewTask, TaskAnswer, TaskEvent};
use turno::{Error, Turno};

super::cases![
    a_task_is_stored_as_it_was_written_and_edited_while_a_draft,
    claiming_a_task_needs_a_lockable_status_and_starts_processing,
    lease_calls_on_a_task_follow_the_tasks_rules,
    lines_change_only_under_the_callers_live_lock,
    finalizing_applies_every_line_once_and_completes,
    a_failing_line_changes_neither_the_others_nor_the_stock,
    repeating_a_finalize_gets_the_same_answer_also_after_reopening,
    concurrent_finalizes_with_one_fence_count_as_one,
    two_instances_that_finalize_together_apply_each_line_once,
    a_finalize_that_loses_its_lock_stops_and_reports_applied_lines,
    the_next_holder_finishes_the_remaining_lines_and_applies_none_twice,
    finalizing_counts_as_work_and_renews,
    an_applications_effect_commits_with_its_line_or_not_at_all,
    cancelling_respects_the_lock_and_is_audited,
    overrides_of_a_task_are_audited_and_end_the_lock,
    validating_checks_the_stock,
    the_history_of_a_task_has_its_events_and_holders,
    tasks_are_listed_newest_first_and_by_status,
];

fn serial(text: &str) -> Serial {
    Serial::new(text).unwrap()
}

fn sku(text: &str) -> Sku {
    Sku::new(text).unwrap()
}

pub(super) fn units(article: &str, movement: Movement, quantity: i64) -> NewLine {
    NewLine { movement, sku: sku(article), goods: Goods::Quantity(quantity) }
}

fn named(article: &str, movement: Movement, serials: &[&str]) -> NewLine {
    let serials = serials.iter().map(|text| serial(text)).collect();
    NewLine { movement, sku: sku(article), goods: Goods::Serialized(serials) }
}

pub(super) async fn ready(turno: &Turno, lines: Vec<NewLine>) -> TaskId {
    turno.create_task("eva", NewTask::titled("Recepción №7").lines(lines).ready()).await.unwrap().id()
}

pub(super) async fn ask(turno: &Turno, id: TaskId, who: &str, action: Action) -> TaskAnswer {
    turno.task_command(Some(id), holder(who), action).await.unwrap()
}

pub(super) async fn claim(turno: &Turno, id: TaskId, who: &str) -> Fence {
    let answer = ask(turno, id, who, Action::Lease(OnLease::Claim { ttl: None, wait: false })).await;
    assert!(answer.answer.is_ok(), "{:?}", answer.answer);
    answer.lease.grant.unwrap().fence
}

pub(super) async fn finalize(turno: &Turno, id: TaskId, who: &str, fence: Fence) -> FinalizeAnswer {
    turno.task_finalize(id, holder(who), fence).await.unwrap()
}

pub(super) async fn get(turno: &Turno, id: TaskId) -> Task {
    turno.task_get(id).await.unwrap().1.unwrap().0
}

pub(super) async fn stock(turno: &Turno, article: &str) -> (i64, Vec<String>) {
    let level = turno.stock_level(sku(article)).await.unwrap();
    (level.quantity, level.serials)
}

fn lost(answer: &Result<Outcome, Refused>) -> bool {
    matches!(answer, Err(Refused::Lease(lease::Refused::Lost { .. })))
}

fn patch(fence: Fence, number: u32, quantity: i64) -> Action {
    Action::Patch { fence, number, patch: Patch { goods: Some(Goods::Quantity(quantity)), ..Patch::default() } }
}

async fn a_task_is_stored_as_it_was_written_and_edited_while_a_draft(mut world: World) {
    let lines = vec![units("tornillo ñ", Movement::Out, 12), named("laptop", Movement::In, &["S/N 1", "S\"2"])];
    let made = world.turno.create_task("eva", NewTask::titled("Borrador").lines(lines.clone())).await.unwrap();
    let (id, first) = (made.id(), made.get().await.unwrap().unwrap().0.version());
    world.advance(1_000);
    let edit = Action::Edit { title: Some("Recepción".to_owned()), lines: None, seen: None };
    let edited = ask(&world.turno, id, "ana", edit).await.task.unwrap();
    world.reopen().await;
    let task = get(&world.turno, id).await;
    assert_eq!(task, edited);
    assert_eq!((task.title.as_str(), task.status, task.created_by.as_str()), ("Recepción", Status::Draft, "eva"));
    assert!(task.created_at < task.updated_at);
    let stored: Vec<(u32, Movement, &Sku, &Goods, LineStatus)> =
        task.lines.iter().map(|line| (line.number, line.movement, &line.sku, &line.goods, line.status)).collect();
    let expected = lines
        .iter()
        .zip(1..)
        .map(|(line, number)| (number, line.movement, &line.sku, &line.goods, LineStatus::Pending));
    assert_eq!(stored, expected.collect::<Vec<_>>());
    let fewer = |seen| Action::Edit { title: None, lines: Some(vec![units("x", Movement::In, 1)]), seen };
    let late = ask(&world.turno, id, "ana", fewer(Some(first))).await.answer;
    assert_eq!(late, Err(Refused::Changed));
    assert_eq!(get(&world.turno, id).await, task, "the late edit changes nothing");
    assert_eq!(ask(&world.turno, id, "ana", fewer(Some(task.version()))).await.answer, Ok(Outcome::Done));
    assert_eq!(get(&world.turno, id).await.lines.len(), 1, "removed lines do not come back");
    assert_eq!(ask(&world.turno, id, "ana", Action::Ready).await.answer, Ok(Outcome::Done));
    assert_eq!(get(&world.turno, id).await.status, Status::Ready);
    assert_eq!(ask(&world.turno, TaskId(9_999), "ana", Action::Ready).await.answer, Err(Refused::Unknown));
}

async fn claiming_a_task_needs_a_lockable_status_and_starts_processing(world: World) {
    let draft = NewTask::titled("b").lines([units("x", Movement::In, 1)]);
    let id = world.turno.create_task("eva", draft).await.unwrap().id();
    let wish = || Action::Lease(OnLease::Claim { ttl: None, wait: false });
    assert_eq!(ask(&world.turno, id, "ana", wish()).await.answer, Err(Refused::WrongStatus(Status::Draft)));
    ask(&world.turno, id, "ana", Action::Ready).await;
    claim(&world.turno, id, "ana").await;
    assert_eq!(get(&world.turno, id).await.status, Status::Processing);
    let held = ask(&world.turno, id, "luis", wish()).await;
    assert!(matches!(held.answer, Err(Refused::Lease(lease::Refused::HeldBy { .. }))));
    let (now, state) = world.turno.lease_state(id.resource()).await.unwrap();
    let grant = state.live(now).unwrap();
    assert_eq!(grant.holder.user.as_str(), "ana");
    assert_eq!(grant.ttl, Span::from_secs(180), "tasks have their own lease policy");
}

async fn lease_calls_on_a_task_follow_the_tasks_rules(world: World) {
    let turno = &world.turno;
    let wish = || OnLease::Claim { ttl: None, wait: false };
    let unknown = turno.lease_command(turno.command("task:99", "ana", wish()).unwrap()).await;
    assert_eq!(unknown, Err(Error::Unknown(Thing::Task(TaskId(99)))));
    let (_, state) = turno.lease_state(TaskId(99).resource()).await.unwrap();
    assert_eq!(state.grant, None, "a refused claim locks nothing");
    let id = ready(turno, vec![units("x", Movement::In, 1)]).await;
    let name = id.resource();
    let answer = turno.lease_command(turno.command(name.as_str(), "ana", wish()).unwrap()).await.unwrap();
    let fence = answer.state.grant.unwrap().fence;
    assert_eq!(get(turno, id).await.status, Status::Processing);
    let beat = OnLease::Heartbeat { fence, idle: Some(Span::ZERO), worked: false };
    assert!(turno.lease_command(turno.command(name.as_str(), "ana", beat).unwrap()).await.unwrap().answer.is_ok());
    assert!(finalize(turno, id, "ana", fence).await.answer.is_ok());
    let over = turno.lease_command(turno.command(name.as_str(), "ana", wish()).unwrap()).await;
    assert_eq!(over, Err(Error::WrongStatus { task: id.0, status: "completed" }));
}

async fn lines_change_only_under_the_callers_live_lock(world: World) {
    let id = ready(&world.turno, vec![units("x", Movement::In, 1), units("y", Movement::In, 2)]).await;
    assert!(lost(&ask(&world.turno, id, "ana", patch(Fence(1), 1, 9)).await.answer));
    let fence = claim(&world.turno, id, "ana").await;
    assert!(lost(&ask(&world.turno, id, "luis", patch(fence, 1, 9)).await.answer));
    assert_eq!(ask(&world.turno, id, "ana", patch(fence, 2, 9)).await.answer, Ok(Outcome::Done));
    world.advance(180_000);
    let late = ask(&world.turno, id, "ana", patch(fence, 1, 9)).await.answer;
    let Err(Refused::Lease(lease::Refused::Lost { ending: Some(ending) })) = late else { panic!("{late:?}") };
    assert_eq!(ending.cause, Cause::NoHeartbeat);
    let quantities: Vec<i64> = get(&world.turno, id).await.lines.iter().map(|line| line.goods.units()).collect();
    assert_eq!(quantities, [1, 9]);
}

async fn finalizing_applies_every_line_once_and_completes(world: World) {
    let lines = vec![
        units("clavos", Movement::In, 30),
        named("laptop", Movement::In, &["B", "A"]),
        units("clavos", Movement::Out, 4),
    ];
    let id = ready(&world.turno, lines).await;
    let fence = claim(&world.turno, id, "ana").await;
    let done = finalize(&world.turno, id, "ana", fence).await;
    let finalized = done.answer.unwrap();
    assert_eq!((finalized.status, done.repeated), (Status::Completed, false));
    let applied = [1, 2, 3].map(|number| (number, LineOutcome::Applied));
    assert_eq!(done.lines, applied);
    assert_eq!(stock(&world.turno, "clavos").await, (26, Vec::new()));
    assert_eq!(stock(&world.turno, "laptop").await, (2, vec!["A".to_owned(), "B".to_owned()]));
    assert_eq!(done.lease.grant, None, "released");
    let task = get(&world.turno, id).await;
    assert_eq!(task.status, Status::Completed);
    let by: Vec<_> =
        task.lines.iter().map(|line| line.applied.clone().map(|(_, at, by)| (at, by.to_string()))).collect();
    assert_eq!(by, vec![Some((fence, "ana".to_owned())); 3]);
}

async fn a_failing_line_changes_neither_the_others_nor_the_stock(mut world: World) {
    let lines = vec![
        units("clavos", Movement::In, 5),
        units("clavos", Movement::Out, 6),
        named("laptop", Movement::Out, &["Z"]),
        named("laptop", Movement::In, &["A"]),
        named("laptop", Movement::In, &["B", "A"]),
    ];
    let id = ready(&world.turno, lines).await;
    let fence = claim(&world.turno, id, "ana").await;
    world.advance(1_500);
    let done = finalize(&world.turno, id, "ana", fence).await;
    let finalized = done.answer.unwrap();
    assert_eq!(finalized.status, Status::PartiallyCompleted);
    let expected = [
        LineOutcome::Applied,
        LineOutcome::Failed(LineError::NotEnough { available: 5, wanted: 6 }),
        LineOutcome::Failed(LineError::UnknownSerial { serial: serial("Z") }),
        LineOutcome::Applied,
        LineOutcome::Failed(LineError::DuplicateSerial { serial: serial("A") }),
    ];
    assert_eq!(done.lines.into_iter().map(|(_, outcome)| outcome).collect::<Vec<_>>(), expected);
    assert_eq!(stock(&world.turno, "clavos").await.0, 5);
    assert_eq!(stock(&world.turno, "laptop").await, (1, vec!["A".to_owned()]), "a failed line changes no stock");
    world.reopen().await;
    let task = get(&world.turno, id).await;
    let stored = task.lines.iter().map(|line| line.error.clone().map_or(LineOutcome::Applied, LineOutcome::Failed));
    assert_eq!(stored.collect::<Vec<_>>(), expected);
    assert_eq!(task.lines[0].applied, Some((START + Span(1_500), fence, holder("ana").user)));
    assert_eq!((task.created_at, task.updated_at), (START, START + Span(1_500)));
    assert_eq!(task.finalized, Some(finalized));
}

async fn repeating_a_finalize_gets_the_same_answer_also_after_reopening(mut world: World) {
    let id = ready(&world.turno, vec![units("x", Movement::In, 7), units("y", Movement::Out, 1)]).await;
    let fence = claim(&world.turno, id, "ana").await;
    let first = finalize(&world.turno, id, "ana", fence).await;
    world.reopen().await;
    for _ in 0..2 {
        let again = finalize(&world.turno, id, "ana", fence).await;
        assert_eq!((&again.answer, &again.lines, again.repeated), (&first.answer, &first.lines, true));
    }
    claim(&world.turno, id, "luis").await;
    let later = finalize(&world.turno, id, "ana", fence).await;
    assert_eq!((&later.answer, later.repeated), (&first.answer, true), "also while another holder has the task");
    assert_eq!(stock(&world.turno, "x").await.0, 7);
}

async fn concurrent_finalizes_with_one_fence_count_as_one(world: World) {
    let id = ready(&world.turno, (0..6).map(|_| units("x", Movement::In, 1)).collect()).await;
    let fence = claim(&world.turno, id, "ana").await;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let turno = world.turno.clone();
        calls.spawn(async move { finalize(&turno, id, "ana", fence).await });
    }
    let answers = calls.join_all().await;
    assert_eq!(answers.iter().filter(|answer| !answer.repeated).count(), 1);
    for answer in &answers {
        assert_eq!((&answer.answer, &answer.lines), (&answers[0].answer, &answers[0].lines));
    }
    assert_eq!(stock(&world.turno, "x").await.0, 6);
}

async fn two_instances_that_finalize_together_apply_each_line_once(world: World) {
    let other = world.instance().await;
    for round in 0..4 {
        let article = format!("a{round}");
        let id = ready(&world.turno, (0..8).map(|_| units(&article, Movement::In, 1)).collect()).await;
        let fence = claim(&world.turno, id, "ana").await;
        let (one, two) = tokio::join!(finalize(&world.turno, id, "ana", fence), finalize(&other, id, "ana", fence));
        assert_eq!(one.answer.as_ref().unwrap(), two.answer.as_ref().unwrap(), "both get the same answer");
        assert!(one.repeated != two.repeated);
        assert_eq!(stock(&other, &article).await.0, 8);
    }
}

/// An effect that writes into the application's own table, refuses the lines marked so, and moves the clock.
struct Ledger {
    time: Arc<Manual>,
    applied: AtomicU32,
}

impl Ledger {
    fn new(time: &Arc<Manual>) -> Arc<Ledger> {
        Arc::new(Ledger { time: time.clone(), applied: AtomicU32::new(0) })
    }
}

const CREATE: &str = "create table if not exists own_ledger (task bigint not null, line bigint not null, note text)";

impl Effect for Ledger {
    fn apply<'a>(&'a self, line: &'a LineToApply, tx: &'a mut dyn Tx) -> EffectFuture<'a> {
        Box::pin(async move {
            let number = i64::from(line.line.number);
            tx.execute(CREATE, &[]).await?;
            let values = [Value::Text(format!("«{}»", line.by)), Value::Int(number), Value::Int(line.task.0)];
            let sql = "insert into own_ledger (task, line, note) values ($3, $2, $1)";
            assert_eq!(tx.execute(sql, &values).await?, 1);
            self.applied.fetch_add(1, Ordering::SeqCst);
            match line.line.sku.as_str() {
                "refused" => Err(EffectError::Refused("no cabe".to_owned())),
                "slow" => {
                    self.time.advance(Span::from_secs(200));
                    Ok(())
                }
                _ => Ok(()),
            }
        })
    }
}

async fn own_rows(world: &World, id: TaskId) -> Vec<(i64, String)> {
    struct Look(std::sync::Mutex<Vec<(i64, String)>>);
    impl Effect for Look {
        fn apply<'a>(&'a self, line: &'a LineToApply, tx: &'a mut dyn Tx) -> EffectFuture<'a> {
            Box::pin(async move {
                tx.execute(CREATE, &[]).await?;
                let sql = "select line, note from own_ledger where task = $1 order by line";
                let task = Value::Int(line.line.goods.units());
                for row in tx.query(sql, &[task]).await? {
                    let [Value::Int(number), Value::Text(note)] = &row[..] else { panic!("{row:?}") };
                    self.0.lock().unwrap().push((*number, note.clone()));
                }
                Ok(())
            })
        }
    }
    let look = Arc::new(Look(std::sync::Mutex::default()));
    let turno = world.instance_with(look.clone()).await;
    let reader = ready(&turno, vec![units("read", Movement::In, id.0)]).await;
    let fence = claim(&turno, reader, "eva").await;
    finalize(&turno, reader, "eva", fence).await.answer.unwrap();
    look.0.lock().unwrap().clone()
}

async fn a_finalize_that_loses_its_lock_stops_and_reports_applied_lines(world: World) {
    let effect = Ledger::new(&world.time);
    let turno = world.instance_with(effect.clone()).await;
    let lines = vec![units("a", Movement::In, 1), units("slow", Movement::In, 1), units("c", Movement::In, 1)];
    let id = ready(&turno, lines).await;
    let fence = claim(&turno, id, "ana").await;
    let stopped = finalize(&turno, id, "ana", fence).await;
    let lost = stopped.answer.unwrap_err();
    assert!(matches!(lost, Refused::Lease(lease::Refused::Lost { .. })), "{lost:?}");
    assert_eq!(
        stopped.lines,
        [(1, LineOutcome::Applied), (2, LineOutcome::Applied)],
        "the second line began before the expiry"
    );
    assert_eq!(get(&turno, id).await.status, Status::PartiallyCompleted);
    assert_eq!(own_rows(&world, id).await.len(), 2);
}

async fn the_next_holder_finishes_the_remaining_lines_and_applies_none_twice(world: World) {
    let effect = Ledger::new(&world.time);
    let turno = world.instance_with(effect.clone()).await;
    let lines = vec![units("slow", Movement::In, 1), units("b", Movement::In, 1), units("refused", Movement::In, 1)];
    let id = ready(&turno, lines).await;
    let fence = claim(&turno, id, "ana").await;
    assert!(finalize(&turno, id, "ana", fence).await.answer.is_err());
    let fence = claim(&turno, id, "luis").await;
    let done = finalize(&turno, id, "luis", fence).await;
    assert_eq!(done.answer.unwrap().status, Status::PartiallyCompleted);
    let refused = LineOutcome::Failed(LineError::Refused { message: "no cabe".to_owned() });
    assert_eq!(done.lines, [(1, LineOutcome::Skipped), (2, LineOutcome::Applied), (3, refused)]);
    let fence = claim(&turno, id, "ana").await;
    let fixed = Patch { sku: Some(sku("ok")), ..Patch::default() };
    ask(&turno, id, "ana", Action::Patch { fence, number: 3, patch: fixed }).await;
    let done = finalize(&turno, id, "ana", fence).await;
    assert_eq!(done.answer.unwrap().status, Status::Completed);
    let notes = [(1, "«ana»".to_owned()), (2, "«luis»".to_owned()), (3, "«ana»".to_owned())];
    assert_eq!(own_rows(&world, id).await, notes, "each effect exists once");
}

async fn finalizing_counts_as_work_and_renews(world: World) {
    let effect = Arc::new(Patient(world.time.clone()));
    let turno = world.instance_with(effect).await;
    // Each line takes most of the ttl, and all of them together exceed the rolling timeout.
    let id = ready(&turno, (0..8).map(|_| units("x", Movement::In, 1)).collect()).await;
    let fence = claim(&turno, id, "ana").await;
    assert_eq!(finalize(&turno, id, "ana", fence).await.answer.unwrap().status, Status::Completed);
}

/// An effect that takes less than the ttl.
struct Patient(Arc<Manual>);

impl Effect for Patient {
    fn apply<'a>(&'a self, _: &'a LineToApply, _: &'a mut dyn Tx) -> EffectFuture<'a> {
        self.0.advance(Span::from_secs(150));
        Box::pin(std::future::ready(Ok(())))
    }
}

async fn an_applications_effect_commits_with_its_line_or_not_at_all(world: World) {
    let effect = Ledger::new(&world.time);
    let turno = world.instance_with(effect.clone()).await;
    let lines = vec![units("a", Movement::In, 1), units("refused", Movement::In, 1), units("c", Movement::In, 1)];
    let id = ready(&turno, lines).await;
    let fence = claim(&turno, id, "ana").await;
    let done = finalize(&turno, id, "ana", fence).await;
    assert_eq!(done.answer.unwrap().status, Status::PartiallyCompleted);
    assert_eq!(effect.applied.load(Ordering::SeqCst), 3, "the effect ran for all three lines");
    let rows = own_rows(&world, id).await;
    assert_eq!(rows, [(1, "«ana»".to_owned()), (3, "«ana»".to_owned())], "the refused line's write is rolled back");
    assert_eq!(stock(&turno, "a").await.0, 0, "an application's effect replaces the stock ledger");
}

async fn cancelling_respects_the_lock_and_is_audited(world: World) {
    let id = ready(&world.turno, vec![units("x", Movement::In, 1)]).await;
    let fence = claim(&world.turno, id, "ana").await;
    let cancel = || Action::Cancel { reason: Some("duplicada".to_owned()), keep_applied: false };
    let held = ask(&world.turno, id, "luis", cancel()).await.answer;
    assert!(matches!(held, Err(Refused::Lease(lease::Refused::HeldBy { .. }))));
    assert_eq!(ask(&world.turno, id, "ana", cancel()).await.answer, Ok(Outcome::Done));
    assert_eq!(get(&world.turno, id).await.status, Status::Cancelled);
    assert!(finalize(&world.turno, id, "ana", fence).await.answer.is_err());
    assert_eq!(stock(&world.turno, "x").await.0, 0);
    let entries = world.turno.audit(AuditQuery { limit: 10, ..AuditQuery::default() }).await.unwrap();
    let audited: Vec<_> = entries.iter().map(|entry| (entry.action.as_str(), entry.actor.user.as_str())).collect();
    assert_eq!(audited, [("task_cancel", "ana")]);
}

async fn overrides_of_a_task_are_audited_and_end_the_lock(world: World) {
    let id = ready(&world.turno, vec![units("x", Movement::In, 1)]).await;
    let fence = claim(&world.turno, id, "ana").await;
    let force = OnLease::ForceClaim { reason: "urge".to_owned(), fence: None };
    let taken = ask(&world.turno, id, "eva", Action::Lease(force)).await;
    assert!(taken.lease.grant.unwrap().fence > fence);
    let late = ask(&world.turno, id, "ana", patch(fence, 1, 5)).await.answer;
    let Err(Refused::Lease(lease::Refused::Lost { ending: Some(ending) })) = late else { panic!("{late:?}") };
    assert_eq!((ending.cause, ending.note.as_deref()), (Cause::Override, Some("urge")));
    let free = OnLease::ForceRelease { reason: "fin".to_owned(), fence: None };
    assert_eq!(ask(&world.turno, id, "eva", Action::Lease(free)).await.lease.grant, None);
    let entries = world.turno.audit(AuditQuery { limit: 10, ..AuditQuery::default() }).await.unwrap();
    let audited: Vec<_> = entries.iter().map(|entry| (entry.action.as_str(), entry.resource.clone())).collect();
    let name = id.resource().to_string();
    assert_eq!(audited, [("lock_force_release", name.clone()), ("lock_force_claim", name)], "newest first");
}

async fn validating_checks_the_stock(world: World) {
    let first = ready(&world.turno, vec![named("laptop", Movement::In, &["A"]), units("x", Movement::In, 3)]).await;
    let fence = claim(&world.turno, first, "ana").await;
    finalize(&world.turno, first, "ana", fence).await.answer.unwrap();
    let lines =
        vec![named("laptop", Movement::In, &["A"]), units("x", Movement::Out, 3), named("z", Movement::In, &[])];
    let second = ready(&world.turno, lines).await;
    let fence = claim(&world.turno, second, "luis").await;
    let validate = |number| ask(&world.turno, second, "luis", Action::Validate { fence, number });
    let duplicate = LineError::DuplicateSerial { serial: serial("A") };
    assert_eq!(validate(1).await.answer, Err(Refused::LineInvalid(1, duplicate)));
    assert_eq!(validate(2).await.answer, Ok(Outcome::Done));
    assert_eq!(validate(3).await.answer, Err(Refused::LineInvalid(3, LineError::Incomplete)));
    let statuses: Vec<_> = get(&world.turno, second).await.lines.iter().map(|line| line.status).collect();
    assert_eq!(statuses, [LineStatus::Pending, LineStatus::Validated, LineStatus::Pending]);
    assert_eq!(stock(&world.turno, "x").await.0, 3, "validating changes nothing");
}

async fn the_history_of_a_task_has_its_events_and_holders(world: World) {
    let id = ready(&world.turno, vec![units("x", Movement::In, 1), units("y", Movement::Out, 1)]).await;
    world.advance(10);
    let fence = claim(&world.turno, id, "ana").await;
    world.advance(10);
    ask(&world.turno, id, "ana", patch(fence, 1, 2)).await;
    world.advance(10);
    finalize(&world.turno, id, "ana", fence).await.answer.unwrap();
    let history = world.turno.task_history(id, None, 100).await.unwrap().events;
    let mut events: Vec<String> = history
        .iter()
        .map(|event| match event {
            TaskEvent::Note(note) => format!("{} {} {:?}", note.actor.user, note.what, note.line),
            TaskEvent::Held(ending) => format!("{} held until {:?}", ending.grant.holder.user, ending.cause),
        })
        .collect();
    // The end of the lock and the finalize that ended it have the same time, so their order is open.
    events[3..].sort();
    let expected = [
        "eva created None",
        "ana processing None",
        "ana line_edited Some(1)",
        "ana finalized None",
        "ana held until Released",
        "ana line_applied Some(1)",
        "ana line_failed Some(2)",
    ];
    assert_eq!(events, expected);
}

async fn tasks_are_listed_newest_first_and_by_status(world: World) {
    let mut made = Vec::new();
    for _ in 0..5 {
        made.push(ready(&world.turno, vec![units("x", Movement::In, 1)]).await);
    }
    claim(&world.turno, made[1], "ana").await;
    claim(&world.turno, made[3], "luis").await;
    let turno = &world.turno;
    let list = |query: TaskQuery| async move {
        let page = turno.tasks(query).await.unwrap();
        page.tasks.into_iter().map(|(task, _)| task.id).collect::<Vec<_>>()
    };
    let all = TaskQuery { limit: 3, ..TaskQuery::default() };
    assert_eq!(list(all.clone()).await, [made[4], made[3], made[2]]);
    assert_eq!(list(TaskQuery { before: Some(made[2]), ..all.clone() }).await, [made[1], made[0]]);
    let processing = TaskQuery { status: Some(Status::Processing), ..all };
    assert_eq!(list(processing).await, [made[3], made[1]]);
}
