//! Invariants of tasks, lines and stock: each effect once, only under the live lock, and none of a failed line.

use super::{Checked, Commit, fault};
use crate::db::Map;
use crate::db::{Db, Level};
use crate::sim::message::{Ask, Reply};
use crate::sim::tx::Lined;
use std::collections::BTreeSet;
use turno::store::{LineStep, TaskOutcome, TaskWrite};
use turno_core::id::{Fence, Sku};
use turno_core::lease;
use turno_core::task::{
    Action, Command, Finalized, Goods, LineError, LineOutcome, LineStatus, Movement, NewLine, Outcome, Refused, Status,
    Task, TaskId,
};

#[derive(Clone, Debug)]
struct Line {
    movement: Movement,
    sku: Sku,
    goods: Goods,
    /// The fence under which the line was applied.
    applied: Option<Fence>,
}

impl Line {
    fn new(line: &NewLine) -> Line {
        let NewLine { movement, sku, goods } = line.clone();
        Line { movement, sku, goods, applied: None }
    }
}

#[derive(Clone, Debug)]
struct Known {
    status: Status,
    lines: Vec<Line>,
    /// The last finalize. Every repetition must get the same answer.
    finalized: Option<Finalized>,
}

#[derive(Clone, Default)]
pub(super) struct Tasks {
    all: Map<TaskId, Known>,
    /// Numbers of tasks that a failover has lost.
    spent: BTreeSet<TaskId>,
    stock: Map<Sku, Level>,
}

impl Tasks {
    /// Marks the numbers given in lost commits as used.
    pub(super) fn carry_over(&mut self, lost: &Tasks) {
        let lost = lost.spent.iter().chain(lost.all.keys()).copied();
        self.spent = lost.filter(|id| !self.all.contains_key(id)).collect();
    }

    pub(super) fn commit(&mut self, commit: &Commit<'_>, write: &TaskWrite) -> Checked {
        let (Ask::Task(command), Reply::Task(outcome)) = (&commit.calls[0].ask, &commit.replies[0]) else {
            return Ok(());
        };
        let Some(id) = command.task.or(outcome.task.as_ref().map(|task| task.id)) else {
            return Ok(());
        };
        let at = id.resource();
        match (&command.action, &outcome.answer) {
            (Action::Create { lines, ready, .. }, Ok(_)) => {
                let status = if *ready { Status::Ready } else { Status::Draft };
                let lines = lines.iter().map(Line::new).collect();
                if self.all.insert(id, Known { status, lines, finalized: None }).is_some() || self.spent.contains(&id) {
                    return fault("K1", at, "two tasks have the same number");
                }
            }
            _ => {
                let Some(task) = self.all.get_mut(&id) else {
                    return match outcome.answer {
                        Err(Refused::Unknown) => Ok(()),
                        ref other => fault("K1", at, format!("an unknown task was answered {other:?}")),
                    };
                };
                if !task.decided(command, outcome) {
                    let text = format!("{:?} of {task:?} was answered {:?}", command.action, outcome.answer);
                    return fault("K1", at, text);
                }
            }
        }
        match &write.task {
            Some(_) if outcome.answer.is_err() => fault("K3", at, "a refusal changed the task"),
            Some(row) => self.row(row),
            None => Ok(()),
        }
    }

    /// Checks one line of a finalize.
    pub(super) fn lined(&mut self, commit: &Commit<'_>, lined: &Lined) -> Checked {
        let Ask::Apply(apply) = &commit.calls[0].ask else {
            return Ok(());
        };
        let at = apply.task.resource();
        let task = self.all.get_mut(&apply.task);
        let Some((task, number)) = task.zip((apply.number as usize).checked_sub(1)) else {
            return fault("K1", at, "a line of an unknown task");
        };
        use Status::PartiallyCompleted;
        let known = &task.finalized;
        let Some(line) = task.lines.get_mut(number) else {
            return fault("K1", at, format!("there is no line {}", apply.number));
        };
        let name = format!("line {} ({line:?})", apply.number);
        match (&lined.step, &lined.line) {
            (LineStep::Settled(LineOutcome::Applied), Some(row)) => {
                if line.applied.is_some() {
                    return fault("K1", at, format!("{name} was applied once more, under {}", apply.fence.0));
                }
                if row.goods != line.goods || row.sku != line.sku || row.movement != line.movement {
                    return fault("K1", at, format!("{name} was applied as {row:?}"));
                }
                line.applied = Some(apply.fence);
                // After the first applied line the task is partially completed, whatever happens to the finalize.
                task.status = PartiallyCompleted;
                if lined.status != Some(PartiallyCompleted) {
                    return fault("K5", at, format!("{name} was applied, and the task is {:?}", lined.status));
                }
                let level = self.stock.entry(line.sku.clone()).or_default();
                if let Err(text) = moved(level, line) {
                    return fault("K3", at, format!("{name}: {text}"));
                }
                match &lined.level {
                    Some(written) if written == level => Ok(()),
                    written => fault("K1", at, format!("after {name} the stock is {level:?}, written was {written:?}")),
                }
            }
            (LineStep::Settled(LineOutcome::Failed(error)), Some(row)) => {
                if line.applied.is_some() {
                    return fault("K1", at, format!("{name} was tried once more, under {}", apply.fence.0));
                }
                if lined.level.is_some() || row.applied.is_some() {
                    return fault("K3", at, format!("{name} failed and left an effect: {lined:?}"));
                }
                let level = self.stock.get(&line.sku).cloned().unwrap_or_default();
                if !explains(error, line, &level) {
                    return fault("K3", at, format!("{name} failed with {error:?}; the stock is {level:?}"));
                }
                Ok(())
            }
            (LineStep::Settled(LineOutcome::Applied), None) if line.applied == Some(apply.fence) => Ok(()),
            (LineStep::Settled(LineOutcome::Skipped), None)
                if line.applied.is_some_and(|fence| fence != apply.fence) =>
            {
                Ok(())
            }
            (LineStep::Over(finalized), None) if known.as_ref() == Some(finalized) => Ok(()),
            (LineStep::Refused(Refused::Lease(_) | Refused::WrongStatus(_)), None) => Ok(()),
            (step, row) => fault("K1", at, format!("{name} was answered {step:?} and written as {row:?}")),
        }
    }

    /// Checks that a row equals the decision and lacks no effect.
    fn row(&self, row: &Task) -> Checked {
        let at = row.id.resource();
        let Some(task) = self.all.get(&row.id) else {
            return fault("K1", at, "the row of an unknown task");
        };
        if row.status != task.status || row.finalized != task.finalized {
            return fault("K1", at, format!("{task:?} was written as {row:?}"));
        }
        let same = |(line, row): (&Line, &turno_core::task::Line)| {
            let applied = row.applied.as_ref().map(|(_, fence, _)| *fence);
            let goods = row.goods == line.goods && row.sku == line.sku && row.movement == line.movement;
            goods && applied == line.applied && applied.is_some() == (row.status == LineStatus::Applied)
        };
        if task.lines.len() != row.lines.len() || !task.lines.iter().zip(&row.lines).all(same) {
            return fault("K1", at, format!("{:?} were written as {:?}", task.lines, row.lines));
        }
        Ok(())
    }

    pub(super) fn audit(&self, db: &Db) -> Checked {
        if db.tasks.len() != self.all.len() {
            return fault("K1", "", format!("{} tasks were created, {} are stored", self.all.len(), db.tasks.len()));
        }
        db.tasks.values().try_for_each(|row| self.row(row))?;
        for (sku, level) in &db.stock {
            let model = self.stock.get(sku).cloned().unwrap_or_default();
            if model != *level {
                return fault("K1", sku, format!("the applied lines give {model:?}, the stock is {level:?}"));
            }
        }
        Ok(())
    }
}

impl Known {
    /// Applies an answer to the model. Returns false if the answer is impossible.
    fn decided(&mut self, command: &Command, outcome: &TaskOutcome) -> bool {
        use Status::{Cancelled, Completed, Draft, PartiallyCompleted, Processing, Ready};
        let worked_on = matches!(self.status, Processing | PartiallyCompleted);
        let answer = match &outcome.answer {
            Ok(answer) => answer,
            Err(Refused::Unknown) => return false,
            Err(Refused::WrongStatus(status)) => return self.is_wrong(*status, &command.action),
            Err(Refused::NoSuchLine(number)) => return *number as usize > self.lines.len(),
            Err(Refused::LineApplied(number)) => {
                return self.lines.get(*number as usize - 1).is_some_and(|line| line.applied.is_some());
            }
            Err(Refused::Lease(_)) => return !self.repeats(command),
            Err(Refused::Changed) => return matches!(command.action, Action::Edit { seen: Some(_), .. }),
            Err(Refused::LineChanged(_)) => {
                return matches!(&command.action, Action::Patch { patch, .. } if patch.seen.is_some());
            }
            Err(Refused::LinesApplied(numbers)) => {
                let keeps = matches!(command.action, Action::Cancel { keep_applied: true, .. });
                return !keeps && !numbers.is_empty() && *numbers == self.applied();
            }
            Err(Refused::LineInvalid(..) | Refused::Invalid(_)) => return true,
        };
        match (&command.action, answer) {
            (Action::Create { .. }, _) => false,
            (Action::Edit { lines, .. }, Outcome::Done) => {
                if let Some(lines) = lines {
                    self.lines = lines.iter().map(Line::new).collect();
                }
                self.status == Draft
            }
            (Action::Ready, Outcome::Done) => {
                let good = self.status == Draft && !self.lines.is_empty();
                self.status = Ready;
                good
            }
            (Action::Cancel { keep_applied, .. }, Outcome::Done) => {
                let open = !matches!(self.status, Cancelled | Completed);
                self.status = Cancelled;
                open && (*keep_applied || self.applied().is_empty())
            }
            (Action::Lease(action), Outcome::Lease(answer)) => {
                let takes = matches!(answer, lease::Outcome::Claimed { .. })
                    || matches!(
                        action,
                        lease::Action::JoinLine | lease::Action::RenewTicket | lease::Action::Claim { .. }
                    );
                let lockable = worked_on || self.status == Ready;
                if *answer == (lease::Outcome::Claimed { renewed: false }) && self.status == Ready {
                    self.status = Processing;
                }
                lockable || !takes
            }
            (Action::Patch { number, patch, .. }, Outcome::Done) => {
                let Some(line) = self.lines.get_mut(*number as usize - 1) else {
                    return false;
                };
                line.movement = patch.movement.unwrap_or(line.movement);
                line.sku = patch.sku.clone().unwrap_or_else(|| line.sku.clone());
                line.goods = patch.goods.clone().unwrap_or_else(|| line.goods.clone());
                worked_on && line.applied.is_none()
            }
            (Action::Validate { number, .. }, Outcome::Done) => {
                worked_on && self.lines.get(*number as usize - 1).is_some_and(|line| line.applied.is_none())
            }
            (Action::Close { .. }, Outcome::Finalized { finalized, repeated: true }) => {
                self.finalized.as_ref() == Some(finalized)
            }
            (Action::Close { fence, .. }, Outcome::Finalized { finalized, repeated: false }) => {
                let first = !self.repeats(command);
                let whole = self.lines.iter().all(|line| line.applied.is_some());
                let status = if whole { Completed } else { PartiallyCompleted };
                self.status = status;
                self.finalized = Some(finalized.clone());
                // A line answered as failed may have been applied meanwhile by another finalize under this fence.
                let plausible = finalized.lines.iter().all(|(number, line_outcome)| {
                    let line = self.lines.get(*number as usize - 1);
                    let by = line.and_then(|line| line.applied);
                    if matches!(line_outcome, LineOutcome::Failed(_)) {
                        by.is_none_or(|by| by == *fence)
                    } else {
                        by.is_some()
                    }
                });
                let all = finalized.lines.len() == self.lines.len();
                first && worked_on && finalized.status == status && finalized.fence == *fence && plausible && all
            }
            _ => false,
        }
    }

    fn applied(&self) -> Vec<u32> {
        let applied = |(number, line): (u32, &Line)| line.applied.is_some().then_some(number);
        (1..).zip(&self.lines).filter_map(applied).collect()
    }

    /// Returns whether the command repeats an answered finalize.
    fn repeats(&self, command: &Command) -> bool {
        let Action::Close { fence, .. } = &command.action else {
            return false;
        };
        self.finalized.as_ref().is_some_and(|finalized| finalized.fence == *fence)
    }

    fn is_wrong(&self, answered: Status, action: &Action) -> bool {
        let fits = match action {
            Action::Edit { .. } | Action::Ready => answered == Status::Draft,
            Action::Lease(_) => matches!(answered, Status::Ready | Status::Processing | Status::PartiallyCompleted),
            Action::Patch { .. } | Action::Validate { .. } => {
                matches!(answered, Status::Processing | Status::PartiallyCompleted)
            }
            // A finalize without the lock is refused as lost. Only if the task never had a holder, the status refuses
            // it.
            Action::Close { .. } => !matches!(answered, Status::Draft | Status::Ready),
            Action::Cancel { .. } => !matches!(answered, Status::Completed | Status::Cancelled),
            Action::Create { .. } => true,
        };
        answered == self.status && !fits
    }
}

/// Applies a line to the stock, or returns why it is impossible.
fn moved(level: &mut Level, line: &Line) -> Result<(), String> {
    let into = line.movement == Movement::In;
    let units = match &line.goods {
        Goods::Quantity(quantity) => *quantity,
        Goods::Serialized(serials) => {
            for serial in serials {
                let fits = if into { level.serials.insert(serial.clone()) } else { level.serials.remove(serial) };
                if !fits {
                    return Err(format!("{serial} moved {}", if into { "in twice" } else { "out, and was not there" }));
                }
            }
            serials.len() as i64
        }
    };
    level.quantity += if into { units } else { -units };
    if level.quantity < level.serials.len() as i64 {
        return Err(format!("the stock would be {level:?}"));
    }
    Ok(())
}

/// Returns whether the stock and the line justify an error.
fn explains(error: &LineError, line: &Line, level: &Level) -> bool {
    let (into, loose) = (line.movement == Movement::In, level.quantity - level.serials.len() as i64);
    match (error, &line.goods) {
        (LineError::Incomplete, Goods::Serialized(serials)) => serials.is_empty(),
        (LineError::DuplicateSerial { serial }, Goods::Serialized(serials)) => {
            into && serials.contains(serial) && level.serials.contains(serial)
        }
        (LineError::UnknownSerial { serial }, Goods::Serialized(serials)) => {
            !into && serials.contains(serial) && !level.serials.contains(serial)
        }
        (LineError::NotEnough { available, wanted }, Goods::Quantity(quantity)) => {
            !into && wanted == quantity && *available == loose && loose < *quantity
        }
        _ => false,
    }
}
