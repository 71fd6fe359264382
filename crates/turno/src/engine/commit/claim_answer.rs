//! Deliveries on the way to the caller that claimed them.
//!
//! A caller may disconnect at any time: before the group is formed (then nothing is handed out), during the commit, or
//! while the answer is sent. Deliveries that the caller did not receive are returned with an ordinary `Return`, so
//! that the next caller gets them at once and the attempt does not count.
//!
//! A caller that received its deliveries and then disconnects is not handled here: those deliveries expire.

use super::{Job, Waiting};
use crate::store::{ClaimGroup, ClaimOutcome};
use tokio::sync::{mpsc, oneshot};
use turno_core::id::QueueId;
use turno_core::queue::{Act, Delivery, DeliveryRef, Policy, Settle, Settler};

/// The outcome of a claim. If it is dropped before [`ClaimAnswer::take`], its deliveries are returned.
pub(crate) struct ClaimAnswer {
    outcome: ClaimOutcome,
    back: Option<ReturnPath>,
}

/// Returns deliveries of a queue.
#[derive(Clone)]
pub(super) struct ReturnPath {
    queue: QueueId,
    policy: Policy,
    /// Set for a claim with a request id: its deliveries are kept, because the caller may repeat the claim.
    kept: bool,
    /// The route of settlements. A weak sender, so that a pending delivery does not keep a closed engine alive.
    jobs: mpsc::WeakSender<Waiting>,
}

impl ReturnPath {
    pub(super) fn new(group: &ClaimGroup, jobs: &mpsc::WeakSender<Waiting>) -> ReturnPath {
        let kept = group.request().is_some();
        ReturnPath { queue: group.queue, policy: group.policy.clone(), kept, jobs: jobs.clone() }
    }

    fn give_back(&self, deliveries: impl Iterator<Item = Delivery>) {
        let settlements: Vec<Settle> = deliveries
            .map(|delivery| Settle {
                reference: DeliveryRef::new(self.queue, &delivery),
                policy: self.policy.clone(),
                act: Act::Return { error: None },
                by: Settler::Server,
            })
            .collect();
        if settlements.is_empty() || self.kept {
            return;
        }
        tracing::debug!(count = settlements.len(), "a caller left; its deliveries go back");
        let (reply, _) = oneshot::channel();
        // If the route is full or closed, the deliveries expire.
        if let Some(jobs) = self.jobs.upgrade() {
            drop(jobs.try_send(Waiting { as_of: None, job: Job::Settle(settlements, reply) }));
        }
    }
}

impl ClaimAnswer {
    pub(super) fn new(outcome: ClaimOutcome, back: &ReturnPath) -> ClaimAnswer {
        ClaimAnswer { outcome, back: Some(back.clone()) }
    }

    /// Takes the outcome. From here on the caller is responsible for its deliveries.
    pub(crate) fn take(mut self) -> ClaimOutcome {
        self.back = None;
        std::mem::replace(&mut self.outcome, ClaimOutcome::Paused)
    }
}

impl Drop for ClaimAnswer {
    fn drop(&mut self) {
        if let (Some(back), ClaimOutcome::Claimed { deliveries, .. }) = (&self.back, &mut self.outcome) {
            back.give_back(std::mem::take(deliveries).into_iter().flatten());
        }
    }
}
