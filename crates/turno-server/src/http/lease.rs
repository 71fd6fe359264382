//! Leases over HTTP: any resource, by any name.

mod view;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use turno::LeaseAnswer;
use turno::core::id::{Fence, Instance, Resource};
use turno::core::lease::{Action, Beat, Outcome};
use turno::core::time::Span;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) use view::{LeaseView, refused};

use super::app::{App, Shared};
use super::caller::Caller;
use super::extract::{Json, Path};
use super::problem::{Code, Problem};

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(lease_get)).routes(routes!(lease_claim)).routes(routes!(lease_heartbeat))
}

/// The longest that a claim waits.
const WAIT_MAX_MS: i64 = 30_000;

/// The lease of a resource; one never seen is free.
#[utoipa::path(get, path = "/v1/leases/{resource}", tag = "leases", responses((status = 200, body = LeaseView)))]
async fn lease_get(caller: Caller, Path(resource): Path<Resource>) -> Result<Json<LeaseView>, Problem> {
    let (now, state) = caller.0.lease_state(resource).await?;
    Ok(Json(LeaseView::new(&caller, &state, now)))
}

/// What a claim says.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimBody {
    /// Which process holds it; machines must say so.
    #[schema(value_type = Option<String>, max_length = 200)]
    pub(super) instance: Option<Instance>,
    /// For how long a claim and its renewals last, within the policy's maximum.
    #[schema(minimum = 100)]
    pub(super) ttl_ms: Option<i64>,
    /// Stand in line for at most this long.
    #[schema(minimum = 0, maximum = 30000)]
    pub(super) wait_ms: Option<i64>,
}

impl ClaimBody {
    fn action(&self) -> Result<Action, Problem> {
        Ok(Action::Claim { ttl: span("ttl_ms", self.ttl_ms, i64::MAX)?, wait: false })
    }
}

/// A span of a body, not negative and within a bound.
pub(super) fn span(field: &str, ms: Option<i64>, max: i64) -> Result<Option<Span>, Problem> {
    match ms {
        Some(ms) if !(0..=max).contains(&ms) => {
            let bound = if max == i64::MAX { "0 or more".to_owned() } else { format!("between 0 and {max}") };
            Err(Problem::new(Code::BadField).field(field).cause(bound))
        }
        ms => Ok(ms.map(Span)),
    }
}

/// Takes the lease, or renews what is already one's own.
#[utoipa::path(post, path = "/v1/leases/{resource}/claim", tag = "leases", responses((status = 200, body = LeaseView)))]
async fn lease_claim(
    State(app): State<Shared>,
    caller: Caller,
    Path(resource): Path<Resource>,
    Json(body): Json<ClaimBody>,
) -> Result<Json<LeaseView>, Problem> {
    claim(&app, &caller, resource, body).await.map(Json)
}

/// The claim of any lease, those of tasks too.
pub(super) async fn claim(
    app: &App,
    caller: &Caller,
    resource: Resource,
    body: ClaimBody,
) -> Result<LeaseView, Problem> {
    if app.is_stopping() {
        return Err(Problem::new(Code::Stopping));
    }
    let action = body.action()?;
    let wait = span("wait_ms", body.wait_ms, WAIT_MAX_MS)?;
    let command = caller.0.command_of(resource, caller.holder(body.instance), action);
    let answer = match wait {
        Some(wait) if wait > Span::ZERO => caller.0.lease_wait(command, wait).await?,
        _ => caller.0.lease(command).await?,
    };
    shown(caller, answer).map(|(lease, _)| lease)
}

/// The lease after a command that was carried out, or the problem that its refusal becomes.
pub(super) fn shown(caller: &Caller, answer: LeaseAnswer) -> Result<(LeaseView, Outcome), Problem> {
    let LeaseAnswer { answer, state, now } = answer;
    match answer {
        Ok(outcome) => Ok((LeaseView::new(caller, &state, now), outcome)),
        Err(why) => Err(refused(caller, &why, &state, now)),
    }
}

/// What a heartbeat says.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HeartbeatBody {
    /// Which ownership.
    #[schema(value_type = i64)]
    pub(super) fence: Fence,
    /// For how long the person has done nothing; required where the policy has an idle guard.
    #[schema(minimum = 0)]
    pub(super) idle_ms: Option<i64>,
    /// There was real work since the last beat.
    #[serde(default)]
    pub(super) worked: bool,
    /// Which process beats, if the claim named one.
    #[schema(value_type = Option<String>, max_length = 200)]
    pub(super) instance: Option<Instance>,
}

/// The lease after a beat, and whether the beat extended it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Beaten {
    #[serde(flatten)]
    lease: LeaseView,
    renewed: bool,
    /// Why it was not: `idle` or `rolling_timeout`.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

/// Keeps the lease.
#[utoipa::path(post, path = "/v1/leases/{resource}/heartbeat", tag = "leases", responses((status = 200, body = Beaten)))]
async fn lease_heartbeat(
    caller: Caller,
    Path(resource): Path<Resource>,
    Json(body): Json<HeartbeatBody>,
) -> Result<Json<Beaten>, Problem> {
    heartbeat(&caller, resource, body).await.map(Json)
}

/// The beat of any lease, those of tasks too.
pub(super) async fn heartbeat(caller: &Caller, resource: Resource, body: HeartbeatBody) -> Result<Beaten, Problem> {
    let idle = span("idle_ms", body.idle_ms, i64::MAX)?;
    let action = Action::Heartbeat { fence: body.fence, idle, worked: body.worked };
    let command = caller.0.command_of(resource, caller.holder(body.instance), action);
    let (lease, outcome) = shown(caller, caller.0.lease(command).await?)?;
    let reason = match outcome {
        Outcome::Beat(Beat::Idle) => Some("idle"),
        Outcome::Beat(Beat::RollingTimeout) => Some("rolling_timeout"),
        _ => None,
    };
    Ok(Beaten { lease, renewed: reason.is_none(), reason })
}
