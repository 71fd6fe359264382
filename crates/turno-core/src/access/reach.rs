//! The reach of a request: the leases, tasks and queues that its token is limited to.
//!
//! `resources` limits leases and, through `task:`, tasks. `queues` limits queues. A token with one of the two reaches
//! nothing of the other kind. A session with neither reaches the leases outside `task:`.

use super::{Denied, Principal};
use crate::id::{QueueName, Resource};

/// The prefix of the leases behind tasks.
const TASKS: &str = "task:";

impl Principal {
    /// Returns whether the token is limited to some resources or queues. Every session is.
    pub fn is_bounded(&self) -> bool {
        self.session || !self.resources.is_empty() || !self.queues.is_empty()
    }

    /// Returns whether the request reaches this lease.
    pub fn reaches_resource(&self, resource: &str) -> bool {
        match self.resources.is_empty() {
            false => self.resources.iter().any(|prefix| resource.starts_with(prefix.as_str())),
            true => self.reaches_leases() && !(self.session && resource.starts_with(TASKS)),
        }
    }

    /// Returns whether the request reaches this queue.
    pub fn reaches_queue(&self, queue: &str) -> bool {
        match self.queues.is_empty() {
            false => self.queues.iter().any(|pattern| matches(pattern, queue)),
            true => !self.is_bounded(),
        }
    }

    /// Returns whether the request reaches any lease.
    pub fn reaches_leases(&self) -> bool {
        !self.resources.is_empty() || self.queues.is_empty()
    }

    /// Returns whether the request reaches any task.
    pub fn reaches_tasks(&self) -> bool {
        match self.resources.is_empty() {
            false => {
                self.resources.iter().any(|prefix| prefix.starts_with(TASKS) || TASKS.starts_with(prefix.as_str()))
            }
            true => !self.is_bounded(),
        }
    }

    /// Returns whether the request reaches any queue.
    pub fn reaches_queues(&self) -> bool {
        !self.queues.is_empty() || !self.is_bounded()
    }

    /// Denies the request if its token does not reach the lease.
    pub fn require_resource(&self, resource: &Resource) -> Result<(), Denied> {
        if self.reaches_resource(resource.as_str()) { Ok(()) } else { Err(Denied::OtherResource(resource.clone())) }
    }

    /// Denies the request if its token does not reach the queue.
    pub fn require_queue(&self, queue: &QueueName) -> Result<(), Denied> {
        if self.reaches_queue(queue.as_str()) { Ok(()) } else { Err(Denied::OtherQueue(queue.clone())) }
    }
}

/// Returns whether a queue has the name, or the prefix before a final `*`.
fn matches(pattern: &str, queue: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => queue.starts_with(prefix),
        None => queue == pattern,
    }
}

/// Returns whether every queue that `inner` matches is also matched by `outer`.
pub(super) fn covers(outer: &str, inner: &str) -> bool {
    match (outer.strip_suffix('*'), inner.strip_suffix('*')) {
        (Some(outer), Some(inner)) => inner.starts_with(outer),
        (Some(outer), None) => inner.starts_with(outer),
        (None, Some(_)) => false,
        (None, None) => inner == outer,
    }
}
