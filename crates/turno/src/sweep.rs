//! Finding hand-outs that expired.
//!
//! Correctness never depends on this: an expired hand-out is refused when its worker comes back, and found
//! when somebody asks for work. Every write repeats the condition that was read, because it is an ordinary
//! settlement, decided anew under the locks.

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
use turno_core::queue::{Act, Policy, Settle, SettleOutcome};
use turno_core::time::{Span, Time};

/// How often it looks by itself.
const EVERY: Span = Span(500);
/// How many expired hand-outs are taken back together.
const AT_ONCE: u32 = 500;

/// Takes expired hand-outs back.
#[derive(Clone)]
pub(crate) struct Sweep {
    store: Arc<dyn Store>,
    clock: Arc<Clock>,
    committers: Committers,
    telemetry: Telemetry,
    looked: Arc<Mutex<Option<Looked>>>,
}

/// The last look: nobody needs to look again before time has passed.
#[derive(Clone, Copy, Debug)]
struct Looked {
    /// When it began.
    at: Time,
    /// Whether it took anything back.
    found: bool,
    /// When the next hand-out expires.
    next: Option<Time>,
}

impl Sweep {
    pub(crate) fn new(store: Arc<dyn Store>, clock: Arc<Clock>, committers: Committers, telemetry: Telemetry) -> Sweep {
        Sweep { store, clock, committers, telemetry, looked: Arc::default() }
    }

    /// Takes back what has expired by now. Answers whether there was anything, and when the next one expires.
    ///
    /// Many may ask at once; one looks, the others wait for it and share what it found.
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
            queues.iter().for_each(|queue| self.telemetry.knows(queue));
            let policies: HashMap<QueueId, Policy> = queues.into_iter().map(|queue| (queue.id, queue.policy)).collect();
            let settlements: Vec<Settle> = expired
                .into_iter()
                .filter_map(|handed| {
                    Some(Settle { handed, policy: policies.get(&handed.queue)?.clone(), act: Act::Expire })
                })
                .collect();
            tracing::debug!(count = settlements.len(), "taking back expired hand-outs");
            let (_, answers) = self.committers.submit(None, |reply| Job::Settle(settlements, reply)).await?;
            // Not what an application has completed, or is completing at this moment: that stays, and looking again would
            // not help.
            found = answers.contains(&SettleOutcome::Expired);
            *looked = Some(Looked { at, found, next });
        }
        Ok((found, next))
    }

    /// Looks again and again until the engine is closed.
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
