//! One line of a finalize, in a transaction of its own.
//!
//! Its locks, in order: the task (shared, so that commands stay out), the lease (against takers, not against
//! heartbeats), the line, the article. Last of all the lease is renewed, so that nobody's heartbeat waits for an
//! effect. Two instances may be at one task, each with another line. The first applied line writes the task's new status
//! with its commit, for which no line's lock on the task is in the way.

use super::PostgresStore;
use super::call::{self, Call};
use super::effect::{self, Bounded, Ran};
use super::failure::Failure;
use super::lease::{events, states};
use super::read::free;
use super::row::garbled;
use super::task::stock;
use super::task_row::{add_notes, json, line, number_to, save_lines, task};
use super::tx::{Moment, Tx};
use crate::store::{Effect, LineStep, LineToApply, StoreError};
use tokio_postgres::Row;
use turno_core::event::Event;
use turno_core::id::{Numbers, Serial, Sku};
use turno_core::lease::{Grant, State, decide};
use turno_core::task::{
    Apply, Begin, Line, LineDone, LineError, LineOutcome, Note, Posting, Status, begin_line, end_line, post,
};
use turno_core::text::kept;
use turno_core::time::Time;

/// How far a line came.
enum Step {
    /// There is nothing to write.
    Over(LineStep),
    /// All that is left is to write it.
    Write(Box<Work>),
    /// Nothing of it may be stored, and this is why; whether the connection is good for another transaction.
    Failed(StoreError, bool),
}

/// What a line writes.
struct Work {
    line: Line,
    /// What the task becomes, and when, if that is another status.
    status: Option<(Status, Time)>,
    outcome: LineOutcome,
    note: Vec<Note>,
    event: Vec<Event>,
    stock: Option<Stocked>,
    /// The ownership as it is after this work, if that makes a difference.
    renewed: Option<Grant>,
    xid: Option<String>,
}

/// What becomes of the article.
enum Stocked {
    /// It is moved, at this time.
    Moved(Posting, Time),
    /// Its row was made for this line, which was refused.
    Unmade(Sku),
}

impl PostgresStore {
    pub(super) async fn line_apply(&self, apply: Apply, effect: Option<&dyn Effect>) -> Result<LineStep, StoreError> {
        // One permit per connection: whoever comes next gets whichever is free first.
        let permit = self.line_permits.acquire().await;
        let _permit = permit.map_err(|_| StoreError::Unavailable("the store is closing".into()))?;
        let effect = effect.map(|effect| Bounded { effect, longest: self.effect_max });
        let mut again = true;
        loop {
            let mut link = free(&self.lines).take(&self.address).await?;
            let step = run(&mut Tx::new(&mut link, &self.shared, None), &apply, effect).await;
            match step {
                Ok(Step::Write(work)) => {
                    self.commit_calls(link, calls(&apply, &work), None, work.xid.as_deref()).await?;
                    return Ok(LineStep::Settled(work.outcome));
                }
                // The answer waits for the rollback: whoever has it and comes next must not find the task locked.
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

/// What was found behind the locks.
struct Locked {
    begun: Begin,
    /// The task's status and the line, if both are there.
    found: Option<(Status, Line)>,
    lease: State,
    moment: Moment,
}

/// Locks the task, its lease and the line, and looks at them.
async fn lock(tx: &mut Tx<'_>, apply: &Apply) -> Result<Locked, Failure> {
    let resource = apply.task.resource();
    let (id, number) = (apply.task.0, number_to(apply.number));
    let calls = vec![
        Call::new(&call::TASK_SHARE).big(id),
        Call::new(&call::LEASE_PIN).text(resource.as_str()),
        Call::new(&call::LINE_LOCK).big(id).int(number),
        peek(resource.as_str()),
        Moment::call(0, true),
    ];
    let mut answers = tx.trip(calls).await?;
    let task = answers.take().first().map(task).transpose()?;
    answers.take();
    let line = answers.take().first().map(|row| line(row, 0)).transpose()?;
    let lease = lease_of(apply, &answers.take())?;
    let moment = tx.moment(&answers.take())?;
    let begun = begin_line(apply, task.as_ref(), &lease, line.as_ref(), moment.now);
    Ok(Locked { begun, found: task.map(|task| task.status).zip(line), lease, moment })
}

/// Locks, looks, and lets the effect happen.
async fn run(tx: &mut Tx<'_>, apply: &Apply, effect: Option<Bounded<'_>>) -> Result<Step, Failure> {
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
        return Ok(Step::Write(Box::new(work(apply, (before, line), result, stock, (lease, now), moment))));
    };
    let to_apply =
        LineToApply { task: apply.task, line: line.clone(), by: apply.who.user.clone(), fence: apply.fence, now };
    let (end, result) = match effect::run(tx.link, effect, &to_apply).await? {
        Ran::Done => (&call::EFFECT_END, Ok(())),
        Ran::Refused(message) => (&call::EFFECT_UNDO, Err(LineError::Refused { message: kept(&message) })),
        Ran::Failed(error) => return Ok(Step::Failed(error, true)),
        Ran::Late(error) => return Ok(Step::Failed(error, false)),
    };
    let calls = vec![Call::new(end), peek(resource.as_str()), Moment::call(0, false)];
    let mut answers = match tx.trip(calls).await {
        Ok(answers) => answers,
        Err(Failure::Refused { message, .. }) => return Ok(Step::Failed(broken(apply, &message), true)),
        Err(failure) => return Err(failure),
    };
    answers.take();
    // Heartbeats may have come during the effect: the ownership is looked at anew.
    let lease = lease_of(apply, &answers.take())?;
    let after = tx.moment(&answers.take())?;
    if after.xid != moment.xid {
        return Ok(Step::Failed(broken(apply, "it is in another one"), true));
    }
    Ok(Step::Write(Box::new(work(apply, (before, line), result, None, (lease, after.now), moment))))
}

fn broken(apply: &Apply, why: &str) -> StoreError {
    StoreError::Rejected(format!(
        "the effect of line {} of task {} failed in a statement and went on, or ended the transaction it was given: {why}",
        apply.number, apply.task
    ))
}

fn peek(resource: &str) -> Call<'_> {
    Call::new(&call::LEASE_PEEK).texts(std::iter::once(resource))
}

fn lease_of(apply: &Apply, rows: &[Row]) -> Result<State, Failure> {
    let resource = apply.task.resource();
    Ok(states(rows, vec![resource.clone()])?.pop().unwrap_or_else(|| State::unseen(resource)))
}

/// The built-in effect: locks the article, reads what is in stock, decides.
async fn ledger(
    tx: &mut Tx<'_>,
    apply: &Apply,
    line: &Line,
    now: Time,
) -> Result<(Result<(), LineError>, Option<Stocked>), Failure> {
    let sku = line.sku.as_str();
    let calls = vec![
        Call::new(&call::STOCK_INSERT).text(sku),
        Call::new(&call::STOCK_LOCK).text(sku),
        Call::new(&call::STOCK_OF_LINE).big(apply.task.0).int(number_to(apply.number)),
    ];
    let mut answers = tx.trip(calls).await?;
    let made = !answers.take().is_empty();
    answers.take();
    let stock = stock(&answers.take())?.ok_or_else(|| garbled("a line without stock"))?;
    Ok(match post(line, &stock) {
        Ok(posting) => (Ok(()), Some(Stocked::Moved(posting, now))),
        Err(error) => (Err(error), made.then(|| Stocked::Unmade(line.sku.clone()))),
    })
}

/// What is written once the effect is known; the ownership is renewed as of `lease`.
fn work(
    apply: &Apply,
    (before, line): (Status, Line),
    result: Result<(), LineError>,
    stock: Option<Stocked>,
    lease: (State, Time),
    began: Moment,
) -> Work {
    let LineDone { line, outcome, note, event, status } = end_line(apply, before, line, result, began.now);
    let (lease, seen) = lease;
    let renewed = renewed(apply, lease, seen);
    let status = status.map(|status| (status, began.now));
    Work { line, status, outcome, note: vec![note], event: vec![event], stock, renewed, xid: began.xid }
}

/// The ownership after this work. One that ran out during a long effect stays as it is: nobody could take it
/// meanwhile, and who comes next decides.
fn renewed(apply: &Apply, mut lease: State, now: Time) -> Option<Grant> {
    let decision = decide(&mut lease, &apply.work(), now, &mut Numbers::new(Vec::new()));
    lease.grant.filter(|_| decision.answer.is_ok() && decision.changed)
}

fn calls<'a>(apply: &'a Apply, work: &'a Work) -> Vec<Call<'a>> {
    let mut calls = Vec::with_capacity(8);
    match &work.stock {
        Some(Stocked::Moved(posting, at)) => calls.extend(move_stock(apply, posting, *at)),
        Some(Stocked::Unmade(sku)) => calls.push(Call::new(&call::STOCK_REMOVE).text(sku.as_str())),
        None => {}
    }
    calls.push(save_lines(apply.task, &[&work.line]));
    calls.extend(
        work.status.map(|(status, at)| Call::new(&call::TASK_STATUS).big(apply.task.0).text(status.as_str()).big(at.0)),
    );
    calls.push(add_notes(apply.task, &work.note));
    calls.push(events(&work.event));
    calls.extend(work.renewed.as_ref().map(|grant| {
        Call::new(&call::LEASE_WORK)
            .made_text(Some(apply.task.resource().to_string()))
            .big(grant.fence.0)
            .big(grant.worked_at.0)
            .big(grant.heartbeat_at.0)
            .big(grant.expires_at.0)
            .flag(grant.idle)
    }));
    calls
}

fn move_stock<'a>(apply: &'a Apply, posting: &'a Posting, at: Time) -> Vec<Call<'a>> {
    let Posting { sku, delta, came, went } = posting;
    let serials: Vec<&Serial> = came.iter().chain(went).collect();
    let mut calls = vec![
        Call::new(&call::STOCK_CHANGE).text(sku.as_str()).big(*delta),
        Call::new(&call::MOVE_ADD)
            .big(apply.task.0)
            .int(number_to(apply.number))
            .text(sku.as_str())
            .big(*delta)
            .made_text(Some(json(&serials)))
            .big(apply.fence.0)
            .text(apply.who.user.as_str())
            .big(at.0),
    ];
    if !came.is_empty() {
        calls.push(Call::new(&call::SERIAL_ADD).text(sku.as_str()).texts(came.iter().map(Serial::as_str)));
    }
    if !went.is_empty() {
        calls.push(Call::new(&call::SERIAL_REMOVE).text(sku.as_str()).texts(went.iter().map(Serial::as_str)));
    }
    calls
}
