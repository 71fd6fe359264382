//! Detects and repairs damaged lanes.
//!
//! A lane is sound in three shapes. (1) One delivery is in process, with as many items as it was handed out with, and
//! no item is ready. (2) Nothing is in process, and the first item is ready. (3) Nothing is in process, nothing is
//! ready, and the first item is exhausted and holds the lane. In a sync queue an exhausted item holds nothing and does
//! not count. An item without a lane is a lane of its own.
//!
//! Claims and settlements always leave one of these shapes. Lost rows can leave another one: after a failover to a
//! server that lacks the newest commits, or after a manual change of the tables. Such a lane hands out nothing, or two
//! deliveries at once. No settlement can end that, because a delivery with missing rows is stale.
//!
//! A repair keeps at most one complete delivery, returns the others without counting their attempt, and makes the first
//! item the head. It loses no accepted item and keeps the order.

use super::{Body, Changes, Done, Ended, Item, Kind, Last, Policy, UncountedDelivery};
use crate::id::{Fence, ItemId, Lane, QueueId, Seq};
use crate::time::Time;

/// The reason in the item's history for a delivery that a repair returned.
const REPAIRED: &str = "given back by a repair of its lane";

/// An unfinished row, as the store found it under the lane's lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairRow {
    /// The row.
    pub item: Item,
    /// The item's id. `None` if the row has no body, so that there is nothing to hand out.
    pub id: Option<ItemId>,
    /// The item also has a finished record, so it is finished and unfinished at once.
    pub is_finished: bool,
}

/// An accepted item with a body, but with neither an unfinished row nor a finished record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The item's place in the order of arrival.
    pub seq: Seq,
    /// The item's id.
    pub id: ItemId,
    /// The item's lane. `None` in an inbox.
    pub lane: Option<Lane>,
    /// When the item was enqueued.
    pub enqueued_at: Time,
}

/// The rows that the store read about a lane, or about an item of an inbox, under its lock.
#[derive(Debug)]
pub struct RepairRead {
    /// The queue.
    pub queue: QueueId,
    /// The database's clock, read after the lock.
    pub now: Time,
    /// The first [`RepairRead::FIRST`] rows of the lane and every row that is ready, handed out or broken, in order; at
    /// most [`RepairRead::ROWS`] of them.
    pub rows: Vec<RepairRow>,
    /// The bodies of these rows, read only in a sync queue: see [`RepairRead::needs_bodies`].
    pub bodies: Vec<Body>,
    /// A lost item to restore.
    pub lost: Option<Lost>,
    /// A finished item without a body. Its record is deleted.
    pub empty: Option<Seq>,
    /// Deliveries that an application's transaction has completed or is completing. A repair keeps them if they are
    /// complete.
    pub spared: Vec<Fence>,
}

impl RepairRead {
    /// How many of the first rows are read: enough to find one that can be the head.
    pub const FIRST: u32 = 100;
    /// The most rows that one repair reads and writes: more than any delivery has. A lane with more damaged rows is
    /// repaired in several steps.
    pub const ROWS: u32 = 5_000;

    /// Returns whether the store must read the bodies. A sync queue has one row per key, so a repair merges a second
    /// one into the first.
    pub fn needs_bodies(policy: &Policy, rows: &[RepairRow]) -> bool {
        policy.kind == Kind::Sync && rows.len() > 1
    }
}

/// The changes of a repair. Empty if the lane was sound.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Items whose condition was corrected: they became the head, stopped being the head, or were returned.
    pub corrected: Vec<ItemId>,
    /// Deliveries that were ended. A settlement under these fences is stale.
    pub ended: Vec<Fence>,
    /// Rows that were deleted, because they had no body or were finished already.
    pub removed: Vec<Seq>,
    /// Lost items that wait for their turn again.
    pub restored: Vec<ItemId>,
    /// Items of a sync queue that were merged into an older unfinished item of their key.
    pub merged: Vec<ItemId>,
}

impl Repaired {
    /// Returns whether the lane was sound.
    pub fn is_nothing(&self) -> bool {
        *self == Repaired::default()
    }

    /// Returns how many items the repair changed.
    pub fn count(&self) -> usize {
        self.corrected.len() + self.removed.len() + self.restored.len() + self.merged.len()
    }
}

/// Returns whether a lane is damaged. `items` are its first rows and every row that is ready or handed out.
pub(super) fn is_damaged<'a>(policy: &Policy, items: impl Iterator<Item = &'a Item>, spared: &[Fence]) -> bool {
    let before: Vec<Item> = items.cloned().collect();
    let mut after = before.clone();
    rebuild(policy, &mut after, spared, Time(0));
    before != after
}

/// Repairs a lane if it is damaged. Changes nothing in a sound lane.
pub fn repair(policy: &Policy, read: RepairRead) -> (Changes, Repaired) {
    let mut changes = Changes::default();
    let mut repaired = Repaired::default();
    if let Some(seq) = read.empty {
        changes.undone.push(seq);
        repaired.removed.push(seq);
    }
    let whole_and_spared = |item: &Item| {
        let all: Vec<&Item> = read.rows.iter().map(|row| &row.item).collect();
        item.expires_at.is_some() && read.spared.contains(&item.fence) && is_whole(&all, item.fence)
    };
    let (mut before, mut ids) = (Vec::new(), Vec::new());
    for row in &read.rows {
        if (row.id.is_none() || row.is_finished) && !whole_and_spared(&row.item) {
            changes.remove.push(row.item.seq);
            repaired.removed.push(row.item.seq);
            repaired.ended.extend(row.item.expires_at.map(|_| row.item.fence));
        } else {
            before.push(row.item.clone());
            ids.extend(row.id.clone().map(|id| (row.item.seq, id)));
        }
    }
    let mut after = before.clone();
    let restored = read.lost.as_ref().and_then(|lost| restore(policy, &read, lost, &mut after, &mut changes));
    repaired.restored.extend(restored);
    let ended = give_back_broken(policy, &mut after, &read.spared, read.now);
    repaired.merged = merge(policy, &read, &mut after, &mut changes, &ids);
    set_head(policy, &mut after, read.now);
    for item in after {
        match before.iter().find(|old| old.seq == item.seq) {
            Some(old) if *old == item => {}
            Some(_) => {
                let id = ids.iter().find(|(seq, _)| *seq == item.seq);
                repaired.corrected.extend(id.map(|(_, id)| id.clone()));
                changes.update.push(item);
            }
            None => changes.insert.push(item),
        }
    }
    for item in ended.into_iter().filter(|item| item.fence != Fence(0)) {
        repaired.ended.push(item.fence);
        changes.came_back.push(came_back(item, read.now));
    }
    repaired.ended.sort_unstable();
    repaired.ended.dedup();
    (changes, repaired)
}

/// Brings every row into the condition that it has in a sound lane.
fn rebuild(policy: &Policy, items: &mut [Item], spared: &[Fence], now: Time) {
    give_back_broken(policy, items, spared, now);
    set_head(policy, items, now);
}

/// Keeps one delivery and puts the items of the others back in the lane. Returns those items as they were handed out.
fn give_back_broken(policy: &Policy, items: &mut [Item], spared: &[Fence], now: Time) -> Vec<Item> {
    let kept = deliveries_to_keep(policy, &items.iter().collect::<Vec<_>>(), spared);
    let mut ended = Vec::new();
    for item in items {
        if item.parked {
            item.expires_at = None;
        } else if item.expires_at.is_some() && kept.contains(&item.fence) {
            item.ready_at = None;
            if item.attempt == 0 && item.revision <= item.handed {
                item.attempt = 1;
            }
        } else if item.expires_at.is_some() {
            ended.push(item.clone());
            give_back(item, now);
        }
    }
    ended
}

/// Returns the complete deliveries that stay: those that applications are completing, or else the only one, or the one
/// at the front. A delivery behind the front does not stay, because it has overtaken older items.
fn deliveries_to_keep(policy: &Policy, items: &[&Item], spared: &[Fence]) -> Vec<Fence> {
    let mut fences: Vec<Fence> = Vec::new();
    for item in items.iter().filter(|item| item.expires_at.is_some() && !item.parked) {
        if !fences.contains(&item.fence) {
            fences.push(item.fence);
        }
    }
    let alone = fences.len() == 1;
    fences.retain(|fence| is_whole(items, *fence));
    if fences.iter().any(|fence| spared.contains(fence)) {
        fences.retain(|fence| spared.contains(fence));
    } else if !alone {
        let front = items.iter().find(|item| blocks(policy, item)).filter(|item| item.expires_at.is_some());
        fences.retain(|fence| front.is_some_and(|front| front.fence == *fence));
    }
    fences
}

/// Returns whether the item blocks the items behind it. An exhausted sync item does not.
fn blocks(policy: &Policy, item: &Item) -> bool {
    !(item.parked && policy.kind == Kind::Sync)
}

/// Returns whether a delivery has as many rows as when it was handed out. Only then can it be settled.
pub(super) fn is_whole(items: &[&Item], fence: Fence) -> bool {
    let members = || items.iter().filter(|item| item.fence == fence && item.expires_at.is_some() && !item.parked);
    let count = members().count();
    fence != Fence(0) && members().all(|item| item.size as usize == count)
}

/// Puts the item back in its place and takes the attempt back.
fn give_back(item: &mut Item, now: Time) {
    item.attempt = item.attempt.saturating_sub(1);
    item.not_before = if item.revision > item.handed { item.not_before.max(now) } else { item.not_before.min(now) };
    // This was its first delivery, so the item is fresh again and others may join its group.
    if item.group == item.fence {
        item.group = Fence(0);
    }
    item.put_back(Last::Returned);
}

/// Makes the first item the head, unless a delivery is in process or an exhausted item holds the lane.
fn set_head(policy: &Policy, items: &mut [Item], now: Time) {
    let runs = items.iter().any(|item| item.expires_at.is_some());
    let first = items.iter().position(|item| blocks(policy, item));
    for (index, item) in items.iter_mut().enumerate() {
        let heads = !runs && Some(index) == first && !item.parked;
        item.ready_at = heads.then(|| item.ready_at.unwrap_or(now.max(item.not_before)));
    }
}

/// Puts a lost item back in its place. In a sync queue, an unfinished item of the same key is newer, so the lost item
/// is finished as cancelled instead.
fn restore(
    policy: &Policy,
    read: &RepairRead,
    lost: &Lost,
    items: &mut Vec<Item>,
    changes: &mut Changes,
) -> Option<ItemId> {
    let item = Item {
        seq: lost.seq,
        queue: read.queue,
        lane: lost.lane,
        enqueued_at: lost.enqueued_at,
        not_before: read.now,
        ready_at: None,
        expires_at: None,
        claimed_at: None,
        attempt: 0,
        fence: Fence(0),
        group: Fence(0),
        last: Last::None,
        revision: lost.seq.0,
        handed: 0,
        parked: false,
        holder: None,
        size: 1,
    };
    if policy.kind == Kind::Sync && !items.is_empty() {
        changes.done.push(cancelled(&item, read.now));
        return Some(lost.id.clone());
    }
    let at = items.partition_point(|other| other.seq < item.seq);
    items.insert(at, item);
    Some(lost.id.clone())
}

/// Merges the unfinished items of each sync key into one, as enqueueing would have done. The oldest item keeps its id
/// and gets the newest change. If one of them is handed out, that one stays, and stays handed out.
fn merge(
    policy: &Policy,
    read: &RepairRead,
    items: &mut Vec<Item>,
    changes: &mut Changes,
    ids: &[(Seq, ItemId)],
) -> Vec<ItemId> {
    let mut merged = Vec::new();
    if policy.kind != Kind::Sync {
        return merged;
    }
    let body = |seq: Seq| read.bodies.iter().find(|body| body.seq == seq);
    let key = |seq: Seq| body(seq).and_then(|body| body.key.as_ref());
    let keys: Vec<_> = items.iter().filter_map(|item| key(item.seq)).collect();
    for shared_key in keys {
        let same_key: Vec<Item> = items.iter().filter(|item| key(item.seq) == Some(shared_key)).cloned().collect();
        let Some(newest) = same_key.iter().max_by_key(|item| item.revision).filter(|_| same_key.len() > 1) else {
            continue;
        };
        let Some(oldest) = same_key.iter().find(|item| item.expires_at.is_some()).or(same_key.first()) else {
            continue;
        };
        for item in same_key.iter().filter(|item| item.seq != oldest.seq) {
            changes.remove.push(item.seq);
            changes.done.push(cancelled(item, read.now));
            merged.extend(ids.iter().find(|(seq, _)| *seq == item.seq).map(|(_, id)| id.clone()));
        }
        items.retain(|item| item.seq == oldest.seq || key(item.seq) != Some(shared_key));
        if let (true, Some(old), Some(new)) = (newest.seq != oldest.seq, body(oldest.seq), body(newest.seq)) {
            changes.replaced.push(Body { action: new.action.clone(), payload: new.payload.clone(), ..old.clone() });
            let take = |item: &&mut Item| item.seq == oldest.seq;
            if let Some(item) = items.iter_mut().find(take) {
                item.revision = newest.revision;
                item.attempt = 0;
                item.not_before = read.now;
                if item.expires_at.is_none() {
                    item.parked = false;
                    item.last = Last::None;
                }
            }
        }
    }
    merged
}

fn cancelled(item: &Item, now: Time) -> Done {
    Done {
        seq: item.seq,
        queue: item.queue,
        ended: Ended::Cancelled,
        at: now,
        attempt: item.attempt,
        fence: item.fence,
        revision: item.handed,
        holder: item.holder.clone(),
        handed_at: None,
    }
}

/// Records a delivery that the repair ended as expired, so that a late settlement under its fence is stale.
fn came_back(item: Item, now: Time) -> UncountedDelivery {
    let Item { seq, fence, holder, claimed_at, .. } = item;
    let error = Some(REPAIRED.to_owned());
    UncountedDelivery { seq, fence, how: Last::Expired, at: now, holder, handed_at: claimed_at, error }
}
