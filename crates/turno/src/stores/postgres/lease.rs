//! Leases: the group's transaction, reads without locks, and the history.

use super::audit;
use super::call::Call;
use super::failure::TripError;
use super::lease_row::{ended_to, state, waiting_to};
use super::row::get;
use super::sql;
use super::tx::{Answers, Moment, Plan, Tx, Write};
use crate::store::{LeaseGroup, LeaseRead, LeaseWrite, Outcomes};
use std::collections::HashSet;
use tokio_postgres::Row;
use turno_core::event::Event;
use turno_core::id::{Fence, Resource};
use turno_core::lease::{Action, Grant, State};
use turno_core::time::{Span, Time};

/// The locks that a group takes on its lease rows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    /// For heartbeats and looks, which transfer no ownership: a weak lock that an application's open transaction does
    /// not block.
    Beats,
    /// The strong lock without waiting, which is available almost always.
    Quick,
    /// After `Quick` found a locked row: waits for other engines with the weak lock, which does not wait for
    /// applications' transactions, and then finds out which rows those pin.
    Patient,
}

impl Lock {
    /// Returns the statements. `resources` must be sorted.
    pub(super) fn calls<'a>(self, resources: &'a [Resource]) -> impl Iterator<Item = Call<'a>> {
        let weak = (self != Lock::Quick).then_some(&sql::LEASE_LOCK_BEATS);
        let strong = (self != Lock::Beats).then_some(&sql::LEASE_LOCK);
        let names = || resources.iter().map(Resource::as_str);
        weak.into_iter().chain(strong).map(move |sql| Call::new(sql).texts(names()))
    }

    /// Returns the states from the answers to these statements; `None` if the group must try again with `Patient`. With
    /// `all`, every row existed or was inserted before. A row that is missing then was purged in between, and a
    /// decision without a row would be lost.
    pub(super) fn states(
        self,
        answers: &mut Answers,
        resources: &[Resource],
        all: bool,
    ) -> Result<Option<Vec<State>>, TripError> {
        let rows = answers.take();
        if (self == Lock::Quick || all) && rows.len() < resources.len() {
            return Ok(None);
        }
        let mut states = states(&rows, resources.to_vec())?;
        if self == Lock::Patient {
            let index = |row: &Row| get::<i32>(row, 0);
            let ours: HashSet<i32> = answers.take().iter().map(index).collect::<Result<_, _>>()?;
            for row in &rows {
                let index = index(row)?;
                if let Some(state) = usize::try_from(index).ok().and_then(|place| states.get_mut(place)) {
                    state.pinned = !ours.contains(&index);
                }
            }
        }
        Ok(Some(states))
    }
}

/// Locks and reads the leases, locks the audit if needed, reads the clock, decides.
pub(super) async fn plan(tx: &mut Tx<'_>, group: &LeaseGroup) -> Result<Plan, TripError> {
    let resources = group.resources();
    let weak = |action: &Action| matches!(action, Action::Heartbeat { .. } | Action::Look);
    let beats = group.commands.iter().all(|command| weak(&command.action));
    let mut lock = if beats { Lock::Beats } else { Lock::Quick };
    let (states, head, mut moment) = loop {
        let mut calls = Vec::with_capacity(5);
        if group.may_create() {
            calls.push(Call::new(&sql::LEASE_INSERT).texts(resources.iter().map(Resource::as_str)));
        }
        calls.extend(lock.calls(&resources));
        if group.audits() {
            calls.push(audit::lock());
        }
        calls.push(Moment::call(group.numbers(), false));
        let mut answers = tx.trip(calls).await?;
        if group.may_create() {
            answers.take();
        }
        if let Some(states) = lock.states(&mut answers, &resources, group.may_create())? {
            let head = if group.audits() { Some(audit::head(&answers.take())?) } else { None };
            break (states, head, tx.moment(&answers.take())?);
        }
        tx.restart();
        lock = Lock::Patient;
    };
    let now = moment.now;
    let (write, answers) = group.decide(LeaseRead { now, numbers: moment.numbers(), states, head });
    let write = if write == LeaseWrite::default() { Write::Nothing } else { Write::Lease(write) };
    Ok(Plan::new(Outcomes::Lease { now, answers }, write, moment.xid))
}

/// Returns one state per resource, in their order, from rows that begin with the resource's index.
pub(super) fn states(rows: &[Row], resources: Vec<Resource>) -> Result<Vec<State>, TripError> {
    let mut states: Vec<State> = resources.into_iter().map(State::unseen).collect();
    for row in rows {
        let index = usize::try_from(get::<i32>(row, 0)?).unwrap_or(usize::MAX);
        if let Some(slot) = states.get_mut(index) {
            *slot = state(row, 1, slot.resource.clone())?;
        }
    }
    Ok(states)
}

/// Returns the statements that write a group of leases.
pub(super) fn calls(write: &LeaseWrite) -> Vec<Call<'_>> {
    let mut calls = Vec::with_capacity(4);
    if !write.states.is_empty() {
        calls.push(save(&write.states));
    }
    if !write.ended.is_empty() {
        calls.push(end(write));
    }
    if !write.events.is_empty() {
        calls.push(add_events(&write.events));
    }
    calls.extend(audit::calls(&write.audit));
    calls
}

fn save(states: &[State]) -> Call<'_> {
    let grants = || states.iter().map(|state| state.grant.as_ref());
    let number = |of: fn(&Grant) -> i64| grants().map(move |grant| grant.map(of));
    Call::new(&sql::LEASE_SAVE)
        .texts(states.iter().map(|state| state.resource.as_str()))
        .maybe_texts(grants().map(|grant| Some(grant?.holder.user.as_str())))
        .maybe_texts(grants().map(|grant| Some(grant?.holder.name.as_str())))
        .maybe_texts(grants().map(|grant| Some(grant?.holder.instance.as_ref()?.as_str())))
        .maybe_bigs(number(|grant| grant.fence.0))
        .maybe_bigs(number(|grant| grant.claim))
        .maybe_bigs(number(|grant| grant.ttl.0))
        .maybe_bigs(number(|grant| grant.locked_at.0))
        .maybe_bigs(number(|grant| grant.worked_at.0))
        .maybe_bigs(number(|grant| grant.heartbeat_at.0))
        .maybe_bigs(number(|grant| grant.expires_at.0))
        .maybe_flags(grants().map(|grant| Some(grant?.idle)))
        .made_texts(states.iter().map(waiting_to))
        .made_texts(states.iter().map(ended_to))
        .maybe_bigs(states.iter().map(|state| Some(state.look_at?.0)))
}

fn end(write: &LeaseWrite) -> Call<'_> {
    let ended = || write.ended.iter();
    let grants = || ended().map(|ending| &ending.grant);
    let span = |span: Span| span.0;
    let time = |time: Time| time.0;
    Call::new(&sql::HISTORY_ADD)
        .texts(write.ended_of.iter().map(Resource::as_str))
        .bigs(grants().map(|grant| grant.fence.0))
        .texts(grants().map(|grant| grant.holder.user.as_str()))
        .texts(grants().map(|grant| grant.holder.name.as_str()))
        .maybe_texts(grants().map(|grant| Some(grant.holder.instance.as_ref()?.as_str())))
        .bigs(grants().map(|grant| grant.claim))
        .bigs(grants().map(|grant| span(grant.ttl)))
        .bigs(grants().map(|grant| time(grant.locked_at)))
        .bigs(grants().map(|grant| time(grant.worked_at)))
        .bigs(grants().map(|grant| time(grant.heartbeat_at)))
        .bigs(grants().map(|grant| time(grant.expires_at)))
        .flags(grants().map(|grant| grant.idle))
        .bigs(ended().map(|ending| time(ending.at)))
        .texts(ended().map(|ending| ending.reason.as_str()))
        .texts(ended().map(|ending| ending.cause.as_str()))
        .maybe_texts(ended().map(|ending| Some(ending.by.as_ref()?.as_str())))
        .maybe_texts(ended().map(|ending| ending.note.as_deref()))
}

/// Returns the statement that adds events.
pub(super) fn add_events(events: &[Event]) -> Call<'_> {
    Call::new(&sql::EVENT_ADD)
        .texts(events.iter().map(|event| event.topic.as_str()))
        .texts(events.iter().map(|event| event.name.as_str()))
        .texts(events.iter().map(|event| &*event.resource))
        .bigs(events.iter().map(|event| event.at.0))
        .maybe_bigs(events.iter().map(|event| event.fence.map(|Fence(fence)| fence)))
        .maybe_texts(events.iter().map(|event| Some(event.by.as_ref()?.as_str())))
        .maybe_texts(events.iter().map(|event| event.detail.as_deref()))
}
