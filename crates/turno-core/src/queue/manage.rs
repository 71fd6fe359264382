//! Commands about single items (retry, cancel, probe), clearing whole lanes, and typing signals.

use super::lapse::{merge_changes, take_back};
use super::settle::promote;
use super::{Body, Changes, DeliveryRef, Done, Ended, FrontItem, Item, Kind, Last, Policy, WorkerName};
use crate::audit::Hash;
use crate::event::EventName;
use crate::id::{Fence, Lane, Numbers, QueueId};
use crate::limits::BATCH_MAX;
use crate::time::{Span, Time};
use std::sync::Arc;

/// A command about one item, from a person or from the delivery of a pushed queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manage {
    /// Retry a failed or exhausted item, in its place in the lane.
    Retry,
    /// As [`Manage::Retry`], with another payload.
    RetryWith {
        /// The JSON text as it was received.
        payload: Arc<str>,
    },
    /// Cancel the item.
    Cancel,
    /// As [`Manage::Retry`], but only for exhausted items. Sent when the destination works again.
    Revive,
    /// Hand an exhausted item out as a probe, to find out whether its destination works again. If the destination
    /// refuses it, [`Act::Park`] makes it exhausted again.
    ///
    /// [`Act::Park`]: super::Act::Park
    Probe {
        /// The worker that sends the probe.
        taker: WorkerName,
    },
    /// The destination accepted the probe. Only announces this; the item is acked next.
    Probed,
    /// Finish an exhausted item that still holds its lane, because the policy no longer holds lanes. The item stays
    /// exhausted, and the next item becomes the head.
    Release,
}

/// The rows that the store read about the item under its lane's lock.
#[derive(Debug)]
pub struct ManageRead {
    /// The database's clock, read after the lock.
    pub now: Time,
    /// The item, if it is unfinished.
    pub item: Option<Item>,
    /// The record of the item, if it is finished.
    pub done: Option<Done>,
    /// The first items of the item's lane. They may include the item.
    pub front: Vec<Item>,
    /// Deliveries that an application's transaction has completed or is completing. They are not taken back, even if
    /// they have expired.
    pub spared: Vec<Fence>,
    /// The item's lane and time of arrival, to put a finished item back in its place.
    pub home: Option<(Option<Lane>, Time)>,
    /// The item's content, read only if [`Manage::edits`] returns true.
    pub body: Option<Body>,
    /// A fresh number, if [`Manage::takes_number`] returns true.
    pub numbers: Numbers,
}

impl Manage {
    /// Returns whether the command replaces the item's content, so that the store must read it.
    pub fn edits(&self) -> bool {
        matches!(self, Manage::RetryWith { .. })
    }

    /// Returns whether the decision needs a fresh number, for a new revision or for the fence of a probe.
    pub fn takes_number(&self) -> bool {
        self.edits() || matches!(self, Manage::Probe { .. })
    }
}

/// The successful result of a [`Manage`] command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManageAnswer {
    /// The item waits for its turn again.
    Retried,
    /// The item is cancelled.
    Cancelled,
    /// The item no longer holds its lane.
    Released,
    /// The item is handed out as a probe.
    Probing(Probe),
    /// The probe succeeded.
    Probed,
}

/// An exhausted item, handed out to find out whether its destination works again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The name and fence of the delivery.
    pub reference: DeliveryRef,
    /// The item's attempts so far. A probe does not count as one.
    pub attempt: u32,
    /// The change that is handed out.
    pub revision: i64,
    /// When the item was handed out.
    pub now: Time,
    /// When the delivery expires, unless it is settled before.
    pub expires_at: Time,
}

/// The reason why a [`Manage`] command was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManageRefused {
    /// There is no such item.
    Unknown,
    /// A worker has the item.
    InProcess,
    /// A newer change of the item waits while a worker still has the previous one. When that delivery is settled, the
    /// item is queued again and can be cancelled.
    Changing,
    /// The item is finished.
    Finished,
    /// The item already waits for its turn.
    Waiting,
}

/// The complete decision about a [`Manage`] command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Managed {
    /// The changes to write. A refused command may have some, too: those of an expired delivery that was taken back.
    pub changes: Changes,
    /// The answer for the caller.
    pub answer: Result<ManageAnswer, ManageRefused>,
    /// The expired delivery that was taken back before the command was decided.
    pub expired: Option<DeliveryRef>,
}

/// Hashes a payload, so that the audit can identify it without containing it.
pub fn fingerprint(payload: &str) -> Hash {
    Hash(*blake3::hash(payload.as_bytes()).as_bytes())
}

/// Decides a command about one item.
///
/// First takes back the lane's delivery if it has expired, so that the answer does not depend on whether the sweep has
/// run.
pub fn manage(policy: &Policy, command: &Manage, mut read: ManageRead) -> Managed {
    let (expiry, expired) = take_back(policy, &mut read);
    let mut changes = Changes::default();
    let answer = match command {
        Manage::Retry => retry(policy, None, read, &mut changes),
        Manage::RetryWith { payload } => retry(policy, Some(payload), read, &mut changes),
        Manage::Cancel => cancel(policy, read, &mut changes),
        Manage::Release => release(policy, read, &mut changes),
        Manage::Revive => match &read.item {
            // Another process has already revived it.
            Some(item) if !item.parked => Err(ManageRefused::Waiting),
            _ => retry(policy, None, read, &mut changes),
        },
        Manage::Probe { taker } => probe(policy, taker, read, &mut changes),
        Manage::Probed => match read.item {
            Some(item) if item.expires_at.is_some() => {
                changes.push_event(policy, &item, EventName::ItemRevived, None, read.now);
                Ok(ManageAnswer::Probed)
            }
            Some(_) => Err(ManageRefused::Waiting),
            None => Err(ManageRefused::Finished),
        },
    };
    Managed { changes: merge_changes(expiry, changes), answer, expired }
}

fn retry(
    policy: &Policy,
    payload: Option<&Arc<str>>,
    mut read: ManageRead,
    changes: &mut Changes,
) -> Result<ManageAnswer, ManageRefused> {
    let now = read.now;
    let exhausted = read.item.as_ref().is_none_or(|item| item.parked);
    let mut item = match (read.item, read.done) {
        (Some(item), _) if item.expires_at.is_some() => return Err(busy_refusal(&item)),
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
    if let (Some(payload), Some(body)) = (payload, read.body) {
        changes.replaced.push(Body { payload: payload.clone(), ..body });
        item.revision = read.numbers.take();
    }
    if exhausted {
        changes.push_event(policy, &item, EventName::ItemRevived, None, now);
    }
    settle_front(policy, item, read.front, now, changes);
    Ok(ManageAnswer::Retried)
}

/// Hands an exhausted item out. The attempts are unchanged, because a probe does not count as one.
fn probe(
    policy: &Policy,
    taker: &WorkerName,
    mut read: ManageRead,
    changes: &mut Changes,
) -> Result<ManageAnswer, ManageRefused> {
    let now = read.now;
    let item = match (read.item, read.done) {
        (Some(item), _) if item.parked => item,
        (Some(_), _) => return Err(ManageRefused::Waiting),
        (None, Some(_)) => return Err(ManageRefused::Finished),
        (None, None) => return Err(ManageRefused::Unknown),
    };
    let expires_at = now + policy.lock_timeout;
    let item = Item {
        parked: false,
        ready_at: None,
        expires_at: Some(expires_at),
        claimed_at: Some(now),
        fence: Fence(read.numbers.take()),
        last: Last::None,
        handed: item.revision,
        holder: Some(taker.clone()),
        size: 1,
        ..item
    };
    let reference = DeliveryRef { queue: item.queue, seq: item.seq, lane: item.lane, size: 1, fence: item.fence };
    let (attempt, revision) = (item.attempt, item.revision);
    changes.update.push(item);
    Ok(ManageAnswer::Probing(Probe { reference, attempt, revision, now, expires_at }))
}

fn cancel(policy: &Policy, read: ManageRead, changes: &mut Changes) -> Result<ManageAnswer, ManageRefused> {
    let Some(item) = read.item else {
        return Err(if read.done.is_some() { ManageRefused::Finished } else { ManageRefused::Unknown });
    };
    if item.expires_at.is_some() {
        return Err(busy_refusal(&item));
    }
    take_out(policy, item, Ended::Cancelled, read.front, read.now, changes);
    Ok(ManageAnswer::Cancelled)
}

/// Finishes an exhausted item, as if the current policy had applied when it was exhausted.
fn release(policy: &Policy, read: ManageRead, changes: &mut Changes) -> Result<ManageAnswer, ManageRefused> {
    let Some(item) = read.item else {
        return Err(if read.done.is_some() { ManageRefused::Finished } else { ManageRefused::Unknown });
    };
    if !item.parked || policy.holds_exhausted() {
        return Err(ManageRefused::Waiting);
    }
    take_out(policy, item, Ended::Exhausted, read.front, read.now, changes);
    Ok(ManageAnswer::Released)
}

/// Finishes an item and makes the next one the head of its lane.
fn take_out(policy: &Policy, item: Item, ended: Ended, front: Vec<Item>, now: Time, changes: &mut Changes) {
    changes.finish(&item, ended, now);
    let busy = front.iter().any(|other| other.expires_at.is_some());
    if item.lane.is_some() && !busy {
        let next =
            front.into_iter().find(|other| other.seq != item.seq && !(other.parked && policy.kind == Kind::Sync));
        promote(policy, Vec::new(), next, now, changes);
    }
}

/// Returns the refusal for an item that is handed out.
fn busy_refusal(item: &Item) -> ManageRefused {
    if item.revision > item.handed { ManageRefused::Changing } else { ManageRefused::InProcess }
}

/// Writes `item` in its place in the lane: as the head, if no item blocks it and no delivery is in process.
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

/// Makes an unfinished item from the record of an exhausted one.
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
        // A group of its own (fences are positive), because its old group is gone and newer items must not join.
        group: Fence(-done.seq.0),
        last: Last::None,
        revision: done.revision.max(done.seq.0),
        handed: done.revision,
        parked: false,
        holder: None,
        size: 1,
    }
}

/// The rows that the store read about a lane to be cleared, under the lane's lock and with its head locked.
#[derive(Debug)]
pub struct ClearRead {
    /// The database's clock, read after the locks.
    pub now: Time,
    /// The first [`ClearRead::FRONT`] items of the lane, in order.
    pub front: Vec<Item>,
    /// Deliveries that an application's transaction has completed or is completing. They are not cancelled.
    pub spared: Vec<Fence>,
}

impl ClearRead {
    /// How many items are read: as many as one transaction cancels, and the next one, which may become the head.
    pub const FRONT: u32 = BATCH_MAX as u32 + 1;
}

/// How much of a lane was cleared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// The number of cancelled items.
    pub count: u64,
    /// The lane has more items to cancel, so the caller must repeat the command.
    pub more: bool,
}

/// Cancels the waiting and in-process items of a lane that arrived until `until`. Exhausted items stay, because a
/// person must decide about them.
pub fn clear(policy: &Policy, until: Time, read: ClearRead) -> (Changes, Cleared) {
    let mut changes = Changes::default();
    let more = read.front.len() > BATCH_MAX;
    let kept = |item: &Item| {
        let spared = item.expires_at.is_some() && read.spared.contains(&item.fence);
        item.parked || spared || item.enqueued_at > until
    };
    let (mut stays, mut goes): (Vec<Item>, Vec<Item>) = read.front.into_iter().partition(kept);
    if more {
        // One transaction cancels at most `BATCH_MAX` items.
        stays.extend(goes.split_off(goes.len().min(BATCH_MAX)));
        stays.sort_by_key(|item| item.seq);
    }
    for item in &goes {
        changes.finish(item, Ended::Cancelled, read.now);
    }
    let blocks = |item: &Item| !(item.parked && policy.kind == Kind::Sync);
    if !goes.is_empty() && !stays.iter().any(|item| item.expires_at.is_some()) {
        promote(policy, Vec::new(), stays.into_iter().find(blocks), read.now, &mut changes);
    }
    let count = goes.len() as u64;
    (changes, Cleared { count, more: more && count > 0 })
}

/// Stores a typing signal for a lane. Ignores it if no fresh item waits in the lane, because only a fresh item has a
/// window to keep open. The fresh item may be behind a delivery or a retry.
pub fn typing(policy: &Policy, queue: QueueId, lane: Lane, front: &[FrontItem], now: Time, changes: &mut Changes) {
    let waits = front.iter().any(|known| known.item.is_fresh());
    if waits && policy.batch() > 1 && policy.typing_extension > Span::ZERO && policy.window > Span::ZERO {
        changes.typing.push((queue, lane, now));
    }
}
