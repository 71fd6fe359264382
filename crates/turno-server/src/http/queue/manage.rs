//! What people do to items and queues: retry, cancel, pause, resume, purge. All of it is audited.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use turno::core::id::{ItemId, Key, QueueName};
use turno::core::queue::ManageRefused;
use turno::core::time::Time;
use turno::store::ManageOutcome;
use turno::{Exhausted, QueueHandle};

use super::look::{self, ItemView};
use super::overview::{self, QueueView};
use crate::http::app::Shared;
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path};
use crate::http::lease::span;
use crate::http::problem::{Code, Problem};

/// Exhausted items sent round again by one call, so that it ends.
const RETRY_MAX: u32 = 10_000;

/// How an item goes round again.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[schema(as = QueueItemRetry)]
#[serde(deny_unknown_fields)]
pub(super) struct RetryBody {
    /// Another payload from now on; kept as it comes.
    #[schema(value_type = Option<serde_json::Value>)]
    #[serde(default, deserialize_with = "given")]
    payload: Option<Box<RawValue>>,
}

/// `null` is a payload like any other; only an absent one is none.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

/// Sends an exhausted or failed item round again, in its place; with `payload`, corrected.
#[utoipa::path(post, path = "/v1/queues/{queue}/items/{id}/retry", tag = "queues",
    params(("queue" = String, Path), ("id" = String, Path)), responses((status = 200, body = ItemView)))]
pub(super) async fn item_retry(
    State(app): State<Shared>,
    caller: Caller,
    Path((name, id)): Path<(QueueName, ItemId)>,
    Json(body): Json<RetryBody>,
) -> Result<Json<ItemView>, Problem> {
    let queue = super::known(&caller, name.clone()).await?;
    let outcome = match body.payload {
        Some(payload) => {
            super::payload_may_change(&app, &name).await?;
            queue.retry_with(id.clone(), payload.get()).await?
        }
        None => queue.retry(id.clone()).await?,
    };
    managed(&queue, id, outcome).await
}

/// Nothing to be said.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[schema(as = QueueNothing)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// Takes a waiting item out.
#[utoipa::path(post, path = "/v1/queues/{queue}/items/{id}/cancel", tag = "queues",
    params(("queue" = String, Path), ("id" = String, Path)), responses((status = 200, body = ItemView)))]
pub(super) async fn item_cancel(
    caller: Caller,
    Path((name, id)): Path<(QueueName, ItemId)>,
    Json(_nothing): Json<Nothing>,
) -> Result<Json<ItemView>, Problem> {
    let queue = super::known(&caller, name).await?;
    let outcome = queue.cancel(id.clone()).await?;
    managed(&queue, id, outcome).await
}

/// The item afterwards, or why it could not be done.
async fn managed(queue: &QueueHandle, id: ItemId, outcome: ManageOutcome) -> Result<Json<ItemView>, Problem> {
    refused(queue, &id, outcome).await?;
    look::seen(queue, id).await.map(Json)
}

/// Why it could not be done, if it could not.
pub(crate) async fn refused(queue: &QueueHandle, id: &ItemId, outcome: ManageOutcome) -> Result<(), Problem> {
    match outcome {
        Ok(_) => Ok(()),
        Err(ManageRefused::Unknown) => Err(look::unknown(id)),
        Err(refused) => {
            let state = match queue.item(id.clone()).await? {
                Some(record) => record.state(record.now).as_str(),
                None => return Err(look::unknown(id)),
            };
            // It may have moved on since; what counted is said by the refusal itself.
            let (state, said) = match refused {
                ManageRefused::InProcess => ("in_process", "in_process"),
                ManageRefused::Changing => ("pending", "changing"),
                _ => (state, state),
            };
            let problem = Problem::new(Code::WrongState).arg("id", id).arg("state", said).with("state", state);
            Err(if said == "changing" { problem.with("reason", "older_in_process") } else { problem })
        }
    }
}

/// Stops hand-outs; what is in process goes on.
#[utoipa::path(post, path = "/v1/queues/{queue}/pause", tag = "queues", params(("queue" = String, Path)),
    responses((status = 200, body = QueueView)))]
pub(super) async fn queue_pause(
    State(app): State<Shared>,
    caller: Caller,
    Path(name): Path<QueueName>,
    Json(_nothing): Json<Nothing>,
) -> Result<Json<QueueView>, Problem> {
    super::known(&caller, name.clone()).await?.pause().await?;
    overview::seen(&app, &caller, name).await.map(Json)
}

/// Resumes hand-outs.
#[utoipa::path(post, path = "/v1/queues/{queue}/resume", tag = "queues", params(("queue" = String, Path)),
    responses((status = 200, body = QueueView)))]
pub(super) async fn queue_resume(
    State(app): State<Shared>,
    caller: Caller,
    Path(name): Path<QueueName>,
    Json(_nothing): Json<Nothing>,
) -> Result<Json<QueueView>, Problem> {
    super::known(&caller, name.clone()).await?.resume().await?;
    overview::seen(&app, &caller, name).await.map(Json)
}

/// Which exhausted items: those that meet all that is said.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[schema(as = QueueRetryExhausted)]
#[serde(deny_unknown_fields)]
pub(super) struct ExhaustedBody {
    /// Only of this key.
    #[schema(value_type = Option<String>, max_length = 200)]
    key: Option<Key>,
    /// Only those whose last error contains this.
    error: Option<String>,
    /// Only what was exhausted within the last so many milliseconds.
    #[schema(minimum = 0)]
    within_ms: Option<i64>,
    /// Only count them.
    #[serde(default)]
    dry_run: bool,
}

/// How many went round again, or would.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueRetried)]
pub(super) struct Retried {
    retried: u64,
    /// Of a dry run: how many match, at most 10,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    matching: Option<u64>,
}

/// Sends all exhausted items round again, or those that match, at most 10,000 at once; with `dry_run`, only counts them.
#[utoipa::path(post, path = "/v1/queues/{queue}/retry-exhausted", tag = "queues", params(("queue" = String, Path)),
    responses((status = 200, body = Retried)))]
pub(super) async fn queue_retry_exhausted(
    caller: Caller,
    Path(name): Path<QueueName>,
    Json(body): Json<ExhaustedBody>,
) -> Result<Json<Retried>, Problem> {
    let queue = super::known(&caller, name).await?;
    let within = span("within_ms", body.within_ms, i64::MAX)?;
    let since = match within {
        Some(within) => Some(Time(queue.overview().await?.now.0.saturating_sub(within.0))),
        None => None,
    };
    let which = Exhausted { key: body.key, error: body.error, since };
    let answer = if body.dry_run {
        Retried { retried: 0, matching: Some(queue.count_matching(&which, RETRY_MAX).await?) }
    } else {
        Retried { retried: queue.retry_matching(&which, RETRY_MAX).await?, matching: None }
    };
    Ok(Json(answer))
}

/// How many are forgotten.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueuePurged)]
pub(super) struct Purged {
    purged: u64,
    /// Of a dry run: how many would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    matching: Option<u64>,
}

/// Whether to do it.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[schema(as = QueuePurge)]
#[serde(deny_unknown_fields)]
pub(super) struct PurgeBody {
    /// Only count them.
    #[serde(default)]
    dry_run: bool,
}

/// Forgets finished items beyond the queue's retention now; it happens by itself every hour. What is exhausted stays until
/// somebody decides. With `dry_run`, only counts them.
#[utoipa::path(post, path = "/v1/queues/{queue}/purge", tag = "queues", params(("queue" = String, Path)),
    responses((status = 200, body = Purged)))]
pub(super) async fn queue_purge(
    caller: Caller,
    Path(name): Path<QueueName>,
    Json(body): Json<PurgeBody>,
) -> Result<Json<Purged>, Problem> {
    let queue = super::known(&caller, name).await?;
    Ok(Json(if body.dry_run {
        Purged { purged: 0, matching: Some(queue.count_purgeable().await?) }
    } else {
        Purged { purged: queue.purge().await?, matching: None }
    }))
}
