//! A task by its number: create it, claim it, check its lines, finalize it.
//!
//! A verb builds a command for [`Turno::task_command`]. A refusal is an [`Error::Task`] whose code says why. The answer of
//! `finalize` carries its refusal, because it also lists the lines.

use super::{FinalizeAnswer, TaskAnswer};
use crate::engine::{Heartbeat, Turno};
use crate::error::Error;
use turno_core::id::Once;
use turno_core::lease::{self, Grant, Holder, State};
use turno_core::task::{Action, NewLine, Patch, Task, TaskId};

/// A task that does not exist yet: [`Turno::create_task`].
#[derive(Clone, Debug)]
pub struct NewTask {
    title: String,
    lines: Vec<NewLine>,
    ready: bool,
    once: Option<Once>,
}

impl NewTask {
    /// A draft with this title and no lines.
    pub fn titled(title: impl Into<String>) -> NewTask {
        NewTask { title: title.into(), lines: Vec::new(), ready: false, once: None }
    }

    /// Adds lines.
    pub fn lines(mut self, lines: impl IntoIterator<Item = NewLine>) -> NewTask {
        self.lines.extend(lines);
        self
    }

    /// Makes the task ready to be claimed, instead of a draft.
    pub fn ready(self) -> NewTask {
        NewTask { ready: true, ..self }
    }

    /// Creates the task at most once under this key, at any later time and after any crash.
    pub fn once(self, once: impl Into<Option<Once>>) -> NewTask {
        NewTask { once: once.into(), ..self }
    }
}

impl From<NewTask> for Action {
    fn from(new: NewTask) -> Action {
        let NewTask { title, lines, ready, once } = new;
        Action::Create { title, lines, ready, once }
    }
}

/// A handle to one task: [`Turno::task`].
#[derive(Clone, Debug)]
pub struct TaskHandle {
    turno: Turno,
    id: TaskId,
}

impl Turno {
    /// Creates a task and returns its handle. With [`NewTask::once`], a repeated call returns the first task.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// use std::time::Duration;
    /// use turno::task::{Movement, NewLine, NewTask, Status};
    /// let nails = NewLine::quantity(Movement::In, "nails", 30)?;
    /// let task = turno.create_task("eva", NewTask::titled("Delivery").lines([nails]).ready()).await?;
    ///
    /// let grant = task.claim("ana").await?;
    /// let grant = task.heartbeat(&grant).idle(Duration::ZERO).await?;
    /// assert_eq!(task.claim("luis").await.unwrap_err().code(), "lease_held");
    /// let done = task.finalize(&grant).await?;
    /// assert_eq!(done.answer.expect("ana's lock is live").status, Status::Completed);
    /// # Ok(()) });
    /// ```
    pub async fn create_task<H>(&self, who: H, new: NewTask) -> Result<TaskHandle, Error>
    where
        H: TryInto<Holder>,
        Error: From<H::Error>,
    {
        let answer = self.task_command(None, who.try_into()?, new.into()).await?;
        answer.answer.map_err(Error::Task)?;
        let task = answer.task.ok_or(Error::Bug("a created task is not there"))?;
        Ok(self.task(task.id))
    }

    /// Returns the handle of a task, and reads nothing. If the task does not exist, `get` returns `None`, and a verb
    /// returns an error with the code `not_found`.
    pub fn task(&self, id: TaskId) -> TaskHandle {
        TaskHandle { turno: self.clone(), id }
    }
}

impl TaskHandle {
    /// Returns the task's number.
    pub fn id(&self) -> TaskId {
        self.id
    }

    /// Returns the task and its lease as they are now. `None` if the task does not exist.
    pub async fn get(&self) -> Result<Option<(Task, State)>, Error> {
        self.turno.task_get(self.id).await.map(|(_, found)| found)
    }

    /// Makes a draft ready to be claimed.
    pub async fn mark_ready<H>(&self, who: H) -> Result<Task, Error>
    where
        H: TryInto<Holder>,
        Error: From<H::Error>,
    {
        stored(self.command(who.try_into()?, Action::Ready).await?)
    }

    /// Claims the task's lease. A ready task becomes `processing`.
    pub async fn claim<H>(&self, who: H) -> Result<Grant, Error>
    where
        H: TryInto<Holder>,
        Error: From<H::Error>,
    {
        let claim = Action::Lease(lease::Action::Claim { ttl: None, wait: false });
        let answer = self.command(who.try_into()?, claim).await?;
        answer.lease.grant.ok_or(Error::Bug("an accepted claim has no grant"))
    }

    /// Renews the grant of the task's lease and returns it with its new expiry.
    pub fn heartbeat(&self, grant: &Grant) -> Heartbeat {
        self.turno.lease(self.id.resource()).heartbeat(grant)
    }

    /// Releases the task's lease. If the holder has claimed again since, the newer claim keeps the lease.
    pub async fn release(&self, grant: &Grant) -> Result<(), Error> {
        let release = lease::Action::Release { fence: grant.fence, claim: Some(grant.claim) };
        self.command(grant.holder.clone(), Action::Lease(release)).await.map(drop)
    }

    /// Changes a line. Needs the live grant.
    pub async fn change_line(&self, grant: &Grant, number: u32, patch: Patch) -> Result<Task, Error> {
        let change = Action::Patch { fence: grant.fence, number, patch };
        stored(self.command(grant.holder.clone(), change).await?)
    }

    /// Marks a line as checked. Needs the live grant.
    pub async fn validate_line(&self, grant: &Grant, number: u32) -> Result<Task, Error> {
        let validate = Action::Validate { fence: grant.fence, number };
        stored(self.command(grant.holder.clone(), validate).await?)
    }

    /// Applies every line once and releases the lease, as [`Turno::task_finalize`] does.
    pub async fn finalize(&self, grant: &Grant) -> Result<FinalizeAnswer, Error> {
        self.turno.task_finalize(self.id, grant.holder.clone(), grant.fence).await
    }

    /// Executes a command and turns its refusal into an error.
    async fn command(&self, who: Holder, action: Action) -> Result<TaskAnswer, Error> {
        let answer = self.turno.task_command(Some(self.id), who, action).await?;
        match answer.answer {
            Ok(_) => Ok(answer),
            Err(refused) => Err(Error::Task(refused)),
        }
    }
}

/// Returns the task after an accepted command.
fn stored(answer: TaskAnswer) -> Result<Task, Error> {
    answer.task.ok_or(Error::Bug("a changed task is not there"))
}
