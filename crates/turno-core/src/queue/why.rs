//! Why an item, or a key, is not running; or who runs it.
//!
//! Decided from the rows as a claim would decide, at one instant. An expired hand-out counts as taken back: whoever
//! asks for work takes it back first. Not here: the sentence for people, which the server writes from this data.

use super::claim::{Ripe, mates, ripe};
use super::settle::NOT_SETTLED;
use super::{Done, Ended, FrontItem, Item, Kind, Last, Policy, Taker};
use crate::id::{Fence, ItemId, Key};
use crate::time::Time;

/// Why something is not running, or that it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// Somebody works on it.
    pub running: bool,
    /// The one reason that comes first.
    pub reason: WhyReason,
    /// When this was so.
    pub now: Time,
    /// The item that is spoken of: of a key, its first unfinished one.
    pub item: Option<ItemId>,
    /// Its key.
    pub key: Option<Key>,
    /// Its hand-outs so far that count.
    pub attempt: u32,
}

/// The reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyReason {
    /// Somebody works on it.
    Running {
        /// Who.
        taker: Option<Taker>,
        /// Under which fence.
        fence: Fence,
        /// Since when.
        since: Time,
        /// Until when, unless settled or renewed.
        expires_at: Time,
    },
    /// Its queue is paused.
    Paused,
    /// More messages of its key may come, and would be handed over with it.
    WindowOpen {
        /// Until then, if nobody writes or types.
        until: Time,
    },
    /// It was enqueued for later.
    Delayed {
        /// Until then.
        until: Time,
    },
    /// Its last attempt failed, and it waits before the next.
    RetryLater {
        /// Until then.
        until: Time,
        /// The attempt that failed.
        attempt: u32,
        /// What went wrong.
        error: Option<String>,
    },
    /// Another delivery of its key is being worked on.
    BehindInFlight {
        /// The first item of that delivery.
        id: ItemId,
        /// Who has it.
        taker: Option<Taker>,
        /// Under which fence.
        fence: Fence,
        /// Since when.
        since: Time,
        /// Until when, unless settled or renewed.
        expires_at: Time,
    },
    /// An older item of its key has to go first.
    BehindHead {
        /// That one.
        id: ItemId,
    },
    /// An exhausted item at the head of its lane holds everything behind it until a person decides.
    LaneHeld {
        /// That one.
        id: ItemId,
    },
    /// No attempts left.
    Exhausted {
        /// What went wrong last.
        error: Option<String>,
    },
    /// Done.
    Processed {
        /// When.
        at: Time,
    },
    /// A person took it out.
    Cancelled {
        /// When.
        at: Time,
    },
    /// Nothing keeps it: nobody has asked for work.
    Ready,
    /// The key has nothing unfinished.
    Empty,
}

impl WhyReason {
    /// The reason as a stable word.
    pub fn code(&self) -> &'static str {
        match self {
            WhyReason::Running { .. } => "running",
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
            WhyReason::Ready => "ready",
            WhyReason::Empty => "empty",
        }
    }
}

/// What the store read about an item and its lane.
#[derive(Clone, Debug)]
pub struct WhyRead<'a> {
    /// The queue's policy.
    pub policy: &'a Policy,
    /// Nothing is handed out.
    pub paused: bool,
    /// When the rows were read.
    pub now: Time,
    /// The first items of the lane, in order; empty in an inbox. Enough to see a whole delivery and what follows it.
    pub front: &'a [FrontItem],
    /// When somebody last typed in the lane.
    pub typed_at: Option<Time>,
}

/// Why this unfinished item is not running; `error` is what its last failed attempt said.
pub fn why_item(read: &WhyRead<'_>, known: &FrontItem, error: Option<&str>) -> Why {
    let item = &known.item;
    let reason = match item.expires_at {
        _ if item.parked => WhyReason::Exhausted { error: error.map(str::to_owned) },
        Some(expires_at) if read.now < expires_at => running(item, expires_at),
        Some(_) if item.revision <= item.handed && item.attempt >= read.policy.max_attempts => {
            WhyReason::Exhausted { error: Some(NOT_SETTLED.to_owned()) }
        }
        _ if read.paused => WhyReason::Paused,
        _ => waiting(read, item, error),
    };
    why(read.now, known, reason)
}

/// How an item that is finished ended; `error` is what its last failed attempt said.
pub fn why_done(done: &Done, id: ItemId, key: Option<Key>, error: Option<&str>, now: Time) -> Why {
    let reason = match done.ended {
        Ended::Processed => WhyReason::Processed { at: done.at },
        Ended::Exhausted => WhyReason::Exhausted { error: error.map(str::to_owned) },
        Ended::Cancelled => WhyReason::Cancelled { at: done.at },
    };
    Why { running: false, reason, now, item: Some(id), key, attempt: done.attempt }
}

/// Why a key is not running, from its unfinished items in order; `error` is what the last failed attempt of the first
/// of them said.
pub fn why_key(read: &WhyRead<'_>, key: &Key, items: &[FrontItem], error: Option<&str>) -> Why {
    let live = |known: &&FrontItem| known.item.expires_at.is_some_and(|at| read.now < at);
    let Some(known) = items.iter().find(live).or(items.first()) else {
        let reason = WhyReason::Empty;
        return Why { running: false, reason, now: read.now, item: None, key: Some(key.clone()), attempt: 0 };
    };
    if known.item.parked && read.policy.kind == Kind::Lane {
        return why(read.now, known, WhyReason::LaneHeld { id: known.id.clone() });
    }
    why_item(read, known, error)
}

fn why(now: Time, known: &FrontItem, reason: WhyReason) -> Why {
    let running = matches!(reason, WhyReason::Running { .. });
    let (item, key) = (Some(known.id.clone()), known.key.clone());
    Why { running, reason, now, item, key, attempt: known.item.attempt }
}

fn running(item: &Item, expires_at: Time) -> WhyReason {
    let since = item.claimed_at.unwrap_or(item.enqueued_at);
    WhyReason::Running { taker: item.holder.clone(), fence: item.fence, since, expires_at }
}

/// Why an item of a queue that hands out is not handed out.
fn waiting(read: &WhyRead<'_>, item: &Item, error: Option<&str>) -> WhyReason {
    let own = || match item.expires_at {
        None if read.now < item.not_before => later(item, error),
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
    let stands = |known: &&FrontItem| !(known.item.parked && read.policy.kind == Kind::Sync);
    let lane: Vec<&FrontItem> = read.front.iter().filter(stands).collect();
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

/// Whether it goes with the head of its lane, which waits for nothing but its window.
fn together(read: &WhyRead<'_>, lane: &[&FrontItem], index: Option<usize>) -> WhyReason {
    let head = &lane[0];
    let groups = read.policy.kind == Kind::Lane && read.policy.batch_max > 1;
    let most = if groups { read.policy.batch_max as usize } else { 1 };
    let front: Vec<Item> = lane.iter().take(most).map(|known| known.item.clone()).collect();
    let goes_along = |count: usize| index.is_some_and(|index| index < count);
    match ripe(read.policy, &front, read.typed_at, read.now) {
        Ripe::Now(count) if goes_along(count) => WhyReason::Ready,
        Ripe::From(until) if goes_along(mates(read.policy, &front, read.now).len()) => WhyReason::WindowOpen { until },
        _ => WhyReason::BehindHead { id: head.id.clone() },
    }
}

fn later(item: &Item, error: Option<&str>) -> WhyReason {
    let until = item.not_before;
    if item.last == Last::Failed {
        WhyReason::RetryLater { until, attempt: item.attempt, error: error.map(str::to_owned) }
    } else {
        WhyReason::Delayed { until }
    }
}
