//! Leases: a group of lease commands, reads without locks, and the history.

use super::read::{all, first, only};
use super::row::lease::{ENDING, LOOK, bind_ending, ending_at, save_state, state};
use super::row::name;
use super::{SqliteStore, audit, event, marks, now, numbers, sql};
use crate::clock::Clock;
use crate::store::{
    LeaseGroup, LeaseQuery, LeaseRead, LeaseReader, LeaseWrite, Outcomes, Past, Peeked, Pending, StoreError,
};
use rusqlite::{Connection, Error, Row};
use turno_core::id::{Fence, Resource, UserId};
use turno_core::lease::{Ending, State};
use turno_core::time::Time;

/// Reads, decides and writes a group of commands, inside the write transaction.
pub(super) fn run(tx: &Connection, now: Time, group: &LeaseGroup) -> Result<Outcomes, StoreError> {
    let states = states(tx, group.resources())?;
    let numbers = numbers(tx, group.numbers())?;
    let head = if group.audits() { Some(audit::head(tx)?) } else { None };
    let (written, answers) = group.decide(LeaseRead { now, numbers, states, head });
    write(tx, &written)?;
    Ok(Outcomes::Lease { now, answers })
}

/// Writes the decisions about leases.
pub(super) fn write(tx: &Connection, write: &LeaseWrite) -> Result<(), StoreError> {
    if !write.states.is_empty() {
        let mut save = tx.prepare_cached(&sql::LEASE_SAVE)?;
        let mut look = tx.prepare_cached(&sql::LEASE_LOOK)?;
        for state in &write.states {
            save_state(&mut save, state)?;
            look.execute((state.look_at.map(|Time(at)| at), state.resource.as_str()))?;
        }
    }
    if !write.ended.is_empty() {
        let mut add = tx.prepare_cached(&sql::HISTORY_ADD)?;
        for (ending, resource) in write.ended.iter().zip(&write.ended_of) {
            bind_ending(&mut add, 1, Some(ending))?;
            add.raw_bind_parameter(ENDING + 1, resource.as_str())?;
            add.raw_execute()?;
        }
    }
    event::add(tx, &write.events)?;
    audit::write(tx, &write.audit)
}

/// Reads leases without locks, and the clock afterwards.
fn peek(
    db: &mut Connection,
    clock: &Clock,
    read: impl FnOnce(&Connection) -> Result<Vec<State>, StoreError>,
) -> Result<Peeked, StoreError> {
    let tx = db.transaction()?;
    let states = read(&tx)?;
    let (_, epoch) = marks(&tx)?;
    tx.commit()?;
    Ok(Peeked { now: now(clock), epoch, states })
}

/// Returns the states of resources, in their order; a resource never seen is free.
pub(super) fn states(db: &Connection, resources: Vec<Resource>) -> Result<Vec<State>, StoreError> {
    let mut read = db.prepare_cached(&sql::LEASE_READ)?;
    let mut states = Vec::with_capacity(resources.len());
    for resource in resources {
        let mut rows = read.query([resource.as_str()])?;
        states.push(match rows.next()? {
            Some(row) => state(row, resource)?,
            None => State::unseen(resource),
        });
    }
    Ok(states)
}

/// Reads the state from a row that ends with its resource.
fn named_state(row: &Row<'_>) -> Result<State, Error> {
    state(row, name(row, LOOK + 1, Resource::new)?)
}

/// Returns leases with an ownership, ordered by resource name.
fn list(db: &Connection, query: &LeaseQuery) -> Result<Vec<State>, StoreError> {
    let prefix = query.prefix.as_deref().unwrap_or_default();
    // Names have no control characters, so no name lies between a name and this.
    let behind = query.after.as_ref().map(|after| format!("{after}\0"));
    let from = behind.as_deref().map_or(prefix, |behind| behind.max(prefix));
    let holder = query.holder.as_ref().map(UserId::as_str);
    all(db, &sql::LEASE_LIST, (from, query.prefix_end(), holder, query.limit), named_state)
}

impl LeaseReader for SqliteStore {
    fn peek(&self, resources: Vec<Resource>) -> Pending<'_, Peeked> {
        let clock = self.clock.clone();
        self.beats.run(move |db| peek(db, &clock, |tx| states(tx, resources)))
    }

    fn leases(&self, query: LeaseQuery) -> Pending<'_, Peeked> {
        let clock = self.clock.clone();
        self.looks.run(move |db| peek(db, &clock, |tx| list(tx, &query)))
    }

    fn due_leases(&self, limit: u32) -> Pending<'_, (Vec<Resource>, Option<Time>)> {
        self.look(move |db, now| {
            let due = all(db, &sql::LEASE_DUE, (now.0, limit), |row| name(row, 0, Resource::new))?;
            let next: Option<i64> = only(db, &sql::LEASE_DUE_NEXT, [now.0], |row| row.get(0))?;
            Ok((due, next.map(Time)))
        })
    }

    fn lines(&self, after: Option<Resource>, limit: u32) -> Pending<'_, Vec<State>> {
        self.looks.run(move |db| {
            // No name is empty, so all names come behind the empty one.
            let after = after.as_ref().map_or("", Resource::as_str);
            all(db, &sql::LEASE_LINES, (after, limit), named_state)
        })
    }

    fn ending(&self, resource: Resource, fence: Fence) -> Pending<'_, Option<Ending>> {
        self.beats.run(move |db| {
            let found = first(db, &sql::HISTORY_READ, (resource.as_str(), fence.0), |row| ending_at(row, 0))?;
            Ok(found.flatten())
        })
    }

    fn history(&self, resource: Resource, from: Past, limit: u32) -> Pending<'_, Vec<Ending>> {
        let (text, cursor) = match from {
            Past::Newest { before } => (&sql::HISTORY_LIST, before.map_or(i64::MAX, |fence| fence.0)),
            Past::Oldest { after } => (&sql::HISTORY_AFTER, after.0),
        };
        self.looks.run(move |db| {
            let found = all(db, text, (resource.as_str(), limit, cursor), |row| ending_at(row, 0))?;
            Ok(found.into_iter().flatten().collect())
        })
    }
}
