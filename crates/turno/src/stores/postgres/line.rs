//! One line of a finalize, in its own transaction.
//!
//! The locks, in order: the task (shared, which keeps commands out), the lease (against takers, not against
//! heartbeats), the line, the article. The lease is renewed last, so that no heartbeat waits for an effect. Two
//! instances may apply two lines of one task at the same time. The first applied line writes the task's new status at
//! commit, which the shared locks of other lines on the task do not block.

use super::PostgresStore;
use super::call::Call;
use super::effect::{self, Bounded, Ran};
use super::error::TripError;
use super::lease::{add_events, states};
use super::read::free;
use super::row::garbled;
use super::row::task::{add_notes, line, number_to, save_lines, task};
use super::sql;
use super::stock;
use super::tx::{Moment, Tx};
use crate::store::{Effect, LineStep, LineToApply, StoreError};
use tokio_postgres::Row;
use turno_core::event::Event;
use turno_core::id::Sku;
use turno_core::lease::{Grant, State};
use turno_core::task::{
    Apply, Begin, Line, LineDone, LineError, LineOutcome, Note, Posting, Status, begin_line, end_line, post,
};
use turno_core::text::clip_text;
use turno_core::time::Time;

/// How far a line came.
enum Step {
    /// There is nothing to write.
    Over(LineStep),
    /// The line's result only has to be written.
    Write(Box<LineWrite>),
    /// The error, because of which nothing may be stored, and whether the connection can be used for another
    /// transaction.
    Failed(StoreError, bool),
}

/// The rows that a line writes.
struct LineWrite {
    line: Line,
    /// The task's new status and its time, if the status changes.
    status: Option<(Status, Time)>,
    outcome: LineOutcome,
    note: Vec<Note>,
    event: Vec<Event>,
    stock: Option<Stocked>,
    /// The renewed ownership, if it changed.
    renewed: Option<Grant>,
    xid: Option<String>,
}

/// The change of the article's stock.
enum Stocked {
    /// The stock moves, at this time.
    Moved(Posting, Time),
    /// The article's row was inserted for this line, which was refused, so it is deleted again.
    Unmade(Sku),
}

impl PostgresStore {
    pub(super) async fn line_apply(&self, apply: Apply, effect: Option<&dyn Effect>) -> Result<LineStep, StoreError> {
        // One permit per connection, so that the next line gets the first connection that is free.
        let permit = self.line_permits.acquire().await;
        let _permit = permit.map_err(|_| StoreError::Unavailable("the store is closing".into()))?;
        let effect = effect.map(|effect| Bounded { effect, longest: self.effect_max });
        let mut again = true;
        loop {
            let mut link = free(&self.lines).take(&self.address).await?;
            let step = run(&mut Tx::new(&mut link, &self.shared, None), &apply, effect).await;
            match step {
                Ok(Step::Write(write)) => {
                    self.commit_calls(link, calls(&apply, &write), None, write.xid.as_deref()).await?;
                    return Ok(LineStep::Settled(write.outcome));
                }
                // The answer is sent after the rollback, because the caller's next command must find the task unlocked.
                Ok(Step::Over(step)) => {
                    if link.roll_back().await.is_ok() {
                        link.put_back();
                    }
                    return Ok(step);
                }
                Ok(Step::Failed(error, usable)) => {
                    if usable && link.roll_back().await.is_ok() {
                        link.put_back();
                    }
                    return Err(error);
                }
                Err(failure) => self.failed(link, failure, &mut again).await?,
            }
        }
    }
}

/// The rows that were read under the locks.
struct Locked {
    begun: Begin,
    /// The task's status and the line, if both exist.
    found: Option<(Status, Line)>,
    lease: State,
    moment: Moment,
}

/// Locks and reads the task, its lease and the line.
async fn lock(tx: &mut Tx<'_>, apply: &Apply) -> Result<Locked, TripError> {
    let resource = apply.task.resource();
    let (id, number) = (apply.task.0, number_to(apply.number));
    let calls = vec![
        Call::new(&sql::TASK_SHARE).big(id),
        Call::new(&sql::LEASE_PIN).text(resource.as_str()),
        Call::new(&sql::LINE_LOCK).big(id).int(number),
        peek(resource.as_str()),
        Moment::call(0, true),
    ];
    let mut answers = tx.trip(calls).await?;
    let task = answers.take().first().map(task).transpose()?;
    answers.take();
    let line = answers.take().first().map(|row| line(row, 0)).transpose()?;
    let lease = lease_from_rows(apply, &answers.take())?;
    let moment = tx.moment(&answers.take())?;
    let begun = begin_line(apply, task.as_ref(), &lease, line.as_ref(), moment.now);
    Ok(Locked { begun, found: task.map(|task| task.status).zip(line), lease, moment })
}

/// Locks, reads, and runs the effect.
async fn run(tx: &mut Tx<'_>, apply: &Apply, effect: Option<Bounded<'_>>) -> Result<Step, TripError> {
    let resource = apply.task.resource();
    let Locked { begun, found, lease, moment } = lock(tx, apply).await?;
    let now = moment.now;
    let (before, line) = match (begun, found) {
        (Begin::Go, Some(found)) => found,
        (Begin::Go, None) => return Err(garbled("a line that is not there")),
        (Begin::Settled(outcome), _) => return Ok(Step::Over(LineStep::Settled(outcome))),
        (Begin::Over(finalized), _) => return Ok(Step::Over(LineStep::Over(finalized))),
        (Begin::Refused(refused), _) => return Ok(Step::Over(LineStep::Refused(refused))),
    };
    let Some(effect) = effect else {
        let (result, stock) = ledger(tx, apply, &line, now).await?;
        return Ok(Step::Write(Box::new(build_write(apply, (before, line), result, stock, (lease, now), moment))));
    };
    let to_apply =
        LineToApply { task: apply.task, line: line.clone(), by: apply.who.user.clone(), fence: apply.fence, now };
    let (end, result) = match effect::run(tx.link, effect, &to_apply).await? {
        Ran::Done => (&sql::EFFECT_END, Ok(())),
        Ran::Refused(message) => (&sql::EFFECT_UNDO, Err(LineError::Refused { message: clip_text(&message) })),
        Ran::Failed(error) => return Ok(Step::Failed(error, true)),
        Ran::Late(error) => return Ok(Step::Failed(error, false)),
    };
    let calls = vec![Call::new(end), peek(resource.as_str()), Moment::call(0, false)];
    let mut answers = match tx.trip(calls).await {
        Ok(answers) => answers,
        Err(TripError::Refused { message, .. }) => return Ok(Step::Failed(broken(apply, &message), true)),
        Err(failure) => return Err(failure),
    };
    answers.take();
    // Heartbeats may have arrived during the effect, so the ownership is read again.
    let lease = lease_from_rows(apply, &answers.take())?;
    let after = tx.moment(&answers.take())?;
    if after.xid != moment.xid {
        return Ok(Step::Failed(broken(apply, "it is in another one"), true));
    }
    Ok(Step::Write(Box::new(build_write(apply, (before, line), result, None, (lease, after.now), moment))))
}

fn broken(apply: &Apply, why: &str) -> StoreError {
    StoreError::Rejected(format!(
        "the effect of line {} of task {} failed in a statement and went on, or ended the transaction it was given: {why}",
        apply.number, apply.task
    ).into())
}

fn peek(resource: &str) -> Call<'_> {
    Call::new(&sql::LEASE_READ).texts(std::iter::once(resource))
}

fn lease_from_rows(apply: &Apply, rows: &[Row]) -> Result<State, TripError> {
    let resource = apply.task.resource();
    Ok(states(rows, vec![resource.clone()])?.pop().unwrap_or_else(|| State::unseen(resource)))
}

/// Applies the built-in effect: locks the article, reads its stock, decides.
async fn ledger(
    tx: &mut Tx<'_>,
    apply: &Apply,
    line: &Line,
    now: Time,
) -> Result<(Result<(), LineError>, Option<Stocked>), TripError> {
    let sku = line.sku.as_str();
    let calls = vec![
        Call::new(&sql::STOCK_INSERT).text(sku),
        Call::new(&sql::STOCK_LOCK).text(sku),
        Call::new(&sql::STOCK_OF_LINE).big(apply.task.0).int(number_to(apply.number)),
    ];
    let mut answers = tx.trip(calls).await?;
    let made = !answers.take().is_empty();
    answers.take();
    let stock = stock::from_rows(&answers.take())?.ok_or_else(|| garbled("a line without stock"))?;
    Ok(match post(line, &stock) {
        Ok(posting) => (Ok(()), Some(Stocked::Moved(posting, now))),
        Err(error) => (Err(error), made.then(|| Stocked::Unmade(line.sku.clone()))),
    })
}

/// Builds the writes after the effect. The ownership is renewed as of `lease`.
fn build_write(
    apply: &Apply,
    (before, line): (Status, Line),
    result: Result<(), LineError>,
    stock: Option<Stocked>,
    lease: (State, Time),
    began: Moment,
) -> LineWrite {
    let LineDone { line, outcome, note, event, status } = end_line(apply, before, line, result, began.now);
    let (lease, seen) = lease;
    let renewed = apply.renewed(lease, seen);
    let status = status.map(|status| (status, began.now));
    LineWrite { line, status, outcome, note: vec![note], event: vec![event], stock, renewed, xid: began.xid }
}

fn calls<'a>(apply: &'a Apply, write: &'a LineWrite) -> Vec<Call<'a>> {
    let mut calls = Vec::with_capacity(8);
    match &write.stock {
        Some(Stocked::Moved(posting, at)) => calls.extend(stock::calls(apply, posting, *at)),
        Some(Stocked::Unmade(sku)) => calls.push(Call::new(&sql::STOCK_REMOVE).text(sku.as_str())),
        None => {}
    }
    calls.push(save_lines(apply.task, &[&write.line]));
    calls.extend(
        write.status.map(|(status, at)| Call::new(&sql::TASK_STATUS).big(apply.task.0).text(status.as_str()).big(at.0)),
    );
    calls.push(add_notes(apply.task, &write.note));
    calls.push(add_events(&write.event));
    calls.extend(write.renewed.as_ref().map(|grant| {
        Call::new(&sql::LEASE_WORK)
            .made_text(Some(apply.task.resource().to_string()))
            .big(grant.fence.0)
            .big(grant.worked_at.0)
            .big(grant.heartbeat_at.0)
            .big(grant.expires_at.0)
            .flag(grant.idle)
    }));
    calls
}
