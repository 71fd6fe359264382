//! The model's queue groups: reads the rows for a decision and writes its changes.

use super::Rows;
use crate::db::BOTTOM;
use turno::core::audit::Actor;
use turno::core::id::{QueueId, Seq};
use turno::core::queue::{
    Changes, ClaimRead, ClearRead, DeliveryRef, Done, Ended, EnqueueRead, HandedOut, Item, ManageRead, Settle, Trace,
};
use turno::core::time::Time;
use turno::store::{
    Claim, ClaimGroup, ClaimOutcome, ClearGroup, EnqueueGroup, ManageGroup, Outcomes, PauseQueue, PutDecision,
    PutQueue, QueueRow, SettleGroup, SettleRead, StoreError, TypingGroup, purge_entry,
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
            let forgotten = self.forget(queue, before, Actor::system(), seqs, now);
            forgotten.expect("the queue of a known item exists");
        }
        let front = |(queue, lane, size)| ((queue, lane), self.db.front_items(queue, lane, BOTTOM, size as usize));
        let fronts = group.lanes().into_iter().map(front).collect();
        let numbers = self.numbers(group.numbers());
        let (changes, answers) = group.decide(EnqueueRead { now, numbers, existing, fronts });
        self.write(changes);
        Outcomes::Enqueue(answers)
    }

    pub(super) fn settled(&self, reference: &DeliveryRef) -> Trace {
        let (seq, db) = (&reference.seq, &self.db);
        let errors = db.errors.get(seq).map_or(&[][..], Vec::as_slice);
        let came_back = db.came_back.get(seq).map_or(&[][..], Vec::as_slice);
        Trace::find(reference.fence, db.done.get(seq), errors, came_back)
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
        let row = self.queues.iter().find(|row| row.id == group.queue);
        if let Some(outcome) = group.gate(row.map(|row| (row.version, row.paused))) {
            return Outcomes::Claim(outcome);
        }
        let wanted = |seq: &Seq| match &group.claim {
            Claim::Next(_) => true,
            Claim::Item { id, .. } => self.db.bodies[seq].id == *id,
        };
        let most = group.heads();
        let heads = self.db.due(group.queue, now).filter(wanted).take(most).map(|seq| self.db.hot[&seq].clone());
        let heads: Vec<Item> = heads.collect();
        let more = group.is_more(heads.len());
        let (fronts, typing) = self.db.behind_heads(group, &heads);
        let numbers = self.numbers(most);
        let bytes = self.db.payload_sizes(&heads, &fronts);
        let read = ClaimRead { queue: group.queue, now, numbers, heads, fronts, typing, bytes };
        let HandedOut { changes, deliveries, left } = group.decide(read);
        self.write(changes);
        let seqs = deliveries.iter().flatten().flat_map(|delivery| delivery.items.iter().map(|(seq, _)| *seq));
        let bodies = seqs.map(|seq| (seq, self.db.bodies[&seq].clone())).collect();
        Outcomes::Claim(ClaimOutcome::Claimed { now, deliveries, bodies, more: more || left })
    }

    pub(super) fn settle(&mut self, group: &SettleGroup, now: Time) -> Outcomes {
        let load = |settle: &Settle| self.db.load(&settle.reference, true, BOTTOM);
        let loaded = group.settlements.iter().map(load).collect();
        let read = SettleRead { now, loaded, head: Some(self.db.head) };
        let (changes, answers) = group.decide(read);
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

    pub(super) fn put_queue(&mut self, put: &PutQueue, by: Actor, now: Time) -> Result<Option<QueueRow>, StoreError> {
        let index = self.queues.iter().position(|row| row.name == put.name);
        let stored = index.map(|index| &self.queues[index]);
        let busy = stored.is_some_and(|row| {
            let exhausted = |done: &Done| done.queue == row.id && done.ended == Ended::Exhausted;
            self.db.hot.values().any(|item| item.queue == row.id) || self.db.done.values().any(exhausted)
        });
        let change = match put.decide(stored, busy, by.clone())? {
            PutDecision::Late => return Ok(None),
            PutDecision::Unchanged => return Ok(stored.cloned()),
            PutDecision::Change(change) => change,
        };
        let (name, policy, push) = (put.name.clone(), put.policy.clone(), change.push);
        if let Some(row) = stored.cloned() {
            if change.releases {
                self.release(row.id, put, &by, now);
            }
            if change.looks_again {
                let waiting = |item: &&Item| item.queue == row.id && item.ready_at > Some(item.not_before);
                let due = |item: &Item| Item { ready_at: Some(item.not_before), ..item.clone() };
                let update = self.db.hot.values().filter(waiting).map(due).collect();
                self.write(Changes { update, ..Changes::default() });
            }
        }
        let index = index.unwrap_or_else(|| {
            let id = QueueId(self.queues.len() as i32 + 1);
            let (policy, push) = (policy.clone(), None);
            self.queues.push(QueueRow { id, name, policy, version: 0, paused: false, purged: 0, push });
            self.queues.len() - 1
        });
        let row = &mut self.queues[index];
        row.version += 1;
        (row.policy, row.push) = (policy, push);
        let row = row.clone();
        self.note(now, change.audit);
        Ok(Some(row))
    }

    pub(super) fn pause_queue(&mut self, pause: &PauseQueue, now: Time) -> Result<(), StoreError> {
        let row = self.queues.iter_mut().find(|row| row.id == pause.queue);
        let entry = pause.decide(row.as_ref().map(|row| row.name.as_str()))?;
        row.into_iter().for_each(|row| row.paused = pause.paused);
        self.note(now, entry);
        Ok(())
    }

    /// Releases lanes that exhausted items hold.
    fn release(&mut self, queue: QueueId, put: &PutQueue, by: &Actor, now: Time) {
        let parked: Vec<Seq> =
            self.db.hot.values().filter(|item| item.queue == queue && item.parked).map(|i| i.seq).collect();
        for seq in parked {
            let item = self.db.bodies[&seq].id.clone();
            self.manage(&ManageGroup::release(queue, &put.name, &put.policy, item, by), now);
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

    /// Removes finished items, counts them and adds an audit entry.
    fn forget(&mut self, queue: QueueId, before: Time, by: Actor, seqs: Vec<Seq>, now: Time) -> Result<(), StoreError> {
        let row = self.queues.iter_mut().find(|row| row.id == queue);
        let entry = purge_entry(by, row.as_ref().map(|row| row.name.as_str()), seqs.len() as i64, before)?;
        row.into_iter().for_each(|row| row.purged += seqs.len() as i64);
        self.db.forget(&seqs);
        entry.into_iter().for_each(|entry| self.note(now, entry));
        Ok(())
    }
}
