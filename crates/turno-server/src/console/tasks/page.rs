//! The page of a task: lines, lock, actions and history.

use askama::Template;
use axum::response::Response;
use serde::Deserialize;
use turno::Turno;
use turno::core::task::{Action, Goods, Line, LineStatus, Movement, Status, Task, TaskId, Version};
use turno::core::time::Time;
use turno::task::TaskQuery;

use super::history::{self, Past};
use super::lock::Lock;
use crate::console::form::{Form, given};
use crate::console::page::Page;
use crate::http::{Path, Problem, Reader, lease_text, task_changed, task_id, task_line_said, task_unknown};

/// A line on the page.
struct Row {
    number: u32,
    sku: String,
    movement: &'static str,
    serialized: bool,
    /// The contents of the field: a quantity, or serial numbers on separate lines.
    amount: String,
    units: i64,
    /// The version of the line, as the API returns it.
    version: Version,
    status: &'static str,
    error: Option<String>,
    applied: Option<(Time, String)>,
}

impl Row {
    fn from_line(page: &Page, line: &Line) -> Row {
        let (serialized, amount) = match &line.goods {
            Goods::Serialized(serials) => {
                (true, serials.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
            }
            Goods::Quantity(quantity) => (false, quantity.to_string()),
        };
        Row {
            number: line.number,
            sku: line.sku.to_string(),
            movement: match line.movement {
                Movement::In => "in",
                Movement::Out => "out",
            },
            serialized,
            amount,
            units: line.goods.units(),
            version: line.version(),
            status: match line.status {
                LineStatus::Pending => "line_pending",
                LineStatus::Validated => "validated",
                LineStatus::Applied => "applied",
                LineStatus::Failed => "failed",
            },
            error: line.error.as_ref().map(|error| page.text_with("line-error", &task_line_said(error))),
            applied: line.applied.as_ref().map(|(at, _, by)| (*at, by.to_string())),
        }
    }
}

#[derive(Template)]
#[template(path = "tasks/one.html")]
struct TaskPage {
    page: Page,
    now: Time,
    task: Task,
    lock: Lock,
    lines: Vec<Row>,
    past: Past,
    /// The task to process next, if this one is done.
    next: Option<Task>,
}

impl TaskPage {
    /// Returns whether the reader could process the task if it were free.
    fn processable(&self) -> bool {
        self.task.status.lockable() && self.page.may("inventory.manage")
    }

    /// Returns the name of a person, as the history of this task has it.
    fn name(&self, user: &str) -> String {
        self.past.names.get(user).cloned().unwrap_or_else(|| self.page.name_of(user))
    }

    /// Returns the resource of the task's lease.
    fn resource(&self) -> String {
        self.task.id.resource().to_string()
    }

    /// Returns the title of the override dialog, with the holder's name if there is one.
    fn force_title(&self, how: &str) -> String {
        match self.lock.word {
            "locked" => self.page.t1(&format!("leases-force-{how}-title"), "name", &self.lock.who),
            _ => self.page.t(&format!("process-force-{how}-title")),
        }
    }

    fn is(&self, status: &str) -> bool {
        self.task.status.as_str() == status
    }

    fn over(&self) -> bool {
        matches!(self.task.status, Status::Completed | Status::Cancelled)
    }

    /// Returns whether the reader may cancel the task. A task that another person holds is excluded, because the call
    /// would be refused.
    fn cancellable(&self) -> bool {
        self.page.may("inventory.manage") && !self.over() && (self.lock.word != "locked" || self.lock.mine)
    }

    fn count(&self, status: &str) -> usize {
        self.lines.iter().filter(|line| line.status == status).count()
    }

    fn open(&self) -> usize {
        self.lines.len() - self.count("applied")
    }

    /// Returns whether this part of the lock is visible before the script has run.
    fn shows(&self, part: &str) -> bool {
        let now = match (self.lock.word, self.lock.mine) {
            ("locked", true) => "elsewhere",
            ("locked", false) => "other",
            ("offered", true) => "offered",
            ("offered", false) => "reserved",
            _ => "free",
        };
        part == now
    }
}

pub(super) async fn show(page: Page, Path(id): Path<String>) -> Result<Response, Problem> {
    let id = task_id(&id)?;
    let turno = page.turno()?;
    let (now, found) = turno.task_get(id).await?;
    let (task, lease) = found.ok_or_else(|| task_unknown(id))?;
    let past = history::load(&page, turno, task.id, &lease).await?;
    let next = next(turno, &task).await?;
    let lock = Lock::from_state(&lease, now, page.user());
    let lines = task.lines.iter().map(|line| Row::from_line(&page, line)).collect();
    page.show(|page| TaskPage { page, now, task, lock, lines, past, next })
}

/// Returns the next task: the oldest free one that is ready, or was begun and left.
async fn next(turno: &Turno, task: &Task) -> Result<Option<Task>, Problem> {
    if matches!(task.status, Status::Draft | Status::Ready | Status::Processing) {
        return Ok(None);
    }
    let waiting = [oldest(turno, Status::Ready).await?, oldest(turno, Status::Processing).await?];
    Ok(waiting.into_iter().flatten().min_by_key(|task| task.id))
}

/// Returns the oldest free task in this status. Lists are newest first and can be long, so this is a binary search.
async fn oldest(turno: &Turno, status: Status) -> Result<Option<Task>, Problem> {
    let (mut none_below, mut before, mut found) = (1, None, None);
    loop {
        let query = TaskQuery { status: Some(status), locked: Some(false), before, limit: 1 };
        match (turno.tasks(query).await?.tasks.pop(), before) {
            (Some((task, _)), _) => found = Some(task),
            (None, Some(TaskId(id))) => none_below = id,
            (None, None) => return Ok(None),
        }
        let Some(TaskId(known)) = found.as_ref().map(|task| task.id) else { return Ok(None) };
        if none_below >= known {
            return Ok(found);
        }
        // Rounded up, so that the last step queries the task directly below the known one.
        before = Some(TaskId(none_below + (known - none_below + 1) / 2));
    }
}

/// The address to return to.
#[derive(Deserialize)]
pub(super) struct Back {
    back: Option<String>,
}

/// Marks a draft as ready.
pub(super) async fn ready(page: Page, reader: Reader, Path(id): Path<String>, Form(form): Form<Back>) -> Response {
    let outcome = apply_change(&page, &reader, &id, Action::Ready).await;
    page.after(form.back.as_deref(), outcome.map(|()| page.t("task-readied")))
}

/// The fields of a cancellation.
#[derive(Deserialize)]
pub(super) struct Cancel {
    reason: Option<String>,
    /// The checkbox that appears if lines are applied.
    keep_applied: Option<String>,
    back: Option<String>,
}

/// Cancels a task.
pub(super) async fn cancel(page: Page, reader: Reader, Path(id): Path<String>, Form(form): Form<Cancel>) -> Response {
    let keep_applied = form.keep_applied.is_some();
    let outcome = match given(form.reason).map(|reason| lease_text("reason", reason, false)).transpose() {
        Ok(reason) => apply_change(&page, &reader, &id, Action::Cancel { reason, keep_applied }).await,
        Err(problem) => Err(problem),
    };
    page.after(form.back.as_deref(), outcome.map(|()| page.t("task-cancelled")))
}

async fn apply_change(page: &Page, reader: &Reader, id: &str, action: Action) -> Result<(), Problem> {
    task_changed(&page.caller()?, reader, Some(task_id(id)?), action).await.map(drop)
}
