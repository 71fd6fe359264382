//! Decides one command about one task and its lease.

use super::line::{Goods, Line, LineError, LineOutcome, LineStatus, NewLine, Patch, speaks_for_ended};
use super::stock::{Stock, post};
use super::{Action, Command, Finalized, Note, Outcome, Refused, Status, Task, TaskId, Version};
use crate::audit::{AuditAction, Draft};
use crate::event::{Event, EventName, Topic};
use crate::fault::{Fault, Invalid};
use crate::id::{Fence, Numbers};
use crate::lease;
use crate::limits::{LINES_MAX, NAME_MAX};
use crate::text::clip_text;
use crate::time::{Span, Time};
use serde_json::Value;

/// The rows that the store read, with the task and its lease locked.
#[derive(Debug)]
pub struct Read {
    /// The database's clock, read after the locks.
    pub now: Time,
    /// One fresh number, for a fence.
    pub numbers: Numbers,
    /// The number for a new task.
    pub fresh: Option<TaskId>,
    /// The task, if it exists. For [`Action::Create`], the task that was already created under the same key.
    pub task: Option<Task>,
    /// The task's lease.
    pub lease: lease::State,
    /// The stock for the line that is validated. `None` if an application's own effect decides.
    pub stock: Option<Stock>,
}

/// The lines that the store must write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Lines {
    /// No line.
    #[default]
    Kept,
    /// The line with this number.
    One(u32),
    /// All lines, which replace the stored ones.
    All,
}

/// The complete decision: the answer, and what the store must write with it.
#[derive(Debug)]
pub struct Decision {
    /// The answer for the caller.
    pub answer: Result<Outcome, Refused>,
    /// The task after the decision.
    pub task: Option<Task>,
    /// The task has changed and must be written.
    pub changed: bool,
    /// The lines that must be written.
    pub lines: Lines,
    /// The lease after the decision.
    pub lease: lease::State,
    /// The lease has changed and must be written.
    pub lease_changed: bool,
    /// Ownerships that ended, for the history of leases.
    pub ended: Vec<lease::Ending>,
    /// Entries of the task's history.
    pub notes: Vec<Note>,
    /// Events to announce after the commit.
    pub events: Vec<Event>,
    /// Audit entries.
    pub audit: Vec<Draft>,
}

/// Decides `command` on the rows in `read`.
pub fn decide(command: &Command, read: Read) -> Decision {
    let Read { now, numbers, fresh, task, lease, stock } = read;
    let decision = Decision {
        answer: Ok(Outcome::Done),
        task,
        changed: false,
        lines: Lines::Kept,
        lease,
        lease_changed: false,
        ended: Vec::new(),
        notes: Vec::new(),
        events: Vec::new(),
        audit: Vec::new(),
    };
    let mut builder = DecisionBuilder { command, now, numbers, decision };
    let answer = match &command.action {
        Action::Create { .. } if builder.decision.task.is_some() => Ok(Outcome::Repeated),
        Action::Create { title, lines, ready, .. } => builder.create(fresh, title, lines, *ready),
        Action::Edit { title, lines, seen } => builder.edit(title.as_deref(), lines.as_deref(), *seen),
        Action::Ready => builder.ready(),
        Action::Cancel { reason, keep_applied } => builder.cancel(reason.as_deref(), *keep_applied),
        Action::Lease(action) => builder.lease(action),
        Action::Patch { fence, number, patch } => builder.patch(*fence, *number, patch),
        Action::Validate { fence, number } => builder.validate(*fence, *number, stock.as_ref()),
        Action::Close { fence, lines } => builder.close(*fence, lines),
    };
    builder.decision.answer = answer;
    builder.decision
}

/// Collects the parts of a [`Decision`] while the command is decided.
struct DecisionBuilder<'a> {
    command: &'a Command,
    now: Time,
    numbers: Numbers,
    decision: Decision,
}

impl DecisionBuilder<'_> {
    fn create(
        &mut self,
        fresh: Option<TaskId>,
        title: &str,
        lines: &[NewLine],
        ready: bool,
    ) -> Result<Outcome, Refused> {
        let id = fresh.ok_or(Refused::Unknown)?;
        let lines = numbered(lines)?;
        if ready && lines.is_empty() {
            return Err(no_lines());
        }
        self.decision.task = Some(Task {
            id,
            title: checked_title(title)?,
            status: if ready { Status::Ready } else { Status::Draft },
            lines,
            created_at: self.now,
            created_by: self.command.who.user.clone(),
            updated_at: self.now,
            finalized: None,
        });
        self.decision.lines = Lines::All;
        self.changed(EventName::TaskCreated, "created", None, None);
        Ok(Outcome::Done)
    }

    fn edit(
        &mut self,
        title: Option<&str>,
        lines: Option<&[NewLine]>,
        seen: Option<Version>,
    ) -> Result<Outcome, Refused> {
        let title = title.map(checked_title).transpose()?;
        let lines = lines.map(numbered).transpose()?;
        let all = lines.is_some();
        let task = self.task_in(&[Status::Draft])?;
        let after = Task {
            title: title.unwrap_or_else(|| task.title.clone()),
            lines: lines.unwrap_or_else(|| task.lines.clone()),
            ..task.clone()
        };
        // A form that is sent twice is accepted: the stored contents are its own change.
        let stored = task.version();
        if seen.is_some_and(|seen| seen != stored) && after.version() != stored {
            return Err(Refused::Changed);
        }
        *task = after;
        if all {
            self.decision.lines = Lines::All;
        }
        self.changed(EventName::TaskChanged, "edited", None, None);
        Ok(Outcome::Done)
    }

    fn ready(&mut self) -> Result<Outcome, Refused> {
        let task = self.task_in(&[Status::Draft])?;
        if task.lines.is_empty() {
            return Err(no_lines());
        }
        task.status = Status::Ready;
        self.changed(EventName::TaskReady, "ready", None, None);
        Ok(Outcome::Done)
    }

    fn cancel(&mut self, reason: Option<&str>, keep_applied: bool) -> Result<Outcome, Refused> {
        let open = [Status::Draft, Status::Ready, Status::Processing, Status::PartiallyCompleted];
        let applied = self.task_in(&open)?.applied_lines();
        let now = self.now.max(self.decision.lease.decided_at());
        let live = self.decision.lease.live(now).cloned();
        let others = |grant: &lease::Grant| self.decision.lease.kept || !self.command.who.speaks_for(&grant.holder);
        if let Some(grant) = live.clone().filter(others) {
            return Err(Refused::Lease(lease::Refused::HeldBy { grant, position: None }));
        }
        if !applied.is_empty() && !keep_applied {
            return Err(Refused::LinesApplied(applied));
        }
        match live {
            Some(grant) => {
                self.release_for_good(grant.fence, Status::Cancelled)?;
            }
            None => self.dismiss(Status::Cancelled),
        }
        let task = self.task_in(&open)?;
        let before = task.status;
        task.status = Status::Cancelled;
        self.changed(EventName::TaskCancelled, "cancelled", None, reason);
        let mut details =
            vec![("reason", reason.map_or(Value::Null, Value::from)), ("status_before", Value::from(before.as_str()))];
        if !applied.is_empty() {
            details.push(("lines_applied", Value::from(applied)));
        }
        let entry = Draft::new(self.command.actor(), AuditAction::TaskCancel, self.resource()).with(details);
        self.decision.audit.push(entry);
        Ok(Outcome::Done)
    }

    fn lease(&mut self, action: &lease::Action) -> Result<Outcome, Refused> {
        use lease::Action::{Claim, ForceClaim, JoinLine, RenewTicket};
        let status = self.task()?.status;
        if matches!(action, Claim { .. } | ForceClaim { .. } | JoinLine | RenewTicket) && !status.lockable() {
            return Err(Refused::WrongStatus(status));
        }
        let outcome = self.on_lease(action.clone())?;
        if matches!(outcome, lease::Outcome::Claimed { renewed: false }) {
            let task = self.task()?;
            let first = task.status == Status::Ready;
            if first {
                task.status = Status::Processing;
                self.changed(EventName::TaskProcessing, "processing", None, None);
            }
        }
        Ok(Outcome::Lease(outcome))
    }

    fn patch(&mut self, fence: Fence, number: u32, patch: &Patch) -> Result<Outcome, Refused> {
        if let Some(goods) = &patch.goods {
            goods.check().map_err(Refused::Invalid)?;
        }
        let before = self.own_line(fence, number)?;
        let after = Line {
            movement: patch.movement.unwrap_or(before.movement),
            sku: patch.sku.clone().unwrap_or_else(|| before.sku.clone()),
            goods: patch.goods.clone().unwrap_or_else(|| before.goods.clone()),
            status: LineStatus::Pending,
            error: None,
            ..before.clone()
        };
        // A change that is sent twice is accepted: the stored line is its own change.
        let stored = before.version();
        if patch.seen.is_some_and(|seen| seen != stored) && after.version() != stored {
            return Err(Refused::LineChanged(number));
        }
        self.save_line(after, "line_edited", None)
    }

    fn validate(&mut self, fence: Fence, number: u32, stock: Option<&Stock>) -> Result<Outcome, Refused> {
        let line = self.own_line(fence, number)?;
        let complete = !matches!(&line.goods, Goods::Serialized(serials) if serials.is_empty());
        let good = if complete { Ok(()) } else { Err(LineError::Incomplete) };
        let good = good.and_then(|()| stock.map_or(Ok(()), |stock| post(&line, stock).map(drop)));
        if let Err(error) = good {
            // The line is unchanged. The renewal of the lease in `own_line` stays, because validating is work.
            return Err(Refused::LineInvalid(number, error));
        }
        self.save_line(Line { status: LineStatus::Validated, error: None, ..line }, "line_validated", None)
    }

    fn close(&mut self, fence: Fence, lines: &[(u32, LineOutcome)]) -> Result<Outcome, Refused> {
        let was_holder = speaks_for_ended(&self.decision.lease, fence, &self.command.who);
        let task = self.task()?;
        if let Some(finalized) = task.finalized.clone().filter(|finalized| finalized.fence == fence) {
            if was_holder {
                return Ok(Outcome::Finalized { finalized, repeated: true });
            }
            let ending = self.decision.lease.ended.clone();
            return Err(Refused::Lease(lease::Refused::Lost { ending }));
        }
        if matches!(task.status, Status::Draft | Status::Ready) {
            return Err(Refused::WrongStatus(task.status));
        }
        // The lock is checked before the status, so that a caller who lost it gets `lease_lost` also after another
        // person has completed or cancelled the task.
        let now = self.now.max(self.decision.lease.decided_at());
        let lease = &self.decision.lease;
        if lease.live(now).is_none() || !lease.owned(fence, &self.command.who) {
            // A release stores an expiry that is not stored yet, and its refusal says how the ownership ended.
            let released = self.release(fence);
            return Err(released.err().unwrap_or_else(|| self.lost(fence)));
        }
        let task = self.task_in(&[Status::Processing, Status::PartiallyCompleted])?;
        let whole = task.lines.iter().all(|line| line.status == LineStatus::Applied);
        let status = if whole { Status::Completed } else { Status::PartiallyCompleted };
        let released = if whole { self.release_for_good(fence, status)? } else { self.release(fence)? };
        if released != (lease::Outcome::Released { released: true, repeated: false }) {
            return Err(self.lost(fence));
        }
        let task = self.task()?;
        let lines = task.lines.iter().filter_map(|line| Some((line.number, outcome_of(line, fence, lines)?))).collect();
        let finalized = Finalized { fence, status, lines };
        task.status = status;
        task.finalized = Some(finalized.clone());
        let event = if whole { EventName::TaskCompleted } else { EventName::TaskPartiallyCompleted };
        self.changed(event, "finalized", None, Some(status.as_str()));
        Ok(Outcome::Finalized { finalized, repeated: false })
    }

    /// Returns the refusal of a finalize whose ownership is over. This includes an ownership that its holder released:
    /// a release may be repeated, but a finalize needs a live lease.
    fn lost(&self, fence: Fence) -> Refused {
        Refused::Lease(lease::Refused::Lost { ending: self.decision.lease.ending_of(fence) })
    }

    fn release(&mut self, fence: Fence) -> Result<lease::Outcome, Refused> {
        self.on_lease(lease::Action::Release { fence, claim: None })
    }

    /// Releases the lease of a task that is over. Empties the waiting line first, so that the release does not offer a
    /// task that cannot be processed any more. If the release will be refused, the line stays.
    fn release_for_good(&mut self, fence: Fence, became: Status) -> Result<lease::Outcome, Refused> {
        let lease = &self.decision.lease;
        let live = lease.live(self.now.max(lease.decided_at())).is_some();
        if live && lease.owned(fence, &self.command.who) && !lease.pinned {
            self.dismiss(became);
        }
        self.release(fence)
    }

    fn dismiss(&mut self, became: Status) {
        if self.decision.lease.dismiss() {
            self.decision.lease_changed = true;
            self.announce(Topic::Leases, EventName::LeaseLineClosed, Some(became.as_str().to_owned()));
        }
    }

    /// Decides a command about the lease and adds its results to this decision.
    fn on_lease(&mut self, action: lease::Action) -> Result<lease::Outcome, Refused> {
        let Command { who, via, policy, .. } = self.command.clone();
        let command = lease::Command { resource: self.decision.lease.resource.clone(), who, via, policy, action };
        let decided = lease::decide(&mut self.decision.lease, &command, self.now, &mut self.numbers);
        self.decision.lease_changed |= decided.changed;
        self.decision.ended.extend(decided.ended);
        self.decision.events.extend(decided.events);
        self.decision.audit.extend(decided.audit);
        decided.answer.map_err(Refused::Lease)
    }

    /// Returns a copy of a line that the caller may change. Needs the caller's live lease, and renews it as work.
    fn own_line(&mut self, fence: Fence, number: u32) -> Result<Line, Refused> {
        self.task()?;
        let before = (self.decision.lease.clone(), self.decision.lease_changed);
        self.on_lease(lease::Action::Heartbeat { fence, idle: Some(Span::ZERO), worked: true })?;
        // An edit sent before the page closed can arrive after `Leave`. Apply it and keep `leaving`: only a heartbeat
        // or a claim clears it.
        if before.0.leaving {
            (self.decision.lease, self.decision.lease_changed) = before;
        }
        let task = self.task_in(&[Status::Processing, Status::PartiallyCompleted])?;
        let line = task.lines.iter().find(|line| line.number == number).cloned();
        let line = line.ok_or(Refused::NoSuchLine(number))?;
        if line.status == LineStatus::Applied { Err(Refused::LineApplied(number)) } else { Ok(line) }
    }

    fn save_line(&mut self, line: Line, what: &'static str, detail: Option<&str>) -> Result<Outcome, Refused> {
        let number = line.number;
        let task = self.task()?;
        if let Some(stored) = task.lines.iter_mut().find(|stored| stored.number == number) {
            *stored = line;
        }
        self.decision.lines = Lines::One(number);
        self.changed(EventName::TaskLineChanged, what, Some(number), detail);
        Ok(Outcome::Done)
    }

    fn task(&mut self) -> Result<&mut Task, Refused> {
        self.decision.task.as_mut().ok_or(Refused::Unknown)
    }

    fn task_in(&mut self, statuses: &[Status]) -> Result<&mut Task, Refused> {
        let task = self.task()?;
        if statuses.contains(&task.status) { Ok(task) } else { Err(Refused::WrongStatus(task.status)) }
    }

    fn resource(&self) -> String {
        self.decision.task.as_ref().map_or_else(String::new, |task| task.id.resource().to_string())
    }

    /// Marks the task as changed, and adds an entry to its history and an event.
    fn changed(&mut self, event: EventName, what: &'static str, line: Option<u32>, detail: Option<&str>) {
        let now = self.now;
        if let Some(task) = &mut self.decision.task {
            task.updated_at = task.updated_at.max(now);
        }
        self.decision.changed = true;
        let detail = detail.map(clip_text);
        let note = Note { at: now, actor: self.command.actor(), what: what.to_owned(), line, detail: detail.clone() };
        self.decision.notes.push(note);
        self.announce(Topic::Tasks, event, detail);
    }

    fn announce(&mut self, topic: Topic, name: EventName, detail: Option<String>) {
        let (resource, by) = (self.resource().into(), Some(self.command.who.user.clone()));
        let event = Event {
            topic,
            name,
            resource,
            key: None,
            queue: None,
            at: self.now,
            fence: None,
            by,
            detail,
            to: Vec::new(),
        };
        self.decision.events.push(event);
    }
}

/// Returns the outcome of a line in a finalize. The stored line decides first, because another finalize under the same
/// fence may have applied a line that this one saw fail. Returns `None` if the line was not tried.
fn outcome_of(line: &Line, fence: Fence, reported: &[(u32, LineOutcome)]) -> Option<LineOutcome> {
    match (&line.applied, &line.error) {
        (Some((_, applied, _)), _) if *applied == fence => Some(LineOutcome::Applied),
        (Some(_), _) => Some(LineOutcome::Skipped),
        (None, Some(error)) => Some(LineOutcome::Failed(error.clone())),
        (None, None) => reported.iter().find(|(number, _)| *number == line.number).map(|(_, outcome)| outcome.clone()),
    }
}

fn checked_title(title: &str) -> Result<String, Refused> {
    let fits = !title.trim().is_empty() && title.chars().count() <= NAME_MAX && !title.contains('\0');
    if fits {
        Ok(title.trim().to_owned())
    } else {
        Err(Refused::Invalid(Invalid::new("title", Fault::Length { max: NAME_MAX })))
    }
}

fn numbered(lines: &[NewLine]) -> Result<Vec<Line>, Refused> {
    if lines.len() > LINES_MAX {
        return Err(Refused::Invalid(Invalid::new("lines", Fault::TooMany { max: LINES_MAX, given: lines.len() })));
    }
    let number = |(index, line): (usize, &NewLine)| {
        line.goods.check().map_err(|bad| Refused::Invalid(bad.at(index)))?;
        Ok(line.clone().into_line(u32::try_from(index + 1).unwrap_or(u32::MAX)))
    };
    lines.iter().enumerate().map(number).collect()
}

fn no_lines() -> Refused {
    Refused::Invalid(Invalid::new("lines", Fault::NoLines))
}
