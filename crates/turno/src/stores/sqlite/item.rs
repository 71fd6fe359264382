//! Reads of items, queue summaries, lanes and expiries. Each is one read transaction, and so as of one instant.

use super::read::{all, first, only};
use super::row::{BODY_COLUMNS, ITEM_COLUMNS, attempt_error, body, came_back, done, item, name, name_if, size};
use super::{SqliteStore, settle, sql};
use crate::store::{
    Counts, ItemPage, ItemQuery, ItemReader, ItemRecord, ItemSize, LaneFront, LaneLocks, Pending, Pulse, StoreError,
};
use rusqlite::{Connection, Params, Row};
use std::collections::HashMap;
use turno_core::id::{Fence, ItemId, Key, Lane, QueueId, Seq};
use turno_core::queue::{Body, DeliveryRef, FrontItem, Item, ItemState, Trace, Waited};
use turno_core::time::{Span, Time};

fn list(db: &mut Connection, now: Time, queue: QueueId, query: &ItemQuery) -> Result<ItemPage, StoreError> {
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
            known = only(&tx, &sql::BODY_READ, [known.seq.0], body)?;
        }
        Ok(ItemRecord { payload_cut, ..record(&tx, now, known, size.payload)? })
    };
    let items = found.into_iter().take(fitting).map(record).collect::<Result<_, StoreError>>()?;
    Ok(ItemPage { items, more })
}

/// Returns the listed bodies with their sizes. Payloads that the statement cuts are `null`.
fn bodies(db: &Connection, text: &str, values: impl Params) -> Result<Vec<(Body, ItemSize)>, StoreError> {
    all(db, text, values, |row| {
        let size = ItemSize { payload: size(row, BODY_COLUMNS)?, errors: size(row, BODY_COLUMNS + 1)? };
        Ok((body(row)?, size))
    })
}

/// Reads the other rows of an item, given its body.
fn record(db: &Connection, now: Time, body: Body, payload_bytes: usize) -> Result<ItemRecord, StoreError> {
    let seq = body.seq.0;
    let item = items(db, &sql::HOT_READ, [seq])?.pop();
    let done = first(db, &sql::DONE_READ, [seq], done)?;
    let errors = all(db, &sql::ERROR_LIST, [seq], attempt_error)?;
    let came_back = all(db, &sql::CAME_BACK_LIST, [seq], came_back)?;
    Ok(ItemRecord { now, body, item, done, errors, came_back, payload_bytes, payload_cut: false })
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

/// Returns expired deliveries, oldest first, and the next expiry.
fn expired(db: &Connection, now: Time, limit: u32) -> Result<(Vec<DeliveryRef>, Option<Time>), StoreError> {
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
    let next: Option<i64> = only(db, &sql::HOT_NEXT_EXPIRY, [now.0], |row| row.get(0))?;
    Ok((found, next.map(Time)))
}

/// The identity of an item: seq, key and time of acceptance.
pub(super) struct Home {
    pub(super) seq: Seq,
    pub(super) key: Option<Key>,
    pub(super) enqueued_at: Time,
}

/// Finds an item by its id.
pub(super) fn find(db: &Connection, queue: QueueId, id: &ItemId) -> Result<Option<Home>, StoreError> {
    first(db, &sql::BODY_FIND, (queue.0, id.as_str()), |row| {
        Ok(Home { seq: Seq(row.get(0)?), key: name_if(row, 1, Key::new)?, enqueued_at: Time(row.get(2)?) })
    })
}

/// Returns the unfinished items that a statement finds.
pub(super) fn items(db: &Connection, text: &str, values: impl Params) -> Result<Vec<Item>, StoreError> {
    all(db, text, values, item)
}

/// Returns the unfinished items that a statement finds, and adds the sizes of their payloads to `bytes`.
pub(super) fn items_with_bytes(
    db: &Connection,
    text: &str,
    values: impl Params,
    bytes: &mut HashMap<Seq, usize>,
) -> Result<Vec<Item>, StoreError> {
    all(db, text, values, |row| {
        let item = item(row)?;
        bytes.insert(item.seq, size(row, ITEM_COLUMNS)?);
        Ok(item)
    })
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
fn items_with_names(db: &Connection, text: &str, values: impl Params) -> Result<Vec<FrontItem>, StoreError> {
    all(db, text, values, |row| {
        Ok(FrontItem {
            item: item(row)?,
            id: name(row, ITEM_COLUMNS, ItemId::new)?,
            key: name_if(row, ITEM_COLUMNS + 1, Key::new)?,
            bytes: size(row, ITEM_COLUMNS + 2)?,
        })
    })
}

impl ItemReader for SqliteStore {
    fn item(&self, queue: QueueId, id: ItemId) -> Pending<'_, Option<ItemRecord>> {
        self.look(move |db, now| {
            let tx = db.transaction()?;
            let Some(home) = find(&tx, queue, &id)? else {
                return Ok(None);
            };
            let body = only(&tx, &sql::BODY_READ, [home.seq.0], body)?;
            let payload_bytes = body.payload.len();
            Ok(Some(record(&tx, now, body, payload_bytes)?))
        })
    }

    fn absorber(&self, queue: QueueId, id: ItemId, key: Key) -> Pending<'_, Option<ItemId>> {
        self.looks.run(move |db| {
            let values = (queue.0, id.as_str(), key.as_str());
            first(db, &sql::ABSORBER, values, |row| name(row, 0, ItemId::new))
        })
    }

    fn items(&self, queue: QueueId, query: ItemQuery) -> Pending<'_, ItemPage> {
        self.look(move |db, now| list(db, now, queue, &query))
    }

    fn settled(&self, reference: Vec<DeliveryRef>) -> Pending<'_, Vec<Trace>> {
        self.beats.run(move |db| settle::settled(db, &reference))
    }

    fn expired(&self, limit: u32) -> Pending<'_, (Vec<DeliveryRef>, Option<Time>)> {
        self.look(move |db, now| expired(db, now, limit))
    }

    fn next_look(&self, queue: QueueId, after: Time) -> Pending<'_, Option<Time>> {
        self.looks.run(move |db| {
            let next: Option<i64> = only(db, &sql::HOT_NEXT_LOOK, (queue.0, after.0), |row| row.get(0))?;
            Ok(next.map(Time))
        })
    }

    fn counts(&self, queue: QueueId) -> Pending<'_, Counts> {
        self.look(move |db, now| Ok(counts_and_oldest(&*db.transaction()?, now, queue)?.0))
    }

    fn pulse(&self, queue: QueueId, since: Time) -> Pending<'_, Pulse> {
        self.look(move |db, now| {
            let tx = db.transaction()?;
            let (counts, oldest) = counts_and_oldest(&tx, now, queue)?;
            let values = (queue.0, since.0, Pulse::MOST);
            let (processed, failed) = only(&tx, &sql::QUEUE_RATES, values, |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(Pulse { now, counts, oldest, processed, failed })
        })
    }

    fn waits(&self, queue: QueueId, since: Time, limit: u32) -> Pending<'_, Vec<Waited>> {
        let waited = |row: &Row<'_>| Ok(Waited { waited: Span(row.get(0)?), took: Span(row.get(1)?) });
        self.looks.run(move |db| all(db, &sql::QUEUE_WAITS, (queue.0, since.0, limit), waited))
    }

    fn lane_front(&self, queue: QueueId, lane: Lane, size: u32) -> Pending<'_, LaneFront> {
        self.look(move |db, now| {
            let tx = db.transaction()?;
            let items = items_with_names(&tx, &sql::LANE_LOOK, (queue.0, lane.0, size, LaneFront::LOOKED_AT))?;
            let typed_at = first(&tx, &sql::TYPING_READ, (queue.0, lane.0), |row| row.get(0).map(Time))?;
            Ok(LaneFront { now, items, typed_at })
        })
    }

    fn lanes(&self, queue: QueueId, after: Option<Lane>, limit: u32) -> Pending<'_, Vec<Lane>> {
        self.looks.run(move |db| {
            let Some(from) = after.map_or(Some(i64::MIN), |Lane(lane)| lane.checked_add(1)) else {
                return Ok(Vec::new());
            };
            all(db, &sql::LANE_NAMES, (queue.0, from, limit), |row| row.get(0).map(Lane))
        })
    }

    fn lane_locks(&self) -> Pending<'_, LaneLocks> {
        let counts = |row: &Row<'_>| {
            Ok(LaneLocks { active_locks: row.get(0)?, active_queues: row.get(1)?, total_users: row.get(2)? })
        };
        self.look(move |db, now| only(db, &sql::LANE_LOCKS, [now.0], counts))
    }
}
