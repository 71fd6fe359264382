//! Every override, cancellation and retry has one audit entry, in its own commit, and the entries form one chain.

use super::{Checked, Commit, fault};
use crate::db::Db;
use crate::sim::message::{Ask, Reply};
use turno_core::audit::{AuditAction, Entry, Verifier};
use turno_core::lease;
use turno_core::queue::Manage;
use turno_core::task::Action;

#[derive(Clone, Default)]
pub(super) struct Trail {
    chain: Verifier,
}

impl Trail {
    pub(super) fn commit(&mut self, commit: &Commit<'_>) -> Checked {
        let due = commit.calls.iter().zip(commit.replies).filter_map(|(call, reply)| entry(&call.ask, reply));
        let leases = commit.leases.or(commit.task.map(|write| &write.lease)).map(|write| &write.audit[..]);
        let written: &[Entry] = leases.or(commit.changes.map(|changes| &changes.audit[..])).unwrap_or_default();
        let mut left = written.iter();
        for (action, resource) in due {
            let found = left.next();
            if !found.is_some_and(|entry| entry.action == action.as_str() && entry.resource == resource) {
                let id = if action.as_str().starts_with("lock_") { "L11" } else { "U1" };
                return fault(id, resource, format!("{action} happened, and the audit has {found:?}"));
            }
        }
        if let Some(entry) = left.next() {
            return fault("U1", &entry.resource, format!("no action happened, and the audit has {entry:?}"));
        }
        for entry in written {
            if let Err(broken) = self.chain.follow(entry) {
                return fault("U2", &entry.resource, broken.to_string());
            }
        }
        Ok(())
    }

    pub(super) fn audit(&self, db: &Db) -> Checked {
        self.chain.end(db.head).or_else(|broken| fault("U2", "", broken.to_string()))
    }
}

/// Returns the audit entry that a call must leave.
fn entry(ask: &Ask, reply: &Reply) -> Option<(AuditAction, String)> {
    let of_lease = |action: &lease::Action| match action {
        lease::Action::ForceClaim { .. } => Some(AuditAction::LockForceClaim),
        lease::Action::ForceRelease { .. } => Some(AuditAction::LockForceRelease),
        _ => None,
    };
    match (ask, reply) {
        (Ask::Lease(command), Reply::Lease { answer: Ok(_), .. }) => {
            Some((of_lease(&command.action)?, command.resource.to_string()))
        }
        (Ask::Task(command), Reply::Task(outcome)) if outcome.answer.is_ok() => {
            let action = match &command.action {
                Action::Lease(action) => of_lease(action)?,
                Action::Cancel { .. } => AuditAction::TaskCancel,
                _ => return None,
            };
            Some((action, command.task?.resource().to_string()))
        }
        (Ask::Manage(group), Reply::Manage(Ok(_))) => {
            let action = if group.wish == Manage::Retry { AuditAction::ItemRetry } else { AuditAction::ItemCancel };
            Some((action, format!("{}/{}", group.name, group.id)))
        }
        _ => None,
    }
}
