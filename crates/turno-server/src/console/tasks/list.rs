//! The list of tasks, newest first. Its filters are in the address.

use askama::Template;
use axum::response::Response;
use serde::Deserialize;
use turno::Turno;
use turno::core::id::{Resource, UserId};
use turno::core::lease::State;
use turno::core::task::{LineStatus, Status, Task, TaskId};
use turno::core::time::Time;
use turno::store::LeaseQuery;
use turno::task::TaskQuery;

use super::lock::Lock;
use crate::console::form::{address, given};
use crate::console::page::Page;
use crate::http::{Problem, Query, Wanted};
use crate::texts::message::Message;

/// The filters in the address.
#[derive(Deserialize)]
pub(super) struct Filter {
    status: Option<String>,
    /// `free`, `locked` or `mine`.
    lock: Option<String>,
    cursor: Option<String>,
}

/// The values of the filter `lock`.
const LOCKS: [&str; 3] = ["free", "locked", "mine"];

struct Row {
    task: Task,
    lock: Lock,
    done: usize,
}

#[derive(Template)]
#[template(path = "tasks/list.html")]
struct List {
    page: Page,
    now: Time,
    status: String,
    lock: String,
    rows: Vec<Row>,
    first: String,
    next: String,
}

impl List {
    fn statuses(&self) -> [Status; 6] {
        Status::ALL
    }

    fn word(&self, status: &Status) -> String {
        let name = if *status == Status::Cancelled { "task_cancelled" } else { status.as_str() };
        self.page.t(&format!("state-{name}"))
    }

    fn locks(&self) -> [&'static str; 3] {
        LOCKS
    }

    fn filtered(&self) -> bool {
        !self.status.is_empty() || !self.lock.is_empty()
    }
}

/// A page of the list, and the cursor of the next one.
struct Found {
    now: Time,
    tasks: Vec<(Task, State)>,
    next: Option<String>,
}

pub(super) async fn list(page: Page, Query(filter): Query<Filter>) -> Result<Response, Problem> {
    let wanted = Wanted::new(None, filter.cursor.as_deref())?;
    let (status, lock) = (given(filter.status), given(filter.lock));
    let only = status.as_deref().map(str::parse::<Status>).transpose();
    let only = only.map_err(|cause| Problem::query("status", cause))?;
    let found = match lock.as_deref() {
        Some("mine") => mine(page.turno()?, page.user(), only, &wanted).await?,
        Some(lock) if !LOCKS.contains(&lock) => {
            return Err(Problem::query("lock", Message::new("tasks-bad-lock").text("value", lock)));
        }
        lock => all(page.turno()?, only, lock.map(|lock| lock == "locked"), &wanted).await?,
    };
    let (status, lock) = (status.unwrap_or_default(), lock.unwrap_or_default());
    let to = |cursor: &str| address("/tasks", &[("status", &status), ("lock", &lock), ("cursor", cursor)]);
    let next = found.next.map(|place| to(&Wanted::cursor(&place))).unwrap_or_default();
    let first = filter.cursor.map(|_| to("")).unwrap_or_default();
    let row = |(task, lease): (Task, State)| Row {
        lock: Lock::from_state(&lease, found.now, page.user()),
        done: task.lines.iter().filter(|line| line.status == LineStatus::Applied).count(),
        task,
    };
    let rows = found.tasks.into_iter().map(row).collect();
    page.show(|page| List { page, now: found.now, status, lock, rows, first, next })
}

async fn all(turno: &Turno, status: Option<Status>, locked: Option<bool>, wanted: &Wanted) -> Result<Found, Problem> {
    let before = wanted.after()?.map(TaskId);
    let found = turno.tasks(TaskQuery { status, locked, before, limit: wanted.limit }).await?;
    Ok(Found { now: found.now, tasks: found.tasks, next: found.next.map(|id| id.to_string()) })
}

/// Finds the tasks that a person holds by their leases, because a person holds few, however many tasks exist.
async fn mine(turno: &Turno, me: &str, status: Option<Status>, wanted: &Wanted) -> Result<Found, Problem> {
    let query = LeaseQuery {
        holder: Some(UserId::new(me)?),
        prefix: Some("task:".to_owned()),
        after: wanted.after.as_deref().map(Resource::new).transpose()?,
        limit: wanted.limit,
    };
    let leases = turno.leases(query).await?;
    let mut found = Found { now: leases.now, tasks: Vec::new(), next: leases.next.map(|next| next.to_string()) };
    for id in leases.states.iter().filter_map(|state| TaskId::from_resource(&state.resource)) {
        let (now, task) = turno.task_get(id).await?;
        found.now = now;
        found.tasks.extend(task.filter(|(task, _)| status.is_none_or(|status| task.status == status)));
    }
    found.tasks.sort_by_key(|(task, _)| std::cmp::Reverse(task.id));
    Ok(found)
}
