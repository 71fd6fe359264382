//! Enqueues of items.

use super::item::front_named;
use super::read::first;
use super::row::name_if;
use super::{changes, numbers, purge, sql};
use crate::store::{EnqueueGroup, Outcomes, StoreError};
use rusqlite::Connection;
use std::collections::HashMap;
use turno_core::id::{ItemId, Key, QueueId, Seq};
use turno_core::queue::{Digest, EnqueueRead, Known};
use turno_core::time::Time;

pub(super) fn run(tx: &Connection, now: Time, group: &EnqueueGroup) -> Result<Outcomes, StoreError> {
    let mut existing = HashMap::new();
    for (queue, id) in group.given_ids() {
        if let Some(known) = known(tx, queue, &id)? {
            existing.insert((queue, id), known);
        }
    }
    let outlived = group.take_outlived(&mut existing, now);
    if !outlived.is_empty() {
        purge::outlived(tx, now, &outlived)?;
    }
    let mut fronts = HashMap::new();
    for (queue, lane, size) in group.lanes() {
        fronts.insert((queue, lane), front_named(tx, queue, lane, size)?);
    }
    let numbers = numbers(tx, group.numbers())?;
    let (written, answers) = group.decide(EnqueueRead { now, numbers, existing, fronts });
    changes::write(tx, &written)?;
    Ok(Outcomes::Enqueue(answers))
}

/// Looks an id up: as that of an item, or of a change that an item absorbed.
fn known(tx: &Connection, queue: QueueId, id: &ItemId) -> Result<Option<Known>, StoreError> {
    let item = first(tx, &sql::BODY_KNOWN, (queue.0, id.as_str()), |row| {
        let over_at = row.get::<_, Option<i64>>(3)?.map(Time);
        Ok(Known::Item { seq: Seq(row.get(0)?), key: name_if(row, 1, Key::new)?, payload: row.get(2)?, over_at })
    })?;
    if item.is_some() {
        return Ok(item);
    }
    first(tx, &sql::ABSORBED_READ, (queue.0, id.as_str()), |row| {
        Ok(Known::Absorbed { digest: Digest(row.get(0)?), at: Time(row.get(1)?) })
    })
}
