//! The keeper of a pusher: probes a destination that is in an outage, and revives what the outage has exhausted.
//!
//! A destination that is down is probed with what waits, through the worker's one hand. Where nothing waits, or only a key is
//! stuck, it is probed with an exhausted item, which is handed out for that call only and is exhausted again if it fails.

use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::task::JoinSet;
use turno::core::destination::{Destination, Fault};
use turno::core::queue::{Act, Kind};
use turno::core::time::{Span, Time};
use turno::{Error, Got, Settlement};

use super::{Inner, Missed, Renewed, Went};
use crate::deliver::figures::Outcome;
use crate::uptime::Uptime;

/// The longest that anybody waits without looking, and how long after a failure of the database.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// How many items are revived before others are looked at.
const REVIVE_MAX: u32 = 1_000_000;

impl Inner {
    /// Takes probes during an outage, and revives what it exhausted once it is over.
    pub(super) async fn keep(self: Arc<Self>) {
        let mut seen = self.seen.subscribe();
        let mut probes = JoinSet::new();
        loop {
            let destination = seen.borrow_and_update().clone();
            let wait = match destination {
                Some(ill) if ill.is_probed() => self.probe(&ill, &mut probes).await,
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

    /// Takes the probe if it is due; answers how long to wait otherwise.
    async fn probe(self: &Arc<Self>, ill: &Destination, probes: &mut JoinSet<()>) -> Result<Option<Duration>, Error> {
        let wait = self.shared.turno.now().until(ill.probe_at);
        if wait > Span::ZERO {
            // A ticket of an earlier probe may have run out.
            self.allow_hands();
            return Ok(Some(Duration::from_millis(wait.0.unsigned_abs()).min(LOOK_AGAIN)));
        }
        let timeout = Span(i64::try_from(self.target.endpoint.timeout.as_millis()).unwrap_or(i64::MAX));
        let hold = self.target.endpoint.probe.max(Span(timeout.0.saturating_add(1_000)));
        let Some(taken) = self.queue.destination_probe(hold).await? else {
            // Somebody else was faster.
            let destination = self.queue.destination().await?;
            self.saw(destination);
            return Ok(Some(LOOK_AGAIN));
        };
        // Looked for before there is a hand for a probe: a probe that has succeeded by then would leave nothing waiting, and
        // another one would be made for an outage that is over.
        let found = self.find_probe(&taken).await;
        if let Ok(Some(got)) = found {
            self.saw(Some(taken));
            probes.spawn(self.clone().probe_with(got));
            return Ok(None);
        }
        if taken.is_down() {
            *self.ticket.lock().unwrap_or_else(PoisonError::into_inner) = Some(taken.probe_at);
        }
        self.saw(Some(taken));
        self.allow_hands();
        found.map(|_| None)
    }

    /// Returns an exhausted item to probe with. A destination that is down is probed with what waits, if something does.
    async fn find_probe(&self, taken: &Destination) -> Result<Option<Got>, Error> {
        if self.queue.row().await?.policy.kind != Kind::Sync {
            return Ok(None);
        }
        if taken.is_down() {
            let counts = self.queue.counts().await?;
            if counts.pending + counts.error + counts.in_process > 0 {
                return Ok(None);
            }
        }
        self.queue.probe_exhausted(&self.shared.instance, taken.began_at).await
    }

    /// One call with an exhausted item, and its settlement.
    async fn probe_with(self: Arc<Self>, got: Got) {
        let began = Uptime::start();
        let (outcome, act) = self.probed(&got).await;
        self.shared.figures.ended(&self.name, outcome, Some(began.elapsed()));
        // Without a settlement it is exhausted again when its time is over.
        if let Err(error) = self.queue.settle(vec![Settlement { handed: got.handed, act }]).await {
            tracing::warn!(%error, queue = %self.name, "a probe was not settled");
        }
    }

    async fn probed(&self, got: &Got) -> (Outcome, Act) {
        let policy = match self.queue.row().await {
            Ok(row) => row.policy.clone(),
            Err(error) => return (Outcome::Returned, Act::Park { error: Some(error.to_string()) }),
        };
        let missed = match self.call(got, &policy, Renewed::No).await {
            Ok(went) => {
                let (outcome, act) = match went {
                    Went::Taken => (Outcome::Delivered, Act::Ack { through: None }),
                    Went::Nowhere => (Outcome::Skipped, Act::Skip),
                };
                self.succeeded(got, &act).await;
                return (outcome, act);
            }
            Err(missed) => missed,
        };
        let error = match missed {
            Missed::Unread(error) => error,
            Missed::Refused(refused) if refused.fault == Fault::Message => {
                self.answered(true).await;
                let act = Act::Fail { error: refused.error, item: None, retry_in: None, give_up: true };
                return (Outcome::Failed, act);
            }
            Missed::Refused(refused) => {
                if refused.fault != Fault::Key {
                    self.was_down(got, &refused.error, refused.fault, None).await;
                }
                refused.error
            }
        };
        (Outcome::Returned, Act::Park { error: Some(error) })
    }

    /// Notes that an exhausted item is exhausted no more; and if it was taken, that the destination is back.
    async fn succeeded(&self, got: &Got, act: &Act) {
        if *act != Act::Skip {
            self.answered(true).await;
        }
        if let Some(item) = got.items.first()
            && let Err(error) = self.queue.probe_succeeded(item.id.clone()).await
        {
            tracing::warn!(%error, queue = %self.name, "a revived key is missing in the audit");
        }
    }

    /// Sends round again what the outage has exhausted: of a sync queue, whose newest state must arrive. Elsewhere a
    /// person decides, because later items have gone past it.
    async fn revive(&self, since: Time, until: Option<Time>) -> Result<Option<Duration>, Error> {
        if self.queue.row().await?.policy.kind == Kind::Sync {
            // An outage that ended before the upgrade has no end in the row.
            let until = until.unwrap_or_else(|| self.shared.turno.now());
            // What was handed out before the success may still end exhausted, by its failure or with its server: then this
            // outage has exhausted it, too.
            let under_way = self.queue.handed_out_before(until).await?;
            let count = self.queue.revive(since, until, REVIVE_MAX).await?;
            if count > 0 {
                tracing::info!(queue = %self.name, count, "what the outage had exhausted is delivered again");
                self.revived.fetch_add(count, Ordering::Relaxed);
            }
            if under_way {
                return Ok(Some(LOOK_AGAIN));
            }
        }
        let count = self.revived.swap(0, Ordering::Relaxed);
        let destination = self.queue.destination_revived(since, count).await?;
        self.saw(destination);
        Ok(None)
    }
}

async fn pause(wait: Option<Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}
