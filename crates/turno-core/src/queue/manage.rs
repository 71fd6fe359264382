//! What people do to single items (retry, cancel), and signs of typing.

use super::settle::promote;
use super::{Changes, Done, Ended, FrontItem, Item, Kind, Last, Policy};
use crate::id::{Fence, Lane, QueueId};
use crate::time::{Span, Time};

/// What a person wants of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manage {
    /// Send it round again, in its place.
    Retry,
    /// Take it out.
    Cancel,
}

/// What the store read about the item under its lane's mutex.
#[derive(Debug)]
pub struct ManageRead {
    /// The database's clock, read after the lock.
    pub now: Time,
    /// The item, if it is unfinished.
    pub item: Option<Item>,
    /// Its last line, if it is finished.
    pub done: Option<Done>,
    /// The first items of its lane, itself perhaps among them.
    pub front: Vec<Item>,
    /// Its lane and the time it was accepted, to put a finished one back in its place.
    pub home: Option<(Option<Lane>, Time)>,
}

/// The person's wish was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManageAnswer {
    /// It waits for its turn again.
    Retried,
    /// It will not be processed.
    Cancelled,
}

/// Why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManageRefused {
    /// There is no such item.
    Unknown,
    /// Somebody works on it now.
    InProcess,
    /// It is finished already.
    Finished,
    /// It waits for its turn already.
    Waiting,
}

/// Decides what a person wants of one item.
pub fn manage(policy: &Policy, wish: Manage, read: ManageRead) -> (Changes, Result<ManageAnswer, ManageRefused>) {
    let mut changes = Changes::default();
    let answer = match wish {
        Manage::Retry => retry(policy, read, &mut changes),
        Manage::Cancel => cancel(policy, read, &mut changes),
    };
    (changes, answer)
}

fn retry(policy: &Policy, read: ManageRead, changes: &mut Changes) -> Result<ManageAnswer, ManageRefused> {
    let now = read.now;
    let item = match (read.item, read.done) {
        (Some(item), _) if item.expires_at.is_some() => return Err(ManageRefused::InProcess),
        (Some(item), _) if item.parked || item.last == Last::Failed => {
            let attempt = if item.parked { 0 } else { item.attempt };
            Item { attempt, parked: false, not_before: now, last: Last::None, ..item }
        }
        (Some(_), _) => return Err(ManageRefused::Waiting),
        (None, Some(done)) if done.ended == Ended::Exhausted => {
            let (lane, enqueued_at) = read.home.ok_or(ManageRefused::Unknown)?;
            let item = reborn(&done, lane, enqueued_at, now);
            changes.undone.push(done.seq);
            changes.insert.push(item.clone());
            item
        }
        (None, Some(_)) => return Err(ManageRefused::Finished),
        (None, None) => return Err(ManageRefused::Unknown),
    };
    settle_front(policy, item, read.front, now, changes);
    Ok(ManageAnswer::Retried)
}

fn cancel(policy: &Policy, read: ManageRead, changes: &mut Changes) -> Result<ManageAnswer, ManageRefused> {
    let Some(item) = read.item else {
        return Err(if read.done.is_some() { ManageRefused::Finished } else { ManageRefused::Unknown });
    };
    if item.expires_at.is_some() {
        return Err(ManageRefused::InProcess);
    }
    changes.finish(&item, Ended::Cancelled, read.now);
    let busy = read.front.iter().any(|other| other.expires_at.is_some());
    if item.lane.is_some() && !busy {
        let next =
            read.front.into_iter().find(|other| other.seq != item.seq && !(other.parked && policy.kind == Kind::Sync));
        promote(policy, Vec::new(), next, read.now, changes);
    }
    Ok(ManageAnswer::Cancelled)
}

/// Puts `item` into its place: at the head if nothing stands before it and nothing is in process.
fn settle_front(policy: &Policy, item: Item, front: Vec<Item>, now: Time, changes: &mut Changes) {
    if item.lane.is_none() {
        return write(Item { ready_at: Some(now), ..item }, changes);
    }
    let busy = front.iter().any(|other| other.expires_at.is_some());
    if busy {
        return write(Item { ready_at: None, ..item }, changes);
    }
    let others: Vec<Item> = front.into_iter().filter(|other| other.seq != item.seq).collect();
    let before = others.iter().any(|other| other.seq < item.seq && !(other.parked && policy.kind == Kind::Sync));
    if before {
        return write(Item { ready_at: None, ..item }, changes);
    }
    for head in others.into_iter().filter(|other| other.ready_at.is_some()) {
        write(Item { ready_at: None, ..head }, changes);
    }
    write(Item { ready_at: Some(now), ..item }, changes);
}

fn write(item: Item, changes: &mut Changes) {
    match changes.insert.iter_mut().find(|known| known.seq == item.seq) {
        Some(known) => *known = item,
        None => changes.update.push(item),
    }
}

fn reborn(done: &Done, lane: Option<Lane>, enqueued_at: Time, now: Time) -> Item {
    Item {
        seq: done.seq,
        queue: done.queue,
        lane,
        enqueued_at,
        not_before: now,
        ready_at: None,
        expires_at: None,
        claimed_at: None,
        attempt: 0,
        fence: done.fence,
        // Its group is over; alone, and with nobody joining, it goes round again.
        group: Fence(-done.seq.0),
        last: Last::None,
        revision: done.revision.max(done.seq.0),
        handed: done.revision,
        parked: false,
        holder: None,
    }
}

/// Somebody is typing in a lane: worth remembering only while a fresh message waits there for its window.
pub fn typing(policy: &Policy, queue: QueueId, lane: Lane, front: &[FrontItem], now: Time, changes: &mut Changes) {
    let waits = front.first().is_some_and(|head| head.item.is_fresh() && head.item.ready_at.is_some());
    if waits && policy.typing_extension > Span::ZERO && policy.window > Span::ZERO {
        changes.typing.push((queue, lane, now));
    }
}
