//! Settling deliveries: heartbeat, ack, fail, return. One result per delivery, in the order of the request.
//!
//! A stale fence changes nothing and is no error: its result is `stale`, and the other deliveries of the call are
//! settled. The same holds for a malformed delivery name and for a delivery of another queue.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use turno::core::fault::Fault;
use turno::core::id::{Fence, ItemId, QueueName};
use turno::core::limits::{BATCH_MAX, SPAN_MAX};
use turno::core::queue::{Act, DeliveryRef, LimitedBy, SettleOutcome};
use turno::queue::{Settled, Settlement};
use turno::sync::SyncHandle;

use crate::http::app::{App, Shared};
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path};
use crate::http::lease::span;
use crate::http::problem::{Problem, bad_field};
use crate::http::stamp::Stamp;

/// Deliveries to settle.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = QueueSettle)]
#[serde(deny_unknown_fields)]
pub(super) struct Batch<T> {
    /// The deliveries, at most 1000.
    #[schema(max_items = 1000)]
    deliveries: Vec<T>,
}

/// A delivery, by its name and fence.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DeliveryName {
    /// The name of the delivery, as the claim returned it.
    delivery: String,
    /// The fence of the delivery.
    #[schema(value_type = i64)]
    fence: Fence,
}

/// A delivery to acknowledge.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = DeliveryAck)]
#[serde(deny_unknown_fields)]
pub(super) struct AckEntry {
    /// The name of the delivery, as the claim returned it.
    delivery: String,
    /// The fence of the delivery.
    #[schema(value_type = i64)]
    fence: Fence,
    /// The last item that is done. The items after it return to the head of the key without counting an attempt.
    /// Default: all items are done.
    #[schema(value_type = Option<String>)]
    through: Option<ItemId>,
}

/// A delivery that failed.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = DeliveryFail)]
#[serde(deny_unknown_fields)]
pub(super) struct FailEntry {
    /// The name of the delivery, as the claim returned it.
    delivery: String,
    /// The fence of the delivery.
    #[schema(value_type = i64)]
    fence: Fence,
    /// What went wrong, for people.
    error: String,
    /// The item that failed. The items before it are done, and the items after it return without counting an attempt.
    #[schema(value_type = Option<String>)]
    item: Option<ItemId>,
    /// How long to wait before the retry, instead of the policy's back-off.
    #[schema(minimum = 0)]
    retry_in_ms: Option<i64>,
    /// True if the item must not be retried. It becomes exhausted. Default: false.
    #[serde(default, rename = "final")]
    give_up: bool,
}

/// The result of one delivery.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = DeliverySettled)]
pub(super) struct SettledView {
    /// The name of the delivery, as the caller sent it.
    delivery: String,
    /// `renewed`, `acked`, `superseded` (the key changed meanwhile and is queued again), `retrying`, `exhausted`,
    /// `returned`, `stale` (nothing changed), or `not_in_delivery` (nothing changed, because the named item is not in
    /// the delivery).
    #[schema(example = "acked")]
    outcome: &'static str,
    /// When the items are retried.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_at: Option<Stamp>,
    /// When the delivery expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Stamp>,
    /// `max_hold` if the queue's `max_hold_ms` stops heartbeats from extending the delivery: `expires_at` no longer
    /// moves. Omitted otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "max_hold")]
    limited_by: Option<&'static str>,
    /// True if the same settlement was made before. This is its answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    repeated: bool,
}

impl SettledView {
    fn new(delivery: String, settled: Option<Settled>) -> SettledView {
        let Settled { outcome, repeated } =
            settled.unwrap_or(Settled { outcome: SettleOutcome::Stale, repeated: false });
        let limited_by = match outcome {
            SettleOutcome::Renewed { limited_by, .. } => limited_by.map(LimitedBy::name),
            _ => None,
        };
        let (outcome, retry_at, expires_at) = match outcome {
            SettleOutcome::Acked => ("acked", None, None),
            SettleOutcome::Retrying { retry_at } => ("retrying", Some(retry_at.into()), None),
            SettleOutcome::Exhausted => ("exhausted", None, None),
            SettleOutcome::Superseded => ("superseded", None, None),
            SettleOutcome::Returned => ("returned", None, None),
            SettleOutcome::Renewed { expires_at, .. } => ("renewed", None, Some(expires_at.into())),
            // Only the engine settles a delivery as expired. A caller never gets this outcome.
            SettleOutcome::Stale | SettleOutcome::Expired => ("stale", None, None),
            SettleOutcome::NotInDelivery => ("not_in_delivery", None, None),
        };
        SettledView { delivery, outcome, retry_at, expires_at, limited_by, repeated }
    }
}

/// One result per delivery, in the order of the request.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueSettled)]
pub(super) struct SettledAll {
    results: Vec<SettledView>,
}

/// Sends a heartbeat for deliveries, which extends them.
#[utoipa::path(post, path = "/v1/queues/{queue}/heartbeat", tag = "queues", params(("queue" = String, Path)),
    responses((status = 200, body = SettledAll)))]
pub(super) async fn queue_heartbeat(
    caller: Caller,
    Path(name): Path<QueueName>,
    Json(body): Json<Batch<DeliveryName>>,
) -> Result<Json<SettledAll>, Problem> {
    settle(&caller, name, body, |_, DeliveryName { delivery, fence }| Ok((delivery, fence, Act::Beat))).await
}

/// Acknowledges deliveries: their items are processed.
#[utoipa::path(post, path = "/v1/queues/{queue}/ack", tag = "queues", params(("queue" = String, Path)),
    responses((status = 200, body = SettledAll)))]
pub(super) async fn queue_ack(
    State(app): State<Shared>,
    caller: Caller,
    Path(name): Path<QueueName>,
    Json(body): Json<Batch<AckEntry>>,
) -> Result<Json<SettledAll>, Problem> {
    super::find_queue(&caller, name.clone()).await?;
    super::refuse_if_delivered_here(&app, &name)?;
    let act = |_, AckEntry { delivery, fence, through }: AckEntry| Ok((delivery, fence, Act::Ack { through }));
    let outcomes = settle_all(&caller, name.clone(), body, act).await?;
    note_acked(&app, &name, &outcomes).await;
    Ok(to_view(outcomes))
}

/// Reports deliveries as failed: their items are retried later or become exhausted.
#[utoipa::path(post, path = "/v1/queues/{queue}/fail", tag = "queues", params(("queue" = String, Path)),
    responses((status = 200, body = SettledAll)))]
pub(super) async fn queue_fail(
    caller: Caller,
    Path(name): Path<QueueName>,
    Json(body): Json<Batch<FailEntry>>,
) -> Result<Json<SettledAll>, Problem> {
    settle(&caller, name, body, |index, failed| {
        let FailEntry { delivery, fence, error, item, retry_in_ms, give_up } = failed;
        let retry_in = span(&format!("deliveries[{index}].retry_in_ms"), retry_in_ms, SPAN_MAX.0)?;
        Ok((delivery, fence, Act::Fail { error, item, retry_in, give_up }))
    })
    .await
}

/// Returns deliveries unprocessed. The attempt does not count.
#[utoipa::path(post, path = "/v1/queues/{queue}/return", tag = "queues", params(("queue" = String, Path)),
    responses((status = 200, body = SettledAll)))]
pub(super) async fn queue_return(
    caller: Caller,
    Path(name): Path<QueueName>,
    Json(body): Json<Batch<DeliveryName>>,
) -> Result<Json<SettledAll>, Problem> {
    settle(&caller, name, body, |_, DeliveryName { delivery, fence }| {
        Ok((delivery, fence, Act::Return { error: None }))
    })
    .await
}

/// A delivery as the caller named it, and its settlement. `None` if the name is malformed.
type Outcome = (String, Option<(DeliveryRef, Settled)>);

async fn settle<T>(
    caller: &Caller,
    name: QueueName,
    body: Batch<T>,
    act: impl Fn(usize, T) -> Result<(String, Fence, Act), Problem>,
) -> Result<Json<SettledAll>, Problem> {
    Ok(to_view(settle_all(caller, name, body, act).await?))
}

fn to_view(outcomes: Vec<Outcome>) -> Json<SettledAll> {
    let view = |(delivery, settled): Outcome| SettledView::new(delivery, settled.map(|(_, settled)| settled));
    Json(SettledAll { results: outcomes.into_iter().map(view).collect() })
}

async fn settle_all<T>(
    caller: &Caller,
    name: QueueName,
    body: Batch<T>,
    act: impl Fn(usize, T) -> Result<(String, Fence, Act), Problem>,
) -> Result<Vec<Outcome>, Problem> {
    let queue = super::find_queue(caller, name).await?;
    if body.deliveries.len() > BATCH_MAX {
        let given = body.deliveries.len();
        return Err(bad_field("deliveries", &Fault::TooMany { max: BATCH_MAX, given }));
    }
    let entries = body.deliveries.into_iter().enumerate().map(|(index, entry)| act(index, entry));
    let mut names = Vec::new();
    let mut settlements = Vec::new();
    for (delivery, fence, act) in entries.collect::<Result<Vec<_>, _>>()? {
        let reference = DeliveryRef::parse(&delivery, fence).ok();
        settlements.extend(reference.map(|reference| Settlement { reference, act }));
        names.push((delivery, reference));
    }
    let mut settled = if settlements.is_empty() { Vec::new() } else { queue.settle(settlements).await? }.into_iter();
    let outcome = |(delivery, reference): (String, Option<DeliveryRef>)| {
        (delivery, reference.and_then(|reference| Some((reference, settled.next()?))))
    };
    Ok(names.into_iter().map(outcome).collect())
}

/// Stores what an acknowledged change told the destination.
async fn note_acked(app: &App, queue: &QueueName, outcomes: &[Outcome]) {
    let Some(sync) = super::source(app, queue).filter(SyncHandle::has_triggers) else { return };
    for (reference, settled) in outcomes.iter().filter_map(|(_, settled)| settled.as_ref()) {
        if settled.outcome == SettleOutcome::Acked
            && let Err(error) = sync.acked(reference).await
        {
            // If this is lost, a later check of the source finds the difference and sends the key again.
            tracing::warn!(%error, %queue, "what was delivered is not remembered");
        }
    }
}
