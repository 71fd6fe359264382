//! Reads about a queue and its items, outside of groups.

use super::Pending;
use turno_core::id::{Fence, ItemId, Key, Lane, QueueId, Seq};
use turno_core::limits::{ANSWER_BYTES, PAYLOAD_LISTED_MAX};
use turno_core::queue::{
    AttemptError, Body, DeliveryRef, Done, FrontItem, Item, ItemState, Lapsed, Last, Policy, Trace, UncountedDelivery,
    Waited, WorkerName,
};
use turno_core::time::Time;

/// How many items of a queue are in each state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Waiting, without a failed attempt.
    pub pending: i64,
    /// Handed out and live.
    pub in_process: i64,
    /// Waiting after a failure.
    pub error: i64,
    /// Acked.
    pub processed: i64,
    /// No attempts left.
    pub exhausted: i64,
    /// Cancelled by a person.
    pub cancelled: i64,
}

impl Counts {
    /// Returns the count for a state.
    pub fn get(&self, state: ItemState) -> i64 {
        let mut counts = *self;
        *counts.count(state)
    }

    /// Adds one to the count for a state.
    pub fn add(&mut self, state: ItemState) {
        *self.count(state) += 1;
    }

    fn count(&mut self, state: ItemState) -> &mut i64 {
        match state {
            ItemState::Pending => &mut self.pending,
            ItemState::InProcess => &mut self.in_process,
            ItemState::Processed => &mut self.processed,
            ItemState::Error => &mut self.error,
            ItemState::Exhausted => &mut self.exhausted,
            ItemState::Cancelled => &mut self.cancelled,
        }
    }
}

/// A filter for items of a queue, in order of arrival.
///
/// A filter by key, or by the states exhausted, cancelled and in process, reads only matching rows, through an index.
/// Pending and failed items are filtered from all unfinished items behind the cursor, processed items from all finished
/// ones. Without a filter the scan covers the bodies of every queue. So pages of a small queue beside large ones take
/// longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemQuery {
    /// Only items in this state.
    pub state: Option<ItemState>,
    /// Only items of this key.
    pub key: Option<Key>,
    /// Only items behind this seq: the last one of the previous page.
    pub after: Option<Seq>,
    /// The maximum number of items.
    pub limit: u32,
    /// Larger payloads are not read: the record has `null` and [`ItemRecord::payload_cut`].
    pub payload_max: usize,
    /// The payloads and errors that a page may have in bytes. The page ends before the item that does not fit, and has
    /// at least one item.
    pub bytes: usize,
}

impl Default for ItemQuery {
    /// Returns the query for the first hundred items, whatever their size.
    fn default() -> ItemQuery {
        ItemQuery { state: None, key: None, after: None, limit: 100, payload_max: usize::MAX, bytes: usize::MAX }
    }
}

impl ItemQuery {
    /// Returns the query for a list that people read: large payloads are left out, and the page has a bound in bytes.
    pub fn listed() -> ItemQuery {
        ItemQuery { payload_max: PAYLOAD_LISTED_MAX, bytes: ANSWER_BYTES, ..ItemQuery::default() }
    }

    /// Returns the default query for callers that need no payloads.
    pub(crate) fn without_payloads() -> ItemQuery {
        ItemQuery { payload_max: 0, ..ItemQuery::default() }
    }

    /// Returns the largest payload that the list statement itself reads. Larger ones are read afterwards, once the sizes
    /// of all items are known.
    pub(crate) fn read_at_once(&self) -> usize {
        self.payload_max.min(PAYLOAD_LISTED_MAX)
    }

    /// Returns how many of the first items fit into the page, at least one.
    pub fn fitting(&self, sizes: impl Iterator<Item = ItemSize>) -> usize {
        let mut sum = 0usize;
        let fits = |size: &ItemSize| {
            let payload = if size.payload <= self.payload_max { size.payload } else { 0 };
            sum = sum.saturating_add(payload).saturating_add(size.errors);
            sum <= self.bytes
        };
        sizes.take_while(fits).count().max(1)
    }
}

/// The parts of an item that have no small bound, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ItemSize {
    /// The payload.
    pub payload: usize,
    /// The texts of all errors.
    pub errors: usize,
}

/// A page of items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemPage {
    /// The items, in order of arrival.
    pub items: Vec<ItemRecord>,
    /// There are more items behind the page. A store sets it only if the page ended because of its bytes.
    pub more: bool,
}

/// All stored data of one item. Its timeline is derived from these rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemRecord {
    /// When it was read.
    pub now: Time,
    /// The item's body.
    pub body: Body,
    /// The unfinished item, until it finishes.
    pub item: Option<Item>,
    /// The end of a finished item.
    pub done: Option<Done>,
    /// Failed attempts, oldest first.
    pub errors: Vec<AttemptError>,
    /// Hand-outs that ended without counting as an attempt, oldest first. Only the newest are kept.
    pub came_back: Vec<UncountedDelivery>,
    /// The size of the stored payload.
    pub payload_bytes: usize,
    /// The payload was not read because of [`ItemQuery::payload_max`]: the body has `null` instead.
    pub payload_cut: bool,
}

/// The live hand-out, or the last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandOut {
    /// The holder of the delivery.
    pub taker: WorkerName,
    /// The delivery's fence.
    pub fence: Fence,
    /// When the item was handed out; `None` for items that finished before this column existed.
    pub handed_at: Option<Time>,
    /// When the delivery expires; `None` if it is over.
    pub expires_at: Option<Time>,
}

impl ItemRecord {
    /// Applies the effect of an expired delivery that no sweep has written yet.
    pub fn lapsed(mut self, policy: &Policy) -> ItemRecord {
        let lapsed = self.item.as_ref().and_then(|item| item.lapsed(policy, self.now));
        if let Some(Lapsed { item, done, error, back }) = lapsed {
            (self.item, self.done) = (item, done);
            self.errors.extend(error);
            self.came_back.extend(back);
        }
        self
    }

    /// Returns the state at `now`. Pass [`ItemRecord::now`] for the state as of the read.
    pub fn state(&self, now: Time) -> ItemState {
        match (&self.item, &self.done) {
            (Some(item), _) => item.state(now),
            (None, Some(done)) => done.ended.into(),
            // An item moves between the tables within one transaction, so no statement sees it in neither.
            (None, None) => ItemState::Pending,
        }
    }

    /// Returns how many hand-outs counted as attempts.
    pub fn attempts(&self) -> u32 {
        let done = self.done.as_ref().map_or(0, |done| done.attempt);
        self.item.as_ref().map_or(done, |item| item.attempt)
    }

    /// Returns the live hand-out, or the last one.
    pub fn hand_out(&self) -> Option<HandOut> {
        if let Some(item) = &self.item {
            let live = item.expires_at.filter(|at| self.now < *at);
            let taker = item.holder.clone()?;
            return Some(HandOut { taker, fence: item.fence, handed_at: item.claimed_at, expires_at: live });
        }
        let done = self.done.as_ref()?;
        let handed_at = done.handed_at;
        Some(HandOut { taker: done.holder.clone()?, fence: done.fence, handed_at, expires_at: None })
    }

    /// Returns the end of a delay or back-off that is not over yet.
    pub fn due_at(&self) -> Option<Time> {
        let waits = |item: &&Item| item.expires_at.is_none() && !item.parked && self.now < item.not_before;
        self.item.as_ref().filter(waits).map(|item| item.not_before)
    }

    /// Returns the newest revision of a sync item; for a finished item, the revision handed out last.
    pub fn revision(&self) -> i64 {
        let done = self.done.as_ref().map_or(0, |done| done.revision);
        self.item.as_ref().map_or(done, |item| item.revision)
    }

    /// Returns hand-outs whose revision was superseded. Returned hand-outs do not count, because they were not tried.
    fn overtaken(&self) -> impl DoubleEndedIterator<Item = &UncountedDelivery> {
        self.came_back.iter().filter(|back| back.how != Last::Returned)
    }

    /// Returns all errors, oldest first: failed attempts, and failures of superseded revisions. The latter do not count
    /// (attempt 0), because the item was queued again at once.
    pub fn all_errors(&self) -> Vec<AttemptError> {
        let overtaken = self.overtaken().filter_map(|back| {
            Some(AttemptError {
                seq: back.seq,
                attempt: 0,
                fence: back.fence,
                at: back.at,
                error: back.error.clone()?,
                retry_at: Some(back.at),
                holder: back.holder.clone(),
                handed_at: back.handed_at,
                expired: back.how == Last::Expired,
            })
        });
        let mut all: Vec<AttemptError> = self.errors.iter().cloned().chain(overtaken).collect();
        all.sort_by_key(|error| error.at);
        all
    }

    /// Returns the text of the newest error.
    pub fn last_error(&self) -> Option<&str> {
        let failed = self.errors.last().map(|error| (error.at, error.error.as_str()));
        let overtaken = self.overtaken().rev().find_map(|back| Some((back.at, back.error.as_deref()?)));
        failed.max(overtaken).map(|(_, error)| error)
    }
}

/// A summary of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pulse {
    /// When it was read.
    pub now: Time,
    /// How many items are in which state.
    pub counts: Counts,
    /// When the oldest waiting item was accepted. Items in process and exhausted items do not count.
    pub oldest: Option<Time>,
    /// Items acked since the given instant, counted up to [`Pulse::MOST`].
    pub processed: i64,
    /// Attempts that failed or expired since the given instant, counted up to [`Pulse::MOST`].
    pub failed: i64,
}

impl Pulse {
    /// The highest count, so that reading a busy queue stays cheap.
    pub const MOST: i64 = 100_000;
}

/// The first items of a lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaneFront {
    /// When it was read.
    pub now: Time,
    /// The first items, in order, and behind them those that are ready or handed out.
    pub items: Vec<FrontItem>,
    /// The time of the last typing signal.
    pub typed_at: Option<Time>,
}

impl LaneFront {
    /// How many items of a lane are searched for ready or handed-out ones. A longer search costs more than it tells,
    /// because a damaged lane shows at its front.
    pub const LOOKED_AT: u32 = 10_000;
}

/// Counts over all lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneLocks {
    /// Keys with a live delivery.
    pub active_locks: i64,
    /// Keys with waiting items.
    pub active_queues: i64,
    /// Keys with a live delivery or waiting items.
    pub total_users: i64,
}

/// Reads of items, queue summaries and lanes.
pub trait ItemReader {
    /// Returns deliveries that have expired by the database's clock, oldest first, and the next expiry. A store may
    /// return `None` for the next one if it is more than a second away.
    fn expired(&self, limit: u32) -> Pending<'_, (Vec<DeliveryRef>, Option<Time>)>;

    /// Returns the next instant after `after` at which a head of the queue is to be looked at. When `after` is the time
    /// of a claim that found nothing, the answer also covers heads that have become due since.
    fn next_look(&self, queue: QueueId, after: Time) -> Pending<'_, Option<Time>>;

    /// Returns how deliveries ended that are no longer live under these fences. An entry is `Some` only if a settlement
    /// of exactly that fence ended the delivery. Repeated settlements are answered from this. One per entry, in order.
    /// The rule is [`Trace::settled`](turno_core::queue::Trace::settled).
    fn settled(&self, reference: Vec<DeliveryRef>) -> Pending<'_, Vec<Trace>>;

    /// Returns one item with its body, state, errors and returned hand-outs.
    fn item(&self, queue: QueueId, id: ItemId) -> Pending<'_, Option<ItemRecord>>;

    /// Returns the unfinished item that absorbed the change accepted under this id and key.
    fn absorber(&self, queue: QueueId, id: ItemId, key: Key) -> Pending<'_, Option<ItemId>>;

    /// Returns items of a queue in order of arrival, for lists and checks. [`ItemQuery`] says which index serves which
    /// query.
    fn items(&self, queue: QueueId, query: ItemQuery) -> Pending<'_, ItemPage>;

    /// Returns how many items are in each state.
    fn counts(&self, queue: QueueId) -> Pending<'_, Counts>;

    /// Returns a summary of a queue, with counts of items processed and attempts failed at `since` or later.
    fn pulse(&self, queue: QueueId, since: Time) -> Pending<'_, Pulse>;

    /// Returns the timing of up to `limit` items that were acked after `since`, in no particular order.
    fn waits(&self, queue: QueueId, since: Time, limit: u32) -> Pending<'_, Vec<Waited>>;

    /// Returns the first `size` items of a lane and, from the first [`LaneFront::LOOKED_AT`], those that are ready or
    /// handed out.
    fn lane_front(&self, queue: QueueId, lane: Lane, size: u32) -> Pending<'_, LaneFront>;

    /// Returns lanes behind `after`, in order, that have unfinished items which are not exhausted.
    fn lanes(&self, queue: QueueId, after: Option<Lane>, limit: u32) -> Pending<'_, Vec<Lane>>;

    /// Returns counts over all lanes of queues of kind lane.
    fn lane_locks(&self) -> Pending<'_, LaneLocks>;

    /// Returns whether an open transaction of an application is completing the delivery that begins with this item.
    fn completing(&self, _first: Seq) -> Pending<'_, bool> {
        Box::pin(std::future::ready(Ok(false)))
    }
}
