//! Rebuilding one damaged lane.

use serde_json::Value;
use turno_core::audit::{Actor, Draft, Head, chain};
use turno_core::id::{ItemId, Key, Lane, QueueName, Seq};
use turno_core::queue::{Changes, Kind, Lost, Policy, RepairRead, RepairRow, Repaired, repair};
use turno_core::time::Time;

use super::Damaged;

/// So many items, fences and places are named in an audit entry; their numbers are always there.
const NAMED: usize = 100;

/// A lane, or an item without one, that is to be rebuilt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairGroup {
    /// Which.
    pub damaged: Damaged,
    /// The queue's name, for the audit.
    pub name: QueueName,
    /// Its policy.
    pub policy: Policy,
    /// By whom.
    pub by: Actor,
}

/// What became of a [`RepairGroup`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairOutcome {
    /// Whose lane it is, if that is known.
    pub key: Option<Key>,
    /// What was changed.
    pub repaired: Repaired,
    /// There were more rows than one step reads.
    pub more: bool,
}

/// What there is of the item that a finding names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Its id, if it has a body.
    pub id: Option<ItemId>,
    /// Its key.
    pub key: Option<Key>,
    /// When it was accepted, if it has a body.
    pub enqueued_at: Time,
    /// It has an unfinished row.
    pub is_unfinished: bool,
    /// It has a last line.
    pub is_finished: bool,
}

impl Found {
    fn lost(&self, seq: Option<Seq>, lane: Option<Lane>) -> Option<Lost> {
        let lost = Lost { seq: seq?, id: self.id.clone()?, lane, enqueued_at: self.enqueued_at };
        (!self.is_unfinished && !self.is_finished).then_some(lost)
    }

    /// A last line without a body.
    fn is_empty(&self) -> bool {
        self.id.is_none() && self.is_finished && !self.is_unfinished
    }
}

impl RepairGroup {
    /// The lane that is rebuilt: the one that the finding names, or that of the item it names.
    pub fn lane(&self, found: &Found) -> Option<Lane> {
        let of_key = || found.key.as_ref().filter(|_| self.policy.kind != Kind::Inbox).map(Lane::of);
        self.damaged.lane.or_else(of_key)
    }

    /// What the decision is made from. Bodies and deliveries that applications complete are added where there are any.
    pub fn read(&self, now: Time, lane: Option<Lane>, rows: Vec<RepairRow>, found: &Found) -> RepairRead {
        let Damaged { queue, seq, .. } = self.damaged;
        let (lost, empty) = (found.lost(seq, lane), found.is_empty().then_some(seq).flatten());
        RepairRead { queue, now, rows, bodies: Vec::new(), lost, empty, spared: Vec::new() }
    }

    /// Decides what is rebuilt. What was changed is audited in one entry. `head` is the head of the audit, locked after
    /// everything else.
    pub fn decide(&self, read: RepairRead, key: Option<Key>, mut head: Head) -> (Changes, RepairOutcome) {
        let now = read.now;
        let more = read.rows.len() >= RepairRead::ROWS as usize;
        let (mut changes, repaired) = repair(&self.policy, read);
        if !repaired.is_nothing() {
            changes.audit = chain(&mut head, now, vec![self.entry(&repaired, key.as_ref())]);
        }
        (changes, RepairOutcome { key, repaired, more })
    }

    fn entry(&self, repaired: &Repaired, key: Option<&Key>) -> Draft {
        let resource = key.map_or_else(|| self.name.to_string(), |key| format!("{}/{key}", self.name));
        let ids = |ids: &[ItemId]| listed(ids.iter().map(|id| id.as_str().into()));
        Draft::new(self.by.clone(), "queue_repair", resource).with([
            ("corrected", ids(&repaired.corrected)),
            ("fences_ended", listed(repaired.ended.iter().map(|fence| fence.0.into()))),
            ("places_removed", listed(repaired.removed.iter().map(|Seq(seq)| (*seq).into()))),
            ("restored", ids(&repaired.restored)),
            ("merged", ids(&repaired.merged)),
            ("count", repaired.count().into()),
        ])
    }
}

fn listed(values: impl Iterator<Item = Value>) -> Value {
    Value::Array(values.take(NAMED).collect())
}
