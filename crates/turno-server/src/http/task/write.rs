//! Creating tasks, and changing them outside processing.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use serde::Deserialize;
use turno::core::task::{Action, Outcome, TaskId};
use turno::task::TaskAnswer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::input::{NewLineBody, lines};
use super::task_id;
use super::view::{RefusalContext, Tagged, TaskView, parse_version, unknown};
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

/// The status of a new task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, utoipa::ToSchema)]
#[schema(as = NewTaskStatus)]
#[serde(rename_all = "snake_case")]
enum FirstStatus {
    #[default]
    Draft,
    Ready,
}

/// A new task.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct NewTask {
    /// The title shown to people.
    #[schema(min_length = 1, max_length = 200)]
    title: String,
    /// The movements of stock. A draft may have none.
    #[serde(default)]
    #[schema(max_items = 500)]
    lines: Vec<NewLineBody>,
    /// `draft` or `ready`. Default: `draft`.
    #[serde(default)]
    status: FirstStatus,
}

/// Creates a task.
///
/// With an `Idempotency-Key`, repeating the call creates no second task.
#[utoipa::path(post, path = "/v1/tasks", tag = "tasks", request_body = NewTask,
    params(("Idempotency-Key" = Option<String>, Header,
        description = "1 to 200 visible characters. Makes the call safe to repeat")),
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
        let answer =
            caller.0.task_command(None, caller.holder(None), Action::Create { title, lines, ready, once }).await?;
        let repeated = answer.answer == Ok(Outcome::Repeated);
        Ok(Made { status: StatusCode::CREATED, body: to_view(&caller, &reader, None, answer).await?, repeated })
    })
    .await
}

/// Changes to a draft. Omitted fields keep their value.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = TaskDraft)]
#[serde(deny_unknown_fields)]
struct DraftBody {
    /// The title shown to people.
    #[schema(min_length = 1, max_length = 200)]
    title: Option<String>,
    /// All lines of the draft. They replace the existing ones.
    #[schema(max_items = 500)]
    lines: Option<Vec<NewLineBody>>,
    /// The `version` that the caller read. If the draft has changed since, the answer is 409 `draft_changed`. Same as
    /// `If-Match`.
    version: Option<String>,
}

/// Changes a draft.
///
/// No lock is needed. With the version that you read, in the body or as `If-Match`, the call changes nothing if the
/// draft has changed since.
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
    let seen = version.map(|version| parse_version(version).ok_or_else(changed)).transpose()?;
    act(&caller, &reader, id, Action::Edit { title: body.title, lines, seen }).await.map(|Json(task)| Tagged(task))
}

/// Returns the version of an `If-Match` header. Accepts a weak tag, because a proxy that compresses answers marks tags
/// as weak.
pub(in crate::http) fn if_match(headers: &HeaderMap) -> Option<&str> {
    // A header that is not text matches no version.
    let tag = headers.get(header::IF_MATCH)?.to_str().unwrap_or_default().trim();
    let tag = tag.strip_prefix("W/").unwrap_or(tag);
    (tag != "*").then(|| tag.trim_matches('"'))
}

/// An empty body.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = TaskReady)]
#[serde(deny_unknown_fields)]
struct EmptyBody {}

/// Makes a draft ready to be claimed.
#[utoipa::path(post, path = "/v1/tasks/{id}/ready", tag = "tasks",
    params(("id" = i64, Path)), responses((status = 200, body = TaskView)))]
async fn task_ready(
    caller: Caller,
    reader: Reader,
    Path(id): Path<String>,
    Json(EmptyBody {}): Json<EmptyBody>,
) -> Result<Json<TaskView>, Problem> {
    act(&caller, &reader, task_id(&id)?, Action::Ready).await
}

/// The cancellation of a task.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = TaskCancel)]
#[serde(deny_unknown_fields)]
struct CancelBody {
    /// The reason, shown in the task's history and the audit.
    #[schema(max_length = 4000)]
    reason: Option<String>,
    /// Cancels the task even if lines are applied. Their effects stay. Default: false.
    #[serde(default)]
    keep_applied: bool,
}

/// Cancels a task.
///
/// If lines are applied, the answer is 409 `lines_applied` with them in `lines`, unless `keep_applied` is true.
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
    let answer = caller.0.task_command(Some(id), caller.holder(None), action).await?;
    to_view(caller, reader, Some(id), answer).await.map(Json)
}

/// Converts an answer of the library to the task after the command, or to the problem of its refusal.
async fn to_view(
    caller: &Caller,
    reader: &Reader,
    id: Option<TaskId>,
    answer: TaskAnswer,
) -> Result<TaskView, Problem> {
    let TaskAnswer { answer, task, lease, now, .. } = answer;
    match answer {
        Ok(_) => {
            let task = task.ok_or_else(|| unknown(id.unwrap_or_default()))?;
            Ok(TaskView::new(caller, reader, &task, &lease, now))
        }
        Err(refused) => {
            let who = &caller.holder(None);
            Err(RefusalContext { caller, reader, who, lease: &lease, now }.problem(id, &refused).await)
        }
    }
}
