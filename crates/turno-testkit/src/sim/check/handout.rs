//! Invariants of deliveries: turn, group size, attempts and data.

use super::model::{Delivered, Is, Queues};
use super::{Checked, Commit, fault};
use crate::sim::message::{Ask, Reply, WorkerDelivery};
use turno_core::id::{Fence, Seq};
use turno_core::queue::{Changes, Ended, Kind, Policy};
use turno_core::time::{Span, Time};

/// After this many failures as a group, its items are delivered one by one.
const TOGETHER: u32 = 2;

impl Queues<'_> {
    pub(super) fn handed_out(&mut self, commit: &Commit<'_>, changes: &Changes) -> Checked {
        for (call, reply) in commit.calls.iter().zip(commit.replies) {
            let (Ask::Claim { queue, .. }, Reply::Claim(work)) = (&call.ask, reply) else {
                continue;
            };
            let policy = &self.setup.queues[*queue];
            for one in work {
                self.members(policy, one, commit.now, changes)?;
                self.turn(policy, one, commit)?;
                self.take(one, commit.now, changes);
            }
        }
        Ok(())
    }

    /// Checks each item of a delivery: it may be handed out, and its numbers are right.
    fn members(&self, policy: &Policy, work: &WorkerDelivery, now: Time, changes: &Changes) -> Checked {
        let delivery = &work.delivery;
        for ((seq, attempt), body) in delivery.items.iter().zip(&work.bodies) {
            let name = self.name(*seq);
            let Some(item) = self.items.get(seq) else {
                return fault("Q5", name, "an unknown item was handed out");
            };
            match item.is {
                Is::Waiting | Is::Failed | Is::Tried => {}
                Is::Done(Ended::Processed) => {
                    return fault("Q4", name, "the item was handed out again after its ack");
                }
                Is::HandedOut(fence) => {
                    let until = self.deliveries.get(&fence).map(|known| known.until);
                    return fault("Q3", name, format!("handed out again before {until:?}, at {}", now.0));
                }
                Is::Parked | Is::Done(_) => {
                    return fault("Q9", name, format!("handed out although it is {:?}", item.is));
                }
            }
            if !changes.update.iter().any(|row| row.seq == *seq && row.fence == delivery.fence) {
                return fault("Q3", name, "the delivery has no row");
            }
            if *attempt != item.attempts + 1 || *attempt > policy.max_attempts {
                let text = format!("attempt {attempt} after {} of {}", item.attempts, policy.max_attempts);
                return fault("Q8", name, text);
            }
            if delivery.fence <= item.fence {
                return fault("Q8", name, format!("fence {} after {}", delivery.fence.0, item.fence.0));
            }
            // A group follows its head: the back-offs of the others differ by a few milliseconds.
            if *seq == delivery.seq && now < item.not_before {
                return fault("Q10", name, format!("not before {}, handed out at {}", item.not_before.0, now.0));
            }
            if body.payload != item.payload || body.id != item.id {
                let id = if policy.kind == Kind::Sync { "S1" } else { "Q5" };
                return fault(id, name, format!("handed out with {body:?}, accepted was {:?}", item.payload));
            }
            if policy.kind == Kind::Sync && delivery.revision != item.revision {
                return fault("S1", name, format!("revision {} is not the newest", delivery.revision));
            }
        }
        if self.deliveries.contains_key(&delivery.fence) || self.spent.contains(&delivery.fence) {
            let name = self.name(delivery.seq);
            return fault("Q8", name, format!("fence {} was used before", delivery.fence.0));
        }
        Ok(())
    }

    /// Checks the delivery as a whole: the key's turn, the order, the size, and not too early.
    fn turn(&self, policy: &Policy, work: &WorkerDelivery, commit: &Commit<'_>) -> Checked {
        let (delivery, now) = (&work.delivery, commit.now);
        let name = self.name(delivery.seq);
        let members: Vec<Seq> = delivery.items.iter().map(|(seq, _)| *seq).collect();
        let Some(head) = self.items.get(&members[0]) else {
            return Ok(());
        };
        let Some(lane) = head.key.as_ref().and_then(|key| self.lanes.get(&(head.queue, key.clone()))) else {
            return match members.len() {
                1 => Ok(()),
                _ => fault("Q10", name, "items of an inbox were grouped"),
            };
        };
        let open: Vec<_> = lane
            .open
            .iter()
            .filter_map(|seq| Some((*seq, self.items.get(seq)?)))
            .filter(|(_, item)| !(item.is == Is::Parked && policy.kind == Kind::Sync))
            .collect();
        if open.iter().any(|(_, item)| matches!(item.is, Is::HandedOut(_))) {
            return fault("Q2", name, "a second delivery of a key that is being processed");
        }
        let older = policy.kind == Kind::Sync && delivery.revision < lane.last_revision;
        if delivery.fence <= lane.last_fence || older {
            let id = if delivery.fence <= lane.last_fence { "Q8" } else { "S4" };
            return fault(id, name, format!("{delivery:?} after {lane:?}"));
        }
        if !members.iter().copied().eq(open.iter().map(|(seq, _)| *seq).take(members.len())) {
            let first: Vec<i64> = open.iter().map(|(seq, _)| seq.0).take(6).collect();
            return fault("Q1", name, format!("handed out {members:?}, waiting are {first:?}"));
        }
        let group = &open[..members.len()];
        if head.group != Fence(0) {
            if group.iter().any(|(_, item)| item.group != head.group) {
                return fault("Q11", name, "an item joined a group that had been handed out before");
            }
            if head.attempts >= TOGETHER && members.len() > 1 {
                return fault("Q17", name, "a group that keeps failing was not split");
            }
            return Ok(());
        }
        if group.iter().any(|(_, item)| item.group != Fence(0)) {
            return fault("Q11", name, "a retry was grouped with fresh messages");
        }
        let most = policy.batch() as usize;
        let mates = open.iter().take(most).take_while(|(_, item)| item.group == Fence(0) && item.since <= now);
        let mates: Vec<Time> = mates.map(|(_, item)| item.since).collect();
        if mates.len() != members.len() {
            let text = format!("{} were waiting and {} were handed out", mates.len(), members.len());
            return fault("Q10", name, text);
        }
        let typed = lane.typed.iter().rev().find(|(at, _)| *at <= commit.began).map(|(_, time)| *time);
        let due = due(policy, &mates, typed);
        if mates.len() < most && now < due {
            return fault("Q10", name, format!("due at {}, handed out at {}", due.0, now.0));
        }
        Ok(())
    }

    fn take(&mut self, work: &WorkerDelivery, now: Time, changes: &Changes) {
        let delivery = &work.delivery;
        let mut members = Vec::with_capacity(delivery.items.len());
        for (seq, attempt) in &delivery.items {
            members.push(*seq);
            if let Some(item) = self.items.get_mut(seq) {
                item.is = Is::HandedOut(delivery.fence);
                item.attempts = *attempt;
                item.fence = delivery.fence;
                if item.group == Fence(0) {
                    item.group = delivery.fence;
                }
                item.handed = item.revision;
                item.handed_change = item.change;
            }
        }
        let home = self.items.get(&delivery.seq).and_then(|item| Some((item.queue, item.key.clone()?)));
        if let Some(lane) = home.and_then(|home| self.lanes.get_mut(&home)) {
            lane.last_fence = delivery.fence;
            lane.last_revision = delivery.revision;
            if changes.typed.iter().any(|(_, typed)| Some(*typed) == delivery.lane) {
                lane.typed.clear();
            }
        }
        let delivered =
            Delivered { members, since: now, until: delivery.expires_at, open: true, settled: None, versions: 0 };
        self.deliveries.insert(delivery.fence, delivered);
    }
}

/// Returns when a group of fresh messages is due, by the contract.
fn due(policy: &Policy, arrivals: &[Time], typed: Option<Time>) -> Time {
    if policy.window == Span::ZERO {
        return Time(i64::MIN);
    }
    let first = arrivals[0];
    let last = arrivals.iter().copied().max().unwrap_or(first);
    let quiet = typed.map_or(last + policy.window, |at| (last + policy.window).max(at + policy.typing_extension));
    quiet.min(first + policy.max_wait)
}
