//! Events: written with their positions, read, and purged from the oldest on.

use super::error::at_commit;
use super::row::{damaged, name_if};
use super::{SqliteStore, sql};
use crate::store::{EventSpan, EventStore, Pending, Sequenced, StoreError};
use rusqlite::{Connection, Error, Row, TransactionBehavior, params};
use std::sync::Arc;
use turno_core::event::{Event, Topic};
use turno_core::id::{Fence, Position, UserId};
use turno_core::time::Time;

/// Writes events in the transaction of the changes they announce.
pub(super) fn add(tx: &Connection, events: &[Event]) -> Result<(), StoreError> {
    if events.is_empty() {
        return Ok(());
    }
    let mut add = tx.prepare_cached(&sql::EVENT_ADD)?;
    for event in events {
        add.execute(params![
            event.topic.as_str(),
            event.name.as_str(),
            event.resource,
            event.at.0,
            event.fence.map(|fence| fence.0),
            event.by.as_ref().map(UserId::as_str),
            event.detail,
            event.to_text(),
        ])?;
    }
    Ok(())
}

pub(super) fn list(db: &Connection, after: Position, limit: u32) -> Result<Vec<(Position, Event)>, StoreError> {
    let mut read = db.prepare_cached(&sql::EVENT_LIST)?;
    let found = read.query_map((after.0, limit), event)?;
    Ok(found.collect::<Result<_, _>>()?)
}

pub(super) fn span(db: &Connection) -> Result<EventSpan, StoreError> {
    let mut read = db.prepare_cached(&sql::EVENT_SPAN)?;
    let span = |row: &Row<'_>| Ok(EventSpan { oldest: Position(row.get(0)?), newest: Position(row.get(1)?) });
    Ok(read.query_row([], span)?)
}

pub(super) fn purge(db: &mut Connection, before: Time, limit: u32) -> Result<u64, StoreError> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let count = tx.prepare_cached(&sql::EVENT_PURGE)?.execute((before.0, limit))?;
    tx.commit().map_err(at_commit)?;
    Ok(count as u64)
}

fn event(row: &Row<'_>) -> Result<(Position, Event), Error> {
    let topic: Arc<str> = row.get(1)?;
    let to: Option<Arc<str>> = row.get(10)?;
    let event = Event {
        topic: topic.parse::<Topic>().map_err(|unknown| damaged(1, unknown))?,
        name: row.get_ref(2)?.as_str()?.into(),
        resource: row.get(3)?,
        key: row.get(8)?,
        queue: row.get(9)?,
        at: Time(row.get(4)?),
        fence: row.get::<_, Option<i64>>(5)?.map(Fence),
        by: name_if(row, 6, UserId::new)?,
        detail: row.get(7)?,
        to: Event::parse_to(to.as_deref()).map_err(|bad| damaged(10, bad))?,
    };
    Ok((Position(row.get(0)?), event))
}

impl EventStore for SqliteStore {
    /// Does nothing, because SQLite has one writer at a time: an event's row number is its position.
    fn sequence(&self) -> Pending<'_, Sequenced> {
        Box::pin(std::future::ready(Ok(Sequenced::AtCommit)))
    }

    fn events(&self, after: Position, limit: u32) -> Pending<'_, Vec<(Position, Event)>> {
        self.looks.run(move |db| list(db, after, limit))
    }

    fn event_span(&self) -> Pending<'_, EventSpan> {
        self.looks.run(|db| span(db))
    }

    fn purge_events(&self, before: Time, limit: u32) -> Pending<'_, u64> {
        self.writer.run(move |db| purge(db, before, limit))
    }
}
