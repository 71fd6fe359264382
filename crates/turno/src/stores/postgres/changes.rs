//! The statements that write a group of queue commands.

use super::audit;
use super::call::Call;
use super::lease::add_events;
use super::row::{attempt_to, size_to};
use super::sql;
use turno_core::id::Fence;
use turno_core::queue::{Absorbed, AttemptError, Body, Changes, Done, Item, Last, UncountedDelivery, WorkerName};

/// Returns all writes of a group. Removals come before insertions, and insertions before updates of the same rows.
pub(super) fn calls(changes: &Changes) -> Vec<Call<'_>> {
    let mut calls = Vec::with_capacity(6);
    let seqs = |sql, seqs: &[turno_core::id::Seq]| Call::new(sql).bigs(seqs.iter().map(|seq| seq.0));
    if !changes.undone.is_empty() {
        calls.push(seqs(&sql::DONE_REMOVE, &changes.undone));
        // A finished item becomes unfinished at its old position, so cached lane floors are void; see `lane`.
        calls.push(Call::new(&sql::REBIRTH_NOTE));
    }
    if !changes.remove.is_empty() {
        calls.push(seqs(&sql::HOT_REMOVE, &changes.remove));
    }
    if !changes.bodies.is_empty() {
        calls.push(add_bodies(&changes.bodies));
    }
    if !changes.replaced.is_empty() {
        calls.push(replace_bodies(&changes.replaced));
    }
    if !changes.absorbed.is_empty() {
        calls.push(add_absorbed(&changes.absorbed));
    }
    if !changes.insert.is_empty() {
        calls.push(add_items(&changes.insert));
    }
    let saved: Vec<&Item> = changes.insert.iter().filter(|item| !is_plain(item)).chain(&changes.update).collect();
    if !saved.is_empty() {
        calls.push(save_items(&saved));
    }
    if !changes.done.is_empty() {
        calls.push(add_done(&changes.done));
    }
    if !changes.errors.is_empty() {
        calls.push(add_errors(&changes.errors));
    }
    if !changes.came_back.is_empty() {
        calls.push(add_came_back(&changes.came_back));
    }
    if !changes.requests.is_empty() {
        let requests = || changes.requests.iter();
        let call = Call::new(&sql::HOT_REQUEST).bigs(requests().map(|(seq, _, _)| seq.0));
        let call = call.bigs(requests().map(|(_, fence, _)| fence.0));
        calls.push(call.texts(requests().map(|(_, _, request)| &**request)));
    }
    typing(changes, &mut calls);
    if !changes.events.is_empty() {
        calls.push(add_events(&changes.events));
    }
    calls.extend(audit::calls(&changes.audit));
    calls
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

fn typing<'a>(changes: &'a Changes, calls: &mut Vec<Call<'a>>) {
    if !changes.typing.is_empty() {
        let mut typing: Vec<_> = changes.typing.iter().collect();
        typing.sort();
        let call = Call::new(&sql::TYPING_SAVE).ints(typing.iter().map(|(queue, _, _)| queue.0));
        let call = call.bigs(typing.iter().map(|(_, lane, _)| lane.0));
        calls.push(call.bigs(typing.iter().map(|(_, _, at)| at.0)));
    }
    if !changes.typed.is_empty() {
        let mut typed: Vec<_> = changes.typed.iter().collect();
        typed.sort();
        let call = Call::new(&sql::TYPING_REMOVE).ints(typed.iter().map(|(queue, _)| queue.0));
        calls.push(call.bigs(typed.iter().map(|(_, lane)| lane.0)));
    }
}
