//! The JSON of a task, and the problems for refused task commands.

use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use turno::core::lease::{Holder, State};
use turno::core::task::{
    Goods, Line, LineError, LineOutcome, LineStatus, Movement, Note, Refused, Task, TaskId, Version,
};
use turno::core::time::Time;
use turno::task::TaskEvent;

use super::input::{Kind, validation_problem};
use crate::http::caller::Caller;
use crate::http::extract::Json;
use crate::http::lease::{self, EndedView, LeaseView};
use crate::http::problem::{Code, Problem};
use crate::http::reader::Reader;
use crate::http::stamp::Stamp;
use crate::texts::message::Message;

/// A task with its lines and its lock.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Task)]
pub(super) struct TaskView {
    /// The task's id. Its lock is the lease on `task:ID`.
    id: i64,
    /// The title shown to people.
    title: String,
    /// `draft`, `ready`, `processing`, `partially_completed`, `completed` or `cancelled`.
    status: &'static str,
    /// The lines, by number.
    lines: Vec<LineView>,
    /// The task's lock. Its holder processes the task.
    lock: LeaseView,
    /// When the task was created.
    created_at: Stamp,
    /// The user who created the task.
    created_by: String,
    /// When the task last changed.
    updated_at: Stamp,
    /// Identifies the current title and lines. Send it when you change the draft, so that you overwrite no change that
    /// you have not read.
    version: String,
}

/// A task as an answer of its own, with its version as the `ETag`.
pub(super) struct Tagged(pub(super) TaskView);

impl IntoResponse for Tagged {
    fn into_response(self) -> Response {
        let tag = format!("\"{}\"", self.0.version);
        ([(header::ETAG, tag)], Json(self.0)).into_response()
    }
}

/// Parses the version of a draft or line. Returns `None` for a string that is no version.
pub(super) fn parse_version(version: &str) -> Option<Version> {
    u64::from_str_radix(version, 16).ok().map(Version)
}

impl TaskView {
    pub(super) fn new(caller: &Caller, reader: &Reader, task: &Task, lease: &State, now: Time) -> TaskView {
        TaskView {
            id: task.id.0,
            title: task.title.clone(),
            status: task.status.as_str(),
            lines: task.lines.iter().map(|line| LineView::new(reader, line)).collect(),
            lock: LeaseView::new(caller, &caller.holder(None), lease, now),
            created_at: task.created_at.into(),
            created_by: task.created_by.to_string(),
            updated_at: task.updated_at.into(),
            version: task.version().to_string(),
        }
    }
}

/// A line of a task.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = TaskLine)]
pub(super) struct LineView {
    /// The line's number, from 1.
    number: u32,
    /// `serialized` or `quantity`.
    kind: &'static str,
    /// `in` or `out`.
    movement: &'static str,
    /// The article.
    sku: String,
    /// The serial numbers of a serialized line.
    #[serde(skip_serializing_if = "Option::is_none")]
    serials: Option<Vec<String>>,
    /// The number of units of a quantity line.
    #[serde(skip_serializing_if = "Option::is_none")]
    quantity: Option<i64>,
    /// `pending`, `validated`, `applied` or `failed`.
    status: &'static str,
    /// Why the last attempt to apply the line failed.
    error: Option<LineErrorView>,
    /// When the line was applied.
    applied_at: Option<Stamp>,
    /// The user who applied the line.
    applied_by: Option<String>,
    /// Identifies the current content of the line. Send it when you change the line, so that you overwrite no change
    /// that you have not read.
    version: String,
}

impl LineView {
    pub(super) fn new(reader: &Reader, line: &Line) -> LineView {
        let (serials, quantity) = match &line.goods {
            Goods::Serialized(serials) => (Some(serials.iter().map(ToString::to_string).collect()), None),
            Goods::Quantity(quantity) => (None, Some(*quantity)),
        };
        LineView {
            number: line.number,
            kind: Kind::from_goods(&line.goods).as_str(),
            movement: match line.movement {
                Movement::In => "in",
                Movement::Out => "out",
            },
            sku: line.sku.to_string(),
            serials,
            quantity,
            status: match line.status {
                LineStatus::Pending => "pending",
                LineStatus::Validated => "validated",
                LineStatus::Applied => "applied",
                LineStatus::Failed => "failed",
            },
            error: line.error.as_ref().map(|error| LineErrorView::new(reader, error)),
            applied_at: line.applied.as_ref().map(|(at, ..)| (*at).into()),
            applied_by: line.applied.as_ref().map(|(.., by)| by.to_string()),
            version: line.version().to_string(),
        }
    }
}

/// Why a line cannot be applied.
#[derive(Debug, Default, Serialize, utoipa::ToSchema)]
#[schema(as = TaskLineError)]
pub(super) struct LineErrorView {
    /// `incomplete`, `duplicate_serial`, `unknown_serial`, `not_enough`, `too_much` or `refused`.
    code: &'static str,
    /// A message for people, in the language of `Accept-Language`.
    message: String,
    /// The serial number that the error is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    serial: Option<String>,
    /// How many units are in stock.
    #[serde(skip_serializing_if = "Option::is_none")]
    available: Option<i64>,
    /// How many units the line needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    wanted: Option<i64>,
}

impl LineErrorView {
    pub(super) fn new(reader: &Reader, error: &LineError) -> LineErrorView {
        let view = LineErrorView { message: reader.say("line-error", &error_args(error)), ..LineErrorView::default() };
        match error {
            LineError::Incomplete => LineErrorView { code: "incomplete", ..view },
            LineError::DuplicateSerial { serial } => {
                LineErrorView { code: "duplicate_serial", serial: Some(serial.to_string()), ..view }
            }
            LineError::UnknownSerial { serial } => {
                LineErrorView { code: "unknown_serial", serial: Some(serial.to_string()), ..view }
            }
            LineError::NotEnough { available, wanted } => {
                LineErrorView { code: "not_enough", available: Some(*available), wanted: Some(*wanted), ..view }
            }
            LineError::TooMuch => LineErrorView { code: "too_much", ..view },
            LineError::Refused { .. } => LineErrorView { code: "refused", ..view },
        }
    }
}

/// Returns the arguments of the sentence about a line's error.
pub(crate) fn error_args(error: &LineError) -> Vec<(&'static str, String)> {
    let code = |code: &str| ("error", code.to_owned());
    match error {
        LineError::Incomplete => vec![code("incomplete")],
        LineError::DuplicateSerial { serial } => vec![code("duplicate_serial"), ("serial", serial.to_string())],
        LineError::UnknownSerial { serial } => vec![code("unknown_serial"), ("serial", serial.to_string())],
        LineError::NotEnough { available, wanted } => {
            vec![code("not_enough"), ("available", available.to_string()), ("wanted", wanted.to_string())]
        }
        LineError::TooMuch => vec![code("too_much")],
        LineError::Refused { message } => vec![code("refused"), ("message", message.clone())],
    }
}

/// The result of one line of a finalize.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = TaskLineOutcome)]
pub(super) struct OutcomeView {
    /// The line's number, from 1.
    number: u32,
    /// `applied`, `skipped` if the line had been applied before, or `failed`.
    outcome: &'static str,
    /// Why the line failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<LineErrorView>,
}

impl OutcomeView {
    pub(super) fn new(reader: &Reader, number: u32, outcome: &LineOutcome) -> OutcomeView {
        let (outcome, error) = match outcome {
            LineOutcome::Applied => ("applied", None),
            LineOutcome::Skipped => ("skipped", None),
            LineOutcome::Failed(error) => ("failed", Some(LineErrorView::new(reader, error))),
        };
        OutcomeView { number, outcome, error }
    }
}

/// An entry of a task's history.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = TaskHappened)]
pub(super) struct HappenedView {
    /// When it happened.
    at: Stamp,
    /// A stable name: `created`, `edited`, `ready`, `processing`, `line_edited`, `line_validated`, `line_applied`,
    /// `line_failed`, `finalized`, `cancelled`, or `lock_ended` for a past ownership of the task's lock.
    what: String,
    /// The user who did it, or the holder for `lock_ended`.
    by: String,
    /// The account that acted for the user. Null if the user acted.
    via: Option<String>,
    /// The number of the line, if the entry is about one.
    line: Option<u32>,
    /// A reason or message for people.
    detail: Option<String>,
    /// The past ownership, for `lock_ended`.
    held: Option<EndedView>,
}

impl From<TaskEvent> for HappenedView {
    fn from(event: TaskEvent) -> HappenedView {
        match event {
            TaskEvent::Note(Note { at, actor, what, line, detail }) => HappenedView {
                at: at.into(),
                what,
                by: actor.user.to_string(),
                via: actor.via.as_ref().map(ToString::to_string),
                line,
                detail,
                held: None,
            },
            TaskEvent::Held(ending) => HappenedView {
                at: ending.at.into(),
                what: "lock_ended".to_owned(),
                by: ending.grant.holder.user.to_string(),
                via: None,
                line: None,
                detail: None,
                held: Some((&ending).into()),
            },
        }
    }
}

/// What the problem for a refused task command needs besides the refusal.
#[derive(Clone, Copy, Debug)]
pub(super) struct RefusalContext<'a> {
    pub(super) caller: &'a Caller,
    pub(super) reader: &'a Reader,
    pub(super) who: &'a Holder,
    pub(super) lease: &'a State,
    pub(super) now: Time,
}

impl RefusalContext<'_> {
    /// Converts a refusal to a problem.
    pub(super) async fn problem(self, id: Option<TaskId>, refused: &Refused) -> Problem {
        let task = id.map_or_else(String::new, |id| id.to_string());
        match refused {
            Refused::Unknown => unknown(&task),
            Refused::WrongStatus(status) => Problem::new(Code::WrongStatus)
                .arg("task", &task)
                .arg("status", status.as_str())
                .with("status_now", status.as_str()),
            Refused::Changed => Problem::new(Code::DraftChanged).arg("task", &task),
            Refused::Lease(refused) => {
                lease::refusal_problem(self.caller, self.who, refused, self.lease, self.now).await
            }
            Refused::NoSuchLine(number) => {
                Problem::not_found(Message::new("thing-task-line").text("task", &task).text("line", number))
            }
            Refused::LineApplied(number) => Problem::new(Code::LineApplied).arg("line", number).with("line", number),
            Refused::LinesApplied(numbers) => {
                let named = numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                let outcome = |number: &u32| OutcomeView::new(self.reader, *number, &LineOutcome::Applied);
                let lines: Vec<_> = numbers.iter().map(outcome).collect();
                Problem::new(Code::LinesApplied).arg("task", &task).arg("lines", named).with("lines", lines)
            }
            Refused::LineChanged(number) => line_changed(*number),
            Refused::LineInvalid(number, error) => {
                let problem = Problem::new(Code::LineInvalid).arg("line", number).with("line", number);
                let problem =
                    error_args(error).into_iter().fold(problem, |problem, (name, value)| problem.arg(name, value));
                problem.with("error", LineErrorView::new(self.reader, error))
            }
            Refused::Invalid(invalid) => validation_problem(invalid),
        }
    }
}

/// Reports that a line is no longer the version that the caller read.
pub(super) fn line_changed(number: u32) -> Problem {
    Problem::new(Code::LineChanged).arg("line", number).with("line", number)
}

/// Reports that a task does not exist.
pub(crate) fn unknown(task: impl std::fmt::Display) -> Problem {
    Problem::not_found(Message::new("thing-task").text("task", task))
}
