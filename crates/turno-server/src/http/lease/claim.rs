//! Claiming a lease.

use axum::extract::State;
use serde::Deserialize;
use turno::core::id::{Instance, Resource};
use turno::core::lease::{Action, Command};
use turno::core::time::Span;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{LeaseView, span, to_view, wait};
use crate::http::app::Shared;
use crate::http::caller::Caller;
use crate::http::callers::LeasePlaces;
use crate::http::extract::{Json, Path};
use crate::http::problem::{Code, Problem};

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(lease_claim))
}

/// The longest that a claim may wait in line.
const WAIT_MAX_MS: i64 = 30_000;

/// A claim of a lease.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseClaim)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct ClaimBody {
    /// The process that will hold the lease. Required for machine accounts.
    #[schema(value_type = Option<String>, max_length = 200)]
    pub(super) instance: Option<Instance>,
    /// How long the claim and its renewals last, up to the policy's maximum. Default: the policy's `ttl_ms`.
    #[schema(minimum = 100)]
    pub(super) ttl_ms: Option<i64>,
    /// How long to wait in line if the lease is held. Default: 0, which does not wait.
    #[schema(minimum = 0, maximum = 30000)]
    pub(super) wait_ms: Option<i64>,
}

impl ClaimBody {
    /// Returns the command, and how long to wait if the lease is held.
    pub(super) fn command(self, caller: &Caller, resource: Resource) -> Result<(Command, Option<Span>), Problem> {
        let action = Action::Claim { ttl: span("ttl_ms", self.ttl_ms, i64::MAX)?, wait: false };
        let wait = span("wait_ms", self.wait_ms, WAIT_MAX_MS)?.filter(|wait| *wait > Span::ZERO);
        Ok((caller.0.command_of(resource, caller.holder(self.instance), action), wait))
    }
}

/// Claims the lease, or renews it if the caller already holds it.
#[utoipa::path(post, path = "/v1/leases/{resource}/claim", tag = "leases",
    params(("resource" = String, Path)), responses((status = 200, body = LeaseView)))]
async fn lease_claim(
    State(app): State<Shared>,
    caller: Caller,
    Path(resource): Path<Resource>,
    Json(body): Json<ClaimBody>,
) -> Result<Json<LeaseView>, Problem> {
    claim(&app, &caller, resource, body).await.map(Json)
}

/// Claims the lease of any resource. Task routes use it too.
pub(in crate::http) async fn claim(
    app: &Shared,
    caller: &Caller,
    resource: Resource,
    body: ClaimBody,
) -> Result<LeaseView, Problem> {
    if app.is_stopping() {
        return Err(Problem::new(Code::Stopping));
    }
    let (command, wait) = body.command(caller, resource.for_creation()?)?;
    let (_places, fits) = caller.lease_places(app, std::iter::once(&command.resource));
    if fits != [true] {
        return Err(LeasePlaces::refusal());
    }
    let who = command.who.clone();
    let answer = match wait {
        Some(wait) => wait::wait(app, caller, command, wait).await?,
        None => caller.0.lease_command(command).await?,
    };
    to_view(caller, &who, Ok(answer)).await.map(|(lease, _)| lease)
}
