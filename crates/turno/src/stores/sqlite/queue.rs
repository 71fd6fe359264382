//! Groups of queue commands: the rows that each reads, inside the write transaction, before the decision.

use super::rows::{ITEM_COLUMNS, body, done, item, name, name_if};
use super::{audit, changes, numbers, purge, sql};
use crate::store::{
    Bodies, Claim, ClaimGroup, ClaimOutcome, ClearGroup, EnqueueGroup, ManageGroup, Outcomes, SettleGroup, SettleRead,
    StoreError, TypingGroup,
};
use rusqlite::{Connection, OptionalExtension, Params};
use std::collections::HashMap;
use turno_core::id::{ItemId, Key, Lane, QueueId, Seq};
use turno_core::queue::{
    ClaimRead, ClearRead, Delivery, DeliveryRef, Digest, EnqueueRead, FrontItem, Item, Kind, Known, Loaded, ManageRead,
    Managed, Member,
};
use turno_core::time::Time;

pub(super) fn enqueue(tx: &Connection, now: Time, group: &EnqueueGroup) -> Result<Outcomes, StoreError> {
    let mut existing = HashMap::new();
    for (queue, id) in group.given_ids() {
        if let Some(known) = known(tx, queue, &id)? {
            existing.insert((queue, id), known);
        }
    }
    let outlived = group.take_outlived(&mut existing, now);
    if !outlived.is_empty() {
        purge::outlived(tx, now, &outlived)?;
    }
    let mut fronts = HashMap::new();
    for (queue, lane, size) in group.lanes() {
        fronts.insert((queue, lane), front_named(tx, queue, lane, size)?);
    }
    let numbers = numbers(tx, group.numbers())?;
    let (written, answers) = group.decide(EnqueueRead { now, numbers, existing, fronts });
    changes::write(tx, &written)?;
    Ok(Outcomes::Enqueue(answers))
}

/// Looks an id up: as that of an item, or of a change that an item absorbed.
fn known(tx: &Connection, queue: QueueId, id: &ItemId) -> Result<Option<Known>, StoreError> {
    let mut read = tx.prepare_cached(&sql::BODY_KNOWN)?;
    let item = read.query_row((queue.0, id.as_str()), |row| {
        let over_at = row.get::<_, Option<i64>>(3)?.map(Time);
        Ok(Known::Item { seq: Seq(row.get(0)?), key: name_if(row, 1, Key::new)?, payload: row.get(2)?, over_at })
    });
    if let Some(item) = item.optional()? {
        return Ok(Some(item));
    }
    let mut read = tx.prepare_cached(&sql::ABSORBED_READ)?;
    let absorbed = read.query_row((queue.0, id.as_str()), |row| {
        Ok(Known::Absorbed { digest: Digest(row.get(0)?), at: Time(row.get(1)?) })
    });
    Ok(absorbed.optional()?)
}

pub(super) fn claim(tx: &Connection, now: Time, group: &ClaimGroup) -> Result<Outcomes, StoreError> {
    if let Some((taker, request)) = group.request() {
        let before = items(tx, &sql::HOT_REQUESTED, (group.queue.0, &**request, taker.as_str()))?;
        let deliveries = vec![group.resume(before, now)];
        if !deliveries[0].is_empty() {
            let bodies = bodies(tx, &deliveries)?;
            return Ok(Outcomes::Claim(ClaimOutcome::Claimed { now, deliveries, bodies, more: false }));
        }
    }
    let mut read = tx.prepare_cached(&sql::QUEUE_READ)?;
    let queue: Option<(i64, bool)> =
        read.query_row([group.queue.0], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    if let Some(outcome) = group.gate(queue) {
        return Ok(Outcomes::Claim(outcome));
    }
    let heads = match &group.claim {
        Claim::Next(_) => {
            let most = i64::try_from(group.heads()).unwrap_or(i64::MAX);
            items(tx, &sql::HOT_HEADS, (group.queue.0, now.0, most))?
        }
        Claim::Item { id, .. } => due_head(tx, now, group.queue, id)?.into_iter().collect(),
    };
    let more = group.is_more(heads.len());
    let mut fronts = HashMap::new();
    let mut typing = HashMap::new();
    for head in heads.iter().filter(|_| group.groups_items()) {
        let Some(lane) = head.lane else { continue };
        let range = (group.queue.0, lane.0, head.seq.0, group.policy.batch());
        fronts.insert(lane, items(tx, &sql::HOT_FRONT, range)?);
        let mut read = tx.prepare_cached(&sql::TYPING_READ)?;
        let at = read.query_row((group.queue.0, lane.0), |row| row.get(0)).optional()?;
        typing.extend(at.map(|at| (lane, Time(at))));
    }
    let numbers = numbers(tx, heads.len())?;
    let (written, deliveries) = group.decide(ClaimRead { queue: group.queue, now, numbers, heads, fronts, typing });
    changes::write(tx, &written)?;
    let bodies = bodies(tx, &deliveries)?;
    Ok(Outcomes::Claim(ClaimOutcome::Claimed { now, deliveries, bodies, more }))
}

/// Returns the item, if it is the head of its lane and due.
fn due_head(tx: &Connection, now: Time, queue: QueueId, id: &ItemId) -> Result<Option<Item>, StoreError> {
    let Some(home) = find(tx, queue, id)? else {
        return Ok(None);
    };
    let found = items(tx, &sql::HOT_READ, [home.seq.0])?;
    Ok(found.into_iter().find(|item| item.ready_at.is_some_and(|ready_at| ready_at <= now)))
}

fn bodies(tx: &Connection, deliveries: &[Vec<Delivery>]) -> Result<Bodies, StoreError> {
    let mut bodies = Bodies::new();
    let mut read = tx.prepare_cached(&sql::BODY_READ)?;
    for (seq, _) in deliveries.iter().flatten().flat_map(|delivery| &delivery.items) {
        bodies.insert(*seq, read.query_row([seq.0], body)?);
    }
    Ok(bodies)
}

pub(super) fn settle(tx: &Connection, now: Time, group: &SettleGroup) -> Result<Outcomes, StoreError> {
    let mut loaded = Vec::with_capacity(group.settlements.len());
    for (index, settle) in group.settlements.iter().enumerate() {
        loaded.push(load(tx, &settle.reference, group.names_items(index))?);
    }
    let (written, answers) = group.decide(SettleRead { now, loaded });
    changes::write(tx, &written)?;
    Ok(Outcomes::Settle { now, answers })
}

/// Reads a delivery, if it is still handed out under its fence.
fn load(tx: &Connection, reference: &DeliveryRef, named: bool) -> Result<Loaded, StoreError> {
    let lane = reference.lane.map(|lane| lane.0);
    let (queue, seq, fence) = (reference.queue.0, reference.seq.0, reference.fence.0);
    let mut members = items(tx, &sql::HOT_FIRST, (seq, queue, lane, fence))?;
    let (Some(first), Some(lane)) = (members.first(), lane) else {
        return Ok(Loaded { members: with_ids(tx, members, named)?, next: None });
    };
    let (first, size) = (first.seq, first.size);
    // If the size differs from the stored one, the other items are not read: the decision refuses by the first item.
    if reference.size > 1 && reference.size == size {
        members = items(tx, &sql::HOT_MEMBERS, (queue, lane, first.0, fence, size))?;
    }
    let next = items(tx, &sql::HOT_NEXT, (queue, lane, fence))?.pop();
    Ok(Loaded { members: with_ids(tx, members, named)?, next })
}

fn with_ids(tx: &Connection, items: Vec<Item>, named: bool) -> Result<Vec<Member>, StoreError> {
    if !named {
        return Ok(items.into_iter().map(|item| Member { item, id: None }).collect());
    }
    let mut read = tx.prepare_cached(&sql::BODY_ID)?;
    let mut members = Vec::with_capacity(items.len());
    for item in items {
        let id = read.query_row([item.seq.0], |row| name(row, 0, ItemId::new))?;
        members.push(Member { item, id: Some(id) });
    }
    Ok(members)
}

pub(super) fn manage(tx: &Connection, now: Time, group: &ManageGroup) -> Result<Outcomes, StoreError> {
    let numbers = numbers(tx, group.numbers())?;
    // SQLite has one writer, so no application can be completing a delivery.
    let (front, spared) = (Vec::new(), Vec::new());
    let mut read = ManageRead { now, item: None, done: None, front, spared, home: None, body: None, numbers };
    if let Some(home) = find(tx, group.queue, &group.id)? {
        read.item = items(tx, &sql::HOT_READ, [home.seq.0])?.pop();
        read.done = tx.prepare_cached(&sql::DONE_READ)?.query_row([home.seq.0], done).optional()?;
        let lane = match (&read.item, group.policy.kind) {
            (Some(item), _) => item.lane,
            (None, Kind::Inbox) => None,
            (None, Kind::Lane | Kind::Sync) => home.key.as_ref().map(Lane::from_key),
        };
        if let Some(lane) = lane {
            let range = (group.queue.0, lane.0, i64::MIN, group.front_size());
            read.front = items(tx, &sql::HOT_FRONT, range)?;
        }
        read.home = Some((lane, home.enqueued_at));
        if group.wish.edits() {
            read.body = Some(tx.prepare_cached(&sql::BODY_READ)?.query_row([home.seq.0], body)?);
        }
    }
    let Managed { changes: written, answer, expired } = group.decide(read, audit::head(tx)?);
    changes::write(tx, &written)?;
    Ok(Outcomes::Manage { answer, expired })
}

/// Clears a lane. SQLite has one writer, so no application can be completing what is cleared.
pub(super) fn clear(tx: &Connection, now: Time, group: &ClearGroup) -> Result<Outcomes, StoreError> {
    let front = front_named(tx, group.queue, group.lane, ClearRead::FRONT)?;
    let key = front.first().and_then(|known| known.key.clone());
    let front = front.into_iter().map(|known| known.item).collect();
    let read = ClearRead { now, front, spared: Vec::new() };
    let (written, cleared) = group.decide(read, key.as_ref(), audit::head(tx)?);
    changes::write(tx, &written)?;
    Ok(Outcomes::Clear(cleared))
}

pub(super) fn typing(tx: &Connection, now: Time, group: &TypingGroup) -> Result<Outcomes, StoreError> {
    let mut fronts = HashMap::new();
    for lane in group.lanes() {
        fronts.insert(lane, front_named(tx, group.queue, lane, group.depth())?);
    }
    changes::write(tx, &group.decide(fronts, now))?;
    Ok(Outcomes::Typing)
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
        })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}
