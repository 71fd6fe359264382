//! The checkers: outside the engine, with their own small model, fed only with observable data.
//!
//! The checkers see calls and answers in the order of the commits, and the rows that each commit wrote, as a reader of
//! the database's log would. They call no rule of `turno_core`: the rules are written here a second time, differently.

mod audit;
mod enqueue;
mod handout;
mod lease;
mod line;
mod model;
mod settle;
mod shape;
mod stream;
mod task;
mod trail;

use super::message::{Call, Reply};
use super::sabotage::Bug;
use super::setup::Setup;
use super::tx::Lined;
use crate::db::{Db, Placed};
use lease::Leases;
use model::Queues;
use std::sync::Arc;
use stream::Stream;
use task::Tasks;
use trail::Trail;
use turno::store::{LeaseWrite, TaskWrite};
use turno_core::event::Event;
use turno_core::id::Position;
use turno_core::queue::{Changes, Settle, SettleOutcome};
use turno_core::time::Time;

/// A broken invariant: its id, the subject and a description.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) id: &'static str,
    pub(crate) subject: String,
    pub(crate) message: String,
}

pub(crate) type Checked = Result<(), Fault>;

pub(crate) fn fault<T>(id: &'static str, subject: impl ToString, message: impl Into<String>) -> Result<T, Fault> {
    Err(Fault { id, subject: subject.to_string(), message: message.into() })
}

/// A commit as seen from outside.
pub(crate) struct Commit<'a> {
    pub(crate) calls: &'a [Call],
    pub(crate) now: Time,
    pub(crate) replies: &'a [Reply],
    pub(crate) leases: Option<&'a LeaseWrite>,
    pub(crate) changes: Option<&'a Changes>,
    pub(crate) task: Option<&'a TaskWrite>,
    pub(crate) line: Option<&'a Lined>,
    pub(crate) events: &'a [(i64, Arc<Event>)],
    /// The number of commits when the transaction began. It need not have seen later ones.
    pub(crate) began: u64,
}

#[derive(Clone)]
pub(crate) struct Checker<'a> {
    leases: Leases,
    queues: Queues<'a>,
    tasks: Tasks,
    trail: Trail,
    stream: Stream,
    commits: u64,
}

impl<'a> Checker<'a> {
    pub(crate) fn new(setup: &'a Setup) -> Checker<'a> {
        Checker {
            leases: Leases::new(setup),
            queues: Queues::new(setup),
            tasks: Tasks::default(),
            trail: Trail::default(),
            stream: Stream::default(),
            commits: 0,
        }
    }

    pub(crate) fn commit(&mut self, commit: &Commit<'_>) -> Checked {
        self.commits += 1;
        self.queues.commits = self.commits;
        self.stream.committed(commit, self.commits);
        if let Some(write) = commit.leases.or(commit.task.map(|write| &write.lease)) {
            self.leases.commit(commit, write, self.commits)?;
        }
        if let Some(lined) = commit.line {
            self.leases.lined(commit, lined)?;
            self.tasks.lined(commit, lined)?;
        }
        if let Some(write) = commit.task {
            self.tasks.commit(commit, write)?;
        }
        self.trail.commit(commit)?;
        match commit.changes {
            Some(changes) => self.queues.commit(commit, changes),
            None => Ok(()),
        }
    }

    /// Continues after a failover that lost the commits which only `lost` has seen. Events go on behind `newest`.
    /// Fences and numbers from the lost commits count as used.
    pub(crate) fn carry_over(&mut self, lost: &Checker<'_>, newest: Position) {
        self.commits = lost.commits;
        self.leases.carry_over(&lost.leases);
        self.queues.carry_over(&lost.queues);
        self.tasks.carry_over(&lost.tasks);
        self.stream.carry_over(newest);
    }

    /// Returns the number of commits seen.
    pub(crate) fn commits(&self) -> u64 {
        self.commits
    }

    /// Checks the answer to a late settlement that repeats an earlier one.
    pub(crate) fn repeated(&self, settle: &Settle, known: Option<&SettleOutcome>) -> Checked {
        self.queues.repeated(settle, known)
    }

    /// Compares all rows with the model.
    pub(crate) fn audit(&self, db: &Db, bug: Option<Bug>) -> Checked {
        self.leases.audit(db)?;
        self.tasks.audit(db)?;
        self.trail.audit(db)?;
        self.queues.audit(db, bug)
    }

    /// Returns whether only work is left that waits for a person's decision.
    pub(crate) fn is_drained(&self) -> bool {
        self.queues.stuck().is_none() && self.stream.drained().is_ok() && self.leases.drained().is_ok()
    }

    pub(crate) fn drained(&self) -> Checked {
        self.queues.drained()?;
        self.stream.drained()?;
        self.leases.drained()
    }

    /// Checks an event that got a position.
    pub(crate) fn placed(&mut self, placed: &Placed) -> Checked {
        self.stream.placed(placed)
    }

    /// Checks an event that a listener has handled.
    pub(crate) fn heard(&mut self, listener: usize, placed: &Placed) -> Checked {
        self.stream.heard(listener, placed)
    }

    /// Records a reset: the listener goes on behind `position`.
    pub(crate) fn reset(&mut self, listener: usize, position: Position) {
        self.stream.reset(listener, position);
    }

    /// Requires from now on that every claim of a lease is granted.
    pub(crate) fn expect_free(&mut self) {
        self.leases.expect_free();
    }

    pub(crate) fn all_probed(&self) -> bool {
        self.leases.probed().is_ok()
    }

    pub(crate) fn probed(&self) -> Checked {
        self.leases.probed()
    }
}
