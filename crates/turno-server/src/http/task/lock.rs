//! The lock of a task: the lease on `task:ID`, with the same calls as any lease.

use axum::extract::State;
use axum::http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::task_id;
use crate::http::app::Shared;
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path, Query};
use crate::http::lease::{
    self, ClaimBody, DeclineBody, ForceBody, HeartbeatBody, HeartbeatResult, InstanceBody, LeaseView, ReleaseBody,
    Released, RequestBody, RequestResult, Turn, TurnBody, TurnQuery,
};
use crate::http::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(task_claim))
        .routes(routes!(task_heartbeat))
        .routes(routes!(task_release))
        .routes(routes!(task_force_claim))
        .routes(routes!(task_force_release))
        .routes(routes!(task_request_release))
        .routes(routes!(task_decline_release))
        .routes(routes!(task_turn, task_turn_leave))
}

/// Claims a task to process it. A `ready` task becomes `processing`.
#[utoipa::path(post, path = "/v1/tasks/{id}/claim", tag = "tasks",
    params(("id" = i64, Path)), responses((status = 200, body = LeaseView)))]
async fn task_claim(
    State(app): State<Shared>,
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<ClaimBody>,
) -> Result<Json<LeaseView>, Problem> {
    lease::claim(&app, &caller, task_id(&id)?.resource(), body).await.map(Json)
}

/// Sends a heartbeat, which extends the task's lock.
#[utoipa::path(post, path = "/v1/tasks/{id}/heartbeat", tag = "tasks",
    params(("id" = i64, Path)), responses((status = 200, body = HeartbeatResult)))]
async fn task_heartbeat(
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<HeartbeatBody>,
) -> Result<Json<HeartbeatResult>, Problem> {
    lease::heartbeat(&caller, task_id(&id)?.resource(), body).await.map(Json)
}

/// Releases the task's lock. The task stays as it is.
#[utoipa::path(post, path = "/v1/tasks/{id}/release", tag = "tasks",
    params(("id" = i64, Path)), responses((status = 200, body = Released)))]
async fn task_release(
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<ReleaseBody>,
) -> Result<Json<Released>, Problem> {
    lease::release(&caller, task_id(&id)?.resource(), body).await.map(Json)
}

/// Takes the task from its holder, past the waiting line.
#[utoipa::path(post, path = "/v1/tasks/{id}/force-claim", tag = "tasks",
    params(("id" = i64, Path)), responses((status = 200, body = LeaseView)))]
async fn task_force_claim(
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<ForceBody>,
) -> Result<Json<LeaseView>, Problem> {
    lease::force_claim(&caller, task_id(&id)?.resource(), body).await.map(Json)
}

/// Ends the lock of the task's holder.
#[utoipa::path(post, path = "/v1/tasks/{id}/force-release", tag = "tasks",
    params(("id" = i64, Path)), responses((status = 200, body = LeaseView)))]
async fn task_force_release(
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<ForceBody>,
) -> Result<Json<LeaseView>, Problem> {
    lease::force_release(&caller, task_id(&id)?.resource(), body).await.map(Json)
}

/// Asks the holder to release the task.
#[utoipa::path(post, path = "/v1/tasks/{id}/request-release", tag = "tasks",
    params(("id" = i64, Path)), responses((status = 202, body = RequestResult)))]
async fn task_request_release(
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<RequestBody>,
) -> Result<(StatusCode, Json<RequestResult>), Problem> {
    lease::ask(&caller, task_id(&id)?.resource(), body).await
}

/// Declines all pending requests to release the task.
#[utoipa::path(post, path = "/v1/tasks/{id}/decline-release", tag = "tasks",
    params(("id" = i64, Path)), responses((status = 200, body = RequestResult)))]
async fn task_decline_release(
    caller: Caller,
    Path(id): Path<String>,
    Json(body): Json<DeclineBody>,
) -> Result<Json<RequestResult>, Problem> {
    lease::decline(&caller, task_id(&id)?.resource(), body).await.map(Json)
}

/// Joins the waiting line for the task, or renews the caller's place in it.
#[utoipa::path(post, path = "/v1/tasks/{id}/turn", tag = "tasks",
    params(("id" = i64, Path)), responses((status = 200, body = Turn)))]
async fn task_turn(caller: Caller, Path(id): Path<String>, Json(body): Json<TurnBody>) -> Result<Json<Turn>, Problem> {
    lease::join(&caller, task_id(&id)?.resource(), body).await.map(Json)
}

/// Leaves the waiting line for the task.
#[utoipa::path(delete, path = "/v1/tasks/{id}/turn", tag = "tasks",
    params(("id" = i64, Path), TurnQuery), responses((status = 200, body = Turn)))]
async fn task_turn_leave(
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<TurnQuery>,
    Json(body): Json<InstanceBody>,
) -> Result<Json<Turn>, Problem> {
    lease::leave(&caller, task_id(&id)?.resource(), query, body).await.map(Json)
}
