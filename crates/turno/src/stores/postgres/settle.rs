//! Settlements of deliveries, and how deliveries ended.

use super::Shared;
use super::audit;
use super::call::Call;
use super::error::TripError;
use super::lane::{self, QueueLane};
use super::row::{self, ITEM, get, item, maybe_name};
use super::sql;
use super::tx::{Answers, Moment, Plan, Tx};
use crate::store::{Outcomes, SettleGroup, SettleRead};
use tokio_postgres::Row;
use turno_core::id::{ItemId, Lane, Seq};
use turno_core::queue::{Act, AttemptError, DeliveryRef, FailedAttempt, Loaded, Member, Trace, WorkerName};
use turno_core::time::Time;

/// One settlement: its index in the group, its delivery, and whether it names items by id.
struct Entry {
    n: i32,
    reference: DeliveryRef,
    named: bool,
}

/// The settlements of a group, by how the rows of their deliveries are found.
struct Sorted {
    /// Deliveries without a lane: the item's row is locked.
    loose: Vec<Entry>,
    /// Deliveries of one item of a lane: found by the primary key.
    single: Vec<Entry>,
    /// Deliveries of several items of a lane: found in the lane's index.
    grouped: Vec<Entry>,
}

/// Locks the lanes and items, reads the deliveries and the next item of each lane, reads the clock, decides.
pub(super) async fn plan(tx: &mut Tx<'_>, shared: &Shared, group: &SettleGroup) -> Result<Plan, TripError> {
    let sorted = Sorted::from_group(group);
    let lanes = group.lanes();
    let mut calls = Vec::with_capacity(9);
    if !lanes.is_empty() {
        calls.push(lane::lock(lanes.iter().copied()));
    }
    let guards = guards(group);
    let guarded = guards.len();
    calls.extend(guards);
    let (known_rebirth, floors) = shared.lanes.recall(tx.generation, sorted.laned().map(|(lane, _)| lane));
    calls.extend(sorted.reads());
    if !lanes.is_empty() {
        calls.push(sorted.next(&floors));
        calls.push(Call::new(&sql::REBIRTH_READ));
    }
    calls.push(Moment::call(0, !lanes.is_empty()));
    let mut answers = tx.trip(calls).await?;
    if !lanes.is_empty() {
        answers.take();
    }
    let spared: Vec<Row> = (0..guarded).flat_map(|_| answers.take()).collect();
    let mut loaded: Vec<Loaded> = group.settlements.iter().map(|_| Loaded::default()).collect();
    sorted.load(&mut answers, &mut loaded)?;
    for row in &spared {
        if let Some(loaded) = loaded.get_mut(index(row)?) {
            loaded.members.clear();
        }
    }
    let mut next = Vec::new();
    let mut rebirth = known_rebirth;
    if !lanes.is_empty() {
        next = answers.take();
        rebirth = lane::rebirth(&answers.take())?;
    }
    let mut clock = answers.take();
    if rebirth != known_rebirth && floors.iter().any(|floor| *floor != Seq(0)) {
        // An item was re-queued at an old position, so the cached floors are void. The locks are held; read again from
        // 0.
        let calls = vec![sorted.next(&vec![Seq(0); floors.len()]), Moment::call(0, true)];
        let mut answers = tx.trip(calls).await?;
        next = answers.take();
        clock = answers.take();
    }
    for row in &next {
        if let Some(loaded) = loaded.get_mut(index(row)?) {
            loaded.next = Some(item(row, 1)?);
        }
    }
    let mut head = None;
    if group.audits(&loaded) {
        let mut answers = tx.trip(vec![audit::lock(), Moment::call(0, true)]).await?;
        head = Some(audit::head(&answers.take())?);
        clock = answers.take();
    }
    let moment = tx.moment(&clock)?;
    let begins = sorted.laned().filter_map(|(lane, n)| Some((lane, begin(&loaded[n])?)));
    shared.lanes.learn(tx.generation, rebirth, begins);
    let now = moment.now;
    let (changes, answers) = group.decide(SettleRead { now, loaded, head });
    Ok(Plan::new(Outcomes::Settle { now, answers }, changes, moment.xid))
}

/// Excludes deliveries from expiry that an application completes, or has completed, in its own transaction. The first
/// statement takes the locks; the second one, because it starts later, sees what was committed before them.
fn guards<'a>(group: &SettleGroup) -> Vec<Call<'a>> {
    let expiring = || group.settlements.iter().enumerate().filter(|(_, settle)| settle.act == Act::Expire);
    if expiring().next().is_none() {
        return Vec::new();
    }
    let numbers = || expiring().map(|(index, _)| i32::try_from(index).unwrap_or(i32::MAX));
    let seqs = || expiring().map(|(_, settle)| settle.reference.seq.0);
    let completing = Call::new(&sql::SETTLE_COMPLETING).ints(numbers()).bigs(seqs());
    let completed = Call::new(&sql::SETTLE_COMPLETED).ints(numbers()).bigs(seqs());
    vec![completing, completed.bigs(expiring().map(|(_, settle)| settle.reference.fence.0))]
}

impl Sorted {
    fn from_group(group: &SettleGroup) -> Sorted {
        let mut sorted = Sorted { loose: Vec::new(), single: Vec::new(), grouped: Vec::new() };
        for (index, settle) in group.settlements.iter().enumerate() {
            let reference = settle.reference;
            let entry =
                Entry { n: i32::try_from(index).unwrap_or(i32::MAX), reference, named: group.names_items(index) };
            match (reference.lane, reference.size) {
                (None, _) => sorted.loose.push(entry),
                (Some(_), 0 | 1) => sorted.single.push(entry),
                (Some(_), _) => sorted.grouped.push(entry),
            }
        }
        sorted
    }

    /// Returns the settlements in lanes, with their indexes in the group.
    fn laned(&self) -> impl Iterator<Item = (QueueLane, usize)> {
        let lane_and_index =
            |entry: &Entry| Some(((entry.reference.queue, entry.reference.lane?), usize::try_from(entry.n).ok()?));
        self.single.iter().chain(&self.grouped).filter_map(lane_and_index)
    }

    fn reads<'a>(&self) -> Vec<Call<'a>> {
        let mut calls = Vec::with_capacity(3);
        if !self.loose.is_empty() {
            let call = indexed(&sql::HOT_FIRST_LOCK, &self.loose);
            calls.push(named(fenced(call, &self.loose), &self.loose));
        }
        if !self.single.is_empty() {
            let call = laned(indexed(&sql::HOT_FIRST, &self.single), &self.single);
            calls.push(named(fenced(call, &self.single), &self.single));
        }
        if !self.grouped.is_empty() {
            let call = laned(indexed(&sql::HOT_MEMBERS, &self.grouped), &self.grouped);
            let call =
                fenced(call, &self.grouped).bigs(self.grouped.iter().map(|entry| i64::from(entry.reference.size)));
            calls.push(named(call, &self.grouped));
        }
        calls
    }

    fn load(&self, answers: &mut Answers, loaded: &mut [Loaded]) -> Result<(), TripError> {
        for asked in [&self.loose, &self.single, &self.grouped] {
            if asked.is_empty() {
                continue;
            }
            for row in answers.take() {
                let member = Member { item: item(&row, 1)?, id: maybe_name(&row, 1 + ITEM, ItemId::new)? };
                if let Some(loaded) = loaded.get_mut(index(&row)?) {
                    loaded.members.push(member);
                }
            }
        }
        for entry in &self.grouped {
            if let Some(loaded) = usize::try_from(entry.n).ok().and_then(|n| loaded.get_mut(n)) {
                loaded.members.sort_by_key(|member| member.item.seq);
            }
        }
        Ok(())
    }

    fn next<'a>(&self, floors: &[Seq]) -> Call<'a> {
        let all = || self.single.iter().chain(&self.grouped);
        Call::new(&sql::HOT_NEXT)
            .ints(all().map(|entry| entry.n))
            .ints(all().map(|entry| entry.reference.queue.0))
            .bigs(all().map(|entry| entry.reference.lane.map_or(0, |Lane(lane)| lane)))
            .bigs(all().map(|entry| entry.reference.fence.0))
            .bigs(floors.iter().map(|floor| floor.0))
    }
}

fn indexed<'a>(sql: &'static sql::Sql, asked: &[Entry]) -> Call<'a> {
    Call::new(sql).ints(asked.iter().map(|entry| entry.n)).ints(asked.iter().map(|entry| entry.reference.queue.0))
}

fn laned<'a>(call: Call<'a>, asked: &[Entry]) -> Call<'a> {
    call.bigs(asked.iter().map(|entry| entry.reference.lane.map_or(0, |Lane(lane)| lane)))
}

fn fenced<'a>(call: Call<'a>, asked: &[Entry]) -> Call<'a> {
    call.bigs(asked.iter().map(|entry| entry.reference.seq.0)).bigs(asked.iter().map(|entry| entry.reference.fence.0))
}

fn named<'a>(call: Call<'a>, asked: &[Entry]) -> Call<'a> {
    call.flags(asked.iter().map(|entry| entry.named))
}

fn index(row: &Row) -> Result<usize, TripError> {
    Ok(usize::try_from(get::<i32>(row, 0)?).unwrap_or(usize::MAX))
}

/// Returns the lowest seq seen in a delivery's lane. A stale delivery has no rows and returns `None`.
fn begin(loaded: &Loaded) -> Option<Seq> {
    let first = loaded.members.first()?.item.seq;
    Some(loaded.next.as_ref().map_or(first, |next| first.min(next.seq)))
}

/// Returns the trace of a delivery under exactly its fence, from the rows that are left of it.
pub(super) fn trace(row: &Row) -> Result<Trace, TripError> {
    let ended = get::<Option<i16>>(row, 1)?.map(row::ended_from).transpose()?;
    let back = get::<Option<i16>>(row, 2)?.map(row::last_from).transpose()?;
    let retry_at = get::<Option<i64>>(row, 4)?.map(Time);
    let error: Option<&str> = get(row, 3)?;
    let stored = get(row, 5)?;
    let failed = error.map(|error| FailedAttempt { expired: AttemptError::expired_from(stored, error), retry_at });
    let holder = get::<Option<&str>>(row, 6)?.map(WorkerName::from);
    Ok(Trace { ended, back, failed, holder })
}
