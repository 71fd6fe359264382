//! The transaction of the groups, from the epoch to the commit.

use super::read::only;
use super::{access, begin, claim, enqueue, lease, manage, settle, sql, task};
use crate::clock::Clock;
use crate::store::{Group, Outcomes, StoreError};
use rusqlite::Connection;
use turno_core::access::Epoch;
use turno_core::id::Numbers;

/// Runs all groups in one transaction. Returns `AccessChanged` if the epoch is not `as_of`.
pub(super) fn commit(
    db: &mut Connection,
    clock: &Clock,
    groups: &[Group],
    as_of: Option<Epoch>,
) -> Result<Vec<Outcomes>, StoreError> {
    let write = begin(db, clock)?;
    if as_of.is_some_and(|as_of| as_of != write.epoch) {
        return Err(StoreError::AccessChanged);
    }
    let (tx, now) = (&write.tx, write.now);
    let run = |group: &Group| match group {
        Group::Lease(group) => lease::run(tx, now, group),
        Group::Enqueue(group) => enqueue::run(tx, now, group),
        Group::Claim(group) => claim::run(tx, now, group),
        Group::Settle(group) => settle::run(tx, now, group),
        Group::Manage(group) => manage::run(tx, now, group),
        Group::Clear(group) => manage::clear(tx, now, group),
        Group::Typing(group) => manage::typing(tx, now, group),
        Group::Task(group) => task::run(tx, now, group),
        Group::Access(group) => access::run(tx, now, group),
    };
    let outcomes = groups.iter().map(run).collect::<Result<_, _>>()?;
    write.commit()?;
    Ok(outcomes)
}

/// Takes `count` fresh numbers from the one sequence.
pub(super) fn numbers(tx: &Connection, count: usize) -> Result<Numbers, StoreError> {
    if count == 0 {
        return Ok(Numbers::new(Vec::new()));
    }
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let last: i64 = only(tx, &sql::NUMBER_TAKE, [count], |row| row.get(0))?;
    Ok(Numbers::new((last - count + 1..=last).collect()))
}
