//! Reading items: state, attempts, errors, timeline.

use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use turno::core::id::{ItemId, Key, QueueName, Seq};
use turno::core::limits::PAYLOAD_LISTED_MAX;
use turno::core::queue::{AttemptError, ItemState, Kind, WorkerName};
use turno::queue::{HandOut, ItemQuery, ItemRecord, QueueHandle};

use super::claim::Payload;
use super::timeline::{self, Happened};
use crate::http::app::Shared;
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path, Query};
use crate::http::listing::{Page, Wanted};
use crate::http::problem::{Code, Problem};
use crate::http::stamp::Stamp;

/// A failed attempt, or the reason why none could be made.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueItemError)]
pub(super) struct AttemptView {
    /// The number of the attempt. 0 if it does not count: the row could not be read, or a newer change had replaced it.
    attempt: u32,
    /// The fence of the attempt.
    fence: i64,
    /// When the item was handed out. Null if the attempt failed before this was stored.
    handed_at: Option<Stamp>,
    /// When the attempt failed.
    at: Stamp,
    /// What went wrong.
    error: String,
    /// When the item was to be retried. Null if it was not.
    retry_at: Option<Stamp>,
    /// The process that had the item.
    instance: Option<String>,
    /// The user of that process.
    user: Option<String>,
}

impl From<AttemptError> for AttemptView {
    fn from(failed: AttemptError) -> AttemptView {
        AttemptView {
            attempt: failed.attempt,
            fence: failed.fence.0,
            handed_at: failed.handed_at.map(Stamp),
            at: failed.at.into(),
            error: failed.error,
            retry_at: failed.retry_at.map(Stamp),
            instance: failed.holder.as_ref().map(|taker| taker.instance().to_owned()),
            user: failed.holder.as_ref().and_then(WorkerName::user).map(str::to_owned),
        }
    }
}

/// The process that has the item, or had it last.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueItemHolder)]
pub(super) struct HandOutView {
    /// The name of the process.
    instance: String,
    /// The user of that process. Null if a program that embeds the library claimed the item.
    user: Option<String>,
    /// The fence of the delivery.
    fence: i64,
    /// When the item was handed out. Null if it finished before this was stored.
    handed_at: Option<Stamp>,
    /// When the delivery expires. Null if it is over.
    expires_at: Option<Stamp>,
}

impl From<HandOut> for HandOutView {
    fn from(hand_out: HandOut) -> HandOutView {
        let HandOut { taker, fence, handed_at, expires_at } = hand_out;
        let (handed_at, expires_at) = (handed_at.map(Stamp), expires_at.map(Stamp));
        let (instance, user) = (taker.instance().to_owned(), taker.user().map(str::to_owned));
        HandOutView { instance, user, fence: fence.0, handed_at, expires_at }
    }
}

/// An item.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueItem)]
pub(super) struct ItemView {
    /// The item's id.
    id: String,
    /// The key that the item belongs to.
    key: Option<String>,
    /// What the receiver is to do. Null if the producer gave none. For a change of a source it is decided at delivery:
    /// `nothing_to_do` if its row only stopped taking part.
    action: Option<String>,
    /// The payload, exactly as it was enqueued. Null in a list if it has more than 4 KiB, unless `payload=full`.
    #[schema(value_type = serde_json::Value)]
    payload: Payload,
    /// True if the list left the payload out because of its size.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_cut: Option<bool>,
    /// The size of a payload that was left out, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_bytes: Option<usize>,
    /// `pending`, `in_process`, `processed`, `error`, `exhausted` or `cancelled`.
    #[schema(example = "pending")]
    state: &'static str,
    /// The number of counted attempts.
    attempts: u32,
    /// When the item was enqueued.
    enqueued_at: Stamp,
    /// When the item can be handed out, if that is in the future because of a delay or a back-off.
    due_at: Option<Stamp>,
    /// The revision of the key in a sync queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<i64>,
    /// The process that has the item, or had it last.
    holder: Option<HandOutView>,
    /// The newest error.
    last_error: Option<String>,
    /// The errors, oldest first.
    errors: Vec<AttemptView>,
    /// When the item was processed, exhausted or cancelled.
    finished_at: Option<Stamp>,
}

impl ItemView {
    fn new(kind: Kind, record: ItemRecord) -> ItemView {
        ItemView {
            state: record.state(record.now).as_str(),
            attempts: record.attempts(),
            due_at: record.due_at().map(Stamp),
            revision: (kind == Kind::Sync).then(|| record.revision()),
            holder: record.hand_out().map(Into::into),
            last_error: record.last_error().map(str::to_owned),
            errors: record.all_errors().into_iter().map(Into::into).collect(),
            finished_at: record.done.as_ref().map(|done| Stamp(done.at)),
            id: record.body.id.to_string(),
            key: record.body.key.map(String::from),
            action: record.body.action,
            payload: Payload(record.body.payload),
            payload_cut: record.payload_cut.then_some(true),
            payload_bytes: record.payload_cut.then_some(record.payload_bytes),
            enqueued_at: record.body.enqueued_at.into(),
        }
    }
}

/// Returns the item as it is now.
pub(super) async fn load_view(queue: &QueueHandle, id: ItemId) -> Result<ItemView, Problem> {
    let record = queue.item(id.clone()).await?.ok_or_else(|| unknown(&id))?;
    Ok(ItemView::new(queue.row().await?.policy.kind, record))
}

pub(super) fn unknown(id: &ItemId) -> Problem {
    Problem::new(Code::NotFound).arg("thing", id)
}

/// An item with its timeline.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueItemLife)]
pub(super) struct ItemLife {
    #[serde(flatten)]
    item: ItemView,
    /// What happened to the item, oldest first. Changes by people are included if the caller may read the audit.
    timeline: Vec<Happened>,
}

/// Returns an item with its timeline.
#[utoipa::path(get, path = "/v1/queues/{queue}/items/{id}", tag = "queues",
    params(("queue" = String, Path), ("id" = String, Path)), responses((status = 200, body = ItemLife)))]
pub(super) async fn item_get(
    caller: Caller,
    Path((name, id)): Path<(QueueName, ItemId)>,
) -> Result<Json<ItemLife>, Problem> {
    let queue = super::find_queue(&caller, name.clone()).await?;
    let record = queue.item(id.clone()).await?.ok_or_else(|| unknown(&id))?;
    let timeline = timeline::build(&record, timeline::audited(&caller, &name, &record).await?);
    Ok(Json(ItemLife { item: ItemView::new(queue.row().await?.policy.kind, record), timeline }))
}

/// Filters and page of a list of items.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ItemFilter {
    /// Only items in this state: `pending`, `in_process`, `processed`, `error`, `exhausted` or `cancelled`.
    state: Option<String>,
    /// Only items of this key.
    #[param(value_type = Option<String>)]
    key: Option<Key>,
    /// Number of items per page, 1 to 1000. Default: 50.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
    /// `full` for whole payloads. Default: `short`, which leaves out payloads of more than 4 KiB.
    #[param(inline)]
    payload: Option<ListedPayload>,
}

/// Which payloads a list has.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ListedPayload {
    Short,
    Full,
}

/// Lists items in the order of arrival.
///
/// A page also ends at `limits.answer_bytes`, with at least one item. Follow `next_cursor` until it is null.
#[utoipa::path(get, path = "/v1/queues/{queue}/items", tag = "queues", params(("queue" = String, Path), ItemFilter),
    responses((status = 200, body = Page<ItemView>)))]
pub(super) async fn item_list(
    State(app): State<Shared>,
    caller: Caller,
    Path(name): Path<QueueName>,
    Query(filter): Query<ItemFilter>,
) -> Result<Response, Problem> {
    let wanted = Wanted::new(filter.limit, filter.cursor.as_deref())?;
    let after = wanted.after()?.map(Seq);
    let state = filter.state.map(|state| state.parse::<ItemState>()).transpose();
    let state = state.map_err(|cause| Problem::query("state", cause))?;
    let queue = super::find_queue(&caller, name).await?;
    let whole = filter.payload == Some(ListedPayload::Full);
    let payload_max = if whole { usize::MAX } else { PAYLOAD_LISTED_MAX };
    let bytes = app.limits.answer_bytes;
    // Small payloads need memory too: a full page of them has about as many bytes as a single large payload.
    let memory = app.answers.reserve(&caller, bytes.min(wanted.limit as usize * payload_max.min(bytes))).await?;
    let query = ItemQuery { state, key: filter.key, after, limit: wanted.limit, payload_max, bytes };
    let page = Page::of_items(queue.item_page(query).await?);
    let kind = queue.row().await?.policy.kind;
    Ok(memory.answer(&page.map(|record| ItemView::new(kind, record))))
}
