//! Leases: the group's transaction, the plain look, and the past.

use super::call::{self, Call};
use super::failure::Failure;
use super::lease_row::{cause_to, ended_to, reason_to, state, waiting_to};
use super::row::get;
use super::tx::{Moment, Plan, Tx, Write};
use crate::store::{LeaseGroup, LeaseRead, LeaseWrite, Outcomes};
use tokio_postgres::Row;
use turno_core::event::Event;
use turno_core::id::{Fence, Resource};
use turno_core::lease::{Action, Grant, State};
use turno_core::time::{Span, Time};

/// Locks the resources, reads them, reads the clock, decides.
pub(super) async fn plan(tx: &mut Tx<'_>, group: &LeaseGroup) -> Result<Plan, Failure> {
    let resources = group.resources();
    let names = || resources.iter().map(Resource::as_str);
    let mut calls = Vec::with_capacity(3);
    if group.may_create() {
        calls.push(Call::new(&call::LEASE_INSERT).texts(names()));
    }
    let beats = group.commands.iter().all(|command| matches!(command.action, Action::Heartbeat { .. }));
    calls.push(Call::new(if beats { &call::LEASE_LOCK_BEATS } else { &call::LEASE_LOCK }).texts(names()));
    calls.push(Moment::call(group.numbers(), false));
    let mut answers = tx.trip(calls).await?;
    if group.may_create() {
        answers.take();
    }
    let rows = answers.take();
    let mut moment = Moment::read(tx.clock, &answers.take())?;
    let states = states(&rows, resources)?;
    let now = moment.now;
    let (write, answers) = group.decide(LeaseRead { now, numbers: moment.numbers(), states, head: None });
    let nothing = write.states.is_empty() && write.ended.is_empty() && write.events.is_empty();
    let write = if nothing { Write::Nothing } else { Write::Lease(write) };
    Ok(Plan::new(Outcomes::Lease { now, answers }, write, moment.xid))
}

/// One state per resource, in their order, from rows that begin with the resource's index.
pub(super) fn states(rows: &[Row], resources: Vec<Resource>) -> Result<Vec<State>, Failure> {
    let mut states: Vec<State> = resources.into_iter().map(State::unseen).collect();
    for row in rows {
        let index = usize::try_from(get::<i32>(row, 0)?).unwrap_or(usize::MAX);
        if let Some(slot) = states.get_mut(index) {
            *slot = state(row, 1, slot.resource.clone())?;
        }
    }
    Ok(states)
}

/// All that a group of leases writes.
pub(super) fn calls(write: &LeaseWrite) -> Vec<Call<'_>> {
    let mut calls = Vec::with_capacity(4);
    if !write.states.is_empty() {
        calls.push(save(&write.states));
    }
    if !write.ended.is_empty() {
        calls.push(end(write));
    }
    if !write.events.is_empty() {
        calls.push(events(&write.events));
    }
    calls
}

fn save(states: &[State]) -> Call<'_> {
    let grants = || states.iter().map(|state| state.grant.as_ref());
    let number = |of: fn(&Grant) -> i64| grants().map(move |grant| grant.map(of));
    Call::new(&call::LEASE_SAVE)
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
}

fn end(write: &LeaseWrite) -> Call<'_> {
    let ended = || write.ended.iter();
    let grants = || ended().map(|ending| &ending.grant);
    let span = |span: Span| span.0;
    let time = |time: Time| time.0;
    Call::new(&call::LEASE_END)
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
        .texts(ended().map(|ending| reason_to(ending.reason)))
        .texts(ended().map(|ending| cause_to(ending.cause)))
        .maybe_texts(ended().map(|ending| Some(ending.by.as_ref()?.as_str())))
        .maybe_texts(ended().map(|ending| ending.note.as_deref()))
}

/// Events, of leases or queues.
pub(super) fn events(events: &[Event]) -> Call<'_> {
    Call::new(&call::EVENT_ADD)
        .texts(events.iter().map(|event| event.topic.as_str()))
        .texts(events.iter().map(|event| &*event.name))
        .texts(events.iter().map(|event| &*event.resource))
        .bigs(events.iter().map(|event| event.at.0))
        .maybe_bigs(events.iter().map(|event| event.fence.map(|Fence(fence)| fence)))
        .maybe_texts(events.iter().map(|event| Some(event.by.as_ref()?.as_str())))
        .maybe_texts(events.iter().map(|event| event.detail.as_deref()))
}
