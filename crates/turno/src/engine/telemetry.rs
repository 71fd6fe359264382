//! Metrics and log lines, produced in one place: after the commit of a group, and after a heartbeat that needed no
//! commit. Metrics (`metrics`) and log lines (`tracing`, target `turno::life`) come from nowhere else, so that no
//! operation is missed or reported twice.
//!
//! Metrics go to the recorder that is installed when the engine is opened. Without one they cost almost nothing. Log
//! lines name resources, keys, ids, fences and users. They never contain payloads, texts of workers or people, or
//! secrets.

mod figures;
mod kept;
mod life;
mod rate;

use crate::clock::{Clock, Stopwatch};
use crate::store::{
    ClaimGroup, ClaimOutcome, EnqueueGroup, Group, ManageGroup, ManageOutcome, Outcomes, QueueRow, SettleGroup, Store,
};
use figures::{Fate, Figures, QueueFigures};
use kept::is_kept;
use life::{Life, Line, Recorder};
use std::sync::Arc;
use tokio::task::JoinSet;
use turno_core::id::{ItemId, QueueId, Resource};
use turno_core::lease::{Command, Decision, Ending, Outcome, Refused, State};
use turno_core::queue::{Accepted, Act, DeliveryRef, Manage, ManageAnswer, SettleOutcome};
use turno_core::task;

/// The metrics and the log of one engine.
#[derive(Clone)]
pub(crate) struct Telemetry {
    figures: Arc<Figures>,
    life: Life,
}

impl Telemetry {
    pub(crate) fn start(tasks: &mut JoinSet<()>, store: &Arc<dyn Store>, clock: &Arc<Clock>) -> Telemetry {
        let figures = Arc::new(Figures::new());
        let life = Life::start(tasks, store.clone(), clock.clone());
        Telemetry { figures, life }
    }

    /// Remembers the name of a queue, because groups only have its id.
    pub(crate) fn remember_queue(&self, row: &QueueRow) {
        self.figures.remember_queue(row.id, &row.name);
    }

    /// Reports a committed transaction.
    pub(super) fn committed(&self, groups: &[Group], outcomes: &[Outcomes], watch: Stopwatch) {
        self.figures.transaction(groups, watch.elapsed());
        let life = self.life.begin();
        for (group, outcome) in groups.iter().zip(outcomes) {
            self.group(&life, group, outcome);
        }
    }

    /// Reports a failed transaction, of which nothing was stored.
    pub(super) fn failed(&self, groups: &[Group]) {
        groups.iter().for_each(|group| self.figures.failed(group));
    }

    /// Reports a heartbeat that was answered without a commit.
    pub(super) fn heartbeat_answered(&self, command: &Command, answer: &Result<Outcome, Refused>) {
        self.figures.lease(&command.action, answer);
        record_lease(&self.life.begin(), command, answer, None);
    }

    fn group(&self, life: &Recorder<'_>, group: &Group, outcome: &Outcomes) {
        match (group, outcome) {
            (Group::Lease(group), Outcomes::Lease { answers, .. }) => {
                for (command, (decision, state)) in group.commands.iter().zip(answers) {
                    self.decided(life, command, decision, state);
                }
            }
            (Group::Task(group), Outcomes::Task(outcome)) => self.task(life, &group.command, outcome),
            (Group::Enqueue(group), Outcomes::Enqueue(answers)) => self.enqueued(life, group, answers),
            (Group::Claim(group), Outcomes::Claim(outcome)) => self.handed_out(life, group, outcome),
            (Group::Settle(group), Outcomes::Settle { answers, .. }) => self.settled(life, group, answers),
            (Group::Manage(group), Outcomes::Manage { answer, expired }) => {
                expired.iter().for_each(|reference| self.delivery_ended(life, *reference, Fate::Expired, None));
                self.managed(life, group, answer);
            }
            (Group::Clear(group), Outcomes::Clear(cleared)) if cleared.count > 0 => {
                let items = usize::try_from(cleared.count).unwrap_or(usize::MAX);
                self.queue(group.queue).count(Fate::Cancelled, items);
                life.record(|| Line::Cleared { queue: group.name.clone(), by: group.by.clone(), items });
            }
            _ => {}
        }
    }

    fn managed(&self, life: &Recorder<'_>, group: &ManageGroup, answer: &ManageOutcome) {
        let fate = match (answer, &group.wish) {
            // A released item was already counted when it was exhausted.
            (Err(_), _) | (Ok(ManageAnswer::Released), Manage::Release) | (Ok(_), Manage::Probe { .. }) => return,
            (Ok(_), Manage::Retry | Manage::RetryWith { .. } | Manage::Revive | Manage::Probed) => Fate::Retried,
            (Ok(_), Manage::Cancel | Manage::Release) => Fate::Cancelled,
        };
        self.queue(group.queue).count(fate, 1);
        life.record(|| Line::Managed { queue: group.name.clone(), item: group.id.clone(), by: group.by.clone(), fate });
    }

    fn decided(&self, life: &Recorder<'_>, command: &Command, decision: &Decision, state: &State) {
        // The end first, because it is the reason for the following grant.
        decision.ended.iter().for_each(|ending| self.expired(life, &command.resource, ending));
        self.lease_answered(life, command, &decision.answer, state);
    }

    fn lease_answered(&self, life: &Recorder<'_>, command: &Command, answer: &Result<Outcome, Refused>, state: &State) {
        self.figures.lease(&command.action, answer);
        record_lease(life, command, answer, Some(state));
    }

    fn expired(&self, life: &Recorder<'_>, resource: &Resource, ending: &Ending) {
        self.figures.expired(ending.cause);
        let line = || Line::Expired { resource: resource.clone(), ending: Box::new(ending.clone()) };
        if is_kept(resource, [&ending.grant.holder]) { life.keep(line) } else { life.record(line) }
    }

    /// Reports the lease of a task. Other actions on a task are in its own history.
    fn task(&self, life: &Recorder<'_>, command: &task::Command, outcome: &crate::store::TaskOutcome) {
        outcome.expired.iter().for_each(|ending| self.expired(life, &outcome.lease.resource, ending));
        let task::Action::Lease(action) = &command.action else {
            return;
        };
        let answer = match &outcome.answer {
            Ok(task::Outcome::Lease(outcome)) => Ok(outcome.clone()),
            Err(task::Refused::Lease(refused)) => Err(refused.clone()),
            _ => return,
        };
        let command = Command {
            resource: outcome.lease.resource.clone(),
            who: command.who.clone(),
            via: command.via.clone(),
            policy: command.policy.clone(),
            action: action.clone(),
        };
        self.lease_answered(life, &command, &answer, &outcome.lease);
    }

    fn enqueued(&self, life: &Recorder<'_>, group: &EnqueueGroup, answers: &[Vec<Accepted>]) {
        for (call, answers) in group.calls.iter().zip(answers) {
            let queue = self.queue(call.queue);
            for (item, answer) in call.items.iter().zip(answers) {
                let fate = match answer {
                    Accepted::Queued => Fate::Queued,
                    Accepted::Duplicate { .. } => Fate::Duplicate,
                    Accepted::Coalesced { .. } => Fate::Coalesced,
                };
                queue.count(fate, 1);
                life.record(|| {
                    let (item, key) = (item.id.clone(), item.key.clone());
                    Line::Admitted { queue: queue.name(), number: call.queue, key, item, fate }
                });
            }
        }
    }

    fn handed_out(&self, life: &Recorder<'_>, group: &ClaimGroup, outcome: &ClaimOutcome) {
        let ClaimOutcome::Claimed { deliveries, bodies, .. } = outcome else {
            return;
        };
        let queue = self.queue(group.queue);
        for (want, deliveries) in group.wants().iter().zip(deliveries) {
            for delivery in deliveries {
                queue.count(Fate::HandedOut, delivery.items.len());
                life.record(|| {
                    let known = |(seq, attempt): &(_, u32)| bodies.get(seq).map(|body| (body.id.clone(), *attempt));
                    Line::Taken {
                        queue: queue.name(),
                        key: bodies.get(&delivery.seq).and_then(|body| body.key.clone()),
                        reference: DeliveryRef::new(group.queue, delivery),
                        taker: want.taker.clone(),
                        items: delivery.items.iter().filter_map(known).collect(),
                    }
                });
            }
        }
    }

    fn settled(&self, life: &Recorder<'_>, group: &SettleGroup, answers: &[SettleOutcome]) {
        for (settle, answer) in group.settlements.iter().zip(answers) {
            let fate = match answer {
                SettleOutcome::Acked => Fate::Processed,
                SettleOutcome::Retrying { .. } => Fate::Retrying,
                SettleOutcome::Exhausted => Fate::Exhausted,
                SettleOutcome::Superseded => Fate::Superseded,
                SettleOutcome::Returned => Fate::Returned,
                SettleOutcome::Renewed { .. } => Fate::Renewed,
                SettleOutcome::Expired => Fate::Expired,
                // The sweep submitted this one, so there is no caller whose settlement was refused.
                SettleOutcome::Stale if settle.act == Act::Expire => continue,
                SettleOutcome::Stale | SettleOutcome::NotInDelivery => Fate::Stale,
            };
            let failed = match (&settle.act, fate) {
                (Act::Fail { item, .. }, Fate::Retrying | Fate::Exhausted) => item.as_ref(),
                _ => None,
            };
            self.delivery_ended(life, settle.reference, fate, failed);
        }
    }

    /// Reports the end of a delivery. `failed` is set if one item of a group failed: the items before it are processed
    /// and those after it were returned.
    fn delivery_ended(&self, life: &Recorder<'_>, reference: DeliveryRef, fate: Fate, failed: Option<&ItemId>) {
        let queue = self.queue(reference.queue);
        queue.count(fate, if failed.is_some() { 1 } else { reference.size as usize });
        if fate != Fate::Renewed {
            life.record(|| Line::Settled { queue: queue.name(), reference, fate, item: failed.cloned() });
        }
    }

    fn queue(&self, id: QueueId) -> Arc<QueueFigures> {
        self.figures.queue(id)
    }
}

/// Writes the line about a lease command, if it deserves one.
fn record_lease(life: &Recorder<'_>, command: &Command, answer: &Result<Outcome, Refused>, state: Option<&State>) {
    let Some(message) = life::lease_message(command, answer) else { return };
    let line = || Line::for_lease(message, command, answer, state);
    let held = match answer {
        Err(Refused::HeldBy { grant, .. }) => Some(grant),
        _ => state.and_then(|state| state.grant.as_ref()),
    };
    let about = held.map(|grant| &grant.holder).into_iter().chain([&command.who]);
    if is_kept(&command.resource, about) { life.keep(line) } else { life.record(line) }
}
