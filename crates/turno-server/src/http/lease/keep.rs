//! Keeping a lease and giving it back: what its holder does, with the fence that names the ownership.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use turno::core::id::{Fence, Instance, Resource};
use turno::core::lease::{Action, Holder, Outcome};
use turno::core::time::Span;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{LeaseView, act, span};
use crate::http::app::Shared;
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path};
use crate::http::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(lease_heartbeat)).routes(routes!(lease_release))
}

/// What a heartbeat says.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseHeartbeat)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct HeartbeatBody {
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

impl HeartbeatBody {
    pub(super) fn action(&self) -> Result<Action, Problem> {
        let idle = span("idle_ms", self.idle_ms, i64::MAX)?;
        Ok(Action::Heartbeat { fence: self.fence, idle, worked: self.worked })
    }
}

/// The lease after a beat, and whether the beat extended it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = LeaseBeaten)]
pub(in crate::http) struct Beaten {
    #[serde(flatten)]
    lease: LeaseView,
    renewed: bool,
    /// Why it was not: `idle` or `rolling_timeout`.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

impl Beaten {
    pub(super) fn new((lease, outcome): (LeaseView, Outcome)) -> Beaten {
        let reason = match outcome {
            Outcome::Beat(beat) => beat.reason(),
            _ => None,
        };
        Beaten { lease, renewed: reason.is_none(), reason }
    }
}

/// Keeps the lease.
#[utoipa::path(post, path = "/v1/leases/{resource}/heartbeat", tag = "leases",
    params(("resource" = String, Path)), responses((status = 200, body = Beaten)))]
async fn lease_heartbeat(
    caller: Caller,
    Path(resource): Path<Resource>,
    Json(body): Json<HeartbeatBody>,
) -> Result<Json<Beaten>, Problem> {
    heartbeat(&caller, resource, body).await.map(Json)
}

/// The beat of any lease, those of tasks too.
pub(in crate::http) async fn heartbeat(
    caller: &Caller,
    resource: Resource,
    body: HeartbeatBody,
) -> Result<Beaten, Problem> {
    let action = body.action()?;
    act(caller, resource, caller.holder(body.instance), action).await.map(Beaten::new)
}

/// The longest that a page that is being left may keep others waiting.
const GRACE_MAX: i64 = 60_000;

/// Leases that are looked after at once; of more, whoever asks next finds the end.
const ENDING_MAX: usize = 1_000;

/// What a release says.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseRelease)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct ReleaseBody {
    /// Which ownership.
    #[schema(value_type = i64)]
    pub(super) fence: Fence,
    /// As of which claim call; an older one frees nothing.
    pub(super) claim: Option<i64>,
    /// Keep it for so long, in case its holder comes back: for a page that is being left and may be reloaded.
    #[schema(minimum = 0, maximum = 60000)]
    pub(super) grace_ms: Option<i64>,
    /// Which process releases, if the claim named one.
    #[schema(value_type = Option<String>, max_length = 200)]
    pub(super) instance: Option<Instance>,
}

impl ReleaseBody {
    pub(super) fn action(&self) -> Result<Action, Problem> {
        let (fence, claim) = (self.fence, self.claim);
        Ok(match span("grace_ms", self.grace_ms, GRACE_MAX)? {
            Some(grace) => Action::Leave { fence, claim, grace },
            None => Action::Release { fence, claim },
        })
    }
}

/// The lease after a release, and whether the release freed it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = LeaseReleased)]
pub(in crate::http) struct Released {
    #[serde(flatten)]
    lease: LeaseView,
    /// False if a newer claim of the same holder keeps it, or `grace_ms` does.
    released: bool,
    /// The same release had already happened.
    repeated: bool,
}

impl Released {
    pub(super) fn new((lease, outcome): (LeaseView, Outcome)) -> Released {
        let (released, repeated) = match outcome {
            Outcome::Released { released, repeated } => (released, repeated),
            _ => (false, false),
        };
        Released { lease, released, repeated }
    }
}

/// Gives the lease back.
#[utoipa::path(post, path = "/v1/leases/{resource}/release", tag = "leases",
    params(("resource" = String, Path)), responses((status = 200, body = Released)))]
async fn lease_release(
    caller: Caller,
    Path(resource): Path<Resource>,
    Json(body): Json<ReleaseBody>,
) -> Result<Json<Released>, Problem> {
    release(&caller, resource, body).await.map(Json)
}

/// The release of any lease, those of tasks too.
pub(in crate::http) async fn release(
    caller: &Caller,
    resource: Resource,
    body: ReleaseBody,
) -> Result<Released, Problem> {
    let action = body.action()?;
    let who = caller.holder(body.instance);
    let released = act(caller, resource.clone(), who.clone(), action.clone()).await?;
    if let Action::Leave { grace, .. } = action {
        end_later(caller.clone(), resource, who, grace);
    }
    Ok(Released::new(released))
}

/// Looks after a lease whose page was left, so that whoever waits hears of its end. Nothing depends on it: it has ended
/// by then, whether somebody looks or not.
fn end_later(caller: Caller, resource: Resource, who: Holder, grace: Span) {
    static ROOM: Semaphore = Semaphore::const_new(ENDING_MAX);
    let Ok(room) = ROOM.try_acquire() else { return };
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(u64::try_from(grace.0).unwrap_or_default() + 1)).await;
        // Any command ends what has expired; this one does nothing else to somebody who does not wait.
        drop(act(&caller, resource, who, Action::LeaveLine).await);
        drop(room);
    });
}
