//! Rebuilding one damaged lane.

use serde_json::Value;
use turno_core::audit::{Actor, AuditAction, Draft, Head, chain};
use turno_core::id::{ItemId, Key, Lane, QueueName, Seq};
use turno_core::queue::{Changes, Lost, Policy, RepairRead, RepairRow, Repaired, repair};
use turno_core::time::Time;

use super::Damaged;

/// The most items, fences and places that an audit entry names. Their counts are always complete.
const NAMED: usize = 100;

/// The lane, or the item without a lane, to rebuild.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairGroup {
    /// The damaged part.
    pub damaged: Damaged,
    /// The queue's name, for the audit.
    pub name: QueueName,
    /// Its policy.
    pub policy: Policy,
    /// The actor, for the audit.
    pub by: Actor,
}

/// The result of a [`RepairGroup`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairOutcome {
    /// The lane's key, if it is known.
    pub key: Option<Key>,
    /// The changes that were made.
    pub repaired: Repaired,
    /// The lane has more rows than one step reads, so another step is needed.
    pub more: bool,
}

/// The rows of the item that a finding names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The item's id, if it has a body.
    pub id: Option<ItemId>,
    /// The item's key.
    pub key: Option<Key>,
    /// When the item was accepted, if it has a body.
    pub enqueued_at: Time,
    /// Whether the item has a row in `hot`.
    pub is_unfinished: bool,
    /// Whether the item has a row in `done`.
    pub is_finished: bool,
}

impl Found {
    fn lost(&self, seq: Option<Seq>, lane: Option<Lane>) -> Option<Lost> {
        let lost = Lost { seq: seq?, id: self.id.clone()?, lane, enqueued_at: self.enqueued_at };
        (!self.is_unfinished && !self.is_finished).then_some(lost)
    }

    /// Returns whether a row in `done` exists without a body.
    fn is_empty(&self) -> bool {
        self.id.is_none() && self.is_finished && !self.is_unfinished
    }
}

impl RepairGroup {
    /// Returns the lane to rebuild: the one that the finding names, or that of the item it names.
    pub fn lane(&self, found: &Found) -> Option<Lane> {
        let of_key = || found.key.as_ref().filter(|_| self.policy.kind.needs_key()).map(Lane::from_key);
        self.damaged.lane.or_else(of_key)
    }

    /// Builds the input of the decision. The caller adds bodies, and deliveries that applications are completing.
    pub fn read(&self, now: Time, lane: Option<Lane>, rows: Vec<RepairRow>, found: &Found) -> RepairRead {
        let Damaged { queue, seq, .. } = self.damaged;
        let (lost, empty) = (found.lost(seq, lane), found.is_empty().then_some(seq).flatten());
        RepairRead { queue, now, rows, bodies: Vec::new(), lost, empty, spared: Vec::new() }
    }

    /// Decides the repair and audits all changes in one entry. `head` is the head of the audit, locked after all other
    /// rows.
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
        Draft::new(self.by.clone(), AuditAction::QueueRepair, resource).with([
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
