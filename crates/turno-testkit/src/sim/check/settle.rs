//! Invariants of settlements and of expired deliveries.

use super::model::{Is, Queues};
use super::{Checked, Commit, Fault, fault};
use crate::sim::message::{Ask, Reply};
use turno::store::ManageGroup;
use turno_core::id::{Fence, Seq};
use turno_core::queue::{
    Act, Changes, DeliveryRef, Done, Ended, Item, Kind, ManageAnswer, OnExhausted, Settle, SettleOutcome, Settler,
    UncountedDelivery,
};
use turno_core::time::Time;

/// The effect of a settlement on one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Processed,
    /// Waits again, and the attempt is not counted.
    Back,
    /// Changed during the delivery and queued again.
    Superseded,
    Failed,
}

fn exhausted(row: &Item) -> Done {
    let (seq, queue, at, fence) = (row.seq, row.queue, row.not_before, row.fence);
    let (attempt, revision) = (row.attempt, row.handed);
    Done { seq, queue, ended: Ended::Exhausted, at, attempt, fence, revision, holder: None, handed_at: None }
}

impl Queues<'_> {
    pub(super) fn settled(&mut self, commit: &Commit<'_>, changes: &Changes, settled: &mut Vec<Fence>) -> Checked {
        // A group settles before it renews: a settled delivery needs no renewal.
        for beats in [false, true] {
            for (call, reply) in commit.calls.iter().zip(commit.replies) {
                let (Ask::Settle(settle), Reply::Settle(outcome)) = (&call.ask, reply) else {
                    continue;
                };
                let its_turn = matches!(settle.act, Act::Beat) == beats;
                if its_turn && self.settle(settle, outcome, commit.now, changes)? {
                    settled.push(settle.reference.fence);
                }
            }
        }
        Ok(())
    }

    /// Checks one settlement and applies it to the model. Returns whether it ended the delivery.
    fn settle(
        &mut self,
        settle: &Settle,
        outcome: &SettleOutcome,
        now: Time,
        changes: &Changes,
    ) -> Result<bool, Fault> {
        let fence = settle.reference.fence;
        let name = self.name(settle.reference.seq);
        let delivered = self.deliveries.get(&fence);
        let delivered = delivered.filter(|known| known.open && known.members[0] == settle.reference.seq);
        let expire = settle.act == Act::Expire;
        let in_time = delivered.is_some_and(|known| (known.until <= now) == expire);
        let until = delivered.map(|known| known.until);
        if !in_time || *outcome == SettleOutcome::Stale {
            if !in_time && *outcome == SettleOutcome::Stale {
                return Ok(false);
            }
            let id = if expire { "Q7" } else { "Q6" };
            let text = format!("{:?} of fence {} (until {until:?}) at {} was {outcome:?}", settle.act, fence.0, now.0);
            return fault(id, name, text);
        }
        let Some(delivered) = delivered else {
            return Ok(false);
        };
        let members = delivered.members.clone();
        if let SettleOutcome::Renewed { expires_at, limited_by } = outcome {
            let latest = settle.policy.max_hold.map(|hold| delivered.since + hold);
            let beat = settle.act == Act::Beat;
            let wrong_limit = limited_by.is_some() && (latest.is_none() || until != Some(*expires_at));
            if !beat || Some(*expires_at) < until || latest.is_some_and(|latest| *expires_at > latest) || wrong_limit {
                return fault("Q6", name, format!("{:?} was {outcome:?} after {until:?}", settle.act));
            }
            if let Some(delivered) = self.deliveries.get_mut(&fence) {
                delivered.until = *expires_at;
            }
            return Ok(false);
        }
        let named = match &settle.act {
            Act::Ack { through: Some(id) } | Act::Fail { item: Some(id), .. } => {
                let index = members.iter().position(|seq| self.items[seq].id == *id);
                match (index, outcome) {
                    (None, SettleOutcome::NotInDelivery) => return Ok(false),
                    (None, _) | (Some(_), SettleOutcome::NotInDelivery) => {
                        return fault("Q6", name, format!("{id} at {index:?} was {outcome:?}"));
                    }
                    (Some(index), _) => Some(index),
                }
            }
            _ => None,
        };
        let mut fates = Vec::with_capacity(members.len());
        for (index, seq) in members.iter().enumerate() {
            let fate = self.fate(&settle.act, *seq, index, named);
            self.meet(*seq, fate, settle, members.len(), named, changes)?;
            fates.push(fate);
        }
        self.reopened(&settle.act, settle.policy.kind, &members, &fates);
        let right = match outcome {
            SettleOutcome::Acked => !fates.contains(&Fate::Superseded),
            SettleOutcome::Superseded => fates.contains(&Fate::Superseded),
            SettleOutcome::Retrying { .. } | SettleOutcome::Exhausted => fates.contains(&Fate::Failed),
            SettleOutcome::Returned => settle.act == Act::Return { error: None },
            SettleOutcome::Expired => expire,
            _ => false,
        };
        if !right {
            return fault("Q6", name, format!("{:?} was answered {outcome:?}, but did {fates:?}", settle.act));
        }
        if let Some(delivered) = self.deliveries.get_mut(&fence) {
            delivered.open = false;
            delivered.settled = (!expire).then(|| (settle.act.clone(), outcome.clone()));
        }
        Ok(true)
    }

    /// Takes back the expired delivery of the item's lane, as the engine does before it manages the item.
    pub(super) fn taken_back(
        &mut self,
        group: &ManageGroup,
        seq: Seq,
        commit: &Commit<'_>,
        changes: &Changes,
    ) -> Result<Option<Fence>, Fault> {
        let lane = self.items.get(&seq).and_then(|item| self.lanes.get(&(item.queue, item.key.clone()?)));
        let reference = |seq: &Seq| match self.items.get(seq)?.is {
            Is::HandedOut(fence) => Some(fence),
            _ => None,
        };
        let fence = lane.into_iter().flat_map(|lane| &lane.open).chain([&seq]).find_map(reference);
        let over = fence.and_then(|fence| Some((fence, self.deliveries.get(&fence)?)));
        let Some((fence, delivered)) = over.filter(|(_, known)| known.until <= commit.now) else {
            return Ok(None);
        };
        let (first, size) = (delivered.members[0], delivered.members.len() as u32);
        // The expiry is checked alone, without the change that the call asked for.
        let mut changes = changes.clone();
        changes.done.retain(|done| done.ended != Ended::Cancelled);
        let spent = delivered.members.contains(&seq) && self.items[&seq].attempts >= group.policy.max_attempts;
        let retried = matches!(commit.replies[0], Reply::Manage(Ok(ManageAnswer::Retried)));
        if spent && retried && !group.policy.holds_exhausted() {
            // The item was exhausted and retried in the same commit, so its end was never written.
            changes.done.extend(changes.update.iter().filter(|row| row.seq == seq).map(exhausted));
        }
        let reference = DeliveryRef { queue: group.queue, seq: first, lane: None, size, fence };
        let settle = Settle { reference, policy: group.policy.clone(), act: Act::Expire, by: Settler::Server };
        let settled = self.settle(&settle, &SettleOutcome::Expired, commit.now, &changes)?;
        Ok(settled.then_some(fence))
    }

    /// Marks the items that come back untried from their first delivery as fresh.
    fn reopened(&mut self, act: &Act, kind: Kind, members: &[Seq], fates: &[Fate]) {
        let left: Vec<Seq> =
            members.iter().zip(fates).filter(|(_, fate)| **fate == Fate::Back).map(|(seq, _)| *seq).collect();
        let untried = left.iter().all(|seq| self.items[seq].group == self.items[seq].fence);
        if kind == Kind::Lane && untried && matches!(act, Act::Return { .. } | Act::Ack { .. }) {
            for seq in left {
                if let Some(item) = self.items.get_mut(&seq) {
                    item.group = Fence(0);
                }
            }
        }
    }

    fn fate(&self, act: &Act, seq: Seq, index: usize, named: Option<usize>) -> Fate {
        let item = &self.items[&seq];
        let changed = item.revision > item.handed;
        let behind = named.is_some_and(|named| index > named);
        let before = named.is_some_and(|named| index < named);
        match act {
            Act::Return { .. } => Fate::Back,
            Act::Ack { .. } | Act::Fail { .. } if behind => Fate::Back,
            Act::Fail { .. } if before => Fate::Processed,
            _ if changed => Fate::Superseded,
            Act::Ack { .. } => Fate::Processed,
            _ => Fate::Failed,
        }
    }

    fn meet(
        &mut self,
        seq: Seq,
        fate: Fate,
        settle: &Settle,
        size: usize,
        named: Option<usize>,
        changes: &Changes,
    ) -> Checked {
        let name = self.name(seq);
        let policy = &settle.policy;
        let done = changes.done.iter().find(|done| done.seq == seq).map(|done| done.ended);
        let Some(item) = self.items.get_mut(&seq) else {
            return Ok(());
        };
        match fate {
            Fate::Processed => match done {
                Some(Ended::Processed) => {
                    let (change, home) = (item.handed_change, item.key.clone().map(|key| (item.queue, key)));
                    self.now_is(seq, Is::Done(Ended::Processed));
                    if let Some(lane) = home.and_then(|home| self.lanes.get_mut(&home)) {
                        lane.delivered = lane.delivered.max(change);
                    }
                    Ok(())
                }
                _ => fault("Q5", name, "the item was acked, and has no finished row"),
            },
            Fate::Back | Fate::Superseded if done.is_some() => {
                let id = if fate == Fate::Superseded { "S2" } else { "Q6" };
                fault(id, name, format!("finished as {done:?}, although it must be queued again"))
            }
            Fate::Back => {
                item.attempts = item.attempts.saturating_sub(1);
                item.is = if item.attempts > 0 { Is::Tried } else { Is::Waiting };
                Ok(())
            }
            Fate::Superseded => {
                item.attempts = 0;
                item.is = Is::Waiting;
                Ok(())
            }
            Fate::Failed => {
                let error = |error: &turno_core::queue::AttemptError| error.seq == seq && error.fence == item.fence;
                if !changes.errors.iter().any(error) {
                    return fault("Q9", name, "a failed attempt left no error");
                }
                let gives_up = matches!(settle.act, Act::Fail { give_up: true, .. });
                if !gives_up && item.attempts < policy.max_attempts {
                    item.is = if settle.act == Act::Expire { Is::Tried } else { Is::Failed };
                    return match done {
                        None => Ok(()),
                        Some(_) => fault("Q17", name, format!("{done:?} after {} attempts", item.attempts)),
                    };
                }
                if !gives_up && size > 1 && named.is_none() {
                    return fault("Q17", name, format!("exhausted together with {} others", size - 1));
                }
                let stays =
                    policy.kind == Kind::Sync || policy.kind == Kind::Lane && policy.on_exhausted == OnExhausted::Hold;
                let is = if stays { Is::Parked } else { Is::Done(Ended::Exhausted) };
                if done != (!stays).then_some(Ended::Exhausted) {
                    return fault("Q8", name, format!("no attempt is left, and the item is {done:?}"));
                }
                self.now_is(seq, is);
                Ok(())
            }
        }
    }

    /// Checks that a repeated settlement gets the same answer while the item is unchanged. The answer of a returned or
    /// superseded delivery is kept longer, for the newest few deliveries.
    pub(super) fn repeated(&self, settle: &Settle, known: Option<&SettleOutcome>) -> Checked {
        let name = self.name(settle.reference.seq);
        let delivered = self.deliveries.get(&settle.reference.fence);
        let delivered = delivered.filter(|delivered| delivered.members[0] == settle.reference.seq);
        let first = delivered.and_then(|delivered| delivered.settled.as_ref());
        let untouched = delivered.is_some_and(|delivered| delivered.versions == self.versions(settle.reference.fence));
        match (first, known) {
            (Some((act, _)), _) if *act != settle.act => Ok(()),
            (Some((_, outcome)), Some(known)) if known == outcome => Ok(()),
            (Some((_, outcome)), None) if !untouched && !self.must_be_known(settle, outcome) => Ok(()),
            (None, None) => Ok(()),
            (first, known) => fault("Q16", name, format!("{first:?} was repeated and answered {known:?}")),
        }
    }

    /// Returns whether the answer must still be known: a returned or superseded delivery with few later ones.
    fn must_be_known(&self, settle: &Settle, outcome: &SettleOutcome) -> bool {
        let (seq, fence) = (settle.reference.seq, settle.reference.fence);
        let since = self.deliveries.iter().filter(|(later, of)| **later > fence && of.members.contains(&seq));
        matches!(outcome, SettleOutcome::Returned | SettleOutcome::Superseded)
            && since.count() < UncountedDelivery::KEPT
    }
}
