//! What people do to single items (retry, cancel) and to whole lanes (clear), and signs of typing.

use super::lapse::{joined, take_back};
use super::settle::promote;
use super::{Body, Changes, Done, Ended, FrontItem, Handed, Item, Kind, Last, Policy, Taker};
use crate::audit::Hash;
use crate::id::{Fence, Lane, Numbers, QueueId};
use crate::limits::BATCH_MAX;
use crate::time::{Span, Time};
use std::sync::Arc;

/// What a person wants of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manage {
    /// Send it round again, in its place.
    Retry,
    /// The same, with another payload.
    RetryWith {
        /// JSON as it came.
        payload: Arc<str>,
    },
    /// Take it out.
    Cancel,
    /// Its destination is back: as [`Manage::Retry`], but of exhausted items only.
    Revive,
    /// Hand an exhausted item out to one caller who asks with it whether its destination is back. If the destination does
    /// not take it, [`Act::Park`] makes it exhausted again.
    ///
    /// [`Act::Park`]: super::Act::Park
    Probe {
        /// The caller.
        taker: Taker,
    },
    /// The destination took the item that it was probed with: exhausted no more. Only told, before the item is acked.
    Probed,
    /// The policy has changed and exhausted items do not hold their lanes any more: it stays exhausted, and what stands
    /// behind it goes on.
    Release,
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
    /// Deliveries that an application's transaction has completed, or is completing at this moment: they are left to it,
    /// also when their time is over.
    pub spared: Vec<Fence>,
    /// Its lane and the time it was accepted, to put a finished one back in its place.
    pub home: Option<(Option<Lane>, Time)>,
    /// What it carries, read only if that is to be replaced: see [`Manage::edits`].
    pub body: Option<Body>,
    /// A fresh number, then too: what it carries from now on is a newer change.
    pub numbers: Numbers,
}

impl Manage {
    /// Whether what the item carries is replaced, so that it must be read.
    pub fn edits(&self) -> bool {
        matches!(self, Manage::RetryWith { .. })
    }

    /// Whether the decision needs a fresh number: for a newer change, or for the fence of a hand-out.
    pub fn takes_number(&self) -> bool {
        self.edits() || matches!(self, Manage::Probe { .. })
    }
}

/// The person's wish was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManageAnswer {
    /// It waits for its turn again.
    Retried,
    /// It will not be processed.
    Cancelled,
    /// It does not hold its lane any more.
    Released,
    /// It is handed out for a probe.
    Probing(Probe),
    /// The probe with it succeeded.
    Probed,
}

/// An exhausted item, handed out to ask whether its destination is back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Names the delivery.
    pub handed: Handed,
    /// The attempts that the item has had; the probe is none.
    pub attempt: u32,
    /// The change that is handed out.
    pub revision: i64,
    /// When it was handed out.
    pub now: Time,
    /// Over from here on unless settled.
    pub expires_at: Time,
}

/// Why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManageRefused {
    /// There is no such item.
    Unknown,
    /// Somebody works on it now.
    InProcess,
    /// It waits with a newer change, while somebody still works on what it said before. When that is settled it is queued
    /// again by itself, and can be taken out then.
    Changing,
    /// It is finished already.
    Finished,
    /// It waits for its turn already.
    Waiting,
}

/// What becomes of a wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Managed {
    /// What is written, also if it is refused: what had expired is taken back in any case.
    pub changes: Changes,
    /// The answer.
    pub answer: Result<ManageAnswer, ManageRefused>,
    /// The delivery that had expired and was taken back first.
    pub expired: Option<Handed>,
}

/// Tells payloads apart in the audit without showing them.
pub fn fingerprint(payload: &str) -> Hash {
    Hash(*blake3::hash(payload.as_bytes()).as_bytes())
}

/// Decides what a person wants of one item, after its lane's delivery was taken back if its time is over: that nobody has
/// swept yet must not show.
pub fn manage(policy: &Policy, wish: &Manage, mut read: ManageRead) -> Managed {
    let (over, expired) = take_back(policy, &mut read);
    let mut changes = Changes::default();
    let answer = match wish {
        Manage::Retry => retry(policy, None, read, &mut changes),
        Manage::RetryWith { payload } => retry(policy, Some(payload), read, &mut changes),
        Manage::Cancel => cancel(policy, read, &mut changes),
        Manage::Release => release(policy, read, &mut changes),
        Manage::Revive => match &read.item {
            // Whoever was faster has sent it round already.
            Some(item) if !item.parked => Err(ManageRefused::Waiting),
            _ => retry(policy, None, read, &mut changes),
        },
        Manage::Probe { taker } => probe(policy, taker, read, &mut changes),
        Manage::Probed => match read.item {
            Some(item) if item.expires_at.is_some() => {
                changes.tell(policy, &item, "item.revived", None, read.now);
                Ok(ManageAnswer::Probed)
            }
            Some(_) => Err(ManageRefused::Waiting),
            None => Err(ManageRefused::Finished),
        },
    };
    Managed { changes: joined(over, changes), answer, expired }
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
        (Some(item), _) if item.expires_at.is_some() => return Err(busy(&item)),
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
        changes.tell(policy, &item, "item.revived", None, now);
    }
    settle_front(policy, item, read.front, now, changes);
    Ok(ManageAnswer::Retried)
}

/// Hands an exhausted item out. Its attempts stay as they are, because a probe is none.
fn probe(
    policy: &Policy,
    taker: &Taker,
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
    let handed = Handed { queue: item.queue, seq: item.seq, lane: item.lane, size: 1, fence: item.fence };
    let (attempt, revision) = (item.attempt, item.revision);
    changes.update.push(item);
    Ok(ManageAnswer::Probing(Probe { handed, attempt, revision, now, expires_at }))
}

fn cancel(policy: &Policy, read: ManageRead, changes: &mut Changes) -> Result<ManageAnswer, ManageRefused> {
    let Some(item) = read.item else {
        return Err(if read.done.is_some() { ManageRefused::Finished } else { ManageRefused::Unknown });
    };
    if item.expires_at.is_some() {
        return Err(busy(&item));
    }
    take_out(policy, item, Ended::Cancelled, read.front, read.now, changes);
    Ok(ManageAnswer::Cancelled)
}

/// As if the policy of now had been in force when it was exhausted.
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

/// Finishes an item, and makes who comes next the head of its lane.
fn take_out(policy: &Policy, item: Item, ended: Ended, front: Vec<Item>, now: Time, changes: &mut Changes) {
    changes.finish(&item, ended, now);
    let busy = front.iter().any(|other| other.expires_at.is_some());
    if item.lane.is_some() && !busy {
        let next =
            front.into_iter().find(|other| other.seq != item.seq && !(other.parked && policy.kind == Kind::Sync));
        promote(policy, Vec::new(), next, now, changes);
    }
}

/// Why nothing can be done to an item that is handed out, as its state says it.
fn busy(item: &Item) -> ManageRefused {
    if item.revision > item.handed { ManageRefused::Changing } else { ManageRefused::InProcess }
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
        size: 1,
    }
}

/// What the store read about a lane that a person clears, under its mutex and with its head locked.
#[derive(Debug)]
pub struct ClearRead {
    /// The database's clock, read after the locks.
    pub now: Time,
    /// The first [`ClearRead::FRONT`] items of the lane, in order.
    pub front: Vec<Item>,
    /// Deliveries that an application's transaction has completed, or is completing at this moment: they are left to it.
    pub spared: Vec<Fence>,
}

impl ClearRead {
    /// How much of a lane is read: as much as one transaction clears, and who comes next.
    pub const FRONT: u32 = BATCH_MAX as u32 + 1;
}

/// How much of a lane was cleared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// So many items.
    pub count: u64,
    /// There is more to clear.
    pub more: bool,
}

/// Takes out all that waits in a lane or is in process, of what was accepted until `until`. What is exhausted stays:
/// somebody has to look at it.
pub fn clear(policy: &Policy, until: Time, read: ClearRead) -> (Changes, Cleared) {
    let mut changes = Changes::default();
    let more = read.front.len() > BATCH_MAX;
    let kept = |item: &Item| {
        let spared = item.expires_at.is_some() && read.spared.contains(&item.fence);
        item.parked || spared || item.enqueued_at > until
    };
    let (mut stays, mut goes): (Vec<Item>, Vec<Item>) = read.front.into_iter().partition(kept);
    if more {
        // One transaction takes so many and no more.
        stays.extend(goes.split_off(goes.len().min(BATCH_MAX)));
        stays.sort_by_key(|item| item.seq);
    }
    for item in &goes {
        changes.finish(item, Ended::Cancelled, read.now);
    }
    let stands = |item: &Item| !(item.parked && policy.kind == Kind::Sync);
    if !goes.is_empty() && !stays.iter().any(|item| item.expires_at.is_some()) {
        promote(policy, Vec::new(), stays.into_iter().find(stands), read.now, &mut changes);
    }
    let count = goes.len() as u64;
    (changes, Cleared { count, more: more && count > 0 })
}

/// Somebody is typing in a lane: worth remembering only while a fresh message waits there for its window, be it behind
/// those that are being answered or wait for a retry.
pub fn typing(policy: &Policy, queue: QueueId, lane: Lane, front: &[FrontItem], now: Time, changes: &mut Changes) {
    let waits = front.iter().any(|known| known.item.is_fresh());
    if waits && policy.batch() > 1 && policy.typing_extension > Span::ZERO && policy.window > Span::ZERO {
        changes.typing.push((queue, lane, now));
    }
}
