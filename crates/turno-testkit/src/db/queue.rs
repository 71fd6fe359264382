//! The reads and writes of queue rows that the stores have in SQL.

use super::{BOTTOM, Db};
use std::collections::HashMap;
use turno::store::{ClaimGroup, ManageGroup};
use turno_core::id::{ItemId, Lane, Numbers, QueueId, Seq};
use turno_core::queue::{
    Changes, DeliveryRef, Ended, FrontItem, Item, Kind, Known, Loaded, ManageRead, Member, UncountedDelivery,
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
        self.lane_front(queue, lane, from, size).into_iter().map(|item| self.front_item(item)).collect()
    }

    pub(crate) fn front_item(&self, item: Item) -> FrontItem {
        let body = &self.bodies[&item.seq];
        FrontItem { item, id: body.id.clone(), key: body.key.clone(), bytes: body.payload.len() }
    }

    /// Returns the due heads of a queue in the order of claims.
    pub(crate) fn due(&self, queue: QueueId, now: Time) -> impl Iterator<Item = Seq> {
        let ready = self.ready.get(&queue).into_iter();
        ready.flat_map(move |ready| ready.range(..=(now, Seq(i64::MAX)))).map(|(_, seq)| *seq)
    }

    /// Returns the items behind the heads of a claim and the typing signals, by lane.
    pub(crate) fn behind_heads(
        &self,
        group: &ClaimGroup,
        heads: &[Item],
    ) -> (HashMap<Lane, Vec<Item>>, HashMap<Lane, Time>) {
        let (mut fronts, mut typing) = (HashMap::new(), HashMap::new());
        for head in heads.iter().filter(|_| group.groups_items()) {
            let Some(lane) = head.lane else { continue };
            fronts.insert(lane, self.lane_front(group.queue, lane, head.seq, group.policy.batch() as usize));
            typing.extend(self.typing.get(&(group.queue, lane)).map(|at| (lane, *at)));
        }
        (fronts, typing)
    }

    /// Returns the payload sizes of heads and of the items behind them.
    pub(crate) fn payload_sizes(&self, heads: &[Item], fronts: &HashMap<Lane, Vec<Item>>) -> HashMap<Seq, usize> {
        let items = heads.iter().chain(fronts.values().flatten());
        items.map(|item| (item.seq, self.bodies[&item.seq].payload.len())).collect()
    }

    /// Returns what is stored about an item id.
    pub(crate) fn known(&self, id: &(QueueId, ItemId)) -> Option<Known> {
        let Some(&seq) = self.ids.get(id) else {
            return self.absorbed.get(id).map(|of| Known::Absorbed { digest: of.digest, at: of.at });
        };
        let body = &self.bodies[&seq];
        let payload = self.accepted.get(&seq).unwrap_or(&body.payload).clone();
        let over = self.done.get(&seq).filter(|done| done.ended != Ended::Exhausted);
        Some(Known::Item { seq, key: body.key.clone(), payload, over_at: over.map(|done| done.at) })
    }

    /// Returns the lane of an item that a call names by its id.
    pub(crate) fn home(&self, group: &ManageGroup, seq: Option<Seq>) -> Option<Lane> {
        if group.policy.kind == Kind::Inbox {
            return None;
        }
        Some(Lane::from_key(self.bodies[&seq?].key.as_ref()?))
    }

    /// Reads an item for a manager's command, without the time and the numbers.
    pub(crate) fn read_managed(&self, group: &ManageGroup, seq: Option<Seq>) -> ManageRead {
        let lane = self.home(group, seq);
        let front = |lane| self.lane_front(group.queue, lane, BOTTOM, group.front_size() as usize);
        let body = seq.map(|seq| &self.bodies[&seq]);
        ManageRead {
            now: Time::default(),
            item: seq.and_then(|seq| self.hot.get(&seq).cloned()),
            done: seq.and_then(|seq| self.done.get(&seq).cloned()),
            front: lane.map_or_else(Vec::new, front),
            spared: Vec::new(),
            home: body.map(|body| (lane, body.enqueued_at)),
            body: body.filter(|_| group.wish.edits()).cloned(),
            numbers: Numbers::new(Vec::new()),
        }
    }

    /// Loads a delivery and the first item of its lane, from a sequence number on, that is not part of it.
    pub(crate) fn load(&self, reference: &DeliveryRef, named: bool, from: Seq) -> Loaded {
        let is_member =
            |item: &Item| item.fence == reference.fence && item.expires_at.is_some() && item.lane == reference.lane;
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

    /// Returns expired deliveries, named as a sweeper names them, and the next expiry after `now`.
    pub(crate) fn expired(&self, now: Time, limit: usize) -> (Vec<DeliveryRef>, Option<Time>) {
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
        let next = self.expiring.range((now, Seq(i64::MAX))..).next();
        (found, next.map(|(at, _)| *at))
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
        for (seq, fence, request) in &changes.requests {
            self.requests.insert(*seq, (*fence, request.clone()));
        }
        for (queue, lane, at) in &changes.typing {
            self.typing.insert((*queue, *lane), *at);
        }
        for lane in &changes.typed {
            self.typing.remove(lane);
        }
        self.follow(&changes.audit);
    }

    /// Removes finished items.
    pub(crate) fn forget(&mut self, seqs: &[Seq]) {
        for seq in seqs {
            if let Some(body) = self.bodies.remove(seq) {
                self.ids.remove(&(body.queue, body.id));
            }
            self.done.remove(seq);
            self.accepted.remove(seq);
            self.errors.remove(seq);
            self.came_back.remove(seq);
        }
    }

    fn put(&mut self, item: &Item) {
        self.unindex(item.seq);
        if let Some(at) = item.ready_at {
            self.ready.entry(item.queue).or_default().insert((at, item.seq));
        }
        if let Some(at) = item.expires_at {
            self.expiring.insert((at, item.seq));
            let members = self.handed_out.entry(item.fence).or_default();
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
            if let (Some(at), Some(ready)) = (known.ready_at, self.ready.get_mut(&known.queue)) {
                ready.remove(&(at, seq));
            }
            if let Some(at) = known.expires_at {
                self.expiring.remove(&(at, seq));
            }
        }
    }
}
