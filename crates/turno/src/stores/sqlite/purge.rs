//! Forgetting what is old, a bounded piece at a time, so that nobody waits long for the write lock.

use super::{Write, audit, statements as sql};
use crate::store::{Outlived, Purge, StoreError, purge_entry};
use rusqlite::{Connection, OptionalExtension};
use turno_core::audit::Actor;
use turno_core::id::{QueueId, Resource};
use turno_core::time::Time;

/// Forgets up to `limit` things and commits; answers how many.
pub(super) fn run(write: Write<'_>, what: &Purge, limit: u32) -> Result<u64, StoreError> {
    let gone = match what {
        Purge::Items { queue, before, by } => items(&write, *queue, *before, by, limit)?,
        Purge::LeaseHistory { before } => aged(&write, sql::HISTORY_PURGE, *before, limit)?,
        Purge::Tokens { before } => aged(&write, sql::TOKEN_PURGE, *before, limit)?,
        Purge::Links { before } => aged(&write, sql::LINK_PURGE, *before, limit)?,
        Purge::Answers { before } => aged(&write, sql::ANSWER_PURGE, *before, limit)?,
        Purge::Absorbed { queue, before } => {
            write.tx.prepare_cached(sql::ABSORBED_PURGE)?.execute((queue.0, before.0, limit))? as u64
        }
        Purge::Delivered { queue, before } => {
            write.tx.prepare_cached(sql::DELIVERED_PURGE)?.execute((queue.0, before.0, limit))? as u64
        }
    };
    if gone > 0 {
        write.commit()?;
    }
    Ok(gone)
}

/// How many items a purge would forget.
pub(super) fn count(db: &Connection, queue: QueueId, before: Time) -> Result<u64, StoreError> {
    let mut read = db.prepare_cached(sql::ITEM_PURGE_COUNT)?;
    let count: i64 = read.query_row((queue.0, before.0), |row| row.get(0))?;
    Ok(count.unsigned_abs())
}

/// What is simply too old.
fn aged(write: &Write<'_>, text: &str, before: Time, limit: u32) -> Result<u64, StoreError> {
    Ok(write.tx.prepare_cached(text)?.execute((before.0, limit))? as u64)
}

/// Finished items with everything that is known about them; that they were there is counted and audited.
fn items(write: &Write<'_>, queue: QueueId, before: Time, by: &Actor, limit: u32) -> Result<u64, StoreError> {
    let tx = &write.tx;
    let name = named(tx, queue)?;
    let mut find = tx.prepare_cached(sql::ITEM_PURGE)?;
    let seqs: Vec<i64> = find.query_map((queue.0, before.0, limit), |row| row.get(0))?.collect::<Result<_, _>>()?;
    if !seqs.is_empty() {
        remove(tx, queue, &seqs)?;
        audit::note(tx, write.now, purge_entry(by.clone(), &name, seqs.len() as i64, before))?;
    }
    Ok(seqs.len() as u64)
}

/// Forgets what an admission found to be too old.
pub(super) fn outlived(tx: &Connection, now: Time, outlived: &Outlived) -> Result<(), StoreError> {
    for (queue, (before, seqs)) in &outlived.items {
        let seqs: Vec<i64> = seqs.iter().map(|seq| seq.0).collect();
        remove(tx, *queue, &seqs)?;
        let entry = purge_entry(Actor::system(), &named(tx, *queue)?, seqs.len() as i64, *before);
        audit::note(tx, now, entry)?;
    }
    let mut remove = tx.prepare_cached(sql::ABSORBED_REMOVE)?;
    for (queue, id) in &outlived.absorbed {
        remove.execute((queue.0, id.as_str()))?;
    }
    Ok(())
}

fn named(tx: &Connection, queue: QueueId) -> Result<String, StoreError> {
    let name = tx.prepare_cached(sql::QUEUE_NAME)?.query_row([queue.0], |row| row.get(0)).optional()?;
    name.ok_or_else(|| StoreError::Rejected(format!("queue number {} does not exist", queue.0)))
}

/// Finished items with all that belongs to them, counted with their queue.
fn remove(tx: &Connection, queue: QueueId, seqs: &[i64]) -> Result<(), StoreError> {
    for text in [sql::ERROR_REMOVE, sql::CAME_BACK_REMOVE, sql::BODY_REMOVE, sql::DONE_REMOVE] {
        let mut remove = tx.prepare_cached(text)?;
        for seq in seqs {
            remove.execute([seq])?;
        }
    }
    let count = seqs.len() as i64;
    tx.prepare_cached(sql::QUEUE_PURGED)?.execute((queue.0, count))?;
    Ok(())
}

/// Leases that are as if never seen, among the next ones.
pub(super) fn leases(
    write: Write<'_>,
    after: Option<&Resource>,
    before: Time,
    limit: u32,
) -> Result<(u64, Option<Resource>), StoreError> {
    let tx = &write.tx;
    let after = after.map_or("", Resource::as_str);
    let last: Option<String> = tx.prepare_cached(sql::LEASE_WALK)?.query_row((after, limit), |row| row.get(0))?;
    let Some(last) = last else {
        return Ok((0, None));
    };
    let gone = tx.prepare_cached(sql::LEASE_PURGE)?.execute((after, &last, before.0))? as u64;
    if gone > 0 {
        write.commit()?;
    }
    let last = Resource::new(last).map_err(|bad| StoreError::Schema(format!("a lease's name: {bad}")))?;
    Ok((gone, Some(last)))
}
