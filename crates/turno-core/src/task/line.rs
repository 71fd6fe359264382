//! A line of a task: what moves, in which direction, and whether it has.

use super::{Finalized, Note, Refused, Status, Task, TaskId, Version};
use crate::audit::Actor;
use crate::event::{Event, Topic};
use crate::id::{Fence, Serial, Sku, UserId};
use crate::lease::{self, Holder};
use crate::limits::{QUANTITY_MAX, SERIALS_MAX};
use crate::text::kept;
use crate::time::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Into stock or out of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Movement {
    /// Into stock.
    #[default]
    In,
    /// Out of stock.
    Out,
}

/// What moves: units one by one, or so many of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goods {
    /// Each unit by its serial number. None yet: still to be captured.
    Serialized(Vec<Serial>),
    /// So many.
    Quantity(i64),
}

impl Goods {
    /// How many units.
    pub fn units(&self) -> i64 {
        match self {
            Goods::Serialized(serials) => serials.len() as i64,
            Goods::Quantity(quantity) => *quantity,
        }
    }

    /// The serial numbers, if they have any.
    pub fn serials(&self) -> &[Serial] {
        match self {
            Goods::Serialized(serials) => serials,
            Goods::Quantity(_) => &[],
        }
    }

    /// Checks bounds and form; the text names the field.
    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Goods::Serialized(serials) if serials.len() > SERIALS_MAX => {
                Err(format!("/serials: at most {SERIALS_MAX}, not {}", serials.len()))
            }
            Goods::Serialized(serials) => {
                let mut seen = HashSet::new();
                let twice = serials.iter().find(|serial| !seen.insert(*serial));
                twice.map_or(Ok(()), |serial| Err(format!("/serials: {serial} is there twice")))
            }
            Goods::Quantity(quantity) if !(1..=QUANTITY_MAX).contains(quantity) => {
                Err(format!("/quantity: must be between 1 and {QUANTITY_MAX}"))
            }
            Goods::Quantity(_) => Ok(()),
        }
    }
}

/// How far a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineStatus {
    /// To be done.
    Pending,
    /// Somebody said it is good.
    Validated,
    /// Its effect exists.
    Applied,
    /// Its effect was refused; it can be changed and tried again.
    Failed,
}

/// Why a line cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum LineError {
    /// Its serial numbers are still to be captured.
    #[error("its serial numbers are missing; capture them first")]
    Incomplete,
    /// A unit that is in stock already cannot come in.
    #[error("serial number {serial} is in stock already")]
    DuplicateSerial {
        /// Which.
        serial: Serial,
    },
    /// A unit that is not in stock cannot go out.
    #[error("serial number {serial} is not in stock")]
    UnknownSerial {
        /// Which.
        serial: Serial,
    },
    /// More than there are cannot go out.
    #[error("{wanted} wanted, {available} in stock")]
    NotEnough {
        /// How many there are.
        available: i64,
        /// How many were wanted.
        wanted: i64,
    },
    /// Stock would grow beyond its bound.
    #[error("stock would grow beyond {QUANTITY_MAX}")]
    TooMuch,
    /// An application's own effect refused it.
    #[error("{message}")]
    Refused {
        /// What it said.
        message: String,
    },
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// From 1.
    pub number: u32,
    /// Which way.
    pub movement: Movement,
    /// Which article.
    pub sku: Sku,
    /// What moves.
    pub goods: Goods,
    /// How far it is.
    pub status: LineStatus,
    /// Why its last attempt failed.
    pub error: Option<LineError>,
    /// When, under which fence and by whom it was applied.
    pub applied: Option<(Time, Fence, UserId)>,
}

impl Line {
    /// What is written in it: equal for equal lines. A change that is taken back is none.
    pub fn version(&self) -> Version {
        let mut hasher = DefaultHasher::new();
        self.hash_written(&mut hasher);
        Version(hasher.finish())
    }

    pub(super) fn hash_written(&self, hasher: &mut DefaultHasher) {
        (self.movement, &self.sku, &self.goods).hash(hasher);
    }
}

/// A line to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewLine {
    /// Which way.
    pub movement: Movement,
    /// Which article.
    pub sku: Sku,
    /// What moves.
    pub goods: Goods,
}

impl NewLine {
    pub(super) fn into_line(self, number: u32) -> Line {
        let NewLine { movement, sku, goods } = self;
        Line { number, movement, sku, goods, status: LineStatus::Pending, error: None, applied: None }
    }
}

/// What changes about a line; what is not given stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    /// Which way.
    pub movement: Option<Movement>,
    /// Which article.
    pub sku: Option<Sku>,
    /// What moves.
    pub goods: Option<Goods>,
    /// What whoever changes it has seen; if something else is stored by now, nothing is written over it. A fence does not
    /// tell two windows of one person apart, and what one of them has sent may arrive late.
    pub seen: Option<Version>,
}

/// What became of a line in a finalize.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineOutcome {
    /// Its effect exists, since now.
    Applied,
    /// Its effect existed already.
    Skipped,
    /// Its effect was refused.
    Failed(LineError),
}

/// A finalize's wish about one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Apply {
    /// Which task.
    pub task: TaskId,
    /// Which line, from 1.
    pub number: u32,
    /// Under which ownership.
    pub fence: Fence,
    /// Whose.
    pub who: Holder,
    /// The account that speaks for them, if it is not themselves.
    pub via: Option<UserId>,
    /// The times that govern tasks' locks.
    pub policy: lease::Policy,
}

/// What is to be done about a line, as found in its own transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begin {
    /// Its effect is to happen now.
    Go,
    /// Nothing is to happen: it is applied.
    Settled(LineOutcome),
    /// This very finalize is over already; this was its answer.
    Over(Finalized),
    /// Nothing may happen.
    Refused(Refused),
}

/// Whether somebody may repeat what was done under a fence that is over: its holder, as long as the row knows who that
/// was; later the fence alone must do.
pub(super) fn speaks_for_ended(lease: &lease::State, fence: Fence, who: &lease::Holder) -> bool {
    let ended = lease.ended.as_ref().filter(|ending| ending.grant.fence == fence);
    ended.is_none_or(|ending| who.speaks_for(&ending.grant.holder))
}

/// Looks at a line before its effect: `task` without its other lines, its lease held against takers, the line
/// locked, and the clock read after that.
pub fn begin_line(apply: &Apply, task: Option<&Task>, lease: &lease::State, line: Option<&Line>, now: Time) -> Begin {
    let Some(task) = task else {
        return Begin::Refused(Refused::Unknown);
    };
    let theirs = speaks_for_ended(lease, apply.fence, &apply.who);
    if let Some(finalized) = task.finalized.as_ref().filter(|finalized| finalized.fence == apply.fence && theirs) {
        return Begin::Over(finalized.clone());
    }
    let now = now.max(lease.decided_at());
    let own = |grant: &&lease::Grant| grant.fence == apply.fence && apply.who.speaks_for(&grant.holder);
    if lease.live(now).filter(own).is_none() {
        let ended = lease.ended.clone().filter(|ending| ending.grant.fence == apply.fence);
        return Begin::Refused(Refused::Lease(lease::Refused::Lost { ending: ended }));
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

/// A line after its effect or its refusal, and what is written with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineDone {
    /// As it is now.
    pub line: Line,
    /// For the caller.
    pub outcome: LineOutcome,
    /// For the task's history.
    pub note: Note,
    /// What to announce after the commit.
    pub event: Event,
    /// What the task becomes, if that is another status.
    pub status: Option<Status>,
}

impl Apply {
    /// Who acts.
    pub fn actor(&self) -> Actor {
        Actor { user: self.who.user.clone(), via: self.via.clone() }
    }

    /// What the line means for the lock: work, also if it failed.
    pub fn work(&self) -> lease::Command {
        lease::Command {
            resource: self.task.resource(),
            who: self.who.clone(),
            via: self.via.clone(),
            policy: self.policy.clone(),
            action: lease::Action::Heartbeat { fence: self.fence, idle: Some(Span::ZERO), worked: true },
        }
    }
}

/// Ends what [`begin_line`] began, on a task in status `before`.
pub fn end_line(apply: &Apply, before: Status, line: Line, effect: Result<(), LineError>, now: Time) -> LineDone {
    let (line, outcome) = line.after(apply, effect, now);
    let after = if outcome == LineOutcome::Applied { before.with_applied_line() } else { before };
    let (what, name) = match outcome {
        LineOutcome::Failed(_) => ("line_failed", "task.line_failed"),
        LineOutcome::Applied | LineOutcome::Skipped => ("line_applied", "task.line_applied"),
    };
    let detail = line.error.as_ref().map(|error| kept(&error.to_string()));
    let note = Note { at: now, actor: apply.actor(), what: what.to_owned(), line: Some(apply.number), detail };
    let event = Event {
        topic: Topic::Tasks,
        name: name.into(),
        resource: apply.task.resource().as_str().into(),
        key: None,
        at: now,
        fence: Some(apply.fence),
        by: Some(apply.who.user.clone()),
        detail: Some(apply.number.to_string()),
    };
    LineDone { line, outcome, note, event, status: Some(after).filter(|after| *after != before) }
}

impl Line {
    /// The line after its effect, or after its refusal.
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
