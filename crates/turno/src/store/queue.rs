//! Groups of queue commands and their decisions.

mod change;

pub use change::{PauseQueue, Push, PushChange, PutChange, PutDecision, PutQueue, QueueRow, purge_entry};

use super::Pending;
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use turno_core::audit::{Actor, AuditAction, Draft, Head, chain};
use turno_core::id::{ItemId, Key, Lane, QueueId, QueueName, Seq};
use turno_core::limits::{CLAIM_HEADS_MAX, PROBE_HEADS};
use turno_core::queue::{
    Accepted, Act, Body, Changes, ClaimRead, ClaimRequest, Delivery, DeliveryRef, Enqueue, EnqueueRead, FrontItem,
    HandedOut, Item, Kind, Known, Loaded, Policy, Settle, SettleOutcome, WorkerName, enqueue, hand_out, resume, settle,
    typing,
};
use turno_core::time::Time;

/// Bodies of handed-out items, by seq.
pub type Bodies = HashMap<Seq, Body>;

/// Enqueue calls that are decided together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnqueueGroup {
    /// In the order of arrival.
    pub calls: Vec<Enqueue>,
}

impl EnqueueGroup {
    /// Returns the lanes to lock, each once, with how many front items to read.
    pub fn lanes(&self) -> Vec<(QueueId, Lane, u32)> {
        let mut lanes: Vec<_> = self
            .calls
            .iter()
            .filter(|call| call.policy.kind.needs_key())
            .flat_map(|call| {
                let size = Enqueue::front_size(&call.policy);
                call.items.iter().filter_map(move |item| Some((call.queue, Lane::from_key(item.key.as_ref()?), size)))
            })
            .collect();
        // If two calls carry different policies of the same queue, the larger front serves both.
        lanes.sort_by_key(|(queue, lane, size)| (*queue, *lane, Reverse(*size)));
        lanes.dedup_by_key(|(queue, lane, _)| (*queue, *lane));
        lanes
    }

    /// Returns the queues that items are added to.
    pub fn queues(&self) -> Vec<QueueId> {
        let mut queues: Vec<QueueId> = self.calls.iter().map(|call| call.queue).collect();
        queues.sort_unstable();
        queues.dedup();
        queues
    }

    /// Returns the ids that callers gave, which may have been accepted before.
    pub fn given_ids(&self) -> Vec<(QueueId, ItemId)> {
        let given = |call: &Enqueue| {
            let queue = call.queue;
            let ids: Vec<_> =
                call.items.iter().filter(|item| item.id_given).map(|item| (queue, item.id.clone())).collect();
            ids
        };
        self.calls.iter().flat_map(given).collect()
    }

    /// Returns whether the items need no read before they are written: inbox items with ids that the engine generated.
    pub fn needs_no_read(&self) -> bool {
        let alone = |call: &Enqueue| call.policy.kind == Kind::Inbox && call.items.iter().all(|item| !item.id_given);
        self.numbers() > 0 && self.calls.iter().all(alone)
    }

    /// Returns the group with all ids marked as given by callers, so that a repeat of the group finds its own items.
    pub fn with_ids_given(&self) -> EnqueueGroup {
        let mut given = self.clone();
        given.calls.iter_mut().flat_map(|call| &mut call.items).for_each(|item| item.id_given = true);
        given
    }

    /// Removes ids from `existing` whose retention is over. Their rows are deleted in the same transaction, as a purge
    /// would have done, so that the ids can be used again.
    pub fn take_outlived(&self, existing: &mut HashMap<(QueueId, ItemId), Known>, now: Time) -> Outlived {
        let policies: HashMap<QueueId, &Policy> = self.calls.iter().map(|call| (call.queue, &call.policy)).collect();
        let mut outlived = Outlived::default();
        existing.retain(|(queue, id), known| {
            let Some(policy) = policies.get(queue).filter(|policy| known.is_outlived(policy, now)) else {
                return true;
            };
            match known {
                Known::Item { seq, .. } => {
                    let before = Time(now.0.saturating_sub(policy.retention.0));
                    outlived.items.entry(*queue).or_insert((before, Vec::new())).1.push(*seq);
                }
                Known::Absorbed { .. } => outlived.absorbed.push((*queue, id.clone())),
            }
            false
        });
        outlived
    }

    /// Returns how many fresh numbers the decision uses: one per item.
    pub fn numbers(&self) -> usize {
        self.calls.iter().map(|call| call.items.len()).sum()
    }

    /// Decides every call in the order of arrival.
    pub fn decide(&self, read: EnqueueRead) -> (Changes, Vec<Vec<Accepted>>) {
        enqueue(&self.calls, read)
    }
}

/// Known ids whose retention is over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outlived {
    /// Finished items per queue, with the instant before which finished items are purged.
    pub items: BTreeMap<QueueId, (Time, Vec<Seq>)>,
    /// Ids of changes that a sync item absorbed.
    pub absorbed: Vec<(QueueId, ItemId)>,
}

impl Outlived {
    /// Returns whether there is nothing to delete.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.absorbed.is_empty()
    }
}

/// Claims on one queue that are decided together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimGroup {
    /// The queue.
    pub queue: QueueId,
    /// The policy that the callers know.
    pub policy: Policy,
    /// The version of that policy. If the stored version differs, nothing is handed out.
    pub version: i64,
    /// The kind of claim, with its callers.
    pub claim: Claim,
}

/// A claim for the next due work, or for one certain item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The next due deliveries, for callers in the order of arrival.
    Next(Vec<ClaimRequest>),
    /// This item, if it is due and the head of its lane.
    Item {
        /// The caller.
        want: ClaimRequest,
        /// The item's id.
        id: ItemId,
    },
}

/// The result of a group of claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// Deliveries, with the bodies of their items.
    Claimed {
        /// The time the deliveries were decided with.
        now: Time,
        /// One list per caller, in the order of the claims.
        deliveries: Vec<Vec<Delivery>>,
        /// The bodies of the items in `deliveries`.
        bodies: Bodies,
        /// More heads may be due: claim again at once. As many were due as the store locks at most, or some were left
        /// because of their size.
        more: bool,
    },
    /// The stored policy has another version: read the policy again and repeat the claim.
    PolicyChanged,
    /// The queue is paused.
    Paused,
}

impl ClaimGroup {
    /// Returns the callers.
    pub fn wants(&self) -> &[ClaimRequest] {
        match &self.claim {
            Claim::Next(wants) => wants,
            Claim::Item { want, .. } => std::slice::from_ref(want),
        }
    }

    /// Returns the reason why the queue hands out nothing to these callers, if there is one. `stored` is the version
    /// and the pause of the queue's row.
    pub fn gate(&self, stored: Option<(i64, bool)>) -> Option<ClaimOutcome> {
        match stored {
            Some((version, paused)) if version == self.version => paused.then_some(ClaimOutcome::Paused),
            _ => Some(ClaimOutcome::PolicyChanged),
        }
    }

    /// Returns how many due heads to lock at most. The store takes as many numbers.
    pub fn heads(&self) -> usize {
        if self.probes() {
            return PROBE_HEADS;
        }
        self.wants().iter().map(|want| want.max as usize).sum::<usize>().min(CLAIM_HEADS_MAX)
    }

    /// Returns whether more heads may be due than the `found` ones. A claim of one item never has more.
    pub fn is_more(&self, found: usize) -> bool {
        matches!(self.claim, Claim::Next(_)) && found > 0 && found >= self.heads()
    }

    /// Returns whether the claim is a probe, which chooses among more heads than it takes. A probe is alone in its
    /// group.
    pub fn probes(&self) -> bool {
        matches!(self.wants(), [ClaimRequest { probes: true, .. }])
    }

    /// Returns whether items behind a head can go with it, so that the fronts and typing signals of the lanes must be
    /// read. Signals are read even if the policy no longer extends windows, because a delivery deletes the signal of its
    /// window.
    pub fn groups_items(&self) -> bool {
        self.policy.batch() > 1
    }

    /// Returns the caller and the request id of a repeatable claim. Such a claim is alone in its group, so that its
    /// repeats run one after another: the store locks the request id and first looks for the earlier deliveries.
    pub fn request(&self) -> Option<(&WorkerName, &Arc<str>)> {
        match self.wants() {
            [ClaimRequest { taker, request: Some(request), .. }] => Some((taker, request)),
            _ => None,
        }
    }

    /// Returns the deliveries that an earlier claim with the same request id received and that are still live.
    pub fn resume(&self, items: Vec<Item>, now: Time) -> Vec<Delivery> {
        resume(items, now)
    }

    /// Assigns the due heads to the callers.
    pub fn decide(&self, read: ClaimRead) -> HandedOut {
        hand_out(&self.policy, self.wants(), read)
    }
}

/// Deliveries to settle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettleGroup {
    /// In the order of arrival.
    pub settlements: Vec<Settle>,
}

/// The rows that the store read for a group of settlements, under the locks of lanes and items.
#[derive(Debug)]
pub struct SettleRead {
    /// The database's clock, read after the locks.
    pub now: Time,
    /// One per settlement, in the same order.
    pub loaded: Vec<Loaded>,
    /// The head of the audit, locked after all other rows. Needed if [`SettleGroup::audits`] is true.
    pub head: Option<Head>,
}

impl SettleGroup {
    /// Returns the lanes to lock, each once and in order.
    pub fn lanes(&self) -> Vec<(QueueId, Lane)> {
        let lane = |settle: &Settle| Some((settle.reference.queue, settle.reference.lane?));
        let mut lanes: Vec<_> = self.settlements.iter().filter_map(lane).collect();
        lanes.sort();
        lanes.dedup();
        lanes
    }

    /// Returns whether settlement `index` names items by id, so that the ids of the delivery's items must be read.
    pub fn names_items(&self, index: usize) -> bool {
        matches!(&self.settlements[index].act, Act::Ack { through: Some(_) } | Act::Fail { item: Some(_), .. })
    }

    /// Returns whether a caller settles the delivery of another account, so that the head of the audit must be locked.
    pub fn audits(&self, loaded: &[Loaded]) -> bool {
        self.settlements.iter().zip(loaded).any(|(command, loaded)| command.by.overrides(holder(loaded)).is_some())
    }

    /// Decides every settlement in the order of arrival. Of two settlements of the same delivery only the first counts.
    ///
    /// Heartbeats are decided last, because a delivery that is settled in the same group needs no renewal. So no row is
    /// written twice.
    pub fn decide(&self, read: SettleRead) -> (Changes, Vec<SettleOutcome>) {
        let SettleRead { now, mut loaded, head } = read;
        let mut changes = Changes::default();
        let mut entries = Vec::new();
        let mut over: HashMap<DeliveryRef, SettleOutcome> = HashMap::new();
        let mut answers = vec![SettleOutcome::Stale; self.settlements.len()];
        for beats in [false, true] {
            for (index, command) in self.settlements.iter().enumerate() {
                if matches!(command.act, Act::Beat) != beats {
                    continue;
                }
                match over.get(&command.reference) {
                    Some(renewed @ SettleOutcome::Renewed { .. })
                        if command.by.may(&command.act, holder(&loaded[index])) =>
                    {
                        answers[index] = renewed.clone();
                    }
                    Some(_) => {}
                    None => {
                        let entry = override_entry(command, &loaded[index]);
                        let answer = settle(command, &mut loaded[index], now, &mut changes);
                        if !matches!(answer, SettleOutcome::Stale | SettleOutcome::NotInDelivery) {
                            over.insert(command.reference, answer.clone());
                            entries.extend(entry);
                        }
                        answers[index] = answer;
                    }
                }
            }
        }
        changes.audit = chain(&mut head.unwrap_or_default(), now, entries);
        (changes, answers)
    }
}

/// Returns the worker of a delivery.
fn holder(loaded: &Loaded) -> Option<&WorkerName> {
    loaded.members.first()?.item.holder.as_ref()
}

/// Returns the audit entry for a settlement of another account's delivery.
fn override_entry(command: &Settle, loaded: &Loaded) -> Option<Draft> {
    let holder = holder(loaded);
    let (actor, queue) = command.by.overrides(holder)?;
    let act = match &command.act {
        Act::Fail { .. } => "fail",
        Act::Return { .. } => "return",
        _ => "ack",
    };
    Some(Draft::new(actor.clone(), AuditAction::DeliverySettle, queue.as_str()).with([
        ("delivery", Value::from(command.reference.token())),
        ("fence", Value::from(command.reference.fence.0)),
        ("act", Value::from(act)),
        ("holder", holder.map_or(Value::Null, |holder| Value::from(holder.to_string()))),
    ]))
}

/// Typing signals for one queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypingGroup {
    /// The queue.
    pub queue: QueueId,
    /// Its policy.
    pub policy: Policy,
    /// The keys that were typed in.
    pub keys: Vec<Key>,
}

impl TypingGroup {
    /// Returns how many items of a lane's front are read: the largest possible delivery, and one item behind it.
    pub fn depth(&self) -> u32 {
        self.policy.batch().saturating_add(1)
    }

    /// Returns the lanes whose fronts are read.
    pub fn lanes(&self) -> Vec<Lane> {
        let mut lanes: Vec<Lane> = self.keys.iter().map(Lane::from_key).collect();
        lanes.sort();
        lanes.dedup();
        lanes
    }

    /// Records the typing signal for lanes in which a message waits for its window to end.
    pub fn decide(&self, fronts: HashMap<Lane, Vec<FrontItem>>, now: Time) -> Changes {
        let mut changes = Changes::default();
        for (lane, front) in &fronts {
            typing(&self.policy, self.queue, *lane, front, now, &mut changes);
        }
        changes
    }
}

/// Queues: reads, and changes of their rows.
pub trait QueueStore {
    /// Creates a queue, or changes its policy and push, as [`PutQueue::decide`] says. Returns `None` if it is late.
    fn put_queue(&self, put: PutQueue, by: Actor) -> Pending<'_, Option<QueueRow>>;

    /// Pauses or resumes a queue, and writes the audit entry that [`PauseQueue::decide`] returns.
    fn pause_queue(&self, pause: PauseQueue) -> Pending<'_, ()>;

    /// Returns a queue by name.
    fn queue(&self, name: QueueName) -> Pending<'_, Option<QueueRow>>;

    /// Returns all queues.
    fn queues(&self) -> Pending<'_, Vec<QueueRow>>;
}
