//! One route: collects waiting commands, commits them in groups, and answers.

use super::batch::{Batch, Replies, form, merge};
use super::{Announce, Telemetry, Waiting, gather};
use crate::clock::Stopwatch;
use crate::error::Error;
use crate::store::{Group, Hint, Outcomes, Store, StoreError};
use std::sync::Arc;
use tokio::sync::mpsc;
use tracing::Instrument;
use turno_core::access::Epoch;
use turno_core::id::{QueueId, Resource};
use turno_core::lease::{Decision, Outcome};
use turno_core::queue::{Act, Settle, SettleOutcome};

/// The largest number of commands in one round: enough to share one flush among all callers.
const GROUP_MAX: usize = 1_024;
/// How often a group is redone after a conflict. A conflict with another transaction is over by then; otherwise the
/// database rejects the group.
const REDO_MAX: usize = 8;

/// The parts that one route works with.
pub(super) struct Route {
    pub(super) number: usize,
    /// Returns deliveries whose caller disconnected before the answer was sent.
    pub(super) back: mpsc::WeakSender<Waiting>,
    pub(super) store: Arc<dyn Store>,
    pub(super) announce: Announce,
    pub(super) telemetry: Telemetry,
}

impl Route {
    pub(super) async fn run(self, mut jobs: mpsc::Receiver<Waiting>) {
        let merges = self.store.routes().merges;
        let mut waiting = Vec::new();
        while gather(&mut jobs, &mut waiting, GROUP_MAX).await {
            // Commands allowed at different epochs need different transactions. Nearly always there is one epoch.
            while let Some(as_of) = waiting.first().map(|first: &Waiting| first.as_of) {
                let jobs = waiting.extract_if(.., |waiting| waiting.as_of == as_of).map(|waiting| waiting.job);
                let batches = form(jobs);
                let transactions =
                    if merges { merge(batches) } else { batches.into_iter().map(|batch| vec![batch]).collect() };
                for batches in transactions {
                    self.commit_batches(as_of, batches).await;
                }
            }
        }
    }

    /// Commits the batches in one transaction. If the database rejects it, commits each command on its own.
    async fn commit_batches(&self, as_of: Option<Epoch>, batches: Vec<Batch>) {
        let (groups, replies): (Vec<Group>, Vec<Replies>) =
            batches.into_iter().map(|batch| (batch.group, batch.replies)).unzip();
        let groups: Arc<[Group]> = groups.into();
        let watch = Stopwatch::start();
        let span = tracing::debug_span!(target: "turno::commit", "commit", route = self.number, groups = groups.len());
        match self.commit(groups.clone(), as_of).instrument(span).await {
            Ok(outcomes) => {
                self.telemetry.committed(&groups, &outcomes, watch);
                for ((group, replies), outcome) in groups.iter().zip(replies).zip(outcomes) {
                    announce_changes(group, &outcome, &self.announce);
                    replies.answer(group, outcome, &self.back);
                }
            }
            Err(error @ (StoreError::Rejected(_) | StoreError::QueueGone)) => {
                let mut singles = Vec::new();
                for (group, replies) in groups.iter().zip(replies) {
                    replies.split(group, &mut singles);
                }
                if let [_] = &singles[..] {
                    if error != StoreError::QueueGone {
                        self.telemetry.failed(&groups);
                        tracing::error!(%error, "the database refused a command");
                    }
                    singles.into_iter().for_each(|single| single.replies.fail(&Error::Store(error.clone())));
                    return;
                }
                for single in singles {
                    Box::pin(self.commit_batches(as_of, vec![single])).await;
                }
            }
            Err(error) => {
                if error != StoreError::AccessChanged {
                    self.telemetry.failed(&groups);
                    tracing::warn!(%error, "a group was not committed");
                }
                replies.into_iter().for_each(|replies| replies.fail(&Error::Store(error.clone())));
            }
        }
    }

    async fn commit(&self, groups: Arc<[Group]>, as_of: Option<Epoch>) -> Result<Vec<Outcomes>, StoreError> {
        let mut redo = 0;
        loop {
            match self.store.commit(self.number, groups.clone(), as_of).await {
                Err(StoreError::Conflict(reason)) if redo < REDO_MAX => {
                    tracing::debug!(reason, "redoing a group");
                    redo += 1;
                }
                Err(StoreError::Conflict(reason)) => return Err(StoreError::Rejected(reason.into())),
                answer => return answer,
            }
        }
    }
}

/// Sends hints about the changes of a committed group.
fn announce_changes(group: &Group, outcome: &Outcomes, announce: &Announce) {
    if may_have_events(outcome) {
        announce.wrote_events();
    }
    match (group, outcome) {
        (Group::Lease(group), Outcomes::Lease { answers, .. }) => {
            let mut announced: Option<&Resource> = None;
            for (command, (decision, state)) in group.commands.iter().zip(answers) {
                if is_news(decision) && state.grant.is_none() && announced != Some(&command.resource) {
                    announced = Some(&command.resource);
                    announce.send(Hint::Lease(command.resource.clone()));
                }
            }
        }
        (Group::Enqueue(group), _) => announce_queues(group.calls.iter().map(|call| call.queue), announce),
        (Group::Settle(group), Outcomes::Settle { answers, .. }) => {
            // A stale settlement frees nothing. It must not wake a waiting claim, because such claims submit
            // expirations themselves and would wake each other forever.
            let frees = |(settle, answer): &(&Settle, &SettleOutcome)| {
                **answer != SettleOutcome::Stale
                    && (settle.reference.lane.is_some() || !matches!(settle.act, Act::Ack { .. } | Act::Beat))
            };
            let settled = group.settlements.iter().zip(answers).filter(frees);
            announce_queues(settled.map(|(settle, _)| settle.reference.queue), announce);
        }
        (Group::Manage(group), _) => announce.send(Hint::Queue(group.queue)),
        (Group::Clear(group), _) => announce.send(Hint::Queue(group.queue)),
        (Group::Task(group), Outcomes::Task(outcome)) if outcome.lease.grant.is_none() => {
            if let Some(resource) = group.resource() {
                announce.send(Hint::Lease(resource));
            }
        }
        _ => {}
    }
}

/// Returns whether a lease changed for listeners. A look that only set the next look time is not a change.
fn is_news(decision: &Decision) -> bool {
    decision.changed && decision.answer != Ok(Outcome::Looked { news: false })
}

/// Returns whether the group may have written events. A needless check by the sequencer is cheap.
fn may_have_events(outcome: &Outcomes) -> bool {
    match outcome {
        Outcomes::Lease { answers, .. } => answers.iter().any(|(decision, _)| is_news(decision)),
        Outcomes::Settle { answers, .. } => {
            answers.iter().any(|answer| matches!(answer, SettleOutcome::Retrying { .. } | SettleOutcome::Exhausted))
        }
        Outcomes::Manage { answer, expired } => answer.is_ok() || expired.is_some(),
        Outcomes::Clear(cleared) => cleared.count > 0,
        Outcomes::Task(outcome) => outcome.answer.is_ok(),
        Outcomes::Access(answer) => answer.is_ok(),
        Outcomes::Enqueue(_) | Outcomes::Claim(_) | Outcomes::Typing => false,
    }
}

fn announce_queues(queues: impl Iterator<Item = QueueId>, announce: &Announce) {
    let mut announced = Vec::new();
    for queue in queues {
        if !announced.contains(&queue) {
            announced.push(queue);
            announce.send(Hint::Queue(queue));
        }
    }
}
