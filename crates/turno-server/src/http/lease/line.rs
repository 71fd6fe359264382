//! What those do who want a lease that somebody else has: ask for it, and stand in line.

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

/// What a request to let go says.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseRequest)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct RequestBody {
    /// For the holder to read.
    #[schema(max_length = 4000)]
    message: Option<String>,
    /// Which process asks, for machines.
    #[schema(value_type = Option<String>, max_length = 200)]
    instance: Option<Instance>,
}

/// The lease, and whether there is somebody who will read it: the holder, or those who asked.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = LeaseAsked)]
pub(in crate::http) struct Asked {
    #[serde(flatten)]
    lease: LeaseView,
    /// False if nobody holds it: then it can be claimed. Of an answer: false if nobody has asked.
    told: bool,
}

/// Asks the holder to let go: they hear it live, and with their next heartbeat.
#[utoipa::path(post, path = "/v1/leases/{resource}/request-release", tag = "leases",
    params(("resource" = String, Path)), responses((status = 202, body = Asked)))]
async fn lease_request_release(
    caller: Caller,
    Path(resource): Path<Resource>,
    Json(body): Json<RequestBody>,
) -> Result<(StatusCode, Json<Asked>), Problem> {
    ask(&caller, resource, body).await
}

/// The request to let go of any lease, those of tasks too.
pub(in crate::http) async fn ask(
    caller: &Caller,
    resource: Resource,
    body: RequestBody,
) -> Result<(StatusCode, Json<Asked>), Problem> {
    let message = body.message.map(|message| text("message", message, false)).transpose()?;
    let action = Action::RequestRelease { message: message.filter(|message| !message.trim().is_empty()) };
    let (lease, outcome) = act(caller, resource, caller.holder(body.instance), action).await?;
    let told = matches!(outcome, Outcome::Asked { told: true });
    Ok((StatusCode::ACCEPTED, Json(Asked { lease, told })))
}

/// What the holder answers.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseDecline)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct DeclineBody {
    /// Which ownership.
    #[schema(value_type = i64)]
    fence: Fence,
    /// For those who asked to read.
    #[schema(max_length = 4000)]
    message: Option<String>,
    /// Which process answers, if the claim named one.
    #[schema(value_type = Option<String>, max_length = 200)]
    instance: Option<Instance>,
}

/// Answers all who have asked for it: not now. They hear it live, and see it in the lease's `requests`.
#[utoipa::path(post, path = "/v1/leases/{resource}/decline-release", tag = "leases",
    params(("resource" = String, Path)), responses((status = 200, body = Asked)))]
async fn lease_decline_release(
    caller: Caller,
    Path(resource): Path<Resource>,
    Json(body): Json<DeclineBody>,
) -> Result<Json<Asked>, Problem> {
    decline(&caller, resource, body).await.map(Json)
}

/// The answer of the holder of any lease, those of tasks too.
pub(in crate::http) async fn decline(caller: &Caller, resource: Resource, body: DeclineBody) -> Result<Asked, Problem> {
    let message = body.message.map(|message| text("message", message, false)).transpose()?;
    let action = Action::Decline { fence: body.fence, message: message.filter(|message| !message.trim().is_empty()) };
    let (lease, outcome) = act(caller, resource, caller.holder(body.instance), action).await?;
    Ok(Asked { lease, told: matches!(outcome, Outcome::Asked { told: true }) })
}

/// Who joins the waiting line, or keeps their place in it.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseTurnBody)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct TurnBody {
    /// Which process; machines must say so.
    #[schema(value_type = Option<String>, max_length = 200)]
    instance: Option<Instance>,
    /// Renews the place that the caller has, and takes no new one. Default: false.
    #[serde(default)]
    keep: bool,
}

/// Who leaves the line, for clients that send no body with DELETE.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(in crate::http) struct TurnQuery {
    /// Which process; machines must say so.
    #[param(value_type = Option<String>, max_length = 200)]
    instance: Option<Instance>,
}

/// The lease, and the caller's place in its line.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = LeaseTurn)]
pub(in crate::http) struct Turn {
    #[serde(flatten)]
    lease: LeaseView,
    /// Repeat the call before this has passed, or the place is lost.
    ticket_expires_in_ms: Option<i64>,
    /// It is free and kept for the caller: claim it now.
    offered: bool,
}

/// Takes a place in the waiting line, or keeps the one that the caller has.
#[utoipa::path(post, path = "/v1/leases/{resource}/turn", tag = "leases",
    params(("resource" = String, Path)), responses((status = 200, body = Turn)))]
async fn lease_turn(
    caller: Caller,
    Path(resource): Path<Resource>,
    Json(body): Json<TurnBody>,
) -> Result<Json<Turn>, Problem> {
    join(&caller, resource, body).await.map(Json)
}

/// A place in the line of any lease, those of tasks too.
pub(in crate::http) async fn join(caller: &Caller, resource: Resource, body: TurnBody) -> Result<Turn, Problem> {
    let action = if body.keep { Action::KeepPlace } else { Action::JoinLine };
    turn(caller, resource, body.instance, action).await
}

/// Leaves the waiting line; who is not in it stays out of it.
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

/// The end of the caller's waiting for any lease, those of tasks too.
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
