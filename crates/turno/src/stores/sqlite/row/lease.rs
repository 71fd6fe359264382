//! Conversion between rows and leases.

use super::{damaged, json, name, name_if, parsed};
use crate::store::StoreError;
use rusqlite::{Error, Row, Statement};
use serde::{Deserialize, Serialize};
use turno_core::id::{Fence, Instance, Resource, UserId};
use turno_core::lease::{Ending, Grant, Holder, Offer, Request, State, Ticket};
use turno_core::time::{Span, Time};

/// The columns of a grant, in the same order in every statement.
const GRANT: usize = 11;
/// The columns of an ending: its grant, and how it ended.
pub(in super::super) const ENDING: usize = GRANT + 5;
/// The column `look_at`, behind the grant, the waiting line and the ending.
pub(in super::super) const LOOK: usize = GRANT + 1 + ENDING;

/// The waiting line, the offer and the requests, as stored.
#[derive(Deserialize)]
struct Waiting {
    line: Vec<Ticket>,
    offer: Option<Offer>,
    requests: Vec<Request>,
    #[serde(default)]
    leaving: bool,
    #[serde(default)]
    kept: bool,
}

/// The same, for writing.
#[derive(Serialize)]
struct WaitingRef<'a> {
    line: &'a [Ticket],
    offer: Option<&'a Offer>,
    requests: &'a [Request],
    leaving: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    kept: bool,
}

pub(in super::super) fn state(row: &Row<'_>, resource: Resource) -> Result<State, Error> {
    let mut state = State { grant: grant_at(row, 0)?, ended: ending_at(row, GRANT + 1)?, ..State::unseen(resource) };
    if let Some(text) = row.get_ref(GRANT)?.as_str_or_null()? {
        let waiting: Waiting = serde_json::from_str(text).map_err(|error| damaged(GRANT, error))?;
        state.line = waiting.line;
        state.offer = waiting.offer;
        state.requests = waiting.requests;
        state.leaving = waiting.leaving;
        state.kept = waiting.kept;
    }
    state.look_at = row.get::<_, Option<i64>>(LOOK)?.map(Time);
    Ok(state)
}

pub(in super::super) fn grant_at(row: &Row<'_>, at: usize) -> Result<Option<Grant>, Error> {
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

pub(in super::super) fn ending_at(row: &Row<'_>, at: usize) -> Result<Option<Ending>, Error> {
    let Some(grant) = grant_at(row, at)? else {
        return Ok(None);
    };
    let at = at + GRANT;
    Ok(Some(Ending {
        grant,
        at: Time(row.get(at)?),
        reason: parsed(row, at + 1)?,
        cause: parsed(row, at + 2)?,
        by: name_if(row, at + 3, UserId::new)?,
        note: row.get(at + 4)?,
    }))
}

pub(in super::super) fn save_state(save: &mut Statement<'_>, state: &State) -> Result<(), StoreError> {
    let State { line, offer, requests, leaving, kept, .. } = state;
    let (leaving, kept) = (*leaving, *kept);
    let waits = !line.is_empty() || offer.is_some() || !requests.is_empty() || leaving || kept;
    let waiting = waits.then(|| json(&WaitingRef { line, offer: offer.as_ref(), requests, leaving, kept }));
    bind_grant(save, 1, state.grant.as_ref())?;
    save.raw_bind_parameter(GRANT + 1, waiting)?;
    bind_ending(save, GRANT + 2, state.ended.as_ref())?;
    save.raw_bind_parameter(GRANT + 2 + ENDING, state.resource.as_str())?;
    save.raw_execute()?;
    Ok(())
}

/// Binds the columns of a grant from parameter `at` on; nulls if there is none.
pub(in super::super) fn bind_grant(to: &mut Statement<'_>, at: usize, grant: Option<&Grant>) -> Result<(), Error> {
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

pub(in super::super) fn bind_ending(to: &mut Statement<'_>, at: usize, ending: Option<&Ending>) -> Result<(), Error> {
    bind_grant(to, at, ending.map(|ending| &ending.grant))?;
    let at = at + GRANT;
    to.raw_bind_parameter(at, ending.map(|ending| ending.at.0))?;
    to.raw_bind_parameter(at + 1, ending.map(|ending| ending.reason.as_str()))?;
    to.raw_bind_parameter(at + 2, ending.map(|ending| ending.cause.as_str()))?;
    to.raw_bind_parameter(at + 3, ending.and_then(|ending| ending.by.as_ref()).map(UserId::as_str))?;
    to.raw_bind_parameter(at + 4, ending.and_then(|ending| ending.note.as_ref()))
}
