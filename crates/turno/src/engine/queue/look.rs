//! Looking at a queue: its items, what goes on in it, and why something in it is not running.

use super::QueueHandle;
use crate::engine::access::Needs;
use crate::error::Error;
use crate::store::{Counts, ItemQuery, ItemRecord, LaneFront, QueueRow};
use std::sync::Arc;
use turno_core::access::Permission;
use turno_core::id::{Fence, ItemId, Key, Lane};
use turno_core::limits::BATCH_MAX;
use turno_core::queue::{
    AttemptError, FrontItem, Item, ItemState, Kind, Latency, Policy, Why, WhyRead, WhyReason, why_done, why_item,
    why_key,
};
use turno_core::time::{Span, Time};

/// What counts as lately.
const LATELY: Span = Span::from_secs(60);

/// A queue at a glance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overview {
    /// Its row, as it is now: name, policy, whether it is paused.
    pub row: Arc<QueueRow>,
    /// How many items are in which state.
    pub counts: Counts,
    /// When the oldest item was accepted that waits: neither in process nor exhausted.
    pub oldest_waiting: Option<Time>,
    /// Acked in the last minute; counted up to [`Pulse::MOST`](crate::store::Pulse::MOST).
    pub processed_last_minute: i64,
    /// Attempts that failed in the last minute, those included that were not settled in time; counted up to the same.
    pub failed_last_minute: i64,
    /// How quick it was with what was acked in the last minute; nothing if nothing was.
    pub latency: Option<Latency>,
    /// When this was so.
    pub now: Time,
}

impl QueueHandle {
    /// The items that match, in the order of arrival. For the next page, pass the last one's place as `after`.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-items-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// # let queue = turno.put_queue("mails", Policy::of(Kind::Inbox)).await?;
    /// use turno::core::queue::ItemState;
    /// queue.enqueue(vec![Draft::json("hola")?.key("ana")?, Draft::json("adiós")?.key("leo")?]).await?;
    /// let of_leo = ItemQuery { key: Some("leo".try_into()?), ..ItemQuery::default() };
    /// let found = queue.items(of_leo).await?;
    /// assert_eq!((found.len(), found[0].state(found[0].now)), (1, ItemState::Pending));
    /// let after = Some(found[0].body.seq);
    /// assert!(queue.items(ItemQuery { after, ..ItemQuery::default() }).await?.is_empty());
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn items(&self, query: ItemQuery) -> Result<Vec<ItemRecord>, Error> {
        if query.limit == 0 || query.limit as usize > BATCH_MAX {
            return Err(Error::Invalid(format!("limit must be between 1 and {BATCH_MAX}")));
        }
        let row = self.looked_at().await?;
        self.records(&row, query).await
    }

    /// As stored, except that what has expired is not waiting for the sweep.
    pub(super) async fn records(&self, row: &QueueRow, query: ItemQuery) -> Result<Vec<ItemRecord>, Error> {
        let found = self.turno.inner.store.items(row.id, query).await?;
        Ok(found.into_iter().map(|record| record.lapsed(&row.policy)).collect())
    }

    /// One item with all that is known about it.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-item-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// # let queue = turno.put_queue("mails", Policy::of(Kind::Inbox)).await?;
    /// let (id, _) = queue.enqueue(vec![Draft::json("hola")?]).await?.remove(0);
    /// let record = queue.item(id).await?.expect("it was accepted");
    /// assert!(record.done.is_none() && record.errors.is_empty());
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn item(&self, id: ItemId) -> Result<Option<ItemRecord>, Error> {
        let row = self.looked_at().await?;
        let Some(record) = self.find(&row, &id).await? else { return Ok(None) };
        let live = |item: &Item| item.expires_at.is_none_or(|at| record.now < at);
        let Some(item) = record.item.clone().filter(|item| !live(item)) else { return Ok(Some(record)) };
        // An application may be completing it all the same.
        let front = self.front(&row, item.lane).await?;
        let known = FrontItem { item, id: record.body.id.clone(), key: record.body.key.clone() };
        let completing = self.completing(record.now, front.items.iter().chain([&known])).await?;
        Ok(Some(if completing == Some(known.item.fence) { record } else { record.lapsed(&row.policy) }))
    }

    /// The item that took in what was accepted under this id, if it left nothing else behind: a change of a sync queue that
    /// replaced what its key's unfinished item carried.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-absorber-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// let queue = turno.put_queue("people", Policy::of(Kind::Sync)).await?;
    /// let changes = vec![Draft::json(&1)?.key("ana")?.id("a")?, Draft::json(&2)?.key("ana")?.id("b")?];
    /// queue.enqueue(changes).await?;
    /// let of = async |id: &str| queue.absorber(id.try_into()?, "ana".try_into()?).await;
    /// assert_eq!(of("b").await?.as_ref().map(|id| id.as_str()), Some("a"));
    /// assert_eq!(of("a").await?, None, "it is an item itself");
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn absorber(&self, id: ItemId, key: Key) -> Result<Option<ItemId>, Error> {
        self.turno.reads(Needs::of(Permission::QueuesProduce)).await?;
        let row = self.row().await?;
        Ok(self.turno.inner.store.absorber(row.id, id, key).await?)
    }

    /// How many items are in which state.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-counts-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// # let queue = turno.put_queue("mails", Policy::of(Kind::Inbox)).await?;
    /// queue.enqueue(vec![Draft::json("hola")?]).await?;
    /// assert_eq!(queue.counts().await?.pending, 1);
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn counts(&self) -> Result<Counts, Error> {
        let row = self.looked_at().await?;
        Ok(self.turno.inner.store.counts(row.id).await?)
    }

    /// The queue at a glance: policy, counts, how old what waits is, and what went on in the last minute.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-overview-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// # let queue = turno.put_queue("mails", Policy::of(Kind::Inbox)).await?;
    /// queue.enqueue(vec![Draft::json("hola")?]).await?;
    /// let overview = queue.overview().await?;
    /// assert_eq!((overview.counts.pending, overview.processed_last_minute), (1, 0));
    /// assert!(overview.oldest_waiting <= Some(overview.now));
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn overview(&self) -> Result<Overview, Error> {
        self.looked_at().await?;
        let inner = &self.turno.inner;
        let row = inner.refresh(&self.name).await?;
        let since = Time(inner.clock.estimate().0 - LATELY.0);
        let pulse = inner.store.pulse(row.id, since).await?;
        let waits = inner.store.waits(row.id, since, Latency::MOST).await?;
        Ok(Overview {
            row,
            latency: Latency::of(&waits),
            counts: pulse.counts,
            oldest_waiting: pulse.oldest,
            processed_last_minute: pulse.processed,
            failed_last_minute: pulse.failed,
            now: pulse.now,
        })
    }

    /// Why an item is not running, or who runs it; nothing if there is no such item.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-why-item-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// # let queue = turno.put_queue("mails", Policy::of(Kind::Inbox)).await?;
    /// use turno::core::{queue::WhyReason, time::Span};
    /// let (id, _) = queue.enqueue(vec![Draft::json("hola")?.delay(Span::from_secs(9))]).await?.remove(0);
    /// let why = queue.why_item(id).await?.expect("it was accepted");
    /// assert_eq!((why.running, why.reason.code()), (false, "delayed"));
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn why_item(&self, id: ItemId) -> Result<Option<Why>, Error> {
        self.looked_at().await?;
        self.why_now(&id, why_item).await
    }

    /// Why nothing of a key is running, or who runs it.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-why-key-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// let chat = turno.put_queue("chat", Policy::of(Kind::Lane)).await?;
    /// assert_eq!(chat.why_key("ana".try_into()?).await?.reason.code(), "empty");
    /// chat.enqueue(vec![Draft::json("hola")?.key("ana")?]).await?;
    /// assert_eq!(chat.why_key("ana".try_into()?).await?.reason.code(), "window_open");
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn why_key(&self, key: Key) -> Result<Why, Error> {
        self.looked_at().await?;
        let row = self.turno.inner.refresh(&self.name).await?;
        let lane = (row.policy.kind != Kind::Inbox).then(|| Lane::of(&key));
        let front = self.front(&row, lane).await?;
        let mut items: Vec<FrontItem> =
            front.items.iter().filter(|known| known.key.as_ref() == Some(&key)).cloned().collect();
        if items.is_empty() && (lane.is_none() || !front.items.is_empty()) {
            // An inbox has no lanes; and where two keys share one, the other may be longer than what was read.
            items = self.unfinished(&row, &key).await?;
        }
        let completing = self.completing(front.now, items.iter().chain(&front.items)).await?;
        let read = read(&row, &front, completing);
        let why = why_key(&read, &key, &items, None);
        // What an attempt said is read only where somebody wants to know.
        let spoken_of = items.iter().find(|known| Some(&known.id) == why.item.as_ref());
        match (spoken_of, &why.reason) {
            (Some(known), WhyReason::RetryLater { .. } | WhyReason::Exhausted { error: None }) => {
                let record = self.turno.inner.store.item(row.id, known.id.clone()).await?;
                let error = record.as_ref().and_then(|record| record.errors.last());
                Ok(why_key(&read, &key, &items, error))
            }
            _ => Ok(why),
        }
    }

    /// As [`QueueHandle::why_item`], for those who have asked whether they may, and taken in what applications left.
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
        let known = known.unwrap_or(FrontItem { item, id: id.clone(), key });
        let completing = self.completing(front.now, front.items.iter().chain([&known])).await?;
        Ok(Some(decide(&read(&row, &front, completing), &known, error)))
    }

    /// The fence of what is handed out and over by its time, if an application is completing it all the same.
    async fn completing(&self, now: Time, items: impl Iterator<Item = &FrontItem>) -> Result<Option<Fence>, Error> {
        let over = items.map(|known| &known.item).filter(|item| item.expires_at.is_some_and(|at| at <= now));
        let Some(first) = over.min_by_key(|item| item.seq) else { return Ok(None) };
        let (seq, fence) = (first.seq, first.fence);
        Ok(self.turno.inner.store.completing(seq).await?.then_some(fence))
    }

    /// What stands at the front of a lane: enough to see a delivery and what follows it.
    async fn front(&self, row: &QueueRow, lane: Option<Lane>) -> Result<LaneFront, Error> {
        let inner = &self.turno.inner;
        match lane {
            Some(lane) => Ok(inner.store.lane_front(row.id, lane, front_size(&row.policy)).await?),
            None => Ok(LaneFront { now: inner.clock.estimate(), ..LaneFront::default() }),
        }
    }

    /// The first unfinished items of a key that is not read by its lane: of each state the first.
    async fn unfinished(&self, row: &QueueRow, key: &Key) -> Result<Vec<FrontItem>, Error> {
        let mut items = Vec::new();
        for state in [ItemState::InProcess, ItemState::Pending, ItemState::Error, ItemState::Exhausted] {
            let query = ItemQuery { state: Some(state), key: Some(key.clone()), after: None, limit: 1 };
            for ItemRecord { item, body, .. } in self.turno.inner.store.items(row.id, query).await? {
                items.extend(item.map(|item| FrontItem { item, id: body.id, key: body.key }));
            }
        }
        items.sort_by_key(|known| known.item.seq);
        Ok(items)
    }

    /// Reads an item by its id. If there is none, it may be further behind in a large backlog of what applications left.
    async fn find(&self, row: &QueueRow, id: &ItemId) -> Result<Option<ItemRecord>, Error> {
        let inner = &self.turno.inner;
        match inner.store.item(row.id, id.clone()).await? {
            None if inner.intake.all(row.id).await?.found => Ok(inner.store.item(row.id, id.clone()).await?),
            found => Ok(found),
        }
    }

    /// May be looked at, with what applications have left for it by now taken in.
    async fn looked_at(&self) -> Result<Arc<QueueRow>, Error> {
        self.turno.reads(Needs::READING).await?;
        let row = self.row().await?;
        self.turno.inner.intake.read(row.id).await?;
        Ok(row)
    }
}

/// A whole delivery, and some that a person sent round again.
fn front_size(policy: &Policy) -> u32 {
    policy.batch() + 3
}

fn read<'a>(row: &'a QueueRow, front: &'a LaneFront, completing: Option<Fence>) -> WhyRead<'a> {
    let (now, typed_at) = (front.now, front.typed_at);
    WhyRead { policy: &row.policy, paused: row.paused, now, front: &front.items, typed_at, completing }
}
