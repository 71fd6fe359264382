//! The write transaction: its lock, the time read under it, and the mark that keeps the time from moving back.

use super::read::{execute, only};
use super::{error, now, sql};
use crate::clock::Clock;
use crate::store::StoreError;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use turno_core::access::Epoch;
use turno_core::time::{Span, Time};

/// How far the recorded time may lag behind the time of decisions.
const MARK_LAG: Span = Span::from_secs(1);

/// A transaction that holds the write lock, with the time that was read under it. Rolled back when dropped.
pub(super) struct Write<'a> {
    pub(super) tx: Transaction<'a>,
    pub(super) mark: Time,
    pub(super) epoch: Epoch,
    pub(super) now: Time,
}

pub(super) fn begin<'a>(db: &'a mut Connection, clock: &Clock) -> Result<Write<'a>, StoreError> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have decided with a later time, and recorded it.
    let (mark, epoch) = marks(&tx)?;
    clock.resume(mark);
    Ok(Write { tx, mark, epoch, now: now(clock) })
}

impl Write<'_> {
    pub(super) fn commit(self) -> Result<(), StoreError> {
        if self.mark + MARK_LAG <= self.now {
            return self.raise();
        }
        self.tx.commit().map_err(error::at_commit)
    }

    /// Commits and records the time, however little the mark lags.
    pub(super) fn raise(self) -> Result<(), StoreError> {
        execute(&self.tx, &sql::MARK_SAVE, [self.now.0])?;
        self.tx.commit().map_err(error::at_commit)
    }
}

/// Returns the recorded time, and the epoch of access.
pub(super) fn marks(db: &Connection) -> Result<(Time, Epoch), StoreError> {
    only(db, &sql::MARK_READ, [], |row| Ok((Time(row.get(0)?), Epoch(row.get(1)?))))
}
