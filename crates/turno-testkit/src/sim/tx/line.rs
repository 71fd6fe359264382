//! One line of a finalize, in its own transaction. It locks the task and the lease shared, the line and the article
//! exclusively. The first applied line also writes the task's new status.
//!
//! The lease is renewed last, so that no heartbeat waits for an effect. The renewal was decided when the clock was
//! read. It moves no time backwards, and does nothing if the ownership was ended meanwhile.

use super::{Committed, Contents, Env, Phase, Progress, Tx};
use crate::db::{Level, Lock};
use crate::sim::message::Reply;
use crate::sim::sabotage::Bug;
use turno::store::LineStep;
use turno_core::lease::{self, Grant, State};
use turno_core::task::{self, Apply, Begin, LineDone, LineStatus, Posting, Status, Task, begin_line, end_line, post};

/// The progress of the transaction.
#[derive(Debug, Default)]
pub(crate) struct Line {
    begun: Option<Begin>,
    line: Option<task::Line>,
    lease: Option<State>,
    posted: Option<Result<Posting, task::LineError>>,
}

/// The writes of a line's transaction.
#[derive(Debug)]
pub(crate) struct Lined {
    pub(crate) step: LineStep,
    pub(crate) line: Option<task::Line>,
    /// The task's status after the commit.
    pub(crate) status: Option<Status>,
    /// The stock of the article after the commit, if it was written.
    pub(crate) level: Option<Level>,
    /// The ownership after the renewal, if it was written.
    pub(crate) renewed: Option<Grant>,
}

impl Tx {
    pub(super) fn step_line(&mut self, env: &mut Env<'_>) -> Progress {
        let Contents::Line(apply) = &self.contents else {
            unreachable!("only lines have these steps");
        };
        let (apply, mut line) = (apply.clone(), self.line.take().unwrap_or_default());
        let progress = match self.phase {
            Phase::Mutexes => self.lock_line(env, &apply, &mut line),
            Phase::Clock => self.begin_line(env, &apply, &mut line),
            Phase::Rows => self.post_line(env, &mut line),
            Phase::Commit => self.commit_line(env, &apply, &mut line),
        };
        self.line = Some(line);
        progress
    }

    fn lock_line(&mut self, env: &mut Env<'_>, apply: &Apply, line: &mut Line) -> Progress {
        let (id, resource) = (apply.task, apply.task.resource());
        if env.has(Bug::FenceCheckedEarlier) {
            // The bug checks the ownership in a transaction before this one.
            line.lease.get_or_insert_with(|| env.db.lease(&resource));
        } else if !(env.db.share(Lock::Task(id), self.id, &mut self.held)
            && env.db.share(Lock::Pin(resource), self.id, &mut self.held))
        {
            return Progress::Blocked;
        }
        let alone = env.has(Bug::LineUnlocked) || env.db.lock(Lock::Line(id, apply.number), self.id, &mut self.held);
        if !alone {
            return Progress::Blocked;
        }
        self.phase = Phase::Clock;
        Progress::Next
    }

    fn begin_line(&mut self, env: &mut Env<'_>, apply: &Apply, found: &mut Line) -> Progress {
        let now = env.read_clock();
        self.now = Some(now);
        let task = env.db.tasks.get(&apply.task).map(without_lines);
        let mut line = env.db.line(apply.task, apply.number).cloned();
        if env.has(Bug::AppliedAgain)
            && let Some(line) = &mut line
        {
            (line.status, line.applied) = (LineStatus::Pending, None);
        }
        let lease = found.lease.take().unwrap_or_else(|| env.db.lease(&apply.task.resource()));
        let mut begun = begin_line(apply, task.as_ref(), &lease, line.as_ref(), now);
        let lost = matches!(begun, Begin::Refused(task::Refused::Lease(lease::Refused::Lost { .. })));
        if env.has(Bug::LineIgnoresFence) && lost && line.as_ref().is_some_and(|line| line.applied.is_none()) {
            begun = Begin::Go;
        }
        let go = begun == Begin::Go;
        *found = Line { begun: Some(begun), line, lease: Some(lease), posted: None };
        self.phase = if go { Phase::Rows } else { Phase::Commit };
        Progress::Next
    }

    /// Runs the built-in effect: locks the article, reads its stock and decides.
    fn post_line(&mut self, env: &mut Env<'_>, found: &mut Line) -> Progress {
        if let Some(line) = &found.line {
            // An effect in its own transaction is committed before the line's transaction goes on.
            let apart = env.has(Bug::EffectApart);
            if !apart && !env.db.lock(Lock::Stock(line.sku.clone()), self.id, &mut self.held) {
                return Progress::Blocked;
            }
            let posted = post(line, &env.db.stock_of(line));
            if let (true, Ok(posting)) = (apart, &posted) {
                env.db.move_stock(posting);
            }
            found.posted = Some(posted);
        }
        self.take_event_numbers(env);
        self.phase = Phase::Commit;
        Progress::Next
    }

    fn commit_line(&mut self, env: &mut Env<'_>, apply: &Apply, found: &mut Line) -> Progress {
        let now = self.now.unwrap_or_default();
        let mut committed = Committed::nothing(now);
        let (Some(line), Some(posted)) = (&found.line, &found.posted) else {
            let step = match found.begun.take() {
                Some(Begin::Settled(outcome)) => LineStep::Settled(outcome),
                Some(Begin::Over(finalized)) => LineStep::Over(finalized),
                Some(Begin::Refused(refused)) => LineStep::Refused(refused),
                Some(Begin::Go) | None => unreachable!("a line that may be applied was posted before"),
            };
            let lined = Lined { step: step.clone(), line: None, status: None, level: None, renewed: None };
            committed.line = Some(Box::new(lined));
            committed.answered.replies.push(Reply::Line(step));
            return Progress::Committed(Box::new(committed));
        };
        let renewal = found.lease.as_ref().and_then(|lease| apply.renewed(lease.clone(), now));
        if renewal.is_some() && !env.db.lock(Lock::Lease(apply.task.resource()), self.id, &mut self.held) {
            return Progress::Blocked;
        }
        let level = self.write_stock(env, line, posted);
        let effect = posted.as_ref().map(drop).map_err(Clone::clone);
        let before = env.db.tasks.get(&apply.task).map_or(Status::Processing, |task| task.status);
        let mut done = end_line(apply, before, line.clone(), effect, now);
        if env.has(Bug::LineKeepsStatus) {
            done.status = None;
        }
        env.db.write_line_done(apply.task, &done, now);
        let status = env.db.tasks.get(&apply.task).map(|task| task.status);
        let renewed = renewal.and_then(|grant| renew(env, apply, grant));
        let LineDone { line, outcome, event, .. } = done;
        committed.events = self.write_events(env, vec![event]);
        let step = LineStep::Settled(outcome);
        committed.line = Some(Box::new(Lined { step: step.clone(), line: Some(line), status, level, renewed }));
        committed.answered.replies.push(Reply::Line(step));
        env.db.mark = env.db.mark.max(now);
        Progress::Committed(Box::new(committed))
    }

    /// Returns the stock of the article afterwards, if it changed.
    fn write_stock(
        &self,
        env: &mut Env<'_>,
        line: &task::Line,
        posted: &Result<Posting, task::LineError>,
    ) -> Option<Level> {
        match posted {
            Ok(posting) if !env.has(Bug::EffectApart) => env.db.move_stock(posting),
            Ok(_) => {}
            // The bug moves units one by one and keeps the moves before the failing one.
            Err(_) if env.has(Bug::FailureKeepsEffect) && line.goods.units() > 1 => {
                let delta = if line.movement == task::Movement::In { 1 } else { -1 };
                let (came, went) = (Vec::new(), Vec::new());
                env.db.move_stock(&Posting { sku: line.sku.clone(), delta, came, went });
            }
            Err(_) => return None,
        }
        env.db.stock.get(&line.sku).cloned()
    }
}

/// Returns the task's own row. Lines have their own rows.
fn without_lines(task: &Task) -> Task {
    Task {
        id: task.id,
        title: task.title.clone(),
        status: task.status,
        lines: Vec::new(),
        created_at: task.created_at,
        created_by: task.created_by.clone(),
        updated_at: task.updated_at,
        finalized: task.finalized.clone(),
    }
}

/// Writes the renewal. Heartbeats may have come since, so no time moves backwards; an ended ownership stays ended.
fn renew(env: &mut Env<'_>, apply: &Apply, wanted: Grant) -> Option<Grant> {
    let row = env.db.leases.get_mut(&apply.task.resource())?;
    let grant = row.grant.as_mut().filter(|grant| grant.fence == wanted.fence)?;
    grant.worked_at = grant.worked_at.max(wanted.worked_at);
    grant.heartbeat_at = grant.heartbeat_at.max(wanted.heartbeat_at);
    grant.expires_at = grant.expires_at.max(wanted.expires_at);
    grant.idle = wanted.idle;
    Some(grant.clone())
}
