//! Overrides: ending or taking a lease that another caller holds. Each needs a reason and is audited.

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

/// An override of a lease.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseForce)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct ForceBody {
    /// The reason, shown to the holder who loses the lease and in the audit.
    #[schema(min_length = 1, max_length = 4000)]
    reason: String,
    /// The fence of the ownership to override. If another ownership is live by then, nothing changes and the answer is
    /// 409 `lease_held` with its holder.
    #[schema(value_type = Option<i64>)]
    fence: Option<Fence>,
    /// The process that will hold the lease. Required for machine accounts.
    #[schema(value_type = Option<String>, max_length = 200)]
    instance: Option<Instance>,
}

/// Takes the lease from its holder, past the waiting line.
#[utoipa::path(post, path = "/v1/leases/{resource}/force-claim", tag = "leases",
    params(("resource" = String, Path)), responses((status = 200, body = LeaseView)))]
async fn lease_force_claim(
    caller: Caller,
    Path(resource): Path<Resource>,
    Json(body): Json<ForceBody>,
) -> Result<Json<LeaseView>, Problem> {
    force_claim(&caller, resource, body).await.map(Json)
}

/// Force-claims any lease. Task routes use it too.
pub(in crate::http) async fn force_claim(
    caller: &Caller,
    resource: Resource,
    body: ForceBody,
) -> Result<LeaseView, Problem> {
    let action = Action::ForceClaim { reason: text("reason", body.reason, true)?, fence: body.fence };
    act(caller, resource.for_creation()?, caller.holder(body.instance), action).await.map(|(lease, _)| lease)
}

/// Ends the lease of its holder. A free lease stays free.
#[utoipa::path(post, path = "/v1/leases/{resource}/force-release", tag = "leases",
    params(("resource" = String, Path)), responses((status = 200, body = LeaseView)))]
async fn lease_force_release(
    caller: Caller,
    Path(resource): Path<Resource>,
    Json(body): Json<ForceBody>,
) -> Result<Json<LeaseView>, Problem> {
    force_release(&caller, resource, body).await.map(Json)
}

/// Force-releases any lease. Task routes use it too.
pub(in crate::http) async fn force_release(
    caller: &Caller,
    resource: Resource,
    body: ForceBody,
) -> Result<LeaseView, Problem> {
    let action = Action::ForceRelease { reason: text("reason", body.reason, true)?, fence: body.fence };
    act(caller, resource, caller.holder(body.instance), action).await.map(|(lease, _)| lease)
}
