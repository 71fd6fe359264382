//! Taking work: whatever is due, or a certain item.
//!
//! A client may go away at any instant. The connection then drops the handler, and with it the claim: what was handed
//! out and taken by nobody goes back by itself, its attempt taken back (`crates/turno/src/engine/commit/dealt.rs`).
//! What a claim with a `request_id` was handed is kept instead, for the repeat that will ask for it.

use axum::Extension;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::sync::Arc;
use turno::core::id::{Instance, ItemId, QueueName, RequestId};
use turno::core::limits::BATCH_MAX;
use turno::core::queue::{Act, ItemState, Kind};
use turno::core::text::kept;
use turno::core::time::Span;
use turno::{ClaimedItem, Got, GotItem, ItemRecord, QueueHandle, Settlement};

use super::why;
use crate::http::app::{App, Shared};
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path};
use crate::http::lease::span;
use crate::http::problem::{Code, Problem};
use crate::http::stamp::Stamp;
use crate::texts::Language;

/// The longest that a claim waits.
const WAIT_MAX_MS: i64 = 30_000;

/// What a worker asks for.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = QueueClaim)]
#[serde(deny_unknown_fields)]
pub(super) struct ClaimBody {
    /// Which process takes it.
    #[schema(value_type = String, max_length = 200)]
    instance: Option<Instance>,
    /// The most deliveries [default: 1].
    #[schema(minimum = 1, maximum = 1000)]
    max: Option<u32>,
    /// Wait for at most this long if there is nothing.
    #[schema(minimum = 0, maximum = 30000)]
    wait_ms: Option<i64>,
    /// Names this claim: repeated by the same instance it gets the same deliveries, as long as one of them lives.
    #[schema(value_type = Option<String>, max_length = 200)]
    request_id: Option<RequestId>,
}

/// One item of a delivery.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = DeliveryItem)]
pub(crate) struct DeliveredItem {
    id: String,
    action: Option<String>,
    /// As it came.
    #[schema(value_type = serde_json::Value)]
    payload: Payload,
    attempt: u32,
    enqueued_at: Stamp,
}

impl From<GotItem> for DeliveredItem {
    fn from(item: GotItem) -> DeliveredItem {
        let GotItem { id, action, payload, attempt, enqueued_at } = item;
        let (id, payload) = (id.to_string(), Payload(payload));
        DeliveredItem { id, action, payload, attempt, enqueued_at: enqueued_at.into() }
    }
}

/// What a worker was handed.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Delivery)]
pub(crate) struct DeliveryView {
    /// Names the delivery when it is settled; to be passed on unchanged.
    delivery: String,
    key: Option<String>,
    /// Proves the hand-out; goes along with every settlement.
    fence: i64,
    /// The first item's attempt.
    attempt: u32,
    expires_at: Stamp,
    expires_in_ms: i64,
    /// The change that is handed out, in a sync queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<i64>,
    items: Vec<DeliveredItem>,
}

impl DeliveryView {
    /// What was handed out of a queue of this kind.
    pub(crate) fn new(kind: Kind, got: Got) -> DeliveryView {
        DeliveryView {
            delivery: got.handed.token(),
            key: got.key.map(String::from),
            fence: got.handed.fence.0,
            attempt: got.attempt,
            expires_at: got.expires_at.into(),
            expires_in_ms: got.now.until(got.expires_at).0,
            revision: (kind == Kind::Sync).then_some(got.revision),
            items: got.items.into_iter().map(Into::into).collect(),
        }
    }
}

/// JSON that is passed on as it came.
#[derive(Debug)]
pub(crate) struct Payload(pub(super) Arc<str>);

impl Serialize for Payload {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serde_json::from_str::<&RawValue>(&self.0) {
            Ok(raw) => raw.serialize(serializer),
            // A program that embeds the library may have queued what is no JSON; it is still shown.
            Err(_) => serializer.serialize_str(&self.0),
        }
    }
}

/// What was handed out; nothing if there was nothing for as long as the caller wanted to wait.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueDeliveries)]
pub(super) struct Deliveries {
    deliveries: Vec<DeliveryView>,
}

/// Takes up to `max` deliveries, waiting if there are none.
#[utoipa::path(post, path = "/v1/queues/{queue}/claim", tag = "queues", params(("queue" = String, Path)),
    responses((status = 200, body = Deliveries)))]
pub(super) async fn queue_claim(
    State(app): State<Shared>,
    caller: Caller,
    Path(name): Path<QueueName>,
    Json(body): Json<ClaimBody>,
) -> Result<Json<Deliveries>, Problem> {
    let instance = required(body.instance)?;
    let max = body.max.unwrap_or(1);
    if !(1..=BATCH_MAX).contains(&(max as usize)) {
        return Err(Problem::new(Code::BadField).field("max").cause(format_args!("between 1 and {BATCH_MAX}")));
    }
    let wait = span("wait_ms", body.wait_ms, WAIT_MAX_MS)?.unwrap_or(Span::ZERO);
    let queue = super::known(&caller, name.clone()).await?;
    super::not_delivered_here(&app, &name)?;
    not_stopping(&app)?;
    let request = body.request_id.as_ref().map(|request| of_caller(&caller, request));
    let got = queue.claim_until(instance.as_str(), max, wait, request.as_deref(), app.stopped()).await?;
    Ok(Json(Deliveries { deliveries: shown(&app, &queue, got).await? }))
}

/// Claimed by hand, a change of a source comes with what to do and the row as it is now, as a destination would get it. What
/// cannot be read waits with its error, as where Turno delivers, and is the answer if there is nothing else. What nothing is
/// to be told of is over with that.
async fn shown(app: &App, queue: &QueueHandle, got: Vec<Got>) -> Result<Vec<DeliveryView>, Problem> {
    let row = queue.row().await?;
    let sync = super::source(app, &row.name);
    let mut views = Vec::with_capacity(got.len());
    let (mut settled, mut unread) = (Vec::new(), None);
    for one in got {
        let (handed, attempt, item) = (one.handed, one.attempt, one.items.first().map(|item| item.id.clone()));
        let filled = match &sync {
            Some(sync) => crate::deliver::filled(sync, one).await,
            None => Ok(Some(one)),
        };
        match filled {
            Ok(Some(one)) => views.push(DeliveryView::new(row.policy.kind, one)),
            Ok(None) => settled.push(Settlement { handed, act: Act::Skip }),
            Err(cause) => {
                let wait = row.policy.backoff_after(handed.seq, attempt);
                let act = deferred(queue, item, &cause, wait).await?;
                settled.push(Settlement { handed, act });
                unread.get_or_insert(cause);
            }
        }
    }
    if !settled.is_empty() {
        queue.settle(settled).await?;
    }
    match unread {
        Some(cause) if views.is_empty() => Err(Problem::new(Code::NotAvailable).cause(cause)),
        _ => Ok(views),
    }
}

/// It waits, and the same error is written down once, however long the repair takes.
async fn deferred(queue: &QueueHandle, item: Option<ItemId>, cause: &str, wait: Span) -> Result<Act, Problem> {
    let known = match item {
        Some(id) => queue.item(id).await?,
        None => None,
    };
    let cause = kept(cause);
    let told = known.as_ref().and_then(ItemRecord::last_error) == Some(&*cause);
    Ok(Act::Defer { error: (!told).then_some(cause), retry_in: wait.min(crate::deliver::READ_AGAIN) })
}

/// The id under which the request is remembered: of this user, since another may call an instance and a request the same.
fn of_caller(caller: &Caller, request: &RequestId) -> String {
    let user = caller.holder(None).user;
    let mut hash = blake3::Hasher::new();
    hash.update(user.as_str().as_bytes()).update(&[0]).update(request.as_str().as_bytes());
    hash.finalize().to_hex().to_string()
}

fn required(instance: Option<Instance>) -> Result<Instance, Problem> {
    instance.ok_or_else(|| Problem::new(Code::InstanceRequired).field("instance"))
}

/// Who is about to leave takes nothing on.
fn not_stopping(app: &App) -> Result<(), Problem> {
    if app.is_stopping() { Err(Problem::new(Code::Stopping)) } else { Ok(()) }
}

/// Who takes a certain item.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = QueueItemClaim)]
#[serde(deny_unknown_fields)]
pub(super) struct ItemClaimBody {
    /// Which process takes it.
    #[schema(value_type = String, max_length = 200)]
    instance: Option<Instance>,
    /// Names this claim: repeated by the same instance it gets the same delivery, as long as it lives.
    #[schema(value_type = Option<String>, max_length = 200)]
    request_id: Option<RequestId>,
}

/// Takes this very item; of many who want it, exactly one gets it.
///
/// Refused with `already_claimed` (`mine`: by this very instance of the caller), `already_processed` (`state`: also of what is
/// `exhausted` or `cancelled`), or `not_available` with a `reason`: `ready`, `paused`, `window_open`, `delayed`, `retry_later`, `behind_in_flight`,
/// `damaged`, `behind_head` or `lane_held`; the last two and `behind_in_flight` with the item that stands before it in `behind`.
#[utoipa::path(post, path = "/v1/queues/{queue}/items/{id}/claim", tag = "queues",
    params(("queue" = String, Path), ("id" = String, Path)), responses((status = 200, body = DeliveryView)))]
pub(super) async fn item_claim(
    State(app): State<Shared>,
    Extension(language): Extension<Language>,
    caller: Caller,
    Path((name, id)): Path<(QueueName, ItemId)>,
    Json(body): Json<ItemClaimBody>,
) -> Result<Json<DeliveryView>, Problem> {
    let instance = required(body.instance)?;
    let queue = super::known(&caller, name.clone()).await?;
    super::not_delivered_here(&app, &name)?;
    not_stopping(&app)?;
    let request = body.request_id.as_ref().map(|request| of_caller(&caller, request));
    match queue.claim_item_as(instance.as_str(), id.clone(), request.as_deref()).await? {
        ClaimedItem::Got(got) => {
            let one = shown(&app, &queue, vec![got]).await?.pop();
            one.map(Json).ok_or_else(|| finished(ItemState::Processed))
        }
        ClaimedItem::AlreadyClaimed => Err(Problem::new(Code::AlreadyClaimed).arg("mine", "no").with("mine", false)),
        ClaimedItem::AlreadyYours => Err(Problem::new(Code::AlreadyClaimed).arg("mine", "yes").with("mine", true)),
        ClaimedItem::AlreadyProcessed => {
            let record = queue.item(id).await?;
            Err(finished(record.map_or(ItemState::Processed, |record| record.state(record.now))))
        }
        ClaimedItem::Unknown => Err(Problem::new(Code::NotFound).arg("thing", id)),
        ClaimedItem::NotYet(why) => {
            let sentence = why::sentence(&app.texts, language, &why);
            let problem = Problem::new(Code::NotAvailable).cause(sentence).with("reason", why.reason.code());
            Err(match why::behind(&why.reason) {
                Some(behind) => problem.with("behind", behind.as_str()),
                None => problem,
            })
        }
    }
}

/// It is over with this item, and how: whoever gave it up can be asked to send it round again.
fn finished(state: ItemState) -> Problem {
    Problem::new(Code::AlreadyProcessed).arg("state", state.as_str()).with("state", state.as_str())
}
