//! Handing out: which of the due heads go to whom, and what goes along with each.

use super::{Changes, Item, Last, Policy, Taker};
use crate::id::{Fence, Lane, Numbers, QueueId, Seq};
use crate::limits::TOGETHER_ATTEMPTS;
use crate::time::{Span, Time};
use std::collections::HashMap;
use std::sync::Arc;

/// One caller who wants work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Want {
    /// Who will work on it.
    pub taker: Taker,
    /// The most deliveries.
    pub max: u32,
    /// The caller's name for this claim: repeating it gets the same deliveries for as long as they live.
    pub request: Option<Arc<str>>,
    /// It asks whether a destination is back: whoever was never tried is asked for first, then who was least recently,
    /// so that those who fail always do not keep the others from showing that it is.
    pub probes: bool,
}

/// What the store read for the callers of one queue: due heads, locked and in order, and what stands behind them.
#[derive(Debug)]
pub struct Wants {
    /// The queue.
    pub queue: QueueId,
    /// The database's clock, read after the heads were locked.
    pub now: Time,
    /// A fresh number for every head.
    pub numbers: Numbers,
    /// Locked heads with a `ready_at` that may have come, oldest first.
    pub heads: Vec<Item>,
    /// For lanes that group: the lane's first `batch` items from its head on, the head included.
    pub fronts: HashMap<Lane, Vec<Item>>,
    /// When somebody last typed in a lane.
    pub typing: HashMap<Lane, Time>,
}

/// What one caller is handed: an item, or a group of one lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The first item; with the lane and the size it names the delivery.
    pub seq: Seq,
    /// The lane; none in an inbox.
    pub lane: Option<Lane>,
    /// Proves the hand-out.
    pub fence: Fence,
    /// The first item's attempt.
    pub attempt: u32,
    /// Over from here on unless settled or renewed.
    pub expires_at: Time,
    /// The change that is handed out, in a sync queue.
    pub revision: i64,
    /// All items in order, with their attempts.
    pub items: Vec<(Seq, u32)>,
}

/// Deals the due heads out to the callers, in the order in which the callers came.
pub fn hand_out(policy: &Policy, wants: &[Want], mut read: Wants) -> (Changes, Vec<Vec<Delivery>>) {
    let mut changes = Changes::default();
    let mut dealt: Vec<Vec<Delivery>> = wants.iter().map(|_| Vec::new()).collect();
    let mut caller = 0;
    if wants.iter().any(|want| want.probes) {
        read.heads.sort_by_key(|head| head.claimed_at);
    }
    for head in std::mem::take(&mut read.heads) {
        while caller < wants.len() && dealt[caller].len() >= wants[caller].max as usize {
            caller += 1;
        }
        let front = match head.lane.and_then(|lane| read.fronts.remove(&lane)) {
            Some(front) => front,
            None => vec![head.clone()],
        };
        let typed_at = head.lane.and_then(|lane| read.typing.get(&lane).copied());
        match ripe(policy, &front, typed_at, read.now) {
            Ripe::From(later) => {
                changes.update.push(Item { ready_at: Some(later), ..head });
            }
            Ripe::Now(count) if caller < wants.len() => {
                let fence = Fence(read.numbers.take());
                let group: Vec<Item> = front.into_iter().take(count).collect();
                // A retry had no window that typing could have kept open: the next message has it still before it.
                if let (Some(lane), Some(_), true) = (head.lane, typed_at, head.is_fresh()) {
                    changes.typed.push((read.queue, lane));
                }
                dealt[caller].push(hand(policy, group, fence, read.now, &wants[caller], &mut changes));
            }
            Ripe::Now(_) => {}
        }
    }
    (changes, dealt)
}

/// The deliveries that a claim with the same request id was handed before, from the items that were handed out to it:
/// those that still live, in the order of their fences. Nothing is handed out anew, and no attempt counted.
pub fn resume(mut items: Vec<Item>, now: Time) -> Vec<Delivery> {
    items.retain(|item| item.expires_at.is_some_and(|at| now < at));
    items.sort_by_key(|item| (item.fence, item.seq));
    let deliveries = items.chunk_by(|a, b| a.fence == b.fence).map(|members| Delivery {
        seq: members[0].seq,
        lane: members[0].lane,
        fence: members[0].fence,
        attempt: members[0].attempt,
        expires_at: members[0].expires_at.unwrap_or(now),
        revision: members[0].handed,
        items: members.iter().map(|item| (item.seq, item.attempt)).collect(),
    });
    deliveries.collect()
}

/// Whether the front of a lane may be handed out, and how much of it.
pub(super) enum Ripe {
    /// The first so many items, now.
    Now(usize),
    /// Nothing before this instant.
    From(Time),
}

pub(super) fn ripe(policy: &Policy, front: &[Item], typed_at: Option<Time>, now: Time) -> Ripe {
    let head = &front[0];
    if now < head.not_before {
        return Ripe::From(head.not_before);
    }
    if !head.is_fresh() {
        // A retry keeps its group, without a window and without newcomers, until isolation splits it.
        // The last attempt is everybody's own, also where there are fewer than isolation usually waits for.
        let most = TOGETHER_ATTEMPTS.min(policy.max_attempts.saturating_sub(1));
        let together = |item: &&Item| !item.parked && item.group == head.group && item.attempt < most;
        let behind = front[1..].iter().take_while(together).count();
        return Ripe::Now(if head.attempt < most { 1 + behind } else { 1 });
    }
    let mates = mates(policy, front, now);
    if mates.len() >= policy.batch() as usize || policy.window == Span::ZERO {
        return Ripe::Now(mates.len());
    }
    let last = mates.iter().map(|item| item.since()).max().unwrap_or(head.since());
    let quiet = (last + policy.window).max(typed_at.map_or(Time(i64::MIN), |at| at + policy.typing_extension));
    let due = quiet.min(head.since() + policy.max_wait);
    if due <= now { Ripe::Now(mates.len()) } else { Ripe::From(due) }
}

/// The first items of a front that would go together in one window.
pub(super) fn mates<'a>(policy: &Policy, front: &'a [Item], now: Time) -> Vec<&'a Item> {
    let fresh = |item: &&Item| item.is_fresh() && item.not_before <= now;
    front.iter().take(policy.batch() as usize).take_while(fresh).collect()
}

fn hand(policy: &Policy, group: Vec<Item>, fence: Fence, now: Time, want: &Want, changes: &mut Changes) -> Delivery {
    let hold = policy.max_hold.map_or(policy.lock_timeout, |hold| hold.min(policy.lock_timeout));
    let expires_at = now + hold;
    let mut items = Vec::with_capacity(group.len());
    let (seq, lane, revision) = (group[0].seq, group[0].lane, group[0].revision);
    let size = u32::try_from(group.len()).unwrap_or(u32::MAX);
    for item in group {
        let handed = Item {
            ready_at: None,
            expires_at: Some(expires_at),
            claimed_at: Some(now),
            attempt: item.attempt + 1,
            fence,
            group: if item.is_fresh() { fence } else { item.group },
            last: Last::None,
            handed: item.revision,
            holder: Some(want.taker.clone()),
            size,
            ..item
        };
        if let Some(request) = &want.request {
            changes.requests.push((handed.seq, fence, request.clone()));
        }
        items.push((handed.seq, handed.attempt));
        changes.update.push(handed);
    }
    Delivery { seq, lane, fence, attempt: items[0].1, expires_at, revision, items }
}
