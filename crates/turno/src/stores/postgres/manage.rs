//! Management of single items and lanes, and typing signals.

use super::Shared;
use super::audit;
use super::call::Call;
use super::enqueue::front_items;
use super::error::TripError;
use super::lane::{self, QueueLane};
use super::row::{body, done, get, item, maybe_name};
use super::sql;
use super::tx::{Answers, Moment, Plan, Tx};
use crate::store::{ClearGroup, ManageGroup, Outcomes, TypingGroup};
use std::collections::HashMap;
use turno_core::id::{Fence, Key, Lane, Seq};
use turno_core::queue::{ClearRead, Item, ManageRead, Managed};
use turno_core::time::Time;

/// Locks the item's lane and head, reads the item and the front, spares deliveries that applications are completing,
/// locks the audit, reads the clock, decides.
pub(super) async fn plan(tx: &mut Tx<'_>, group: &ManageGroup) -> Result<Plan, TripError> {
    let find = Call::new(&sql::BODY_FIND).int(group.queue.0).text(group.id.as_str());
    let found = tx.trip(vec![find]).await?.take();
    let home = found
        .first()
        .map(|row| Ok::<_, TripError>((Seq(get(row, 0)?), maybe_name(row, 1, Key::new)?, Time(get(row, 2)?))));
    let home = home.transpose()?;
    let lane = home
        .as_ref()
        .and_then(|(_, key, _)| key.as_ref())
        .filter(|_| group.policy.kind.needs_key())
        .map(Lane::from_key);
    let seq = home.as_ref().map_or(Seq(0), |(seq, _, _)| *seq);
    let mut calls = Vec::with_capacity(6);
    if let Some(lane) = lane {
        let queue_lane = (group.queue, lane);
        calls.push(lane::lock([queue_lane].into_iter()));
        calls.push(lane::fronts(&sql::HOT_FRONT_LOCK, &[(queue_lane, group.front_size())], &[Seq(0)]));
        calls.push(lane::fronts(&sql::HOT_FRONT_NAMED, &[(queue_lane, group.front_size())], &[Seq(0)]));
    }
    calls.push(Call::new(&sql::HOT_READ).big(seq.0));
    calls.push(Call::new(&sql::DONE_READ).big(seq.0));
    if group.wish.edits() {
        calls.push(Call::new(&sql::BODY_READ).bigs([seq.0].into_iter()));
    }
    let mut answers = tx.trip(calls).await?;
    let mut front: Vec<Item> = Vec::new();
    if lane.is_some() {
        answers.take();
        answers.take();
        let known = front_items(&answers.take())?.into_values().flatten();
        front = known.map(|known| known.item).collect();
    }
    let unfinished = answers.take().first().map(|row| item(row, 0)).transpose()?;
    let finished = answers.take().first().map(|row| done(row, 0)).transpose()?;
    let edited = if group.wish.edits() { answers.take().first().map(body).transpose()? } else { None };
    let reference: Vec<&Item> = front.iter().chain(&unfinished).filter(|item| item.expires_at.is_some()).collect();
    let mut calls = completing(&reference);
    calls.extend([audit::lock(), Moment::call(group.numbers(), true)]);
    let mut answers = tx.trip(calls).await?;
    let spared = spared(&mut answers, &reference)?;
    let head = audit::head(&answers.take())?;
    let mut moment = tx.moment(&answers.take())?;
    let home = home.map(|(_, _, enqueued_at)| (lane, enqueued_at));
    let numbers = moment.numbers();
    let (now, item, done) = (moment.now, unfinished, finished);
    let read = ManageRead { now, item, done, front, spared, home, body: edited, numbers };
    let Managed { changes, answer, expired } = group.decide(read, head);
    Ok(Plan::new(Outcomes::Manage { answer, expired }, changes, moment.xid))
}

/// Locks the lane and its head, reads the front, spares deliveries that applications are completing, locks the audit,
/// reads the clock, decides.
pub(super) async fn clear(tx: &mut Tx<'_>, group: &ClearGroup) -> Result<Plan, TripError> {
    let queue_lane = (group.queue, group.lane);
    let fronts = |sql| lane::fronts(sql, &[(queue_lane, ClearRead::FRONT)], &[Seq(0)]);
    let calls = vec![lane::lock([queue_lane].into_iter()), fronts(&sql::HOT_FRONT_LOCK), fronts(&sql::HOT_FRONT_NAMED)];
    let mut answers = tx.trip(calls).await?;
    answers.take();
    answers.take();
    let front = front_items(&answers.take())?.remove(&queue_lane).unwrap_or_default();
    let key = front.first().and_then(|known| known.key.clone());
    let front: Vec<Item> = front.into_iter().map(|known| known.item).collect();
    let reference: Vec<&Item> = front.iter().filter(|item| item.expires_at.is_some()).collect();
    let mut calls = completing(&reference);
    calls.extend([audit::lock(), Moment::call(0, true)]);
    let mut answers = tx.trip(calls).await?;
    let spared = spared(&mut answers, &reference)?;
    let head = audit::head(&answers.take())?;
    let moment = tx.moment(&answers.take())?;
    let read = ClearRead { now: moment.now, front, spared };
    let (changes, cleared) = group.decide(read, key.as_ref(), head);
    Ok(Plan::new(Outcomes::Clear(cleared), changes, moment.xid))
}

/// Finds handed-out items that applications are completing or have completed; see [`spared`].
pub(super) fn completing<'a>(reference: &[&Item]) -> Vec<Call<'a>> {
    let numbers = || (0_i32..).take(reference.len());
    let seqs = || reference.iter().map(|item| item.seq.0);
    let completing = Call::new(&sql::SETTLE_COMPLETING).ints(numbers()).bigs(seqs());
    let completed = Call::new(&sql::SETTLE_COMPLETED).ints(numbers()).bigs(seqs());
    vec![completing, completed.bigs(reference.iter().map(|item| item.fence.0))]
}

/// Returns the fences of deliveries that must not be taken back, because applications are completing them.
pub(super) fn spared(answers: &mut Answers, reference: &[&Item]) -> Result<Vec<Fence>, TripError> {
    let mut spared = Vec::new();
    for row in answers.take().iter().chain(&answers.take()) {
        let index = usize::try_from(get::<i32>(row, 0)?).unwrap_or(usize::MAX);
        spared.extend(reference.get(index).map(|item| item.fence));
    }
    Ok(spared)
}

/// Reads the lanes' first items without a lock, and the clock. A typing signal that arrives a moment too late or too
/// early for its message is harmless.
pub(super) async fn typing(tx: &mut Tx<'_>, shared: &Shared, group: &TypingGroup) -> Result<Plan, TripError> {
    let lanes: Vec<(QueueLane, u32)> =
        group.lanes().into_iter().map(|lane| ((group.queue, lane), group.depth())).collect();
    let (_, floors) = shared.lanes.recall(tx.generation, lanes.iter().map(|(lane, _)| *lane));
    let calls = vec![lane::fronts(&sql::HOT_FRONT_NAMED, &lanes, &floors), Moment::call(0, true)];
    let mut answers = tx.trip(calls).await?;
    let mut fronts = front_items(&answers.take())?;
    let moment = tx.moment(&answers.take())?;
    let fronts: HashMap<Lane, _> =
        lanes.iter().map(|(lane, _)| (lane.1, fronts.remove(lane).unwrap_or_default())).collect();
    let changes = group.decide(fronts, moment.now);
    Ok(Plan::new(Outcomes::Typing, changes, moment.xid))
}
