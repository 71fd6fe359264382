//! The intake: takes in what applications enqueued or completed in their own transactions.
//!
//! It works queue by queue and slice by slice. One process at a time takes in from a queue, in the order of the calls,
//! with the same code as other commands. Intake rows are deleted in the transaction that applies them, so no row is
//! taken in twice and a lost connection needs no special care. Queues do not wait for each other, and a slice is a few
//! milliseconds of work.
//!
//! A look for new rows remembers its snapshot. The next look asks only for rows that became visible since. So it scans
//! no dead entries, and it finds the row of a transaction that was open for an hour as quickly as any other.

mod backlog;

use super::call::Call;
use super::error::TripError;
use super::read::free;
use super::row::{self, garbled, get, maybe_name, name};
use super::slot::{Slot, Taken};
use super::sql;
use super::tx::{Plan, Tx};
use super::{PostgresStore, enqueue, settle};
use crate::clock::Stopwatch;
use crate::store::{EnqueueGroup, IntakeCaller, IntakeSlice, IntakeStore, Pending, QueueRow, SettleGroup, StoreError};
use backlog::{Backlog, Found, IntakeRef, LIST, Share};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use tokio_postgres::Row;
use turno_core::id::{Fence, ItemId, Key, Lane, QueueId, Seq};
use turno_core::limits::ANSWER_BYTES;
use turno_core::queue::{Act, DeliveryRef, Enqueue, Kind, NewItem, Settle, Settler};
use turno_core::time::{Span, Time};

/// The most pairs of transaction and queue that one look finds.
const LOOK: usize = 10_000;
/// How often a look covers everything, in case the remembered snapshot is wrong in an unforeseen way.
const FULL_EVERY: Span = Span::from_secs(30);
/// How often a transaction is repeated after a conflict.
const REDO_MAX: u32 = 3;

/// The connections of the intake, and the last look.
#[derive(Default)]
pub(super) struct Intake {
    /// Separate from the callers' connections, because the background task may be busy with another queue.
    pub(super) background: Slot,
    pub(super) callers: [Slot; 2],
    seen: Mutex<Option<Seen>>,
    /// By queue; grows with the number of queues.
    shares: Mutex<HashMap<QueueId, Arc<Share>>>,
}

/// A look. Everything visible to it is in the shares or was taken in.
#[derive(Clone, Debug)]
struct Seen {
    /// The server's life. After a crash the server reuses some transaction ids, so a look is void in another life.
    life: Arc<str>,
    /// When a look last covered everything.
    full: Time,
    /// Transactions from this id on were not visible yet,
    xmax: i64,
    /// and neither were these older ones.
    open: Vec<i64>,
}

/// A parsed intake row.
enum IntakeRow {
    Ack(Settle),
    Item(Enqueue),
}

/// The result of an attempt to take rows in.
enum Step {
    /// Another process is taking in from this queue.
    Busy,
    /// The plan, the completed deliveries of a sync queue, and the refused rows with their errors.
    Planned(Box<Plan>, Vec<DeliveryRef>, Vec<(IntakeRef, String)>),
}

impl Intake {
    fn slot(&self, who: IntakeCaller) -> &Slot {
        match who {
            IntakeCaller::Background => &self.background,
            IntakeCaller::Caller => free(&self.callers),
        }
    }

    fn share(&self, queue: QueueId) -> Arc<Share> {
        self.shares.lock().unwrap_or_else(PoisonError::into_inner).entry(queue).or_default().clone()
    }

    /// Returns the queues that have rows waiting, as far as looks have found.
    fn waiting(&self) -> Vec<QueueId> {
        let shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        shares.iter().filter(|(_, share)| share.waits()).map(|(queue, _)| *queue).collect()
    }
}

impl IntakeStore for PostgresStore {
    fn find(&self, who: IntakeCaller) -> Pending<'_, Vec<QueueId>> {
        Box::pin(self.find_intake(who))
    }

    fn take_in(&self, queue: QueueId, who: IntakeCaller) -> Pending<'_, IntakeSlice> {
        Box::pin(self.take_in_slice(queue, who))
    }
}

impl PostgresStore {
    /// Looks for rows committed since the last look. Returns the queues that have rows waiting.
    async fn find_intake(&self, who: IntakeCaller) -> Result<Vec<QueueId>, StoreError> {
        let mut again = true;
        loop {
            let now = self.shared.clock.estimate();
            let mut link = self.intake.slot(who).take(&self.address).await?;
            let life = link.life.clone();
            let seen = self.intake.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let seen = seen.filter(|seen| seen.life == life && seen.full <= now && now < seen.full + FULL_EVERY);
            let seen = seen.unwrap_or(Seen { life, full: now, xmax: 0, open: Vec::new() });
            let look = Call::new(&sql::INTAKE_LOOK).big(seen.xmax).bigs(seen.open.iter().copied()).big(LOOK as i64);
            match link.trip(&[Call::new(&sql::BEGIN), look, Call::new(&sql::COMMIT)]).await {
                Ok(mut answers) => {
                    link.put_back();
                    let rows = answers.pop().and(answers.pop()).unwrap_or_default();
                    self.note_found(who, seen, &rows).await?;
                    return Ok(self.intake.waiting());
                }
                Err(failure) => self.failed(link, failure, &mut again).await?,
            }
        }
    }

    async fn note_found(&self, who: IntakeCaller, asked: Seen, rows: &[Row]) -> Result<(), StoreError> {
        let first = rows.first().ok_or_else(|| garbled("no snapshot"))?;
        let seen = Seen { xmax: get(first, 0)?, open: get(first, 1)?, ..asked };
        let mut found: HashMap<QueueId, BTreeSet<i64>> = HashMap::new();
        for row in rows {
            if let (Some(xid), Some(queue)) = (get(row, 2)?, get(row, 3)?) {
                found.entry(QueueId(queue)).or_default().insert(xid);
            }
        }
        if rows.len() < LOOK {
            found.into_iter().for_each(|(queue, xids)| self.intake.share(queue).note(Found::Xids(xids)));
        } else {
            let queues = self.read_on(self.intake.slot(who), vec![Call::new(&sql::INTAKE_QUEUES)]).await?.take();
            for row in &queues {
                self.intake.share(QueueId(get(row, 0)?)).note(Found::Everywhere);
            }
        }
        *self.intake.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen);
        Ok(())
    }

    /// Takes in one slice of a queue's rows, as far as looks have found them.
    async fn take_in_slice(&self, queue: QueueId, who: IntakeCaller) -> Result<IntakeSlice, StoreError> {
        let share = self.intake.share(queue);
        let mut backlog = share.backlog.lock().await;
        if let Some(found) = backlog.next_listing(&share) {
            let rows = self.intake_list(queue, &found, who).await?;
            backlog.list(rows);
        }
        let mut slice = self.take_slice(queue, &mut backlog, who).await?;
        slice.more = !backlog.is_over() || share.has_news();
        Ok(slice)
    }

    async fn intake_list(
        &self,
        queue: QueueId,
        found: &Found,
        who: IntakeCaller,
    ) -> Result<Vec<(IntakeRef, bool, i64)>, StoreError> {
        let list = match found {
            Found::Xids(xids) => Call::new(&sql::INTAKE_LIST).int(queue.0).bigs(xids.iter().copied()),
            Found::Everywhere => Call::new(&sql::INTAKE_LIST_ALL).int(queue.0),
        };
        let rows = self.read_on(self.intake.slot(who), vec![list.big(LIST as i64)]).await?.take();
        let listed = rows.iter().map(|row| {
            let place = IntakeRef { number: get(row, 0)?, mark: get(row, 3)? };
            Ok((place, get(row, 1)?, get(row, 2)?))
        });
        Ok(listed.collect::<Result<_, TripError>>()?)
    }

    /// Takes in the front of the backlog. If the database rejects the rows together, each half is tried as a slice of
    /// its own.
    async fn take_slice(
        &self,
        queue: QueueId,
        backlog: &mut Backlog,
        who: IntakeCaller,
    ) -> Result<IntakeSlice, StoreError> {
        let places = backlog.slice();
        let Some(first) = places.first().copied() else {
            return Ok(IntakeSlice::default());
        };
        let watch = Stopwatch::start();
        let taken = self.intake_rows(queue, &places, who).await;
        let rows = places.len();
        match taken {
            Ok(None) => {
                backlog.forget();
                return Ok(IntakeSlice { busy: true, ..IntakeSlice::default() });
            }
            Ok(Some(completed)) => {
                backlog.taken(rows, watch.elapsed());
                return Ok(IntakeSlice { rows, completed, ..IntakeSlice::default() });
            }
            Err(StoreError::Rejected(_) | StoreError::Schema(_)) if rows > 1 => backlog.halve(rows),
            Err(error @ (StoreError::Rejected(_) | StoreError::Schema(_))) => {
                self.intake_refuse(queue, vec![(first, error.to_string())], who).await?;
                backlog.taken(rows, watch.elapsed());
            }
            Err(error) => return Err(error),
        }
        Ok(IntakeSlice::default())
    }

    /// Takes these rows in together. Returns `None` if another process is taking in from the queue.
    async fn intake_rows(
        &self,
        queue: QueueId,
        places: &[IntakeRef],
        who: IntakeCaller,
    ) -> Result<Option<Vec<DeliveryRef>>, StoreError> {
        let (mut again, mut redo) = (true, 0);
        loop {
            let mut link = self.intake.slot(who).take(&self.address).await?;
            let step = self.intake_plan(&mut link, queue, places).await;
            match step {
                Ok(Step::Busy) => {
                    link.cancel();
                    return Ok(None);
                }
                Ok(Step::Planned(plan, completed, refused)) => match self.finish(link, *plan).await {
                    Ok(_) => {
                        self.intake_refuse(queue, refused, who).await?;
                        return Ok(Some(completed));
                    }
                    Err(StoreError::Conflict(_)) if redo < REDO_MAX => redo += 1,
                    Err(error) => return Err(error),
                },
                Err(failure) => match self.failed(link, failure, &mut again).await {
                    Ok(()) => {}
                    Err(StoreError::Conflict(_)) if redo < REDO_MAX => redo += 1,
                    Err(error) => return Err(error),
                },
            }
        }
    }

    async fn intake_plan(&self, link: &mut Taken<'_>, queue: QueueId, places: &[IntakeRef]) -> Result<Step, TripError> {
        let tx = &mut Tx::new(link, &self.shared, None);
        let rows = places.iter().filter(|place| place.mark.is_none()).map(|place| place.number);
        let marks: HashMap<i64, i64> = places.iter().filter_map(|place| Some((place.number, place.mark?))).collect();
        let read = Call::new(&sql::INTAKE_READ).bigs(rows);
        let read = read.int(queue.0).bigs(marks.values().copied()).bigs(marks.keys().copied());
        let lock = Call::new(&sql::INTAKE_LOCK).int(queue.0);
        let mut answers = tx.trip(vec![lock, read, Call::new(&sql::QUEUE_LIST)]).await?;
        let lock = answers.take();
        if !lock.first().map_or(Ok(false), |row| get(row, 0))? {
            return Ok(Step::Busy);
        }
        let (rows, queues) = (answers.take(), answers.take());
        let queues = queues.iter().map(|row| row::queue(row).map(|queue| (queue.id, queue)));
        let queues: HashMap<QueueId, QueueRow> = queues.collect::<Result<_, _>>()?;
        let now = self.shared.clock.estimate();
        let (mut settlements, mut calls): (Vec<Settle>, Vec<Enqueue>) = (Vec::new(), Vec::new());
        let (mut taken_in, mut completed, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        for row in &rows {
            let number: i64 = get(row, 0)?;
            let place = IntakeRef { number, mark: marks.get(&number).copied() };
            match parse_row(row, &queues, now) {
                Ok(IntakeRow::Ack(settle)) => {
                    completed.extend(Some(settle.reference).filter(|_| settle.policy.kind == Kind::Sync));
                    settlements.push(settle);
                    taken_in.push(place);
                }
                Ok(IntakeRow::Item(call)) => {
                    calls.push(call);
                    taken_in.push(place);
                }
                Err(why) => refused.push((place, render_reason(why))),
            }
        }
        let plan = if calls.is_empty() {
            settle::plan(tx, &self.shared, &SettleGroup { settlements }).await?
        } else {
            enqueue::plan(tx, &self.shared, &EnqueueGroup { calls }).await?
        };
        let taken_in = removals(queue, &taken_in);
        Ok(Step::Planned(Box::new(Plan { taken_in, ..plan }), completed, refused))
    }

    /// Moves rows aside that cannot be taken in, so that they do not block the others.
    async fn intake_refuse(
        &self,
        queue: QueueId,
        refused: Vec<(IntakeRef, String)>,
        who: IntakeCaller,
    ) -> Result<(), StoreError> {
        for (IntakeRef { number, mark }, error) in refused {
            tracing::warn!(number, error, "what an application left could not be taken in; see turno.intake_refused");
            let call = match mark {
                None => Call::new(&sql::INTAKE_REFUSE).big(number).text(&error),
                Some(xid) => Call::new(&sql::SYNC_MARK_REFUSE).int(queue.0).big(xid).big(number).text(&error),
            };
            self.read_on(self.intake.slot(who), vec![call]).await?;
        }
        Ok(())
    }
}

/// Returns the calls that remove these rows from the intake and the marks.
fn removals(queue: QueueId, places: &[IntakeRef]) -> Vec<Call<'static>> {
    let rows: Vec<i64> = places.iter().filter(|place| place.mark.is_none()).map(|place| place.number).collect();
    let marks: Vec<(i64, i64)> = places.iter().filter_map(|place| Some((place.mark?, place.number))).collect();
    let mut calls = Vec::new();
    if !rows.is_empty() {
        calls.push(Call::new(&sql::INTAKE_REMOVE).bigs(rows.into_iter()));
    }
    if !marks.is_empty() {
        let (xids, numbers) = (marks.iter().map(|mark| mark.0), marks.iter().map(|mark| mark.1));
        calls.push(Call::new(&sql::SYNC_MARK_REMOVE).int(queue.0).bigs(xids).bigs(numbers));
    }
    calls
}

fn parse_row(row: &Row, queues: &HashMap<QueueId, QueueRow>, now: Time) -> Result<IntakeRow, TripError> {
    let (at, number) = (Time(get(row, 1)?), QueueId(get(row, 2)?));
    let queue = queues.get(&number).ok_or_else(|| TripError::rejected(format!("there is no queue {}", number.0)))?;
    if let Some(seq) = get::<Option<i64>>(row, 9)? {
        let reference = DeliveryRef {
            queue: number,
            seq: Seq(seq),
            lane: get::<Option<i64>>(row, 10)?.map(Lane),
            size: u32::try_from(get::<i64>(row, 11)?).map_err(garbled)?,
            fence: Fence(get(row, 12)?),
        };
        return Ok(IntakeRow::Ack(Settle {
            reference,
            policy: queue.policy.clone(),
            act: Act::Complete,
            by: Settler::Server,
        }));
    }
    let key = maybe_name(row, 5, Key::new)?;
    if queue.policy.kind.needs_key() && key.is_none() {
        return Err(TripError::rejected("it has no key, and its queue has become one that needs keys"));
    }
    let item = NewItem {
        id: name(row, 3, ItemId::new)?,
        id_given: get(row, 4)?,
        key,
        action: get(row, 6)?,
        payload: get::<&str>(row, 7)?.into(),
        delay: remaining_delay(Span(get(row, 8)?), at, now),
        since: Some(at),
    };
    Ok(IntakeRow::Item(Enqueue {
        queue: number,
        policy: queue.policy.clone(),
        items: vec![item],
        group_bytes: ANSWER_BYTES,
    }))
}

/// Renders why a row cannot be taken in. A rejection by this module is shown without the database's error prefix.
fn render_reason(why: TripError) -> String {
    match why {
        TripError::Refused { code: None, message } => message,
        why => StoreError::from(why).to_string(),
    }
}

/// Returns how much of a delay that was requested at `at` is left at `now`.
fn remaining_delay(delay: Span, at: Time, now: Time) -> Span {
    ((at + delay) - now).clamp(Span::ZERO, delay)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_counts_from_the_call_and_never_grows() {
        let delay = Span(1_000);
        assert_eq!(remaining_delay(delay, Time(5_000), Time(5_400)), Span(600));
        assert_eq!(remaining_delay(delay, Time(5_000), Time(9_000)), Span::ZERO);
        assert_eq!(remaining_delay(delay, Time(5_000), Time(1_000)), delay, "even if the clocks disagree");
    }
}
