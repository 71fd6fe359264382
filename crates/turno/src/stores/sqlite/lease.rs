//! Leases: their rows, their history, and a group of lease commands.

use super::rows::{damaged, json, name, name_if, word};
use super::{audit, event, marks, now, numbers, sql};
use crate::clock::Clock;
use crate::store::{LeaseGroup, LeaseQuery, LeaseRead, LeaseWrite, Outcomes, Past, Peeked, StoreError};
use rusqlite::{Connection, Error, OptionalExtension, Row, Statement};
use serde::{Deserialize, Serialize};
use turno_core::id::{Fence, Instance, Resource, UserId};
use turno_core::lease::{Cause, Ending, Grant, Holder, Offer, Reason, Request, State, Ticket};
use turno_core::time::{Span, Time};

/// The columns of a grant, in the same order in every statement.
const GRANT: usize = 11;
/// The columns of an ending: its grant, and how it ended.
const ENDING: usize = GRANT + 5;
/// The column `look_at`, behind the grant, the waiting line and the ending.
const LOOK: usize = GRANT + 1 + ENDING;

/// The waiting line, the offer and the requests, as stored.
#[derive(Deserialize)]
struct Waiting {
    line: Vec<Ticket>,
    offer: Option<Offer>,
    requests: Vec<Request>,
    #[serde(default)]
    leaving: bool,
}

/// The same, for writing.
#[derive(Serialize)]
struct WaitingRef<'a> {
    line: &'a [Ticket],
    offer: Option<&'a Offer>,
    requests: &'a [Request],
    leaving: bool,
}

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
pub(super) fn peek(
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

/// Returns leases with an ownership, ordered by resource name.
pub(super) fn list(db: &Connection, query: &LeaseQuery) -> Result<Vec<State>, StoreError> {
    let prefix = query.prefix.as_deref().unwrap_or_default();
    // Names have no control characters, so no name lies between a name and this.
    let behind = query.after.as_ref().map(|after| format!("{after}\0"));
    let from = behind.as_deref().map_or(prefix, |behind| behind.max(prefix));
    let holder = query.holder.as_ref().map(UserId::as_str);
    let mut read = db.prepare_cached(&sql::LEASE_LIST)?;
    let found = read.query_map((from, prefix_end(prefix), holder, query.limit), |row| {
        let resource = name(row, LOOK + 1, Resource::new)?;
        state(row, resource)
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Returns leases whose look is due, earliest first, and when the next one is.
pub(super) fn due(db: &Connection, now: Time, limit: u32) -> Result<(Vec<Resource>, Option<Time>), StoreError> {
    let mut read = db.prepare_cached(&sql::LEASE_DUE)?;
    let due = read.query_map((now.0, limit), |row| name(row, 0, Resource::new))?.collect::<Result<_, _>>()?;
    let mut read = db.prepare_cached(&sql::LEASE_DUE_NEXT)?;
    let next: Option<i64> = read.query_row([now.0], |row| row.get(0))?;
    Ok((due, next.map(Time)))
}

/// Returns leases that have a waiting line or requests.
pub(super) fn lines(db: &Connection, after: Option<&Resource>, limit: u32) -> Result<Vec<State>, StoreError> {
    let mut read = db.prepare_cached(&sql::LEASE_LINES)?;
    // No name is empty, so all names come behind the empty one.
    let found = read.query_map((after.map_or("", Resource::as_str), limit), |row| {
        let resource = name(row, LOOK + 1, Resource::new)?;
        state(row, resource)
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Returns the first text behind all texts that begin with `prefix`; `None` if there is none. SQLite compares bytes,
/// and UTF-8 keeps the order of characters.
fn prefix_end(prefix: &str) -> Option<String> {
    let mut kept = prefix.to_owned();
    while let Some(last) = kept.pop() {
        // Skips the code points that are no characters.
        let next = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32);
        if let Some(next) = next {
            kept.push(next);
            return Some(kept);
        }
    }
    None
}

pub(super) fn ending(db: &Connection, resource: &Resource, fence: Fence) -> Result<Option<Ending>, StoreError> {
    let mut read = db.prepare_cached(&sql::HISTORY_READ)?;
    let found = read.query_row((resource.as_str(), fence.0), |row| ending_at(row, 0)).optional()?;
    Ok(found.flatten())
}

pub(super) fn history(db: &Connection, resource: &Resource, from: Past, limit: u32) -> Result<Vec<Ending>, StoreError> {
    let (text, cursor) = match from {
        Past::Newest { before } => (&sql::HISTORY_LIST, before.map_or(i64::MAX, |fence| fence.0)),
        Past::Oldest { after } => (&sql::HISTORY_AFTER, after.0),
    };
    let mut read = db.prepare_cached(text)?;
    let found = read.query_map((resource.as_str(), limit, cursor), |row| ending_at(row, 0))?;
    Ok(found.filter_map(Result::transpose).collect::<Result<_, _>>()?)
}

fn state(row: &Row<'_>, resource: Resource) -> Result<State, Error> {
    let mut state = State { grant: grant_at(row, 0)?, ended: ending_at(row, GRANT + 1)?, ..State::unseen(resource) };
    if let Some(text) = row.get_ref(GRANT)?.as_str_or_null()? {
        let waiting: Waiting = serde_json::from_str(text).map_err(|error| damaged(GRANT, error))?;
        state.line = waiting.line;
        state.offer = waiting.offer;
        state.requests = waiting.requests;
        state.leaving = waiting.leaving;
    }
    state.look_at = row.get::<_, Option<i64>>(LOOK)?.map(Time);
    Ok(state)
}

fn grant_at(row: &Row<'_>, at: usize) -> Result<Option<Grant>, Error> {
    let Some(fence) = row.get(at + 3)? else {
        return Ok(None);
    };
    Ok(Some(Grant {
        holder: Holder {
            user: name(row, at, UserId::new)?,
            name: row.get(at + 1)?,
            instance: name_if(row, at + 2, Instance::new)?,
        },
        fence: Fence(fence),
        claim: row.get(at + 4)?,
        ttl: Span(row.get(at + 5)?),
        locked_at: Time(row.get(at + 6)?),
        worked_at: Time(row.get(at + 7)?),
        heartbeat_at: Time(row.get(at + 8)?),
        expires_at: Time(row.get(at + 9)?),
        idle: row.get(at + 10)?,
    }))
}

fn ending_at(row: &Row<'_>, at: usize) -> Result<Option<Ending>, Error> {
    let Some(grant) = grant_at(row, at)? else {
        return Ok(None);
    };
    let at = at + GRANT;
    Ok(Some(Ending {
        grant,
        at: Time(row.get(at)?),
        reason: word(row, at + 1, &Reason::ALL.map(|reason| (reason, reason.as_str())))?,
        cause: word(row, at + 2, &Cause::ALL.map(|cause| (cause, cause.as_str())))?,
        by: name_if(row, at + 3, UserId::new)?,
        note: row.get(at + 4)?,
    }))
}

fn save_state(save: &mut Statement<'_>, state: &State) -> Result<(), StoreError> {
    let State { line, offer, requests, leaving, .. } = state;
    let waits = !line.is_empty() || offer.is_some() || !requests.is_empty() || *leaving;
    let waiting = waits.then(|| json(&WaitingRef { line, offer: offer.as_ref(), requests, leaving: *leaving }));
    bind_grant(save, 1, state.grant.as_ref())?;
    save.raw_bind_parameter(GRANT + 1, waiting)?;
    bind_ending(save, GRANT + 2, state.ended.as_ref())?;
    save.raw_bind_parameter(GRANT + 2 + ENDING, state.resource.as_str())?;
    save.raw_execute()?;
    Ok(())
}

/// Binds the columns of a grant from parameter `at` on; nulls if there is none.
fn bind_grant(to: &mut Statement<'_>, at: usize, grant: Option<&Grant>) -> Result<(), Error> {
    let holder = grant.map(|grant| &grant.holder);
    to.raw_bind_parameter(at, holder.map(|holder| holder.user.as_str()))?;
    to.raw_bind_parameter(at + 1, holder.map(|holder| &holder.name))?;
    let instance = holder.and_then(|holder| holder.instance.as_ref());
    to.raw_bind_parameter(at + 2, instance.map(Instance::as_str))?;
    to.raw_bind_parameter(at + 3, grant.map(|grant| grant.fence.0))?;
    to.raw_bind_parameter(at + 4, grant.map(|grant| grant.claim))?;
    to.raw_bind_parameter(at + 5, grant.map(|grant| grant.ttl.0))?;
    to.raw_bind_parameter(at + 6, grant.map(|grant| grant.locked_at.0))?;
    to.raw_bind_parameter(at + 7, grant.map(|grant| grant.worked_at.0))?;
    to.raw_bind_parameter(at + 8, grant.map(|grant| grant.heartbeat_at.0))?;
    to.raw_bind_parameter(at + 9, grant.map(|grant| grant.expires_at.0))?;
    to.raw_bind_parameter(at + 10, grant.map(|grant| grant.idle))
}

fn bind_ending(to: &mut Statement<'_>, at: usize, ending: Option<&Ending>) -> Result<(), Error> {
    bind_grant(to, at, ending.map(|ending| &ending.grant))?;
    let at = at + GRANT;
    to.raw_bind_parameter(at, ending.map(|ending| ending.at.0))?;
    to.raw_bind_parameter(at + 1, ending.map(|ending| ending.reason.as_str()))?;
    to.raw_bind_parameter(at + 2, ending.map(|ending| ending.cause.as_str()))?;
    to.raw_bind_parameter(at + 3, ending.and_then(|ending| ending.by.as_ref()).map(UserId::as_str))?;
    to.raw_bind_parameter(at + 4, ending.and_then(|ending| ending.note.as_ref()))
}
