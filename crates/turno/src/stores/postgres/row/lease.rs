//! Conversion between rows and leases.
//!
//! The current ownership has its own columns. The line, the offer and the requests are rarely present, and only a
//! late holder reads the last ending, so these are JSON texts. They are arrays and not objects, because every heartbeat
//! parses the ending.

use super::super::error::TripError;
use super::{garbled, get, maybe_name, name, parsed};
use serde::{Deserialize, Serialize};
use tokio_postgres::Row;
use turno_core::id::{Fence, Instance, Resource, UserId};
use turno_core::lease::{Ending, Grant, Holder, Offer, Request, State, Ticket};
use turno_core::time::{Span, Time};

/// Reads the state from the columns from `at` on: eleven of the grant, then `waiting`, `ended` and `look_at`.
pub(in super::super) fn state(row: &Row, at: usize, resource: Resource) -> Result<State, TripError> {
    let mut state = State::unseen(resource);
    if get::<Option<i64>>(row, at + 3)?.is_some() {
        state.grant = Some(grant(row, at)?);
    }
    if let Some(text) = get::<Option<&str>>(row, at + 11)? {
        let Waiting(line, offer, requests, leaving, kept) = serde_json::from_str(text).map_err(garbled)?;
        (state.line, state.offer, state.requests) = (line, offer, requests);
        (state.leaving, state.kept) = (leaving, kept);
    }
    if let Some(text) = get::<Option<&str>>(row, at + 12)? {
        state.ended = Some(serde_json::from_str::<Ended>(text).map_err(garbled)?.into_ending()?);
    }
    state.look_at = get::<Option<i64>>(row, at + 13)?.map(Time);
    Ok(state)
}

/// Reads an ending from the columns of the history.
pub(in super::super) fn ending(row: &Row) -> Result<Ending, TripError> {
    Ok(Ending {
        grant: grant(row, 0)?,
        at: Time(get(row, 11)?),
        reason: parsed(get(row, 12)?)?,
        cause: parsed(get(row, 13)?)?,
        by: maybe_name(row, 14, UserId::new)?,
        note: get(row, 15)?,
    })
}

fn grant(row: &Row, at: usize) -> Result<Grant, TripError> {
    Ok(Grant {
        holder: Holder {
            user: name(row, at, UserId::new)?,
            name: get(row, at + 1)?,
            instance: maybe_name(row, at + 2, Instance::new)?,
        },
        fence: Fence(get(row, at + 3)?),
        claim: get(row, at + 4)?,
        ttl: Span(get(row, at + 5)?),
        locked_at: Time(get(row, at + 6)?),
        worked_at: Time(get(row, at + 7)?),
        heartbeat_at: Time(get(row, at + 8)?),
        expires_at: Time(get(row, at + 9)?),
        idle: get(row, at + 10)?,
    })
}

/// Renders the line, the offer, the requests and the flags `leaving` and `kept`; `None` if there are none of them.
pub(in super::super) fn waiting_to(state: &State) -> Option<String> {
    let State { line, offer, requests, leaving, kept, .. } = state;
    let empty = line.is_empty() && offer.is_none() && requests.is_empty();
    // A flag is written only if it is set, because older programs read fewer elements.
    match (leaving, kept) {
        (_, true) => Some(json(&(line, offer, requests, leaving, kept))),
        (true, false) => Some(json(&(line, offer, requests, leaving))),
        (false, false) => (!empty).then(|| json(&(line, offer, requests))),
    }
}

/// Renders the last ending.
pub(in super::super) fn ended_to(state: &State) -> Option<String> {
    let ending = state.ended.as_ref()?;
    let Ending {
        grant: Grant { holder, fence, claim, ttl, locked_at, worked_at, heartbeat_at, expires_at, idle }, ..
    } = ending;
    let grant = (
        &holder.user,
        &holder.name,
        &holder.instance,
        fence,
        claim,
        ttl,
        (locked_at, worked_at, heartbeat_at, expires_at),
        idle,
    );
    Some(json(&(grant, ending.at, ending.reason.as_str(), ending.cause.as_str(), &ending.by, &ending.note)))
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("names, numbers and texts can always be written as JSON")
}

#[derive(Deserialize)]
struct Waiting(Vec<Ticket>, Option<Offer>, Vec<Request>, #[serde(default)] bool, #[serde(default)] bool);

type GrantParts = (UserId, String, Option<Instance>, Fence, i64, Span, (Time, Time, Time, Time), bool);

#[derive(Deserialize)]
struct Ended<'a>(GrantParts, Time, &'a str, &'a str, Option<UserId>, Option<String>);

impl Ended<'_> {
    fn into_ending(self) -> Result<Ending, TripError> {
        let Ended((user, name, instance, fence, claim, ttl, times, idle), at, reason, cause, by, note) = self;
        let (locked_at, worked_at, heartbeat_at, expires_at) = times;
        let holder = Holder { user, name, instance };
        let grant = Grant { holder, fence, claim, ttl, locked_at, worked_at, heartbeat_at, expires_at, idle };
        Ok(Ending { grant, at, reason: parsed(reason)?, cause: parsed(cause)?, by, note })
    }
}
