//! Calls for a lease that is held: ask the holder to release it, decline such a request, and wait in line.

use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use turno::core::id::{Fence, Instance, Resource};
use turno::core::lease::{Action, Outcome};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{InstanceBody, LeaseView, act, text};
use crate::http::app::Shared;
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path, Query};
use crate::http::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(lease_request_release))
        .routes(routes!(lease_decline_release))
        .routes(routes!(lease_turn, lease_turn_leave))
}

/// A request to release.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseRequest)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct RequestBody {
    /// A message to the holder.
    #[schema(max_length = 4000)]
    message: Option<String>,
    /// The process that asks. Required for machine accounts.
    #[schema(value_type = Option<String>, max_length = 200)]
    instance: Option<Instance>,
}

/// The lease after a request to release or its answer, and whether it reached a reader.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = LeaseAsked)]
pub(in crate::http) struct RequestResult {
    #[serde(flatten)]
    lease: LeaseView,
    /// For a request: false if the lease is free, so it can be claimed. For a decline: false if there was no request.
    told: bool,
}

/// Asks the holder to release the lease.
///
/// The holder gets the request as a live event and with the next heartbeat.
#[utoipa::path(post, path = "/v1/leases/{resource}/request-release", tag = "leases",
    params(("resource" = String, Path)), responses((status = 202, body = RequestResult)))]
async fn lease_request_release(
    caller: Caller,
    Path(resource): Path<Resource>,
    Json(body): Json<RequestBody>,
) -> Result<(StatusCode, Json<RequestResult>), Problem> {
    ask(&caller, resource, body).await
}

/// Asks the holder of any lease to release it. Task routes use it too.
pub(in crate::http) async fn ask(
    caller: &Caller,
    resource: Resource,
    body: RequestBody,
) -> Result<(StatusCode, Json<RequestResult>), Problem> {
    let message = body.message.map(|message| text("message", message, false)).transpose()?;
    let action = Action::RequestRelease { message: message.filter(|message| !message.trim().is_empty()) };
    let (lease, outcome) = act(caller, resource, caller.holder(body.instance), action).await?;
    let told = matches!(outcome, Outcome::ReleaseRequested { delivered: true });
    Ok((StatusCode::ACCEPTED, Json(RequestResult { lease, told })))
}

/// The holder's answer to requests to release.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseDecline)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct DeclineBody {
    /// The fence of the caller's ownership.
    #[schema(value_type = i64)]
    fence: Fence,
    /// A message to the callers who asked.
    #[schema(max_length = 4000)]
    message: Option<String>,
    /// The process that answers, if the claim named one.
    #[schema(value_type = Option<String>, max_length = 200)]
    instance: Option<Instance>,
}

/// Declines all pending requests to release the lease.
///
/// The callers who asked get the answer as a live event and see it in the lease's `requests`.
#[utoipa::path(post, path = "/v1/leases/{resource}/decline-release", tag = "leases",
    params(("resource" = String, Path)), responses((status = 200, body = RequestResult)))]
async fn lease_decline_release(
    caller: Caller,
    Path(resource): Path<Resource>,
    Json(body): Json<DeclineBody>,
) -> Result<Json<RequestResult>, Problem> {
    decline(&caller, resource, body).await.map(Json)
}

/// Declines the requests for any lease. Task routes use it too.
pub(in crate::http) async fn decline(
    caller: &Caller,
    resource: Resource,
    body: DeclineBody,
) -> Result<RequestResult, Problem> {
    let message = body.message.map(|message| text("message", message, false)).transpose()?;
    let action = Action::Decline { fence: body.fence, message: message.filter(|message| !message.trim().is_empty()) };
    let (lease, outcome) = act(caller, resource, caller.holder(body.instance), action).await?;
    Ok(RequestResult { lease, told: matches!(outcome, Outcome::ReleaseRequested { delivered: true }) })
}

/// A place in the waiting line.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseTurnBody)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct TurnBody {
    /// The process that waits. Required for machine accounts.
    #[schema(value_type = Option<String>, max_length = 200)]
    instance: Option<Instance>,
    /// Renews the caller's place and takes no new one. Default: false.
    #[serde(default)]
    keep: bool,
}

/// The process that leaves the line, for clients that send no body with DELETE.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct TurnQuery {
    /// The process that waits. Required for machine accounts.
    #[param(value_type = Option<String>, max_length = 200)]
    instance: Option<Instance>,
}

/// The lease, and the caller's place in its waiting line.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = LeaseTurn)]
pub(in crate::http) struct Turn {
    #[serde(flatten)]
    lease: LeaseView,
    /// Time until the place is lost. Repeat the call before that.
    ticket_expires_in_ms: Option<i64>,
    /// True if the lease is free and reserved for the caller. Claim it now.
    offered: bool,
}

/// Joins the waiting line, or renews the caller's place in it.
#[utoipa::path(post, path = "/v1/leases/{resource}/turn", tag = "leases",
    params(("resource" = String, Path)), responses((status = 200, body = Turn)))]
async fn lease_turn(
    caller: Caller,
    Path(resource): Path<Resource>,
    Json(body): Json<TurnBody>,
) -> Result<Json<Turn>, Problem> {
    join(&caller, resource, body).await.map(Json)
}

/// Joins the waiting line of any lease. Task routes use it too.
pub(in crate::http) async fn join(caller: &Caller, resource: Resource, body: TurnBody) -> Result<Turn, Problem> {
    let action = if body.keep { Action::RenewTicket } else { Action::JoinLine };
    turn(caller, resource, body.instance, action).await
}

/// Leaves the waiting line.
///
/// If the caller is not in the line, nothing changes.
#[utoipa::path(delete, path = "/v1/leases/{resource}/turn", tag = "leases",
    params(("resource" = String, Path), TurnQuery), responses((status = 200, body = Turn)))]
async fn lease_turn_leave(
    caller: Caller,
    Path(resource): Path<Resource>,
    Query(query): Query<TurnQuery>,
    Json(body): Json<InstanceBody>,
) -> Result<Json<Turn>, Problem> {
    leave(&caller, resource, query, body).await.map(Json)
}

/// Leaves the waiting line of any lease. Task routes use it too.
pub(in crate::http) async fn leave(
    caller: &Caller,
    resource: Resource,
    query: TurnQuery,
    body: InstanceBody,
) -> Result<Turn, Problem> {
    turn(caller, resource, body.instance.or(query.instance), Action::LeaveLine).await
}

async fn turn(caller: &Caller, resource: Resource, who: Option<Instance>, action: Action) -> Result<Turn, Problem> {
    let (lease, outcome) = act(caller, resource, caller.holder(who), action).await?;
    Ok(match outcome {
        Outcome::InLine { offered, ticket, .. } => Turn { lease, ticket_expires_in_ms: Some(ticket.0), offered },
        _ => Turn { lease, ticket_expires_in_ms: None, offered: false },
    })
}
