//! Ending or taking what somebody else holds. It needs a reason, and is audited.

use serde::Deserialize;
use turno::core::id::{Fence, Instance, Resource};
use turno::core::lease::Action;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{LeaseView, act, text};
use crate::http::app::Shared;
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path};
use crate::http::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(lease_force_claim)).routes(routes!(lease_force_release))
}

/// What an override says.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseForce)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct ForceBody {
    /// Why, for whoever loses it and whoever reads the audit.
    #[schema(min_length = 1, max_length = 4000)]
    reason: String,
    /// The ownership it is meant for. If another one is live by then, it is left alone: 409 `lease_held` says whose.
    #[schema(value_type = Option<i64>)]
    fence: Option<Fence>,
    /// Which process will hold it; machines must say so.
    #[schema(value_type = Option<String>, max_length = 200)]
    instance: Option<Instance>,
}

/// Takes the lease whoever holds it, past the waiting line.
#[utoipa::path(post, path = "/v1/leases/{resource}/force-claim", tag = "leases",
    params(("resource" = String, Path)), responses((status = 200, body = LeaseView)))]
async fn lease_force_claim(
    caller: Caller,
    Path(resource): Path<Resource>,
    Json(body): Json<ForceBody>,
) -> Result<Json<LeaseView>, Problem> {
    force_claim(&caller, resource, body).await.map(Json)
}

/// The forced claim of any lease, those of tasks too.
pub(in crate::http) async fn force_claim(
    caller: &Caller,
    resource: Resource,
    body: ForceBody,
) -> Result<LeaseView, Problem> {
    let action = Action::ForceClaim { reason: text("reason", body.reason, true)?, fence: body.fence };
    act(caller, resource, caller.holder(body.instance), action).await.map(|(lease, _)| lease)
}

/// Frees the lease whoever holds it; one that is free stays free.
#[utoipa::path(post, path = "/v1/leases/{resource}/force-release", tag = "leases",
    params(("resource" = String, Path)), responses((status = 200, body = LeaseView)))]
async fn lease_force_release(
    caller: Caller,
    Path(resource): Path<Resource>,
    Json(body): Json<ForceBody>,
) -> Result<Json<LeaseView>, Problem> {
    force_release(&caller, resource, body).await.map(Json)
}

/// The forced release of any lease, those of tasks too.
pub(in crate::http) async fn force_release(
    caller: &Caller,
    resource: Resource,
    body: ForceBody,
) -> Result<LeaseView, Problem> {
    let action = Action::ForceRelease { reason: text("reason", body.reason, true)?, fence: body.fence };
    act(caller, resource, caller.holder(body.instance), action).await.map(|(lease, _)| lease)
}
