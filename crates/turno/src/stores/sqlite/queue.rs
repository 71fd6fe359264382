//! Queues: reads, and changes of their rows.

use super::read::{all, first};
use super::row::{self, json, queue};
use super::{SqliteStore, Write, audit, manage, sql};
use crate::store::{ManageGroup, PauseQueue, Pending, PutDecision, PutQueue, QueueRow, QueueStore, StoreError};
use rusqlite::Connection;
use turno_core::audit::Actor;
use turno_core::id::{ItemId, QueueId, QueueName};
use turno_core::queue::Policy;

/// Creates or changes a queue.
fn put(write: Write<'_>, put: &PutQueue, by: Actor) -> Result<Option<QueueRow>, StoreError> {
    let (tx, policy) = (&write.tx, &put.policy);
    let before = find(tx, &put.name)?;
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
    let parked = all(&write.tx, &sql::QUEUE_PARKED, [queue.0], |row| row::name(row, 0, ItemId::new))?;
    // In order: if several exhausted items are in one lane, releasing the last makes the next item the head.
    for id in parked {
        manage::run(&write.tx, write.now, &ManageGroup::release(queue, name, policy, id, by))?;
    }
    Ok(())
}

fn find(db: &Connection, name: &QueueName) -> Result<Option<QueueRow>, StoreError> {
    first(db, &sql::QUEUE_FIND, [name.as_str()], queue)
}

impl QueueStore for SqliteStore {
    fn queue(&self, name: QueueName) -> Pending<'_, Option<QueueRow>> {
        self.looks.run(move |db| find(db, &name))
    }

    fn queues(&self) -> Pending<'_, Vec<QueueRow>> {
        self.looks.run(|db| all(db, &sql::QUEUE_LIST, [], queue))
    }

    fn put_queue(&self, wanted: PutQueue, by: Actor) -> Pending<'_, Option<QueueRow>> {
        self.write(move |write| put(write, &wanted, by))
    }

    fn pause_queue(&self, request: PauseQueue) -> Pending<'_, ()> {
        self.write(move |write| {
            let values = (request.queue.0, request.paused);
            let name: Option<String> = first(&write.tx, &sql::QUEUE_PAUSE, values, |row| row.get(0))?;
            audit::note(&write.tx, write.now, request.decide(name.as_deref())?)?;
            write.commit()
        })
    }
}
