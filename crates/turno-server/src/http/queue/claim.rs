//! Claiming work: any due deliveries, or one item.
//!
//! A client may disconnect at any time. Then the connection drops the handler and with it the claim, and its deliveries
//! are returned without counting an attempt (`crates/turno/src/engine/commit/claim_answer.rs`). The deliveries of a claim with
//! a `request_id` are kept instead, because the client will repeat the claim.

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::sync::Arc;
use turno::core::fault::Fault;
use turno::core::id::{Instance, ItemId, QueueName, RequestId};
use turno::core::limits::BATCH_MAX;
use turno::core::queue::{ItemState, Kind};
use turno::core::time::Span;
use turno::queue::{Claim, ClaimedItem, Delivery, DeliveryItem, QueueHandle};
use turno::sync::Filled;

use super::why;
use crate::http::answers::LARGE;
use crate::http::app::{App, Shared};
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path};
use crate::http::lease::span;
use crate::http::problem::{Code, Problem, bad_field};
use crate::http::stamp::Stamp;
use crate::texts::Language;
use crate::texts::message::Message;

/// The longest that a claim may wait.
const WAIT_MAX_MS: i64 = 30_000;

/// A claim of due work.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = QueueClaim)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimBody {
    /// The process that claims.
    #[schema(value_type = String, max_length = 200)]
    instance: Option<Instance>,
    /// The most deliveries to return. Default: 1.
    #[schema(minimum = 1, maximum = 1000)]
    max: Option<u32>,
    /// How long to wait if nothing is due. Default: 0, which does not wait.
    #[schema(minimum = 0, maximum = 30000)]
    wait_ms: Option<i64>,
    /// Identifies this claim. If the same instance repeats it, it gets the same deliveries while at least one of them
    /// is live.
    #[schema(value_type = Option<String>, max_length = 200)]
    request_id: Option<RequestId>,
}

/// An item of a delivery.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = DeliveryItem)]
pub(crate) struct DeliveryItemView {
    /// The item's id.
    id: String,
    /// What to do with the item. Null if the producer gave none.
    action: Option<String>,
    /// The payload, exactly as it was enqueued.
    #[schema(value_type = serde_json::Value)]
    payload: Payload,
    /// The number of this attempt, from 1.
    attempt: u32,
    /// When the item was enqueued.
    enqueued_at: Stamp,
}

impl From<DeliveryItem> for DeliveryItemView {
    fn from(item: DeliveryItem) -> DeliveryItemView {
        let DeliveryItem { id, action, payload, attempt, enqueued_at } = item;
        let (id, payload) = (id.to_string(), Payload(payload));
        DeliveryItemView { id, action, payload, attempt, enqueued_at: enqueued_at.into() }
    }
}

/// A delivery.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Delivery)]
pub(crate) struct DeliveryView {
    /// The name of the delivery. Send it back unchanged to settle the delivery.
    delivery: String,
    /// The key of the items. Null if they have none.
    key: Option<String>,
    /// The fence of the delivery. Send it with every settlement.
    fence: i64,
    /// The attempt of the first item.
    attempt: u32,
    /// When the delivery expires, unless a heartbeat extends it.
    expires_at: Stamp,
    /// Time until the delivery expires.
    expires_in_ms: i64,
    /// The revision of the key in a sync queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<i64>,
    /// The items, in order.
    items: Vec<DeliveryItemView>,
}

impl DeliveryView {
    /// Builds the view of a delivery from a queue of this kind.
    pub(crate) fn new(kind: Kind, got: Delivery) -> DeliveryView {
        DeliveryView {
            delivery: got.reference.token(),
            key: got.key.map(String::from),
            fence: got.reference.fence.0,
            attempt: got.attempt,
            expires_at: got.expires_at.into(),
            expires_in_ms: got.now.until(got.expires_at).0,
            revision: (kind == Kind::Sync).then_some(got.revision),
            items: got.items.into_iter().map(Into::into).collect(),
        }
    }
}

/// JSON that is passed on unchanged.
#[derive(Debug)]
pub(crate) struct Payload(pub(crate) Arc<str>);

impl Serialize for Payload {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serde_json::from_str::<&RawValue>(&self.0) {
            Ok(raw) => raw.serialize(serializer),
            // A program that embeds the library may have enqueued a payload that is not JSON. It is shown as a string.
            Err(_) => serializer.serialize_str(&self.0),
        }
    }
}

/// The claimed deliveries. Empty if nothing became due during the wait.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueDeliveries)]
pub(super) struct Deliveries {
    deliveries: Vec<DeliveryView>,
}

/// Claims up to `max` deliveries, and waits up to `wait_ms` if none is due.
///
/// The claim ends early at `limits.answer_bytes`, with at least one delivery. The rest stays due.
#[utoipa::path(post, path = "/v1/queues/{queue}/claim", tag = "queues", params(("queue" = String, Path)),
    responses((status = 200, body = Deliveries)))]
pub(super) async fn queue_claim(
    State(app): State<Shared>,
    caller: Caller,
    Path(name): Path<QueueName>,
    Json(body): Json<ClaimBody>,
) -> Result<Response, Problem> {
    let instance = require_instance(body.instance)?;
    let max = body.max.unwrap_or(1);
    if !(1..=BATCH_MAX).contains(&(max as usize)) {
        return Err(bad_field("max", &Fault::OutOfBounds { min: 1, max: BATCH_MAX as i64 }));
    }
    let wait = span("wait_ms", body.wait_ms, WAIT_MAX_MS)?.unwrap_or(Span::ZERO);
    let queue = super::find_queue(&caller, name.clone()).await?;
    super::refuse_if_delivered_here(&app, &name)?;
    refuse_if_stopping(&app)?;
    let request = body.request_id.as_ref().map(|request| scoped_request_id(&caller, request));
    // A caller that does not read its answers gets no more work until it does.
    drop(app.answers.reserve(&caller, LARGE).await?);
    let got = queue
        .claim_until(Claim::by(instance.as_str()).max(max).wait(wait.into()).request(request.as_deref()), app.stopped())
        .await?;
    let bytes = got.iter().flat_map(|delivery| &delivery.items).map(|item| item.payload.len()).sum();
    let memory = app.answers.add(&caller, bytes);
    Ok(memory.answer(&Deliveries { deliveries: to_views(&app, &queue, got).await? }))
}

/// Converts deliveries to their views. A delivery of a source has its action and the current row, as a destination would
/// get it. If the rows of all deliveries are unreadable, the first error is the answer.
async fn to_views(app: &App, queue: &QueueHandle, got: Vec<Delivery>) -> Result<Vec<DeliveryView>, Problem> {
    let row = queue.row().await?;
    let filled = match super::source(app, &row.name) {
        Some(sync) => sync.fill(got).await?,
        None => Filled { deliveries: got, unreadable: None },
    };
    match filled.unreadable {
        Some(cause) if filled.deliveries.is_empty() => {
            Err(Problem::new(Code::NotAvailable).cause(Message::verbatim(cause)))
        }
        _ => Ok(filled.deliveries.into_iter().map(|got| DeliveryView::new(row.policy.kind, got)).collect()),
    }
}

/// Returns the id under which the library remembers the claim. It includes the user, because two users may choose the
/// same instance and request id.
fn scoped_request_id(caller: &Caller, request: &RequestId) -> String {
    let user = caller.holder(None).user;
    let mut hash = blake3::Hasher::new();
    hash.update(user.as_str().as_bytes()).update(&[0]).update(request.as_str().as_bytes());
    hash.finalize().to_hex().to_string()
}

fn require_instance(instance: Option<Instance>) -> Result<Instance, Problem> {
    instance.ok_or_else(|| Problem::new(Code::InstanceRequired).field("instance"))
}

/// Refuses new work while the server stops.
fn refuse_if_stopping(app: &App) -> Result<(), Problem> {
    if app.is_stopping() { Err(Problem::new(Code::Stopping)) } else { Ok(()) }
}

/// A claim of one item.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = QueueItemClaim)]
#[serde(deny_unknown_fields)]
pub(super) struct ItemClaimBody {
    /// The process that claims.
    #[schema(value_type = String, max_length = 200)]
    instance: Option<Instance>,
    /// Identifies this claim. If the same instance repeats it, it gets the same delivery while the delivery is live.
    #[schema(value_type = Option<String>, max_length = 200)]
    request_id: Option<RequestId>,
}

/// Claims one item. If several callers claim it at once, exactly one gets it.
///
/// Refusals: `already_claimed`, with `mine` true if the same instance of the caller has it. `already_processed`, with
/// the `state`, also for an `exhausted` or `cancelled` item. `not_available`, with a `reason`: `ready`, `paused`,
/// `window_open`, `delayed`, `retry_later`, `behind_in_flight`, `damaged`, `behind_head` or `lane_held`. For
/// `behind_in_flight`, `behind_head` and `lane_held`, `behind` names the item before it.
#[utoipa::path(post, path = "/v1/queues/{queue}/items/{id}/claim", tag = "queues",
    params(("queue" = String, Path), ("id" = String, Path)), responses((status = 200, body = DeliveryView)))]
pub(super) async fn item_claim(
    State(app): State<Shared>,
    Extension(language): Extension<Language>,
    caller: Caller,
    Path((name, id)): Path<(QueueName, ItemId)>,
    Json(body): Json<ItemClaimBody>,
) -> Result<Json<DeliveryView>, Problem> {
    let instance = require_instance(body.instance)?;
    let queue = super::find_queue(&caller, name.clone()).await?;
    super::refuse_if_delivered_here(&app, &name)?;
    refuse_if_stopping(&app)?;
    let request = body.request_id.as_ref().map(|request| scoped_request_id(&caller, request));
    match queue.claim_item(id.clone(), Claim::by(instance.as_str()).request(request.as_deref())).await? {
        ClaimedItem::Delivered(got) => {
            let view = to_views(&app, &queue, vec![got]).await?.pop();
            view.map(Json).ok_or_else(|| finished_problem(ItemState::Processed))
        }
        ClaimedItem::AlreadyClaimed => Err(Problem::new(Code::AlreadyClaimed).arg("mine", "no").with("mine", false)),
        ClaimedItem::AlreadyYours => Err(Problem::new(Code::AlreadyClaimed).arg("mine", "yes").with("mine", true)),
        ClaimedItem::AlreadyProcessed => {
            let record = queue.item(id).await?;
            Err(finished_problem(record.map_or(ItemState::Processed, |record| record.state(record.now))))
        }
        ClaimedItem::Unknown => Err(Problem::new(Code::NotFound).arg("thing", id)),
        ClaimedItem::NotYet(why) => {
            let sentence = why::sentence(&app.texts, language, &why);
            let problem =
                Problem::new(Code::NotAvailable).cause(Message::verbatim(sentence)).with("reason", why.reason.code());
            Err(match why::behind(&why.reason) {
                Some(behind) => problem.with("behind", behind.as_str()),
                None => problem,
            })
        }
    }
}

/// Reports that the item is finished, with its state. The caller can retry an exhausted item.
fn finished_problem(state: ItemState) -> Problem {
    Problem::new(Code::AlreadyProcessed).arg("state", state.as_str()).with("state", state.as_str())
}
