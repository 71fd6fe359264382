//! `PUT /v1/queues/{queue}`: creates a queue or changes its policy.

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, header};
use serde::Serialize;
use turno::Error;
use turno::core::id::QueueName;
use turno::core::queue::{BadPolicy, Kind, OnExhausted, Policy};
use turno::store::{PushChange, PutQueue, StoreError};

use super::overview::etag;
use crate::config::endpoint::{Endpoint, EndpointFields};
use crate::config::queue::{BadField, QueueFields};
use crate::http::app::Shared;
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path};
use crate::http::problem::{Code, Problem};
use crate::http::task::if_match;

/// The policy in force: the given fields, and the defaults of the kind for the others.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueuePolicy)]
pub(super) struct PolicyView {
    /// `lane`: in order per key. `inbox`: each item on its own. `sync`: only the newest change per key.
    #[schema(value_type = String, example = "lane")]
    kind: Kind,
    /// How long a delivery lasts without a heartbeat.
    lock_timeout_ms: i64,
    /// How long a delivery lasts at most, regardless of heartbeats.
    max_hold_ms: Option<i64>,
    /// Items of a key that arrive within this time of each other are handed out as one group.
    window_ms: i64,
    /// How much longer a typing signal keeps the window open.
    typing_extension_ms: i64,
    /// The longest that a window stays open.
    max_wait_ms: i64,
    /// The most items in one group.
    batch_max: u32,
    /// How many attempts an item has before it is exhausted.
    max_attempts: u32,
    /// The wait before the first retry. It doubles with each attempt, up to a maximum.
    backoff_ms: i64,
    /// How long processed and cancelled items are kept.
    retention_s: i64,
    /// What a lane does after an exhausted item: `continue` or `hold`.
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
    /// The queue's name.
    name: String,
    #[serde(flatten)]
    policy: PolicyView,
    /// The endpoint that deliveries are sent to. Null if workers claim them.
    push: Option<PushView>,
}

/// The endpoint of a queue's deliveries.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueuePush)]
pub(super) struct PushView {
    /// The URL without its query, which may hold secrets.
    url: String,
    /// The HTTP method of a call.
    method: &'static str,
    /// The time limit of a call.
    timeout_ms: u64,
    /// The server's environment variable with the signing secret. Null if calls are not signed.
    secret_env: Option<String>,
    /// The most calls at once, per server.
    concurrency: usize,
    /// How often a destination that is down is probed.
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

/// Creates the queue, or changes its policy.
///
/// Omitted fields get the default of the kind, except `push`: omitted it stays as it is, and null removes it. Every
/// kind accepts every field, but `window_ms`, `typing_extension_ms`, `max_wait_ms` and `batch_max` have an effect only
/// in a lane.
///
/// With `If-Match`, or with `If-None-Match: *` for a new queue, the call changes nothing and answers `queue_changed` if
/// the queue has changed since you read it.
#[utoipa::path(put, path = "/v1/queues/{queue}", tag = "queues",
    params(
        ("queue" = String, Path),
        ("If-Match" = Option<String>, Header, description = "The queue's `ETag`, which is its `version` in quotes"),
        ("If-None-Match" = Option<String>, Header, description = "`*`: create the queue only if it does not exist"),
    ),
    responses((status = 200, description = "The policy in force", body = QueuePut)))]
pub(super) async fn queue_put(
    State(app): State<Shared>,
    caller: Caller,
    headers: HeaderMap,
    Path(name): Path<QueueName>,
    Json(fields): Json<QueueFields>,
) -> Result<([(HeaderName, String); 1], Json<QueuePut>), Problem> {
    // A stored queue keeps its name.
    if let Err(bad) = name.clone().for_creation()
        && app.trusted().queue(name.clone()).await.is_err()
    {
        return Err(bad.into());
    }
    let changed = || Problem::new(Code::QueueChanged).arg("queue", &name);
    let seen = expected_version(&headers).map_err(|BadVersion| changed())?;
    let policy = fields.policy()?;
    let push = match &fields.push {
        Some(Some(push)) => {
            let push = push.clone().unhidden(stored_push(&app, &name).await?.as_ref());
            PushChange::Set(app.deliveries.admit(&push, &policy)?)
        }
        Some(None) => PushChange::Remove,
        None => PushChange::Keep,
    };
    if app.managed_queues.contains(&name) {
        return Err(Problem::new(Code::ManagedByConfig).arg("thing", &name));
    }
    if push == PushChange::Keep {
        check_stored_push(&app, &name, &policy).await?;
    }
    let is_new = matches!(push, PushChange::Set(_));
    match caller.0.change_queue(PutQueue { name: name.clone(), policy, push, seen }).await {
        Ok(true) => {}
        Ok(false) => return Err(changed()),
        Err(error) => return Err(refusal_problem(error)),
    }
    let row = caller.0.queue(name.clone()).await?.row().await?;
    if is_new {
        // A new endpoint is tried at once. Earlier failures of the old one do not count against it.
        app.trusted().queue(name).await?.destination_replaced().await?;
    }
    app.deliveries.wake();
    let push = app.deliveries.endpoint(&row).as_ref().map(PushView::from);
    let put = QueuePut { name: row.name.to_string(), policy: (&row.policy).into(), push };
    Ok((etag(row.version), Json(put)))
}

/// The header holds no valid version.
struct BadVersion;

/// Returns the version that the caller expects, if a header names one. 0 means that the queue must not exist.
fn expected_version(headers: &HeaderMap) -> Result<Option<i64>, BadVersion> {
    if headers.get(header::IF_NONE_MATCH).is_some_and(|tag| tag == "*") {
        return Ok(Some(0));
    }
    let version = |tag: &str| tag.parse().ok().filter(|version| *version > 0).ok_or(BadVersion);
    if_match(headers).map(version).transpose()
}

/// Returns the endpoint that is stored with the queue.
async fn stored_push(app: &Shared, name: &QueueName) -> Result<Option<EndpointFields>, Problem> {
    let rows = app.trusted().queues().await?;
    let kept = rows.iter().find(|row| row.name == *name).and_then(|row| row.push.as_deref());
    Ok(kept.and_then(|text| serde_json::from_str(text).ok()))
}

/// Refuses a policy that does not fit the stored endpoint.
async fn check_stored_push(app: &Shared, name: &QueueName, policy: &Policy) -> Result<(), Problem> {
    stored_push(app, name).await?.map(|fields| fields.push(policy)).transpose()?;
    Ok(())
}

/// Converts a store's error.
fn refusal_problem(error: Error) -> Problem {
    match error {
        Error::Store(StoreError::KindStays { kind, .. }) => {
            Problem::new(Code::KindFixed).field("kind").with("kind", kind)
        }
        error => error.into(),
    }
}

impl From<BadPolicy> for Problem {
    fn from(bad: BadPolicy) -> Problem {
        BadField::from(bad).into()
    }
}

impl From<BadField> for Problem {
    fn from(bad: BadField) -> Problem {
        Problem::new(Code::BadField).field(&bad.field).cause(bad.message())
    }
}
