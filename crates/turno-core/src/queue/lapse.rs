//! Hand-outs whose time is over and that nobody has taken back yet. Whoever decides about an item, or looks at it, goes by
//! the clock: what the sweep would make of it is so already.

use super::manage::ManageRead;
use super::settle::{expire_alone, settle};
use super::{Act, AttemptError, CameBack, Changes, Done, Handed, Item, Loaded, Member, Policy, Settle, SettleOutcome};
use crate::time::Time;

/// What an expired hand-out has made of one of its items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lapsed {
    /// Its condition, if it stays unfinished. Whether it heads its lane now is left open.
    pub item: Option<Item>,
    /// Its last line, if it was exhausted and does not stay.
    pub done: Option<Done>,
    /// The attempt that nobody settled.
    pub error: Option<AttemptError>,
    /// In its place, if a newer change came meanwhile: nothing of that was tried.
    pub back: Option<CameBack>,
}

impl Item {
    /// As expiry leaves it, if it is handed out and its time is over.
    pub fn lapsed(&self, policy: &Policy, now: Time) -> Option<Lapsed> {
        self.expires_at.filter(|at| *at <= now)?;
        let (mut changes, item) = expire_alone(policy, self.clone(), now);
        Some(Lapsed { item, done: changes.done.pop(), error: changes.errors.pop(), back: changes.came_back.pop() })
    }
}

/// Takes back the delivery of the item's lane if its time is over, and shows `read` what that leaves: then the wish is
/// decided. What an application completes at this moment is left to it.
pub(super) fn take_back(policy: &Policy, read: &mut ManageRead) -> (Changes, Option<Handed>) {
    let mut changes = Changes::default();
    let lane: Vec<Item> = if read.front.is_empty() { read.item.iter().cloned().collect() } else { read.front.to_vec() };
    let over = |item: &&Item| item.expires_at.is_some_and(|at| at <= read.now) && !read.spared.contains(&item.fence);
    let Some(Item { queue, seq, lane: of, size, fence, .. }) = lane.iter().find(over).cloned() else {
        return (changes, None);
    };
    let handed = Handed { queue, seq, lane: of, size, fence };
    let (members, others): (Vec<Item>, Vec<Item>) =
        lane.into_iter().partition(|item| item.fence == fence && item.expires_at.is_some());
    let members = members.into_iter().map(|item| Member { item, id: None }).collect();
    let mut loaded = Loaded { members, next: others.into_iter().next() };
    let command = Settle { handed, policy: policy.clone(), act: Act::Expire };
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
    (changes, Some(handed))
}

/// Both in one transaction: each row is written once, as the wish leaves it.
pub(super) fn joined(mut over: Changes, mut wish: Changes) -> Changes {
    for seq in std::mem::take(&mut wish.undone) {
        if !over.remove.contains(&seq) {
            over.undone.push(seq);
            continue;
        }
        // Exhausted by its time and sent round again at once: it never left.
        over.remove.retain(|gone| *gone != seq);
        over.done.retain(|done| done.seq != seq);
        wish.update.extend(wish.insert.extract_if(.., |item| item.seq == seq));
    }
    let rewritten = |item: &Item| wish.remove.contains(&item.seq) || wish.update.iter().any(|new| new.seq == item.seq);
    over.update.retain(|item| !rewritten(item));
    over.replaced.append(&mut wish.replaced);
    over.insert.append(&mut wish.insert);
    over.update.append(&mut wish.update);
    over.remove.append(&mut wish.remove);
    over.done.append(&mut wish.done);
    over.events.append(&mut wish.events);
    over
}
