//! Settlements of deliveries, and how deliveries ended.

use super::item::items;
use super::read::{first, only};
use super::row::{done, last, name};
use super::{audit, changes, sql};
use crate::store::{Outcomes, SettleGroup, SettleRead, StoreError};
use rusqlite::Connection;
use std::sync::Arc;
use turno_core::id::ItemId;
use turno_core::queue::{AttemptError, DeliveryRef, FailedAttempt, Item, Loaded, Member, Trace, WorkerName};
use turno_core::time::Time;

pub(super) fn run(tx: &Connection, now: Time, group: &SettleGroup) -> Result<Outcomes, StoreError> {
    let mut loaded = Vec::with_capacity(group.settlements.len());
    for (index, settle) in group.settlements.iter().enumerate() {
        loaded.push(load(tx, &settle.reference, group.names_items(index))?);
    }
    let head = if group.audits(&loaded) { Some(audit::head(tx)?) } else { None };
    let (written, answers) = group.decide(SettleRead { now, loaded, head });
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
    let with_id = |item: Item| {
        let id = only(tx, &sql::BODY_ID, [item.seq.0], |row| name(row, 0, ItemId::new))?;
        Ok(Member { item, id: Some(id) })
    };
    items.into_iter().map(with_id).collect()
}

/// Returns what is left of deliveries under their own fences.
pub(super) fn settled(db: &mut Connection, reference: &[DeliveryRef]) -> Result<Vec<Trace>, StoreError> {
    let tx = db.transaction()?;
    let answers = reference.iter().map(|reference| trace(&tx, reference)).collect::<Result<_, _>>()?;
    tx.commit()?;
    Ok(answers)
}

/// Reads the trace of a delivery from its first item.
fn trace(db: &Connection, reference: &DeliveryRef) -> Result<Trace, StoreError> {
    let (seq, fence) = (reference.seq.0, reference.fence.0);
    let failed = first(db, &sql::ERROR_OF_FENCE, (seq, fence), |row| {
        let (error, retry_at) = (row.get::<_, String>(0)?, row.get::<_, Option<i64>>(1)?.map(Time));
        let failed = FailedAttempt { expired: AttemptError::expired_from(row.get(2)?, &error), retry_at };
        Ok((failed, row.get::<_, Option<Arc<str>>>(3)?))
    })?;
    let (failed, failed_holder) = failed.unzip();
    let done = first(db, &sql::DONE_READ, [seq], done)?.filter(|done| done.queue == reference.queue);
    let back = first(db, &sql::CAME_BACK_OF_FENCE, (seq, fence), |row| {
        Ok((last(row, 0)?, row.get::<_, Option<Arc<str>>>(1)?))
    })?;
    let (back, back_holder) = back.unzip();
    let trace = Trace::find(reference.fence, done.as_ref(), &[], &[]);
    let other = failed_holder.flatten().or(back_holder.flatten()).map(WorkerName::from);
    Ok(Trace { failed, back, holder: trace.holder.or(other), ..trace })
}
