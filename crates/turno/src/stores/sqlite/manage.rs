//! Management of single items and lanes, and typing signals.

use super::item::{find, front_named, items};
use super::read::{first, only};
use super::row::{body, done};
use super::{audit, changes, numbers, sql};
use crate::store::{ClearGroup, ManageGroup, Outcomes, StoreError, TypingGroup};
use rusqlite::Connection;
use std::collections::HashMap;
use turno_core::id::Lane;
use turno_core::queue::{ClearRead, Kind, ManageRead, Managed};
use turno_core::time::Time;

pub(super) fn run(tx: &Connection, now: Time, group: &ManageGroup) -> Result<Outcomes, StoreError> {
    let numbers = numbers(tx, group.numbers())?;
    // SQLite has one writer, so no application can be completing a delivery.
    let (front, spared) = (Vec::new(), Vec::new());
    let mut read = ManageRead { now, item: None, done: None, front, spared, home: None, body: None, numbers };
    if let Some(home) = find(tx, group.queue, &group.id)? {
        read.item = items(tx, &sql::HOT_READ, [home.seq.0])?.pop();
        read.done = first(tx, &sql::DONE_READ, [home.seq.0], done)?;
        let lane = match (&read.item, group.policy.kind) {
            (Some(item), _) => item.lane,
            (None, Kind::Inbox) => None,
            (None, Kind::Lane | Kind::Sync) => home.key.as_ref().map(Lane::from_key),
        };
        if let Some(lane) = lane {
            let range = (group.queue.0, lane.0, i64::MIN, group.front_size());
            read.front = items(tx, &sql::HOT_FRONT, range)?;
        }
        read.home = Some((lane, home.enqueued_at));
        if group.wish.edits() {
            read.body = Some(only(tx, &sql::BODY_READ, [home.seq.0], body)?);
        }
    }
    let Managed { changes: written, answer, expired } = group.decide(read, audit::head(tx)?);
    changes::write(tx, &written)?;
    Ok(Outcomes::Manage { answer, expired })
}

/// Clears a lane. SQLite has one writer, so no application can be completing what is cleared.
pub(super) fn clear(tx: &Connection, now: Time, group: &ClearGroup) -> Result<Outcomes, StoreError> {
    let front = front_named(tx, group.queue, group.lane, ClearRead::FRONT)?;
    let key = front.first().and_then(|known| known.key.clone());
    let front = front.into_iter().map(|known| known.item).collect();
    let read = ClearRead { now, front, spared: Vec::new() };
    let (written, cleared) = group.decide(read, key.as_ref(), audit::head(tx)?);
    changes::write(tx, &written)?;
    Ok(Outcomes::Clear(cleared))
}

pub(super) fn typing(tx: &Connection, now: Time, group: &TypingGroup) -> Result<Outcomes, StoreError> {
    let mut fronts = HashMap::new();
    for lane in group.lanes() {
        fronts.insert(lane, front_named(tx, group.queue, lane, group.depth())?);
    }
    changes::write(tx, &group.decide(fronts, now))?;
    Ok(Outcomes::Typing)
}
