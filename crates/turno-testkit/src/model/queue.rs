//! The model's queue groups: reads the rows for a decision and writes its changes.

use super::Rows;
use std::collections::HashMap;
use turno::core::audit::Actor;
use turno::core::id::{ItemId, Lane, Numbers, QueueId, QueueName, Seq};
use turno::core::queue::{
    AttemptError, Changes, ClaimRead, ClearRead, DeliveryRef, Ended, EnqueueRead, FrontItem, Item, Kind, Known, Loaded,
    ManageRead, Member, Policy, SettleOutcome, Trace, UncountedDelivery,
};
use turno::core::time::Time;
use turno::store::{
    Claim, ClaimGroup, ClaimOutcome, ClearGroup, EnqueueGroup, ManageGroup, Outcomes, SettleGroup, SettleRead,
    TypingGroup,
};

impl Rows {
    pub(super) fn expired(&self, now: Time, limit: usize) -> (Vec<DeliveryRef>, Option<Time>) {
        let mut reference: Vec<(Time, DeliveryRef)> = Vec::new();
        let mut next: Option<Time> = None;
        for item in self.hot.values() {
            let Some(at) = item.expires_at else { continue };
            if now < at {
                next = Some(next.map_or(at, |next| next.min(at)));
            } else if let Some((_, known)) = reference.iter_mut().find(|(_, known)| known.fence == item.fence) {
                known.size += 1;
            } else {
                let (queue, seq, lane, fence) = (item.queue, item.seq, item.lane, item.fence);
                reference.push((at, DeliveryRef { queue, seq, lane, size: 1, fence }));
            }
        }
        reference.sort_by_key(|(at, reference)| (*at, reference.seq));
        (reference.into_iter().take(limit).map(|(_, reference)| reference).collect(), next)
    }

    pub(super) fn enqueue(&mut self, group: &EnqueueGroup, now: Time) -> Outcomes {
        let given = group.given_ids().into_iter();
        let mut existing = given.filter_map(|id| Some((id.clone(), self.known(&id)?))).collect();
        let outlived = group.take_outlived(&mut existing, now);
        for id in &outlived.absorbed {
            self.absorbed.remove(id);
        }
        for (queue, (before, seqs)) in outlived.items {
            self.forget(queue, before, &Actor::system(), seqs, now);
        }
        let fronts = group.lanes().into_iter().map(|(queue, lane, size)| {
            let front = self.lane(queue, lane).take(size as usize).map(|item| self.front_item(item)).collect();
            ((queue, lane), front)
        });
        let fronts = fronts.collect();
        let numbers = self.numbers(group.numbers());
        let (changes, answers) = group.decide(EnqueueRead { now, numbers, existing, fronts });
        self.write(changes);
        Outcomes::Enqueue(answers)
    }

    pub(super) fn settled(&self, reference: &DeliveryRef) -> Option<SettleOutcome> {
        let errors: Vec<AttemptError> =
            self.errors.iter().filter(|error| error.seq == reference.seq).cloned().collect();
        Trace::find(reference.fence, self.done.get(&reference.seq), &errors, self.came_back(reference.seq)).settled()
    }

    pub(super) fn came_back(&self, seq: Seq) -> &[UncountedDelivery] {
        self.came_back.get(&seq).map_or(&[], Vec::as_slice)
    }

    /// Returns what is stored about an item id.
    fn known(&self, (queue, id): &(QueueId, ItemId)) -> Option<Known> {
        let Some(body) = self.bodies.values().find(|body| body.queue == *queue && body.id == *id) else {
            let of = self.absorbed.get(&(*queue, id.clone()))?;
            return Some(Known::Absorbed { digest: of.digest, at: of.at });
        };
        let done = self.done.get(&body.seq).filter(|done| done.ended != Ended::Exhausted);
        let payload = self.accepted.get(&body.seq).unwrap_or(&body.payload).clone();
        Some(Known::Item { seq: body.seq, key: body.key.clone(), payload, over_at: done.map(|done| done.at) })
    }

    pub(super) fn front_item(&self, item: &Item) -> FrontItem {
        let body = &self.bodies[&item.seq];
        FrontItem { item: item.clone(), id: body.id.clone(), key: body.key.clone() }
    }

    /// Returns the items handed out before to a claim with the same request id.
    fn requested(&self, group: &ClaimGroup) -> Vec<Item> {
        let Some((instance, request)) = group.request() else {
            return Vec::new();
        };
        let mine = |item: &&Item| {
            let of = self.requests.get(&item.seq).is_some_and(|(fence, of)| (*fence, of) == (item.fence, request));
            item.queue == group.queue && item.holder.as_ref() == Some(instance) && of
        };
        self.hot.values().filter(mine).cloned().collect()
    }

    pub(super) fn claim(&mut self, group: &ClaimGroup, now: Time) -> Outcomes {
        let before = group.resume(self.requested(group), now);
        if !before.is_empty() {
            let seqs = before.iter().flat_map(|delivery| delivery.items.iter().map(|(seq, _)| *seq));
            let bodies = seqs.map(|seq| (seq, self.bodies[&seq].clone())).collect();
            return Outcomes::Claim(ClaimOutcome::Claimed { now, deliveries: vec![before], bodies, more: false });
        }
        let Some(row) = self.queues.iter().find(|row| row.id == group.queue) else {
            return Outcomes::Claim(ClaimOutcome::Paused);
        };
        if row.version != group.version {
            return Outcomes::Claim(ClaimOutcome::PolicyChanged);
        }
        if row.paused {
            return Outcomes::Claim(ClaimOutcome::Paused);
        }
        let due = |item: &&Item| item.queue == group.queue && item.ready_at.is_some_and(|at| at <= now);
        let wanted = |item: &&Item| match &group.claim {
            Claim::Next(_) => true,
            Claim::Item { id, .. } => self.bodies[&item.seq].id == *id,
        };
        let mut heads: Vec<Item> = self.hot.values().filter(due).filter(wanted).cloned().collect();
        heads.sort_by_key(|item| (item.ready_at, item.seq));
        let most = group.heads();
        let more = heads.len() >= most;
        heads.truncate(most);
        let mut fronts: HashMap<Lane, Vec<Item>> = HashMap::new();
        let mut typing = HashMap::new();
        for head in heads.iter().filter(|_| group.groups_items()) {
            let Some(lane) = head.lane else { continue };
            let front = self.lane(group.queue, lane).filter(|item| item.seq >= head.seq);
            fronts.insert(lane, front.take(group.policy.batch() as usize).cloned().collect());
            if let Some(at) = self.typing.get(&(group.queue, lane)) {
                typing.insert(lane, *at);
            }
        }
        let numbers = self.numbers(most);
        let (changes, deliveries) = group.decide(ClaimRead { queue: group.queue, now, numbers, heads, fronts, typing });
        self.write(changes);
        let seqs = deliveries.iter().flatten().flat_map(|delivery| delivery.items.iter().map(|(seq, _)| *seq));
        let bodies = seqs.map(|seq| (seq, self.bodies[&seq].clone())).collect();
        Outcomes::Claim(ClaimOutcome::Claimed { now, deliveries, bodies, more })
    }

    pub(super) fn settle(&mut self, group: &SettleGroup, now: Time) -> Outcomes {
        let load = |settle: &turno::core::queue::Settle| {
            let reference = &settle.reference;
            let member = |item: &&Item| {
                item.fence == reference.fence && item.expires_at.is_some() && item.lane == reference.lane
            };
            if self.hot.get(&reference.seq).filter(|item| member(item)).is_none() {
                return Loaded::default();
            }
            let members =
                self.hot.values().filter(|item| item.seq >= reference.seq).filter(member).take(reference.size as usize);
            let members =
                members.map(|item| Member { id: Some(self.bodies[&item.seq].id.clone()), item: item.clone() });
            let next =
                reference.lane.and_then(|lane| self.lane(reference.queue, lane).find(|item| !member(item)).cloned());
            Loaded { members: members.collect(), next }
        };
        let loaded = group.settlements.iter().map(load).collect();
        let (changes, answers) = group.decide(SettleRead { now, loaded });
        self.write(changes);
        Outcomes::Settle { now, answers }
    }

    pub(super) fn manage(&mut self, group: &ManageGroup, now: Time) -> Outcomes {
        let body = self.bodies.values().find(|body| body.queue == group.queue && body.id == group.id);
        let lane =
            body.and_then(|body| body.key.as_ref()).filter(|_| group.policy.kind != Kind::Inbox).map(Lane::from_key);
        let read = ManageRead {
            now,
            item: body.and_then(|body| self.hot.get(&body.seq).cloned()),
            done: body.and_then(|body| self.done.get(&body.seq).cloned()),
            front: match lane {
                Some(lane) => self.lane(group.queue, lane).take(group.front_size() as usize).cloned().collect(),
                None => Vec::new(),
            },
            spared: Vec::new(),
            home: body.map(|body| (lane, body.enqueued_at)),
            body: body.filter(|_| group.wish.edits()).cloned(),
            numbers: Numbers::new(Vec::new()),
        };
        let read = ManageRead { numbers: self.numbers(group.numbers()), ..read };
        let managed = group.decide(read, self.head());
        self.write(managed.changes);
        Outcomes::Manage { answer: managed.answer, expired: managed.expired }
    }

    /// Releases held lanes if the new policy does not hold lanes for exhausted items.
    pub(super) fn release(&mut self, name: &QueueName, policy: &Policy, by: &Actor, now: Time) {
        let Some(queue) = self.queues.iter().find(|queue| queue.name == *name && queue.policy.holds_exhausted()) else {
            return;
        };
        if policy.holds_exhausted() {
            return;
        }
        let id = queue.id;
        let parked: Vec<Seq> =
            self.hot.values().filter(|item| item.queue == id && item.parked).map(|i| i.seq).collect();
        for seq in parked {
            let item = self.bodies[&seq].id.clone();
            self.manage(&ManageGroup::release(id, name, policy, item, by), now);
        }
    }

    pub(super) fn clear(&mut self, group: &ClearGroup, now: Time) -> Outcomes {
        let mut front = self.lane_front(group.queue, group.lane, ClearRead::FRONT, now).items;
        front.truncate(ClearRead::FRONT as usize);
        let key = front.first().and_then(|known| known.key.clone());
        let front = front.into_iter().map(|known| known.item).collect();
        let read = ClearRead { now, front, spared: Vec::new() };
        let (changes, cleared) = group.decide(read, key.as_ref(), self.head());
        self.write(changes);
        Outcomes::Clear(cleared)
    }

    pub(super) fn typing(&mut self, group: &TypingGroup, now: Time) -> Outcomes {
        let depth = group.depth() as usize;
        let first = |lane: Lane| self.lane(group.queue, lane).take(depth).map(|item| self.front_item(item)).collect();
        let fronts = group.lanes().into_iter().map(|lane| (lane, first(lane))).collect();
        let changes = group.decide(fronts, now);
        self.write(changes);
        Outcomes::Typing
    }

    fn write(&mut self, changes: Changes) {
        for seq in changes.undone {
            self.done.remove(&seq);
        }
        self.bodies.extend(changes.bodies.into_iter().map(|body| (body.seq, body)));
        for new in changes.replaced {
            if let Some(body) = self.bodies.get_mut(&new.seq) {
                self.accepted.entry(new.seq).or_insert_with(|| body.payload.clone());
                (body.action, body.payload) = (new.action, new.payload);
            }
        }
        self.absorbed.extend(changes.absorbed.into_iter().map(|of| ((of.queue, of.id.clone()), of)));
        self.hot.extend(changes.insert.into_iter().chain(changes.update).map(|item| (item.seq, item)));
        for seq in changes.remove {
            self.hot.remove(&seq);
        }
        self.done.extend(changes.done.into_iter().map(|done| (done.seq, done)));
        self.errors.extend(changes.errors);
        for back in changes.came_back {
            let kept = self.came_back.entry(back.seq).or_default();
            kept.push(back);
            kept.drain(..kept.len().saturating_sub(UncountedDelivery::KEPT));
        }
        self.requests.extend(changes.requests.into_iter().map(|(seq, fence, request)| (seq, (fence, request))));
        self.events.extend(changes.events);
        self.typing.extend(changes.typing.into_iter().map(|(queue, lane, at)| ((queue, lane), at)));
        for gone in changes.typed {
            self.typing.remove(&gone);
        }
        self.enter(changes.audit);
    }
}
