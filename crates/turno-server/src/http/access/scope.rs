//! The reach that a route requires of its caller's token: which leases, tasks or queues the route is about.

use turno::core::access::Principal;

use super::Row;
use crate::http::problem::{Code, Problem};

/// The part of Turno that a route is about. A token that is limited to resources or queues must reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Every caller. What a caller does not reach is omitted.
    Any,
    /// The caller's own account. Not for sessions of other applications' users.
    Account,
    /// The lease in the path, or the leases that the token reaches.
    Leases,
    /// The task in the path, or the tasks that the token reaches.
    Tasks,
    /// The queue in the path, or the queues that the token reaches.
    Queues,
    /// Everything: only a token without bounds.
    Whole,
}

impl Scope {
    /// Every scope.
    #[cfg(test)]
    pub(super) const ALL: [Scope; 6] =
        [Scope::Any, Scope::Account, Scope::Leases, Scope::Tasks, Scope::Queues, Scope::Whole];

    /// Returns the name in the reference.
    #[cfg(test)]
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Scope::Any => "any",
            Scope::Account => "account",
            Scope::Leases => "leases",
            Scope::Tasks => "tasks",
            Scope::Queues => "queues",
            Scope::Whole => "whole",
        }
    }

    /// Returns whether a caller with this reach gets through. `named` is the lease, task or queue in the path, if the
    /// path has one.
    pub(super) fn admits(self, caller: &Principal, named: Option<&str>) -> bool {
        match (self, named) {
            (Scope::Any, _) => true,
            (Scope::Account, _) => !caller.session,
            (Scope::Leases, None) => caller.reaches_leases(),
            (Scope::Leases, Some(resource)) => caller.reaches_resource(resource),
            (Scope::Tasks, None) => caller.reaches_tasks(),
            (Scope::Tasks, Some(task)) => caller.reaches_resource(&format!("task:{task}")),
            (Scope::Queues, None) => caller.reaches_queues(),
            (Scope::Queues, Some(queue)) => caller.reaches_queue(queue),
            (Scope::Whole, _) => !caller.is_bounded(),
        }
    }
}

/// Refuses a caller whose token does not reach the route.
pub(in crate::http) fn check(row: &Row, caller: &Principal, path: &str) -> Result<(), Problem> {
    let named = named(row, path);
    if row.scope.admits(caller, named.as_deref()) {
        return Ok(());
    }
    let resource = named.as_deref().filter(|named| !named.is_empty()).unwrap_or(row.path);
    Err(Problem::new(Code::OtherResource).arg("resource", resource))
}

/// Returns the lease, task or queue in the path. A new task has no id yet, so its creator must reach all tasks.
fn named(row: &Row, path: &str) -> Option<String> {
    if (row.method, row.scope) == ("POST", Scope::Tasks) && row.path == "/v1/tasks" {
        return Some(String::new());
    }
    let parameter = match row.scope {
        Scope::Leases => "{resource}",
        Scope::Tasks => "{id}",
        Scope::Queues => "{queue}",
        Scope::Any | Scope::Account | Scope::Whole => return None,
    };
    let (_, value) = row.path.split('/').zip(path.split('/')).find(|(part, _)| *part == parameter)?;
    Some(percent_encoding::percent_decode_str(value).decode_utf8_lossy().into_owned())
}
