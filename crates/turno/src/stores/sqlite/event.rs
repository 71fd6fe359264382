//! Events: written with their positions, read, and purged from the oldest on.

use super::error::at_commit;
use super::read::{all, execute, only};
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
    for event in events {
        let values = params![
            event.topic.as_str(),
            event.name.as_str(),
            event.resource,
            event.at.0,
            event.fence.map(|fence| fence.0),
            event.by.as_ref().map(UserId::as_str),
            event.detail,
            event.to_text(),
        ];
        execute(tx, &sql::EVENT_ADD, values)?;
    }
    Ok(())
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
        self.looks.run(move |db| all(db, &sql::EVENT_LIST, (after.0, limit), event))
    }

    fn event_span(&self) -> Pending<'_, EventSpan> {
        let span = |row: &Row<'_>| Ok(EventSpan { oldest: Position(row.get(0)?), newest: Position(row.get(1)?) });
        self.looks.run(move |db| only(db, &sql::EVENT_SPAN, [], span))
    }

    fn purge_events(&self, before: Time, limit: u32) -> Pending<'_, u64> {
        self.writer.run(move |db| {
            let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let count = execute(&tx, &sql::EVENT_PURGE, (before.0, limit))?;
            tx.commit().map_err(at_commit)?;
            Ok(count as u64)
        })
    }
}
