//! Reads of items, queue summaries, lanes and expiries. Each is one read transaction, and so as of one instant.

use super::row::{BODY_COLUMNS, ITEM_COLUMNS, attempt_error, body, came_back, done, item, name, name_if, size};
use super::{SqliteStore, now, settle, sql};
use crate::store::{
    Counts, ItemPage, ItemQuery, ItemReader, ItemRecord, ItemSize, LaneFront, LaneLocks, Pending, Pulse, StoreError,
};
use rusqlite::{Connection, OptionalExtension, Params};
use std::collections::HashMap;
use turno_core::id::{Fence, ItemId, Key, Lane, QueueId, Seq};
use turno_core::queue::{Body, DeliveryRef, FrontItem, Item, ItemState, Trace, Waited};
use turno_core::time::{Span, Time};

pub(super) fn find_item(
    db: &mut Connection,
    now: Time,
    queue: QueueId,
    id: &ItemId,
) -> Result<Option<ItemRecord>, StoreError> {
    let tx = db.transaction()?;
    let Some(home) = find(&tx, queue, id)? else {
        return Ok(None);
    };
    let body = tx.prepare_cached(&sql::BODY_READ)?.query_row([home.seq.0], body)?;
    let payload_bytes = body.payload.len();
    Ok(Some(record(&tx, now, body, payload_bytes)?))
}

pub(super) fn absorber(db: &Connection, queue: QueueId, id: &ItemId, key: &Key) -> Result<Option<ItemId>, StoreError> {
    let mut read = db.prepare_cached(&sql::ABSORBER)?;
    let found = read.query_row((queue.0, id.as_str(), key.as_str()), |row| name(row, 0, ItemId::new));
    Ok(found.optional()?)
}

pub(super) fn list(db: &mut Connection, now: Time, queue: QueueId, query: &ItemQuery) -> Result<ItemPage, StoreError> {
    let tx = db.transaction()?;
    let (queue, after, limit) = (queue.0, query.after.map_or(i64::MIN, |Seq(seq)| seq), query.limit);
    let state = query.state.map(ItemState::as_str);
    let cut = i64::try_from(query.read_at_once()).unwrap_or(i64::MAX);
    let bodies = match (&query.key, query.state) {
        (Some(key), _) => bodies(&tx, &sql::ITEM_OF_KEY, (queue, Key::as_str(key), after, state, now.0, limit, cut)),
        (None, None) => bodies(&tx, &sql::ITEM_LIST, (queue, after, limit, cut)),
        (None, Some(ItemState::Pending | ItemState::Error)) => {
            bodies(&tx, &sql::ITEM_WAITING, (queue, after, state, now.0, limit, cut))
        }
        (None, Some(ItemState::InProcess)) => bodies(&tx, &sql::ITEM_IN_PROCESS, (queue, after, now.0, limit, cut)),
        (None, Some(ItemState::Processed)) => bodies(&tx, &sql::ITEM_PROCESSED, (queue, after, limit, cut)),
        (None, Some(ItemState::Exhausted)) => bodies(&tx, &sql::ITEM_EXHAUSTED, (queue, after, limit, now.0, cut)),
        (None, Some(ItemState::Cancelled)) => bodies(&tx, &sql::ITEM_CANCELLED, (queue, after, limit, cut)),
    };
    let found = bodies?;
    let fitting = query.fitting(found.iter().map(|(_, size)| *size));
    let more = fitting < found.len();
    let record = |(mut known, size): (Body, ItemSize)| {
        let late = size.payload > query.read_at_once();
        let payload_cut = late && size.payload > query.payload_max;
        if late && !payload_cut {
            known = tx.prepare_cached(&sql::BODY_READ)?.query_row([known.seq.0], body)?;
        }
        Ok(ItemRecord { payload_cut, ..record(&tx, now, known, size.payload)? })
    };
    let items = found.into_iter().take(fitting).map(record).collect::<Result<_, StoreError>>()?;
    Ok(ItemPage { items, more })
}

/// Returns the listed bodies with their sizes. Payloads that the statement cuts are `null`.
fn bodies(db: &Connection, text: &str, values: impl Params) -> Result<Vec<(Body, ItemSize)>, StoreError> {
    let mut read = db.prepare_cached(text)?;
    let found = read.query_map(values, |row| {
        let size = ItemSize { payload: size(row, BODY_COLUMNS)?, errors: size(row, BODY_COLUMNS + 1)? };
        Ok((body(row)?, size))
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Reads the other rows of an item, given its body.
fn record(db: &Connection, now: Time, body: Body, payload_bytes: usize) -> Result<ItemRecord, StoreError> {
    let seq = body.seq.0;
    let item = items(db, &sql::HOT_READ, [seq])?.pop();
    let done = db.prepare_cached(&sql::DONE_READ)?.query_row([seq], done).optional()?;
    let mut read = db.prepare_cached(&sql::ERROR_LIST)?;
    let errors = read.query_map([seq], attempt_error)?.collect::<Result<_, _>>()?;
    let mut read = db.prepare_cached(&sql::CAME_BACK_LIST)?;
    let came_back = read.query_map([seq], came_back)?.collect::<Result<_, _>>()?;
    Ok(ItemRecord { now, body, item, done, errors, came_back, payload_bytes, payload_cut: false })
}

pub(super) fn counts(db: &mut Connection, now: Time, queue: QueueId) -> Result<Counts, StoreError> {
    let tx = db.transaction()?;
    Ok(counts_and_oldest(&tx, now, queue)?.0)
}

/// Returns the counts, and since when the oldest item waits.
fn counts_and_oldest(tx: &Connection, now: Time, queue: QueueId) -> Result<(Counts, Option<Time>), StoreError> {
    let (mut counts, oldest) = tx.query_row(&sql::HOT_COUNT, (queue.0, now.0), |row| {
        let (pending, in_process) = (row.get(0)?, row.get(1)?);
        let counts = Counts { pending, in_process, error: row.get(2)?, exhausted: row.get(3)?, ..Counts::default() };
        Ok((counts, row.get::<_, Option<i64>>(4)?.map(Time)))
    })?;
    tx.query_row(&sql::DONE_COUNT, [queue.0], |row| {
        counts.processed = row.get(0)?;
        counts.exhausted += row.get::<_, i64>(1)?;
        counts.cancelled = row.get(2)?;
        Ok(())
    })?;
    Ok((counts, oldest))
}

pub(super) fn pulse(db: &mut Connection, now: Time, queue: QueueId, since: Time) -> Result<Pulse, StoreError> {
    let tx = db.transaction()?;
    let (counts, oldest) = counts_and_oldest(&tx, now, queue)?;
    let mut read = tx.prepare_cached(&sql::QUEUE_RATES)?;
    let (processed, failed) = read.query_row((queue.0, since.0, Pulse::MOST), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(Pulse { now, counts, oldest, processed, failed })
}

pub(super) fn waits(db: &Connection, queue: QueueId, since: Time, limit: u32) -> Result<Vec<Waited>, StoreError> {
    let mut read = db.prepare_cached(&sql::QUEUE_WAITS)?;
    let waited = |row: &rusqlite::Row<'_>| Ok(Waited { waited: Span(row.get(0)?), took: Span(row.get(1)?) });
    Ok(read.query_map((queue.0, since.0, limit), waited)?.collect::<Result<_, _>>()?)
}

pub(super) fn lane_front(
    db: &mut Connection,
    now: Time,
    queue: QueueId,
    lane: Lane,
    size: u32,
) -> Result<LaneFront, StoreError> {
    let tx = db.transaction()?;
    let items = items_with_names(&tx, &sql::LANE_LOOK, (queue.0, lane.0, size, LaneFront::LOOKED_AT))?;
    let mut read = tx.prepare_cached(&sql::TYPING_READ)?;
    let typed_at = read.query_row((queue.0, lane.0), |row| row.get(0)).optional()?.map(Time);
    Ok(LaneFront { now, items, typed_at })
}

pub(super) fn lanes(db: &Connection, queue: QueueId, after: Option<Lane>, limit: u32) -> Result<Vec<Lane>, StoreError> {
    let Some(from) = after.map_or(Some(i64::MIN), |Lane(lane)| lane.checked_add(1)) else {
        return Ok(Vec::new());
    };
    let mut read = db.prepare_cached(&sql::LANE_NAMES)?;
    let found = read.query_map((queue.0, from, limit), |row| row.get(0).map(Lane))?;
    Ok(found.collect::<Result<_, _>>()?)
}

pub(super) fn lane_locks(db: &Connection, now: Time) -> Result<LaneLocks, StoreError> {
    let mut read = db.prepare_cached(&sql::LANE_LOCKS)?;
    Ok(read.query_row([now.0], |row| {
        Ok(LaneLocks { active_locks: row.get(0)?, active_queues: row.get(1)?, total_users: row.get(2)? })
    })?)
}

/// Returns expired deliveries, oldest first, and the next expiry.
pub(super) fn expired(db: &Connection, now: Time, limit: u32) -> Result<(Vec<DeliveryRef>, Option<Time>), StoreError> {
    let mut found: Vec<DeliveryRef> = Vec::new();
    let mut indexes: HashMap<Fence, usize> = HashMap::new();
    let mut latest = None;
    let mut read = db.prepare_cached(&sql::HOT_EXPIRED)?;
    let mut rows = read.query([now.0])?;
    while let Some(row) = rows.next()? {
        let full = found.len() >= limit as usize;
        let expires_at: i64 = row.get(4)?;
        // The items of a delivery expire at the same instant. At a later instant, all found deliveries are complete.
        if full && latest != Some(expires_at) {
            break;
        }
        latest = Some(expires_at);
        let fence = Fence(row.get(3)?);
        if let Some(index) = indexes.get(&fence) {
            found[*index].size += 1;
        } else if !full {
            indexes.insert(fence, found.len());
            let lane = row.get::<_, Option<i64>>(2)?.map(Lane);
            let (queue, seq) = (QueueId(row.get(0)?), Seq(row.get(1)?));
            found.push(DeliveryRef { queue, seq, lane, size: 1, fence });
        }
    }
    let mut read = db.prepare_cached(&sql::HOT_NEXT_EXPIRY)?;
    let next: Option<i64> = read.query_row([now.0], |row| row.get(0))?;
    Ok((found, next.map(Time)))
}

pub(super) fn next_look(db: &Connection, queue: QueueId, after: Time) -> Result<Option<Time>, StoreError> {
    let mut read = db.prepare_cached(&sql::HOT_NEXT_LOOK)?;
    let next: Option<i64> = read.query_row((queue.0, after.0), |row| row.get(0))?;
    Ok(next.map(Time))
}

/// The identity of an item: seq, key and time of acceptance.
pub(super) struct Home {
    pub(super) seq: Seq,
    pub(super) key: Option<Key>,
    pub(super) enqueued_at: Time,
}

/// Finds an item by its id.
pub(super) fn find(db: &Connection, queue: QueueId, id: &ItemId) -> Result<Option<Home>, StoreError> {
    let mut read = db.prepare_cached(&sql::BODY_FIND)?;
    let home = read.query_row((queue.0, id.as_str()), |row| {
        Ok(Home { seq: Seq(row.get(0)?), key: name_if(row, 1, Key::new)?, enqueued_at: Time(row.get(2)?) })
    });
    Ok(home.optional()?)
}

/// Returns the unfinished items that a statement finds.
pub(super) fn items(db: &Connection, text: &str, values: impl Params) -> Result<Vec<Item>, StoreError> {
    let mut read = db.prepare_cached(text)?;
    let found = read.query_map(values, item)?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Returns the unfinished items that a statement finds, and adds the sizes of their payloads to `bytes`.
pub(super) fn items_with_bytes(
    db: &Connection,
    text: &str,
    values: impl Params,
    bytes: &mut HashMap<Seq, usize>,
) -> Result<Vec<Item>, StoreError> {
    let mut read = db.prepare_cached(text)?;
    let found = read.query_map(values, |row| {
        let item = item(row)?;
        bytes.insert(item.seq, size(row, ITEM_COLUMNS)?);
        Ok(item)
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

pub(super) fn front_named(
    tx: &Connection,
    queue: QueueId,
    lane: Lane,
    size: u32,
) -> Result<Vec<FrontItem>, StoreError> {
    items_with_names(tx, &sql::HOT_FRONT_NAMED, (queue.0, lane.0, size))
}

/// Returns the unfinished items that a statement finds, with their ids and keys.
pub(super) fn items_with_names(db: &Connection, text: &str, values: impl Params) -> Result<Vec<FrontItem>, StoreError> {
    let mut read = db.prepare_cached(text)?;
    let found = read.query_map(values, |row| {
        Ok(FrontItem {
            item: item(row)?,
            id: name(row, ITEM_COLUMNS, ItemId::new)?,
            key: name_if(row, ITEM_COLUMNS + 1, Key::new)?,
            bytes: size(row, ITEM_COLUMNS + 2)?,
        })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

impl ItemReader for SqliteStore {
    fn item(&self, queue: QueueId, id: ItemId) -> Pending<'_, Option<ItemRecord>> {
        let clock = self.clock.clone();
        self.looks.run(move |db| find_item(db, now(&clock), queue, &id))
    }

    fn absorber(&self, queue: QueueId, id: ItemId, key: Key) -> Pending<'_, Option<ItemId>> {
        self.looks.run(move |db| absorber(db, queue, &id, &key))
    }

    fn items(&self, queue: QueueId, query: ItemQuery) -> Pending<'_, ItemPage> {
        let clock = self.clock.clone();
        self.looks.run(move |db| list(db, now(&clock), queue, &query))
    }

    fn settled(&self, reference: Vec<DeliveryRef>) -> Pending<'_, Vec<Trace>> {
        self.beats.run(move |db| settle::settled(db, &reference))
    }

    fn expired(&self, limit: u32) -> Pending<'_, (Vec<DeliveryRef>, Option<Time>)> {
        let clock = self.clock.clone();
        self.looks.run(move |db| expired(db, now(&clock), limit))
    }

    fn next_look(&self, queue: QueueId, after: Time) -> Pending<'_, Option<Time>> {
        self.looks.run(move |db| next_look(db, queue, after))
    }

    fn counts(&self, queue: QueueId) -> Pending<'_, Counts> {
        let clock = self.clock.clone();
        self.looks.run(move |db| counts(db, now(&clock), queue))
    }

    fn pulse(&self, queue: QueueId, since: Time) -> Pending<'_, Pulse> {
        let clock = self.clock.clone();
        self.looks.run(move |db| pulse(db, now(&clock), queue, since))
    }

    fn waits(&self, queue: QueueId, since: Time, limit: u32) -> Pending<'_, Vec<Waited>> {
        self.looks.run(move |db| waits(db, queue, since, limit))
    }

    fn lane_front(&self, queue: QueueId, lane: Lane, size: u32) -> Pending<'_, LaneFront> {
        let clock = self.clock.clone();
        self.looks.run(move |db| lane_front(db, now(&clock), queue, lane, size))
    }

    fn lanes(&self, queue: QueueId, after: Option<Lane>, limit: u32) -> Pending<'_, Vec<Lane>> {
        self.looks.run(move |db| lanes(db, queue, after, limit))
    }

    fn lane_locks(&self) -> Pending<'_, LaneLocks> {
        let clock = self.clock.clone();
        self.looks.run(move |db| lane_locks(db, now(&clock)))
    }
}
