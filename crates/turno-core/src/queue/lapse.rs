//! Expired deliveries that no sweep has taken back yet.
//!
//! Reads and commands evaluate the expiry themselves, so that they see the same state as after a sweep.

use super::manage::ManageRead;
use super::settle::{expire_alone, settle};
use super::{
    Act, AttemptError, Changes, DeliveryRef, Done, Item, Loaded, Member, Policy, Settle, SettleOutcome, Settler,
    UncountedDelivery,
};
use crate::time::Time;

/// One item of an expired delivery, as the expiry leaves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lapsed {
    /// The item, if it stays unfinished. `ready_at` is not set: whether the item becomes the head depends on its lane.
    pub item: Option<Item>,
    /// The record of the finished item, if it is exhausted and does not stay.
    pub done: Option<Done>,
    /// The failed attempt.
    pub error: Option<AttemptError>,
    /// Replaces `error` if a newer change arrived during the delivery, because then the attempt does not count.
    pub back: Option<UncountedDelivery>,
}

impl Item {
    /// Returns the item as its expiry leaves it, or `None` if it is not handed out or has not expired.
    pub fn lapsed(&self, policy: &Policy, now: Time) -> Option<Lapsed> {
        self.expires_at.filter(|at| *at <= now)?;
        let (mut changes, item) = expire_alone(policy, self.clone(), now);
        Some(Lapsed { item, done: changes.done.pop(), error: changes.errors.pop(), back: changes.came_back.pop() })
    }
}

/// Takes back the delivery of the item's lane if it has expired, and updates `read` accordingly, so that the command is
/// decided on the resulting state. Skips deliveries that an application is completing in a transaction.
pub(super) fn take_back(policy: &Policy, read: &mut ManageRead) -> (Changes, Option<DeliveryRef>) {
    let mut changes = Changes::default();
    let lane: Vec<Item> = if read.front.is_empty() { read.item.iter().cloned().collect() } else { read.front.to_vec() };
    let has_expired =
        |item: &&Item| item.expires_at.is_some_and(|at| at <= read.now) && !read.spared.contains(&item.fence);
    let Some(Item { queue, seq, lane: item_lane, size, fence, .. }) = lane.iter().find(has_expired).cloned() else {
        return (changes, None);
    };
    let reference = DeliveryRef { queue, seq, lane: item_lane, size, fence };
    let (members, others): (Vec<Item>, Vec<Item>) =
        lane.into_iter().partition(|item| item.fence == fence && item.expires_at.is_some());
    let members = members.into_iter().map(|item| Member { item, id: None }).collect();
    let mut loaded = Loaded { members, next: others.into_iter().next() };
    let command = Settle { reference, policy: policy.clone(), act: Act::Expire, by: Settler::Server };
    if settle(&command, &mut loaded, read.now, &mut changes) != SettleOutcome::Expired {
        return (changes, None);
    }
    for item in read.front.iter_mut().chain(&mut read.item) {
        if let Some(now) = changes.update.iter().find(|now| now.seq == item.seq) {
            *item = now.clone();
        }
    }
    read.front.retain(|item| !changes.remove.contains(&item.seq));
    if let Some(item) = read.item.take_if(|item| changes.remove.contains(&item.seq)) {
        read.done = changes.done.iter().find(|done| done.seq == item.seq).cloned();
    }
    (changes, Some(reference))
}

/// Merges the changes of an expiry and of a command for one transaction. A row that both change is written once, as the
/// command leaves it.
pub(super) fn merge_changes(mut expiry: Changes, command: Changes) -> Changes {
    // Without `..`, so that a new field is merged too.
    let Changes {
        bodies,
        replaced,
        absorbed,
        mut insert,
        mut update,
        remove,
        done,
        undone,
        errors,
        came_back,
        requests,
        typing,
        typed,
        events,
        audit,
    } = command;
    for seq in undone {
        if !expiry.remove.contains(&seq) {
            expiry.undone.push(seq);
            continue;
        }
        // The expiry exhausted the item and the command retries it, so the row stays.
        expiry.remove.retain(|gone| *gone != seq);
        expiry.done.retain(|done| done.seq != seq);
        update.extend(insert.extract_if(.., |item| item.seq == seq));
    }
    let rewritten = |item: &Item| remove.contains(&item.seq) || update.iter().any(|new| new.seq == item.seq);
    expiry.update.retain(|item| !rewritten(item));
    expiry.bodies.extend(bodies);
    expiry.replaced.extend(replaced);
    expiry.absorbed.extend(absorbed);
    expiry.insert.extend(insert);
    expiry.update.extend(update);
    expiry.remove.extend(remove);
    expiry.done.extend(done);
    expiry.errors.extend(errors);
    expiry.came_back.extend(came_back);
    expiry.requests.extend(requests);
    expiry.typing.extend(typing);
    expiry.typed.extend(typed);
    expiry.events.extend(events);
    expiry.audit.extend(audit);
    expiry
}
