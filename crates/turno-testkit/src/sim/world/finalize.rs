//! A finalize, as an instance runs it: the lines one after another, each in its own transaction, and then the close.
//!
//! A finalize dies with its instance. Two finalizes of one task may run at the same time, even in one instance, so the
//! database must keep a line from being applied twice.

use super::World;
use crate::sim::check::Fault;
use crate::sim::message::{Ask, Call, NO_CLIENT, Reply};
use std::sync::Arc;
use turno::store::LineStep;
use turno_core::id::Fence;
use turno_core::lease::Holder;
use turno_core::task::{Action, Apply, Command, LineOutcome, Outcome, Refused, TaskId};

pub(super) struct Finalize {
    pub(super) server: usize,
    call: Call,
    task: TaskId,
    who: Holder,
    fence: Fence,
    /// The remaining lines, in reverse order.
    left: Vec<u32>,
    lines: Vec<(u32, LineOutcome)>,
}

impl World<'_> {
    pub(super) fn finalize(&mut self, server: usize, call: Call) -> Result<(), Fault> {
        let Ask::Finalize { task, who, fence } = &call.ask else {
            return Ok(());
        };
        let (task, who, fence) = (*task, who.clone(), *fence);
        let Some(row) = self.db.tasks.get(&task) else {
            self.answer(server, &call, Reply::Finalized(Err(Refused::Unknown)));
            return Ok(());
        };
        let left = row.lines.iter().rev().map(|line| line.number).collect();
        self.next_id += 1;
        let job = self.next_id;
        self.jobs.insert(job, Finalize { server, call, task, who, fence, left, lines: Vec::new() });
        self.go_on(job);
        Ok(())
    }

    /// Starts the next line, or the close.
    fn go_on(&mut self, id: u64) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let (server, policy) = (job.server, self.setup.tasks.clone());
        let (task, fence, who) = (job.task, job.fence, job.who.clone());
        if let Some(number) = job.left.pop() {
            let ask = Ask::Apply(Arc::new(Apply { task, number, fence, who, via: None, policy }));
            let call = Call { job: id, ..Call::new(0, NO_CLIENT, ask) };
            self.open(server, vec![call]);
            return;
        }
        let action = Action::Close { fence, lines: job.lines.clone() };
        let ask = Ask::Task(Box::new(Command { task: Some(task), who, via: None, policy, action }));
        let call = Call { job: id, ..Call::new(0, NO_CLIENT, ask) };
        self.after(0, 2, super::Event::Arrive { server, call: Box::new(call) });
    }

    /// Handles the answer to a step.
    pub(super) fn advance(&mut self, id: u64, reply: Reply) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        match reply {
            Reply::Line(LineStep::Settled(outcome)) => {
                let number = job.lines.len() as u32 + 1;
                job.lines.push((number, outcome));
                self.go_on(id);
            }
            Reply::Line(LineStep::Over(_) | LineStep::Refused(_)) => {
                job.left.clear();
                self.go_on(id);
            }
            Reply::Task(outcome) => {
                let answer = outcome.answer.map(|outcome| match outcome {
                    Outcome::Finalized { finalized, .. } => finalized,
                    other => unreachable!("the end was answered {other:?}"),
                });
                if let Some(job) = self.jobs.remove(&id) {
                    self.tally.finalizes += 1;
                    self.answer(job.server, &job.call, Reply::Finalized(answer));
                }
            }
            other => unreachable!("a finalize was answered {other:?}"),
        }
    }
}
