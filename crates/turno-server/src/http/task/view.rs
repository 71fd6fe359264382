//! A task as programs see it, and the problems that refusals become.

use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use turno::TaskEvent;
use turno::core::lease::{Holder, State};
use turno::core::task::{
    Goods, Line, LineError, LineOutcome, LineStatus, Movement, Note, Refused, Task, TaskId, Version,
};
use turno::core::time::Time;

use super::input::{Kind, bad_form};
use crate::http::caller::Caller;
use crate::http::extract::Json;
use crate::http::lease::{self, EndedView, LeaseView};
use crate::http::problem::{Code, Problem};
use crate::http::reader::Reader;
use crate::http::stamp::Stamp;

/// A task with its lines and its lock.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Task)]
pub(super) struct TaskView {
    id: i64,
    title: String,
    /// `draft`, `ready`, `processing`, `partially_completed`, `completed` or `cancelled`.
    status: &'static str,
    lines: Vec<LineView>,
    /// The lease that whoever processes it holds.
    lock: LeaseView,
    created_at: Stamp,
    /// Who wrote it.
    created_by: String,
    updated_at: Stamp,
    /// Names what is written in it, title and lines. Whoever changes a draft gives it back, and overwrites nobody.
    version: String,
}

/// A task by itself: its version is also its `ETag`.
pub(super) struct Tagged(pub(super) TaskView);

impl IntoResponse for Tagged {
    fn into_response(self) -> Response {
        let tag = format!("\"{}\"", self.0.version);
        ([(header::ETAG, tag)], Json(self.0)).into_response()
    }
}

/// What was seen of a draft or a line, as a call gives it back; nothing for a version that none ever had.
pub(super) fn seen(version: &str) -> Option<Version> {
    u64::from_str_radix(version, 16).ok().map(Version)
}

impl TaskView {
    pub(super) fn new(caller: &Caller, reader: &Reader, task: &Task, lease: &State, now: Time) -> TaskView {
        TaskView {
            id: task.id.0,
            title: task.title.clone(),
            status: task.status.as_str(),
            lines: task.lines.iter().map(|line| LineView::new(reader, line)).collect(),
            lock: LeaseView::of(caller, &caller.holder(None), lease, now),
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
    /// From 1.
    number: u32,
    /// `serialized` or `quantity`.
    kind: &'static str,
    /// `in` or `out`.
    movement: &'static str,
    sku: String,
    /// Of a serialized line.
    #[serde(skip_serializing_if = "Option::is_none")]
    serials: Option<Vec<String>>,
    /// Of a line by quantity.
    #[serde(skip_serializing_if = "Option::is_none")]
    quantity: Option<i64>,
    /// `pending`, `validated`, `applied` or `failed`.
    status: &'static str,
    /// Why its last attempt failed.
    error: Option<LineErrorView>,
    applied_at: Option<Stamp>,
    applied_by: Option<String>,
    /// Names what is written in it. Whoever changes it gives it back, and overwrites nothing that they have not seen.
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
            kind: Kind::of(&line.goods).as_str(),
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
    /// For people, in the language of Accept-Language.
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    serial: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    available: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wanted: Option<i64>,
}

impl LineErrorView {
    pub(super) fn new(reader: &Reader, error: &LineError) -> LineErrorView {
        let told = LineErrorView { message: reader.say("line-error", &said(error)), ..LineErrorView::default() };
        match error {
            LineError::Incomplete => LineErrorView { code: "incomplete", ..told },
            LineError::DuplicateSerial { serial } => {
                LineErrorView { code: "duplicate_serial", serial: Some(serial.to_string()), ..told }
            }
            LineError::UnknownSerial { serial } => {
                LineErrorView { code: "unknown_serial", serial: Some(serial.to_string()), ..told }
            }
            LineError::NotEnough { available, wanted } => {
                LineErrorView { code: "not_enough", available: Some(*available), wanted: Some(*wanted), ..told }
            }
            LineError::TooMuch => LineErrorView { code: "too_much", ..told },
            LineError::Refused { .. } => LineErrorView { code: "refused", ..told },
        }
    }
}

/// What a sentence about an error mentions.
pub(crate) fn said(error: &LineError) -> Vec<(&'static str, String)> {
    let named = |code: &str| ("error", code.to_owned());
    match error {
        LineError::Incomplete => vec![named("incomplete")],
        LineError::DuplicateSerial { serial } => vec![named("duplicate_serial"), ("serial", serial.to_string())],
        LineError::UnknownSerial { serial } => vec![named("unknown_serial"), ("serial", serial.to_string())],
        LineError::NotEnough { available, wanted } => {
            vec![named("not_enough"), ("available", available.to_string()), ("wanted", wanted.to_string())]
        }
        LineError::TooMuch => vec![named("too_much")],
        LineError::Refused { message } => vec![named("refused"), ("message", message.clone())],
    }
}

/// What became of a line in a finalize.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = TaskLineOutcome)]
pub(super) struct OutcomeView {
    /// From 1.
    number: u32,
    /// `applied`; `skipped`, if it had been applied before; or `failed`.
    outcome: &'static str,
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

/// One thing that happened to a task.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = TaskHappened)]
pub(super) struct HappenedView {
    at: Stamp,
    /// A stable word: `created`, `edited`, `ready`, `processing`, `line_edited`, `line_validated`, `line_applied`,
    /// `line_failed`, `finalized`, `cancelled`; or `lock_ended`, of an ownership of its lock.
    what: String,
    /// Who did it, or whose ownership it was.
    by: String,
    /// The account that spoke for them, if it was not themselves.
    via: Option<String>,
    /// Which line, if it was one.
    line: Option<u32>,
    detail: Option<String>,
    /// Of an ownership that ended: from when to when, and how.
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

/// Where a refusal comes from: which task, who asked, and its lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    pub(super) caller: &'a Caller,
    pub(super) reader: &'a Reader,
    pub(super) who: &'a Holder,
    pub(super) lease: &'a State,
    pub(super) now: Time,
}

impl Asked<'_> {
    /// The problem that a refusal becomes.
    pub(super) async fn refused(self, id: Option<TaskId>, refused: &Refused) -> Problem {
        let task = id.map_or_else(String::new, |id| id.to_string());
        match refused {
            Refused::Unknown => unknown(&task),
            Refused::WrongStatus(status) => Problem::new(Code::WrongStatus)
                .arg("task", &task)
                .arg("status", status.as_str())
                .with("status_now", status.as_str()),
            Refused::Changed => Problem::new(Code::DraftChanged).arg("task", &task),
            Refused::Lease(refused) => lease::refused(self.caller, self.who, refused, self.lease, self.now).await,
            Refused::NoSuchLine(number) => {
                Problem::new(Code::NotFound).arg("thing", format_args!("task {task} line {number}"))
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
                let problem = said(error).into_iter().fold(problem, |problem, (name, value)| problem.arg(name, value));
                problem.with("error", LineErrorView::new(self.reader, error))
            }
            Refused::Invalid(text) => bad_form(text),
        }
    }
}

/// It is not any more what the caller says to have seen.
pub(super) fn line_changed(number: u32) -> Problem {
    Problem::new(Code::LineChanged).arg("line", number).with("line", number)
}

/// There is no such task.
pub(crate) fn unknown(task: impl std::fmt::Display) -> Problem {
    Problem::new(Code::NotFound).arg("thing", format_args!("task {task}"))
}
