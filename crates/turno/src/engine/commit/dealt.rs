//! Deliveries on their way to whoever claimed them.
//!
//! A caller may leave at any instant: before the group is formed (then nothing is handed out), while it is
//! committed, or with the answer already under way. What was handed out and is taken by nobody goes back as an
//! ordinary return, so that it is there for the next caller at once and the attempt does not count.
//!
//! Not here: what a caller leaves undone after it has taken its answer. That expires.

use super::{Job, Waiting};
use crate::store::{ClaimGroup, ClaimOutcome};
use tokio::sync::{mpsc, oneshot};
use turno_core::id::QueueId;
use turno_core::queue::{Act, Delivery, Handed, Policy, Settle};

/// The outcome of a claim. Dropped before it was taken, its deliveries go back.
pub(crate) struct Dealt {
    outcome: ClaimOutcome,
    back: Option<WayBack>,
}

/// How deliveries of a queue get back.
#[derive(Clone)]
pub(super) struct WayBack {
    queue: QueueId,
    policy: Policy,
    /// Not for a claim with a request id: whoever left may repeat it, and then gets them.
    kept: bool,
    /// The route of settlements. A weak end: what is on its way keeps no closed engine alive.
    jobs: mpsc::WeakSender<Waiting>,
}

impl WayBack {
    pub(super) fn new(group: &ClaimGroup, jobs: &mpsc::WeakSender<Waiting>) -> WayBack {
        let kept = group.request().is_some();
        WayBack { queue: group.queue, policy: group.policy.clone(), kept, jobs: jobs.clone() }
    }

    fn give_back(&self, deliveries: impl Iterator<Item = Delivery>) {
        let settlements: Vec<Settle> = deliveries
            .map(|delivery| Settle {
                handed: Handed::of(self.queue, &delivery),
                policy: self.policy.clone(),
                act: Act::Return { error: None },
            })
            .collect();
        if settlements.is_empty() || self.kept {
            return;
        }
        tracing::debug!(count = settlements.len(), "a caller left; its deliveries go back");
        let (reply, _) = oneshot::channel();
        // If that cannot be, they expire like those of anybody who died.
        if let Some(jobs) = self.jobs.upgrade() {
            drop(jobs.try_send(Waiting { as_of: None, job: Job::Settle(settlements, reply) }));
        }
    }
}

impl Dealt {
    pub(super) fn new(outcome: ClaimOutcome, back: &WayBack) -> Dealt {
        Dealt { outcome, back: Some(back.clone()) }
    }

    /// The caller has it; from here on it is the caller's.
    pub(crate) fn take(mut self) -> ClaimOutcome {
        self.back = None;
        std::mem::replace(&mut self.outcome, ClaimOutcome::Paused)
    }
}

impl Drop for Dealt {
    fn drop(&mut self) {
        if let (Some(back), ClaimOutcome::Dealt { deliveries, .. }) = (&self.back, &mut self.outcome) {
            back.give_back(std::mem::take(deliveries).into_iter().flatten());
        }
    }
}
