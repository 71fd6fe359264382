//! Writing the decisions of a group of queue commands.
//!
//! Every change concerns exactly one row that was read under the same write lock. A statement that changes no row, or
//! two, is a bug, and the whole group is rolled back.

use super::row::size_number;
use super::{audit, event, sql};
use crate::store::StoreError;
use rusqlite::{Connection, Statement, params};
use turno_core::id::Key;
use turno_core::queue::{Changes, Item, UncountedDelivery, WorkerName};

/// Writes everything. Removes a row before the same row is inserted again.
pub(super) fn write(tx: &Connection, changes: &Changes) -> Result<(), StoreError> {
    each(tx, &sql::DONE_REMOVE, &changes.undone, |to, seq| to.execute([seq.0]))?;
    bodies(tx, changes)?;
    items(tx, changes)?;
    finished(tx, changes)?;
    each(tx, &sql::HOT_REQUEST, &changes.requests, |to, (seq, fence, request)| {
        to.execute((seq.0, fence.0, &**request))
    })?;
    each(tx, &sql::TYPING_SAVE, &changes.typing, |to, (queue, lane, at)| to.execute((queue.0, lane.0, at.0)))?;
    each(tx, &sql::TYPING_REMOVE, &changes.typed, |to, (queue, lane)| to.execute((queue.0, lane.0)))?;
    event::add(tx, &changes.events)?;
    audit::write(tx, &changes.audit)
}

fn bodies(tx: &Connection, changes: &Changes) -> Result<(), StoreError> {
    each(tx, &sql::BODY_ADD, &changes.bodies, |to, body| {
        to.execute(params![
            body.seq.0,
            body.queue.0,
            body.id.as_str(),
            body.key.as_ref().map(Key::as_str),
            body.action,
            body.payload,
            body.enqueued_at.0,
        ])
    })?;
    each(tx, &sql::BODY_REPLACE, &changes.replaced, |to, body| {
        to.execute(params![body.seq.0, body.action, body.payload])
    })?;
    each(tx, &sql::ABSORBED_ADD, &changes.absorbed, |to, change| {
        to.execute(params![change.queue.0, change.id.as_str(), change.digest.0, change.at.0])
    })
}

fn items(tx: &Connection, changes: &Changes) -> Result<(), StoreError> {
    each(tx, &sql::HOT_ADD, &changes.insert, save_item)?;
    each(tx, &sql::HOT_SAVE, &changes.update, save_item)?;
    each(tx, &sql::HOT_REMOVE, &changes.remove, |to, seq| to.execute([seq.0]))
}

/// Runs a statement with all columns of an item.
fn save_item(to: &mut Statement<'_>, item: &Item) -> Result<usize, rusqlite::Error> {
    to.execute(params![
        item.seq.0,
        item.queue.0,
        item.lane.map(|lane| lane.0),
        item.enqueued_at.0,
        item.not_before.0,
        item.ready_at.map(|at| at.0),
        item.expires_at.map(|at| at.0),
        item.claimed_at.map(|at| at.0),
        item.attempt,
        item.fence.0,
        item.group.0,
        item.last.number(),
        item.revision,
        item.handed,
        item.parked,
        item.holder.as_ref().map(WorkerName::as_str),
        size_number(item.size),
    ])
}

fn finished(tx: &Connection, changes: &Changes) -> Result<(), StoreError> {
    each(tx, &sql::DONE_ADD, &changes.done, |to, done| {
        to.execute(params![
            done.seq.0,
            done.queue.0,
            done.ended.number(),
            done.at.0,
            done.attempt,
            done.fence.0,
            done.revision,
            done.holder.as_ref().map(WorkerName::as_str),
            done.handed_at.map(|at| at.0),
        ])
    })?;
    each(tx, &sql::ERROR_ADD, &changes.errors, |to, error| {
        let retry_at = error.retry_at.map(|at| at.0);
        to.execute(params![
            error.seq.0,
            error.attempt,
            error.fence.0,
            error.at.0,
            error.error,
            retry_at,
            error.holder.as_ref().map(WorkerName::as_str),
            error.handed_at.map(|at| at.0),
            error.expired,
        ])
    })?;
    each(tx, &sql::CAME_BACK_ADD, &changes.came_back, |to, back| {
        to.execute(params![
            back.seq.0,
            back.fence.0,
            back.how.number(),
            back.at.0,
            back.holder.as_ref().map(WorkerName::as_str),
            back.handed_at.map(|at| at.0),
            back.error,
        ])
    })?;
    // Most items have nothing to trim, so the number of deleted rows does not indicate a bug.
    each(tx, &sql::CAME_BACK_TRIM, &changes.came_back, |to, back| {
        to.execute(params![back.seq.0, UncountedDelivery::KEPT as i64]).map(|_| 1)
    })
}

/// Runs a statement for each of `values`, if there are any.
fn each<T>(
    tx: &Connection,
    text: &str,
    values: &[T],
    run: impl Fn(&mut Statement<'_>, &T) -> Result<usize, rusqlite::Error>,
) -> Result<(), StoreError> {
    if values.is_empty() {
        return Ok(());
    }
    let mut statement = tx.prepare_cached(text)?;
    for value in values {
        let rows = run(&mut statement, value)?;
        if rows != 1 {
            let name = text.lines().next().unwrap_or_default();
            let text = format!("a bug: `{name}` changed {rows} rows where there should be one");
            return Err(StoreError::Rejected(text.into()));
        }
    }
    Ok(())
}
