//! Tasks over HTTP: drafts, lines, processing under the caller's lock, stock.

mod input;
mod lock;
mod process;
mod read;
mod view;
mod write;

use crate::texts::message::Message;
use turno::core::id::Resource;
use turno::core::task::{Action, TaskId};
use turno::task::TaskAnswer;
use utoipa_axum::router::OpenApiRouter;

pub(crate) use view::{error_args as line_said, unknown};
pub(super) use write::if_match;

use super::app::Shared;
use super::caller::Caller;
use super::problem::Problem;
use super::reader::Reader;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().merge(read::routes()).merge(write::routes()).merge(lock::routes()).merge(process::routes())
}

/// Executes one command for a console page and returns the task's id. The page reads the task again by itself.
pub(crate) async fn changed(
    caller: &Caller,
    reader: &Reader,
    id: Option<TaskId>,
    action: Action,
) -> Result<TaskId, Problem> {
    let who = &caller.holder(None);
    let TaskAnswer { answer, task, lease, now, .. } = caller.0.task_command(id, who.clone(), action).await?;
    let lease = &lease;
    if let Err(refused) = answer {
        return Err(view::RefusalContext { caller, reader, who, lease, now }.problem(id, &refused).await);
    }
    task.map(|task| task.id).ok_or_else(|| unknown(id.unwrap_or_default()))
}

/// Parses the task id of a path. Only the canonical form of a number is accepted, so that a task has one address.
pub(crate) fn task_id(text: &str) -> Result<TaskId, Problem> {
    let unknown = || Problem::not_found(Message::new("thing-task").text("task", text));
    let resource = Resource::new(format!("task:{text}")).map_err(|_| unknown())?;
    TaskId::from_resource(&resource).filter(|id| id.0 > 0).ok_or_else(unknown)
}

/// Parses the line number of a path.
fn line_number(text: &str) -> Result<u32, Problem> {
    let number = text.parse().ok().filter(|number: &u32| number.to_string() == text);
    number.ok_or_else(|| Problem::not_found(Message::new("thing-line").text("line", text)))
}

#[cfg(test)]
mod tests {
    use super::super::problem::Code;
    use super::*;

    #[test]
    fn task_and_line_numbers_have_one_spelling() {
        assert_eq!(task_id("7").expect("a valid number"), TaskId(7));
        assert_eq!(line_number("2").expect("a valid number"), 2);
        for bad in ["0", "-1", "+7", "07", "7.0", "x", "", " 7", "9223372036854775808", "7\n"] {
            assert_eq!(task_id(bad).expect_err("not a task id").code(), Code::NotFound, "{bad:?}");
        }
        for bad in ["-1", "+1", "01", "1.0", "x", "", "4294967296"] {
            assert_eq!(line_number(bad).expect_err("not a line number").code(), Code::NotFound, "{bad:?}");
        }
    }
}
