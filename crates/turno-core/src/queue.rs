//! Queues: items that must each be processed once.
//!
//! One life for every item: admitted, due, handed out (with a fence and an expiry), settled. *Lane*, *inbox*
//! and *sync* are three policies of it. Every item lives in the lane of its key; in an inbox each item is a
//! lane of its own, and in a sync queue the newest item of a key replaces the older one.
//!
//! An item is in exactly one of these conditions:
//!
//! | condition | `ready_at` | `expires_at` | `parked` |
//! |---|---|---|---|
//! | may run from `ready_at` on: the head of its lane | set | – | no |
//! | waits behind the head | – | – | no |
//! | handed out under `fence` | – | set | no |
//! | exhausted, and staying until a person or a newer change decides | – | – | yes |
//!
//! Finished items leave for the history. Choosing which due heads to look at, and finding rows by fence, is
//! the store's part; everything else is decided here, for a whole group of callers at once.
//!
//! A lane's `ready_at` may be earlier than its window's end, never later: arrivals do not rewrite the head,
//! the claim looks at the whole front and puts the head back if its window is still open.

mod claim;
mod enqueue;
mod known;
mod lapse;
mod latency;
mod manage;
mod policy;
mod repair;
mod settle;
mod state;
mod taker;
#[cfg(test)]
mod tests;
mod token;
mod trace;
mod why;

pub use claim::{Delivery, Want, Wants, hand_out, resume};
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
pub use settle::{Act, Handed, LimitedBy, Loaded, Member, Settle, SettleOutcome, settle};
pub use state::ItemState;
pub use taker::Taker;
pub use token::BadDelivery;
pub use trace::{FailedAttempt, Trace};
pub use why::{Why, WhyRead, WhyReason, why_alone, why_done, why_item, why_key};

use crate::audit::Entry;
use crate::event::{Event, Topic};
use crate::id::{Fence, ItemId, Key, Lane, QueueId, Seq};
use crate::time::Time;
use std::sync::Arc;

/// How an item's last hand-out ended, if it did not finish it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Last {
    /// It was never handed out, or is handed out now.
    #[default]
    None,
    /// The worker reported a failure.
    Failed,
    /// The worker gave it back unprocessed.
    Returned,
    /// The worker did not settle in time.
    Expired,
    /// It changed while being processed and was queued again.
    Superseded,
}

/// An unfinished item: the thin row that is claimed and settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its place in the order of arrival.
    pub seq: Seq,
    /// Its queue.
    pub queue: QueueId,
    /// Its lane; none in an inbox.
    pub lane: Option<Lane>,
    /// When it arrived: accepted, or left by an application to be accepted. Nothing is decided by it but its age.
    pub enqueued_at: Time,
    /// Not to be handed out earlier: a delay or a back-off.
    pub not_before: Time,
    /// It heads its lane and may run from here on.
    pub ready_at: Option<Time>,
    /// It is handed out until here.
    pub expires_at: Option<Time>,
    /// When it was last handed out.
    pub claimed_at: Option<Time>,
    /// Hand-outs so far that count.
    pub attempt: u32,
    /// The fence of its last hand-out; 0 if there was none.
    pub fence: Fence,
    /// The fence under which its group was first handed out: they stay together and nobody joins. 0 if fresh, or given
    /// back untried.
    pub group: Fence,
    /// How the last hand-out ended.
    pub last: Last,
    /// The newest change, in a sync queue.
    pub revision: i64,
    /// The change that was handed out last.
    pub handed: i64,
    /// Exhausted, and staying.
    pub parked: bool,
    /// To whom it was last handed.
    pub holder: Option<Taker>,
    /// How many items its last hand-out had: with the fence, what a delivery that comes back is compared with.
    pub size: u32,
}

impl Item {
    /// Never handed out, or given back untried: others may join it.
    pub fn is_fresh(&self) -> bool {
        self.group == Fence(0)
    }

    /// From when on its age counts for the window.
    fn since(&self) -> Time {
        self.enqueued_at.max(self.not_before)
    }

    /// The earliest instant at which, as the head of its lane, it is worth looking at.
    fn first_look(&self, policy: &Policy, now: Time) -> Time {
        if self.is_fresh() && policy.batch() > 1 {
            now.max(self.since() + policy.window.min(policy.max_wait))
        } else {
            now.max(self.not_before)
        }
    }

    /// Puts it back to waiting, not at the head.
    fn put_back(&mut self, last: Last) {
        self.expires_at = None;
        self.ready_at = None;
        self.last = last;
    }
}

/// What an item carries: written once with it, replaced only by coalescing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// The item.
    pub seq: Seq,
    /// Its queue.
    pub queue: QueueId,
    /// Its id, unique in the queue within the retention.
    pub id: ItemId,
    /// Its key.
    pub key: Option<Key>,
    /// What to do, for receivers that tell actions apart.
    pub action: Option<String>,
    /// JSON exactly as it came; never parsed by the engine.
    pub payload: Arc<str>,
    /// When it arrived, as its item says.
    pub enqueued_at: Time,
}

/// The id of a change that an unfinished item took in: all that is left of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absorbed {
    /// The queue.
    pub queue: QueueId,
    /// The id, which is not accepted again within the retention.
    pub id: ItemId,
    /// What was accepted under it.
    pub digest: Digest,
    /// When.
    pub at: Time,
}

/// How an item finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ended {
    /// Acked.
    Processed,
    /// No attempts left, or failed for good.
    Exhausted,
    /// A person took it out.
    Cancelled,
}

/// The last line of an item's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The item.
    pub seq: Seq,
    /// Its queue.
    pub queue: QueueId,
    /// How.
    pub ended: Ended,
    /// When.
    pub at: Time,
    /// With how many attempts.
    pub attempt: u32,
    /// Under which fence; 0 if it was never handed out.
    pub fence: Fence,
    /// The revision that was handed out last.
    pub revision: i64,
    /// Who had it.
    pub holder: Option<Taker>,
    /// When it was last handed out; not known of what finished before that was kept. Of what was cancelled, only if it was
    /// in process then: the attempt that the cancelling ended.
    pub handed_at: Option<Time>,
}

/// One failed attempt, or what kept one from being made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptError {
    /// The item.
    pub seq: Seq,
    /// Which attempt failed; 0 if it could not even be made.
    pub attempt: u32,
    /// Under which fence.
    pub fence: Fence,
    /// When.
    pub at: Time,
    /// What the worker said, or that it did not answer in time.
    pub error: String,
    /// When it was to be tried again; never, if it was exhausted.
    pub retry_at: Option<Time>,
    /// Who had it.
    pub holder: Option<Taker>,
    /// When it was handed out; not known of what failed before that was kept.
    pub handed_at: Option<Time>,
    /// The claim expired: no worker reported this error.
    pub expired: bool,
}

/// A hand-out that ended without counting as an attempt: the item was given back, or a newer change overtook it. Whoever
/// repeats such a settlement is answered from here, also when others have had the item since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CameBack {
    /// The item.
    pub seq: Seq,
    /// Under which fence.
    pub fence: Fence,
    /// How: returned, superseded, or expired when it had been overtaken.
    pub how: Last,
    /// When.
    pub at: Time,
    /// Who had it.
    pub holder: Option<Taker>,
    /// When it was handed out.
    pub handed_at: Option<Time>,
    /// What the worker said: why it could not be tried, or how it failed with what was overtaken; or that nobody settled it.
    pub error: Option<String>,
}

impl CameBack {
    /// So many of an item are kept, the newest: a worker that cannot do its work now gives it back again and again.
    pub const KEPT: usize = 20;
}

/// Everything a group of queue commands writes, in one transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// New bodies, each with an item in `insert`.
    pub bodies: Vec<Body>,
    /// Bodies whose action and payload a newer change replaced.
    pub replaced: Vec<Body>,
    /// Ids of changes that left nothing else behind.
    pub absorbed: Vec<Absorbed>,
    /// New unfinished items.
    pub insert: Vec<Item>,
    /// Unfinished items in their new condition.
    pub update: Vec<Item>,
    /// Items that leave the unfinished ones.
    pub remove: Vec<Seq>,
    /// Finished items.
    pub done: Vec<Done>,
    /// Finished items that come back.
    pub undone: Vec<Seq>,
    /// Failed attempts.
    pub errors: Vec<AttemptError>,
    /// Hand-outs that ended without counting.
    pub came_back: Vec<CameBack>,
    /// Items that were handed out to a claim with a request id: the item, its fence, and the id.
    pub requests: Vec<(Seq, Fence, Arc<str>)>,
    /// Somebody types in this lane, as of then.
    pub typing: Vec<(QueueId, Lane, Time)>,
    /// Lanes whose typing is over.
    pub typed: Vec<(QueueId, Lane)>,
    /// What to announce after the commit.
    pub events: Vec<Event>,
    /// For the audit.
    pub audit: Vec<Entry>,
}

impl Changes {
    /// Nothing to write.
    pub fn is_empty(&self) -> bool {
        *self == Changes::default()
    }

    /// Announces what happened to an item. Its name is put in place of its numbers when the event is read back.
    fn tell(&mut self, policy: &Policy, item: &Item, name: &'static str, detail: Option<String>, now: Time) {
        self.events.push(Event {
            topic: Topic::of(policy.kind),
            name: name.into(),
            resource: format!("{}/{}", item.queue.0, item.seq.0).into(),
            key: None,
            at: now,
            fence: Some(item.fence).filter(|fence| *fence != Fence(0)),
            by: None,
            detail,
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
