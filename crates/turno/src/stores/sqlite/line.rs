//! One line of a finalize, in its own transaction.
//!
//! The write lock is held from the beginning. So the lease cannot be taken, and heartbeats wait too, like every other
//! write. An application's own effect runs in between, see `effect`.

use super::{Write, begin, event, lease, stock, task};
use crate::clock::Clock;
use crate::store::{LeaseWrite, LineStep, StoreError};
use rusqlite::Connection;
use turno_core::lease::State;
use turno_core::task::{Apply, Begin, Line, LineDone, LineError, Status, begin_line, end_line, post};
use turno_core::time::Time;

/// Whether the effect of a line is to be applied.
pub(super) enum Found {
    /// The line's effect is to be applied.
    Go(Box<Going>),
    /// Nothing is to be done.
    Over(LineStep),
}

/// A line whose effect is being applied.
pub(super) struct Going {
    pub(super) line: Line,
    status: Status,
    lease: State,
}

/// Applies a line whose effect is on the stock.
pub(super) fn apply(db: &mut Connection, clock: &Clock, apply: &Apply) -> Result<LineStep, StoreError> {
    let write = begin(db, clock)?;
    let going = match find(&write, apply)? {
        Found::Go(going) => going,
        Found::Over(step) => return Ok(step),
    };
    let stock = stock::read(&write.tx, &going.line)?;
    let effect = match post(&going.line, &stock) {
        Ok(posting) => {
            stock::write(&write.tx, apply, &stock, &posting, write.now)?;
            Ok(())
        }
        Err(error) => Err(error),
    };
    let worked_at = write.now;
    settle(write, apply, *going, effect, worked_at)
}

/// Reads the line, its task and its lease, under the write lock.
pub(super) fn find(write: &Write<'_>, apply: &Apply) -> Result<Found, StoreError> {
    let task = task::read_bare(&write.tx, apply.task)?;
    let lease = task::state(&write.tx, apply.task)?;
    let line = task::read_line(&write.tx, apply.task, apply.number)?;
    let begun = begin_line(apply, task.as_ref(), &lease, line.as_ref(), write.now);
    Ok(match (begun, task.zip(line)) {
        (Begin::Go, Some((task, line))) => Found::Go(Box::new(Going { line, status: task.status, lease })),
        (Begin::Go, None) => return Err(StoreError::Bug("a line that is not there was begun")),
        (Begin::Settled(outcome), _) => Found::Over(LineStep::Settled(outcome)),
        (Begin::Over(finalized), _) => Found::Over(LineStep::Over(finalized)),
        (Begin::Refused(refused), _) => Found::Over(LineStep::Refused(refused)),
    })
}

/// Saves the line after its effect or its refusal, adds note and event, renews the lease as of `worked_at`, and
/// commits.
pub(super) fn settle(
    write: Write<'_>,
    apply: &Apply,
    going: Going,
    effect: Result<(), LineError>,
    worked_at: Time,
) -> Result<LineStep, StoreError> {
    let (tx, now) = (&write.tx, write.now);
    let LineDone { line, outcome, note, event, status } = end_line(apply, going.status, going.line, effect, now);
    task::save_line(tx, apply.task, &line)?;
    if let Some(status) = status {
        task::save_status(tx, apply.task, status, now)?;
    }
    task::add_notes(tx, apply.task, &[note])?;
    event::add(tx, &[event])?;
    if let Some(grant) = apply.renewed(going.lease.clone(), worked_at) {
        let states = vec![State { grant: Some(grant), ..going.lease }];
        lease::write(tx, &LeaseWrite { states, ..LeaseWrite::default() })?;
    }
    write.commit()?;
    Ok(LineStep::Settled(outcome))
}
