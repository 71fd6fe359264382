//! What people do to single items and to whole lanes, with its audit entry, and probes with exhausted items.

use serde_json::Value;
use turno_core::audit::{Actor, Draft, Head, chain};
use turno_core::id::{ItemId, Key, Lane, QueueId, QueueName};
use turno_core::queue::{
    Changes, ClearRead, Cleared, Manage, ManageAnswer, ManageRead, ManageRefused, Managed, Policy, clear, fingerprint,
    manage,
};
use turno_core::time::Time;

/// A person's wish about one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManageGroup {
    /// The queue.
    pub queue: QueueId,
    /// Its name, for the audit.
    pub name: QueueName,
    /// Its policy.
    pub policy: Policy,
    /// Which item.
    pub id: ItemId,
    /// What is wanted.
    pub wish: Manage,
    /// By whom.
    pub by: Actor,
}

/// What became of the wish.
pub type ManageOutcome = Result<ManageAnswer, ManageRefused>;

impl ManageGroup {
    /// That an exhausted item does not hold its lane any more, since that is the queue's new policy.
    pub fn release(queue: QueueId, name: &QueueName, policy: &Policy, id: ItemId, by: &Actor) -> ManageGroup {
        let (name, policy, by) = (name.clone(), policy.clone(), by.clone());
        ManageGroup { queue, name, policy, id, wish: Manage::Release, by }
    }

    /// How much of the lane's front the decision needs: a whole delivery in process, and the next behind it.
    pub fn front_size(&self) -> u32 {
        self.policy.batch() + 3
    }

    /// How many fresh numbers the decision uses.
    pub fn numbers(&self) -> usize {
        usize::from(self.wish.takes_number())
    }

    /// Decides the wish; what was done is audited. `head` is the head of the audit, locked after everything else.
    pub fn decide(&self, read: ManageRead, mut head: Head) -> Managed {
        let now = read.now;
        let before = read.body.as_ref().map(|body| fingerprint(&body.payload));
        let mut managed = manage(&self.policy, &self.wish, read);
        let entry = |action| Some(Draft::new(self.by.clone(), action, format!("{}/{}", self.name, self.id)));
        let entry = match &self.wish {
            _ if managed.answer.is_err() => None,
            // That a lane is released follows from its policy, whose change is audited.
            Manage::Release => None,
            // A failed probe leaves the item as it was. A successful one is audited as `Probed`.
            Manage::Probe { .. } => None,
            Manage::Retry => entry("item_retry"),
            Manage::Cancel => entry("item_cancel"),
            Manage::Revive | Manage::Probed => entry("sync_revived"),
            Manage::RetryWith { payload } => entry("item_edit").map(|entry| {
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

/// A person clears a lane: what waits there is cancelled, and so is what is in process.
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
    /// What was accepted later stays.
    pub until: Time,
    /// By whom.
    pub by: Actor,
}

impl ClearGroup {
    /// Decides what goes; if anything does, that is audited. `key` is whose lane it is, `head` is the head
    /// of the audit, locked after everything else.
    pub fn decide(&self, read: ClearRead, key: Option<&Key>, mut head: Head) -> (Changes, Cleared) {
        let now = read.now;
        let (mut changes, cleared) = clear(&self.policy, self.until, read);
        if cleared.count > 0 {
            let resource = key.map_or_else(|| self.name.to_string(), |key| format!("{}/{key}", self.name));
            let entry = Draft::new(self.by.clone(), "lane_clear", resource);
            changes.audit = chain(&mut head, now, vec![entry.with([("count", cleared.count.into())])]);
        }
        (changes, cleared)
    }
}
