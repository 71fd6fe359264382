//! Processing a task under the caller's lock: changing, validating and applying its lines.

use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};
use turno::core::id::{Fence, Instance, Serial, Sku};
use turno::core::lease::{Holder, Refused as LeaseRefused};
use turno::core::task::{Action, LineOutcome, Movement, Patch, Refused, TaskId};
use turno::task::{FinalizeAnswer, TaskAnswer};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::input::{Kind, patched};
use super::view::{LineView, OutcomeView, RefusalContext, line_changed, parse_version, unknown};
use super::write::if_match;
use super::{line_number, task_id};
use crate::http::app::Shared;
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path};
use crate::http::lease::LeaseView;
use crate::http::problem::Problem;
use crate::http::reader::Reader;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(line_patch)).routes(routes!(line_validate)).routes(routes!(task_finalize))
}

/// Changes to a line. Omitted fields keep their value.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = TaskLinePatch)]
#[serde(deny_unknown_fields)]
struct LineBody {
    /// The fence of the caller's lock.
    #[schema(value_type = i64)]
    fence: Fence,
    /// A new kind. Send its `serials` or `quantity` with it.
    kind: Option<Kind>,
    /// `in` or `out`.
    #[schema(value_type = Option<String>)]
    movement: Option<Movement>,
    /// The article.
    #[schema(value_type = Option<String>, max_length = 200)]
    sku: Option<Sku>,
    /// All serial numbers of a serialized line, without duplicates.
    #[schema(value_type = Option<Vec<String>>, min_items = 1, max_items = 1000)]
    serials: Option<Vec<Serial>>,
    /// The number of units of a quantity line.
    #[schema(minimum = 1)]
    quantity: Option<i64>,
    /// The `version` that the caller read. If the line has changed since, the answer is 409 `line_changed`. Same as
    /// `If-Match`.
    version: Option<String>,
    /// The process, if the claim named one.
    #[schema(value_type = Option<String>, max_length = 200)]
    instance: Option<Instance>,
}

/// A line, and the lock under which it was changed.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = TaskLineChanged)]
struct ChangedLine {
    #[serde(flatten)]
    line: LineView,
    lock: LeaseView,
}

/// Changes a line under the caller's lock.
///
/// A failed line becomes pending again. With the version that you read, in the body or as `If-Match`, the call changes
/// nothing if another window or process of the caller has changed the line since.
#[utoipa::path(patch, path = "/v1/tasks/{id}/lines/{number}", tag = "tasks",
    params(
        ("id" = i64, Path),
        ("number" = u32, Path),
        ("If-Match" = Option<String>, Header, description = "The line's `version` in quotes"),
    ),
    responses((status = 200, body = ChangedLine)))]
async fn line_patch(
    caller: Caller,
    reader: Reader,
    headers: HeaderMap,
    Path((id, number)): Path<(String, String)>,
    Json(body): Json<LineBody>,
) -> Result<Json<ChangedLine>, Problem> {
    let (id, number) = (task_id(&id)?, line_number(&number)?);
    let LineBody { fence, kind, movement, sku, serials, quantity, version, instance } = body;
    let version = version.as_deref().or_else(|| if_match(&headers));
    let seen = version.map(|version| parse_version(version).ok_or_else(|| line_changed(number))).transpose()?;
    let goods = if kind.is_some() || serials.is_some() || quantity.is_some() {
        let (task, _) = caller.0.task_get(id).await?.1.ok_or_else(|| unknown(id))?;
        let line = task.lines.iter().find(|line| line.number == number);
        let line = line.ok_or_else(|| unknown(format_args!("{id} line {number}")))?;
        patched(line, kind, serials, quantity)?
    } else {
        None
    };
    let patch = Patch { movement, sku, goods, seen };
    on_line(&caller, &reader, id, number, instance, Action::Patch { fence, number, patch }).await
}

/// The caller's lock.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = TaskFence)]
#[serde(deny_unknown_fields)]
struct FenceBody {
    /// The fence of the caller's lock.
    #[schema(value_type = i64)]
    fence: Fence,
    /// The process, if the claim named one.
    #[schema(value_type = Option<String>, max_length = 200)]
    instance: Option<Instance>,
}

/// Marks a line as validated, after checking that it could be applied.
#[utoipa::path(post, path = "/v1/tasks/{id}/lines/{number}/validate", tag = "tasks",
    params(("id" = i64, Path), ("number" = u32, Path)), responses((status = 200, body = ChangedLine)))]
async fn line_validate(
    caller: Caller,
    reader: Reader,
    Path((id, number)): Path<(String, String)>,
    Json(body): Json<FenceBody>,
) -> Result<Json<ChangedLine>, Problem> {
    let (id, number) = (task_id(&id)?, line_number(&number)?);
    let action = Action::Validate { fence: body.fence, number };
    on_line(&caller, &reader, id, number, body.instance, action).await
}

async fn on_line(
    caller: &Caller,
    reader: &Reader,
    id: TaskId,
    number: u32,
    instance: Option<Instance>,
    action: Action,
) -> Result<Json<ChangedLine>, Problem> {
    let who = &caller.holder(instance);
    let TaskAnswer { answer, task, lease, now, .. } = caller.0.task_command(Some(id), who.clone(), action).await?;
    let lease = &lease;
    let context = RefusalContext { caller, reader, who, lease, now };
    if let Err(refused) = answer {
        return Err(context.problem(Some(id), &refused).await);
    }
    let task = task.ok_or_else(|| unknown(id))?;
    let Some(line) = task.lines.iter().find(|line| line.number == number) else {
        return Err(context.problem(Some(id), &Refused::NoSuchLine(number)).await);
    };
    Ok(Json(ChangedLine { line: LineView::new(reader, line), lock: LeaseView::new(caller, who, lease, now) }))
}

/// The result of a finalize.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = TaskFinalized)]
struct FinalizedView {
    /// `completed` if every line is applied, otherwise `partially_completed`.
    status: &'static str,
    /// The result of each line, by number.
    lines: Vec<OutcomeView>,
    /// True if the same finalize had already happened. This is its answer.
    repeated: bool,
    /// The lock after the finalize.
    lock: LeaseView,
}

/// Applies every line on its own and releases the lock.
///
/// The first applied line makes the task `partially_completed`, and the task stays so if the finalize ends early. A
/// `lease_lost` lists every line that is applied by then in `lines`: `applied` by this call, or `skipped` if another
/// call applied it.
#[utoipa::path(post, path = "/v1/tasks/{id}/finalize", tag = "tasks",
    params(("id" = i64, Path)), responses((status = 200, body = FinalizedView)))]
async fn task_finalize(
    caller: Caller,
    reader: Reader,
    Path(id): Path<String>,
    Json(body): Json<FenceBody>,
) -> Result<Json<FinalizedView>, Problem> {
    let id = task_id(&id)?;
    let who = caller.holder(body.instance);
    let answer = caller.0.task_finalize(id, who.clone(), body.fence).await?;
    to_view(&caller, &reader, id, &who, answer).await.map(Json)
}

async fn to_view(
    caller: &Caller,
    reader: &Reader,
    id: TaskId,
    who: &Holder,
    answer: FinalizeAnswer,
) -> Result<FinalizedView, Problem> {
    let FinalizeAnswer { answer, lines, repeated, lease, now } = answer;
    let applied = lines.iter().any(|(_, outcome)| *outcome == LineOutcome::Applied);
    let lines: Vec<_> = lines.iter().map(|(number, outcome)| OutcomeView::new(reader, *number, outcome)).collect();
    match answer {
        Ok(finalized) => {
            let lock = LeaseView::new(caller, who, &lease, now);
            Ok(FinalizedView { status: finalized.status.as_str(), lines, repeated, lock })
        }
        Err(refused) => {
            let problem = RefusalContext { caller, reader, who, lease: &lease, now }.problem(Some(id), &refused).await;
            let lost = matches!(refused, Refused::Lease(LeaseRefused::Lost { .. }));
            let problem = if lost && applied { problem.arg("kept", "some") } else { problem };
            Err(if lost { problem.with("lines", lines) } else { problem })
        }
    }
}
