//! Reads of the model: lists, counts and overviews.

use super::Rows;
use crate::db::BOTTOM;
use std::collections::BTreeSet;
use turno::core::id::{ItemId, Key, Lane, QueueId};
use turno::core::queue::{Body, Done, Ended, Item, ItemState, Kind, Waited};
use turno::core::time::Time;
use turno::store::{Counts, ItemPage, ItemQuery, ItemRecord, ItemSize, LaneFront, LaneLocks, Pulse};

impl Rows {
    pub(super) fn record(&self, body: &Body, now: Time) -> ItemRecord {
        let errors = self.db.errors.get(&body.seq).cloned().unwrap_or_default();
        let came_back = self.db.came_back.get(&body.seq).cloned().unwrap_or_default();
        let (item, done) = (self.db.hot.get(&body.seq).cloned(), self.db.done.get(&body.seq).cloned());
        let payload_bytes = body.payload.len();
        ItemRecord { now, body: body.clone(), item, done, errors, came_back, payload_bytes, payload_cut: false }
    }

    /// Returns the state at the time of the record, whether or not a sweep has run.
    fn state_of(&self, record: &ItemRecord) -> ItemState {
        let queue = self.queues.iter().find(|queue| queue.id == record.body.queue);
        let now = queue.map_or_else(|| record.clone(), |queue| record.clone().lapsed(&queue.policy));
        now.state(record.now)
    }

    pub(super) fn items(&self, queue: QueueId, query: &ItemQuery, now: Time) -> Vec<ItemRecord> {
        let records = self.db.bodies.values().filter(|body| body.queue == queue).map(|body| self.record(body, now));
        let wanted = |record: &ItemRecord| {
            query.after.is_none_or(|after| record.body.seq > after)
                && query.key.as_ref().is_none_or(|key| record.body.key.as_ref() == Some(key))
                && query.state.is_none_or(|state| self.state_of(record) == state)
        };
        records.filter(wanted).take(query.limit as usize).collect()
    }

    /// Returns the page that a query gets: the items that fit, and the payloads that it reads.
    pub(super) fn item_page(&self, queue: QueueId, query: &ItemQuery, now: Time) -> ItemPage {
        let mut items = self.items(queue, query, now);
        let size = |record: &ItemRecord| ItemSize {
            payload: record.payload_bytes,
            errors: record.errors.iter().map(|error| error.error.len()).sum(),
        };
        let fitting = query.fitting(items.iter().map(size));
        let more = fitting < items.len();
        items.truncate(fitting);
        for record in items.iter_mut().filter(|record| record.payload_bytes > query.payload_max) {
            (record.payload_cut, record.body.payload) = (true, "null".into());
        }
        ItemPage { items, more }
    }

    pub(super) fn absorber(&self, queue: QueueId, id: ItemId, key: &Key) -> Option<ItemId> {
        let at = self.db.absorbed.get(&(queue, id))?.at;
        let of = |body: &&Body| body.queue == queue && body.key.as_ref() == Some(key) && body.enqueued_at <= at;
        let open = |body: &&Body| self.db.done.get(&body.seq).is_none_or(|done| done.at >= at);
        self.db.bodies.values().filter(of).rfind(open).map(|body| body.id.clone())
    }

    pub(super) fn counts(&self, queue: QueueId, now: Time) -> Counts {
        let mut counts = Counts::default();
        let all = ItemQuery { limit: u32::MAX, ..ItemQuery::default() };
        self.items(queue, &all, now).iter().for_each(|record| counts.add(self.state_of(record)));
        counts
    }

    pub(super) fn pulse(&self, queue: QueueId, since: Time, now: Time) -> Pulse {
        let waits =
            |body: &&Body| matches!(self.state_of(&self.record(body, now)), ItemState::Pending | ItemState::Error);
        let acked = self.db.done.values().filter(|done| done.queue == queue && done.ended == Ended::Processed);
        let failed = self.db.errors.values().flatten().filter(|error| self.db.bodies[&error.seq].queue == queue);
        Pulse {
            now,
            counts: self.counts(queue, now),
            oldest: self
                .db
                .bodies
                .values()
                .filter(|body| body.queue == queue)
                .filter(waits)
                .map(|body| body.enqueued_at)
                .min(),
            processed: acked.filter(|done| done.at > since).count() as i64,
            failed: failed.filter(|error| error.at > since).count() as i64,
        }
    }

    pub(super) fn waits(&self, queue: QueueId, since: Time, limit: usize) -> Vec<Waited> {
        let acked = |done: &&Done| done.queue == queue && done.ended == Ended::Processed && done.at > since;
        let waited = |done: &Done| {
            let came = self.db.bodies[&done.seq].enqueued_at;
            Some(Waited { waited: came.until(done.handed_at?), took: came.until(done.at) })
        };
        self.db.done.values().filter(acked).filter_map(waited).take(limit).collect()
    }

    pub(super) fn lane_front(&self, queue: QueueId, lane: Lane, size: u32, now: Time) -> LaneFront {
        let marked = |item: &Item| item.ready_at.is_some() || item.expires_at.is_some();
        let looked_at = self.db.lane_front(queue, lane, BOTTOM, LaneFront::LOOKED_AT as usize);
        let found = looked_at.into_iter().enumerate().filter(|(place, item)| *place < size as usize || marked(item));
        let items = found.map(|(_, item)| self.db.front_item(item)).collect();
        LaneFront { now, items, typed_at: self.db.typing.get(&(queue, lane)).copied() }
    }

    pub(super) fn lanes(&self, queue: QueueId, after: Option<Lane>, limit: u32) -> Vec<Lane> {
        let of = self.db.hot.values().filter(|item| item.queue == queue && !item.parked);
        let lanes: BTreeSet<Lane> = of.filter_map(|item| item.lane).collect();
        lanes.into_iter().filter(|lane| after.is_none_or(|after| *lane > after)).take(limit as usize).collect()
    }

    pub(super) fn lane_locks(&self, now: Time) -> LaneLocks {
        let is_lane =
            |item: &&Item| self.queues.iter().any(|queue| queue.id == item.queue && queue.policy.kind == Kind::Lane);
        let (mut live, mut waits) = (BTreeSet::new(), BTreeSet::new());
        for item in self.db.hot.values().filter(is_lane) {
            if item.expires_at.is_some_and(|at| now < at) {
                live.insert((item.queue, item.lane));
            } else if !item.parked {
                waits.insert((item.queue, item.lane));
            }
        }
        let (active_locks, active_queues) = (live.len() as i64, waits.len() as i64);
        LaneLocks { active_locks, active_queues, total_users: live.union(&waits).count() as i64 }
    }
}
