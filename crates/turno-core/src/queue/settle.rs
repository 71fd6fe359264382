//! Settles deliveries: ack, fail, return, heartbeat, and expiry, which is a settlement by the clock.
//!
//! Every settlement needs the live fence, and a caller who may settle the delivery ([`Settler`]). Otherwise it is stale
//! and changes nothing: no state, no attempt, no error, no lane.

mod park;

use super::trace::NOT_SETTLED;
use super::{AttemptError, Changes, Delivery, Ended, Item, Kind, Last, Policy, Settler, UncountedDelivery};
use crate::event::EventName;
use crate::id::{Fence, ItemId, Lane, QueueId, Seq};
use crate::text::clip_text;
use crate::time::{Span, Time};

/// The name and fence of a delivery. The name contains the first item, the lane and the size, so that the store finds
/// the rows without a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeliveryRef {
    /// The queue.
    pub queue: QueueId,
    /// The first item.
    pub seq: Seq,
    /// The lane. `None` in an inbox.
    pub lane: Option<Lane>,
    /// The number of items.
    pub size: u32,
    /// The fence of the delivery.
    pub fence: Fence,
}

impl DeliveryRef {
    /// Returns the name of a delivery.
    pub fn new(queue: QueueId, delivery: &Delivery) -> DeliveryRef {
        let size = delivery.items.len() as u32;
        DeliveryRef { queue, seq: delivery.seq, lane: delivery.lane, size, fence: delivery.fence }
    }
}

/// A command to settle one delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settle {
    /// The delivery.
    pub reference: DeliveryRef,
    /// The queue's policy.
    pub policy: Policy,
    /// How to settle it.
    pub act: Act,
    /// The caller.
    pub by: Settler,
}

/// The ways to settle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// The items are processed.
    Ack {
        /// The last processed item. The items after it are returned untried. `None` acks all items.
        through: Option<ItemId>,
    },
    /// The items need no processing: they finish as processed, and nothing was sent.
    Skip,
    /// The delivery failed.
    Fail {
        /// The error.
        error: String,
        /// The item that failed. The items before it are processed, the items after it are returned untried. `None`
        /// fails all items.
        item: Option<ItemId>,
        /// The back-off to use instead of the policy's.
        retry_in: Option<Span>,
        /// Exhaust the items now instead of retrying them.
        give_up: bool,
    },
    /// The items are returned untried. The attempt does not count.
    Return {
        /// The reason, shown with the item.
        error: Option<String>,
    },
    /// The items could not be tried, and their receiver is not the cause. The attempt does not count, and they wait.
    Defer {
        /// The reason. `None` if it was already reported.
        error: Option<String>,
        /// How long the items wait.
        retry_in: Span,
    },
    /// The destination refused an exhausted item that was used as a probe. The item is exhausted again, and the probe
    /// does not count as an attempt.
    Park {
        /// The error.
        error: Option<String>,
    },
    /// A heartbeat: the worker still works on the delivery.
    Beat,
    /// The delivery has expired. The sweep sends this; the expiry is checked again here, under the lock.
    Expire,
    /// An application acked the delivery in its own transaction, which has committed.
    ///
    /// That transaction saw the delivery live and kept it from being taken back until its commit. So only the fence is
    /// checked here, not the expiry.
    Complete,
}

/// The rows of a delivery, as the store read them under its locks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The items in order. Empty if the first one is not handed out under this fence.
    pub members: Vec<Member>,
    /// The first item of the lane that is not in the delivery.
    pub next: Option<Item>,
}

/// One item of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The item.
    pub item: Item,
    /// The item's id. The store reads it only if the settlement names an item.
    pub id: Option<ItemId>,
}

/// The result of a settlement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettleOutcome {
    /// The items are processed.
    Acked,
    /// The items will be retried.
    Retrying {
        /// When the next attempt may start.
        retry_at: Time,
    },
    /// The items have no attempts left.
    Exhausted,
    /// A newer change arrived during the delivery, so the key is queued again.
    Superseded,
    /// The items are returned. The attempt does not count.
    Returned,
    /// The delivery stays live.
    Renewed {
        /// The expiry of the delivery.
        expires_at: Time,
        /// The setting that prevents any extension. `expires_at` is then unchanged, and no later heartbeat moves it.
        limited_by: Option<LimitedBy>,
    },
    /// The delivery had expired and was taken back.
    Expired,
    /// The fence is not the live one, or the delivery has expired. Nothing changed.
    Stale,
    /// The named item is not in this delivery. Nothing changed.
    NotInDelivery,
}

/// The setting that prevents a heartbeat from extending a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LimitedBy {
    /// The policy's `max_hold`: a delivery ends at most this long after its hand-out.
    MaxHold,
}

impl LimitedBy {
    /// Returns the name that callers see.
    pub fn name(self) -> &'static str {
        match self {
            LimitedBy::MaxHold => "max_hold",
        }
    }
}

/// Decides one settlement. Removes the members from `loaded` unless the delivery stays live.
pub fn settle(command: &Settle, loaded: &mut Loaded, now: Time, changes: &mut Changes) -> SettleOutcome {
    let Some(first) = loaded.members.first().map(|member| &member.item) else {
        return SettleOutcome::Stale;
    };
    let Some(expires_at) = first.expires_at.filter(|_| first.fence == command.reference.fence) else {
        return SettleOutcome::Stale;
    };
    if !matches_name(&command.reference, &loaded.members) || !command.by.may(&command.act, first.holder.as_ref()) {
        return SettleOutcome::Stale;
    }
    // `Expire` needs an expired delivery, every other act a live one. `Complete` was live in its own transaction.
    if (expires_at <= now) != matches!(command.act, Act::Expire) && command.act != Act::Complete {
        return SettleOutcome::Stale;
    }
    let policy = &command.policy;
    if let Act::Beat = command.act {
        return beat(policy, loaded, now, changes);
    }
    let split = match &command.act {
        Act::Ack { through: Some(id) } | Act::Fail { item: Some(id), .. } => {
            match loaded.members.iter().position(|member| member.id.as_ref() == Some(id)) {
                Some(index) => Some(index),
                None => return SettleOutcome::NotInDelivery,
            }
        }
        _ => None,
    };
    let members = std::mem::take(&mut loaded.members).into_iter().map(|member| member.item).collect();
    // An expired delivery ended at its expiry, even if the sweep comes later.
    let ended = if command.act == Act::Expire { expires_at } else { now };
    let mut settlement = Settlement { policy, now: ended, changes, left: Vec::new() };
    let outcome = match &command.act {
        Act::Ack { .. } | Act::Complete => settlement.ack(members, split, &EventName::ItemDelivered),
        Act::Skip => settlement.ack(members, None, &EventName::ItemSkipped),
        Act::Fail { error, retry_in, give_up, .. } => settlement.fail(members, split, error, *retry_in, *give_up),
        Act::Return { error } => settlement.give_back(members, error.as_deref()),
        Act::Park { error } => settlement.park(members, error.as_deref()),
        Act::Defer { error, retry_in } => settlement.defer(members, error.as_deref(), *retry_in),
        Act::Expire | Act::Beat => settlement.expire(members),
    };
    let left = settlement.left;
    promote(policy, left, loaded.next.take(), now, changes);
    outcome
}

/// Decides the expiry of a single item of a delivery. Returns the changes, and the item if it stays unfinished.
pub(super) fn expire_alone(policy: &Policy, item: Item, now: Time) -> (Changes, Option<Item>) {
    let mut changes = Changes::default();
    let ended = item.expires_at.unwrap_or(now).min(now);
    let mut settlement = Settlement { policy, now: ended, changes: &mut changes, left: Vec::new() };
    settlement.expire(vec![item]);
    let left = settlement.left.pop();
    (changes, left)
}

/// Returns whether the items under the fence are exactly the named delivery. Callers hold the name and could alter it:
/// another first item finds too few members, and another size contradicts the stored one.
fn matches_name(reference: &DeliveryRef, members: &[Member]) -> bool {
    let matches = |member: &Member| {
        let item = &member.item;
        item.size == reference.size
            && (item.queue, item.lane, item.fence) == (reference.queue, reference.lane, reference.fence)
    };
    members.len() == reference.size as usize && members[0].item.seq == reference.seq && members.iter().all(matches)
}

fn beat(policy: &Policy, loaded: &mut Loaded, now: Time, changes: &mut Changes) -> SettleOutcome {
    let first = &loaded.members[0].item;
    let wanted = now + policy.lock_timeout;
    let latest = policy.max_hold.map(|hold| first.claimed_at.unwrap_or(now) + hold);
    let allowed = latest.map_or(wanted, |latest| wanted.min(latest));
    let stored = first.expires_at.unwrap_or(now);
    // As for leases, a heartbeat that would extend the expiry by very little is answered without a write.
    let quiet = Span((policy.lock_timeout.0 / 20).min(1_000));
    if allowed - stored < quiet {
        // The expiry has reached `max_hold`, so no later heartbeat can extend it either.
        let limited_by = latest.filter(|latest| *latest - stored < quiet).map(|_| LimitedBy::MaxHold);
        return SettleOutcome::Renewed { expires_at: stored, limited_by };
    }
    for member in &mut loaded.members {
        member.item.expires_at = Some(allowed);
        changes.update.push(member.item.clone());
    }
    SettleOutcome::Renewed { expires_at: allowed, limited_by: None }
}

/// Applies one settlement to the items of a delivery.
struct Settlement<'a> {
    policy: &'a Policy,
    now: Time,
    changes: &'a mut Changes,
    /// Items that stay unfinished, in order.
    left: Vec<Item>,
}

impl Settlement<'_> {
    fn ack(&mut self, members: Vec<Item>, through: Option<usize>, event: &EventName) -> SettleOutcome {
        let mut outcome = SettleOutcome::Acked;
        for (index, item) in members.into_iter().enumerate() {
            if through.is_some_and(|through| index > through) {
                self.return_untried(item, None);
            } else if item.revision > item.handed {
                self.supersede(item, Last::Superseded, None);
                outcome = SettleOutcome::Superseded;
            } else {
                self.changes.finish(&item, Ended::Processed, self.now);
                if self.policy.kind == Kind::Sync {
                    self.changes.push_event(self.policy, &item, event.clone(), None, self.now);
                }
            }
        }
        self.make_untried_fresh();
        outcome
    }

    /// Makes items fresh again if all of them come back untried from their first delivery. Items that have arrived
    /// since can then join their group. A group with a failed item stays as it was.
    fn make_untried_fresh(&mut self) {
        let untried = |item: &Item| item.last == Last::Returned && item.group == item.fence;
        if self.policy.kind == Kind::Lane && self.left.iter().all(untried) {
            self.left.iter_mut().for_each(|item| item.group = Fence(0));
        }
    }

    fn fail(
        &mut self,
        members: Vec<Item>,
        at: Option<usize>,
        error: &str,
        retry_in: Option<Span>,
        give_up: bool,
    ) -> SettleOutcome {
        // The first failed item decides the outcome, because a repeated call is answered from its record.
        let mut outcome = None;
        for (index, item) in members.into_iter().enumerate() {
            match at {
                Some(at) if index < at => self.changes.finish(&item, Ended::Processed, self.now),
                Some(at) if index > at => self.return_untried(item, None),
                _ if item.revision > item.handed => {
                    self.supersede(item, Last::Superseded, Some(error));
                    outcome.get_or_insert(SettleOutcome::Superseded);
                }
                _ => {
                    let failed = self.attempt_failed(item, error, retry_in, give_up, Last::Failed);
                    outcome.get_or_insert(failed);
                }
            }
        }
        outcome.unwrap_or(SettleOutcome::Stale)
    }

    fn give_back(&mut self, members: Vec<Item>, error: Option<&str>) -> SettleOutcome {
        for item in members {
            self.return_untried(item, error);
        }
        self.make_untried_fresh();
        SettleOutcome::Returned
    }

    /// Makes the items wait as after a failure, without counting the attempt.
    fn defer(&mut self, members: Vec<Item>, error: Option<&str>, wait: Span) -> SettleOutcome {
        let retry_at = self.now + wait;
        let mut outcome = SettleOutcome::Retrying { retry_at };
        for mut item in members {
            if item.revision > item.handed {
                self.supersede(item, Last::Superseded, error);
                outcome = SettleOutcome::Superseded;
                continue;
            }
            item.attempt = item.attempt.saturating_sub(1);
            if let Some(error) = error {
                let error = clip_text(error);
                // No attempt was made, so the error is stored under attempt 0 and not under the previous attempt.
                self.record_error(&item, 0, error.clone(), Some(retry_at), false);
                self.changes.push_event(self.policy, &item, EventName::ItemFailed, Some(error), self.now);
            }
            item.put_back(Last::Failed);
            item.not_before = retry_at;
            self.left.push(item);
        }
        outcome
    }

    /// Counts the expired delivery as an attempt and makes its items available at once, without a back-off.
    fn expire(&mut self, members: Vec<Item>) -> SettleOutcome {
        for item in members {
            if item.revision > item.handed {
                self.supersede(item, Last::Expired, Some(NOT_SETTLED));
            } else {
                self.attempt_failed(item, NOT_SETTLED, Some(Span::ZERO), false, Last::Expired);
            }
        }
        SettleOutcome::Expired
    }

    /// Puts the item back in its place and takes the attempt back. If a newer change has arrived, the attempt is
    /// already 0.
    fn return_untried(&mut self, mut item: Item, error: Option<&str>) {
        item.attempt = item.attempt.saturating_sub(1);
        self.record_uncounted(&item, Last::Returned, error);
        item.put_back(Last::Returned);
        // The item may run now, even if its own back-off was a little longer than that of its group's head. An earlier
        // `not_before` stays, because the window counts from the item's arrival.
        item.not_before = item.not_before.min(self.now);
        self.left.push(item);
    }

    /// Queues the item again, because a newer change arrived during the delivery. The error of the old attempt is
    /// stored for display only.
    fn supersede(&mut self, mut item: Item, last: Last, error: Option<&str>) {
        item.attempt = 0;
        self.record_uncounted(&item, last, error);
        item.put_back(last);
        // During a delivery `not_before` holds the time of the newest change, which may be later than the expiry.
        item.not_before = item.not_before.max(self.now);
        self.left.push(item);
    }

    fn attempt_failed(
        &mut self,
        mut item: Item,
        error: &str,
        retry_in: Option<Span>,
        give_up: bool,
        last: Last,
    ) -> SettleOutcome {
        let error = clip_text(error);
        let exhausted = give_up || item.attempt >= self.policy.max_attempts;
        let wait = retry_in.unwrap_or_else(|| self.policy.backoff_after(item.seq, item.attempt));
        let retry_at = (!exhausted).then_some(self.now + wait);
        self.record_error(&item, item.attempt, error.clone(), retry_at, last == Last::Expired);
        let name = if exhausted { EventName::ItemExhausted } else { EventName::ItemFailed };
        self.changes.push_event(self.policy, &item, name, Some(error), self.now);
        item.put_back(last);
        if !exhausted {
            item.not_before = self.now + wait;
            let retry_at = item.not_before;
            self.left.push(item);
            return SettleOutcome::Retrying { retry_at };
        }
        if self.policy.holds_exhausted() {
            item.parked = true;
            self.left.push(item);
        } else {
            self.changes.finish(&item, Ended::Exhausted, self.now);
        }
        SettleOutcome::Exhausted
    }

    /// Records a delivery that does not count as an attempt.
    fn record_uncounted(&mut self, item: &Item, how: Last, error: Option<&str>) {
        self.changes.came_back.push(UncountedDelivery {
            seq: item.seq,
            fence: item.fence,
            how,
            at: self.now,
            holder: item.holder.clone(),
            handed_at: item.claimed_at,
            error: error.map(clip_text),
        });
    }

    /// Records an error under an attempt.
    fn record_error(&mut self, item: &Item, attempt: u32, error: String, retry_at: Option<Time>, expired: bool) {
        self.changes.errors.push(AttemptError {
            seq: item.seq,
            attempt,
            fence: item.fence,
            at: self.now,
            error,
            retry_at,
            holder: item.holder.clone(),
            handed_at: item.claimed_at,
            expired,
        });
    }
}

/// Makes the first item of the lane its head, and writes the items that stay.
///
/// In a lane, a parked item at the front blocks everything behind it ([`OnExhausted::Hold`](super::OnExhausted::Hold)).
/// In a sync queue a parked item blocks nothing, because it concerns only its own key.
pub(super) fn promote(policy: &Policy, left: Vec<Item>, next: Option<Item>, now: Time, changes: &mut Changes) {
    let next_seq = next.as_ref().map(|item| item.seq);
    let next_was_ready = next.as_ref().and_then(|item| item.ready_at);
    let mut waiting: Vec<Item> = left.into_iter().chain(next).collect();
    waiting.sort_by_key(|item| item.seq);
    let head = waiting.iter().position(|item| !(item.parked && policy.kind == Kind::Sync));
    for (index, mut item) in waiting.into_iter().enumerate() {
        let heads = Some(index) == head && !item.parked;
        // The next claim looks at the head at once: its window may be over or its batch full, and only a claim reads
        // the whole front.
        item.ready_at = heads.then(|| now.max(item.not_before));
        let untouched = Some(item.seq) == next_seq && item.ready_at == next_was_ready;
        if !untouched {
            changes.update.push(item);
        }
    }
}
