//! Queues: named streams of items, each of which a worker must process once.
//!
//! Every item goes through the same steps. It is accepted ([`enqueue()`]), becomes due, is handed out to a worker with a
//! fence and an expiry ([`hand_out`]), and is settled ([`settle()`]): acked, failed or returned. A delivery that is not
//! settled before its expiry is handed out again.
//!
//! A queue has one of three kinds:
//!
//! - *lane*: the items of one key are handed out in order, one delivery at a time. Items that arrive within a short
//!   window are handed out together, as one group;
//! - *inbox*: items have no order. Each item is a lane of its own;
//! - *sync*: a key has at most one unfinished item. A newer change replaces what that item carries.
//!
//! The first item of a lane that may run is its *head*. An unfinished item is in exactly one of these conditions:
//!
//! | condition | `ready_at` | `expires_at` | `parked` |
//! |---|---|---|---|
//! | head of its lane, may run from `ready_at` on | set | – | no |
//! | waits behind the head | – | – | no |
//! | handed out under `fence` | – | set | no |
//! | exhausted, and kept until a person or a newer change decides | – | – | yes |
//!
//! Finished items move to the history ([`Done`]). The store chooses the due heads and finds rows by their fence. This
//! module decides everything else, for a group of callers at once.
//!
//! A head's `ready_at` may be earlier than the end of its window, but never later. New items do not rewrite the head,
//! so that they cost no extra write. Instead a claim reads the first items of the lane and, if the window is still
//! open, moves `ready_at` to its end.

mod claim;
mod enqueue;
mod known;
mod lapse;
mod latency;
mod manage;
mod policy;
mod repair;
mod settle;
mod settler;
mod state;
#[cfg(test)]
mod tests;
mod token;
mod trace;
mod why;
mod worker_name;

pub use claim::{ClaimRead, ClaimRequest, Delivery, HandedOut, hand_out, resume};
pub use enqueue::{Accepted, Enqueue, EnqueueRead, FrontItem, NewItem, enqueue};
pub use known::{Digest, Known};
pub use lapse::Lapsed;
pub use latency::{Latency, Quantiles, Waited};
pub use manage::{
    ClearRead, Cleared, Manage, ManageAnswer, ManageRead, ManageRefused, Managed, Probe, clear, fingerprint, manage,
    typing,
};
pub use policy::{BadPolicy, Kind, OnExhausted, Policy};
pub use repair::{Lost, RepairRead, RepairRow, Repaired, repair};
pub use settle::{Act, DeliveryRef, LimitedBy, Loaded, Member, Settle, SettleOutcome, settle};
pub use settler::Settler;
pub use state::ItemState;
pub use token::BadDelivery;
pub use trace::{FailedAttempt, Trace};
pub use why::{Why, WhyRead, WhyReason, why_alone, why_done, why_item, why_key};
pub use worker_name::WorkerName;

use crate::audit::Entry;
use crate::event::{Event, EventName, Topic};
use crate::id::{Fence, ItemId, Key, Lane, QueueId, Seq};
use crate::time::Time;
use std::sync::Arc;

/// How the last delivery of an unfinished item ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Last {
    /// The item was never handed out, or is handed out now.
    #[default]
    None = 0,
    /// The worker reported a failure.
    Failed = 1,
    /// The worker returned the item without trying it.
    Returned = 2,
    /// The delivery expired.
    Expired = 3,
    /// A newer change arrived during the delivery, so the item was queued again.
    Superseded = 4,
}

impl Last {
    /// Returns the number in the databases. Numbers are never reassigned.
    pub fn number(self) -> i16 {
        self as i16
    }

    /// Returns the variant with this number.
    pub fn from_number(number: i16) -> Option<Last> {
        let all = [Last::None, Last::Failed, Last::Returned, Last::Expired, Last::Superseded];
        all.into_iter().find(|last| last.number() == number)
    }
}

/// An unfinished item without its payload: the small row that claims and settlements write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The item's place in the order of arrival.
    pub seq: Seq,
    /// The queue.
    pub queue: QueueId,
    /// The lane. `None` in an inbox.
    pub lane: Option<Lane>,
    /// When the item was enqueued, by a caller or in an application's transaction. It counts for the item's age and
    /// window, never for the order.
    pub enqueued_at: Time,
    /// The end of the item's delay or back-off. The item is not handed out before.
    pub not_before: Time,
    /// Set if the item is the head of its lane: claims look at it from this time on.
    pub ready_at: Option<Time>,
    /// Set while the item is handed out: the expiry of its delivery.
    pub expires_at: Option<Time>,
    /// When the item was last handed out.
    pub claimed_at: Option<Time>,
    /// How many deliveries count as attempts so far.
    pub attempt: u32,
    /// The fence of the last delivery, or 0 if there was none.
    pub fence: Fence,
    /// The fence under which the item's group was first handed out. The group stays together, and newer items do not
    /// join it. 0 if the item is fresh: never handed out, or returned untried.
    pub group: Fence,
    /// How the last delivery ended.
    pub last: Last,
    /// The newest change, in a sync queue.
    pub revision: i64,
    /// The change that the last delivery carried.
    pub handed: i64,
    /// The item is exhausted, and stays among the unfinished items.
    pub parked: bool,
    /// The worker of the last delivery.
    pub holder: Option<WorkerName>,
    /// How many items the last delivery had. A settlement must name the same number under the same fence.
    pub size: u32,
}

impl Item {
    /// Returns whether the item was never handed out, or was returned untried. Other fresh items may join its group.
    pub fn is_fresh(&self) -> bool {
        self.group == Fence(0)
    }

    /// Returns the time from which the window counts.
    fn since(&self) -> Time {
        self.enqueued_at.max(self.not_before)
    }

    /// Returns the `ready_at` of the item if it becomes the head of its lane: the first time at which it can be due.
    fn first_look(&self, policy: &Policy, now: Time) -> Time {
        if self.is_fresh() && policy.batch() > 1 {
            now.max(self.since() + policy.window.min(policy.max_wait))
        } else {
            now.max(self.not_before)
        }
    }

    /// Ends the delivery: the item waits, and is not the head.
    fn put_back(&mut self, last: Last) {
        self.expires_at = None;
        self.ready_at = None;
        self.last = last;
    }
}

/// The content of an item. It is written once. Only a newer change of a sync key, or a retry with another payload,
/// replaces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// The item.
    pub seq: Seq,
    /// The queue.
    pub queue: QueueId,
    /// The item's id, unique in the queue within the retention.
    pub id: ItemId,
    /// The item's key.
    pub key: Option<Key>,
    /// The action that the receiver performs, if receivers distinguish several.
    pub action: Option<String>,
    /// The JSON text as it was received.
    pub payload: Arc<str>,
    /// When the item was enqueued, as in [`Item::enqueued_at`].
    pub enqueued_at: Time,
}

/// The id of a change that replaced the content of an unfinished sync item. The change has no row of its own; its id is
/// kept so that a late repeat is recognised as a duplicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absorbed {
    /// The queue.
    pub queue: QueueId,
    /// The id. It is not accepted again within the retention.
    pub id: ItemId,
    /// The digest of the accepted key and payload.
    pub digest: Digest,
    /// When the change was accepted.
    pub at: Time,
}

/// How an item finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ended {
    /// A worker acked the item.
    Processed = 0,
    /// The item has no attempts left, or its worker gave up.
    Exhausted = 1,
    /// A person cancelled the item.
    Cancelled = 2,
}

impl Ended {
    /// Returns the number in the databases. Numbers are never reassigned.
    pub fn number(self) -> i16 {
        self as i16
    }

    /// Returns the variant with this number.
    pub fn from_number(number: i16) -> Option<Ended> {
        [Ended::Processed, Ended::Exhausted, Ended::Cancelled].into_iter().find(|ended| ended.number() == number)
    }
}

/// The record of a finished item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The item.
    pub seq: Seq,
    /// The queue.
    pub queue: QueueId,
    /// How the item finished.
    pub ended: Ended,
    /// When the item finished.
    pub at: Time,
    /// How many attempts it had.
    pub attempt: u32,
    /// The fence of its last delivery, or 0 if it was never handed out.
    pub fence: Fence,
    /// The revision that was handed out last.
    pub revision: i64,
    /// The worker of the last delivery.
    pub holder: Option<WorkerName>,
    /// When the item was last handed out. For a cancelled item, only if it was in process when it was cancelled. `None`
    /// in rows that were written before this was stored.
    pub handed_at: Option<Time>,
}

/// One failed attempt, or the error that prevented an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptError {
    /// The item.
    pub seq: Seq,
    /// The number of the failed attempt, or 0 if no attempt was possible.
    pub attempt: u32,
    /// The fence of the delivery.
    pub fence: Fence,
    /// When the attempt failed.
    pub at: Time,
    /// The worker's error, or a fixed text if the delivery expired.
    pub error: String,
    /// When the next attempt was planned. `None` if the item was exhausted.
    pub retry_at: Option<Time>,
    /// The worker of the delivery.
    pub holder: Option<WorkerName>,
    /// When the item was handed out. `None` in rows that were written before this was stored.
    pub handed_at: Option<Time>,
    /// The delivery expired, so no worker reported this error.
    pub expired: bool,
}

/// A delivery that ended without counting as an attempt: the item was returned, or superseded by a newer change. It is
/// stored so that a repeated settlement gets the same answer, even if another worker has had the item since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncountedDelivery {
    /// The item.
    pub seq: Seq,
    /// The fence of the delivery.
    pub fence: Fence,
    /// How it ended: returned, superseded, or expired after a newer change had arrived.
    pub how: Last,
    /// When it ended.
    pub at: Time,
    /// The worker of the delivery.
    pub holder: Option<WorkerName>,
    /// When the item was handed out.
    pub handed_at: Option<Time>,
    /// The worker's error: why it could not try the item, or how the superseded attempt failed. A fixed text if the
    /// delivery expired.
    pub error: Option<String>,
}

impl UncountedDelivery {
    /// How many are kept per item, the newest ones. There is a bound because a worker may return an item again and
    /// again.
    pub const KEPT: usize = 20;
}

/// Everything that a group of queue commands writes in one transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// New bodies, each with an item in `insert`.
    pub bodies: Vec<Body>,
    /// Bodies whose action and payload a newer change replaced.
    pub replaced: Vec<Body>,
    /// Ids of changes that were merged into an unfinished item.
    pub absorbed: Vec<Absorbed>,
    /// New unfinished items.
    pub insert: Vec<Item>,
    /// Unfinished items in their new condition.
    pub update: Vec<Item>,
    /// Unfinished rows to delete, because their items finished.
    pub remove: Vec<Seq>,
    /// Records of items that finished.
    pub done: Vec<Done>,
    /// Records to delete, because their items are retried.
    pub undone: Vec<Seq>,
    /// Failed attempts.
    pub errors: Vec<AttemptError>,
    /// Deliveries that ended without counting as an attempt.
    pub came_back: Vec<UncountedDelivery>,
    /// Items that were handed out to a claim with a request id: the item, its fence, and the request id.
    pub requests: Vec<(Seq, Fence, Arc<str>)>,
    /// Typing signals: the lane, and the time of the newest signal.
    pub typing: Vec<(QueueId, Lane, Time)>,
    /// Lanes whose typing signal is deleted.
    pub typed: Vec<(QueueId, Lane)>,
    /// Events to announce after the commit.
    pub events: Vec<Event>,
    /// Audit entries.
    pub audit: Vec<Entry>,
}

impl Changes {
    /// Returns whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        *self == Changes::default()
    }

    /// Adds an event about an item. Its resource is `queue number/seq`; the store replaces it by the item's name when
    /// it reads the event.
    fn push_event(&mut self, policy: &Policy, item: &Item, name: EventName, detail: Option<String>, now: Time) {
        self.events.push(Event {
            topic: Topic::for_kind(policy.kind),
            name,
            resource: format!("{}/{}", item.queue.0, item.seq.0).into(),
            key: None,
            queue: None,
            at: now,
            fence: Some(item.fence).filter(|fence| *fence != Fence(0)),
            by: None,
            detail,
            to: Vec::new(),
        });
    }

    fn finish(&mut self, item: &Item, ended: Ended, now: Time) {
        self.remove.push(item.seq);
        self.done.push(Done {
            seq: item.seq,
            queue: item.queue,
            ended,
            at: now,
            attempt: item.attempt,
            fence: item.fence,
            revision: item.handed,
            holder: item.holder.clone(),
            handed_at: item.claimed_at.filter(|_| ended != Ended::Cancelled || item.expires_at.is_some()),
        });
    }
}
