//! Purges of old rows, in bounded steps, so that other writers do not wait long for the write lock.

use super::read::{all, execute, first, only};
use super::{SqliteStore, Write, audit, backup, check, life, repair, schema, sql};
use crate::store::{
    Check, Finding, Outlived, Pending, Purge, RepairGroup, RepairOutcome, SchemaFault, SchemaState, StoreError, Upkeep,
    purge_entry,
};
use rusqlite::Connection;
use turno_core::audit::Actor;
use turno_core::id::{QueueId, Resource};
use turno_core::time::Time;

/// Deletes up to `limit` rows and commits. Returns how many.
fn run(write: Write<'_>, what: &Purge, before: Time, limit: u32) -> Result<u64, StoreError> {
    let delete = |text: &str| execute(&write.tx, text, (before.0, limit));
    let delete_of = |text: &str, queue: &QueueId| execute(&write.tx, text, (queue.0, before.0, limit));
    let gone = match what {
        Purge::Items(queue, by) => items(&write, *queue, before, by, limit)?,
        Purge::LeaseHistory => delete(&sql::HISTORY_PURGE)?,
        Purge::Tokens => delete(&sql::TOKEN_PURGE)?,
        Purge::Links => delete(&sql::LINK_PURGE)?,
        Purge::Answers => delete(&sql::ANSWER_PURGE)?,
        Purge::Absorbed(queue) => delete_of(&sql::ABSORBED_PURGE, queue)?,
        Purge::Delivered(queue) => delete_of(&sql::DELIVERED_PURGE, queue)?,
    };
    if gone > 0 {
        write.commit()?;
    }
    Ok(gone as u64)
}

/// Deletes finished items with all their rows, counts them in the queue's row, and audits that.
fn items(write: &Write<'_>, queue: QueueId, before: Time, by: &Actor, limit: u32) -> Result<usize, StoreError> {
    let tx = &write.tx;
    let name = queue_name(tx, queue)?;
    let seqs: Vec<i64> = all(tx, &sql::ITEM_PURGE, (queue.0, before.0, limit), |row| row.get(0))?;
    if let Some(entry) = purge_entry(by.clone(), name.as_deref(), seqs.len() as i64, before)? {
        remove(tx, queue, &seqs)?;
        audit::note(tx, write.now, entry)?;
    }
    Ok(seqs.len())
}

/// Deletes the outlived rows that an enqueue found.
pub(super) fn outlived(tx: &Connection, now: Time, outlived: &Outlived) -> Result<(), StoreError> {
    for (queue, (before, seqs)) in &outlived.items {
        let seqs: Vec<i64> = seqs.iter().map(|seq| seq.0).collect();
        remove(tx, *queue, &seqs)?;
        let name = queue_name(tx, *queue)?;
        if let Some(entry) = purge_entry(Actor::system(), name.as_deref(), seqs.len() as i64, *before)? {
            audit::note(tx, now, entry)?;
        }
    }
    for (queue, id) in &outlived.absorbed {
        execute(tx, &sql::ABSORBED_REMOVE, (queue.0, id.as_str()))?;
    }
    Ok(())
}

fn queue_name(tx: &Connection, queue: QueueId) -> Result<Option<String>, StoreError> {
    first(tx, &sql::QUEUE_NAME, [queue.0], |row| row.get(0))
}

/// Deletes finished items with all their rows, and counts them in the queue's row.
fn remove(tx: &Connection, queue: QueueId, seqs: &[i64]) -> Result<(), StoreError> {
    for text in [&sql::ERROR_REMOVE, &sql::CAME_BACK_REMOVE, &sql::BODY_REMOVE, &sql::DONE_REMOVE] {
        for seq in seqs {
            execute(tx, text, [seq])?;
        }
    }
    execute(tx, &sql::QUEUE_PURGED, (queue.0, seqs.len() as i64))?;
    Ok(())
}

/// Deletes leases that carry no information, among the next `limit` by name.
fn leases(
    write: Write<'_>,
    after: Option<&Resource>,
    before: Time,
    limit: u32,
) -> Result<(u64, Option<Resource>), StoreError> {
    let tx = &write.tx;
    let after = after.map_or("", Resource::as_str);
    let last: Option<String> = only(tx, &sql::LEASE_WALK, (after, limit), |row| row.get(0))?;
    let Some(last) = last else {
        return Ok((0, None));
    };
    let gone = execute(tx, &sql::LEASE_PURGE, (after, &last, before.0))? as u64;
    if gone > 0 {
        write.commit()?;
    }
    let last = Resource::new(last)
        .map_err(|bad| StoreError::Schema(SchemaFault::Garbled(format!("a lease's name: {bad}"))))?;
    Ok((gone, Some(last)))
}

impl Upkeep for SqliteStore {
    fn schema(&self) -> Pending<'_, SchemaState> {
        self.beats.run(|db| schema::state(db))
    }

    fn ready(&self) -> Pending<'_, ()> {
        Box::pin(async move {
            self.file.check()?;
            self.schema().await?.required()?;
            self.probe().await
        })
    }

    fn purge(&self, what: Purge, before: Time, limit: u32) -> Pending<'_, u64> {
        self.write(move |write| run(write, &what, before, limit))
    }

    fn purge_leases(&self, after: Option<Resource>, before: Time, limit: u32) -> Pending<'_, (u64, Option<Resource>)> {
        self.write(move |write| leases(write, after.as_ref(), before, limit))
    }

    fn count_purgeable(&self, queue: QueueId, before: Time) -> Pending<'_, u64> {
        self.looks.run(move |db| {
            only(db, &sql::ITEM_PURGE_COUNT, (queue.0, before.0), |row| row.get(0).map(i64::unsigned_abs))
        })
    }

    fn check(&self, check: Check, limit: u32) -> Pending<'_, Vec<Finding>> {
        self.looks.run(move |db| check::run(db, check, limit))
    }

    fn repair(&self, repair: RepairGroup) -> Pending<'_, RepairOutcome> {
        self.write(move |write| repair::lane(write, &repair))
    }

    fn restored(&self) -> Pending<'_, ()> {
        self.write(|write| life::restored(&write).and_then(|()| write.commit()))
    }

    /// Runs on its own thread and connection, because a large file takes long and must not delay other calls.
    fn backup(&self, to: std::path::PathBuf) -> Pending<'_, ()> {
        let from = self.path.clone();
        Box::pin(async move {
            let written = tokio::task::spawn_blocking(move || backup::write(&from, &to)).await;
            written.unwrap_or_else(|error| Err(StoreError::Unavailable(error.to_string().into())))
        })
    }
}
