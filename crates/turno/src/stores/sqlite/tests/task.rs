//! Tasks: what a command decided is what is read, and a line's effect exists once.

use super::{Folder, START, commit_one, holder, store};
use crate::store::traits::*;
use crate::store::{Group, LineStep, Outcomes, TaskGroup, TaskOutcome, TaskQuery};
use crate::stores::sqlite::SqliteStore;
use turno_core::id::{Fence, Serial, Sku};
use turno_core::lease::{self, Policy};
use turno_core::task::{
    Action, Apply, Command, Goods, LineError, LineOutcome, LineStatus, Movement, NewLine, Outcome, Refused, Status,
    Task, TaskId,
};
use turno_core::time::Span;

pub(super) async fn command(store: &SqliteStore, user: &str, task: Option<TaskId>, action: Action) -> TaskOutcome {
    let command = Command { task, who: holder(user), via: None, policy: Policy::default(), action };
    match commit_one(store, Group::Task(Box::new(TaskGroup { command, stock: true }))).await {
        Outcomes::Task(outcome) => *outcome,
        other => panic!("{other:?}"),
    }
}

pub(super) fn line(movement: Movement, sku: &str, goods: Goods) -> NewLine {
    NewLine { movement, sku: Sku::new(sku).unwrap(), goods }
}

pub(super) fn serials(names: &[&str]) -> Goods {
    Goods::Serialized(names.iter().map(|name| Serial::new(*name).unwrap()).collect())
}

/// Creates a task that `ana` has claimed.
pub(super) async fn taken(store: &SqliteStore, lines: Vec<NewLine>) -> (TaskId, Fence) {
    let created =
        command(store, "ana", None, Action::Create { title: " Recount ".into(), lines, ready: true, once: None }).await;
    let id = created.task.unwrap().id;
    let claim = Action::Lease(lease::Action::Claim { ttl: None, wait: false });
    let claimed = command(store, "ana", Some(id), claim).await;
    assert_eq!(claimed.answer, Ok(Outcome::Lease(lease::Outcome::Claimed { renewed: false })));
    (id, super::fence(&claimed.lease))
}

pub(super) fn apply(task: TaskId, number: u32, fence: Fence) -> Apply {
    Apply { task, number, fence, who: holder("ana"), via: None, policy: Policy::default() }
}

async fn read(store: &SqliteStore, id: TaskId) -> Task {
    store.task(id).await.unwrap().unwrap()
}

async fn list(store: &SqliteStore, query: TaskQuery) -> Vec<Task> {
    store.tasks(query).await.unwrap().tasks.into_iter().map(|(task, _)| task).collect()
}

#[tokio::test]
async fn a_refused_creation_leaves_no_task_and_no_task_number_is_reused() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    let create = |title: &str| Action::Create { title: title.into(), lines: Vec::new(), ready: false, once: None };
    let refused = command(&store, "ana", None, create(" ")).await;
    assert!(matches!(refused.answer, Err(Refused::Invalid(_))), "{:?}", refused.answer);
    assert_eq!(list(&store, TaskQuery { limit: 9, ..TaskQuery::default() }).await, []);
    let mut ids = Vec::new();
    for title in ["first", "second"] {
        ids.push(command(&store, "ana", None, create(title)).await.task.unwrap().id);
    }
    store.writer.run(|db| Ok(db.execute("delete from task", [])?)).await.unwrap();
    let third = command(&store, "ana", None, create("third")).await.task.unwrap();
    assert!(ids[0] < ids[1] && ids[1] < third.id, "{ids:?} {third:?}");
    assert_eq!(read(&store, third.id).await, third);
}

#[tokio::test]
async fn tasks_are_read_back_with_their_lines_and_notes() {
    let folder = Folder::new();
    let (store, manual) = store(&folder).await;
    let lines =
        vec![line(Movement::In, "bolt", Goods::Quantity(7)), line(Movement::Out, "drill", serials(&["d-1", "d-2"]))];
    let (id, fence) = taken(&store, lines).await;
    manual.advance(Span(1_500));
    let validate = command(&store, "ana", Some(id), Action::Validate { fence, number: 1 }).await;
    assert_eq!((validate.answer, read(&store, id).await), (Ok(Outcome::Done), validate.task.unwrap()));
    let validate = command(&store, "ana", Some(id), Action::Validate { fence, number: 2 }).await;
    let unknown = LineError::UnknownSerial { serial: Serial::new("d-1").unwrap() };
    assert_eq!(validate.answer, Err(Refused::LineInvalid(2, unknown)));
    let found = read(&store, id).await;
    assert_eq!((found.title.as_str(), found.status, found.created_at), ("Recount", Status::Processing, START));
    assert_eq!(found.updated_at, START + Span(1_500));
    assert_eq!(
        found.lines.iter().map(|line| line.status).collect::<Vec<_>>(),
        [LineStatus::Validated, LineStatus::Pending]
    );
    let notes = store.task_notes(id, 0, 9).await.unwrap();
    let words: Vec<_> = notes.iter().map(|(_, note)| (note.what.as_str(), note.line)).collect();
    assert_eq!(words, [("created", None), ("processing", None), ("line_validated", Some(1))]);

    let other =
        command(&store, "luis", None, Action::Create { title: "b".into(), lines: vec![], ready: false, once: None })
            .await;
    let other = other.task.unwrap();
    let query = |status, before| TaskQuery { status, before, limit: 9, locked: None };
    assert_eq!(list(&store, query(None, None)).await, [other.clone(), found.clone()]);
    assert_eq!(list(&store, query(None, Some(other.id))).await, std::slice::from_ref(&found));
    assert_eq!(list(&store, query(Some(Status::Draft), None)).await, [other]);
}

#[tokio::test]
async fn each_line_is_applied_once_and_a_failed_line_stops_no_other() {
    let folder = Folder::new();
    let (store, manual) = store(&folder).await;
    let lines = vec![
        line(Movement::In, "drill", serials(&["d-2", "d-1"])),
        line(Movement::Out, "drill", Goods::Quantity(1)),
        line(Movement::In, "drill", Goods::Quantity(5)),
        line(Movement::Out, "drill", serials(&["d-2"])),
    ];
    let (id, fence) = taken(&store, lines).await;
    manual.advance(Span(2_000));
    let mut steps = Vec::new();
    for number in 1..=5 {
        steps.push(store.apply_line(apply(id, number, fence), None).await.unwrap());
    }
    let short = LineError::NotEnough { available: 0, wanted: 1 };
    let settled = LineStep::Settled;
    let expected = [
        settled(LineOutcome::Applied),
        settled(LineOutcome::Failed(short.clone())),
        settled(LineOutcome::Applied),
        settled(LineOutcome::Applied),
        LineStep::Refused(Refused::NoSuchLine(5)),
    ];
    assert_eq!(steps, expected);
    let level = store.stock(Sku::new("drill").unwrap()).await.unwrap().unwrap();
    assert_eq!((level.quantity, level.serials), (6, vec!["d-1".to_owned()]));
    assert_eq!(store.stock(Sku::new("bolt").unwrap()).await.unwrap(), None);

    let again = store.apply_line(apply(id, 1, fence), None).await.unwrap();
    assert_eq!(again, settled(LineOutcome::Applied), "answered again, applied once");
    assert_eq!(store.stock(Sku::new("drill").unwrap()).await.unwrap().unwrap().quantity, 6);
    let stale = store.apply_line(apply(id, 2, Fence(fence.0 + 1)), None).await.unwrap();
    assert!(matches!(stale, LineStep::Refused(Refused::Lease(lease::Refused::Lost { .. }))), "{stale:?}");

    let found = read(&store, id).await;
    assert_eq!(found.lines[0].applied, Some((START + Span(2_000), fence, holder("ana").user)));
    assert_eq!((found.lines[1].status, found.lines[1].error.as_ref()), (LineStatus::Failed, Some(&short)));
    let notes = store.task_notes(id, 0, 9).await.unwrap();
    assert_eq!((notes[3].1.what.as_str(), notes[3].1.detail.as_deref()), ("line_failed", Some("1 wanted, 0 in stock")));
    let renewed = store.peek(vec![id.resource()]).await.unwrap().states.remove(0).grant.unwrap();
    assert_eq!((renewed.worked_at, renewed.expires_at), (START + Span(2_000), START + Span(32_000)));
    let events: Vec<(String, String)> = store
        .looks
        .run(|db| {
            let mut read = db.prepare("select name, detail from event_in where name like 'task.line%' order by n")?;
            Ok(read.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?)
        })
        .await
        .unwrap();
    assert_eq!(events[1], ("task.line_failed".to_owned(), "2".to_owned()));
    assert_eq!(events.len(), 4);

    let close = Action::Close { fence, lines: vec![(1, LineOutcome::Applied)] };
    let closed = command(&store, "ana", Some(id), close).await.task.unwrap();
    assert_eq!((read(&store, id).await, closed.status), (closed.clone(), Status::PartiallyCompleted));
    let over = store.apply_line(apply(id, 2, fence), None).await.unwrap();
    assert_eq!(over, LineStep::Over(closed.finalized.unwrap()));
}
