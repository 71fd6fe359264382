//! Management of single items and whole lanes, with audit entries, and probes with exhausted items.

use serde_json::Value;
use turno_core::audit::{Actor, AuditAction, Draft, Head, chain};
use turno_core::id::{ItemId, Key, Lane, QueueId, QueueName};
use turno_core::queue::{
    Changes, ClearRead, Cleared, Manage, ManageAnswer, ManageRead, ManageRefused, Managed, Policy, clear, fingerprint,
    manage,
};
use turno_core::time::Time;

/// A management command on one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManageGroup {
    /// The queue.
    pub queue: QueueId,
    /// Its name, for the audit.
    pub name: QueueName,
    /// Its policy.
    pub policy: Policy,
    /// The item's id.
    pub id: ItemId,
    /// The command.
    pub wish: Manage,
    /// The actor, for the audit.
    pub by: Actor,
}

/// The answer to the command, or its refusal.
pub type ManageOutcome = Result<ManageAnswer, ManageRefused>;

impl ManageGroup {
    /// Returns the command that lets an exhausted item release its lane, because the queue's new policy says so.
    pub fn release(queue: QueueId, name: &QueueName, policy: &Policy, id: ItemId, by: &Actor) -> ManageGroup {
        let (name, policy, by) = (name.clone(), policy.clone(), by.clone());
        ManageGroup { queue, name, policy, id, wish: Manage::Release, by }
    }

    /// Returns how many front items the decision needs: the largest possible delivery, and the next items behind it.
    pub fn front_size(&self) -> u32 {
        self.policy.batch() + 3
    }

    /// Returns how many fresh numbers the decision uses.
    pub fn numbers(&self) -> usize {
        usize::from(self.wish.takes_number())
    }

    /// Decides the command and audits it if it succeeds. `head` is the head of the audit, locked after all other rows.
    pub fn decide(&self, read: ManageRead, mut head: Head) -> Managed {
        let now = read.now;
        let before = read.body.as_ref().map(|body| fingerprint(&body.payload));
        let mut managed = manage(&self.policy, &self.wish, read);
        let entry = |action| Some(Draft::new(self.by.clone(), action, format!("{}/{}", self.name, self.id)));
        let entry = match &self.wish {
            _ if managed.answer.is_err() => None,
            // Releasing the lane follows from the policy, and the change of the policy is audited.
            Manage::Release => None,
            // A failed probe leaves the item as it was. A successful one is audited as `Probed`.
            Manage::Probe { .. } => None,
            Manage::Retry => entry(AuditAction::ItemRetry),
            Manage::Cancel => entry(AuditAction::ItemCancel),
            Manage::Revive | Manage::Probed => entry(AuditAction::SyncRevived),
            Manage::RetryWith { payload } => entry(AuditAction::ItemEdit).map(|entry| {
                entry.with([
                    ("payload_before", before.map_or(Value::Null, |hash| hash.to_string().into())),
                    ("payload_after", fingerprint(payload).to_string().into()),
                ])
            }),
        };
        if let Some(entry) = entry {
            managed.changes.audit = chain(&mut head, now, vec![entry]);
        }
        managed
    }
}

/// The clearing of a lane: cancels its waiting items and its delivery in process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClearGroup {
    /// The queue.
    pub queue: QueueId,
    /// Its name, for the audit.
    pub name: QueueName,
    /// Its policy.
    pub policy: Policy,
    /// The lane.
    pub lane: Lane,
    /// Items accepted later than this stay.
    pub until: Time,
    /// The actor, for the audit.
    pub by: Actor,
}

impl ClearGroup {
    /// Decides which items are cancelled, and audits that if there are any. `key` is the lane's key, `head` is the head
    /// of the audit, locked after all other rows.
    pub fn decide(&self, read: ClearRead, key: Option<&Key>, mut head: Head) -> (Changes, Cleared) {
        let now = read.now;
        let (mut changes, cleared) = clear(&self.policy, self.until, read);
        if cleared.count > 0 {
            let resource = key.map_or_else(|| self.name.to_string(), |key| format!("{}/{key}", self.name));
            let entry = Draft::new(self.by.clone(), AuditAction::LaneClear, resource);
            changes.audit = chain(&mut head, now, vec![entry.with([("count", cleared.count.into())])]);
        }
        (changes, cleared)
    }
}
