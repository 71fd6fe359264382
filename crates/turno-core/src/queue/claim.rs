//! Hands out due items: decides which caller gets which head, and which items form a group with it.

use super::{Changes, Item, Last, Policy, WorkerName};
use crate::id::{Fence, Lane, Numbers, QueueId, Seq};
use crate::limits::{CLAIM_BYTES_MAX, TOGETHER_ATTEMPTS};
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
    /// The payload bytes that end the claim early. The first item goes out whatever its size, and a lane's group closes
    /// before the item that does not fit.
    pub bytes: usize,
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
    /// The payload bytes of the heads and the items behind them. An item that is missing counts as empty.
    pub bytes: HashMap<Seq, usize>,
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

/// The result of a group of claims.
#[derive(Debug)]
pub struct HandedOut {
    /// The rows to write.
    pub changes: Changes,
    /// The deliveries of each caller.
    pub deliveries: Vec<Vec<Delivery>>,
    /// Due heads were left because of their size. They are still due, so the callers without deliveries claim again.
    pub left: bool,
}

/// Hands the due heads out to the callers, in the order of the callers.
pub fn hand_out(policy: &Policy, wants: &[ClaimRequest], mut read: ClaimRead) -> HandedOut {
    let mut changes = Changes::default();
    let mut callers = Callers::new(wants);
    let mut left = false;
    if wants.iter().any(|want| want.probes) {
        read.heads.sort_by_key(|head| head.claimed_at);
    }
    for head in std::mem::take(&mut read.heads) {
        let front = match head.lane.and_then(|lane| read.fronts.remove(&lane)) {
            Some(front) => front,
            None => vec![head.clone()],
        };
        let typed_at = head.lane.and_then(|lane| read.typing.get(&lane).copied());
        let sizes = Sizes { bytes: &|seq| read.bytes.get(&seq).copied().unwrap_or(0), most: callers.group_bytes() };
        match front_due(policy, &front, sizes, typed_at, read.now) {
            FrontDue::From(later) => {
                changes.update.push(Item { ready_at: Some(later), ..head });
            }
            FrontDue::Now(count) => {
                let group: Vec<Item> = front.into_iter().take(count).collect();
                let size = group.iter().fold(0usize, |sum, item| sum.saturating_add((sizes.bytes)(item.seq)));
                let caller = match callers.recipient(size) {
                    Recipient::At(caller) => caller,
                    Recipient::TooLarge => {
                        left = true;
                        break;
                    }
                    // A probe locks more heads than it takes.
                    Recipient::AllServed => continue,
                };
                let fence = Fence(read.numbers.take());
                // The delivery ends the window, so its typing signal is deleted. A retry has no window: the signal
                // belongs to the fresh items behind it and stays.
                if let (Some(lane), Some(_), true) = (head.lane, typed_at, head.is_fresh()) {
                    changes.typed.push((read.queue, lane));
                }
                let delivery = make_delivery(policy, group, fence, read.now, &wants[caller], &mut changes);
                callers.deliveries[caller].push(delivery);
            }
        }
    }
    HandedOut { changes, deliveries: callers.deliveries, left }
}

/// The callers of a group, who are served one after another.
struct Callers<'a> {
    wants: &'a [ClaimRequest],
    deliveries: Vec<Vec<Delivery>>,
    /// The caller who is served now.
    current: usize,
    /// The payload bytes of the current caller, and of all callers.
    bytes: usize,
    bytes_of_all: usize,
}

/// The caller that gets a delivery.
enum Recipient {
    At(usize),
    /// Every caller has as many deliveries as it wants.
    AllServed,
    /// The delivery fits no caller's answer any more.
    TooLarge,
}

impl<'a> Callers<'a> {
    fn new(wants: &'a [ClaimRequest]) -> Callers<'a> {
        let deliveries = wants.iter().map(|_| Vec::new()).collect();
        Callers { wants, deliveries, current: 0, bytes: 0, bytes_of_all: 0 }
    }

    /// Returns the payload bytes at which the group of a lane closes.
    fn group_bytes(&self) -> usize {
        self.wants.get(self.current).or(self.wants.last()).map_or(usize::MAX, |want| want.bytes)
    }

    /// Chooses the caller for a delivery of this size. The first delivery of a caller always fits the caller's answer.
    /// All answers but the first have a common bound, because they are in memory together.
    fn recipient(&mut self, size: usize) -> Recipient {
        let mut too_large = false;
        while let Some(want) = self.wants.get(self.current) {
            let count = self.deliveries[self.current].len();
            let fits = count == 0 || self.bytes.saturating_add(size) <= want.bytes;
            if fits && count < want.max as usize {
                let of_all = self.bytes_of_all.saturating_add(size);
                if self.current > 0 && of_all > CLAIM_BYTES_MAX {
                    return Recipient::TooLarge;
                }
                (self.bytes, self.bytes_of_all) = (self.bytes.saturating_add(size), of_all);
                return Recipient::At(self.current);
            }
            too_large |= count < want.max as usize;
            (self.current, self.bytes) = (self.current + 1, 0);
        }
        if too_large { Recipient::TooLarge } else { Recipient::AllServed }
    }
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

/// The payload bytes of items, and how many of them one delivery may carry.
#[derive(Clone, Copy)]
pub(super) struct Sizes<'a> {
    pub(super) bytes: &'a dyn Fn(Seq) -> usize,
    pub(super) most: usize,
}

impl Sizes<'_> {
    /// Returns how many of the first items go together by their size: at least one.
    fn fitting<'i>(&self, items: impl Iterator<Item = &'i Item>) -> usize {
        let mut sum = 0usize;
        let fits = |item: &&Item| {
            sum = sum.saturating_add((self.bytes)(item.seq));
            sum <= self.most
        };
        items.take_while(fits).count().max(1)
    }
}

/// Decides how much of a lane's front is due at `now`. The front begins with the head.
pub(super) fn front_due(
    policy: &Policy,
    front: &[Item],
    sizes: Sizes<'_>,
    typed_at: Option<Time>,
    now: Time,
) -> FrontDue {
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
        let together = if head.attempt < most { 1 + behind } else { 1 };
        return FrontDue::Now(sizes.fitting(front[..together].iter()));
    }
    let group = window_group(policy, front, now);
    let fitting = sizes.fitting(group.iter().copied());
    if group.len() >= policy.batch() as usize || fitting < group.len() || policy.window == Span::ZERO {
        return FrontDue::Now(fitting);
    }
    let last = group.iter().map(|item| item.since()).max().unwrap_or(head.since());
    let quiet = (last + policy.window).max(typed_at.map_or(Time(i64::MIN), |at| at + policy.typing_extension));
    let due = quiet.min(head.since() + policy.max_wait);
    if due <= now { FrontDue::Now(group.len()) } else { FrontDue::From(due) }
}

/// Returns the first items of a front that form one group when the window ends, unless their size closes it earlier.
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
