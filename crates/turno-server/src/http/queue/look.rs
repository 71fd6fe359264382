//! Items with all that is known about them: state, attempts, errors, who had them and how they ended.

use serde::{Deserialize, Serialize};
use turno::core::id::{ItemId, Key, QueueName, Seq};
use turno::core::limits::BATCH_MAX;
use turno::core::queue::{AttemptError, ItemState, Kind, Taker};
use turno::{HandOut, ItemQuery, ItemRecord, QueueHandle};

use super::claim::Payload;
use super::timeline::{self, Happened};
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path, Query};
use crate::http::listing::{Page, Wanted};
use crate::http::problem::{Code, Problem};
use crate::http::stamp::Stamp;

/// An attempt that failed, or what kept one from being made.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueItemError)]
pub(super) struct AttemptView {
    /// Which one; 0 if it counts for nothing: none could be made, as of a row that cannot be read, or a newer change had
    /// overtaken what it was made with.
    attempt: u32,
    fence: i64,
    /// When it was handed out; null of what failed before that was kept.
    handed_at: Option<Stamp>,
    at: Stamp,
    error: String,
    /// When it was to be tried again; null if never.
    retry_at: Option<Stamp>,
    /// Who had it.
    instance: Option<String>,
    /// In whose name.
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
            user: failed.holder.as_ref().and_then(Taker::user).map(str::to_owned),
        }
    }
}

/// Who has the item, or had it last.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueItemHolder)]
pub(super) struct HandOutView {
    instance: String,
    /// In whose name it was taken; null if the engine was asked directly.
    user: Option<String>,
    fence: i64,
    /// When it was handed out; null of what finished before that was kept.
    handed_at: Option<Stamp>,
    /// Until when it lives; null if it is over.
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
    id: String,
    key: Option<String>,
    /// What the receiver is to do; null if nobody said so. Of a source's change that is decided when it is delivered, and
    /// known from then on: `nothing_to_do` if its row had only stopped taking part.
    action: Option<String>,
    /// As it came.
    #[schema(value_type = serde_json::Value)]
    payload: Payload,
    /// `pending`, `in_process`, `processed`, `error`, `exhausted` or `cancelled`.
    #[schema(example = "pending")]
    state: &'static str,
    /// Hand-outs so far that count.
    attempts: u32,
    enqueued_at: Stamp,
    /// Not to be handed out before, if that is still to come: a delay or a back-off.
    due_at: Option<Stamp>,
    /// The newest change, in a sync queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<i64>,
    /// Who has it, or had it last.
    holder: Option<HandOutView>,
    last_error: Option<String>,
    /// What went wrong, oldest first.
    errors: Vec<AttemptView>,
    /// When it was done, exhausted or cancelled.
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
            enqueued_at: record.body.enqueued_at.into(),
        }
    }
}

/// The item as it is now.
pub(super) async fn seen(queue: &QueueHandle, id: ItemId) -> Result<ItemView, Problem> {
    let record = queue.item(id.clone()).await?.ok_or_else(|| unknown(&id))?;
    Ok(ItemView::new(queue.row().await?.policy.kind, record))
}

pub(super) fn unknown(id: &ItemId) -> Problem {
    Problem::new(Code::NotFound).arg("thing", id)
}

/// An item with its life.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueItemLife)]
pub(super) struct ItemLife {
    #[serde(flatten)]
    item: ItemView,
    /// What happened to it, oldest first: who had it, with which fence, how each attempt ended. What people did to it is
    /// shown to those who may read the audit.
    timeline: Vec<Happened>,
}

/// One item, with its life.
#[utoipa::path(get, path = "/v1/queues/{queue}/items/{id}", tag = "queues",
    params(("queue" = String, Path), ("id" = String, Path)), responses((status = 200, body = ItemLife)))]
pub(super) async fn item_get(
    caller: Caller,
    Path((name, id)): Path<(QueueName, ItemId)>,
) -> Result<Json<ItemLife>, Problem> {
    let queue = super::known(&caller, name.clone()).await?;
    let record = queue.item(id.clone()).await?.ok_or_else(|| unknown(&id))?;
    let timeline = timeline::of(&record, timeline::audited(&caller, &name, &record).await?);
    Ok(Json(ItemLife { item: ItemView::new(queue.row().await?.policy.kind, record), timeline }))
}

/// Which items.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ItemFilter {
    /// Only in this state: `pending`, `in_process`, `processed`, `error`, `exhausted` or `cancelled`.
    state: Option<String>,
    /// Only of this key.
    #[param(value_type = Option<String>)]
    key: Option<Key>,
    /// Items per page, 1 to 1000 [default: 50].
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// The items that match, in the order of arrival.
#[utoipa::path(get, path = "/v1/queues/{queue}/items", tag = "queues", params(("queue" = String, Path), ItemFilter),
    responses((status = 200, body = Page<ItemView>)))]
pub(super) async fn item_list(
    caller: Caller,
    Path(name): Path<QueueName>,
    Query(filter): Query<ItemFilter>,
) -> Result<Json<Page<ItemView>>, Problem> {
    let wanted = Wanted::new(filter.limit, filter.cursor.as_deref())?;
    let after = wanted.after()?.map(Seq);
    let state = filter.state.map(|state| state.parse::<ItemState>()).transpose();
    let state = state.map_err(|cause| Problem::query("state", cause))?;
    let queue = super::known(&caller, name).await?;
    let query = ItemQuery { state, key: filter.key, after, limit: wanted.one_more() };
    let found = listed(&queue, query).await?;
    let kind = queue.row().await?.policy.kind;
    let page = wanted.page(found, |record| record.body.seq.0.to_string());
    Ok(Json(page.map(|record| ItemView::new(kind, record))))
}

/// What matches, also if that is one more than the library gives at once.
async fn listed(queue: &QueueHandle, query: ItemQuery) -> Result<Vec<ItemRecord>, Problem> {
    let most = BATCH_MAX as u32;
    let mut found = queue.items(ItemQuery { limit: query.limit.min(most), ..query.clone() }).await?;
    let rest = query.limit.saturating_sub(most);
    if let Some(last) = found.last().filter(|_| rest > 0 && found.len() >= BATCH_MAX) {
        let after = Some(last.body.seq);
        found.extend(queue.items(ItemQuery { after, limit: rest, ..query }).await?);
    }
    Ok(found)
}
