//! Groups of queue commands and their decisions.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use turno_core::audit::{Actor, Draft};
use turno_core::id::{ItemId, Key, Lane, QueueId, QueueName, Seq};
use turno_core::limits::PROBE_HEADS;
use turno_core::queue::{
    Accepted, Act, Body, Changes, Delivery, Enqueue, EnqueueRead, FrontItem, Handed, Item, Kind, Known, Loaded, Policy,
    Settle, SettleOutcome, Taker, Want, Wants, enqueue, hand_out, resume, settle, typing,
};
use turno_core::time::Time;

use super::QueueRow;

/// A queue as it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutQueue {
    /// Which.
    pub name: QueueName,
    /// Its policy.
    pub policy: Policy,
    /// Where its deliveries are sent.
    pub push: PushChange,
    /// The version that this was made from, 0 where there was no queue: whoever changes a part of what was read must not
    /// undo what another has changed since. Without it the last one wins.
    pub seen: Option<i64>,
}

impl PutQueue {
    /// With this policy, whatever it was, and pushed as it is.
    pub fn of(name: QueueName, policy: Policy) -> PutQueue {
        PutQueue { name, policy, push: PushChange::Keep, seen: None }
    }

    /// Whether somebody has changed it since it was seen.
    pub fn is_late(&self, stored: Option<&QueueRow>) -> bool {
        self.seen.is_some_and(|seen| seen != stored.map_or(0, |row| row.version))
    }
}

/// Why a queue does not become of another kind, while it has work of the one that it is of.
pub(crate) fn kind_stays(name: &QueueName, kind: Kind) -> String {
    let kind = kind.as_str();
    format!(
        "queue {name} has unfinished or exhausted items, so it stays of kind {kind}; empty it first, or use another name"
    )
}

/// What was handed out carries: by seq.
pub type Bodies = HashMap<Seq, Body>;

/// Calls that admit items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnqueueGroup {
    /// In the order of arrival.
    pub calls: Vec<Enqueue>,
}

impl EnqueueGroup {
    /// The lanes whose mutex is taken and whose front is read, each once, with how much of the front.
    pub fn lanes(&self) -> Vec<(QueueId, Lane, u32)> {
        let mut lanes: Vec<_> = self
            .calls
            .iter()
            .filter(|call| call.policy.kind != Kind::Inbox)
            .flat_map(|call| {
                let size = Enqueue::front_size(&call.policy);
                call.items.iter().filter_map(move |item| Some((call.queue, Lane::of(item.key.as_ref()?), size)))
            })
            .collect();
        // Where two calls go by different policies, the larger front serves both.
        lanes.sort_by_key(|(queue, lane, size)| (*queue, *lane, Reverse(*size)));
        lanes.dedup_by_key(|(queue, lane, _)| (*queue, *lane));
        lanes
    }

    /// The queues that items are added to.
    pub fn queues(&self) -> Vec<QueueId> {
        let mut queues: Vec<QueueId> = self.calls.iter().map(|call| call.queue).collect();
        queues.sort_unstable();
        queues.dedup();
        queues
    }

    /// The ids that callers gave, which may have been accepted before.
    pub fn given_ids(&self) -> Vec<(QueueId, ItemId)> {
        let given = |call: &Enqueue| {
            let queue = call.queue;
            let ids: Vec<_> =
                call.items.iter().filter(|item| item.id_given).map(|item| (queue, item.id.clone())).collect();
            ids
        };
        self.calls.iter().flat_map(given).collect()
    }

    /// Whether only the moment says what becomes of them: items in no lane, with ids that the engine made up.
    pub fn needs_no_look(&self) -> bool {
        let alone = |call: &Enqueue| call.policy.kind == Kind::Inbox && call.items.iter().all(|item| !item.id_given);
        self.numbers() > 0 && self.calls.iter().all(alone)
    }

    /// The same as if the callers had given the ids: repeated, they are recognised.
    pub fn with_ids_given(&self) -> EnqueueGroup {
        let mut given = self.clone();
        given.calls.iter_mut().flat_map(|call| &mut call.items).for_each(|item| item.id_given = true);
        given
    }

    /// Takes those out of `existing` whose retention is over: they are forgotten in the same transaction, as whoever
    /// tidies up would have done, and their ids are as good as new.
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

    /// How many fresh numbers the decision uses: one per item.
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
    /// Finished items, with the time before which their queue forgets.
    pub items: BTreeMap<QueueId, (Time, Vec<Seq>)>,
    /// Ids of changes that were taken in.
    pub absorbed: Vec<(QueueId, ItemId)>,
}

impl Outlived {
    /// There is nothing to forget.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.absorbed.is_empty()
    }
}

/// That finished items were forgotten, for the audit.
pub fn purge_entry(by: Actor, name: &str, count: i64, before: Time) -> Draft {
    Draft::new(by, "queue_purge", name).with([("count", count.into()), ("before_ms", before.0.into())])
}

/// Callers of one queue who want work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimGroup {
    /// The queue.
    pub queue: QueueId,
    /// The policy that the callers go by.
    pub policy: Policy,
    /// Its version; if the queue has another one by now, nothing is handed out.
    pub version: i64,
    /// What is wanted.
    pub claim: Claim,
}

/// By whom, and whether it must be a certain item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The next due deliveries, for callers in the order of arrival.
    Next(Vec<Want>),
    /// This item, if it is due and heads its lane.
    Item {
        /// For whom.
        want: Want,
        /// Which.
        id: ItemId,
    },
}

/// What the callers of a queue got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// One list per caller, with what the items carry.
    Dealt {
        /// The time they were decided with.
        now: Time,
        /// One list per caller.
        deliveries: Vec<Vec<Delivery>>,
        /// What they carry.
        bodies: Bodies,
        /// There were as many due heads as the store was willing to look at: ask again at once.
        more: bool,
    },
    /// The queue's policy has changed: read it again and ask again.
    PolicyChanged,
    /// The queue is paused.
    Paused,
}

impl ClaimGroup {
    /// The callers.
    pub fn wants(&self) -> &[Want] {
        match &self.claim {
            Claim::Next(wants) => wants,
            Claim::Item { want, .. } => std::slice::from_ref(want),
        }
    }

    /// How many due heads to lock at most, which is also how many numbers to take.
    pub fn heads(&self) -> usize {
        if self.probes() {
            return PROBE_HEADS;
        }
        self.wants().iter().map(|want| want.max as usize).sum()
    }

    /// Whether it is a probe, which chooses among more heads than it takes. Such a claim is alone in its group.
    pub fn probes(&self) -> bool {
        matches!(self.wants(), [Want { probes: true, .. }])
    }

    /// Whether what stands behind a head can go with it, so that the lanes' fronts must be read.
    pub fn groups_items(&self) -> bool {
        self.policy.batch() > 1
    }

    /// Who claims under which request id. Such a claim is alone in its group, so that its repeats come one by one: what
    /// was handed out to it before is looked for first, under a lock of that id.
    pub fn request(&self) -> Option<(&Taker, &Arc<str>)> {
        match self.wants() {
            [Want { taker, request: Some(request), .. }] => Some((taker, request)),
            _ => None,
        }
    }

    /// What was handed out to an earlier claim under the same request id and still lives: then that is the answer.
    pub fn resume(&self, items: Vec<Item>, now: Time) -> Vec<Delivery> {
        resume(items, now)
    }

    /// Deals the heads out.
    pub fn decide(&self, read: Wants) -> (Changes, Vec<Vec<Delivery>>) {
        hand_out(&self.policy, self.wants(), read)
    }
}

/// Deliveries to settle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettleGroup {
    /// In the order of arrival.
    pub settlements: Vec<Settle>,
}

/// What the store read for a group of settlements, under the lanes' mutexes and the items' locks.
#[derive(Debug)]
pub struct SettleRead {
    /// The database's clock, read after the locks.
    pub now: Time,
    /// One per settlement, in the same order.
    pub loaded: Vec<Loaded>,
}

impl SettleGroup {
    /// The lanes whose mutex is taken, each once and in order.
    pub fn lanes(&self) -> Vec<(QueueId, Lane)> {
        let lane = |settle: &Settle| Some((settle.handed.queue, settle.handed.lane?));
        let mut lanes: Vec<_> = self.settlements.iter().filter_map(lane).collect();
        lanes.sort();
        lanes.dedup();
        lanes
    }

    /// Whether settlement `index` names items by id, so that the members' ids must be read.
    pub fn names_items(&self, index: usize) -> bool {
        matches!(&self.settlements[index].act, Act::Ack { through: Some(_) } | Act::Fail { item: Some(_), .. })
    }

    /// Decides every settlement in the order of arrival; of two for the same delivery only the first counts.
    ///
    /// Beats come last: a delivery that is settled in this very group needs no renewal, and no row is
    /// written twice.
    pub fn decide(&self, read: SettleRead) -> (Changes, Vec<SettleOutcome>) {
        let SettleRead { now, mut loaded } = read;
        let mut changes = Changes::default();
        let mut over: HashMap<Handed, SettleOutcome> = HashMap::new();
        let mut answers = vec![SettleOutcome::Stale; self.settlements.len()];
        for beats in [false, true] {
            for (index, command) in self.settlements.iter().enumerate() {
                if matches!(command.act, Act::Beat) != beats {
                    continue;
                }
                match over.get(&command.handed) {
                    Some(renewed @ SettleOutcome::Renewed { .. }) => answers[index] = renewed.clone(),
                    Some(_) => {}
                    None => {
                        let answer = settle(command, &mut loaded[index], now, &mut changes);
                        if !matches!(answer, SettleOutcome::Stale | SettleOutcome::NotInDelivery) {
                            over.insert(command.handed, answer.clone());
                        }
                        answers[index] = answer;
                    }
                }
            }
        }
        (changes, answers)
    }
}

/// Signs of typing, in one queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypingGroup {
    /// The queue.
    pub queue: QueueId,
    /// Its policy.
    pub policy: Policy,
    /// Who types.
    pub keys: Vec<Key>,
}

impl TypingGroup {
    /// How many of a lane's first items are read: as many as can be on their way together, and what waits behind.
    pub fn depth(&self) -> u32 {
        self.policy.batch().saturating_add(1)
    }

    /// The lanes whose first items are read.
    pub fn lanes(&self) -> Vec<Lane> {
        let mut lanes: Vec<Lane> = self.keys.iter().map(Lane::of).collect();
        lanes.sort();
        lanes.dedup();
        lanes
    }

    /// Remembers typing where a message waits for its window.
    pub fn decide(&self, fronts: HashMap<Lane, Vec<FrontItem>>, now: Time) -> Changes {
        let mut changes = Changes::default();
        for (lane, front) in &fronts {
            typing(&self.policy, self.queue, *lane, front, now, &mut changes);
        }
        changes
    }
}

/// Where a queue's deliveries are to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// As it is kept, for the server to read.
    pub text: Arc<str>,
    /// The same in a line for people, without anything secret: for the audit.
    pub shown: Arc<str>,
}

/// What becomes of a queue's push when its policy is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushChange {
    /// It stays as it is; a new queue has none.
    Keep,
    /// There is none from now on: only workers claim.
    Remove,
    /// It is this one from now on.
    Set(Push),
}

impl PushChange {
    /// What is kept from now on, given what was.
    pub fn text(&self, before: Option<&Arc<str>>) -> Option<Arc<str>> {
        match self {
            PushChange::Keep => before.cloned(),
            PushChange::Remove => None,
            PushChange::Set(push) => Some(push.text.clone()),
        }
    }

    /// What the audit says about it: of one that stays, only that.
    pub fn audited(&self, before: Option<&Arc<str>>) -> serde_json::Value {
        match self {
            PushChange::Keep => before.map_or(serde_json::Value::Null, |_| "unchanged".into()),
            PushChange::Remove => serde_json::Value::Null,
            PushChange::Set(push) => (&*push.shown).into(),
        }
    }
}
