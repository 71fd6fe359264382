//! Forgetting what is old, a bounded piece at a time, so that nobody waits long for the write lock.

use super::{Write, audit, statements as sql};
use crate::store::{Purge, StoreError};
use rusqlite::OptionalExtension;
use serde_json::Value;
use turno_core::audit::{Actor, Draft};
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
        Purge::Delivered { queue, before } => {
            write.tx.prepare_cached(sql::DELIVERED_PURGE)?.execute((queue.0, before.0, limit))? as u64
        }
    };
    if gone > 0 {
        write.commit()?;
    }
    Ok(gone)
}

/// What is simply too old.
fn aged(write: &Write<'_>, text: &str, before: Time, limit: u32) -> Result<u64, StoreError> {
    Ok(write.tx.prepare_cached(text)?.execute((before.0, limit))? as u64)
}

/// Finished items with everything that is known about them; that they were there is counted and audited.
fn items(write: &Write<'_>, queue: QueueId, before: Time, by: &Actor, limit: u32) -> Result<u64, StoreError> {
    let tx = &write.tx;
    let name: Option<String> = tx.prepare_cached(sql::QUEUE_NAME)?.query_row([queue.0], |row| row.get(0)).optional()?;
    let Some(name) = name else {
        return Err(StoreError::Rejected(format!("queue number {} does not exist", queue.0)));
    };
    let mut find = tx.prepare_cached(sql::ITEM_PURGE)?;
    let seqs: Vec<i64> = find.query_map((queue.0, before.0, limit), |row| row.get(0))?.collect::<Result<_, _>>()?;
    if seqs.is_empty() {
        return Ok(0);
    }
    for text in [sql::ERROR_REMOVE, sql::BODY_REMOVE, sql::DONE_REMOVE] {
        let mut remove = tx.prepare_cached(text)?;
        for seq in &seqs {
            remove.execute([seq])?;
        }
    }
    let count = seqs.len() as i64;
    tx.prepare_cached(sql::QUEUE_PURGED)?.execute((queue.0, count))?;
    let entry = Draft::new(by.clone(), "queue_purge", name)
        .with([("count", Value::from(count)), ("before_ms", Value::from(before.0))]);
    audit::note(tx, write.now, entry)?;
    Ok(count as u64)
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
