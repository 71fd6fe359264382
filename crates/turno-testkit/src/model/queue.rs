//! The model's queue groups: reads the rows for a decision and writes its changes.

use super::Rows;
use crate::db::BOTTOM;
use turno::core::audit::Actor;
use turno::core::id::{QueueName, Seq};
use turno::core::queue::{
    Changes, ClaimRead, ClearRead, DeliveryRef, EnqueueRead, Item, ManageRead, Policy, Settle, SettleOutcome, Trace,
};
use turno::core::time::Time;
use turno::store::{
    Claim, ClaimGroup, ClaimOutcome, ClearGroup, EnqueueGroup, ManageGroup, Outcomes, SettleGroup, SettleRead,
    TypingGroup,
};

impl Rows {
    pub(super) fn enqueue(&mut self, group: &EnqueueGroup, now: Time) -> Outcomes {
        let given = group.given_ids().into_iter();
        let mut existing = given.filter_map(|id| Some((id.clone(), self.db.known(&id)?))).collect();
        let outlived = group.take_outlived(&mut existing, now);
        for id in &outlived.absorbed {
            self.db.absorbed.remove(id);
        }
        for (queue, (before, seqs)) in outlived.items {
            self.forget(queue, before, &Actor::system(), seqs, now);
        }
        let front = |(queue, lane, size)| ((queue, lane), self.db.front_items(queue, lane, BOTTOM, size as usize));
        let fronts = group.lanes().into_iter().map(front).collect();
        let numbers = self.numbers(group.numbers());
        let (changes, answers) = group.decide(EnqueueRead { now, numbers, existing, fronts });
        self.write(changes);
        Outcomes::Enqueue(answers)
    }

    pub(super) fn settled(&self, reference: &DeliveryRef) -> Option<SettleOutcome> {
        let (seq, db) = (&reference.seq, &self.db);
        let errors = db.errors.get(seq).map_or(&[][..], Vec::as_slice);
        let came_back = db.came_back.get(seq).map_or(&[][..], Vec::as_slice);
        Trace::find(reference.fence, db.done.get(seq), errors, came_back).settled()
    }

    /// Returns the items handed out before to a claim with the same request id.
    fn requested(&self, group: &ClaimGroup) -> Vec<Item> {
        let Some((instance, request)) = group.request() else {
            return Vec::new();
        };
        let mine = |item: &&Item| {
            let of = self.db.requests.get(&item.seq).is_some_and(|(fence, of)| (*fence, of) == (item.fence, request));
            item.queue == group.queue && item.holder.as_ref() == Some(instance) && of
        };
        self.db.hot.values().filter(mine).cloned().collect()
    }

    pub(super) fn claim(&mut self, group: &ClaimGroup, now: Time) -> Outcomes {
        let before = group.resume(self.requested(group), now);
        if !before.is_empty() {
            let seqs = before.iter().flat_map(|delivery| delivery.items.iter().map(|(seq, _)| *seq));
            let bodies = seqs.map(|seq| (seq, self.db.bodies[&seq].clone())).collect();
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
        let wanted = |seq: &Seq| match &group.claim {
            Claim::Next(_) => true,
            Claim::Item { id, .. } => self.db.bodies[seq].id == *id,
        };
        let most = group.heads();
        let heads = self.db.due(group.queue, now).filter(wanted).take(most).map(|seq| self.db.hot[&seq].clone());
        let heads: Vec<Item> = heads.collect();
        let more = heads.len() >= most;
        let (fronts, typing) = self.db.behind_heads(group, &heads);
        let numbers = self.numbers(most);
        let (changes, deliveries) = group.decide(ClaimRead { queue: group.queue, now, numbers, heads, fronts, typing });
        self.write(changes);
        let seqs = deliveries.iter().flatten().flat_map(|delivery| delivery.items.iter().map(|(seq, _)| *seq));
        let bodies = seqs.map(|seq| (seq, self.db.bodies[&seq].clone())).collect();
        Outcomes::Claim(ClaimOutcome::Claimed { now, deliveries, bodies, more })
    }

    pub(super) fn settle(&mut self, group: &SettleGroup, now: Time) -> Outcomes {
        let load = |settle: &Settle| self.db.load(&settle.reference, true, BOTTOM);
        let loaded = group.settlements.iter().map(load).collect();
        let (changes, answers) = group.decide(SettleRead { now, loaded });
        self.write(changes);
        Outcomes::Settle { now, answers }
    }

    pub(super) fn manage(&mut self, group: &ManageGroup, now: Time) -> Outcomes {
        let seq = self.db.ids.get(&(group.queue, group.id.clone())).copied();
        let numbers = self.numbers(group.numbers());
        let read = ManageRead { now, numbers, ..self.db.read_managed(group, seq) };
        let managed = group.decide(read, self.db.head);
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
            self.db.hot.values().filter(|item| item.queue == id && item.parked).map(|i| i.seq).collect();
        for seq in parked {
            let item = self.db.bodies[&seq].id.clone();
            self.manage(&ManageGroup::release(id, name, policy, item, by), now);
        }
    }

    pub(super) fn clear(&mut self, group: &ClearGroup, now: Time) -> Outcomes {
        let mut front = self.lane_front(group.queue, group.lane, ClearRead::FRONT, now).items;
        front.truncate(ClearRead::FRONT as usize);
        let key = front.first().and_then(|known| known.key.clone());
        let front = front.into_iter().map(|known| known.item).collect();
        let read = ClearRead { now, front, spared: Vec::new() };
        let (changes, cleared) = group.decide(read, key.as_ref(), self.db.head);
        self.write(changes);
        Outcomes::Clear(cleared)
    }

    pub(super) fn typing(&mut self, group: &TypingGroup, now: Time) -> Outcomes {
        let depth = group.depth() as usize;
        let first = |lane| self.db.front_items(group.queue, lane, BOTTOM, depth);
        let fronts = group.lanes().into_iter().map(|lane| (lane, first(lane))).collect();
        let changes = group.decide(fronts, now);
        self.write(changes);
        Outcomes::Typing
    }

    fn write(&mut self, changes: Changes) {
        self.db.write(&changes);
        self.announce(changes.events);
        self.enter(changes.audit);
    }
}
