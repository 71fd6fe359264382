//! Tasks and their lines: the ledger, and two processes that apply the same line.

use super::super::sql;
use super::*;
use crate::store::{Effect, LineStep, StockLevel, TaskGroup, TaskOutcome};
use turno_core::id::Sku;
use turno_core::lease::Refused as LeaseRefused;
use turno_core::task::{
    Action as TaskAction, Apply, Command as TaskCommand, Goods, LineError, LineOutcome, Movement, NewLine, Outcome,
    Refused, TaskId,
};

pub(super) fn new_line(movement: Movement, sku: &str, goods: Goods) -> NewLine {
    NewLine { movement, sku: Sku::new(sku).unwrap(), goods }
}

pub(super) async fn on_task(store: &PostgresStore, task: Option<TaskId>, who: &str, action: TaskAction) -> TaskOutcome {
    let command = TaskCommand { task, who: holder(who), via: None, policy: LeasePolicy::default(), action };
    let group = commit(store, 1, Group::Task(Box::new(TaskGroup { command, stock: true })));
    let outcome = tokio::time::timeout(AT_ONCE, group).await.expect("the command waits for no lock").unwrap();
    let Outcomes::Task(outcome) = outcome else { panic!("{outcome:?}") };
    *outcome
}

/// Creates a task with these lines, held by ana.
pub(super) async fn taken(store: &PostgresStore, lines: Vec<NewLine>) -> (TaskId, Fence) {
    let create = TaskAction::Create { title: "Entrada ñ".into(), lines, ready: true, once: None };
    let id = on_task(store, None, "eva", create).await.task.unwrap().id;
    let claimed = on_task(store, Some(id), "ana", TaskAction::Lease(CLAIM)).await;
    assert!(claimed.answer.is_ok(), "{:?}", claimed.answer);
    (id, claimed.lease.grant.unwrap().fence)
}

pub(super) fn apply(task: TaskId, number: u32, fence: Fence) -> Apply {
    Apply { task, number, fence, who: holder("ana"), via: None, policy: LeasePolicy::default() }
}

pub(super) const APPLIED: LineStep = LineStep::Settled(LineOutcome::Applied);

pub(super) fn failed(error: LineError) -> LineStep {
    LineStep::Settled(LineOutcome::Failed(error))
}

async fn level(store: &PostgresStore, sku: &str) -> Option<(i64, Vec<String>)> {
    let level = store.stock(Sku::new(sku).unwrap()).await.unwrap();
    level.map(|StockLevel { quantity, serials, .. }| (quantity, serials))
}

#[tokio::test]
async fn commands_on_unknown_tasks_create_no_lease_rows() {
    let (store, url) = fresh_store().await;
    let unknown = on_task(&store, Some(TaskId(77)), "ana", TaskAction::Lease(CLAIM)).await;
    assert_eq!(unknown.answer, Err(Refused::Unknown));
    let refused = store.apply_line(apply(TaskId(77), 1, Fence(1)), None).await.unwrap();
    assert_eq!(refused, LineStep::Refused(Refused::Unknown));
    assert_eq!(number(&outside(&url).await, "select count(*) from turno.lease").await, 0);
}

#[tokio::test]
async fn a_command_on_a_locked_task_is_refused_without_waiting() {
    let (store, url) = fresh_store().await;
    let (id, fence) = taken(&store, vec![new_line(Movement::In, "tv", Goods::Quantity(1))]).await;
    let client = outside(&url).await;
    client.batch_execute("begin; select from turno.task for share").await.unwrap();
    let busy = on_task(&store, Some(id), "ana", TaskAction::Validate { fence, number: 1 }).await;
    assert_eq!(busy.answer, Err(Refused::Lease(LeaseRefused::Pinned)));
    assert_eq!(busy.task.unwrap().id, id);
    client.batch_execute("rollback; begin; select from turno.lease for key share").await.unwrap();
    let pinned = on_task(&store, Some(id), "luis", TaskAction::Lease(force("now"))).await;
    assert_eq!(pinned.answer, Err(Refused::Lease(LeaseRefused::Pinned)));
    let fine = on_task(&store, Some(id), "ana", TaskAction::Validate { fence, number: 1 }).await;
    assert_eq!(fine.answer, Ok(Outcome::Done), "the holder can work");
    client.batch_execute("rollback").await.unwrap();
    let forced = on_task(&store, Some(id), "luis", TaskAction::Lease(force("now"))).await;
    assert!(forced.answer.is_ok(), "{:?}", forced.answer);
    assert_eq!(verify_audit(&store).await, 1);
    let lost = store.apply_line(apply(id, 1, fence), None).await.unwrap();
    assert!(matches!(lost, LineStep::Refused(Refused::Lease(LeaseRefused::Lost { ending: Some(_) }))), "{lost:?}");
}

#[tokio::test]
async fn applying_a_line_renews_the_lease_and_never_shortens_it() {
    let manual = crate::clock::Manual::starting_at(Time(1_000_000));
    let url = Cluster::for_tests().fresh_database().await;
    let store = PostgresStore::open(&url, None, Arc::new(Clock::manual(manual.clone())), true).await.unwrap();
    let lines = (0..2).map(|_| new_line(Movement::In, "tv", Goods::Quantity(1))).collect();
    let (id, fence) = taken(&store, lines).await;
    manual.advance(Span::from_secs(20));
    store.apply_line(apply(id, 1, fence), None).await.unwrap();
    let grant = async || store.peek(vec![id.resource()]).await.unwrap().states.remove(0).grant.unwrap();
    let renewed = grant().await;
    let now = Time(1_020_000);
    assert_eq!((renewed.worked_at, renewed.heartbeat_at, renewed.expires_at), (now, now, now + Span::from_secs(30)));
    let sql = outside(&url).await;
    sql.batch_execute("update turno.lease set expires_at = 9000000").await.unwrap();
    manual.advance(Span::from_secs(5));
    store.apply_line(apply(id, 2, fence), None).await.unwrap();
    let renewed = grant().await;
    assert_eq!((renewed.worked_at, renewed.expires_at), (Time(1_025_000), Time(9_000_000)));
}

/// The negative control of the conformance case with two finalizing instances: two transactions that read a line without its lock both find it open. Then only the primary
/// key of the stock move prevents a second effect.
#[tokio::test]
async fn control_without_the_lines_lock_only_the_key_of_the_move_prevents_a_second_effect() {
    let (store, url) = fresh_store().await;
    let (id, _) = taken(&store, vec![new_line(Movement::In, "tv", Goods::Quantity(1))]).await;
    let unlocked = sql::LINE_LOCK.text.replace("for update", "");
    assert_ne!(unlocked, sql::LINE_LOCK.text);
    let (one, two) = (outside(&url).await, outside(&url).await);
    let mut moved = Vec::new();
    for client in [&one, &two] {
        client.batch_execute("begin").await.unwrap();
        let row = client.query_one(&unlocked, &[&id.0, &1_i32]).await.unwrap();
        assert_eq!(row.get::<_, &str>(5), "pending");
    }
    for client in [&one, &two] {
        let params: [&(dyn tokio_postgres::types::ToSql + Sync); 8] =
            [&id.0, &1_i32, &"tv", &1_i64, &"[]", &1_i64, &"ana", &1_i64];
        moved.push(client.execute(&sql::STOCK_MOVE_ADD.text, &params).await.is_ok());
        client.batch_execute("commit").await.unwrap();
    }
    assert_eq!(moved, [true, false]);
}

#[tokio::test]
async fn a_line_whose_commit_answer_was_lost_is_recognised_as_applied() {
    let url = Cluster::for_tests().fresh_database().await;
    let (store, proxy) = super::loss::through_proxy(&url).await;
    let lines = (0..2).map(|_| new_line(Movement::In, "tv", Goods::Quantity(5))).collect();
    let (id, fence) = taken(&store, lines).await;
    proxy.cut(true);
    assert_eq!(store.apply_line(apply(id, 1, fence), None).await.unwrap(), APPLIED);
    assert!(!proxy.is_armed());
    proxy.cut(false);
    let lost = store.apply_line(apply(id, 2, fence), None).await;
    assert!(matches!(lost, Err(StoreError::Unavailable(_))), "{lost:?}");
    assert_eq!(level(&store, "tv").await, Some((5, vec![])));
    assert_eq!(store.apply_line(apply(id, 2, fence), None).await.unwrap(), APPLIED);
}

/// Shared by both test files that pass effects.
pub(super) fn shared(effect: impl Effect) -> Option<Arc<dyn Effect>> {
    Some(Arc::new(effect))
}
