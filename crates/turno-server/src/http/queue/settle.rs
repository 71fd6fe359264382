//! Settling deliveries: still at it, done, failed, given back. One result per delivery, in order.
//!
//! A fence that is not the live one changes nothing and is no error: the answer is `stale`, and the others of the
//! same call are settled all the same. So is a delivery that cannot be read, or that another queue handed out.

use axum::extract::State;
use serde::{Deserialize, Serialize};
use turno::core::id::{Fence, ItemId, QueueName};
use turno::core::limits::{BATCH_MAX, SPAN_MAX};
use turno::core::queue::{Act, Handed, LimitedBy, SettleOutcome};
use turno::{Settled, Settlement, SyncHandle};

use crate::http::app::{App, Shared};
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path};
use crate::http::lease::span;
use crate::http::problem::{Code, Problem};
use crate::http::stamp::Stamp;

/// What is said about several deliveries.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = QueueSettle)]
#[serde(deny_unknown_fields)]
pub(super) struct Said<T> {
    #[schema(max_items = 1000)]
    deliveries: Vec<T>,
}

/// A delivery by its name and fence.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = DeliveryName)]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    /// As it was handed out.
    delivery: String,
    #[schema(value_type = i64)]
    fence: Fence,
}

/// A delivery that is done.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = DeliveryAck)]
#[serde(deny_unknown_fields)]
pub(super) struct Acked {
    /// As it was handed out.
    delivery: String,
    #[schema(value_type = i64)]
    fence: Fence,
    /// Done up to and including this item; the rest goes back to the head, its attempt taken back.
    #[schema(value_type = Option<String>)]
    through: Option<ItemId>,
}

/// A delivery that failed.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = DeliveryFail)]
#[serde(deny_unknown_fields)]
pub(super) struct Failed {
    /// As it was handed out.
    delivery: String,
    #[schema(value_type = i64)]
    fence: Fence,
    /// What went wrong, for people.
    error: String,
    /// Before this item all is done, it failed, and the rest goes back.
    #[schema(value_type = Option<String>)]
    item: Option<ItemId>,
    /// Another back-off than the policy's.
    #[schema(minimum = 0)]
    retry_in_ms: Option<i64>,
    /// Do not try again.
    #[serde(default, rename = "final")]
    give_up: bool,
}

/// What became of one delivery.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = DeliverySettled)]
pub(super) struct SettledView {
    /// As the caller named it.
    delivery: String,
    /// `renewed`; `acked`, `superseded` (it changed meanwhile and is queued again); `retrying`, `exhausted`;
    /// `returned`; `stale` (nothing has changed), `not_in_delivery` (nor has it here: the item named is not in it).
    #[schema(example = "acked")]
    outcome: &'static str,
    /// When it is tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_at: Option<Stamp>,
    /// Until when it lives on.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<Stamp>,
    /// `max_hold` if the queue's `max_hold_ms` keeps heartbeats from extending the delivery: `expires_at` stays as it
    /// is. Left out otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "max_hold")]
    limited_by: Option<&'static str>,
    /// The same had been said before; this is the answer that it had.
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
            // Expiry is the engine's own settlement, and nobody's here.
            SettleOutcome::Stale | SettleOutcome::Expired => ("stale", None, None),
            SettleOutcome::NotInDelivery => ("not_in_delivery", None, None),
        };
        SettledView { delivery, outcome, retry_at, expires_at, limited_by, repeated }
    }
}

/// One result per delivery, in order.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueSettled)]
pub(super) struct SettledAll {
    results: Vec<SettledView>,
}

/// Keeps deliveries.
#[utoipa::path(post, path = "/v1/queues/{queue}/heartbeat", tag = "queues", params(("queue" = String, Path)),
    responses((status = 200, body = SettledAll)))]
pub(super) async fn queue_heartbeat(
    caller: Caller,
    Path(name): Path<QueueName>,
    Json(body): Json<Said<Named>>,
) -> Result<Json<SettledAll>, Problem> {
    settle(&caller, name, body, |_, Named { delivery, fence }| Ok((delivery, fence, Act::Beat))).await
}

/// Deliveries are done.
#[utoipa::path(post, path = "/v1/queues/{queue}/ack", tag = "queues", params(("queue" = String, Path)),
    responses((status = 200, body = SettledAll)))]
pub(super) async fn queue_ack(
    State(app): State<Shared>,
    caller: Caller,
    Path(name): Path<QueueName>,
    Json(body): Json<Said<Acked>>,
) -> Result<Json<SettledAll>, Problem> {
    super::known(&caller, name.clone()).await?;
    super::not_delivered_here(&app, &name)?;
    let act = |_, Acked { delivery, fence, through }: Acked| Ok((delivery, fence, Act::Ack { through }));
    let outcomes = settled(&caller, name.clone(), body, act).await?;
    delivered(&app, &name, &outcomes).await;
    Ok(shown(outcomes))
}

/// Deliveries failed.
#[utoipa::path(post, path = "/v1/queues/{queue}/fail", tag = "queues", params(("queue" = String, Path)),
    responses((status = 200, body = SettledAll)))]
pub(super) async fn queue_fail(
    caller: Caller,
    Path(name): Path<QueueName>,
    Json(body): Json<Said<Failed>>,
) -> Result<Json<SettledAll>, Problem> {
    settle(&caller, name, body, |index, failed| {
        let Failed { delivery, fence, error, item, retry_in_ms, give_up } = failed;
        let retry_in = span(&format!("deliveries[{index}].retry_in_ms"), retry_in_ms, SPAN_MAX.0)?;
        Ok((delivery, fence, Act::Fail { error, item, retry_in, give_up }))
    })
    .await
}

/// Deliveries go back unprocessed; the attempt is taken back.
#[utoipa::path(post, path = "/v1/queues/{queue}/return", tag = "queues", params(("queue" = String, Path)),
    responses((status = 200, body = SettledAll)))]
pub(super) async fn queue_return(
    caller: Caller,
    Path(name): Path<QueueName>,
    Json(body): Json<Said<Named>>,
) -> Result<Json<SettledAll>, Problem> {
    settle(&caller, name, body, |_, Named { delivery, fence }| Ok((delivery, fence, Act::Return { error: None }))).await
}

/// What became of a delivery, as the caller named it; nothing if that is no delivery.
type Outcome = (String, Option<(Handed, Settled)>);

async fn settle<T>(
    caller: &Caller,
    name: QueueName,
    body: Said<T>,
    act: impl Fn(usize, T) -> Result<(String, Fence, Act), Problem>,
) -> Result<Json<SettledAll>, Problem> {
    Ok(shown(settled(caller, name, body, act).await?))
}

fn shown(outcomes: Vec<Outcome>) -> Json<SettledAll> {
    let view = |(delivery, settled): Outcome| SettledView::new(delivery, settled.map(|(_, settled)| settled));
    Json(SettledAll { results: outcomes.into_iter().map(view).collect() })
}

async fn settled<T>(
    caller: &Caller,
    name: QueueName,
    body: Said<T>,
    act: impl Fn(usize, T) -> Result<(String, Fence, Act), Problem>,
) -> Result<Vec<Outcome>, Problem> {
    let queue = super::known(caller, name).await?;
    if body.deliveries.len() > BATCH_MAX {
        return Err(Problem::new(Code::BadField)
            .field("deliveries")
            .cause(format_args!("at most {BATCH_MAX} at once")));
    }
    let said = body.deliveries.into_iter().enumerate().map(|(index, said)| act(index, said));
    let mut names = Vec::new();
    let mut settlements = Vec::new();
    for (delivery, fence, act) in said.collect::<Result<Vec<_>, _>>()? {
        let handed = Handed::parse(&delivery, fence).ok();
        settlements.extend(handed.map(|handed| Settlement { handed, act }));
        names.push((delivery, handed));
    }
    let mut settled = if settlements.is_empty() { Vec::new() } else { queue.settle(settlements).await? }.into_iter();
    let outcome = |(delivery, handed): (String, Option<Handed>)| {
        (delivery, handed.and_then(|handed| Some((handed, settled.next()?))))
    };
    Ok(names.into_iter().map(outcome).collect())
}

/// What a consumer has acked is what its destination knows from then on.
async fn delivered(app: &App, queue: &QueueName, outcomes: &[Outcome]) {
    let Some(sync) = super::source(app, queue).filter(SyncHandle::has_triggers) else { return };
    for (handed, settled) in outcomes.iter().filter_map(|(_, settled)| settled.as_ref()) {
        if settled.outcome == SettleOutcome::Acked
            && let Err(error) = sync.acked(handed).await
        {
            // A comparison finds a difference later, and sends it once more.
            tracing::warn!(%error, %queue, "what was delivered is not remembered");
        }
    }
}
