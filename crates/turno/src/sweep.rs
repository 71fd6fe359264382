//! The sweep: takes back expired deliveries.
//!
//! Correctness never depends on it. A late settlement is refused anyway, and a claim that finds nothing runs the sweep
//! itself. The sweep submits ordinary settlements, so that the expiry is checked again under the locks.

use crate::clock::Clock;
use crate::engine::Committers;
use crate::engine::Job;
use crate::engine::telemetry::Telemetry;
use crate::error::Error;
use crate::store::Store;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Mutex;
use turno_core::id::QueueId;
use turno_core::queue::{Act, Policy, Settle, SettleOutcome, Settler};
use turno_core::time::{Span, Time};

/// The interval of the background sweep.
const EVERY: Span = Span(500);
/// The largest number of deliveries taken back in one round.
const AT_ONCE: u32 = 500;

/// Takes expired deliveries back.
#[derive(Clone)]
pub(crate) struct Sweep {
    store: Arc<dyn Store>,
    clock: Arc<Clock>,
    committers: Committers,
    telemetry: Telemetry,
    looked: Arc<Mutex<Option<Looked>>>,
}

/// The result of the last sweep. It stays valid until time has passed.
#[derive(Clone, Copy, Debug)]
struct Looked {
    /// When the sweep began.
    at: Time,
    /// Whether it took a delivery back.
    found: bool,
    /// When the next delivery expires.
    next: Option<Time>,
}

impl Sweep {
    pub(crate) fn new(store: Arc<dyn Store>, clock: Arc<Clock>, committers: Committers, telemetry: Telemetry) -> Sweep {
        Sweep { store, clock, committers, telemetry, looked: Arc::default() }
    }

    /// Takes back the deliveries that have expired. Returns whether there were any, and when the next one expires.
    ///
    /// Concurrent callers share one sweep: one runs it, the others wait for its result.
    pub(crate) async fn now(&self) -> Result<(bool, Option<Time>), Error> {
        let asked = self.clock.estimate();
        let mut looked = self.looked.lock().await;
        if let Some(Looked { at, found, next }) = *looked
            && asked <= at
        {
            return Ok((found, next));
        }
        let at = self.clock.estimate();
        let (expired, next) = self.store.expired(AT_ONCE).await?;
        let mut found = false;
        *looked = Some(Looked { at, found, next });
        if !expired.is_empty() {
            let queues = self.store.queues().await?;
            queues.iter().for_each(|queue| self.telemetry.remember_queue(queue));
            let policies: HashMap<QueueId, Policy> = queues.into_iter().map(|queue| (queue.id, queue.policy)).collect();
            let settlements: Vec<Settle> = expired
                .into_iter()
                .filter_map(|reference| {
                    Some(Settle {
                        reference,
                        policy: policies.get(&reference.queue)?.clone(),
                        act: Act::Expire,
                        by: Settler::Server,
                    })
                })
                .collect();
            tracing::debug!(count = settlements.len(), "taking back expired hand-outs");
            let (_, answers) = self.committers.submit(None, |reply| Job::Settle(settlements, reply)).await?;
            // Deliveries that an application has completed or is completing are not taken back. Another sweep would
            // not change that.
            found = answers.contains(&SettleOutcome::Expired);
            *looked = Some(Looked { at, found, next });
        }
        Ok((found, next))
    }

    /// Sweeps until the engine is closed.
    pub(crate) async fn run(self) {
        loop {
            let until = self.clock.estimate() + EVERY;
            self.clock.sleep_until(until).await;
            if let Err(error) = self.now().await {
                tracing::warn!(%error, "could not look for expired hand-outs");
            }
        }
    }
}
