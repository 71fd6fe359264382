//! Claims of queue items.

use super::item::{find, items, items_with_bytes};
use super::read::{first, only};
use super::row::body;
use super::{changes, numbers, sql};
use crate::store::{Bodies, Claim, ClaimGroup, ClaimOutcome, Outcomes, StoreError};
use rusqlite::Connection;
use std::collections::HashMap;
use turno_core::id::{ItemId, QueueId};
use turno_core::queue::{ClaimRead, Delivery, HandedOut, Item};
use turno_core::time::Time;

pub(super) fn run(tx: &Connection, now: Time, group: &ClaimGroup) -> Result<Outcomes, StoreError> {
    if let Some((taker, request)) = group.request() {
        let before = items(tx, &sql::HOT_REQUESTED, (group.queue.0, &**request, taker.as_str()))?;
        let deliveries = vec![group.resume(before, now)];
        if !deliveries[0].is_empty() {
            let bodies = bodies(tx, &deliveries)?;
            return Ok(Outcomes::Claim(ClaimOutcome::Claimed { now, deliveries, bodies, more: false }));
        }
    }
    let queue = first(tx, &sql::QUEUE_READ, [group.queue.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if let Some(outcome) = group.gate(queue) {
        return Ok(Outcomes::Claim(outcome));
    }
    let mut bytes = HashMap::new();
    let heads = match &group.claim {
        Claim::Next(_) => {
            let most = i64::try_from(group.heads()).unwrap_or(i64::MAX);
            items_with_bytes(tx, &sql::HOT_HEADS, (group.queue.0, now.0, most), &mut bytes)?
        }
        Claim::Item { id, .. } => due_head(tx, now, group.queue, id)?.into_iter().collect(),
    };
    let more = group.is_more(heads.len());
    let mut fronts = HashMap::new();
    let mut typing = HashMap::new();
    for head in heads.iter().filter(|_| group.groups_items()) {
        let Some(lane) = head.lane else { continue };
        let range = (group.queue.0, lane.0, head.seq.0, group.policy.batch());
        fronts.insert(lane, items_with_bytes(tx, &sql::HOT_FRONT, range, &mut bytes)?);
        let at = first(tx, &sql::TYPING_READ, (group.queue.0, lane.0), |row| row.get(0).map(Time))?;
        typing.extend(at.map(|at| (lane, at)));
    }
    let numbers = numbers(tx, heads.len())?;
    let HandedOut { changes: written, deliveries, left } =
        group.decide(ClaimRead { queue: group.queue, now, numbers, heads, fronts, typing, bytes });
    changes::write(tx, &written)?;
    let bodies = bodies(tx, &deliveries)?;
    Ok(Outcomes::Claim(ClaimOutcome::Claimed { now, deliveries, bodies, more: more || left }))
}

/// Returns the item, if it is the head of its lane and due.
fn due_head(tx: &Connection, now: Time, queue: QueueId, id: &ItemId) -> Result<Option<Item>, StoreError> {
    let Some(home) = find(tx, queue, id)? else {
        return Ok(None);
    };
    let found = items(tx, &sql::HOT_READ, [home.seq.0])?;
    Ok(found.into_iter().find(|item| item.ready_at.is_some_and(|ready_at| ready_at <= now)))
}

fn bodies(tx: &Connection, deliveries: &[Vec<Delivery>]) -> Result<Bodies, StoreError> {
    let mut bodies = Bodies::new();
    for (seq, _) in deliveries.iter().flatten().flat_map(|delivery| &delivery.items) {
        bodies.insert(*seq, only(tx, &sql::BODY_READ, [seq.0], body)?);
    }
    Ok(bodies)
}
