//! The numbers of tasks, and helpers for tests of their effects.

use super::{Folder, commit_one, holder, store};
use crate::store::traits::*;
use crate::store::{Group, Outcomes, TaskGroup, TaskOutcome, TaskQuery};
use crate::stores::sqlite::SqliteStore;
use turno_core::id::{Fence, Sku};
use turno_core::lease::{self, Policy};
use turno_core::task::{Action, Apply, Command, Goods, Movement, NewLine, Outcome, Refused, TaskId};

async fn command(store: &SqliteStore, user: &str, task: Option<TaskId>, action: Action) -> TaskOutcome {
    let command = Command { task, who: holder(user), via: None, policy: Policy::default(), action };
    match commit_one(store, Group::Task(Box::new(TaskGroup { command, stock: true }))).await {
        Outcomes::Task(outcome) => *outcome,
        other => panic!("{other:?}"),
    }
}

pub(super) fn line(movement: Movement, sku: &str, goods: Goods) -> NewLine {
    NewLine { movement, sku: Sku::new(sku).unwrap(), goods }
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

#[tokio::test]
async fn a_refused_creation_leaves_no_task_and_no_task_number_is_reused() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    let create = |title: &str| Action::Create { title: title.into(), lines: Vec::new(), ready: false, once: None };
    let refused = command(&store, "ana", None, create(" ")).await;
    assert!(matches!(refused.answer, Err(Refused::Invalid(_))), "{:?}", refused.answer);
    assert!(store.tasks(TaskQuery { limit: 9, ..TaskQuery::default() }).await.unwrap().tasks.is_empty());
    let mut ids = Vec::new();
    for title in ["first", "second"] {
        ids.push(command(&store, "ana", None, create(title)).await.task.unwrap().id);
    }
    store.writer.run(|db| Ok(db.execute("delete from task", [])?)).await.unwrap();
    let third = command(&store, "ana", None, create("third")).await.task.unwrap();
    assert!(ids[0] < ids[1] && ids[1] < third.id, "{ids:?} {third:?}");
}
