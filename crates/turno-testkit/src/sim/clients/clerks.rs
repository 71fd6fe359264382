//! A clerk works on tasks: creates them, claims them, edits lines, finalizes, and loses the lock midway.
//!
//! One clerk overrides the others. A clerk repeats an unanswered finalize, also long after it has lost the lock.

use super::{Input, Next, Scene};
use crate::sim::message::{Ask, Reply};
use crate::sim::rng::Rng;
use crate::sim::setup::Setup;
use turno_core::id::Fence;
use turno_core::lease::{self, Holder};
use turno_core::task::{Action, Command, Goods, Movement, NewLine, Outcome, Patch, Status, TaskId};
use turno_core::time::Span;

/// Fewer than there are clerks, so that they compete.
const OPEN_TASKS: usize = 3;

#[derive(Debug)]
pub(crate) struct Clerk {
    who: Holder,
    overrides: bool,
    task: Option<TaskId>,
    /// The fence of the lock that the clerk believes to hold.
    mine: Option<Fence>,
    /// A task and fence that the clerk held before.
    old: Option<(TaskId, Fence)>,
    last: Option<Ask>,
}

impl Clerk {
    pub(crate) fn new(who: Holder, overrides: bool) -> Clerk {
        Clerk { who, overrides, task: None, mine: None, old: None, last: None }
    }

    pub(crate) fn step(&mut self, input: Input, scene: &mut Scene<'_>) -> Next {
        match input {
            Input::Wake => self.act(scene),
            Input::Answer(reply) => {
                self.learn(reply, scene);
                let rng = &mut *scene.rng;
                // Sometimes longer than the lock lives.
                Next::Sleep(if rng.percent(4) { rng.between(400, 1_500) } else { rng.between(5, 120) })
            }
            Input::NoAnswer => match self.last.clone() {
                Some(again) if scene.rng.percent(75) => Next::call(again),
                _ => Next::Sleep(scene.rng.between(10, 200)),
            },
        }
    }

    fn act(&mut self, scene: &mut Scene<'_>) -> Next {
        let ask = match (self.task, self.mine) {
            (Some(task), Some(fence)) => self.work(task, fence, scene),
            _ => self.take(scene),
        };
        self.last = Some(ask.clone());
        Next::call(ask)
    }

    /// Without a lock: creates a task, or claims an open one.
    fn take(&mut self, scene: &mut Scene<'_>) -> Ask {
        let Scene { rng, setup, known, .. } = scene;
        if let Some((task, fence)) = self.old
            && rng.percent(10)
        {
            return Ask::Finalize { task, who: self.who.clone(), fence };
        }
        let open = known.open_tasks();
        if open.is_empty() || open.len() < OPEN_TASKS && rng.percent(60) {
            let lines = (0..rng.between(1, 4)).map(|_| line(rng, setup)).collect();
            let create = Action::Create { title: "goods".to_owned(), lines, ready: rng.percent(85), once: None };
            return self.ask(None, create, setup);
        }
        let task = *rng.pick(open);
        self.task = Some(task);
        let reason = || "now".to_owned();
        let action = match rng.below(100) {
            0..40 if self.overrides => Action::Lease(lease::Action::ForceClaim { reason: reason(), fence: None }),
            40..55 if self.overrides => Action::Lease(lease::Action::ForceRelease { reason: reason(), fence: None }),
            0..82 => Action::Lease(lease::Action::Claim { ttl: None, wait: rng.percent(20) }),
            82..92 => Action::Ready,
            92..96 => {
                let lines = (0..rng.between(0, 3)).map(|_| line(rng, setup)).collect();
                Action::Edit { title: None, lines: Some(lines), seen: None }
            }
            _ => Action::Cancel { reason: None, keep_applied: rng.percent(50) },
        };
        self.ask(Some(task), action, setup)
    }

    fn work(&mut self, task: TaskId, fence: Fence, scene: &mut Scene<'_>) -> Ask {
        let Scene { rng, setup, .. } = scene;
        let number = rng.between(1, 4) as u32;
        let action = match rng.below(100) {
            0..20 => {
                let NewLine { movement, sku, goods } = line(rng, setup);
                let patch = Patch { movement: Some(movement), sku: Some(sku), goods: Some(goods), seen: None };
                Action::Patch { fence, number, patch }
            }
            20..32 => Action::Validate { fence, number },
            32..44 => {
                let (idle, worked) = (Some(Span::ZERO), rng.percent(30));
                return self.ask_lease(task, lease::Action::Heartbeat { fence, idle, worked }, setup);
            }
            44..50 => return self.ask_lease(task, lease::Action::Release { fence, claim: None }, setup),
            50..55 => Action::Lease(lease::Action::Claim { ttl: None, wait: false }),
            55..58 => Action::Cancel { reason: Some("no".to_owned()), keep_applied: rng.percent(50) },
            _ => {
                // The finalize may be repeated much later, whatever its answer.
                self.old = Some((task, fence));
                return Ask::Finalize { task, who: self.who.clone(), fence };
            }
        };
        self.ask(Some(task), action, setup)
    }

    fn ask(&self, task: Option<TaskId>, action: Action, setup: &Setup) -> Ask {
        Ask::Task(Box::new(Command { task, who: self.who.clone(), via: None, policy: setup.tasks.clone(), action }))
    }

    /// Heartbeats and releases are lease calls and not task commands.
    fn ask_lease(&self, task: TaskId, action: lease::Action, setup: &Setup) -> Ask {
        let (resource, policy) = (task.resource(), setup.tasks.clone());
        Ask::Lease(lease::Command { resource, who: self.who.clone(), via: None, policy, action })
    }

    fn learn(&mut self, reply: Reply, scene: &mut Scene<'_>) {
        match reply {
            Reply::Task(outcome) => {
                if let Some(task) = &outcome.task {
                    match task.status {
                        Status::Completed | Status::Cancelled => self.over(task.id, scene),
                        _ => scene.known.begin_task(task.id),
                    }
                }
                match outcome.answer {
                    Ok(Outcome::Lease(lease::Outcome::Claimed { .. })) => {
                        self.mine = outcome.lease.grant.map(|grant| grant.fence);
                        self.task = outcome.task.map(|task| task.id);
                    }
                    Err(turno_core::task::Refused::Lease(lease::Refused::Lost { .. })) => self.mine = None,
                    _ => {}
                }
            }
            Reply::Finalized(answer) => {
                self.mine = None;
                if let (Ok(finalized), Some(Ask::Finalize { task, .. })) = (answer, &self.last)
                    && finalized.status == Status::Completed
                {
                    self.over(*task, scene);
                }
            }
            Reply::Lease { answer: Ok(lease::Outcome::Released { .. }) | Err(_), .. } => self.mine = None,
            _ => {}
        }
    }

    /// Removes the task from the open ones. A clerk that does not know may still work on it.
    fn over(&mut self, task: TaskId, scene: &mut Scene<'_>) {
        if scene.rng.percent(80) {
            scene.known.end_task(task);
        }
        if self.task == Some(task) {
            (self.task, self.mine) = (None, None);
        }
    }
}

fn line(rng: &mut Rng, setup: &Setup) -> NewLine {
    let goods = if rng.percent(35) {
        let from = rng.below(setup.serials.len());
        let to = if rng.percent(10) { from } else { (from + 1 + rng.below(2)).min(setup.serials.len()) };
        Goods::Serialized(setup.serials[from..to].to_vec())
    } else {
        Goods::Quantity(rng.between(1, 5))
    };
    let movement = if rng.percent(58) { Movement::In } else { Movement::Out };
    NewLine { movement, sku: rng.pick(&setup.skus).clone(), goods }
}
