//! The keeper of a pusher: probes a destination during an outage, and revives the items that the outage exhausted.
//!
//! A destination that is down is probed with a waiting item, through the worker. If nothing waits, or if only one key
//! is stuck, the keeper probes with an exhausted item. That item is handed out for one call and is exhausted again if
//! the call fails.

use super::calls::{CallResult, NotDelivered, Renewal};
use super::{Inner, PushOutcome};
use crate::clock::Stopwatch;
use crate::engine::queue::{Delivery, Settlement};
use crate::error::Error;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use turno_core::destination::{Destination, Fault};
use turno_core::queue::{Act, Kind};
use turno_core::time::{Span, Time};

/// The longest wait before the state is read again, also after a failure of the database.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// The most items that one call revives.
const REVIVE_MAX: u32 = 1_000_000;

impl Inner {
    /// Probes during an outage, and revives exhausted items after it.
    pub(super) async fn keep(self: Arc<Self>) {
        let mut seen = self.seen.subscribe();
        let mut probes = JoinSet::new();
        loop {
            let destination = seen.borrow_and_update().clone();
            let wait = match destination {
                Some(failing) if failing.is_probed() => self.probe(&failing, &mut probes).await,
                Some(Destination { revive_since: Some(since), revive_until, .. }) => {
                    self.revive(since, revive_until).await
                }
                _ => Ok(None),
            };
            let wait = wait.unwrap_or_else(|error| {
                tracing::warn!(%error, queue = %self.name, "how the destination is doing is looked at again later");
                Some(LOOK_AGAIN)
            });
            while probes.try_join_next().is_some() {}
            tokio::select! {
                changed = seen.changed() => if changed.is_err() { return },
                () = pause(wait) => {}
            }
        }
    }

    /// Takes the probe if it is due. Otherwise returns how long to wait.
    async fn probe(
        self: &Arc<Self>,
        failing: &Destination,
        probes: &mut JoinSet<()>,
    ) -> Result<Option<Duration>, Error> {
        let wait = self.now().until(failing.probe_at);
        if wait > Span::ZERO {
            // The right to an earlier probe may have expired.
            self.update_limit();
            return Ok(Some(Duration::from_millis(wait.0.unsigned_abs()).min(LOOK_AGAIN)));
        }
        let hold = self.settings.probe.max(self.settings.timeout.saturating_add(LOOK_AGAIN));
        let Some(taken) = self.settings.queue.destination_probe(hold).await? else {
            // Another process took the probe.
            let destination = self.settings.queue.destination().await?;
            self.update_state(destination);
            return Ok(Some(LOOK_AGAIN));
        };
        // The exhausted item must be found before the worker may probe. Otherwise the worker's probe could succeed
        // first and leave nothing waiting, and a second probe would be made for an outage that is over.
        let found = self.find_probe(&taken).await;
        if let Ok(Some(got)) = found {
            self.update_state(Some(taken));
            probes.spawn(self.clone().probe_with(got));
            return Ok(None);
        }
        if taken.is_down() {
            *self.ticket.lock().unwrap_or_else(PoisonError::into_inner) = Some(taken.probe_at);
        }
        self.update_state(Some(taken));
        self.update_limit();
        found.map(|_| None)
    }

    /// Returns an exhausted item to probe with. Returns `None` if the destination is down and items wait, because the
    /// worker probes with those.
    async fn find_probe(&self, taken: &Destination) -> Result<Option<Delivery>, Error> {
        if self.settings.queue.row().await?.policy.kind != Kind::Sync {
            return Ok(None);
        }
        if taken.is_down() {
            let counts = self.settings.queue.counts().await?;
            if counts.pending + counts.error + counts.in_process > 0 {
                return Ok(None);
            }
        }
        self.settings.queue.probe_exhausted(&self.instance, taken.began_at).await
    }

    /// Calls the endpoint with an exhausted item and settles it.
    async fn probe_with(self: Arc<Self>, got: Delivery) {
        let began = Stopwatch::start();
        let (outcome, act) = self.settle_probe(&got).await;
        self.settings.sender.ended(outcome, Some(began.elapsed()));
        // If the settlement is lost, the item is exhausted again when the delivery expires.
        if let Err(error) = self.settings.queue.settle(vec![Settlement { reference: got.reference, act }]).await {
            tracing::warn!(%error, queue = %self.name, "a probe was not settled");
        }
    }

    async fn settle_probe(&self, got: &Delivery) -> (PushOutcome, Act) {
        let policy = match self.settings.queue.row().await {
            Ok(row) => row.policy.clone(),
            Err(error) => return (PushOutcome::Returned, Act::Park { error: Some(error.to_string()) }),
        };
        let failure = match self.call(got, &policy, Renewal::No).await {
            Ok(result) => {
                let (outcome, act) = match result {
                    CallResult::Accepted => (PushOutcome::Delivered, Act::Ack { through: None }),
                    CallResult::NothingToSend => (PushOutcome::Skipped, Act::Skip),
                };
                self.note_probe_success(got, &act).await;
                return (outcome, act);
            }
            Err(failure) => failure,
        };
        let error = match failure {
            NotDelivered::Unread { error, .. } => error,
            NotDelivered::Refused(refused) if refused.fault == Fault::Message => {
                self.note_success(true).await;
                let act = Act::Fail { error: refused.error, item: None, retry_in: None, give_up: true };
                return (PushOutcome::Failed, act);
            }
            NotDelivered::Refused(refused) => {
                if refused.fault != Fault::Key {
                    self.note_failure(got, &refused.error, refused.fault, None).await;
                }
                refused.error
            }
        };
        (PushOutcome::Returned, Act::Park { error: Some(error) })
    }

    /// Stores that the item is revived, and that the destination answers unless no call was made.
    async fn note_probe_success(&self, got: &Delivery, act: &Act) {
        if *act != Act::Skip {
            self.note_success(true).await;
        }
        if let Some(item) = got.items.first()
            && let Err(error) = self.settings.queue.probe_succeeded(item.id.clone()).await
        {
            tracing::warn!(%error, queue = %self.name, "a revived key is missing in the audit");
        }
    }

    /// Retries what the outage exhausted in a sync queue, whose newest state must arrive. In other queues a person
    /// decides, because later items may already have been processed.
    async fn revive(&self, since: Time, until: Option<Time>) -> Result<Option<Duration>, Error> {
        if self.settings.queue.row().await?.policy.kind == Kind::Sync {
            // An outage that ended before the upgrade has no end in its row.
            let until = until.unwrap_or_else(|| self.now());
            // Items that were handed out before the first success may still become exhausted because of this outage. If
            // there are any, look again later.
            let under_way = self.settings.queue.handed_out_before(until).await?;
            let count = self.settings.queue.revive(since, until, REVIVE_MAX).await?;
            if count > 0 {
                tracing::info!(queue = %self.name, count, "what the outage had exhausted is delivered again");
                self.revived.fetch_add(count, Ordering::Relaxed);
            }
            if under_way {
                return Ok(Some(LOOK_AGAIN));
            }
        }
        let count = self.revived.swap(0, Ordering::Relaxed);
        let destination = self.settings.queue.destination_revived(since, count).await?;
        self.update_state(destination);
        Ok(None)
    }
}

async fn pause(wait: Option<Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}
