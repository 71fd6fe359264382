//! Explains why an item or a key is not running, or which worker has it.
//!
//! The answer follows the rules of a claim at the same instant. An expired delivery counts as taken back, because a
//! claim takes it back first. This module returns data; the server renders the sentence for people.

use super::claim::{FrontDue, Sizes, front_due, window_group};
use super::repair::{is_damaged, is_whole};
use super::trace::NOT_SETTLED;
use super::{AttemptError, Done, Ended, FrontItem, Item, Kind, Last, Policy, WorkerName};
use crate::id::{Fence, ItemId, Key};
use crate::time::Time;

/// The reason why an item or a key is not running, or that it is running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// A worker has the item.
    pub running: bool,
    /// The first reason that applies.
    pub reason: WhyReason,
    /// The time of the answer.
    pub now: Time,
    /// The item. For a key, its first unfinished item.
    pub item: Option<ItemId>,
    /// The item's key.
    pub key: Option<Key>,
    /// The item's attempts so far.
    pub attempt: u32,
}

/// The reason in a [`Why`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyReason {
    /// A worker has the item.
    Running {
        /// The worker.
        taker: Option<WorkerName>,
        /// The fence of the delivery.
        fence: Fence,
        /// When the item was handed out.
        since: Time,
        /// When the delivery expires, unless it is settled or renewed before.
        expires_at: Time,
    },
    /// The delivery has expired, but an application is completing it in an open transaction. The item is not handed out
    /// before that transaction ends.
    Completing {
        /// The worker of the delivery.
        taker: Option<WorkerName>,
        /// The fence of the delivery.
        fence: Fence,
        /// When the item was handed out.
        since: Time,
    },
    /// The queue is paused.
    Paused,
    /// The window is open: the lane waits for more items of the key.
    WindowOpen {
        /// The end of the window, unless another item or a typing signal arrives.
        until: Time,
    },
    /// The item was enqueued with a delay.
    Delayed {
        /// The end of the delay.
        until: Time,
    },
    /// The last attempt failed or was not possible, and the item waits for the next one.
    RetryLater {
        /// The end of the back-off.
        until: Time,
        /// The attempt that failed, or 0 if no attempt was possible.
        attempt: u32,
        /// The error.
        error: Option<String>,
    },
    /// A worker has another delivery of the key.
    BehindInFlight {
        /// The first item of that delivery.
        id: ItemId,
        /// The worker of that delivery.
        taker: Option<WorkerName>,
        /// The fence of that delivery.
        fence: Fence,
        /// When that delivery was handed out.
        since: Time,
        /// When that delivery expires, unless it is settled or renewed before.
        expires_at: Time,
    },
    /// An older item of the key must go first.
    BehindHead {
        /// The older item.
        id: ItemId,
    },
    /// An exhausted item at the head holds the lane until a person decides.
    LaneHeld {
        /// The exhausted item.
        id: ItemId,
    },
    /// The item has no attempts left.
    Exhausted {
        /// The last error.
        error: Option<String>,
    },
    /// The item is processed.
    Processed {
        /// When it was processed.
        at: Time,
    },
    /// A person cancelled the item.
    Cancelled {
        /// When it was cancelled.
        at: Time,
    },
    /// The rows of the lane contradict each other, so claims and settlements do not work. `turno check --repair`
    /// repairs the lane.
    Damaged,
    /// The item is due, and no worker has claimed it yet.
    Ready,
    /// The key has no unfinished items.
    Empty,
}

impl WhyReason {
    /// Returns the stable name of the reason in the API.
    pub fn code(&self) -> &'static str {
        match self {
            WhyReason::Running { .. } => "running",
            WhyReason::Completing { .. } => "completing",
            WhyReason::Paused => "paused",
            WhyReason::WindowOpen { .. } => "window_open",
            WhyReason::Delayed { .. } => "delayed",
            WhyReason::RetryLater { .. } => "retry_later",
            WhyReason::BehindInFlight { .. } => "behind_in_flight",
            WhyReason::BehindHead { .. } => "behind_head",
            WhyReason::LaneHeld { .. } => "lane_held",
            WhyReason::Exhausted { .. } => "exhausted",
            WhyReason::Processed { .. } => "processed",
            WhyReason::Cancelled { .. } => "cancelled",
            WhyReason::Damaged => "damaged",
            WhyReason::Ready => "ready",
            WhyReason::Empty => "empty",
        }
    }
}

/// The rows that the store read about an item and its lane.
#[derive(Clone, Debug)]
pub struct WhyRead<'a> {
    /// The queue's policy.
    pub policy: &'a Policy,
    /// The queue is paused.
    pub paused: bool,
    /// When the rows were read.
    pub now: Time,
    /// The first items of the lane in order, then those that are ready or handed out. Enough to see a complete
    /// delivery, the items behind it, and whether the lane is damaged. Empty in an inbox.
    pub front: &'a [FrontItem],
    /// The last typing signal of the lane.
    pub typed_at: Option<Time>,
    /// The fence of an expired delivery that an application is completing in an open transaction.
    pub completing: Option<Fence>,
    /// The payload bytes at which a lane's group closes.
    pub group_bytes: usize,
}

impl WhyRead<'_> {
    fn is_completing(&self, item: &Item) -> bool {
        item.expires_at.is_some() && self.completing == Some(item.fence)
    }

    /// Returns whether the rows of the item's lane contradict each other.
    fn is_damaged(&self, item: &Item) -> bool {
        match item.lane {
            Some(_) => is_damaged(self.policy, self.front.iter().map(|known| &known.item), self.completing.as_slice()),
            None => is_damaged(self.policy, std::iter::once(item), self.completing.as_slice()),
        }
    }

    /// Returns whether the item's delivery has all its rows, so that it can be settled.
    fn is_whole(&self, item: &Item) -> bool {
        match item.lane {
            Some(_) => is_whole(&self.front.iter().map(|known| &known.item).collect::<Vec<_>>(), item.fence),
            None => is_whole(&[item], item.fence),
        }
    }
}

/// Explains why an unfinished item is not running. `error` is its last stored error.
pub fn why_item(read: &WhyRead<'_>, known: &FrontItem, error: Option<&AttemptError>) -> Why {
    let item = &known.item;
    let reason = match item.expires_at {
        _ if item.parked => WhyReason::Exhausted { error: error.map(|error| error.error.clone()) },
        Some(expires_at) if read.now < expires_at && read.is_whole(item) => running(item, expires_at),
        _ if read.is_damaged(item) => WhyReason::Damaged,
        Some(_) if read.is_completing(item) => completing(item),
        Some(_) if item.revision <= item.handed && item.attempt >= read.policy.max_attempts => {
            WhyReason::Exhausted { error: Some(NOT_SETTLED.to_owned()) }
        }
        _ if read.paused => WhyReason::Paused,
        _ => waiting(read, item, error),
    };
    why(read.now, known, reason)
}

/// As [`why_item`], for a claim of this item alone. An item that would be handed out in a group with its head is
/// answered with [`WhyReason::BehindHead`], because it cannot be claimed without the head.
pub fn why_alone(read: &WhyRead<'_>, known: &FrontItem, error: Option<&AttemptError>) -> Why {
    let why = why_item(read, known, error);
    let head = read.front.iter().find(|known| blocks(read, known)).filter(|head| head.item.seq != known.item.seq);
    match (&why.reason, head) {
        (WhyReason::Ready, Some(head)) => Why { reason: WhyReason::BehindHead { id: head.id.clone() }, ..why },
        _ => why,
    }
}

/// Returns whether the item blocks the items behind it. An exhausted sync item does not.
fn blocks(read: &WhyRead<'_>, known: &FrontItem) -> bool {
    !(known.item.parked && read.policy.kind == Kind::Sync)
}

/// Explains how a finished item ended. `error` is its last stored error.
pub fn why_done(done: &Done, id: ItemId, key: Option<Key>, error: Option<&AttemptError>, now: Time) -> Why {
    let reason = match done.ended {
        Ended::Processed => WhyReason::Processed { at: done.at },
        Ended::Exhausted => WhyReason::Exhausted { error: error.map(|error| error.error.clone()) },
        Ended::Cancelled => WhyReason::Cancelled { at: done.at },
    };
    Why { running: false, reason, now, item: Some(id), key, attempt: done.attempt }
}

/// Explains why a key is not running. `items` are its unfinished items in order, `error` the last stored error of the
/// first one.
pub fn why_key(read: &WhyRead<'_>, key: &Key, items: &[FrontItem], error: Option<&AttemptError>) -> Why {
    let live =
        |known: &&FrontItem| known.item.expires_at.is_some_and(|at| read.now < at) || read.is_completing(&known.item);
    let Some(known) = items.iter().find(live).or(items.first()) else {
        let reason = WhyReason::Empty;
        return Why { running: false, reason, now: read.now, item: None, key: Some(key.clone()), attempt: 0 };
    };
    if known.item.parked && read.policy.kind == Kind::Lane && !read.is_damaged(&known.item) {
        return why(read.now, known, WhyReason::LaneHeld { id: known.id.clone() });
    }
    why_item(read, known, error)
}

fn why(now: Time, known: &FrontItem, reason: WhyReason) -> Why {
    let running = matches!(reason, WhyReason::Running { .. } | WhyReason::Completing { .. });
    let (item, key) = (Some(known.id.clone()), known.key.clone());
    Why { running, reason, now, item, key, attempt: known.item.attempt }
}

fn running(item: &Item, expires_at: Time) -> WhyReason {
    let since = item.claimed_at.unwrap_or(item.enqueued_at);
    WhyReason::Running { taker: item.holder.clone(), fence: item.fence, since, expires_at }
}

fn completing(item: &Item) -> WhyReason {
    let since = item.claimed_at.unwrap_or(item.enqueued_at);
    WhyReason::Completing { taker: item.holder.clone(), fence: item.fence, since }
}

/// Returns the reason why an item of an active queue waits.
fn waiting(read: &WhyRead<'_>, item: &Item, error: Option<&AttemptError>) -> WhyReason {
    let own = || match (item.expires_at, item.ready_at) {
        (None, _) if read.now < item.not_before => later(item, error),
        // Claims ignore the item before `ready_at`.
        (None, Some(until)) if read.now < until => WhyReason::Delayed { until },
        _ => WhyReason::Ready,
    };
    if item.lane.is_none() {
        return own();
    }
    let live = |known: &&FrontItem| known.item.expires_at.is_some_and(|at| read.now < at);
    if let Some(known) = read.front.iter().find(live) {
        let other = &known.item;
        let since = other.claimed_at.unwrap_or(other.enqueued_at);
        let (id, taker, fence) = (known.id.clone(), other.holder.clone(), other.fence);
        return WhyReason::BehindInFlight { id, taker, fence, since, expires_at: other.expires_at.unwrap_or(since) };
    }
    if let Some(first) = read.front.iter().find(|known| read.is_completing(&known.item)) {
        return WhyReason::BehindHead { id: first.id.clone() };
    }
    let lane: Vec<&FrontItem> = read.front.iter().filter(|known| blocks(read, known)).collect();
    let Some(head) = lane.first() else {
        return own();
    };
    let index = lane.iter().position(|known| known.item.seq == item.seq);
    match index {
        _ if head.item.parked => WhyReason::LaneHeld { id: head.id.clone() },
        Some(0) if head.item.expires_at.is_some() || read.now < head.item.not_before => own(),
        _ => together(read, &lane, index),
    }
}

/// Returns the reason for an item that may be grouped with the head of its lane, when the head can wait only for its
/// window.
fn together(read: &WhyRead<'_>, lane: &[&FrontItem], index: Option<usize>) -> WhyReason {
    let head = &lane[0];
    let front: Vec<Item> = lane.iter().take(read.policy.batch() as usize).map(|known| known.item.clone()).collect();
    let goes_along = |count: usize| index.is_some_and(|index| index < count);
    // Claims ignore the head before its `ready_at`.
    let looked_at = head.item.ready_at.filter(|at| read.now < *at);
    let bytes = |seq| lane.iter().find(|known| known.item.seq == seq).map_or(0, |known| known.bytes);
    let sizes = Sizes { bytes: &bytes, most: read.group_bytes };
    match front_due(read.policy, &front, sizes, read.typed_at, read.now) {
        FrontDue::Now(count) if goes_along(count) => {
            looked_at.map_or(WhyReason::Ready, |until| WhyReason::WindowOpen { until })
        }
        FrontDue::From(until) if goes_along(window_group(read.policy, &front, read.now).len()) => {
            WhyReason::WindowOpen { until }
        }
        _ => WhyReason::BehindHead { id: head.id.clone() },
    }
}

fn later(item: &Item, error: Option<&AttemptError>) -> WhyReason {
    let until = item.not_before;
    if item.last == Last::Failed {
        let attempt = error.map_or(item.attempt, |error| error.attempt);
        WhyReason::RetryLater { until, attempt, error: error.map(|error| error.error.clone()) }
    } else {
        WhyReason::Delayed { until }
    }
}
