//! Hands out due items: decides which caller gets which head, and which items form a group with it.

use super::{Changes, Item, Last, Policy, WorkerName};
use crate::id::{Fence, Lane, Numbers, QueueId, Seq};
use crate::limits::TOGETHER_ATTEMPTS;
use crate::time::{Span, Time};
use std::collections::HashMap;
use std::sync::Arc;

/// One claim of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRequest {
    /// The worker.
    pub taker: WorkerName,
    /// The most deliveries that the caller takes.
    pub max: u32,
    /// The caller's id for this claim. A repeat with the same id returns the same deliveries while they are live.
    pub request: Option<Arc<str>>,
    /// The claim probes whether a destination works again. It prefers heads that were never handed out, then those
    /// handed out longest ago, because a key that always fails would otherwise hide that the destination works again.
    pub probes: bool,
}

/// The rows that the store read for the claims of one queue: locked due heads, and the items behind them.
#[derive(Debug)]
pub struct ClaimRead {
    /// The queue.
    pub queue: QueueId,
    /// The database's clock, read after the heads were locked.
    pub now: Time,
    /// A fresh number for every head.
    pub numbers: Numbers,
    /// Locked heads whose `ready_at` has come, oldest first.
    pub heads: Vec<Item>,
    /// For lanes that form groups: the first `batch` items of the lane, beginning with its head.
    pub fronts: HashMap<Lane, Vec<Item>>,
    /// The last typing signal of each lane.
    pub typing: HashMap<Lane, Time>,
}

/// A hand-out to one caller: one item, or a group of one lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The first item. With the lane and the size, it names the delivery.
    pub seq: Seq,
    /// The lane. `None` in an inbox.
    pub lane: Option<Lane>,
    /// The number that a settlement must present.
    pub fence: Fence,
    /// The attempt of the first item.
    pub attempt: u32,
    /// When the delivery expires, unless it is settled or renewed before.
    pub expires_at: Time,
    /// The change that is handed out, in a sync queue.
    pub revision: i64,
    /// All items in order, with their attempts.
    pub items: Vec<(Seq, u32)>,
}

/// Hands the due heads out to the callers, in the order of the callers. Returns the deliveries of each caller.
pub fn hand_out(policy: &Policy, wants: &[ClaimRequest], mut read: ClaimRead) -> (Changes, Vec<Vec<Delivery>>) {
    let mut changes = Changes::default();
    let mut deliveries: Vec<Vec<Delivery>> = wants.iter().map(|_| Vec::new()).collect();
    let mut caller = 0;
    if wants.iter().any(|want| want.probes) {
        read.heads.sort_by_key(|head| head.claimed_at);
    }
    for head in std::mem::take(&mut read.heads) {
        while caller < wants.len() && deliveries[caller].len() >= wants[caller].max as usize {
            caller += 1;
        }
        let front = match head.lane.and_then(|lane| read.fronts.remove(&lane)) {
            Some(front) => front,
            None => vec![head.clone()],
        };
        let typed_at = head.lane.and_then(|lane| read.typing.get(&lane).copied());
        match front_due(policy, &front, typed_at, read.now) {
            FrontDue::From(later) => {
                changes.update.push(Item { ready_at: Some(later), ..head });
            }
            FrontDue::Now(count) if caller < wants.len() => {
                let fence = Fence(read.numbers.take());
                let group: Vec<Item> = front.into_iter().take(count).collect();
                // The delivery ends the window, so its typing signal is deleted. A retry has no window: the signal
                // belongs to the fresh items behind it and stays.
                if let (Some(lane), Some(_), true) = (head.lane, typed_at, head.is_fresh()) {
                    changes.typed.push((read.queue, lane));
                }
                deliveries[caller].push(make_delivery(policy, group, fence, read.now, &wants[caller], &mut changes));
            }
            FrontDue::Now(_) => {}
        }
    }
    (changes, deliveries)
}

/// Returns the live deliveries of an earlier claim with the same request id, in the order of their fences. `items` are
/// the items that were handed out to that claim. Hands out nothing new and counts no attempt.
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

/// How much of a lane's front is due.
pub(super) enum FrontDue {
    /// This many of the first items are due now, as one delivery.
    Now(usize),
    /// No item is due before this instant.
    From(Time),
}

/// Decides how much of a lane's front is due at `now`. The front begins with the head.
pub(super) fn front_due(policy: &Policy, front: &[Item], typed_at: Option<Time>, now: Time) -> FrontDue {
    let head = &front[0];
    if now < head.not_before {
        return FrontDue::From(head.not_before);
    }
    if !head.is_fresh() {
        // A retry keeps its group: there is no window, and newer items do not join. After `TOGETHER_ATTEMPTS` attempts
        // the items go one by one. Their last attempt is always alone, even if the policy allows fewer attempts.
        let most = TOGETHER_ATTEMPTS.min(policy.max_attempts.saturating_sub(1));
        let together = |item: &&Item| !item.parked && item.group == head.group && item.attempt < most;
        let behind = front[1..].iter().take_while(together).count();
        return FrontDue::Now(if head.attempt < most { 1 + behind } else { 1 });
    }
    let group = window_group(policy, front, now);
    if group.len() >= policy.batch() as usize || policy.window == Span::ZERO {
        return FrontDue::Now(group.len());
    }
    let last = group.iter().map(|item| item.since()).max().unwrap_or(head.since());
    let quiet = (last + policy.window).max(typed_at.map_or(Time(i64::MIN), |at| at + policy.typing_extension));
    let due = quiet.min(head.since() + policy.max_wait);
    if due <= now { FrontDue::Now(group.len()) } else { FrontDue::From(due) }
}

/// Returns the first items of a front that form one group when the window ends.
pub(super) fn window_group<'a>(policy: &Policy, front: &'a [Item], now: Time) -> Vec<&'a Item> {
    let fresh = |item: &&Item| item.is_fresh() && item.not_before <= now;
    front.iter().take(policy.batch() as usize).take_while(fresh).collect()
}

fn make_delivery(
    policy: &Policy,
    group: Vec<Item>,
    fence: Fence,
    now: Time,
    want: &ClaimRequest,
    changes: &mut Changes,
) -> Delivery {
    let hold = policy.max_hold.map_or(policy.lock_timeout, |hold| hold.min(policy.lock_timeout));
    let expires_at = now + hold;
    let mut items = Vec::with_capacity(group.len());
    let (seq, lane, revision) = (group[0].seq, group[0].lane, group[0].revision);
    let size = u32::try_from(group.len()).unwrap_or(u32::MAX);
    for item in group {
        let handed_out = Item {
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
            changes.requests.push((handed_out.seq, fence, request.clone()));
        }
        items.push((handed_out.seq, handed_out.attempt));
        changes.update.push(handed_out);
    }
    Delivery { seq, lane, fence, attempt: items[0].1, expires_at, revision, items }
}
