//! The lines of a task, and how a finalize applies one line.

use super::{Finalized, Note, Refused, Status, Task, TaskId, Version};
use crate::audit::Actor;
use crate::event::{Event, EventName, Topic};
use crate::fault::{Fault, Invalid, Vocabulary};
use crate::id::{BadName, Fence, Numbers, Serial, Sku, UserId};
use crate::lease::{self, Holder};
use crate::limits::{QUANTITY_MAX, SERIALS_MAX};
use crate::named::named;
use crate::text::clip_text;
use crate::time::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

named! {
    /// The direction of a line.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Movement {
        /// Into stock.
        #[default]
        In = "in",
        /// Out of stock.
        Out = "out",
    } else Vocabulary::Movement
}

/// The goods that a line moves.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goods {
    /// Units with serial numbers. Empty until the serial numbers are captured.
    Serialized(Vec<Serial>),
    /// A number of units.
    Quantity(i64),
}

impl Goods {
    /// Returns the number of units.
    pub fn units(&self) -> i64 {
        match self {
            Goods::Serialized(serials) => serials.len() as i64,
            Goods::Quantity(quantity) => *quantity,
        }
    }

    /// Returns the serial numbers. Empty for a quantity.
    pub fn serials(&self) -> &[Serial] {
        match self {
            Goods::Serialized(serials) => serials,
            Goods::Quantity(_) => &[],
        }
    }

    /// Checks the bounds.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        match self {
            Goods::Serialized(serials) if serials.len() > SERIALS_MAX => {
                Err(Invalid::new("serials", Fault::TooMany { max: SERIALS_MAX, given: serials.len() }))
            }
            Goods::Serialized(serials) => {
                let mut seen = HashSet::new();
                let twice = serials.iter().find(|serial| !seen.insert(*serial));
                twice.map_or(Ok(()), |serial| Err(Invalid::new("serials", Fault::Twice(serial.clone()))))
            }
            Goods::Quantity(quantity) if !(1..=QUANTITY_MAX).contains(quantity) => {
                Err(Invalid::new("quantity", Fault::OutOfBounds { min: 1, max: QUANTITY_MAX }))
            }
            Goods::Quantity(_) => Ok(()),
        }
    }
}

named! {
    /// The status of a line.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum LineStatus {
        /// The line is not applied yet.
        Pending = "pending",
        /// The holder has marked the line as checked.
        Validated = "validated",
        /// The effect of the line is stored.
        Applied = "applied",
        /// The effect refused the line. The line can be changed and applied again.
        Failed = "failed",
    } else Vocabulary::LineStatus
}

/// The reason why a line cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum LineError {
    /// The serial numbers are not captured yet.
    #[error("its serial numbers are missing; capture them first")]
    Incomplete,
    /// An incoming unit is already in stock.
    #[error("serial number {serial} is in stock already")]
    DuplicateSerial {
        /// The serial number.
        serial: Serial,
    },
    /// An outgoing unit is not in stock.
    #[error("serial number {serial} is not in stock")]
    UnknownSerial {
        /// The serial number.
        serial: Serial,
    },
    /// There are fewer units in stock than the line takes out.
    #[error("{wanted} wanted, {available} in stock")]
    NotEnough {
        /// The units in stock.
        available: i64,
        /// The units that the line takes out.
        wanted: i64,
    },
    /// The stock would exceed its bound.
    #[error("stock would grow beyond {QUANTITY_MAX}")]
    TooMuch,
    /// An application's own effect refused the line.
    #[error("{message}")]
    Refused {
        /// The effect's message.
        message: String,
    },
}

/// One line of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The number of the line, from 1.
    pub number: u32,
    /// The direction.
    pub movement: Movement,
    /// The article.
    pub sku: Sku,
    /// The goods.
    pub goods: Goods,
    /// The status.
    pub status: LineStatus,
    /// The error of the last attempt to apply the line.
    pub error: Option<LineError>,
    /// When, under which fence and by which user the line was applied.
    pub applied: Option<(Time, Fence, UserId)>,
}

impl Line {
    /// Returns the version of the contents. Equal contents have equal versions, so a change that is undone gives the
    /// old version again.
    pub fn version(&self) -> Version {
        let mut hasher = DefaultHasher::new();
        self.hash_written(&mut hasher);
        Version(hasher.finish())
    }

    pub(super) fn hash_written(&self, hasher: &mut DefaultHasher) {
        (self.movement, &self.sku, &self.goods).hash(hasher);
    }
}

/// A line of a new task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewLine {
    /// The direction.
    pub movement: Movement,
    /// The article.
    pub sku: Sku,
    /// The goods.
    pub goods: Goods,
}

impl NewLine {
    /// Makes a line of units without serial numbers.
    pub fn quantity(movement: Movement, sku: &str, quantity: i64) -> Result<NewLine, BadName> {
        Ok(NewLine { movement, sku: Sku::new(sku)?, goods: Goods::Quantity(quantity) })
    }

    /// Makes a line of units with serial numbers. The list may be empty until they are captured.
    pub fn serialized(movement: Movement, sku: &str, serials: &[&str]) -> Result<NewLine, BadName> {
        let serials = serials.iter().map(|serial| Serial::new(*serial)).collect::<Result<_, _>>()?;
        Ok(NewLine { movement, sku: Sku::new(sku)?, goods: Goods::Serialized(serials) })
    }

    pub(super) fn into_line(self, number: u32) -> Line {
        let NewLine { movement, sku, goods } = self;
        Line { number, movement, sku, goods, status: LineStatus::Pending, error: None, applied: None }
    }
}

/// The changes of a line. A field that is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// The new direction.
    pub movement: Option<Movement>,
    /// The new article.
    pub sku: Option<Sku>,
    /// The new goods.
    pub goods: Option<Goods>,
    /// The version that the editor has read. If another version is stored, the change is refused. The fence does not
    /// suffice for this, because two windows of one person have the same fence, and a change may arrive late.
    pub seen: Option<Version>,
}

/// The outcome of a line in a finalize.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineOutcome {
    /// The finalize has applied the line.
    Applied,
    /// The line was already applied.
    Skipped,
    /// The effect refused the line.
    Failed(LineError),
}

/// A command to apply one line in a finalize.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Apply {
    /// The task.
    pub task: TaskId,
    /// The number of the line, from 1.
    pub number: u32,
    /// The fence of the caller's ownership.
    pub fence: Fence,
    /// The caller.
    pub who: Holder,
    /// The account that calls on behalf of `who`, if it is another one.
    pub via: Option<UserId>,
    /// The lease policy of tasks.
    pub policy: lease::Policy,
}

/// What to do with a line, as decided in its own transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Run the effect now.
    Go,
    /// Run nothing: the line is already applied.
    Settled(LineOutcome),
    /// Run nothing: the same finalize has already ended with this result.
    Over(Finalized),
    /// The line may not be applied.
    Refused(Refused),
}

/// Returns whether `who` may repeat a finalize under a fence that is over. If the row still holds that ending, `who`
/// must be its holder. Otherwise knowing the fence is enough.
pub(super) fn speaks_for_ended(lease: &lease::State, fence: Fence, who: &lease::Holder) -> bool {
    let ended = lease.ended.as_ref().filter(|ending| ending.grant.fence == fence);
    ended.is_none_or(|ending| who.speaks_for(&ending.grant.holder))
}

/// Decides whether a line may be applied now.
///
/// The store has locked the line, and the lease against claims, before it read `now`. `task` may lack its other lines.
pub fn begin_line(apply: &Apply, task: Option<&Task>, lease: &lease::State, line: Option<&Line>, now: Time) -> Begin {
    let Some(task) = task else {
        return Begin::Refused(Refused::Unknown);
    };
    let was_holder = speaks_for_ended(lease, apply.fence, &apply.who);
    if let Some(finalized) = task.finalized.as_ref().filter(|finalized| finalized.fence == apply.fence && was_holder) {
        return Begin::Over(finalized.clone());
    }
    let now = now.max(lease.decided_at());
    if lease.live(now).is_none() || !lease.owned(apply.fence, &apply.who) {
        return Begin::Refused(Refused::Lease(lease::Refused::Lost { ending: lease.ending_of(apply.fence) }));
    }
    if !matches!(task.status, Status::Processing | Status::PartiallyCompleted) {
        return Begin::Refused(Refused::WrongStatus(task.status));
    }
    match line {
        None => Begin::Refused(Refused::NoSuchLine(apply.number)),
        Some(Line { applied: Some((_, fence, _)), .. }) if *fence == apply.fence => {
            Begin::Settled(LineOutcome::Applied)
        }
        Some(Line { status: LineStatus::Applied, .. }) => Begin::Settled(LineOutcome::Skipped),
        Some(_) => Begin::Go,
    }
}

/// A line after its effect, and what the store must write with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineDone {
    /// The line after the effect.
    pub line: Line,
    /// The outcome for the caller.
    pub outcome: LineOutcome,
    /// The entry of the task's history.
    pub note: Note,
    /// The event to announce after the commit.
    pub event: Event,
    /// The task's new status, if it changes.
    pub status: Option<Status>,
}

impl Apply {
    /// Returns the actor for the history.
    pub fn actor(&self) -> Actor {
        Actor { user: self.who.user.clone(), via: self.via.clone() }
    }

    /// Returns the heartbeat that renews the lease. Applying a line counts as work, even if it fails.
    fn work(&self) -> lease::Command {
        lease::Command {
            resource: self.task.resource(),
            who: self.who.clone(),
            via: self.via.clone(),
            policy: self.policy.clone(),
            action: lease::Action::Heartbeat { fence: self.fence, idle: Some(Span::ZERO), worked: true },
        }
    }

    /// Returns the ownership after this work, if it changes. `lease` and `now` are read after the effect.
    ///
    /// An ownership that expired during a long effect stays as it is. No other holder could take it meanwhile, because
    /// the line holds its lock, and the next command on the lease ends and announces it.
    pub fn renewed(&self, mut lease: lease::State, now: Time) -> Option<lease::Grant> {
        let decision = lease::decide(&mut lease, &self.work(), now, &mut Numbers::new(Vec::new()));
        lease.grant.filter(|_| decision.answer.is_ok() && decision.changed)
    }
}

/// Records the result of the effect that [`begin_line`] allowed. `before` is the task's status.
pub fn end_line(apply: &Apply, before: Status, line: Line, effect: Result<(), LineError>, now: Time) -> LineDone {
    let (line, outcome) = line.after(apply, effect, now);
    let after = if outcome == LineOutcome::Applied { before.with_applied_line() } else { before };
    let (what, name) = match outcome {
        LineOutcome::Failed(_) => ("line_failed", EventName::TaskLineFailed),
        LineOutcome::Applied | LineOutcome::Skipped => ("line_applied", EventName::TaskLineApplied),
    };
    let detail = line.error.as_ref().map(|error| clip_text(&error.to_string()));
    let note = Note { at: now, actor: apply.actor(), what: what.to_owned(), line: Some(apply.number), detail };
    let event = Event {
        topic: Topic::Tasks,
        name,
        resource: apply.task.resource().as_str().into(),
        key: None,
        queue: None,
        at: now,
        fence: Some(apply.fence),
        by: Some(apply.who.user.clone()),
        detail: Some(apply.number.to_string()),
        to: Vec::new(),
    };
    LineDone { line, outcome, note, event, status: Some(after).filter(|after| *after != before) }
}

impl Line {
    /// Returns the line after its effect, and its outcome.
    pub fn after(self, apply: &Apply, effect: Result<(), LineError>, now: Time) -> (Line, LineOutcome) {
        match effect {
            Ok(()) => {
                let applied = Some((now, apply.fence, apply.who.user.clone()));
                (Line { status: LineStatus::Applied, error: None, applied, ..self }, LineOutcome::Applied)
            }
            Err(error) => {
                let outcome = LineOutcome::Failed(error.clone());
                (Line { status: LineStatus::Failed, error: Some(error), ..self }, outcome)
            }
        }
    }
}
