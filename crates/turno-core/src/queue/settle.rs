//! Settling what was handed out: ack, fail, return, beat, and expiry, which is a settlement by the clock.
//!
//! All of them need the live fence. A settlement under any other changes nothing: not the state, not the
//! attempts, not the errors, not the lane.

mod park;

use super::trace::NOT_SETTLED;
use super::{AttemptError, CameBack, Changes, Delivery, Ended, Item, Kind, Last, Policy};
use crate::id::{Fence, ItemId, Lane, QueueId, Seq};
use crate::text::kept;
use crate::time::{Span, Time};

/// Names a delivery: its first item, its lane and its size, so that the store finds it without searching.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handed {
    /// The queue.
    pub queue: QueueId,
    /// The first item.
    pub seq: Seq,
    /// The lane; none in an inbox.
    pub lane: Option<Lane>,
    /// How many items.
    pub size: u32,
    /// The fence of the hand-out.
    pub fence: Fence,
}

impl Handed {
    /// The name of a delivery that was just handed out.
    pub fn of(queue: QueueId, delivery: &Delivery) -> Handed {
        let size = delivery.items.len() as u32;
        Handed { queue, seq: delivery.seq, lane: delivery.lane, size, fence: delivery.fence }
    }
}

/// One settlement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settle {
    /// Which delivery.
    pub handed: Handed,
    /// The queue's policy.
    pub policy: Policy,
    /// How.
    pub act: Act,
}

/// The ways to settle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Done; with `through`, only up to and including that item, and the rest goes back unattempted.
    Ack {
        /// The last item that is done.
        through: Option<ItemId>,
    },
    /// There is nothing to do for it any more: finished, and nobody was told anything.
    Skip,
    /// Failed; with `item`, what stands before it is done and what stands behind it goes back unattempted.
    Fail {
        /// What went wrong.
        error: String,
        /// The item that failed.
        item: Option<ItemId>,
        /// Another back-off than the policy's.
        retry_in: Option<Span>,
        /// Do not try again.
        give_up: bool,
    },
    /// Given back unprocessed: the attempt does not count.
    Return {
        /// What stood in the way, for whoever looks at the item.
        error: Option<String>,
    },
    /// It could not even be tried, by nobody's failure who was to take it: the attempt does not count, and it waits.
    Defer {
        /// What stood in the way, unless it was told before.
        error: Option<String>,
        /// How long it waits.
        retry_in: Span,
    },
    /// The destination did not take the exhausted item that it was probed with: exhausted as before, with no attempt more.
    Park {
        /// What went wrong.
        error: Option<String>,
    },
    /// Still working on it.
    Beat,
    /// The sweeper saw it expire; decided anew here.
    Expire,
    /// Done, in a transaction of the application's own that is committed by now.
    ///
    /// That transaction saw the delivery live, and kept it from being taken back until its commit; so the time is not
    /// looked at again, only the fence.
    Complete,
}

/// A delivery as the store found it under its locks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Its items in order; empty if the first one is not handed out under this fence.
    pub members: Vec<Member>,
    /// The first item of the lane that is not a member.
    pub next: Option<Item>,
}

/// One item of a delivery, named where the settlement names items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The item.
    pub item: Item,
    /// Its id, read only if the settlement needs it.
    pub id: Option<ItemId>,
}

/// What became of the delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettleOutcome {
    /// Done.
    Acked,
    /// It will be tried again.
    Retrying {
        /// When.
        retry_at: Time,
    },
    /// No attempts left.
    Exhausted,
    /// It changed meanwhile and is queued again.
    Superseded,
    /// Given back; the attempt does not count.
    Returned,
    /// It lives on.
    Renewed {
        /// Until when.
        expires_at: Time,
        /// What kept the heartbeat from extending it: `expires_at` is then the stored one, and no later heartbeat
        /// moves it either.
        limited_by: Option<LimitedBy>,
    },
    /// The claim had expired and was taken back.
    Expired,
    /// The fence is not the live one, or its time is over: nothing has changed.
    Stale,
    /// The named item is not in this delivery: nothing has changed.
    NotInDelivery,
}

/// Which setting keeps a heartbeat from extending a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LimitedBy {
    /// The policy's `max_hold`: a delivery ends so long after its hand-out, whatever the heartbeats.
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

/// Decides one settlement on the delivery that was loaded for it, and empties it if it is over.
pub fn settle(command: &Settle, loaded: &mut Loaded, now: Time, changes: &mut Changes) -> SettleOutcome {
    let Some(first) = loaded.members.first().map(|member| &member.item) else {
        return SettleOutcome::Stale;
    };
    let Some(expires_at) = first.expires_at.filter(|_| first.fence == command.handed.fence) else {
        return SettleOutcome::Stale;
    };
    if !is_whole(&command.handed, &loaded.members) {
        return SettleOutcome::Stale;
    }
    // Expiry settles what is over, everybody else what still lives; what was completed lived then.
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
    // What nobody settled ended when its time was over, whenever that is noticed.
    let ended = if command.act == Act::Expire { expires_at } else { now };
    let mut work = Work { policy, now: ended, changes, left: Vec::new() };
    let outcome = match &command.act {
        Act::Ack { .. } | Act::Complete => work.ack(members, split, "item.delivered"),
        Act::Skip => work.ack(members, None, "item.skipped"),
        Act::Fail { error, retry_in, give_up, .. } => work.fail(members, split, error, *retry_in, *give_up),
        Act::Return { error } => work.give_back(members, error.as_deref()),
        Act::Park { error } => work.park(members, error.as_deref()),
        Act::Defer { error, retry_in } => work.defer(members, error.as_deref(), *retry_in),
        Act::Expire | Act::Beat => work.expire(members),
    };
    let left = work.left;
    promote(policy, left, loaded.next.take(), now, changes);
    outcome
}

/// What expiry makes of one item, whatever else is in its delivery: what is written, and the item if it stays.
pub(super) fn expire_alone(policy: &Policy, item: Item, now: Time) -> (Changes, Option<Item>) {
    let mut changes = Changes::default();
    let ended = item.expires_at.unwrap_or(now).min(now);
    let mut work = Work { policy, now: ended, changes: &mut changes, left: Vec::new() };
    work.expire(vec![item]);
    let left = work.left.pop();
    (changes, left)
}

/// Whether the items under the fence are exactly the delivery that is named. The name travels outside, where it can be
/// altered: with another first item there are too few behind it, with another size the items know better.
fn is_whole(handed: &Handed, members: &[Member]) -> bool {
    let mine = |member: &Member| {
        let item = &member.item;
        item.size == handed.size && (item.queue, item.lane, item.fence) == (handed.queue, handed.lane, handed.fence)
    };
    members.len() == handed.size as usize && members[0].item.seq == handed.seq && members.iter().all(mine)
}

fn beat(policy: &Policy, loaded: &mut Loaded, now: Time, changes: &mut Changes) -> SettleOutcome {
    let first = &loaded.members[0].item;
    let wanted = now + policy.lock_timeout;
    let latest = policy.max_hold.map(|hold| first.claimed_at.unwrap_or(now) + hold);
    let allowed = latest.map_or(wanted, |latest| wanted.min(latest));
    let stored = first.expires_at.unwrap_or(now);
    // As for leases: a beat that would gain next to nothing is answered without writing.
    let quiet = Span((policy.lock_timeout.0 / 20).min(1_000));
    if allowed - stored < quiet {
        // So close to the latest end no beat extends it, now or later.
        let limited_by = latest.filter(|latest| *latest - stored < quiet).map(|_| LimitedBy::MaxHold);
        return SettleOutcome::Renewed { expires_at: stored, limited_by };
    }
    for member in &mut loaded.members {
        member.item.expires_at = Some(allowed);
        changes.update.push(member.item.clone());
    }
    SettleOutcome::Renewed { expires_at: allowed, limited_by: None }
}

struct Work<'a> {
    policy: &'a Policy,
    now: Time,
    changes: &'a mut Changes,
    /// Items that stay unfinished, in order.
    left: Vec<Item>,
}

impl Work<'_> {
    fn ack(&mut self, members: Vec<Item>, through: Option<usize>, told: &'static str) -> SettleOutcome {
        let mut outcome = SettleOutcome::Acked;
        for (index, item) in members.into_iter().enumerate() {
            if through.is_some_and(|through| index > through) {
                self.unattempted(item, None);
            } else if item.revision > item.handed {
                self.supersede(item, Last::Superseded, None);
                outcome = SettleOutcome::Superseded;
            } else {
                self.changes.finish(&item, Ended::Processed, self.now);
                if self.policy.kind == Kind::Sync {
                    self.changes.tell(self.policy, &item, told, None, self.now);
                }
            }
        }
        self.reopen();
        outcome
    }

    /// What comes back untried from its first hand-out is as if it had never been handed out: who has arrived meanwhile
    /// goes with it, by the window of its arrival. A group in which anything has failed stays as it is.
    fn reopen(&mut self) {
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
        // The first that failed speaks for all, as it will for whoever repeats the call.
        let mut outcome = None;
        for (index, item) in members.into_iter().enumerate() {
            match at {
                Some(at) if index < at => self.changes.finish(&item, Ended::Processed, self.now),
                Some(at) if index > at => self.unattempted(item, None),
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
            self.unattempted(item, error);
        }
        self.reopen();
        SettleOutcome::Returned
    }

    /// Shows as failed and waits as if it were, with no attempt spent.
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
                let error = kept(error);
                // No attempt was made: its error must not be taken for that of the one before.
                self.note(&item, 0, error.clone(), Some(retry_at), false);
                self.changes.tell(self.policy, &item, "item.failed", Some(error), self.now);
            }
            item.put_back(Last::Failed);
            item.not_before = retry_at;
            self.left.push(item);
        }
        outcome
    }

    /// An expired hand-out counts as an attempt, and is available again at once: no back-off.
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

    /// Back to its place with the attempt taken back. A change that came meanwhile has reset it to 0 already.
    fn unattempted(&mut self, mut item: Item, error: Option<&str>) {
        item.attempt = item.attempt.saturating_sub(1);
        self.back(&item, Last::Returned, error);
        item.put_back(Last::Returned);
        // Not later: a mate's back-off may have been a little longer than that of the head it went with. Nor the time of
        // the return: its window counts from when it came.
        item.not_before = item.not_before.min(self.now);
        self.left.push(item);
    }

    /// To be delivered anew as it is now. What the overtaken attempt said is kept for whoever looks, and counts for nothing.
    fn supersede(&mut self, mut item: Item, last: Last, error: Option<&str>) {
        item.attempt = 0;
        self.back(&item, last, error);
        item.put_back(last);
        // While it was handed out it told when the newest change came, which may have been after its time was over.
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
        let error = kept(error);
        let exhausted = give_up || item.attempt >= self.policy.max_attempts;
        let wait = retry_in.unwrap_or_else(|| self.policy.backoff_after(item.seq, item.attempt));
        let retry_at = (!exhausted).then_some(self.now + wait);
        self.note(&item, item.attempt, error.clone(), retry_at, last == Last::Expired);
        let name = if exhausted { "item.exhausted" } else { "item.failed" };
        self.changes.tell(self.policy, &item, name, Some(error), self.now);
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

    /// Keeps how a hand-out came back without counting, of an item that is still as it was handed out.
    fn back(&mut self, item: &Item, how: Last, error: Option<&str>) {
        self.changes.came_back.push(CameBack {
            seq: item.seq,
            fence: item.fence,
            how,
            at: self.now,
            holder: item.holder.clone(),
            handed_at: item.claimed_at,
            error: error.map(kept),
        });
    }

    /// Keeps what went wrong with an item that is still as it was handed out.
    fn note(&mut self, item: &Item, attempt: u32, error: String, retry_at: Option<Time>, expired: bool) {
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

/// Makes the first item of the lane its head, and writes down all that stay.
///
/// In a lane that holds, a parked item at the front keeps everything behind it waiting. In a sync queue a
/// parked item concerns its own key only.
pub(super) fn promote(policy: &Policy, left: Vec<Item>, next: Option<Item>, now: Time, changes: &mut Changes) {
    let next_seq = next.as_ref().map(|item| item.seq);
    let next_was_ready = next.as_ref().and_then(|item| item.ready_at);
    let mut waiting: Vec<Item> = left.into_iter().chain(next).collect();
    waiting.sort_by_key(|item| item.seq);
    let head = waiting.iter().position(|item| !(item.parked && policy.kind == Kind::Sync));
    for (index, mut item) in waiting.into_iter().enumerate() {
        let heads = Some(index) == head && !item.parked;
        // To be looked at at once: its window may be over, or its batch full, which only the whole front can tell.
        item.ready_at = heads.then(|| now.max(item.not_before));
        let untouched = Some(item.seq) == next_seq && item.ready_at == next_was_ready;
        if !untouched {
            changes.update.push(item);
        }
    }
}
