//! `PUT /v1/queues/{queue}`: a queue is made, or its policy changed.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, header};
use serde::Serialize;
use turno::core::id::QueueName;
use turno::core::queue::{BadPolicy, Kind, OnExhausted, Policy};
use turno::store::{PushChange, PutQueue, StoreError};
use turno::{Error, Turno};

use super::overview::tag;
use crate::config::endpoint::{Endpoint, EndpointFields};
use crate::config::queue::{BadField, QueueFields};
use crate::http::app::Shared;
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path};
use crate::http::problem::{Code, Problem};
use crate::http::task::if_match;

/// The policy in force: what was given, and for the rest what follows from the kind.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueuePolicy)]
pub(super) struct PolicyView {
    /// `lane`: per key in order; `inbox`: each item on its own; `sync`: per key only the newest.
    #[schema(value_type = String, example = "lane")]
    kind: Kind,
    /// How long a hand-out lasts without a heartbeat.
    lock_timeout_ms: i64,
    /// How long it lasts at most, whatever the heartbeats.
    max_hold_ms: Option<i64>,
    window_ms: i64,
    typing_extension_ms: i64,
    max_wait_ms: i64,
    batch_max: u32,
    max_attempts: u32,
    backoff_ms: i64,
    retention_s: i64,
    /// What an exhausted head does to its lane: `continue` or `hold`.
    #[schema(value_type = String, example = "continue")]
    on_exhausted: OnExhausted,
}

impl From<&Policy> for PolicyView {
    fn from(policy: &Policy) -> PolicyView {
        PolicyView {
            kind: policy.kind,
            lock_timeout_ms: policy.lock_timeout.0,
            max_hold_ms: policy.max_hold.map(|hold| hold.0),
            window_ms: policy.window.0,
            typing_extension_ms: policy.typing_extension.0,
            max_wait_ms: policy.max_wait.0,
            batch_max: policy.batch_max,
            max_attempts: policy.max_attempts,
            backoff_ms: policy.backoff.0,
            retention_s: policy.retention.0 / 1_000,
            on_exhausted: policy.on_exhausted,
        }
    }
}

/// A queue with its policy.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueMade)]
pub(super) struct QueuePut {
    name: String,
    #[serde(flatten)]
    policy: PolicyView,
    /// Where its deliveries are sent, beside what workers claim; null if they only claim.
    push: Option<PushView>,
}

/// Where the deliveries of a queue are sent.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueuePush)]
pub(super) struct PushView {
    /// Without what stands behind its question mark, which may be secret.
    url: String,
    method: &'static str,
    timeout_ms: u64,
    /// The server's variable with the secret that signs calls; null if they are unsigned.
    secret_env: Option<String>,
    concurrency: usize,
    probe_ms: i64,
}

impl From<&Endpoint> for PushView {
    fn from(endpoint: &Endpoint) -> PushView {
        PushView {
            url: endpoint.shown_url(),
            method: endpoint.method,
            timeout_ms: u64::try_from(endpoint.timeout.as_millis()).unwrap_or(u64::MAX),
            secret_env: endpoint.secret_env.clone(),
            concurrency: endpoint.concurrency,
            probe_ms: endpoint.probe.0,
        }
    }
}

/// Makes the queue, or changes its policy; what is left out follows from the kind, except `push`, which then stays as it
/// is and ends with null. Every kind accepts every field: `window_ms`, `typing_extension_ms`, `max_wait_ms` and `batch_max`
/// are kept and shown, and have no effect unless it is a lane.
///
/// With `If-Match`, or `If-None-Match: *` where there was none, it changes nothing that another has changed since it was read
/// (`queue_changed`).
#[utoipa::path(put, path = "/v1/queues/{queue}", tag = "queues",
    params(
        ("queue" = String, Path),
        ("If-Match" = Option<String>, Header, description = "The queue's `ETag`, which is its `version` in quotes"),
        ("If-None-Match" = Option<String>, Header, description = "`*`: only if there is no such queue yet"),
    ),
    responses((status = 200, description = "The policy in force", body = QueuePut)))]
pub(super) async fn queue_put(
    State(app): State<Shared>,
    caller: Caller,
    headers: HeaderMap,
    Path(name): Path<QueueName>,
    Json(fields): Json<QueueFields>,
) -> Result<([(HeaderName, String); 1], Json<QueuePut>), Problem> {
    let changed = || Problem::new(Code::QueueChanged).arg("queue", &name);
    let seen = seen(&headers).map_err(|NoVersion| changed())?;
    let policy = fields.policy()?;
    let push = match &fields.push {
        Some(Some(push)) => {
            let push = push.clone().unhidden(kept(&app, &name).await?.as_ref());
            PushChange::Set(app.deliveries.admit(&push, &policy)?)
        }
        Some(None) => PushChange::Remove,
        None => PushChange::Keep,
    };
    if app.managed_queues.contains(&name) {
        return Err(Problem::new(Code::ManagedByConfig).arg("thing", &name));
    }
    if push == PushChange::Keep {
        fits(&app, &name, &policy).await?;
    }
    let is_new = matches!(push, PushChange::Set(_));
    let kind = policy.kind;
    match caller.0.change_queue(PutQueue { name: name.clone(), policy, push, seen }).await {
        Ok(true) => {}
        Ok(false) => return Err(changed()),
        Err(error) => return Err(refused(&caller.0, name, kind, error).await),
    }
    let row = caller.0.queue(name.clone()).await?.row().await?;
    if is_new {
        // Whoever sets an endpoint wants to know now whether it works, whatever was known against it.
        app.trusted().queue(name).await?.destination_replaced().await?;
    }
    app.deliveries.look();
    let push = app.deliveries.endpoint(&row).as_ref().map(PushView::from);
    let put = QueuePut { name: row.name.to_string(), policy: (&row.policy).into(), push };
    Ok((tag(row.version), Json(put)))
}

/// What is in a header names no version that a queue ever had.
struct NoVersion;

/// Which version the caller has seen, if they say so; 0 is none.
fn seen(headers: &HeaderMap) -> Result<Option<i64>, NoVersion> {
    if headers.get(header::IF_NONE_MATCH).is_some_and(|tag| tag == "*") {
        return Ok(Some(0));
    }
    let version = |tag: &str| tag.parse().ok().filter(|version| *version > 0).ok_or(NoVersion);
    if_match(headers).map(version).transpose()
}

/// Where the queue is pushed so far.
async fn kept(app: &Shared, name: &QueueName) -> Result<Option<EndpointFields>, Problem> {
    let rows = app.trusted().queues().await?;
    let kept = rows.iter().find(|row| row.name == *name).and_then(|row| row.push.as_deref());
    Ok(kept.and_then(|text| serde_json::from_str(text).ok()))
}

/// A push that stays must go with the new policy.
async fn fits(app: &Shared, name: &QueueName, policy: &Policy) -> Result<(), Problem> {
    kept(app, name).await?.map(|fields| fields.push(policy)).transpose()?;
    Ok(())
}

/// A store refuses a policy for one reason: the queue is of another kind and has work.
async fn refused(turno: &Turno, name: QueueName, wanted: Kind, error: Error) -> Problem {
    if let Error::Store(StoreError::Rejected(_)) = &error {
        let rows = turno.queues().await.unwrap_or_default();
        if let Some(row) = rows.iter().find(|row| row.name == name && row.policy.kind != wanted) {
            return Problem::new(Code::KindFixed).field("kind").with("kind", row.policy.kind);
        }
    }
    error.into()
}

impl From<BadPolicy> for Problem {
    fn from(bad: BadPolicy) -> Problem {
        BadField::from(bad).into()
    }
}

impl From<BadField> for Problem {
    fn from(bad: BadField) -> Problem {
        Problem::new(Code::BadField).field(&bad.field).cause(format_args!("{}; {}", bad.cause, bad.next))
    }
}
