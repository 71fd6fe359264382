//! The API for tasks.

mod handle;
mod read;

pub use handle::{NewTask, TaskHandle};
pub use read::{TaskCursor, TaskEvent, TaskHistory};

use super::Turno;
use super::access::Needs;
use super::commit::Job;
use super::lease::{claims_or_waits, permission, retry_while_pinned};
use crate::error::Error;
use crate::store::{LineStep, StoreError, TaskGroup, TaskOutcome};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use turno_core::access::Permission;
use turno_core::fault::Thing;
use turno_core::id::Fence;
use turno_core::lease::{self, Holder, State};
use turno_core::task::{Action, Apply, Command, Finalized, LineOutcome, Outcome, Refused, TaskId};
use turno_core::time::Time;

/// The answer to a task command, with the task and its lease afterwards.
pub type TaskAnswer = TaskOutcome;

/// How often a line is retried after a conflict with another transaction, such as a deadlock between two effects.
const REDO_MAX: usize = 8;

/// The answer to a finalize.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalizeAnswer {
    /// The result, or the reason why the finalize stopped.
    pub answer: Result<Finalized, Refused>,
    /// The outcome of each line. If the finalize was refused: every line applied so far, and the lines that failed.
    pub lines: Vec<(u32, LineOutcome)>,
    /// Whether the same finalize had already succeeded.
    pub repeated: bool,
    /// The task's lease afterwards.
    pub lease: State,
    /// The database's time of the answer.
    pub now: Time,
}

/// Lets one finalize at a time run per task in this process, so that a repeated finalize waits for the first one.
#[derive(Default)]
pub(super) struct Finalizing(Mutex<HashMap<TaskId, std::sync::Weak<tokio::sync::Mutex<()>>>>);

impl Finalizing {
    fn lock_for(&self, task: TaskId) -> Arc<tokio::sync::Mutex<()>> {
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        map.retain(|_, turn| turn.strong_count() > 0);
        if let Some(turn) = map.get(&task).and_then(std::sync::Weak::upgrade) {
            return turn;
        }
        let turn = Arc::new(tokio::sync::Mutex::new(()));
        map.insert(task, Arc::downgrade(&turn));
        turn
    }
}

impl Turno {
    /// Executes one task command. A refusal is an answer, found in [`TaskOutcome::answer`].
    ///
    /// ```
    /// # use turno::lease::Action;
    /// # use turno::queue::Delivery;
    /// # turno_testkit::example(async |turno| {
    /// # use turno::task::{self, Goods, Movement, NewLine, NewTask};
    /// # let line = NewLine { movement: Movement::In, sku: "nails".try_into()?, goods: Goods::Quantity(30) };
    /// # let ana = turno.holder(None);
    /// # let id = turno.create_task(ana.clone(), NewTask::titled("Delivery").lines(vec![line]).ready()).await?.id();
    /// let claim = task::Action::Lease(Action::Claim { ttl: None, wait: false });
    /// let claimed = turno.task_command(Some(id), ana, claim).await?;
    /// assert_eq!(claimed.task.expect("the task exists").status, task::Status::Processing);
    /// # Ok(()) });
    /// ```
    pub async fn task_command(&self, task: Option<TaskId>, who: Holder, action: Action) -> Result<TaskAnswer, Error> {
        let permission = match &action {
            Action::Lease(action) => permission(action, true)?,
            _ => Permission::InventoryManage,
        };
        self.check_holder(&who, matches!(&action, Action::Lease(action) if claims_or_waits(action)))?;
        let resource = task.map(TaskId::resource);
        let needs = Needs::permission(permission);
        let needs = resource.as_ref().map_or(needs, |resource| needs.on(resource));
        let via = self.principal().and_then(|principal| principal.via.clone());
        let policy = self.task_policy();
        let command = Command { task, who, via, policy, action };
        let pinned = |answer: &TaskOutcome| answer.answer == Err(Refused::Lease(lease::Refused::Pinned));
        let answer = retry_while_pinned(|| self.task_once(needs, command.clone()), pinned).await?;
        self.complete_lost_task(&command, answer).await
    }

    pub(super) async fn task_once(&self, needs: Needs<'_>, command: Command) -> Result<TaskOutcome, Error> {
        let group = Box::new(TaskGroup { command, stock: self.inner.effect.is_none() });
        self.submit(needs, group, Job::Task).await
    }

    /// Applies every line in its own transaction, then releases the lease. The status becomes `completed` if all lines
    /// are applied, `partially_completed` otherwise.
    ///
    /// Lines that were applied before are skipped, and a line that fails does not stop the others. If the lease is
    /// lost, the finalize stops there and the answer lists the lines done. The finalize runs to its end even if the
    /// caller disconnects. Repeating a finalize that succeeded returns the same answer. After a loss, a repeat lists the
    /// applied lines only. Another error, such as a lost database, returns no list: repeat the call to continue.
    ///
    /// ```
    /// # use turno::lease::Action;
    /// # use turno::queue::Delivery;
    /// # turno_testkit::example(async |turno| {
    /// # use turno::task::{self, Goods, Movement, NewLine, NewTask};
    /// # let line = NewLine { movement: Movement::In, sku: "nails".try_into()?, goods: Goods::Quantity(30) };
    /// # let ana = turno.holder(None);
    /// # let id = turno.create_task(ana.clone(), NewTask::titled("Delivery").lines(vec![line]).ready()).await?.id();
    /// # let claim = task::Action::Lease(Action::Claim { ttl: None, wait: false });
    /// # let fence = turno.task_command(Some(id), ana.clone(), claim).await?.lease.grant.expect("held").fence;
    /// let done = turno.task_finalize(id, ana, fence).await?;
    /// assert_eq!(done.answer.expect("ana's lock is live").status, task::Status::Completed);
    /// # Ok(()) });
    /// ```
    pub async fn task_finalize(&self, task: TaskId, who: Holder, fence: Fence) -> Result<FinalizeAnswer, Error> {
        self.check_holder(&who, false)?;
        let turno = self.clone();
        let running = tokio::spawn(async move {
            let turn = turno.inner.finalizing.lock_for(task);
            let _turn = turn.lock().await;
            turno.finalize(task, who, fence).await
        });
        running.await.map_err(|_| Error::Closed)?
    }

    async fn finalize(&self, id: TaskId, who: Holder, fence: Fence) -> Result<FinalizeAnswer, Error> {
        let resource = id.resource();
        let needs = Needs::permission(Permission::InventoryManage).on(&resource);
        self.authorize_read(needs).await?;
        let store = &self.inner.store;
        let numbers = store.task(id).await?.map(|task| task.lines.iter().map(|line| line.number).collect());
        let numbers: Vec<u32> = numbers.ok_or(Error::Unknown(Thing::Task(id)))?;
        let via = self.principal().and_then(|principal| principal.via.clone());
        let policy = self.task_policy();
        let mut lines = Vec::with_capacity(numbers.len());
        for number in numbers {
            self.authorize_read(needs).await?;
            let (who, via, policy) = (who.clone(), via.clone(), policy.clone());
            let apply = Apply { task: id, number, fence, who, via, policy };
            match self.apply_line(apply).await? {
                LineStep::Settled(outcome) => lines.push((number, outcome)),
                LineStep::Over(_) => break,
                LineStep::Refused(_) => break,
            }
        }
        // The last step decides again: it detects a finalize that already ended, or a lost lease.
        let close = Action::Close { fence, lines: lines.clone() };
        let closed = self.task_command(Some(id), who, close).await?;
        let (answer, repeated) = match closed.answer {
            Ok(Outcome::Finalized { finalized, repeated }) => (Ok(finalized), repeated),
            Ok(_) => return Err(Error::Closed),
            Err(refused) => (Err(refused), false),
        };
        let lines = match (&answer, closed.task) {
            (Ok(finalized), _) => finalized.lines.clone(),
            (Err(_), Some(task)) => task.outcomes(fence, &lines),
            (Err(_), None) => lines,
        };
        Ok(FinalizeAnswer { answer, lines, repeated, lease: closed.lease, now: closed.now })
    }

    async fn apply_line(&self, apply: Apply) -> Result<LineStep, Error> {
        let mut redo = 0;
        loop {
            match self.inner.store.apply_line(apply.clone(), self.inner.effect.clone()).await {
                Err(StoreError::Conflict(reason)) if redo < REDO_MAX => {
                    tracing::debug!(reason, "redoing a line");
                    redo += 1;
                }
                step => return Ok(step?),
            }
        }
    }

    fn task_policy(&self) -> lease::Policy {
        self.inner.leases.for_resource(&TaskId(1).resource()).clone()
    }

    /// Completes a `Lost` refusal from the history, because the row keeps only the last ending.
    async fn complete_lost_task(&self, command: &Command, mut answer: TaskOutcome) -> Result<TaskOutcome, Error> {
        let fence = match command.action {
            Action::Patch { fence, .. } | Action::Validate { fence, .. } | Action::Close { fence, .. } => fence,
            _ => return Ok(answer),
        };
        if let (Some(task), Err(Refused::Lease(lease::Refused::Lost { ending: ending @ None }))) =
            (command.task, &mut answer.answer)
        {
            *ending = self.inner.store.ending(task.resource(), fence).await?;
        }
        Ok(answer)
    }
}
