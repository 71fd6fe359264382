//! Making tasks, and changing them before and besides their processing.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use serde::Deserialize;
use turno::TaskAnswer;
use turno::core::task::{Action, Outcome, TaskId};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::input::{NewLineBody, lines};
use super::task_id;
use super::view::{Asked, Tagged, TaskView, seen, unknown};
use crate::http::app::Shared;
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path};
use crate::http::idempotency::{Made, Repeatable};
use crate::http::lease::text;
use crate::http::problem::{Code, Problem};
use crate::http::reader::Reader;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(task_create))
        .routes(routes!(task_put))
        .routes(routes!(task_ready))
        .routes(routes!(task_cancel))
}

/// Whether a new task can be taken at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[schema(as = NewTaskStatus)]
#[serde(rename_all = "snake_case")]
enum FirstStatus {
    #[default]
    Draft,
    Ready,
}

/// A task to be.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct NewTask {
    /// What people call it.
    #[schema(min_length = 1, max_length = 200)]
    title: String,
    /// What moves; a draft may have none yet.
    #[serde(default)]
    #[schema(max_items = 500)]
    lines: Vec<NewLineBody>,
    /// [default: draft]
    #[serde(default)]
    status: FirstStatus,
}

/// A new task. With an `Idempotency-Key`, repeating the call makes no second one.
#[utoipa::path(post, path = "/v1/tasks", tag = "tasks", request_body = NewTask,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 200 visible characters")),
    responses((status = 201, body = TaskView)))]
async fn task_create(
    State(app): State<Shared>,
    caller: Caller,
    reader: Reader,
    new: Repeatable<NewTask>,
) -> Result<Response, Problem> {
    new.answer(&app, |NewTask { title, lines: bodies, status }, once| async move {
        let lines = lines(bodies)?;
        let ready = status == FirstStatus::Ready;
        let answer = caller.0.task_create(caller.holder(None), &title, lines, ready, once).await?;
        let repeated = answer.answer == Ok(Outcome::Repeated);
        Ok(Made { status: StatusCode::CREATED, body: shown(&caller, &reader, None, answer).await?, repeated })
    })
    .await
}

/// What changes about a draft; what is not given stays.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = TaskDraft)]
#[serde(deny_unknown_fields)]
struct DraftBody {
    /// What people call it.
    #[schema(min_length = 1, max_length = 200)]
    title: Option<String>,
    /// All its lines.
    #[schema(max_items = 500)]
    lines: Option<Vec<NewLineBody>>,
    /// The `version` that it was when the caller read it: `draft_changed` if it has become another one. The same as
    /// `If-Match`.
    version: Option<String>,
}

/// Changes a draft; it needs no lock. With the version that was read, in the body or as `If-Match`, it changes nothing that
/// another has changed meanwhile.
#[utoipa::path(put, path = "/v1/tasks/{id}", tag = "tasks",
    params(
        ("id" = i64, Path),
        ("If-Match" = Option<String>, Header, description = "The task's `ETag`, which is its `version` in quotes"),
    ),
    responses((status = 200, body = TaskView)))]
async fn task_put(
    caller: Caller,
    reader: Reader,
    headers: HeaderMap,
    Path(id): Path<String>,
    Json(body): Json<DraftBody>,
) -> Result<Tagged, Problem> {
    let id = task_id(&id)?;
    let lines = body.lines.map(lines).transpose()?;
    let version = body.version.as_deref().or_else(|| if_match(&headers));
    let changed = || Problem::new(Code::DraftChanged).arg("task", id);
    let seen = version.map(|version| seen(version).ok_or_else(changed)).transpose()?;
    act(&caller, &reader, id, Action::Edit { title: body.title, lines, seen }).await.map(|Json(task)| Tagged(task))
}

/// The version of an `If-Match`. A proxy that has packed an answer may have marked its tag as weak; what is meant is the same.
pub(in crate::http) fn if_match(headers: &HeaderMap) -> Option<&str> {
    // What is no text names no version, either.
    let tag = headers.get(header::IF_MATCH)?.to_str().unwrap_or_default().trim();
    let tag = tag.strip_prefix("W/").unwrap_or(tag);
    (tag != "*").then(|| tag.trim_matches('"'))
}

/// Nothing to say.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = TaskReady)]
#[serde(deny_unknown_fields)]
struct NoBody {}

/// Lets a draft be taken.
#[utoipa::path(post, path = "/v1/tasks/{id}/ready", tag = "tasks",
    params(("id" = i64, Path)), responses((status = 200, body = TaskView)))]
async fn task_ready(
    caller: Caller,
    reader: Reader,
    Path(id): Path<String>,
    Json(NoBody {}): Json<NoBody>,
) -> Result<Json<TaskView>, Problem> {
    act(&caller, &reader, task_id(&id)?, Action::Ready).await
}

/// Why a task will not be processed.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = TaskCancel)]
#[serde(deny_unknown_fields)]
struct CancelBody {
    /// For its history and the audit.
    #[schema(max_length = 4000)]
    reason: Option<String>,
    /// Cancels also a task with applied lines, whose effects stay. [default: false]
    #[serde(default)]
    keep_applied: bool,
}

/// Ends a task that will not be processed. If lines are applied it answers 409 `lines_applied` with them in `lines`, unless
/// `keep_applied` says that they stay.
#[utoipa::path(post, path = "/v1/tasks/{id}/cancel", tag = "tasks",
    params(("id" = i64, Path)), responses((status = 200, body = TaskView)))]
async fn task_cancel(
    caller: Caller,
    reader: Reader,
    Path(id): Path<String>,
    Json(body): Json<CancelBody>,
) -> Result<Json<TaskView>, Problem> {
    let id = task_id(&id)?;
    let reason = body.reason.map(|reason| text("reason", reason, false)).transpose()?;
    act(&caller, &reader, id, Action::Cancel { reason, keep_applied: body.keep_applied }).await
}

async fn act(caller: &Caller, reader: &Reader, id: TaskId, action: Action) -> Result<Json<TaskView>, Problem> {
    let answer = caller.0.task(Some(id), caller.holder(None), action).await?;
    shown(caller, reader, Some(id), answer).await.map(Json)
}

/// The task after a command that was carried out, or the problem that its refusal becomes.
async fn shown(caller: &Caller, reader: &Reader, id: Option<TaskId>, answer: TaskAnswer) -> Result<TaskView, Problem> {
    let TaskAnswer { answer, task, lease, now, .. } = answer;
    match answer {
        Ok(_) => {
            let task = task.ok_or_else(|| unknown(id.unwrap_or_default()))?;
            Ok(TaskView::new(caller, reader, &task, &lease, now))
        }
        Err(refused) => {
            let who = &caller.holder(None);
            Err(Asked { caller, reader, who, lease: &lease, now }.refused(id, &refused).await)
        }
    }
}
