//! The health of queues' push destinations.

use super::read::{all, execute, first};
use super::{SqliteStore, Write, event, sql};
use crate::store::{DestinationStore, Pending, StoreError};
use rusqlite::{Row, params};
use turno_core::destination::Destination;
use turno_core::event::Event;
use turno_core::id::{Lane, QueueId};
use turno_core::time::Time;

/// Returns whether the row was stored: `false` if another process has stored a version since.
fn put(write: Write<'_>, queue: QueueId, new: &Destination, news: &[Event]) -> Result<bool, StoreError> {
    let Destination { version, failures, first, several, began_at, probe_at, error, .. } = new;
    let [down_at, revive_since, revive_until, stuck_at] =
        [new.down_at, new.revive_since, new.revive_until, new.stuck_at].map(|at| at.map(|at| at.0));
    let values = params![
        queue.0,
        version,
        failures,
        first.0,
        several,
        began_at.0,
        down_at,
        probe_at.0,
        error,
        revive_since,
        revive_until,
        stuck_at
    ];
    let written = execute(&write.tx, &sql::DESTINATION_SAVE, values)? > 0;
    if written {
        event::add(&write.tx, news)?;
    }
    write.commit()?;
    Ok(written)
}

fn destination(row: &Row<'_>) -> Result<(QueueId, Destination), rusqlite::Error> {
    let destination = Destination {
        version: row.get(1)?,
        failures: row.get(2)?,
        first: Lane(row.get(3)?),
        several: row.get(4)?,
        began_at: Time(row.get(5)?),
        down_at: row.get::<_, Option<i64>>(6)?.map(Time),
        probe_at: Time(row.get(7)?),
        error: row.get(8)?,
        revive_since: row.get::<_, Option<i64>>(9)?.map(Time),
        revive_until: row.get::<_, Option<i64>>(10)?.map(Time),
        stuck_at: row.get::<_, Option<i64>>(11)?.map(Time),
    };
    Ok((QueueId(row.get(0)?), destination))
}

impl DestinationStore for SqliteStore {
    fn destination(&self, queue: QueueId) -> Pending<'_, Option<Destination>> {
        self.beats.run(move |db| {
            let found = first(db, &sql::DESTINATION_READ, [queue.0], destination)?;
            Ok(found.map(|(_, destination)| destination))
        })
    }

    fn destinations(&self) -> Pending<'_, Vec<(QueueId, Destination)>> {
        self.beats.run(|db| all(db, &sql::DESTINATION_LIST, [], destination))
    }

    fn put_destination(&self, queue: QueueId, destination: Destination, news: Option<Event>) -> Pending<'_, bool> {
        self.write(move |write| put(write, queue, &destination, news.as_slice()))
    }
}
