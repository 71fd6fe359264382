//! Reading a queue: its items, its figures, and why an item or a key is not running.

use super::QueueHandle;
use crate::engine::access::Needs;
use crate::error::Error;
use crate::store::{Counts, ItemPage, ItemQuery, ItemRecord, LaneFront, QueueRow};
use std::sync::Arc;
use turno_core::access::Permission;
use turno_core::fault::{Fault, Invalid};
use turno_core::id::{Fence, ItemId, Key, Lane};
use turno_core::limits::BATCH_MAX;
use turno_core::queue::{
    AttemptError, FrontItem, Item, ItemState, Latency, Policy, Why, WhyRead, WhyReason, why_done, why_item, why_key,
};
use turno_core::time::{Span, Time};

/// The period of the overview's figures.
const LATELY: Span = Span::from_secs(60);

/// An overview of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overview {
    /// The queue's current row: name, policy, and whether it is paused.
    pub row: Arc<QueueRow>,
    /// The number of items in each state.
    pub counts: Counts,
    /// When the oldest waiting item was accepted. Items in process or exhausted do not count.
    pub oldest_waiting: Option<Time>,
    /// Items acked in the last minute, counted up to [`Pulse::MOST`](crate::store::Pulse::MOST).
    pub processed_last_minute: i64,
    /// Failed attempts in the last minute, including expired deliveries, counted up to the same bound.
    pub failed_last_minute: i64,
    /// The latency of the items acked in the last minute. `None` if there were none.
    pub latency: Option<Latency>,
    /// The time of the overview.
    pub now: Time,
}

impl QueueHandle {
    /// Returns the matching items in order of arrival. For the next page, pass the last item's sequence number as
    /// `after`.
    ///
    /// ```
    /// # use turno::queue::{Draft, ItemQuery};
    /// # turno_testkit::queue_example(async |_, queue| {
    /// use turno::queue::ItemState;
    /// queue.enqueue(vec![Draft::json("hola")?.key("ana")?, Draft::json("adiós")?.key("leo")?]).await?;
    /// let leos_items = ItemQuery { key: Some("leo".try_into()?), ..ItemQuery::default() };
    /// let found = queue.items(leos_items).await?;
    /// assert_eq!((found.len(), found[0].state(found[0].now)), (1, ItemState::Pending));
    /// let after = Some(found[0].body.seq);
    /// assert!(queue.items(ItemQuery { after, ..ItemQuery::default() }).await?.is_empty());
    /// # Ok(()) });
    /// ```
    pub async fn items(&self, query: ItemQuery) -> Result<Vec<ItemRecord>, Error> {
        Ok(self.item_page(query).await?.items)
    }

    /// Returns the matching items like [`QueueHandle::items`], and whether there are more behind them. A page also ends
    /// where the bytes of [`ItemQuery::bytes`] are used up.
    ///
    /// ```
    /// # use turno::Turno;
    /// # use turno::queue::{Draft, ItemQuery, Kind, Policy};
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-item-page-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// # let queue = turno.put_queue("mails", Policy::for_kind(Kind::Inbox)).await?;
    /// queue.enqueue(vec![Draft::json("hola")?, Draft::json("adiós")?]).await?;
    /// let page = queue.item_page(ItemQuery { bytes: 10, ..ItemQuery::default() }).await?;
    /// assert_eq!((page.items.len(), page.more), (1, true), "the second payload does not fit");
    /// let listed = queue.item_page(ItemQuery { payload_max: 4, ..ItemQuery::default() }).await?;
    /// assert!(listed.items.iter().all(|record| record.payload_cut && &*record.body.payload == "null"));
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn item_page(&self, query: ItemQuery) -> Result<ItemPage, Error> {
        if query.limit == 0 || query.limit as usize > BATCH_MAX {
            return Err(Invalid::new("limit", Fault::OutOfBounds { min: 1, max: BATCH_MAX as i64 }).into());
        }
        let row = self.row_for_read().await?;
        let limit = query.limit as usize;
        // One more item shows whether there is another page.
        let mut page = self.records(&row, ItemQuery { limit: query.limit + 1, ..query }).await?;
        page.more |= page.items.len() > limit;
        page.items.truncate(limit);
        Ok(page)
    }

    /// Reads items and applies expiry to them, so that the result does not depend on the sweep.
    pub(super) async fn records(&self, row: &QueueRow, query: ItemQuery) -> Result<ItemPage, Error> {
        let ItemPage { items, more } = self.turno.inner.store.items(row.id, query).await?;
        Ok(ItemPage { items: items.into_iter().map(|record| record.lapsed(&row.policy)).collect(), more })
    }

    /// Returns one item with its attempts and errors.
    ///
    /// ```
    /// # use turno::queue::Draft;
    /// # turno_testkit::queue_example(async |_, queue| {
    /// let (id, _) = queue.enqueue(vec![Draft::json("hola")?]).await?.remove(0);
    /// let record = queue.item(id).await?.expect("the item was accepted");
    /// assert!(record.done.is_none() && record.errors.is_empty());
    /// # Ok(()) });
    /// ```
    pub async fn item(&self, id: ItemId) -> Result<Option<ItemRecord>, Error> {
        let row = self.row_for_read().await?;
        let Some(record) = self.find(&row, &id).await? else { return Ok(None) };
        let live = |item: &Item| item.expires_at.is_none_or(|at| record.now < at);
        let Some(item) = record.item.clone().filter(|item| !live(item)) else { return Ok(Some(record)) };
        // An application may be completing the delivery: then it has not expired.
        let front = self.front(&row, item.lane).await?;
        let known =
            FrontItem { item, id: record.body.id.clone(), key: record.body.key.clone(), bytes: record.payload_bytes };
        let completing = self.completing(record.now, front.items.iter().chain([&known])).await?;
        Ok(Some(if completing == Some(known.item.fence) { record } else { record.lapsed(&row.policy) }))
    }

    /// Returns the item that absorbed a change of a sync queue. `None` if the id belongs to an item itself or is
    /// unknown.
    ///
    /// ```
    /// # use turno::queue::{Draft, Kind, Policy};
    /// # turno_testkit::example(async |turno| {
    /// let queue = turno.put_queue("people", Policy::for_kind(Kind::Sync)).await?;
    /// let changes = vec![Draft::json(&1)?.key("ana")?.id("a")?, Draft::json(&2)?.key("ana")?.id("b")?];
    /// queue.enqueue(changes).await?;
    /// let absorber = async |id: &str| queue.absorber(id.try_into()?, "ana".try_into()?).await;
    /// assert_eq!(absorber("b").await?.as_ref().map(|id| id.as_str()), Some("a"));
    /// assert_eq!(absorber("a").await?, None, "`a` is an item itself");
    /// # Ok(()) });
    /// ```
    pub async fn absorber(&self, id: ItemId, key: Key) -> Result<Option<ItemId>, Error> {
        self.turno.authorize_read(Needs::permission(Permission::QueuesProduce).on_queue(&self.name)).await?;
        let row = self.row().await?;
        Ok(self.turno.inner.store.absorber(row.id, id, key).await?)
    }

    /// Returns the number of items in each state.
    ///
    /// ```
    /// # use turno::queue::Draft;
    /// # turno_testkit::queue_example(async |_, queue| {
    /// queue.enqueue(vec![Draft::json("hola")?]).await?;
    /// assert_eq!(queue.counts().await?.pending, 1);
    /// # Ok(()) });
    /// ```
    pub async fn counts(&self) -> Result<Counts, Error> {
        let row = self.row_for_read().await?;
        Ok(self.turno.inner.store.counts(row.id).await?)
    }

    /// Returns an overview of the queue: policy, counts, age of the oldest waiting item, and figures of the last
    /// minute.
    ///
    /// ```
    /// # use turno::queue::Draft;
    /// # turno_testkit::queue_example(async |_, queue| {
    /// queue.enqueue(vec![Draft::json("hola")?]).await?;
    /// let overview = queue.overview().await?;
    /// assert_eq!((overview.counts.pending, overview.processed_last_minute), (1, 0));
    /// assert!(overview.oldest_waiting <= Some(overview.now));
    /// # Ok(()) });
    /// ```
    pub async fn overview(&self) -> Result<Overview, Error> {
        self.row_for_read().await?;
        let inner = &self.turno.inner;
        let row = inner.refresh(&self.name).await?;
        let since = Time(inner.clock.estimate().0 - LATELY.0);
        let pulse = inner.store.pulse(row.id, since).await?;
        let waits = inner.store.waits(row.id, since, Latency::MOST).await?;
        Ok(Overview {
            row,
            latency: Latency::from_waits(&waits),
            counts: pulse.counts,
            oldest_waiting: pulse.oldest,
            processed_last_minute: pulse.processed,
            failed_last_minute: pulse.failed,
            now: pulse.now,
        })
    }

    /// Returns why an item is not running, or which worker runs it. `None` if the item does not exist.
    ///
    /// ```
    /// # use turno::queue::Draft;
    /// # turno_testkit::queue_example(async |_, queue| {
    /// use std::time::Duration;
    /// use turno::queue::WhyReason;
    /// let (id, _) = queue.enqueue(vec![Draft::json("hola")?.delay(Duration::from_secs(9))]).await?.remove(0);
    /// let why = queue.why_item(id).await?.expect("the item was accepted");
    /// assert_eq!((why.running, why.reason.code()), (false, "delayed"));
    /// # Ok(()) });
    /// ```
    pub async fn why_item(&self, id: ItemId) -> Result<Option<Why>, Error> {
        self.row_for_read().await?;
        self.why_now(&id, why_item).await
    }

    /// Returns why no item of a key is running, or which worker runs one.
    ///
    /// ```
    /// # use turno::queue::{Draft, Kind, Policy};
    /// # turno_testkit::example(async |turno| {
    /// let chat = turno.put_queue("chat", Policy::for_kind(Kind::Lane)).await?;
    /// assert_eq!(chat.why_key("ana".try_into()?).await?.reason.code(), "empty");
    /// chat.enqueue(vec![Draft::json("hola")?.key("ana")?]).await?;
    /// assert_eq!(chat.why_key("ana".try_into()?).await?.reason.code(), "window_open");
    /// # Ok(()) });
    /// ```
    pub async fn why_key(&self, key: Key) -> Result<Why, Error> {
        self.row_for_read().await?;
        let row = self.turno.inner.refresh(&self.name).await?;
        let lane = row.policy.kind.needs_key().then(|| Lane::from_key(&key));
        let front = self.front(&row, lane).await?;
        let mut items: Vec<FrontItem> =
            front.items.iter().filter(|known| known.key.as_ref() == Some(&key)).cloned().collect();
        if items.is_empty() && (lane.is_none() || !front.items.is_empty()) {
            // An inbox has no lanes. And if two keys share a lane, the key's items may lie beyond the part that was
            // read.
            items = self.unfinished(&row, &key).await?;
        }
        let completing = self.completing(front.now, items.iter().chain(&front.items)).await?;
        let read = why_read(&row, &front, completing, self.turno.inner.answer_bytes);
        let why = why_key(&read, &key, &items, None);
        // Reads the error text only if the reason needs it.
        let explained = items.iter().find(|known| Some(&known.id) == why.item.as_ref());
        match (explained, &why.reason) {
            (Some(known), WhyReason::RetryLater { .. } | WhyReason::Exhausted { error: None }) => {
                let record = self.turno.inner.store.item(row.id, known.id.clone()).await?;
                let error = record.as_ref().and_then(|record| record.errors.last());
                Ok(why_key(&read, &key, &items, error))
            }
            _ => Ok(why),
        }
    }

    /// Like [`QueueHandle::why_item`], for callers that have checked the permission and read the intake.
    pub(super) async fn why_now(
        &self,
        id: &ItemId,
        decide: impl Fn(&WhyRead<'_>, &FrontItem, Option<&AttemptError>) -> Why,
    ) -> Result<Option<Why>, Error> {
        let row = self.turno.inner.refresh(&self.name).await?;
        let Some(record) = self.find(&row, id).await? else {
            return Ok(None);
        };
        let (error, key) = (record.errors.last(), record.body.key.clone());
        let item = match (&record.item, &record.done) {
            (Some(item), _) => item.clone(),
            (None, Some(done)) => return Ok(Some(why_done(done, id.clone(), key, error, record.now))),
            (None, None) => return Ok(None),
        };
        let front = self.front(&row, item.lane).await?;
        let known = front.items.iter().find(|known| known.item.seq == item.seq).cloned();
        let known = known.unwrap_or(FrontItem { item, id: id.clone(), key, bytes: record.payload_bytes });
        let completing = self.completing(front.now, front.items.iter().chain([&known])).await?;
        Ok(Some(decide(&why_read(&row, &front, completing, self.turno.inner.answer_bytes), &known, error)))
    }

    /// Returns the fence of the expired delivery that an application is completing, if there is one.
    async fn completing(&self, now: Time, items: impl Iterator<Item = &FrontItem>) -> Result<Option<Fence>, Error> {
        let over = items.map(|known| &known.item).filter(|item| item.expires_at.is_some_and(|at| at <= now));
        let Some(first) = over.min_by_key(|item| item.seq) else { return Ok(None) };
        let (seq, fence) = (first.seq, first.fence);
        Ok(self.turno.inner.store.completing(seq).await?.then_some(fence))
    }

    /// Reads the front of a lane: a whole delivery and some items after it.
    async fn front(&self, row: &QueueRow, lane: Option<Lane>) -> Result<LaneFront, Error> {
        let inner = &self.turno.inner;
        match lane {
            Some(lane) => Ok(inner.store.lane_front(row.id, lane, front_size(&row.policy)).await?),
            None => Ok(LaneFront { now: inner.clock.estimate(), ..LaneFront::default() }),
        }
    }

    /// Reads the first unfinished item of a key in each state, without using its lane.
    async fn unfinished(&self, row: &QueueRow, key: &Key) -> Result<Vec<FrontItem>, Error> {
        let mut items = Vec::new();
        for state in [ItemState::InProcess, ItemState::Pending, ItemState::Error, ItemState::Exhausted] {
            let query =
                ItemQuery { state: Some(state), key: Some(key.clone()), limit: 1, ..ItemQuery::without_payloads() };
            for ItemRecord { item, body, payload_bytes, .. } in self.turno.inner.store.items(row.id, query).await?.items
            {
                items.extend(item.map(|item| FrontItem { item, id: body.id, key: body.key, bytes: payload_bytes }));
            }
        }
        items.sort_by_key(|known| known.item.seq);
        Ok(items)
    }

    /// Reads an item by its id. If it is not found, takes in the whole intake of the queue first, because the item may
    /// be in a large backlog.
    async fn find(&self, row: &QueueRow, id: &ItemId) -> Result<Option<ItemRecord>, Error> {
        let inner = &self.turno.inner;
        match inner.store.item(row.id, id.clone()).await? {
            None if inner.intake.all(row.id).await?.found => Ok(inner.store.item(row.id, id.clone()).await?),
            found => Ok(found),
        }
    }

    /// Checks the right to read, takes in the queue's rows from the intake, and returns the queue's row.
    async fn row_for_read(&self) -> Result<Arc<QueueRow>, Error> {
        self.turno.authorize_read(Needs::permission(Permission::QueuesRead).on_queue(&self.name)).await?;
        let row = self.row().await?;
        self.turno.inner.intake.read(row.id).await?;
        Ok(row)
    }
}

/// The number of items to read: a whole delivery, and a few that a person queued again.
fn front_size(policy: &Policy) -> u32 {
    policy.batch() + 3
}

fn why_read<'a>(row: &'a QueueRow, front: &'a LaneFront, completing: Option<Fence>, group_bytes: usize) -> WhyRead<'a> {
    let (now, typed_at) = (front.now, front.typed_at);
    WhyRead { policy: &row.policy, paused: row.paused, now, front: &front.items, typed_at, completing, group_bytes }
}
