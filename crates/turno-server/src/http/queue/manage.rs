//! Managing items and queues: retry, cancel, pause, resume, purge. Every change is audited.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use turno::core::id::{ItemId, Key, QueueName};
use turno::core::queue::ManageRefused;
use turno::core::time::Time;
use turno::queue::{Exhausted, QueueHandle};
use turno::store::ManageOutcome;

use super::look::{self, ItemView};
use super::overview::{self, QueueView};
use crate::http::app::Shared;
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path};
use crate::http::lease::span;
use crate::http::problem::{Code, Problem};

/// The most exhausted items that one call retries, so that the call ends.
const RETRY_MAX: u32 = 10_000;

/// A retry of an item.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[schema(as = QueueItemRetry)]
#[serde(deny_unknown_fields)]
pub(super) struct RetryBody {
    /// A corrected payload, stored exactly as sent. Default: the item keeps its payload.
    #[schema(value_type = Option<serde_json::Value>)]
    #[serde(default, deserialize_with = "present")]
    payload: Option<Box<RawValue>>,
}

/// Distinguishes a payload of `null` from an absent one.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

/// Retries an exhausted or failed item in its old position, optionally with a corrected `payload`.
#[utoipa::path(post, path = "/v1/queues/{queue}/items/{id}/retry", tag = "queues",
    params(("queue" = String, Path), ("id" = String, Path)), responses((status = 200, body = ItemView)))]
pub(super) async fn item_retry(
    State(app): State<Shared>,
    caller: Caller,
    Path((name, id)): Path<(QueueName, ItemId)>,
    Json(body): Json<RetryBody>,
) -> Result<Json<ItemView>, Problem> {
    let queue = super::find_queue(&caller, name.clone()).await?;
    let outcome = match body.payload {
        Some(payload) => {
            super::payload_may_change(&app, &name).await?;
            queue.retry_with(id.clone(), payload.get()).await?
        }
        None => queue.retry(id.clone()).await?,
    };
    managed_item(&queue, id, outcome).await
}

/// An empty body.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[schema(as = QueueNothing)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmptyBody {}

/// Cancels a waiting item.
#[utoipa::path(post, path = "/v1/queues/{queue}/items/{id}/cancel", tag = "queues",
    params(("queue" = String, Path), ("id" = String, Path)), responses((status = 200, body = ItemView)))]
pub(super) async fn item_cancel(
    caller: Caller,
    Path((name, id)): Path<(QueueName, ItemId)>,
    Json(_body): Json<EmptyBody>,
) -> Result<Json<ItemView>, Problem> {
    let queue = super::find_queue(&caller, name).await?;
    let outcome = queue.cancel(id.clone()).await?;
    managed_item(&queue, id, outcome).await
}

/// Returns the item after the change, or the problem of its refusal.
async fn managed_item(queue: &QueueHandle, id: ItemId, outcome: ManageOutcome) -> Result<Json<ItemView>, Problem> {
    refused(queue, &id, outcome).await?;
    look::load_view(queue, id).await.map(Json)
}

/// Returns the problem if the change was refused.
pub(crate) async fn refused(queue: &QueueHandle, id: &ItemId, outcome: ManageOutcome) -> Result<(), Problem> {
    match outcome {
        Ok(_) => Ok(()),
        Err(ManageRefused::Unknown) => Err(look::unknown(id)),
        Err(refused) => {
            let state = match queue.item(id.clone()).await? {
                Some(record) => record.state(record.now).as_str(),
                None => return Err(look::unknown(id)),
            };
            // The item may have changed since the refusal, so the state that the refusal names takes precedence.
            let (state, word) = match refused {
                ManageRefused::InProcess => ("in_process", "in_process"),
                ManageRefused::Changing => ("pending", "changing"),
                _ => (state, state),
            };
            let problem = Problem::new(Code::WrongState).arg("id", id).arg("state", word).with("state", state);
            Err(if word == "changing" { problem.with("reason", "older_in_process") } else { problem })
        }
    }
}

/// Pauses the queue: no new deliveries. Deliveries that are in process go on.
#[utoipa::path(post, path = "/v1/queues/{queue}/pause", tag = "queues", params(("queue" = String, Path)),
    responses((status = 200, body = QueueView)))]
pub(super) async fn queue_pause(
    State(app): State<Shared>,
    caller: Caller,
    Path(name): Path<QueueName>,
    Json(_body): Json<EmptyBody>,
) -> Result<Json<QueueView>, Problem> {
    super::find_queue(&caller, name.clone()).await?.pause().await?;
    overview::load_view(&app, &caller, name).await.map(Json)
}

/// Resumes the queue.
#[utoipa::path(post, path = "/v1/queues/{queue}/resume", tag = "queues", params(("queue" = String, Path)),
    responses((status = 200, body = QueueView)))]
pub(super) async fn queue_resume(
    State(app): State<Shared>,
    caller: Caller,
    Path(name): Path<QueueName>,
    Json(_body): Json<EmptyBody>,
) -> Result<Json<QueueView>, Problem> {
    super::find_queue(&caller, name.clone()).await?.resume().await?;
    overview::load_view(&app, &caller, name).await.map(Json)
}

/// Selects exhausted items. An item must match every field that is given.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[schema(as = QueueRetryExhausted)]
#[serde(deny_unknown_fields)]
pub(super) struct ExhaustedBody {
    /// Only items of this key.
    #[schema(value_type = Option<String>, max_length = 200)]
    key: Option<Key>,
    /// Only items whose last error contains this text.
    error: Option<String>,
    /// Only items that were exhausted within the last this many milliseconds.
    #[schema(minimum = 0)]
    within_ms: Option<i64>,
    /// Counts the items and retries none. Default: false.
    #[serde(default)]
    dry_run: bool,
}

/// The number of retried items.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueRetried)]
pub(super) struct Retried {
    /// The number of retried items. 0 with `dry_run`.
    retried: u64,
    /// The number of matching items, at most 10,000. Only with `dry_run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    matching: Option<u64>,
}

/// Retries exhausted items, all of them or those that match, at most 10,000 per call.
///
/// With `dry_run`, counts them and retries none.
#[utoipa::path(post, path = "/v1/queues/{queue}/retry-exhausted", tag = "queues", params(("queue" = String, Path)),
    responses((status = 200, body = Retried)))]
pub(super) async fn queue_retry_exhausted(
    caller: Caller,
    Path(name): Path<QueueName>,
    Json(body): Json<ExhaustedBody>,
) -> Result<Json<Retried>, Problem> {
    let queue = super::find_queue(&caller, name).await?;
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

/// The number of deleted items.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueuePurged)]
pub(super) struct Purged {
    /// The number of deleted items. 0 with `dry_run`.
    purged: u64,
    /// The number of items that would be deleted. Only with `dry_run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    matching: Option<u64>,
}

/// A purge.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[schema(as = QueuePurge)]
#[serde(deny_unknown_fields)]
pub(super) struct PurgeBody {
    /// Counts the items and deletes none. Default: false.
    #[serde(default)]
    dry_run: bool,
}

/// Deletes finished items that are older than the queue's retention.
///
/// The server also does this every hour. Exhausted items are never purged. With `dry_run`, counts the items and
/// deletes none.
#[utoipa::path(post, path = "/v1/queues/{queue}/purge", tag = "queues", params(("queue" = String, Path)),
    responses((status = 200, body = Purged)))]
pub(super) async fn queue_purge(
    caller: Caller,
    Path(name): Path<QueueName>,
    Json(body): Json<PurgeBody>,
) -> Result<Json<Purged>, Problem> {
    let queue = super::find_queue(&caller, name).await?;
    Ok(Json(if body.dry_run {
        Purged { purged: 0, matching: Some(queue.count_purgeable().await?) }
    } else {
        Purged { purged: queue.purge().await?, matching: None }
    }))
}
