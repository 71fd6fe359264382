//! Claims of queue items.

use super::Shared;
use super::call::Call;
use super::error::TripError;
use super::floor::{BOTTOM, HeadPosition, Scan};
use super::row::{ITEM, body, get, item, size};
use super::sql;
use super::tx::{Moment, Plan, Tx, Write};
use crate::store::{Bodies, Claim, ClaimGroup, ClaimOutcome, Outcomes};
use std::collections::HashMap;
use tokio_postgres::Row;
use turno_core::id::{Lane, Numbers, Seq};
use turno_core::queue::{ClaimRead, HandedOut, Item};
use turno_core::time::{Span, Time};

/// Longer than any usual commit that read the clock before the floor was raised. Rows of a slower commit are found when
/// the whole queue is scanned.
const SLOW_COMMIT: Span = Span::from_secs(10);

/// Returns the live deliveries of an earlier claim with the same request id. An advisory lock on the request id, held
/// until this transaction ends, makes repeats run one after another.
async fn resumed(tx: &mut Tx<'_>, group: &ClaimGroup) -> Result<Option<Plan>, TripError> {
    let Some((taker, request)) = group.request() else {
        return Ok(None);
    };
    let line = format!("{}/{}/{request}", group.queue.0, taker.as_str());
    let lock = Call::new(&sql::HOT_REQUEST_LOCK).text(&line);
    let read = Call::new(&sql::HOT_REQUESTED).int(group.queue.0).text(request).text(taker.as_str());
    let mut answers = tx.trip(vec![lock, read, Moment::call(0, false)]).await?;
    answers.take();
    let before = answers.take().iter().map(|row| item(row, 0)).collect::<Result<_, _>>()?;
    let now = tx.moment(&answers.take())?.now;
    let deliveries = group.resume(before, now);
    if deliveries.is_empty() {
        return Ok(None);
    }
    let seqs = deliveries.iter().flat_map(|delivery| &delivery.items).map(|(seq, _)| seq.0);
    let rows = tx.trip(vec![Call::new(&sql::BODY_READ).bigs(seqs)]).await?.take();
    let bodies = rows.iter().map(|row| body(row).map(|body| (body.seq, body))).collect::<Result<Bodies, _>>()?;
    let outcome = ClaimOutcome::Claimed { now, deliveries: vec![deliveries], bodies, more: false };
    Ok(Some(Plan::new(Outcomes::Claim(outcome), Write::Nothing, None)))
}

/// Locks due heads, reads the items behind them where they can go along, reads the clock, decides.
pub(super) async fn plan(tx: &mut Tx<'_>, shared: &Shared, group: &ClaimGroup) -> Result<Plan, TripError> {
    if let Some(plan) = resumed(tx, group).await? {
        return Ok(plan);
    }
    let estimate = shared.clock.estimate();
    let limit = group.heads();
    let mut scan = matches!(group.claim, Claim::Next(_)).then(|| shared.floors.scan(group.queue, estimate));
    // A probe leaves most heads that it locks, so it scans from the bottom and does not raise the floor.
    let from = scan.as_ref().filter(|_| !group.probes()).map_or(BOTTOM, |scan| scan.from);
    let early = !group.groups_items();
    let mut calls = vec![Call::new(&sql::QUEUE_READ).int(group.queue.0), heads(group, from, estimate, limit)];
    if early {
        calls.push(Moment::call(0, false));
    }
    let mut answers = tx.trip(calls).await?;
    let queue = answers.take();
    let mut rows = answers.take();
    let mut clock = if early { answers.take() } else { Vec::new() };
    let stored = queue.first().map(|row| Ok::<_, TripError>((get(row, 0)?, get(row, 1)?))).transpose()?;
    if let Some(outcome) = group.gate(stored) {
        if !early {
            clock = tx.trip(vec![Moment::call(0, false)]).await?.take();
        }
        tx.moment(&clock)?;
        return Ok(Plan::new(Outcomes::Claim(outcome), Write::Nothing, None));
    }
    if rows.is_empty() && from > BOTTOM {
        // Nothing is due above the floor, so scan a little below it. Not from the bottom: idle workers would scan all
        // dead entries again and again. A slow commit can only have written within this margin.
        let below = (from.0 + Span(-SLOW_COMMIT.0), Seq(0));
        let mut answers = tx.trip(vec![heads(group, below, estimate, limit), Moment::call(0, false)]).await?;
        rows = answers.take();
        clock = answers.take();
    }
    let mut bytes = HashMap::new();
    let (heads, numbers) = heads_and_numbers(&rows, &mut bytes)?;
    if let Some(scan) = scan.as_mut().filter(|_| !group.probes()) {
        raise_floor(scan, &heads, limit, estimate);
    }
    let more = group.is_more(heads.len());
    let (mut fronts, mut typing) = (HashMap::new(), HashMap::new());
    if !early {
        (fronts, typing, clock) = behind(tx, group, &heads, &mut bytes).await?;
    }
    let moment = tx.moment(&clock)?;
    let now = moment.now;
    let HandedOut { changes, deliveries, left } =
        group.decide(ClaimRead { queue: group.queue, now, numbers, heads, fronts, typing, bytes });
    if left {
        // The heads that were left are still due. Without a confirmed scan, the floor is reset below them.
        scan = None;
    }
    let bodies = deliveries.iter().flatten().flat_map(|delivery| &delivery.items).map(|(seq, _)| *seq).collect();
    let outcome = ClaimOutcome::Claimed { now, deliveries, bodies: Bodies::new(), more: more || left };
    Ok(Plan { bodies, scan, ..Plan::new(Outcomes::Claim(outcome), changes, moment.xid) })
}

fn heads<'a>(group: &'a ClaimGroup, from: HeadPosition, estimate: Time, limit: usize) -> Call<'a> {
    match &group.claim {
        Claim::Next(_) => Call::new(&sql::HOT_HEADS)
            .int(group.queue.0)
            .big(from.0.0)
            .big(from.1.0)
            .big(estimate.0)
            .big(i64::try_from(limit).unwrap_or(i64::MAX)),
        Claim::Item { id, .. } => Call::new(&sql::HOT_HEAD_OF_ID).int(group.queue.0).text(id.as_str()).big(estimate.0),
    }
}

/// Returns the locked heads, and the number that came with each.
fn heads_and_numbers(rows: &[Row], bytes: &mut Sizes) -> Result<(Vec<Item>, Numbers), TripError> {
    let heads = rows.iter().map(|row| sized_item(row, ITEM + 1, bytes)).collect::<Result<_, _>>()?;
    let numbers = rows.iter().map(|row| get(row, ITEM)).collect::<Result<_, _>>()?;
    Ok((heads, Numbers::new(numbers)))
}

/// Payload sizes of items.
type Sizes = HashMap<Seq, usize>;

/// Reads an item, and adds the size of its payload in column `at` to `bytes`.
fn sized_item(row: &Row, at: usize, bytes: &mut Sizes) -> Result<Item, TripError> {
    let item = item(row, 0)?;
    bytes.insert(item.seq, size(row, at)?);
    Ok(item)
}

fn raise_floor(scan: &mut Scan, heads: &[Item], limit: usize, estimate: Time) {
    let last = heads.last().filter(|_| heads.len() >= limit).and_then(|head| Some((head.ready_at?, head.seq)));
    scan.found(last.unwrap_or((estimate, Seq(0))));
}

type Behind = (HashMap<Lane, Vec<Item>>, HashMap<Lane, Time>, Vec<Row>);

/// Reads the items behind the heads and the typing signals, and only then the clock.
async fn behind(tx: &mut Tx<'_>, group: &ClaimGroup, heads: &[Item], bytes: &mut Sizes) -> Result<Behind, TripError> {
    let lanes: Vec<(Lane, i64)> = heads.iter().filter_map(|head| Some((head.lane?, head.seq.0))).collect();
    let mut calls = Vec::new();
    if !lanes.is_empty() {
        let hashes = || lanes.iter().map(|(lane, _)| lane.0);
        let front =
            Call::new(&sql::HOT_FRONT).int(group.queue.0).bigs(hashes()).bigs(lanes.iter().map(|(_, seq)| *seq));
        calls.push(front.big(i64::from(group.policy.batch())));
        calls.push(Call::new(&sql::TYPING_READ).int(group.queue.0).bigs(hashes()));
    }
    calls.push(Moment::call(0, false));
    let mut answers = tx.trip(calls).await?;
    let mut fronts: HashMap<Lane, Vec<Item>> = HashMap::new();
    let mut typing = HashMap::new();
    if !lanes.is_empty() {
        for row in answers.take() {
            let item = sized_item(&row, ITEM, bytes)?;
            if let Some(lane) = item.lane {
                fronts.entry(lane).or_default().push(item);
            }
        }
        for row in answers.take() {
            typing.insert(Lane(get(&row, 0)?), Time(get(&row, 1)?));
        }
    }
    for front in fronts.values_mut() {
        front.sort_by_key(|item| item.seq);
    }
    Ok((fronts, typing, answers.take()))
}
