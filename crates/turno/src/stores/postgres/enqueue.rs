//! Enqueues of items.

use super::Shared;
use super::call::Call;
use super::error::TripError;
use super::lane::{self, QueueLane};
use super::purge;
use super::row::{ITEM, get, item, maybe_name, name, size};
use super::sql;
use super::tx::{Moment, Plan, Tx};
use crate::store::{EnqueueGroup, Outcomes};
use std::collections::{HashMap, HashSet};
use tokio_postgres::Row;
use turno_core::id::{ItemId, Key, QueueId, Seq};
use turno_core::queue::{Digest, EnqueueRead, FrontItem, Kind, Known};
use turno_core::time::{Span, Time};

/// Locks the lanes, reads known ids and the lanes' fronts, reads the clock, decides.
///
/// An inbox has no lanes: without given ids there is nothing to lock and nothing to read but the clock.
pub(super) async fn plan(tx: &mut Tx<'_>, shared: &Shared, group: &EnqueueGroup) -> Result<Plan, TripError> {
    let lanes: Vec<(QueueLane, u32)> =
        group.lanes().into_iter().map(|(queue, lane, size)| ((queue, lane), size)).collect();
    let queue_lanes = || lanes.iter().map(|(lane, _)| *lane);
    let given = group.given_ids();
    let queues = group.queues();
    let (known_rebirth, floors) = shared.lanes.recall(tx.generation, queue_lanes());
    let mut calls = Vec::with_capacity(6);
    if !lanes.is_empty() {
        calls.push(lane::lock(queue_lanes()));
        calls.extend(read_fronts(group, &lanes, &floors));
        calls.push(Call::new(&sql::REBIRTH_READ));
    }
    if !given.is_empty() {
        let queues = given.iter().map(|(queue, _)| queue.0);
        calls.push(Call::new(&sql::BODY_KNOWN).ints(queues).texts(given.iter().map(|(_, id)| id.as_str())));
    }
    calls.push(Moment::call_into(group.numbers(), true, &queues));
    let heads_locked = locks_heads(group, &lanes);
    let mut answers = tx.trip(calls).await?;
    let mut fronts = Vec::new();
    let mut rebirth = known_rebirth;
    if !lanes.is_empty() {
        answers.take();
        if heads_locked {
            answers.take();
        }
        fronts = answers.take();
        rebirth = lane::rebirth(&answers.take())?;
    }
    let known = if given.is_empty() { Vec::new() } else { answers.take() };
    let mut clock = answers.take();
    if rebirth != known_rebirth && floors.iter().any(|floor| *floor != Seq(0)) {
        // An item was re-queued at an old position, so the cached floors are void. The locks are held; read again from
        // 0.
        let mut calls = read_fronts(group, &lanes, &vec![Seq(0); lanes.len()]);
        calls.push(Moment::call_into(group.numbers(), true, &queues));
        let mut answers = tx.trip(calls).await?;
        if heads_locked {
            answers.take();
        }
        fronts = answers.take();
        clock = answers.take();
    }
    let mut moment = tx.moment(&clock)?;
    moment.knows(&queues)?;
    let fronts = front_items(&fronts)?;
    let lowest = moment.numbers.first().map(|number| Seq(*number)).unwrap_or_default();
    let begins =
        |lane: QueueLane| fronts.get(&lane).and_then(|front| front.first()).map_or(lowest, |first| first.item.seq);
    shared.lanes.learn(tx.generation, rebirth, queue_lanes().map(|lane| (lane, begins(lane))));
    let (mut existing, mut now, mut entries) = (existing(&known)?, moment.now, Vec::new());
    let outlived = group.take_outlived(&mut existing, now);
    if !outlived.is_empty() {
        (entries, now) = purge::outlived(tx, &outlived).await?;
    }
    let (mut changes, answers) = group.decide(EnqueueRead { now, numbers: moment.numbers(), existing, fronts });
    changes.audit.extend(entries);
    Ok(Plan::new(Outcomes::Enqueue(answers), changes, moment.xid))
}

/// Returns the queues in which a new item may change a head: it can fill a batch or replace the waiting item. Only
/// those heads are locked.
fn changes_heads(group: &EnqueueGroup) -> HashSet<QueueId> {
    let changes = |kind, window| kind == Kind::Sync || (kind == Kind::Lane && window > Span::ZERO);
    let calls = group.calls.iter().filter(|call| changes(call.policy.kind, call.policy.window));
    calls.map(|call| call.queue).collect()
}

fn locks_heads(group: &EnqueueGroup, lanes: &[(QueueLane, u32)]) -> bool {
    let queues = changes_heads(group);
    lanes.iter().any(|((queue, _), _)| queues.contains(queue))
}

fn read_fronts<'a>(group: &EnqueueGroup, lanes: &[(QueueLane, u32)], floors: &[Seq]) -> Vec<Call<'a>> {
    let queues = changes_heads(group);
    let (changing, their): (Vec<_>, Vec<_>) =
        lanes.iter().copied().zip(floors.iter().copied()).filter(|(((queue, _), _), _)| queues.contains(queue)).unzip();
    let lock = (!changing.is_empty()).then(|| lane::fronts(&sql::HOT_FRONT_LOCK, &changing, &their));
    lock.into_iter().chain([lane::fronts(&sql::HOT_FRONT_NAMED, lanes, floors)]).collect()
}

/// Groups the front items by lane, each lane in order.
pub(super) fn front_items(rows: &[Row]) -> Result<HashMap<QueueLane, Vec<FrontItem>>, TripError> {
    let mut fronts: HashMap<QueueLane, Vec<FrontItem>> = HashMap::new();
    for row in rows {
        let item = item(row, 0)?;
        if let Some(lane) = item.lane {
            let (id, key) = (name(row, ITEM, ItemId::new)?, maybe_name(row, ITEM + 1, Key::new)?);
            let known = FrontItem { id, key, bytes: size(row, ITEM + 2)?, item };
            fronts.entry((known.item.queue, lane)).or_default().push(known);
        }
    }
    for front in fronts.values_mut() {
        front.sort_by_key(|known| known.item.seq);
    }
    Ok(fronts)
}

fn existing(rows: &[Row]) -> Result<HashMap<(QueueId, ItemId), Known>, TripError> {
    rows.iter().map(|row| Ok(((QueueId(get(row, 0)?), name(row, 1, ItemId::new)?), known(row)?))).collect()
}

fn known(row: &Row) -> Result<Known, TripError> {
    let Some(seq) = get::<Option<i64>>(row, 2)? else {
        return Ok(Known::Absorbed { digest: Digest(get(row, 6)?), at: Time(get(row, 7)?) });
    };
    let (payload, over_at) = (get::<&str>(row, 4)?.into(), get::<Option<i64>>(row, 5)?.map(Time));
    Ok(Known::Item { seq: Seq(seq), key: maybe_name(row, 3, Key::new)?, payload, over_at })
}
