//! Changes of a queue itself: its policy and push, its pause, and the purge of its finished items.

use crate::store::StoreError;
use std::sync::Arc;
use turno_core::audit::{Actor, AuditAction, Draft};
use turno_core::id::{QueueId, QueueName};
use turno_core::queue::{Kind, Policy};
use turno_core::time::Time;

/// A queue as stored in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueRow {
    /// The queue's number, unique in this database.
    pub id: QueueId,
    /// The queue's name.
    pub name: QueueName,
    /// The queue's policy.
    pub policy: Policy,
    /// Grows with every change of the policy or the push, so that a stale copy is noticed.
    pub version: i64,
    /// While a queue is paused, claims return nothing.
    pub paused: bool,
    /// How many finished items have been purged so far.
    pub purged: i64,
    /// The push destination, in a format that only the server reads. `None` if only workers claim.
    pub push: Option<Arc<str>>,
}

/// A request to create or change a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutQueue {
    /// The queue's name.
    pub name: QueueName,
    /// The new policy.
    pub policy: Policy,
    /// The change of the push.
    pub push: PushChange,
    /// The version that the change is based on; 0 if the queue did not exist. With a version, a change that was made in
    /// between is not overwritten. With `None` the last write wins.
    pub seen: Option<i64>,
}

/// The decision about a [`PutQueue`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PutDecision {
    /// The queue has changed since the version in [`PutQueue::seen`]. Nothing is written.
    Late,
    /// The queue is already as requested. Nothing is written.
    Unchanged,
    /// The queue is created or changed.
    Change(Box<PutChange>),
}

/// What a store writes to create or change a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutChange {
    /// The push after the change, in its stored form.
    pub push: Option<Arc<str>>,
    /// Exhausted items release their lanes, in the transaction that changes the policy. Otherwise a lane would be held
    /// by a policy that is not in force.
    pub releases: bool,
    /// Every head becomes due, because the new policy may end its window earlier.
    pub looks_again: bool,
    /// The audit entry.
    pub audit: Draft,
}

impl PutQueue {
    /// Returns a request that sets the policy unconditionally and keeps the push.
    pub fn new(name: QueueName, policy: Policy) -> PutQueue {
        PutQueue { name, policy, push: PushChange::Keep, seen: None }
    }

    /// Returns whether the decision depends on whether the queue has unfinished or exhausted items.
    pub fn changes_kind(&self, stored: Option<&QueueRow>) -> bool {
        stored.is_some_and(|row| row.policy.kind != self.policy.kind)
    }

    /// Decides the request. `stored` is the queue's row, locked; `None` if the queue did not exist. `busy` says whether
    /// the queue has unfinished or exhausted items, and matters only if [`PutQueue::changes_kind`] is true.
    ///
    /// Returns `KindStays` if the kind of a busy queue would change.
    pub fn decide(&self, stored: Option<&QueueRow>, busy: bool, by: Actor) -> Result<PutDecision, StoreError> {
        if self.seen.is_some_and(|seen| seen != stored.map_or(0, |row| row.version)) {
            return Ok(PutDecision::Late);
        }
        let before = stored.and_then(|row| row.push.as_ref());
        let push = self.push.text(before);
        let old = stored.map(|row| &row.policy);
        if old == Some(&self.policy) && before == push.as_ref() {
            return Ok(PutDecision::Unchanged);
        }
        if let Some(row) = stored.filter(|_| busy && self.changes_kind(stored)) {
            return Err(StoreError::KindStays { name: self.name.clone(), kind: row.policy.kind });
        }
        let policy = serde_json::to_value(&self.policy).expect("a policy can always be written as JSON");
        let detail = [("policy", policy), ("push", self.push.audited(before)), ("created", stored.is_none().into())];
        Ok(PutDecision::Change(Box::new(PutChange {
            releases: old.is_some_and(|old| old.holds_exhausted() && !self.policy.holds_exhausted()),
            looks_again: old.is_some_and(|old| old.kind == Kind::Lane && *old != self.policy),
            audit: Draft::new(by, AuditAction::QueuePut, self.name.as_str()).with(detail),
            push,
        })))
    }
}

/// A request to pause or resume a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PauseQueue {
    /// The queue.
    pub queue: QueueId,
    /// Whether claims return nothing from now on.
    pub paused: bool,
    /// The actor, for the audit.
    pub by: Actor,
}

impl PauseQueue {
    /// Returns the audit entry, which is written even if nothing changed. `name` is the name in the queue's row.
    /// Returns `QueueGone` if there is no row.
    pub fn decide(&self, name: Option<&str>) -> Result<Draft, StoreError> {
        let action = if self.paused { AuditAction::QueuePause } else { AuditAction::QueueResume };
        Ok(Draft::new(self.by.clone(), action, name.ok_or(StoreError::QueueGone)?))
    }
}

/// Returns the audit entry for `count` purged items, or `None` if there are none. `name` is the name in the queue's
/// row. Returns `QueueGone` if there is no row.
pub fn purge_entry(by: Actor, name: Option<&str>, count: i64, before: Time) -> Result<Option<Draft>, StoreError> {
    let entry = Draft::new(by, AuditAction::QueuePurge, name.ok_or(StoreError::QueueGone)?);
    Ok((count > 0).then(|| entry.with([("count", count.into()), ("before_ms", before.0.into())])))
}

/// A push destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// The stored form, which the server reads.
    pub text: Arc<str>,
    /// A one-line form for people, without secrets, for the audit.
    pub display: Arc<str>,
}

/// The change of a queue's push when its policy is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PushChange {
    /// The push stays as it is; a new queue has none.
    Keep,
    /// The push is removed, so that only workers claim.
    Remove,
    /// The push is replaced.
    Set(Push),
}

impl PushChange {
    /// Returns the stored form after the change.
    pub fn text(&self, before: Option<&Arc<str>>) -> Option<Arc<str>> {
        match self {
            PushChange::Keep => before.cloned(),
            PushChange::Remove => None,
            PushChange::Set(push) => Some(push.text.clone()),
        }
    }

    /// Returns the audit's value. For an unchanged push it says only `unchanged`.
    fn audited(&self, before: Option<&Arc<str>>) -> serde_json::Value {
        match self {
            PushChange::Keep => before.map_or(serde_json::Value::Null, |_| "unchanged".into()),
            PushChange::Remove => serde_json::Value::Null,
            PushChange::Set(push) => (&*push.display).into(),
        }
    }
}
