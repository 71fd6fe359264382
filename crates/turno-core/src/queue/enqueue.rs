//! Admitting items: duplicates by id, coalescing by key, and who heads an empty lane.

use super::{Absorbed, Body, Changes, Digest, Item, Kind, Known, Last, Policy};
use crate::id::{Fence, ItemId, Key, Lane, Numbers, QueueId, Seq};
use crate::time::{Span, Time};
use std::collections::HashMap;
use std::sync::Arc;

/// An item somebody wants to have processed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewItem {
    /// Its id, given or made up by the engine.
    pub id: ItemId,
    /// The caller gave the id, so it may have been seen before.
    pub id_given: bool,
    /// Whose it is; required in lanes and sync queues.
    pub key: Option<Key>,
    /// What to do.
    pub action: Option<String>,
    /// JSON as it came.
    pub payload: Arc<str>,
    /// Not before this long from now.
    pub delay: Span,
    /// When it was asked for, if it was accepted later than that: its age counts from there, its turn does not.
    pub since: Option<Time>,
}

impl NewItem {
    /// What is shown as the time of its arrival, and never lies ahead.
    fn arrived_at(&self, now: Time) -> Time {
        self.since.map_or(now, |since| since.min(now))
    }
}

/// One caller's items for one queue: all are accepted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enqueue {
    /// The queue.
    pub queue: QueueId,
    /// Its policy.
    pub policy: Policy,
    /// The items, in the order of arrival.
    pub items: Vec<NewItem>,
}

/// What became of one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// It waits for its turn.
    Queued,
    /// Its id was accepted before; `differs` if with another key or payload.
    Duplicate {
        /// The key or the JSON value is not the one that was accepted.
        differs: bool,
    },
    /// It replaced what an unfinished item of its key carried; that item's id survives.
    Coalesced {
        /// The id of the item that carries it now.
        id: ItemId,
    },
}

/// An unfinished item at the front of a lane, with the names that coalescing compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontItem {
    /// The item.
    pub item: Item,
    /// Its id.
    pub id: ItemId,
    /// Its key.
    pub key: Option<Key>,
}

/// What the store read under the lanes' mutex, for one group of enqueues.
#[derive(Debug)]
pub struct EnqueueRead {
    /// The database's clock, read after the lock.
    pub now: Time,
    /// One fresh number for every item of the group.
    pub numbers: Numbers,
    /// Given ids that were accepted before and whose retention is not over.
    pub existing: HashMap<(QueueId, ItemId), Known>,
    /// The first items of every lane that the group touches, in order: see [`Enqueue::front_size`].
    pub fronts: HashMap<(QueueId, Lane), Vec<FrontItem>>,
}

impl Enqueue {
    /// How much of each lane's front the decision needs to see.
    pub fn front_size(policy: &Policy) -> u32 {
        match policy.kind {
            Kind::Inbox => 0,
            // Who heads the lane, and whether the batch becomes full.
            Kind::Lane if policy.window > Span::ZERO => policy.batch(),
            Kind::Lane => 1,
            // One item per key; more only where hashes collide.
            Kind::Sync => 8,
        }
    }
}

/// Decides a group of enqueues in the order of their arrival.
pub fn enqueue(group: &[Enqueue], read: EnqueueRead) -> (Changes, Vec<Vec<Accepted>>) {
    let mut work = Work {
        now: read.now,
        numbers: read.numbers,
        fronts: read.fronts,
        known: read.existing,
        changes: Changes::default(),
    };
    let answers = group.iter().map(|call| call.items.iter().map(|item| work.accept(call, item)).collect()).collect();
    (work.changes, answers)
}

struct Work {
    now: Time,
    numbers: Numbers,
    fronts: HashMap<(QueueId, Lane), Vec<FrontItem>>,
    known: HashMap<(QueueId, ItemId), Known>,
    changes: Changes,
}

impl Work {
    fn accept(&mut self, call: &Enqueue, new: &NewItem) -> Accepted {
        let number = self.numbers.take();
        let lane = match call.policy.kind {
            Kind::Inbox => None,
            Kind::Lane | Kind::Sync => new.key.as_ref().map(Lane::of),
        };
        // Ids first: a repeated call must not replace, as if it were news, what a newer change has brought.
        if new.id_given
            && let Some(known) = self.known.get(&(call.queue, new.id.clone()))
        {
            return Accepted::Duplicate { differs: known.differs(new) };
        }
        if call.policy.kind == Kind::Sync
            && let Some(lane) = lane
            && let Some(id) = self.coalesce(call, new, lane, number)
        {
            self.absorb(call, new);
            return Accepted::Coalesced { id };
        }
        if new.id_given {
            let (key, payload) = (new.key.clone(), new.payload.clone());
            let known = Known::Item { seq: Seq(number), key, payload, over_at: None };
            self.known.insert((call.queue, new.id.clone()), known);
        }
        let mut item = fresh(call, new, lane, number, self.now);
        match lane {
            None => item.ready_at = Some(item.not_before),
            Some(lane) => self.join_lane(call, &mut item, lane, new),
        }
        self.changes.bodies.push(Body {
            seq: item.seq,
            queue: call.queue,
            id: new.id.clone(),
            key: new.key.clone(),
            action: new.action.clone(),
            payload: new.payload.clone(),
            enqueued_at: item.enqueued_at,
        });
        self.changes.insert.push(item);
        Accepted::Queued
    }

    /// Remembers the id of a change that an item took in: a late repeat would bring an old state back. Only a caller
    /// who gave the id can repeat it.
    fn absorb(&mut self, call: &Enqueue, new: &NewItem) {
        if new.id_given {
            let (queue, id, at) = (call.queue, new.id.clone(), self.now);
            let digest = Digest::of(new.key.as_ref(), &new.payload);
            self.known.insert((queue, id.clone()), Known::Absorbed { digest, at });
            self.changes.absorbed.push(Absorbed { queue, id, digest, at });
        }
    }

    /// Replaces what the key's unfinished item carries, if there is one; answers its id.
    fn coalesce(&mut self, call: &Enqueue, new: &NewItem, lane: Lane, revision: i64) -> Option<ItemId> {
        let now = self.now;
        let front = self.fronts.get_mut(&(call.queue, lane))?;
        let found = front.iter_mut().find(|known| known.key == new.key)?;
        let item = &mut found.item;
        item.revision = revision;
        item.attempt = 0;
        if item.expires_at.is_none() {
            // The newest state overtakes the retries of the stale one, and revives an exhausted one.
            item.parked = false;
            item.last = Last::None;
            item.not_before = now + new.delay;
            item.ready_at = Some(item.not_before);
        } else {
            // Nothing waits for it while it is handed out, so it can keep when the newest change came.
            item.not_before = now;
        }
        let body = Body {
            seq: item.seq,
            queue: call.queue,
            id: found.id.clone(),
            key: new.key.clone(),
            action: new.action.clone(),
            payload: new.payload.clone(),
            enqueued_at: item.enqueued_at,
        };
        let (item, id) = (item.clone(), found.id.clone());
        // An item inserted by this very group is still only in memory: change it there. Its body is written as it was
        // accepted first, and then replaced like any other.
        match self.changes.insert.iter_mut().find(|i| i.seq == item.seq) {
            Some(inserted) => *inserted = item,
            None => keep_last(&mut self.changes.update, item, |i| i.seq),
        }
        keep_last(&mut self.changes.replaced, body, |b| b.seq);
        Some(id)
    }

    fn join_lane(&mut self, call: &Enqueue, item: &mut Item, lane: Lane, new: &NewItem) {
        let policy = &call.policy;
        let front = self.fronts.entry((call.queue, lane)).or_default();
        let blocked = front.iter().any(|known| !(known.item.parked && policy.kind == Kind::Sync));
        if !blocked {
            item.ready_at = Some(item.first_look(policy, self.now));
        }
        front.push(FrontItem { item: item.clone(), id: new.id.clone(), key: new.key.clone() });
        // A full batch is due at once. Only a fresh, waiting head has a window to cut short.
        let full = front.iter().filter(|known| known.item.is_fresh()).count() >= policy.batch() as usize;
        let Some(head) = front.iter_mut().find(|known| known.item.ready_at.is_some()) else {
            return;
        };
        if full && policy.window > Span::ZERO && head.item.is_fresh() && head.item.ready_at > Some(self.now) {
            head.item.ready_at = Some(self.now.max(head.item.not_before));
            let head = head.item.clone();
            if head.seq == item.seq {
                item.ready_at = head.ready_at;
            } else if let Some(inserted) = self.changes.insert.iter_mut().find(|i| i.seq == head.seq) {
                *inserted = head;
            } else {
                keep_last(&mut self.changes.update, head, |i| i.seq);
            }
        }
    }
}

fn fresh(call: &Enqueue, new: &NewItem, lane: Option<Lane>, number: i64, now: Time) -> Item {
    Item {
        seq: Seq(number),
        queue: call.queue,
        lane,
        enqueued_at: new.arrived_at(now),
        not_before: now + new.delay,
        ready_at: None,
        expires_at: None,
        claimed_at: None,
        attempt: 0,
        fence: Fence(0),
        group: Fence(0),
        last: Last::None,
        revision: number,
        handed: 0,
        parked: false,
        holder: None,
        size: 1,
    }
}

/// One row may change several times in a group; only its last condition is written.
fn keep_last<T>(rows: &mut Vec<T>, row: T, seq: impl Fn(&T) -> Seq) {
    match rows.iter_mut().find(|known| seq(known) == seq(&row)) {
        Some(known) => *known = row,
        None => rows.push(row),
    }
}
