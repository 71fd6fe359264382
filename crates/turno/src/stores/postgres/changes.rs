//! The statements that write a group of queue commands.

use super::audit;
use super::call::Call;
use super::lease::add_events;
use super::row::{attempt_to, size_to};
use super::sql;
use std::sync::Arc;
use turno_core::id::{Fence, Lane, QueueId, Seq};
use turno_core::queue::{Absorbed, AttemptError, Body, Changes, Done, Item, Last, UncountedDelivery, WorkerName};
use turno_core::time::Time;

/// Returns all writes of a group. Removals come before insertions, and insertions before updates of the same rows.
pub(super) fn calls(changes: &Changes) -> Vec<Call<'_>> {
    let seqs = |sql, seqs: &[Seq]| Call::new(sql).bigs(seqs.iter().map(|seq| seq.0));
    let saved: Vec<&Item> = changes.insert.iter().filter(|item| !is_plain(item)).chain(&changes.update).collect();
    let queue = [
        unless_empty(&changes.undone, |undone| seqs(&sql::DONE_REMOVE, undone)),
        // A finished item becomes unfinished at its old position, so cached lane floors are void; see `lane`.
        unless_empty(&changes.undone, |_| Call::new(&sql::REBIRTH_NOTE)),
        unless_empty(&changes.remove, |removed| seqs(&sql::HOT_REMOVE, removed)),
        unless_empty(&changes.bodies, add_bodies),
        unless_empty(&changes.replaced, replace_bodies),
        unless_empty(&changes.absorbed, add_absorbed),
        unless_empty(&changes.insert, add_items),
        (!saved.is_empty()).then(|| save_items(&saved)),
        unless_empty(&changes.done, add_done),
        unless_empty(&changes.errors, add_errors),
        unless_empty(&changes.came_back, add_came_back),
        unless_empty(&changes.requests, save_requests),
        unless_empty(&changes.typing, save_typing),
        unless_empty(&changes.typed, remove_typing),
        unless_empty(&changes.events, add_events),
    ];
    queue.into_iter().flatten().chain(audit::calls(&changes.audit)).collect()
}

/// Returns the statement that writes `rows`, if there are any.
fn unless_empty<'a, T>(rows: &'a [T], call: impl FnOnce(&'a [T]) -> Call<'a>) -> Option<Call<'a>> {
    (!rows.is_empty()).then(|| call(rows))
}

/// Returns whether the table's defaults cover all other columns of the item.
fn is_plain(item: &Item) -> bool {
    let unhanded = item.expires_at.is_none() && item.claimed_at.is_none() && item.holder.is_none() && item.handed == 0;
    unhanded
        && item.attempt == 0
        && item.fence == Fence(0)
        && item.group == Fence(0)
        && item.last == Last::None
        && item.size == 1
        && !item.parked
}

fn add_bodies(bodies: &[Body]) -> Call<'_> {
    Call::new(&sql::BODY_ADD)
        .bigs(bodies.iter().map(|body| body.seq.0))
        .ints(bodies.iter().map(|body| body.queue.0))
        .texts(bodies.iter().map(|body| body.id.as_str()))
        .maybe_texts(bodies.iter().map(|body| Some(body.key.as_ref()?.as_str())))
        .maybe_texts(bodies.iter().map(|body| body.action.as_deref()))
        .texts(bodies.iter().map(|body| &*body.payload))
        .bigs(bodies.iter().map(|body| body.enqueued_at.0))
}

fn replace_bodies(bodies: &[Body]) -> Call<'_> {
    Call::new(&sql::BODY_REPLACE)
        .bigs(bodies.iter().map(|body| body.seq.0))
        .maybe_texts(bodies.iter().map(|body| body.action.as_deref()))
        .texts(bodies.iter().map(|body| &*body.payload))
}

fn add_absorbed(absorbed: &[Absorbed]) -> Call<'_> {
    Call::new(&sql::ABSORBED_ADD)
        .ints(absorbed.iter().map(|change| change.queue.0))
        .texts(absorbed.iter().map(|change| change.id.as_str()))
        .bigs(absorbed.iter().map(|change| change.digest.0))
        .bigs(absorbed.iter().map(|change| change.at.0))
}

fn add_items(items: &[Item]) -> Call<'_> {
    Call::new(&sql::HOT_ADD)
        .bigs(items.iter().map(|item| item.seq.0))
        .ints(items.iter().map(|item| item.queue.0))
        .maybe_bigs(items.iter().map(|item| Some(item.lane?.0)))
        .bigs(items.iter().map(|item| item.enqueued_at.0))
        .bigs(items.iter().map(|item| item.not_before.0))
        .maybe_bigs(items.iter().map(|item| Some(item.ready_at?.0)))
        .bigs(items.iter().map(|item| item.revision))
}

fn save_items<'a>(items: &[&'a Item]) -> Call<'a> {
    let items = || items.iter().copied();
    Call::new(&sql::HOT_SAVE)
        .bigs(items().map(|item| item.seq.0))
        .bigs(items().map(|item| item.not_before.0))
        .maybe_bigs(items().map(|item| Some(item.ready_at?.0)))
        .maybe_bigs(items().map(|item| Some(item.expires_at?.0)))
        .maybe_bigs(items().map(|item| Some(item.claimed_at?.0)))
        .smalls(items().map(|item| attempt_to(item.attempt)))
        .bigs(items().map(|item| item.fence.0))
        .bigs(items().map(|item| item.group.0))
        .smalls(items().map(|item| item.last.number()))
        .bigs(items().map(|item| item.revision))
        .bigs(items().map(|item| item.handed))
        .flags(items().map(|item| item.parked))
        .maybe_texts(items().map(|item| item.holder.as_ref().map(WorkerName::as_str)))
        .maybe_smalls(items().map(|item| size_to(item.size)))
}

fn add_done(done: &[Done]) -> Call<'_> {
    Call::new(&sql::DONE_ADD)
        .bigs(done.iter().map(|done| done.seq.0))
        .ints(done.iter().map(|done| done.queue.0))
        .smalls(done.iter().map(|done| done.ended.number()))
        .bigs(done.iter().map(|done| done.at.0))
        .smalls(done.iter().map(|done| attempt_to(done.attempt)))
        .bigs(done.iter().map(|done| done.fence.0))
        .bigs(done.iter().map(|done| done.revision))
        .maybe_texts(done.iter().map(|done| done.holder.as_ref().map(WorkerName::as_str)))
        .maybe_bigs(done.iter().map(|done| done.handed_at.map(|at| at.0)))
}

fn add_errors(errors: &[AttemptError]) -> Call<'_> {
    Call::new(&sql::ERROR_ADD)
        .bigs(errors.iter().map(|error| error.seq.0))
        .smalls(errors.iter().map(|error| attempt_to(error.attempt)))
        .bigs(errors.iter().map(|error| error.fence.0))
        .bigs(errors.iter().map(|error| error.at.0))
        .texts(errors.iter().map(|error| error.error.as_str()))
        .maybe_bigs(errors.iter().map(|error| error.retry_at.map(|at| at.0)))
        .maybe_texts(errors.iter().map(|error| error.holder.as_ref().map(WorkerName::as_str)))
        .maybe_bigs(errors.iter().map(|error| error.handed_at.map(|at| at.0)))
        .flags(errors.iter().map(|error| error.expired))
}

fn add_came_back(back: &[UncountedDelivery]) -> Call<'_> {
    Call::new(&sql::CAME_BACK_ADD)
        .bigs(back.iter().map(|back| back.seq.0))
        .bigs(back.iter().map(|back| back.fence.0))
        .smalls(back.iter().map(|back| back.how.number()))
        .bigs(back.iter().map(|back| back.at.0))
        .maybe_texts(back.iter().map(|back| back.holder.as_ref().map(WorkerName::as_str)))
        .maybe_bigs(back.iter().map(|back| back.handed_at.map(|at| at.0)))
        .maybe_texts(back.iter().map(|back| back.error.as_deref()))
        .big(UncountedDelivery::KEPT as i64 - 1)
}

fn save_requests(requests: &[(Seq, Fence, Arc<str>)]) -> Call<'_> {
    Call::new(&sql::HOT_REQUEST)
        .bigs(requests.iter().map(|(seq, _, _)| seq.0))
        .bigs(requests.iter().map(|(_, fence, _)| fence.0))
        .texts(requests.iter().map(|(_, _, request)| &**request))
}

/// Sorts the rows, so that transactions lock them in the same order.
fn save_typing<'a>(typing: &[(QueueId, Lane, Time)]) -> Call<'a> {
    let mut typing = typing.to_vec();
    typing.sort();
    Call::new(&sql::TYPING_SAVE)
        .ints(typing.iter().map(|(queue, _, _)| queue.0))
        .bigs(typing.iter().map(|(_, lane, _)| lane.0))
        .bigs(typing.iter().map(|(_, _, at)| at.0))
}

fn remove_typing<'a>(typed: &[(QueueId, Lane)]) -> Call<'a> {
    let mut typed = typed.to_vec();
    typed.sort();
    Call::new(&sql::TYPING_REMOVE)
        .ints(typed.iter().map(|(queue, _)| queue.0))
        .bigs(typed.iter().map(|(_, lane)| lane.0))
}
