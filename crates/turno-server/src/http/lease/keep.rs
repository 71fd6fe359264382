//! What the holder of a lease does with it: heartbeat and release. Both name the ownership by its fence.

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
use crate::http::problem::{Code, Problem};
use crate::texts::message::Message;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(lease_heartbeat)).routes(routes!(lease_release))
}

/// A heartbeat.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseHeartbeat)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct HeartbeatBody {
    /// The fence of the ownership to renew.
    #[schema(value_type = i64)]
    pub(super) fence: Fence,
    /// How long the person has been inactive. Required if the policy has an idle guard.
    #[schema(minimum = 0)]
    pub(super) idle_ms: Option<i64>,
    /// True if real work was done since the last heartbeat. It restarts the rolling timeout. Default: false.
    #[serde(default)]
    pub(super) worked: bool,
    /// The process that sends the heartbeat, if the claim named one.
    #[schema(value_type = Option<String>, max_length = 200)]
    pub(super) instance: Option<Instance>,
}

impl HeartbeatBody {
    pub(super) fn action(&self) -> Result<Action, Problem> {
        let idle = span("idle_ms", self.idle_ms, i64::MAX)?;
        Ok(Action::Heartbeat { fence: self.fence, idle, worked: self.worked })
    }
}

/// The lease after a heartbeat, and whether the heartbeat extended it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = LeaseBeaten)]
pub(in crate::http) struct HeartbeatResult {
    #[serde(flatten)]
    lease: LeaseView,
    /// True if the heartbeat extended the lease.
    renewed: bool,
    /// Why the heartbeat did not extend the lease: `idle` or `rolling_timeout`.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

impl HeartbeatResult {
    pub(super) fn new((lease, outcome): (LeaseView, Outcome)) -> HeartbeatResult {
        let reason = match outcome {
            Outcome::Beat(beat) => beat.reason(),
            _ => None,
        };
        HeartbeatResult { lease, renewed: reason.is_none(), reason }
    }
}

/// Sends a heartbeat, which extends the lease.
#[utoipa::path(post, path = "/v1/leases/{resource}/heartbeat", tag = "leases",
    params(("resource" = String, Path)), responses((status = 200, body = HeartbeatResult)))]
async fn lease_heartbeat(
    caller: Caller,
    Path(resource): Path<Resource>,
    Json(body): Json<HeartbeatBody>,
) -> Result<Json<HeartbeatResult>, Problem> {
    heartbeat(&caller, resource, body).await.map(Json)
}

/// Sends a heartbeat for the lease of any resource. Task routes use it too.
pub(in crate::http) async fn heartbeat(
    caller: &Caller,
    resource: Resource,
    body: HeartbeatBody,
) -> Result<HeartbeatResult, Problem> {
    let action = body.action()?;
    act(caller, resource, caller.holder(body.instance), action).await.map(HeartbeatResult::new)
}

/// The longest grace period of a release.
const GRACE_MAX: i64 = 60_000;

/// How many releases with a grace period may have a timer at once. Beyond that, such a lease ends by its expiry.
const ENDING_MAX: usize = 1_000;

/// Added to the grace period, so that the timer ends the lease before its expiry does. If the process dies first, the
/// lease expires by itself.
const ENDING_SPARE: Span = Span(2_000);

/// A release.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseRelease)]
#[serde(deny_unknown_fields)]
pub(in crate::http) struct ReleaseBody {
    /// The fence of the ownership to end.
    #[schema(value_type = i64)]
    pub(super) fence: Fence,
    /// The `claim` number that the caller has seen. If the holder has claimed again since, the release frees nothing.
    pub(super) claim: Option<i64>,
    /// How long to keep the lease in case the holder comes back, for a page that may be reloading. Default: 0.
    #[schema(minimum = 0, maximum = 60000)]
    pub(super) grace_ms: Option<i64>,
    /// Releases the lease, but keeps it from every caller for this time, without heartbeats: for a job that may run once
    /// per period. At most `max_ttl_ms`. Default: 0.
    #[schema(minimum = 0)]
    pub(super) keep_ms: Option<i64>,
    /// The process that releases, if the claim named one.
    #[schema(value_type = Option<String>, max_length = 200)]
    pub(super) instance: Option<Instance>,
}

impl ReleaseBody {
    pub(super) fn action(&self) -> Result<Action, Problem> {
        let (fence, claim) = (self.fence, self.claim);
        let grace = span("grace_ms", self.grace_ms, GRACE_MAX)?.unwrap_or(Span::ZERO);
        let keep = span("keep_ms", self.keep_ms, i64::MAX)?.unwrap_or(Span::ZERO);
        match (grace > Span::ZERO, keep > Span::ZERO) {
            (false, false) => Ok(Action::Release { fence, claim }),
            (true, false) => Ok(Action::Leave { fence, claim, grace: Span(grace.0 + ENDING_SPARE.0) }),
            (false, true) => Ok(Action::Keep { fence, claim, keep }),
            (true, true) => {
                Err(Problem::new(Code::BadField).field("keep_ms").cause(Message::new("error-keep-and-grace")))
            }
        }
    }
}

/// The lease after a release, and whether the release freed it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = LeaseReleased)]
pub(in crate::http) struct Released {
    #[serde(flatten)]
    lease: LeaseView,
    /// True if the caller's ownership is over. With `keep_ms` the lease stays held nevertheless. False if the same holder
    /// has claimed again since, or if `grace_ms` keeps the lease.
    released: bool,
    /// True if this ownership had already been released.
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

/// Releases the lease.
#[utoipa::path(post, path = "/v1/leases/{resource}/release", tag = "leases",
    params(("resource" = String, Path)), responses((status = 200, body = Released)))]
async fn lease_release(
    caller: Caller,
    Path(resource): Path<Resource>,
    Json(body): Json<ReleaseBody>,
) -> Result<Json<Released>, Problem> {
    release(&caller, resource, body).await.map(Json)
}

/// Releases the lease of any resource. Task routes use it too.
pub(in crate::http) async fn release(
    caller: &Caller,
    resource: Resource,
    body: ReleaseBody,
) -> Result<Released, Problem> {
    let action = body.action()?;
    let who = caller.holder(body.instance);
    let released = act(caller, resource.clone(), who.clone(), action.clone()).await?;
    if let Action::Leave { fence, claim, grace } = action {
        let end = Action::Leave { fence, claim, grace: Span::ZERO };
        end_later(caller.clone(), resource, who, end, Span(grace.0 - ENDING_SPARE.0));
    }
    Ok(Released::new(released))
}

/// Ends a lease after its grace period, so that waiting callers hear of it at once. It is not needed for correctness,
/// because the lease expires by itself a moment later.
fn end_later(caller: Caller, resource: Resource, who: Holder, end: Action, grace: Span) {
    static ROOM: Semaphore = Semaphore::const_new(ENDING_MAX);
    let Ok(room) = ROOM.try_acquire() else { return };
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(u64::try_from(grace.0).unwrap_or_default())).await;
        drop(act(&caller, resource, who, end).await);
        drop(room);
    });
}
