//! `PUT /v1/queues/{queue}`: a queue is made, or its policy changed.

use axum::extract::State;
use serde::Serialize;
use turno::core::id::QueueName;
use turno::core::queue::{Kind, OnExhausted, Policy};
use turno::store::StoreError;
use turno::{Error, Turno};

use crate::config::queue::{BadField, QueueFields};
use crate::http::app::Shared;
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path};
use crate::http::problem::{Code, Problem};

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
}

/// Makes the queue, or changes its policy; what is left out follows from the kind.
#[utoipa::path(put, path = "/v1/queues/{queue}", tag = "queues", params(("queue" = String, Path)),
    responses((status = 200, description = "The policy in force", body = QueuePut)))]
pub(super) async fn queue_put(
    State(app): State<Shared>,
    caller: Caller,
    Path(name): Path<QueueName>,
    Json(fields): Json<QueueFields>,
) -> Result<Json<QueuePut>, Problem> {
    let policy = fields.policy()?;
    if fields.push.is_some() {
        let cause = "deliveries are not pushed to endpoints that are set over the API; let a worker claim them";
        return Err(Problem::new(Code::BadField).field("push").cause(cause));
    }
    if app.managed_queues.contains(&name) {
        return Err(Problem::new(Code::ManagedByConfig).arg("thing", &name));
    }
    match caller.0.put_queue(name.clone(), policy.clone()).await {
        Ok(_) => Ok(Json(QueuePut { name: name.to_string(), policy: (&policy).into() })),
        Err(error) => Err(refused(&caller.0, name, policy.kind, error).await),
    }
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

impl From<BadField> for Problem {
    fn from(bad: BadField) -> Problem {
        Problem::new(Code::BadField).field(&bad.field).cause(format_args!("{}; {}", bad.cause, bad.next))
    }
}
