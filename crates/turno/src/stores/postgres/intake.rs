//! Taking in what applications have left in transactions of their own.
//!
//! One process at a time does it, in the order of calls, some hundred at once, through the same code as everybody's
//! commands: what was left and what became of it change in one transaction. So nothing is taken in twice, whatever
//! happens, and a lost connection needs no question.
//!
//! A look remembers its snapshot. The next one asks only for what became visible since: it reads over nothing dead, and
//! finds the row of a transaction that was open for an hour as quickly as any other.

use super::call::{self, Call};
use super::failure::Failure;
use super::row::{self, garbled, get, maybe_name, name};
use super::slot::{Slot, Taken};
use super::tx::{Plan, Tx};
use super::{PostgresStore, enqueue, settle};
use crate::store::{EnqueueGroup, Folded, QueueRow, SettleGroup, StoreError};
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_postgres::Row;
use turno_core::id::{Fence, ItemId, Key, Lane, QueueId, Seq};
use turno_core::queue::{Act, Enqueue, Handed, Kind, NewItem, Settle};
use turno_core::time::{Span, Time};

/// Most that one look lists: its numbers are kept in memory.
const LOOK: usize = 10_000;
/// Most that one transaction takes in, and the most bytes of payload: some milliseconds of work.
const AT_ONCE: usize = 500;
const BYTES_AT_ONCE: i64 = 16 * 1024 * 1024;
/// How often everything is looked at, in case what is remembered is wrong in a way nobody has thought of.
const FULL_EVERY: Span = Span::from_secs(30);
/// How often a transaction is tried again that another one came in between.
const REDO_MAX: u32 = 3;
/// How long another process that takes in is waited for: much longer than it needs.
const BUSY_PAUSE: Duration = Duration::from_millis(5);
const BUSY_MAX: u32 = 1_000;

/// The connection for it, and what was seen last.
#[derive(Default)]
pub(super) struct Intake {
    slot: Slot,
    seen: Mutex<Option<Seen>>,
}

/// A look after which everything that it could see was taken in.
#[derive(Clone, Debug)]
struct Seen {
    /// In which life of the server: after a crash it gives some numbers of transactions again.
    life: Arc<str>,
    /// When everything was looked at.
    full: Time,
    /// Transactions from this one on were not visible yet,
    xmax: i64,
    /// nor were these.
    open: Vec<i64>,
}

/// What one look found: the snapshot, and the numbers of what is to be settled and to be admitted.
struct Look {
    seen: Seen,
    acks: Vec<Vec<i64>>,
    items: Vec<Vec<i64>>,
    all: bool,
}

/// One row, understood.
enum Left {
    Ack(Settle),
    Item(Enqueue),
}

/// What was changed by it.
#[derive(Default)]
struct Changed {
    queues: BTreeSet<QueueId>,
    /// Deliveries of sync queues.
    completed: Vec<Handed>,
}

/// What became of an attempt to take rows in.
enum Step {
    /// Another process is at it.
    Busy,
    /// These queues changed; these rows cannot be taken in.
    Planned(Box<Plan>, Changed, Vec<(i64, String)>),
}

impl PostgresStore {
    /// Takes in everything that was committed when it was called.
    pub(super) async fn take_in(&self) -> Result<Folded, StoreError> {
        let mut changed = Changed::default();
        loop {
            let look = self.intake_look().await?;
            // What is settled first may make room for what is admitted, never the other way round.
            for part in look.acks.into_iter().chain(look.items) {
                self.intake_part(part, &mut changed).await?;
            }
            if look.all {
                *self.intake.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(look.seen);
                return Ok(Folded { changed: changed.queues.into_iter().collect(), completed: changed.completed });
            }
        }
    }

    async fn intake_look(&self) -> Result<Look, StoreError> {
        let mut again = true;
        loop {
            let now = self.shared.clock.estimate();
            let mut link = self.intake.slot.take(&self.address).await?;
            let life = link.life.clone();
            let seen = self.intake.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let seen = seen.filter(|seen| seen.life == life && seen.full <= now && now < seen.full + FULL_EVERY);
            let seen = seen.unwrap_or(Seen { life, full: now, xmax: 0, open: Vec::new() });
            let look = Call::new(&call::INTAKE_LOOK).big(seen.xmax).bigs(seen.open.iter().copied()).big(LOOK as i64);
            let calls = [Call::new(&call::BEGIN), look, Call::new(&call::COMMIT)];
            match link.trip(&calls).await {
                Ok(mut answers) => {
                    link.put_back();
                    let rows = answers.pop().and(answers.pop()).unwrap_or_default();
                    return Ok(Look::of(seen, &rows)?);
                }
                Err(failure) => again = self.intake_failed(link, failure, again).await?,
            }
        }
    }

    /// Takes these rows in: together, or one by one if together does not work.
    async fn intake_part(&self, numbers: Vec<i64>, changed: &mut Changed) -> Result<(), StoreError> {
        match self.intake_rows(&numbers, changed).await {
            Err(StoreError::Rejected(_) | StoreError::Schema(_)) if numbers.len() > 1 => {
                for number in numbers {
                    Box::pin(self.intake_part(vec![number], changed)).await?;
                }
                Ok(())
            }
            Err(StoreError::Rejected(error) | StoreError::Schema(error)) => {
                self.intake_refuse(vec![(numbers[0], error)]).await
            }
            other => other,
        }
    }

    async fn intake_rows(&self, numbers: &[i64], changed: &mut Changed) -> Result<(), StoreError> {
        let (mut again, mut redo, mut busy) = (true, 0, 0);
        loop {
            let mut link = self.intake.slot.take(&self.address).await?;
            let step = self.intake_plan(&mut link, numbers).await;
            match step {
                Ok(Step::Busy) => {
                    link.abandon();
                    link.put_back();
                    busy += 1;
                    if busy > BUSY_MAX {
                        return Err(StoreError::Conflict("another process does not finish taking in".into()));
                    }
                    tokio::time::sleep(BUSY_PAUSE).await;
                }
                Ok(Step::Planned(plan, now, refused)) => match self.finish(link, *plan).await {
                    Ok(_) => {
                        changed.queues.extend(now.queues);
                        changed.completed.extend(now.completed);
                        return self.intake_refuse(refused).await;
                    }
                    Err(StoreError::Conflict(_)) if redo < REDO_MAX => redo += 1,
                    Err(error) => return Err(error),
                },
                Err(failure) => match self.intake_failed(link, failure, again).await {
                    Ok(_) => again = false,
                    Err(StoreError::Conflict(_)) if redo < REDO_MAX => redo += 1,
                    Err(error) => return Err(error),
                },
            }
        }
    }

    /// Rolls back, and answers whether to try again: once after a loss that a restart explains, or a pooler.
    async fn intake_failed(&self, mut link: Taken<'_>, failure: Failure, again: bool) -> Result<bool, StoreError> {
        let (pooler, stale) = (failure.is_poolers(), failure.is_lost() && !link.fresh);
        if pooler {
            self.address.unprepared.store(true, Ordering::Relaxed);
        } else if !failure.is_lost() && link.roll_back().await.is_ok() {
            link.put_back();
        }
        if matches!(failure, Failure::AnotherLife) {
            self.begin_life(false).await?;
            return if again { Ok(false) } else { Err(failure.into()) };
        }
        if again && (pooler || stale) { Ok(false) } else { Err(failure.into()) }
    }

    async fn intake_plan(&self, link: &mut Taken<'_>, numbers: &[i64]) -> Result<Step, Failure> {
        let tx = &mut Tx::new(link, &self.shared, None);
        let read = Call::new(&call::INTAKE_READ).bigs(numbers.iter().copied());
        let mut answers = tx.trip(vec![Call::new(&call::INTAKE_LOCK), read, Call::new(&call::QUEUE_LIST)]).await?;
        let lock = answers.take();
        if !lock.first().map_or(Ok(false), |row| get(row, 0))? {
            return Ok(Step::Busy);
        }
        let (rows, queues) = (answers.take(), answers.take());
        let queues = queues.iter().map(|row| row::queue(row).map(|queue| (queue.id, queue)));
        let queues: HashMap<QueueId, QueueRow> = queues.collect::<Result<_, _>>()?;
        let now = self.shared.clock.estimate();
        let (mut settlements, mut calls): (Vec<Settle>, Vec<Enqueue>) = (Vec::new(), Vec::new());
        let (mut taken_in, mut changed, mut refused) = (Vec::new(), Changed::default(), Vec::new());
        for row in &rows {
            let number: i64 = get(row, 0)?;
            match understand(row, &queues, now) {
                Ok(Left::Ack(settle)) => {
                    changed.queues.insert(settle.handed.queue);
                    changed.completed.extend(Some(settle.handed).filter(|_| settle.policy.kind == Kind::Sync));
                    settlements.push(settle);
                    taken_in.push(number);
                }
                Ok(Left::Item(call)) => {
                    changed.queues.insert(call.queue);
                    calls.push(call);
                    taken_in.push(number);
                }
                Err(why) => refused.push((number, reason(why))),
            }
        }
        let plan = if calls.is_empty() {
            settle::plan(tx, &self.shared, &SettleGroup { settlements }).await?
        } else {
            enqueue::plan(tx, &self.shared, &EnqueueGroup { calls }).await?
        };
        Ok(Step::Planned(Box::new(Plan { taken_in, ..plan }), changed, refused))
    }

    /// Puts rows aside that cannot be taken in: they must not hold up the others.
    async fn intake_refuse(&self, refused: Vec<(i64, String)>) -> Result<(), StoreError> {
        for (number, error) in refused {
            tracing::warn!(number, error, "what an application left could not be taken in; see turno.intake_refused");
            let call = Call::new(&call::INTAKE_REFUSE).big(number).text(&error);
            self.read_on(&self.intake.slot, vec![call]).await?;
        }
        Ok(())
    }
}

impl Look {
    fn of(asked: Seen, rows: &[Row]) -> Result<Look, Failure> {
        let first = rows.first().ok_or_else(|| garbled("no snapshot"))?;
        let seen = Seen { xmax: get(first, 0)?, open: get(first, 1)?, ..asked };
        let (mut acks, mut items) = (Vec::new(), Vec::new());
        for row in rows {
            if let Some(number) = get::<Option<i64>>(row, 2)? {
                if get(row, 3)? {
                    acks.push((number, 0));
                } else {
                    items.push((number, get(row, 4)?));
                }
            }
        }
        Ok(Look { seen, acks: parts(acks), items: parts(items), all: rows.len() < LOOK })
    }
}

/// In the same order, in parts that a transaction can take.
fn parts(rows: Vec<(i64, i64)>) -> Vec<Vec<i64>> {
    let mut parts: Vec<Vec<i64>> = Vec::new();
    let mut sum = 0;
    for (number, bytes) in rows {
        sum += bytes;
        match parts.last_mut() {
            Some(part) if part.len() < AT_ONCE && sum <= BYTES_AT_ONCE => part.push(number),
            _ => {
                sum = bytes;
                parts.push(vec![number]);
            }
        }
    }
    parts
}

fn understand(row: &Row, queues: &HashMap<QueueId, QueueRow>, now: Time) -> Result<Left, Failure> {
    let (at, number) = (Time(get(row, 1)?), QueueId(get(row, 2)?));
    let queue = queues.get(&number).ok_or_else(|| Failure::rejected(format!("there is no queue {}", number.0)))?;
    if let Some(seq) = get::<Option<i64>>(row, 9)? {
        let handed = Handed {
            queue: number,
            seq: Seq(seq),
            lane: get::<Option<i64>>(row, 10)?.map(Lane),
            size: u32::try_from(get::<i64>(row, 11)?).map_err(garbled)?,
            fence: Fence(get(row, 12)?),
        };
        return Ok(Left::Ack(Settle { handed, policy: queue.policy.clone(), act: Act::Complete }));
    }
    let key = maybe_name(row, 5, Key::new)?;
    if queue.policy.kind != Kind::Inbox && key.is_none() {
        return Err(Failure::rejected("it has no key, and its queue has become one that needs keys"));
    }
    let item = NewItem {
        id: name(row, 3, ItemId::new)?,
        id_given: get(row, 4)?,
        key,
        action: get(row, 6)?,
        payload: get::<&str>(row, 7)?.into(),
        delay: left_of(Span(get(row, 8)?), at, now),
        since: Some(at),
    };
    Ok(Left::Item(Enqueue { queue: number, policy: queue.policy.clone(), items: vec![item] }))
}

/// Why a row cannot be taken in, for people. What has changed around it is no fault of whoever wrote it.
fn reason(why: Failure) -> String {
    match why {
        Failure::Refused { code: None, message } => message,
        why => StoreError::from(why).to_string(),
    }
}

/// What is left at `now` of a delay that was asked for at `at`.
fn left_of(delay: Span, at: Time, now: Time) -> Span {
    ((at + delay) - now).clamp(Span::ZERO, delay)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_counts_from_the_call_and_is_never_longer_than_asked_for() {
        let delay = Span(1_000);
        assert_eq!(left_of(delay, Time(5_000), Time(5_400)), Span(600));
        assert_eq!(left_of(delay, Time(5_000), Time(9_000)), Span::ZERO);
        assert_eq!(left_of(delay, Time(5_000), Time(1_000)), delay, "whatever the clocks say");
    }

    #[test]
    fn parts_are_bounded_in_number_and_in_bytes() {
        let small = parts((0..1_200).map(|n| (n, 1)).collect());
        assert_eq!(small.iter().map(Vec::len).collect::<Vec<_>>(), [500, 500, 200]);
        assert_eq!(small.concat(), (0..1_200).collect::<Vec<_>>());
        let large = parts((0..5).map(|n| (n, 8 * 1024 * 1024)).collect());
        assert_eq!(large, [vec![0, 1], vec![2, 3], vec![4]]);
    }
}
