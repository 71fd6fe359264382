//! Repair of a damaged lane: reads, inside the write transaction, before the decision.

use super::read::{all, only};
use super::row::{ITEM_COLUMNS, body, item, name_if};
use super::{Write, audit, changes, sql};
use crate::store::{Damaged, Found, RepairGroup, RepairOutcome, StoreError};
use rusqlite::Connection;
use turno_core::id::{ItemId, Key, Lane, Seq};
use turno_core::queue::{Body, RepairRead, RepairRow};
use turno_core::time::Time;

/// Repairs a lane. SQLite has one writer, so no application can be completing a delivery.
pub(super) fn lane(write: Write<'_>, group: &RepairGroup) -> Result<RepairOutcome, StoreError> {
    let (tx, now) = (&write.tx, write.now);
    let found = group.damaged.seq.map(|seq| find(tx, seq)).transpose()?.unwrap_or_default();
    let lane = group.lane(&found);
    let (rows, key) = rows(tx, group, lane)?;
    let bodies = match RepairRead::needs_bodies(&group.policy, &rows) {
        true => bodies(tx, &rows)?,
        false => Vec::new(),
    };
    let read = RepairRead { bodies, ..group.read(now, lane, rows, &found) };
    let (written, outcome) = group.decide(read, key.or(found.key), audit::head(tx)?);
    if outcome.repaired.is_nothing() {
        return Ok(outcome);
    }
    changes::write(tx, &written)?;
    write.commit()?;
    Ok(outcome)
}

fn find(tx: &Connection, seq: Seq) -> Result<Found, StoreError> {
    only(tx, &sql::REPAIR_FIND, [seq.0], |row| {
        Ok(Found {
            id: name_if(row, 0, ItemId::new)?,
            key: name_if(row, 1, Key::new)?,
            enqueued_at: Time(row.get::<_, Option<i64>>(2)?.unwrap_or_default()),
            is_unfinished: row.get(3)?,
            is_finished: row.get(4)?,
        })
    })
}

/// Returns the rows, and the lane's key.
fn rows(tx: &Connection, group: &RepairGroup, lane: Option<Lane>) -> Result<(Vec<RepairRow>, Option<Key>), StoreError> {
    let Damaged { queue, seq, .. } = group.damaged;
    let values = (queue.0, lane.map(|lane| lane.0), seq.map(|seq| seq.0), RepairRead::FIRST, RepairRead::ROWS);
    let found = all(tx, &sql::REPAIR_ROWS, values, |row| {
        let id = name_if(row, ITEM_COLUMNS, ItemId::new)?;
        let repaired = RepairRow { item: item(row)?, id, is_finished: row.get(ITEM_COLUMNS + 2)? };
        Ok((repaired, name_if(row, ITEM_COLUMNS + 1, Key::new)?))
    })?;
    let (rows, keys): (Vec<RepairRow>, Vec<Option<Key>>) = found.into_iter().unzip();
    Ok((rows, keys.into_iter().flatten().next()))
}

fn bodies(tx: &Connection, rows: &[RepairRow]) -> Result<Vec<Body>, StoreError> {
    let with_body = rows.iter().filter(|row| row.id.is_some());
    with_body.map(|row| only(tx, &sql::BODY_READ, [row.item.seq.0], body)).collect()
}
