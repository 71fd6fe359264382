//! Leases: the group's transaction, reads without locks, and the history.

use super::PostgresStore;
use super::audit;
use super::call::Call;
use super::error::TripError;
use super::expiry::EXPIRY_MARGIN;
use super::read::free;
use super::row::lease::{ended_to, ending, state, waiting_to};
use super::row::{self, get};
use super::sql;
use super::tx::{Answers, Moment, Plan, Tx, Write};
use crate::engine::LOOK_AGAIN;
use crate::store::{LeaseGroup, LeaseQuery, LeaseRead, LeaseReader, LeaseWrite, Outcomes, Past, Peeked, Pending};
use std::collections::HashSet;
use tokio_postgres::Row;
use turno_core::event::Event;
use turno_core::id::{Fence, Resource, UserId};
use turno_core::lease::{Action, Ending, Grant, State};
use turno_core::limits::NAME_MAX;
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
    calls.extend((!write.states.is_empty()).then(|| save(&write.states)));
    calls.extend((!write.ended.is_empty()).then(|| end(write)));
    calls.extend((!write.events.is_empty()).then(|| add_events(&write.events)));
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
    Call::new(&sql::HISTORY_ADD)
        .texts(write.ended_of.iter().map(Resource::as_str))
        .bigs(grants().map(|grant| grant.fence.0))
        .texts(grants().map(|grant| grant.holder.user.as_str()))
        .texts(grants().map(|grant| grant.holder.name.as_str()))
        .maybe_texts(grants().map(|grant| Some(grant.holder.instance.as_ref()?.as_str())))
        .bigs(grants().map(|grant| grant.claim))
        .bigs(grants().map(|grant| grant.ttl.0))
        .bigs(grants().map(|grant| grant.locked_at.0))
        .bigs(grants().map(|grant| grant.worked_at.0))
        .bigs(grants().map(|grant| grant.heartbeat_at.0))
        .bigs(grants().map(|grant| grant.expires_at.0))
        .flags(grants().map(|grant| grant.idle))
        .bigs(ended().map(|ending| ending.at.0))
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
        .made_texts(events.iter().map(Event::to_text))
}

/// Reads the state from a row that begins with its resource.
fn named_state(row: &Row) -> Result<State, TripError> {
    state(row, 1, row::name(row, 0, Resource::new)?)
}

impl LeaseReader for PostgresStore {
    fn peek(&self, resources: Vec<Resource>) -> Pending<'_, Peeked> {
        Box::pin(async move {
            let calls =
                vec![Call::new(&sql::LEASE_READ).texts(resources.iter().map(Resource::as_str)), Moment::call(0, false)];
            let mut answers = self.read_on(free(&self.peekers), calls).await?;
            let rows = answers.take();
            let moment = Moment::read(&self.shared.clock, &answers.take())?;
            Ok(Peeked { now: moment.now, epoch: moment.epoch, states: states(&rows, resources)? })
        })
    }

    fn leases(&self, query: LeaseQuery) -> Pending<'_, Peeked> {
        Box::pin(async move {
            let prefix = query.prefix.as_deref().unwrap_or_default();
            // Longer than any name, and made of the last character.
            let last = || char::MAX.to_string().repeat(NAME_MAX + 1);
            let end = query.prefix_end().unwrap_or_else(last);
            let list = Call::new(&sql::LEASE_LIST)
                .text(query.after.as_ref().map_or("", Resource::as_str))
                .text(prefix)
                .text(&end)
                .maybe_text(query.holder.as_ref().map(UserId::as_str))
                .big(query.limit.into());
            let mut answers = self.read(vec![list, Moment::call(0, false)]).await?;
            let states = answers.take().iter().map(named_state).collect::<Result<_, _>>()?;
            let moment = Moment::read(&self.shared.clock, &answers.take())?;
            Ok(Peeked { now: moment.now, epoch: moment.epoch, states })
        })
    }

    /// Returns leases whose look is due. The scan starts a margin before the clock, because a claim becomes visible
    /// some time after the instant it was decided with.
    fn due_leases(&self, limit: u32) -> Pending<'_, (Vec<Resource>, Option<Time>)> {
        Box::pin(async move {
            let life = self.shared.lives.generation();
            let now = self.now().await?;
            let from = self.looks.from(life, now);
            let due = Call::new(&sql::LEASE_DUE).big(from.0).big(now.0).big(limit.into());
            let next = Call::new(&sql::LEASE_DUE_NEXT).big(now.0).big((now + LOOK_AGAIN).0);
            let mut answers = self.read(vec![due, next]).await?;
            let rows = answers.take();
            let next = answers.take().first().map(|row| get(row, 0)).transpose()?.map(Time);
            let first = rows.first().map(|row| get(row, 1)).transpose()?.map_or(now, Time);
            self.looks.clear_before(life, first.min(now + Span(-EXPIRY_MARGIN.0)));
            let due = rows.iter().map(|row| row::name(row, 0, Resource::new)).collect::<Result<_, _>>()?;
            Ok((due, next))
        })
    }

    fn lines(&self, after: Option<Resource>, limit: u32) -> Pending<'_, Vec<State>> {
        Box::pin(async move {
            let call = Call::new(&sql::LEASE_LINES).text(after.as_ref().map_or("", Resource::as_str)).big(limit.into());
            self.all(call, named_state).await
        })
    }

    fn ending(&self, resource: Resource, fence: Fence) -> Pending<'_, Option<Ending>> {
        Box::pin(
            async move { self.first(Call::new(&sql::HISTORY_READ).text(resource.as_str()).big(fence.0), ending).await },
        )
    }

    fn history(&self, resource: Resource, from: Past, limit: u32) -> Pending<'_, Vec<Ending>> {
        Box::pin(async move {
            let (sql, cursor) = match from {
                Past::Newest { before } => (&sql::HISTORY_LIST, before.map_or(i64::MAX, |Fence(fence)| fence)),
                Past::Oldest { after } => (&sql::HISTORY_AFTER, after.0),
            };
            let call = Call::new(sql).text(resource.as_str()).big(limit.into()).big(cursor);
            self.all(call, ending).await
        })
    }
}
