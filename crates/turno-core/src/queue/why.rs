//! Why an item, or a key, is not running; or who runs it.
//!
//! Decided from the rows as a claim would decide, at one instant. An expired hand-out counts as taken back: whoever
//! asks for work takes it back first. Not here: the sentence for people, which the server writes from this data.

use super::claim::{Ripe, mates, ripe};
use super::repair::{is_damaged, is_whole};
use super::trace::NOT_SETTLED;
use super::{AttemptError, Done, Ended, FrontItem, Item, Kind, Last, Policy, Taker};
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
    /// The time of its hand-out is over, and an application is completing it in a transaction that is still open: nobody
    /// else gets it until that ends.
    Completing {
        /// Who was handed it.
        taker: Option<Taker>,
        /// Under which fence.
        fence: Fence,
        /// Since when.
        since: Time,
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
    /// Its last attempt failed, or could not even be made, and it waits before the next.
    RetryLater {
        /// Until then.
        until: Time,
        /// The attempt that failed; 0 if none was made.
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
    /// The rows of its lane contradict each other, so that claims and settlements do not work there. A repair of the lane
    /// (`turno check --repair`) mends it.
    Damaged,
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

/// What the store read about an item and its lane.
#[derive(Clone, Debug)]
pub struct WhyRead<'a> {
    /// The queue's policy.
    pub policy: &'a Policy,
    /// Nothing is handed out.
    pub paused: bool,
    /// When the rows were read.
    pub now: Time,
    /// The first items of the lane, in order, and behind them those that are ready or handed out; empty in an inbox. Enough
    /// to see a whole delivery, what follows it, and whether the lane is sound.
    pub front: &'a [FrontItem],
    /// When somebody last typed in the lane.
    pub typed_at: Option<Time>,
    /// The fence of a delivery whose time is over, and that an application is completing at this moment.
    pub completing: Option<Fence>,
}

impl WhyRead<'_> {
    fn is_completing(&self, item: &Item) -> bool {
        item.expires_at.is_some() && self.completing == Some(item.fence)
    }

    /// Whether a claim or a settlement cannot work, because the rows of the item's lane contradict each other.
    fn is_damaged(&self, item: &Item) -> bool {
        match item.lane {
            Some(_) => is_damaged(self.policy, self.front.iter().map(|known| &known.item), self.completing.as_slice()),
            None => is_damaged(self.policy, std::iter::once(item), self.completing.as_slice()),
        }
    }

    /// Whether the delivery of the item can be settled.
    fn is_whole(&self, item: &Item) -> bool {
        match item.lane {
            Some(_) => is_whole(&self.front.iter().map(|known| &known.item).collect::<Vec<_>>(), item.fence),
            None => is_whole(&[item], item.fence),
        }
    }
}

/// Why this unfinished item is not running; `error` is the last one that is kept of it.
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

/// As [`why_item`], for somebody who wants this very item: one that would go along with the head of its lane is not to be
/// had without it.
pub fn why_alone(read: &WhyRead<'_>, known: &FrontItem, error: Option<&AttemptError>) -> Why {
    let why = why_item(read, known, error);
    let head = read.front.iter().find(|of| stands(read, of)).filter(|head| head.item.seq != known.item.seq);
    match (&why.reason, head) {
        (WhyReason::Ready, Some(head)) => Why { reason: WhyReason::BehindHead { id: head.id.clone() }, ..why },
        _ => why,
    }
}

/// Whether it stands in the way of what comes behind it.
fn stands(read: &WhyRead<'_>, known: &FrontItem) -> bool {
    !(known.item.parked && read.policy.kind == Kind::Sync)
}

/// How an item that is finished ended; `error` is the last one that is kept of it.
pub fn why_done(done: &Done, id: ItemId, key: Option<Key>, error: Option<&AttemptError>, now: Time) -> Why {
    let reason = match done.ended {
        Ended::Processed => WhyReason::Processed { at: done.at },
        Ended::Exhausted => WhyReason::Exhausted { error: error.map(|error| error.error.clone()) },
        Ended::Cancelled => WhyReason::Cancelled { at: done.at },
    };
    Why { running: false, reason, now, item: Some(id), key, attempt: done.attempt }
}

/// Why a key is not running, from its unfinished items in order; `error` is the last one that is kept of the
/// first of them.
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

/// Why an item of a queue that hands out is not handed out.
fn waiting(read: &WhyRead<'_>, item: &Item, error: Option<&AttemptError>) -> WhyReason {
    let own = || match (item.expires_at, item.ready_at) {
        (None, _) if read.now < item.not_before => later(item, error),
        // A claim looks at it from then on, and not earlier.
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
    let lane: Vec<&FrontItem> = read.front.iter().filter(|known| stands(read, known)).collect();
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
    let front: Vec<Item> = lane.iter().take(read.policy.batch() as usize).map(|known| known.item.clone()).collect();
    let goes_along = |count: usize| index.is_some_and(|index| index < count);
    // A claim looks at the head from then on, and not earlier.
    let looked_at = head.item.ready_at.filter(|at| read.now < *at);
    match ripe(read.policy, &front, read.typed_at, read.now) {
        Ripe::Now(count) if goes_along(count) => {
            looked_at.map_or(WhyReason::Ready, |until| WhyReason::WindowOpen { until })
        }
        Ripe::From(until) if goes_along(mates(read.policy, &front, read.now).len()) => WhyReason::WindowOpen { until },
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
