//! The reads and writes of queue rows that the stores have in SQL.

use super::Db;
use crate::sim::sabotage::Bug;
use turno::store::Counts;
use turno_core::id::{ItemId, Lane, QueueId, Seq};
use turno_core::queue::{
    Changes, DeliveryRef, Ended, FrontItem, Item, ItemState, Known, Last, Loaded, Member, SettleOutcome,
    UncountedDelivery,
};
use turno_core::time::Time;

impl Db {
    /// Returns the first items of a lane, from a sequence number on.
    pub(crate) fn lane_front(&self, queue: QueueId, lane: Lane, from: Seq, size: usize) -> Vec<Item> {
        let Some(seqs) = self.lanes.get(&(queue, lane)) else {
            return Vec::new();
        };
        seqs.range(from..).take(size).filter_map(|seq| self.hot.get(seq).cloned()).collect()
    }

    /// Returns the heads among a lane's first items. A lock on them excludes claims.
    pub(crate) fn lane_heads(&self, queue: QueueId, lane: Lane, from: Seq, size: usize) -> Vec<Seq> {
        let Some(seqs) = self.lanes.get(&(queue, lane)) else {
            return Vec::new();
        };
        let heads = seqs.range(from..).take(size).copied();
        heads.filter(|seq| self.hot.get(seq).is_some_and(|item| item.ready_at.is_some())).collect()
    }

    pub(crate) fn front_items(&self, queue: QueueId, lane: Lane, from: Seq, size: usize) -> Vec<FrontItem> {
        let named = |item: Item| {
            let body = &self.bodies[&item.seq];
            FrontItem { item, id: body.id.clone(), key: body.key.clone() }
        };
        self.lane_front(queue, lane, from, size).into_iter().map(named).collect()
    }

    /// Returns what is stored about the id of an item.
    pub(crate) fn known_item(&self, seq: Seq) -> Known {
        let body = &self.bodies[&seq];
        let payload = self.accepted.get(&seq).unwrap_or(&body.payload).clone();
        let over = self.done.get(&seq).filter(|done| done.ended != Ended::Exhausted);
        Known::Item { seq, key: body.key.clone(), payload, over_at: over.map(|done| done.at) }
    }

    /// Loads a delivery and the first item of its lane, from a sequence number on, that is not part of it.
    pub(crate) fn load(&self, reference: &DeliveryRef, named: bool, from: Seq) -> Loaded {
        let is_member = |item: &Item| item.fence == reference.fence && item.expires_at.is_some();
        let Some(first) = self.hot.get(&reference.seq).filter(|item| is_member(item)) else {
            return Loaded::default();
        };
        let member = |item: Item| Member { id: named.then(|| self.bodies[&item.seq].id.clone()), item };
        let Some(lane) = reference.lane else {
            return Loaded { members: vec![member(first.clone())], next: None };
        };
        let members: Vec<Member> = self
            .lane_front(reference.queue, lane, reference.seq, usize::MAX)
            .into_iter()
            .filter(is_member)
            .take(reference.size as usize)
            .map(member)
            .collect();
        let others = self.lanes.get(&(reference.queue, lane));
        let is_other = |seq: &&Seq| !members.iter().any(|member| member.item.seq == **seq);
        let next = others.and_then(|seqs| seqs.range(from..).find(is_other));
        Loaded { next: next.and_then(|seq| self.hot.get(seq).cloned()), members }
    }

    /// Returns expired deliveries, named as a sweeper names them.
    pub(crate) fn expired(&self, now: Time, limit: usize) -> Vec<DeliveryRef> {
        let mut found: Vec<DeliveryRef> = Vec::new();
        for (_, seq) in self.expiring.range(..=(now, Seq(i64::MAX))) {
            let item = &self.hot[seq];
            let full = found.len() == limit;
            match found.iter_mut().find(|known| known.fence == item.fence) {
                Some(known) => {
                    known.seq = known.seq.min(*seq);
                    known.size += 1;
                }
                // The other items of a found delivery may come later, and the name must cover all of them.
                None if full => {}
                None => found.push(DeliveryRef {
                    queue: item.queue,
                    seq: *seq,
                    lane: item.lane,
                    size: 1,
                    fence: item.fence,
                }),
            }
        }
        found
    }

    /// Returns how a delivery ended, as far as its rows still show it.
    ///
    /// It reads every item and returns `None` once the failed one has moved on. Reading only the first item would
    /// take a failure in the middle of a group for an ack.
    pub(crate) fn settled(&self, reference: &DeliveryRef) -> Option<SettleOutcome> {
        let members = self.reference.get(&reference.fence).filter(|seqs| seqs.first() == Some(&reference.seq))?;
        let mut failed = None;
        for seq in members {
            let errors = self.errors.get(seq);
            let Some(error) = errors.and_then(|all| all.iter().find(|error| error.fence == reference.fence)) else {
                continue;
            };
            if error.is_expiry() {
                return None;
            }
            let outcome = match (self.hot.get(seq), self.done.get(seq)) {
                (Some(item), _) if item.fence != reference.fence || item.expires_at.is_some() => {
                    return None;
                }
                (Some(item), _) if item.parked => SettleOutcome::Exhausted,
                (Some(item), _) if item.last == Last::Failed => SettleOutcome::Retrying { retry_at: item.not_before },
                (None, Some(done)) if done.fence == reference.fence && done.ended == Ended::Exhausted => {
                    SettleOutcome::Exhausted
                }
                _ => return None,
            };
            if failed.is_none() || failed == Some(SettleOutcome::Exhausted) {
                failed = Some(outcome);
            }
        }
        if failed.is_some() {
            return failed;
        }
        let back = |seq: &Seq, how| {
            let all = self.came_back.get(seq).into_iter().flatten();
            all.filter(|back| back.fence == reference.fence).any(|back| back.how == how)
        };
        if members.iter().any(|seq| back(seq, Last::Superseded)) {
            return Some(SettleOutcome::Superseded);
        }
        match self.done.get(&reference.seq) {
            Some(done) if done.fence == reference.fence && done.ended == Ended::Processed => Some(SettleOutcome::Acked),
            _ => back(&reference.seq, Last::Returned).then_some(SettleOutcome::Returned),
        }
    }

    /// Returns whether the first item of the delivery was not handed out again since.
    pub(crate) fn was_last(&self, reference: &DeliveryRef) -> bool {
        self.hot.get(&reference.seq).is_some_and(|item| item.fence == reference.fence)
    }

    /// Returns whether a commit would store an id twice in a queue.
    pub(crate) fn clashes(&self, changes: &Changes) -> bool {
        let absorbed = |queue: QueueId, id: &ItemId| self.absorbed.contains_key(&(queue, id.clone()));
        changes.bodies.iter().any(|body| self.ids.contains_key(&(body.queue, body.id.clone())))
            || changes.absorbed.iter().any(|of| absorbed(of.queue, &of.id))
    }

    pub(crate) fn write(&mut self, changes: &Changes) {
        for body in &changes.bodies {
            self.ids.insert((body.queue, body.id.clone()), body.seq);
            self.bodies.insert(body.seq, body.clone());
        }
        for body in &changes.replaced {
            if let Some(before) = self.bodies.insert(body.seq, body.clone()) {
                self.accepted.entry(body.seq).or_insert(before.payload);
            }
        }
        for of in &changes.absorbed {
            self.absorbed.insert((of.queue, of.id.clone()), of.clone());
        }
        for item in changes.insert.iter().chain(&changes.update) {
            self.put(item);
        }
        for seq in &changes.remove {
            self.take_out(*seq);
        }
        for seq in &changes.undone {
            self.done.remove(seq);
            self.rebirth += 1;
        }
        for done in &changes.done {
            self.done.insert(done.seq, done.clone());
        }
        for error in &changes.errors {
            self.errors.entry(error.seq).or_default().push(error.clone());
        }
        for back in &changes.came_back {
            let kept = self.came_back.entry(back.seq).or_default();
            kept.push(back.clone());
            kept.drain(..kept.len().saturating_sub(UncountedDelivery::KEPT));
        }
        for (queue, lane, at) in &changes.typing {
            self.typing.insert((*queue, *lane), *at);
        }
        for lane in &changes.typed {
            self.typing.remove(lane);
        }
    }

    fn put(&mut self, item: &Item) {
        self.unindex(item.seq);
        let queue = item.queue.0 as usize;
        if let Some(at) = item.ready_at {
            self.ready[queue].insert((at, item.seq));
        }
        if let Some(at) = item.expires_at {
            self.expiring.insert((at, item.seq));
            let members = self.reference.entry(item.fence).or_default();
            if !members.contains(&item.seq) {
                members.push(item.seq);
            }
        }
        if let Some(lane) = item.lane {
            self.lanes.entry((item.queue, lane)).or_default().insert(item.seq);
        }
        self.hot.insert(item.seq, item.clone());
    }

    fn take_out(&mut self, seq: Seq) {
        self.unindex(seq);
        if let Some(item) = self.hot.remove(&seq)
            && let Some(lane) = item.lane
            && let Some(seqs) = self.lanes.get_mut(&(item.queue, lane))
        {
            seqs.remove(&seq);
        }
    }

    fn unindex(&mut self, seq: Seq) {
        if let Some(known) = self.hot.get(&seq) {
            if let Some(at) = known.ready_at {
                self.ready[known.queue.0 as usize].remove(&(at, seq));
            }
            if let Some(at) = known.expires_at {
                self.expiring.remove(&(at, seq));
            }
        }
    }

    /// Counts the rows, as the stores do.
    pub(crate) fn counts(&self, queue: QueueId, bug: Option<Bug>) -> Counts {
        let mut counts = Counts::default();
        for item in self.hot.values().filter(|item| item.queue == queue) {
            // Evaluated before any expiry: a delivery that was not taken back counts as in process.
            let count = match item.state(Time(i64::MIN)) {
                ItemState::Exhausted => &mut counts.exhausted,
                ItemState::InProcess => &mut counts.in_process,
                ItemState::Error if bug != Some(Bug::CountsWrong) => &mut counts.error,
                _ => &mut counts.pending,
            };
            *count += 1;
        }
        for done in self.done.values().filter(|done| done.queue == queue) {
            let count = match done.ended {
                Ended::Processed => &mut counts.processed,
                Ended::Exhausted => &mut counts.exhausted,
                Ended::Cancelled => &mut counts.cancelled,
            };
            *count += 1;
        }
        counts
    }
}
