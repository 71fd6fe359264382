//! Reads of expiries, ended deliveries and queues, and changes of queues. Items and their counts are in `records`.

use super::queue::manage;
use super::rows::{self, done, json, last, queue};
use super::{Write, audit, sql};
use crate::store::{ManageGroup, PauseQueue, PutDecision, PutQueue, QueueRow, StoreError};
use rusqlite::{Connection, OptionalExtension};
use std::collections::HashMap;
use turno_core::audit::Actor;
use turno_core::id::{Fence, ItemId, Lane, QueueId, QueueName, Seq};
use turno_core::queue::{AttemptError, DeliveryRef, FailedAttempt, Policy, SettleOutcome, Trace};
use turno_core::time::Time;

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

/// Returns how deliveries ended by a settlement of their own fence.
pub(super) fn settled(
    db: &mut Connection,
    reference: &[DeliveryRef],
) -> Result<Vec<Option<SettleOutcome>>, StoreError> {
    let tx = db.transaction()?;
    let answers = reference.iter().map(|reference| settled_one(&tx, reference)).collect::<Result<_, _>>()?;
    tx.commit()?;
    Ok(answers)
}

/// Reads the outcome from the delivery's first item.
fn settled_one(db: &Connection, reference: &DeliveryRef) -> Result<Option<SettleOutcome>, StoreError> {
    let (seq, fence) = (reference.seq.0, reference.fence.0);
    let mut read = db.prepare_cached(&sql::ERROR_OF_FENCE)?;
    let failed = read.query_row((seq, fence), |row| {
        let (error, retry_at) = (row.get::<_, String>(0)?, row.get::<_, Option<i64>>(1)?.map(Time));
        Ok(FailedAttempt { expired: AttemptError::expired_from(row.get(2)?, &error), retry_at })
    });
    let failed = failed.optional()?;
    let mut read = db.prepare_cached(&sql::DONE_READ)?;
    let done = read.query_row([seq], done).optional()?;
    let done = done.filter(|done| done.queue == reference.queue);
    let mut read = db.prepare_cached(&sql::CAME_BACK_OF_FENCE)?;
    let back = read.query_row((seq, fence), |row| last(row, 0)).optional()?;
    Ok(Trace { failed, back, ..Trace::find(reference.fence, done.as_ref(), &[], &[]) }.settled())
}

/// Creates or changes a queue.
pub(super) fn put_queue(write: Write<'_>, put: &PutQueue, by: Actor) -> Result<Option<QueueRow>, StoreError> {
    let (tx, policy) = (&write.tx, &put.policy);
    let before = queue_named(tx, &put.name)?;
    let busy = match &before {
        Some(row) if put.changes_kind(Some(row)) => tx.query_row(&sql::QUEUE_BUSY, [row.id.0], |row| row.get(0))?,
        _ => false,
    };
    let change = match put.decide(before.as_ref(), busy, by.clone())? {
        PutDecision::Late => return Ok(None),
        PutDecision::Unchanged => return Ok(before),
        PutDecision::Change(change) => change,
    };
    let (kind, text) = (policy.kind.as_str(), json(policy));
    let row = match before {
        Some(row) => {
            if change.releases {
                release(&write, row.id, &put.name, policy, &by)?;
            }
            if change.looks_again {
                tx.execute(&sql::QUEUE_LOOK_AGAIN, [row.id.0])?;
            }
            tx.query_row(&sql::QUEUE_SAVE, (row.id.0, text, kind, change.push), queue)?
        }
        None => tx.query_row(&sql::QUEUE_ADD, (put.name.as_str(), text, kind, change.push), queue)?,
    };
    audit::note(tx, write.now, change.audit)?;
    write.commit()?;
    Ok(Some(row))
}

/// Releases lanes that exhausted items hold.
fn release(write: &Write<'_>, queue: QueueId, name: &QueueName, policy: &Policy, by: &Actor) -> Result<(), StoreError> {
    let parked: Vec<ItemId> = {
        let mut read = write.tx.prepare_cached(&sql::QUEUE_PARKED)?;
        let found = read.query_map([queue.0], |row| rows::name(row, 0, ItemId::new))?;
        found.collect::<Result<_, _>>()?
    };
    // In order: if several exhausted items are in one lane, releasing the last makes the next item the head.
    for id in parked {
        manage(&write.tx, write.now, &ManageGroup::release(queue, name, policy, id, by))?;
    }
    Ok(())
}

pub(super) fn pause_queue(write: Write<'_>, pause: &PauseQueue) -> Result<(), StoreError> {
    let values = (pause.queue.0, pause.paused);
    let name: Option<String> = write.tx.query_row(&sql::QUEUE_PAUSE, values, |row| row.get(0)).optional()?;
    audit::note(&write.tx, write.now, pause.decide(name.as_deref())?)?;
    write.commit()
}

pub(super) fn queue_named(db: &Connection, name: &QueueName) -> Result<Option<QueueRow>, StoreError> {
    let mut read = db.prepare_cached(&sql::QUEUE_FIND)?;
    Ok(read.query_row([name.as_str()], queue).optional()?)
}

pub(super) fn queues(db: &Connection) -> Result<Vec<QueueRow>, StoreError> {
    let mut read = db.prepare_cached(&sql::QUEUE_LIST)?;
    let found = read.query_map([], queue)?;
    Ok(found.collect::<Result<_, _>>()?)
}
