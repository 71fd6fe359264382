//! A task command: tries to lock the task, waits for its lease, and respects running finalizes.

use super::read::pinned;
use super::{Contents, Env, Read, Tx};
use crate::db::Lock;
use crate::sim::message::Ask;
use crate::sim::sabotage::Bug;
use std::sync::Arc;
use turno::store::{TaskGroup, TaskOutcome, TaskRead, TaskWrite};
use turno_core::audit::Head;
use turno_core::event::{Event, EventName, Topic};
use turno_core::id::Numbers;
use turno_core::lease::{self, State};
use turno_core::task::{self, Action, LineStatus, Refused, TaskId};
use turno_core::time::Time;

impl Tx {
    /// Locks the task without waiting, then waits for its lease. Returns false if the transaction has to wait.
    pub(super) fn lock_task(&mut self, env: &mut Env<'_>, id: Option<TaskId>) -> bool {
        let Some(id) = id.filter(|id| env.db.tasks.contains_key(id)) else {
            return true;
        };
        if !env.db.try_lock(Lock::Task(id), self.id, &mut self.held) && !env.has(Bug::PinIgnored) {
            return true;
        }
        env.db.lock(Lock::Lease(id.resource()), self.id, &mut self.held)
    }

    pub(super) fn read_task(&mut self, env: &mut Env<'_>, group: &TaskGroup) -> Read {
        let Some(id) = group.command.task else {
            let fresh = TaskId(env.db.numbers(1)[0]);
            return Read::Task { task: None, lease: Box::new(State::unseen(fresh.resource())), stock: None };
        };
        let resource = id.resource();
        let task = env.db.tasks.get(&id).cloned();
        if task.is_some() && !self.held.contains(&Lock::Task(id)) && !env.has(Bug::PinIgnored) {
            return Read::Busy(Some(id));
        }
        let pinned = task.is_some() && pinned(env, self.id, &mut self.held, &resource);
        let lease = Box::new(State { pinned, ..env.db.lease(&resource) });
        let line = group.validates().and_then(|number| env.db.line(id, number));
        let stock = line.map(|line| env.db.stock_of(line));
        Read::Task { task, lease, stock }
    }

    /// Returns the event that an instance with the bug announces before its commit.
    pub(super) fn premature_event(&self) -> Option<Arc<Event>> {
        let (Ask::Lease(command), Contents::Group(_)) = (&self.calls[0].ask, &self.contents) else {
            return None;
        };
        matches!(command.action, lease::Action::Claim { .. }).then(|| {
            Arc::new(Event {
                topic: Topic::Leases,
                name: EventName::LeaseClaimed,
                resource: command.resource.as_str().into(),
                key: None,
                queue: None,
                at: self.now.unwrap_or_default(),
                fence: None,
                by: Some(command.who.user.clone()),
                detail: None,
                to: Vec::new(),
            })
        })
    }
}

/// Decides a task command. Returns nothing to write if another transaction had locked the task.
pub(super) fn decide(
    group: &TaskGroup,
    read: Read,
    (now, numbers, head): (Time, Numbers, Option<Head>),
    env: &Env<'_>,
) -> (Option<TaskWrite>, TaskOutcome) {
    let (mut task, lease, stock) = match read {
        Read::Task { task, lease, stock } => (task, *lease, stock),
        Read::Busy(id) => {
            let task = id.and_then(|id| env.db.tasks.get(&id).cloned());
            let lease = State::unseen(id.unwrap_or_default().resource());
            let answer = Err(Refused::Lease(lease::Refused::Pinned));
            return (None, TaskOutcome { answer, task, lease, expired: Vec::new(), now });
        }
        other => unreachable!("{other:?} was read for a task"),
    };
    if env.has(Bug::FinalizeForgotten)
        && let Some(task) = &mut task
    {
        task.finalized = None;
    }
    if env.has(Bug::FailedCompletes) && matches!(group.command.action, Action::Close { .. }) {
        for line in task.iter_mut().flat_map(|task| &mut task.lines) {
            line.status = LineStatus::Applied;
        }
    }
    let line = lease.line.clone();
    let fresh = if group.command.task.is_none() { TaskId::from_resource(&lease.resource) } else { None };
    let read = task::Read { now, numbers, fresh, task, lease, stock };
    let (mut write, mut outcome) = group.decide(TaskRead { read, head });
    if env.has(Bug::LineOutlivesTask) && matches!(group.command.action, Action::Close { .. } | Action::Cancel { .. }) {
        for state in write.lease.states.iter_mut().chain([&mut outcome.lease]) {
            state.line.clone_from(&line);
        }
    }
    if env.has(Bug::OverrideUnaudited) {
        write.lease.audit.clear();
    }
    (Some(write), outcome)
}
