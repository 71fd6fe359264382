//! Tasks and their lines: the ledger, and two processes that apply the same line.

use super::super::sql;
use super::*;
use crate::store::{Effect, LineStep, StockLevel, TaskGroup, TaskOutcome, TaskQuery};
use turno_core::id::{Serial, Sku};
use turno_core::lease::Refused as LeaseRefused;
use turno_core::task::{
    Action as TaskAction, Apply, Command as TaskCommand, Goods, LineError, LineOutcome, LineStatus, Movement, NewLine,
    Outcome, Refused, Status, TaskId,
};

pub(super) fn serials(names: &[&str]) -> Goods {
    Goods::Serialized(names.iter().map(|name| Serial::new(*name).unwrap()).collect())
}

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
async fn a_task_from_creation_to_finalize_is_read_back_in_every_column() {
    let (store, _) = fresh_store().await;
    let lines = vec![
        new_line(Movement::In, "tv", serials(&["s1", "s\"2"])),
        new_line(Movement::In, "cable", Goods::Quantity(7)),
        new_line(Movement::Out, "radio", Goods::Quantity(1)),
        new_line(Movement::In, "tv", serials(&["s1"])),
        new_line(Movement::In, "phone", serials(&[])),
    ];
    let (id, fence) = taken(&store, lines).await;
    let validate = |number| TaskAction::Validate { fence, number };
    assert_eq!(on_task(&store, Some(id), "ana", validate(1)).await.answer, Ok(Outcome::Done));
    let missing = LineError::NotEnough { available: 0, wanted: 1 };
    let invalid = on_task(&store, Some(id), "ana", validate(3)).await.answer;
    assert_eq!(invalid, Err(Refused::LineInvalid(3, missing.clone())));
    let mut outcomes = Vec::new();
    for number in 1..=5 {
        let LineStep::Settled(outcome) = store.apply_line(apply(id, number, fence), None).await.unwrap() else {
            panic!("line {number}")
        };
        outcomes.push((number, outcome));
    }
    let duplicate = LineError::DuplicateSerial { serial: Serial::new("s1").unwrap() };
    let expected = [
        LineOutcome::Applied,
        LineOutcome::Applied,
        LineOutcome::Failed(missing),
        LineOutcome::Failed(duplicate),
        LineOutcome::Failed(LineError::Incomplete),
    ];
    assert_eq!(outcomes.iter().map(|(_, outcome)| outcome.clone()).collect::<Vec<_>>(), expected);
    assert_eq!(store.apply_line(apply(id, 1, fence), None).await.unwrap(), APPLIED, "a repeat gets the same answer");
    assert_eq!(level(&store, "tv").await, Some((2, vec!["s\"2".into(), "s1".into()])));
    assert_eq!(level(&store, "cable").await, Some((7, vec![])));
    assert_eq!(
        (level(&store, "radio").await, level(&store, "phone").await),
        (None, None),
        "articles that never moved have no stock"
    );
    let closed = on_task(&store, Some(id), "ana", TaskAction::Close { fence, lines: outcomes.clone() }).await;
    assert!(matches!(closed.answer, Ok(Outcome::Finalized { repeated: false, .. })), "{:?}", closed.answer);
    let task = store.task(id).await.unwrap().unwrap();
    assert_eq!(Some(task.clone()), closed.task, "every column is read back");
    assert_eq!(task.status, Status::PartiallyCompleted);
    let over = store.apply_line(apply(id, 3, fence), None).await.unwrap();
    assert_eq!(over, LineStep::Over(task.finalized.clone().unwrap()));
    let notes = store.task_notes(id, 0, 100).await.unwrap();
    let what: Vec<_> = notes.iter().map(|(_, note)| (note.what.as_str(), note.line)).collect();
    assert_eq!(what[..3], [("created", None), ("processing", None), ("line_validated", Some(1))]);
    assert_eq!(what[3..6], [("line_applied", Some(1)), ("line_applied", Some(2)), ("line_failed", Some(3))]);
    assert_eq!(notes[5].1.detail.as_deref(), Some("1 wanted, 0 in stock"));
    assert_eq!((what.len(), what[8]), (9, ("finalized", None)));
}

#[tokio::test]
async fn units_leave_stock_by_serial_and_tasks_are_listed_newest_first() {
    let (store, _) = fresh_store().await;
    let come =
        vec![new_line(Movement::In, "tv", serials(&["a", "b"])), new_line(Movement::In, "tv", Goods::Quantity(3))];
    let (first, fence) = taken(&store, come).await;
    for number in [1, 2] {
        assert_eq!(store.apply_line(apply(first, number, fence), None).await.unwrap(), APPLIED);
    }
    let go = vec![
        new_line(Movement::Out, "tv", serials(&["b"])),
        new_line(Movement::Out, "tv", Goods::Quantity(4)),
        new_line(Movement::Out, "tv", serials(&["b"])),
    ];
    let (second, fence) = taken(&store, go).await;
    assert_eq!(store.apply_line(apply(second, 1, fence), None).await.unwrap(), APPLIED);
    let few = store.apply_line(apply(second, 2, fence), None).await.unwrap();
    assert_eq!(
        few,
        failed(LineError::NotEnough { available: 3, wanted: 4 }),
        "serial a does not count as a plain unit"
    );
    let gone = store.apply_line(apply(second, 3, fence), None).await.unwrap();
    assert_eq!(gone, failed(LineError::UnknownSerial { serial: Serial::new("b").unwrap() }));
    assert_eq!(level(&store, "tv").await, Some((4, vec!["a".into()])));
    let draft = TaskAction::Create { title: "later".into(), lines: vec![], ready: false, once: None };
    let third = on_task(&store, None, "eva", draft).await.task.unwrap().id;
    let ids = async |query| {
        let tasks = store.tasks(query).await.unwrap();
        tasks.tasks.iter().map(|(task, _)| (task.id, task.lines.len())).collect::<Vec<_>>()
    };
    let all = TaskQuery { limit: 2, ..TaskQuery::default() };
    assert_eq!(ids(all.clone()).await, [(third, 0), (second, 3)]);
    assert_eq!(ids(TaskQuery { before: Some(second), ..all.clone() }).await, [(first, 2)]);
    assert_eq!(ids(TaskQuery { status: Some(Status::Draft), ..all }).await, [(third, 0)]);
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_finalizes_of_one_task_apply_each_line_once() {
    let (one, url) = fresh_store().await;
    let lines = (0..8).map(|n| new_line(Movement::In, "tv", serials(&[&format!("s{n}")]))).collect();
    let (id, fence) = taken(&one, lines).await;
    let stores = [Arc::new(one), Arc::new(store_at(&url).await)];
    let finalizing = stores.iter().cloned().map(|store| {
        tokio::spawn(async move {
            for number in 1..=8 {
                let step = store.apply_line(apply(id, number, fence), None).await.unwrap();
                assert_eq!(step, APPLIED, "line {number}: both calls report it as applied");
            }
        })
    });
    for task in finalizing.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    assert_eq!(level(&stores[0], "tv").await.unwrap().0, 8);
    let client = outside(&url).await;
    assert_eq!(number(&client, "select count(*) from turno.stock_move").await, 8);
    assert_eq!(number(&client, "select count(*) from turno.task_note where what = 'line_applied'").await, 8);
    let task = stores[0].task(id).await.unwrap().unwrap();
    assert!(task.lines.iter().all(|line| line.status == LineStatus::Applied));
}

/// The negative control: two transactions that read a line without its lock both find it open. Then only the primary
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
