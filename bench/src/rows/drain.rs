//! Draining an inbox: claim, no work, ack.

use super::Bench;
use crate::fill;
use crate::measure::{BoxError, Outcome, Until, closed_loop};
use crate::raw;
use crate::result::{Measured, Sample};
use crate::site::{Database, Site};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use turno::core::queue::SettleOutcome;
use turno::core::time::Span;
use turno::queue::{Claim, Delivery, QueueHandle};

/// Concurrent workers. Concurrent claims are handled together, so more workers are not faster.
pub(super) const WORKERS: usize = 8;
/// Connections of the raw limit, as documented.
const CONNECTIONS: usize = 4;
/// How long a worker waits for work before it checks whether everything is processed.
const WAIT: Span = Span(200);
/// Empty claims before a worker gives up: half a minute.
const LOOKS_MAX: u32 = 150;

pub(super) async fn measure(bench: &Bench<'_>, batch: u32) -> Outcome<Measured> {
    let database = bench.row.database;
    let (count, connections) = match database {
        Database::Sqlite => (bench.args.items(100e3), 1),
        Database::Postgres => (bench.args.items(60e3), CONNECTIONS),
    };
    let mut measured = Measured {
        conditions: format!(
            "inbox of {count} items filled through the library{}; {WORKERS} workers claim up to {batch}, do nothing, ack them all; \
             fence, expiry and history kept; items acked until empty; latency of claim + ack of a batch",
            match database {
                Database::Sqlite => "",
                Database::Postgres => " and vacuum-analyzed",
            }
        ),
        beside: format!(
            "claim + delete of {batch}, two commits, {connections} connection(s), no fence, no history, same number of rows"
        ),
        ..Measured::default()
    };
    let raw = async |site: &Site| match database {
        Database::Sqlite => raw::sqlite::Raw::open(site)?.drain(count, batch),
        Database::Postgres => {
            let raw = raw::postgres::Raw::open(site).await?;
            raw.drain(CONNECTIONS, count, batch).await
        }
    };
    let ours = async |site: &Site| {
        let turno = site.turno().await?;
        let queue = fill::inbox(&turno).await?;
        fill::items(&queue, count).await?;
        site.settle_down().await?;
        let drained =
            drain(&queue, WORKERS, batch, count, Arc::new(|_: &[Delivery]| {}), Arc::new(|_: &[Delivery]| {})).await?;
        match drained.count {
            all if all == count => Ok(drained),
            other => Err(BoxError::from(format!("{other} of {count} items were acked"))),
        }
    };
    bench.rounds(&mut measured, raw, ours).await?;
    Ok(measured)
}

/// A callback that sees the deliveries of a worker.
pub(super) type Look = Arc<dyn Fn(&[Delivery]) + Send + Sync>;

/// Claims and acks until `target` items are acked; deliveries in progress may add a few. `after_claim` sees the
/// deliveries after the claim, `before_ack` just before the ack.
pub(super) async fn drain(
    queue: &QueueHandle,
    workers: usize,
    batch: u32,
    target: u64,
    after_claim: Look,
    before_ack: Look,
) -> Outcome<Sample> {
    let acked = Arc::new(AtomicU64::new(0));
    let worker = |index: usize| {
        let (queue, acked) = (queue.clone(), acked.clone());
        let (after_claim, before_ack) = (after_claim.clone(), before_ack.clone());
        let name: Arc<str> = format!("worker-{index}").into();
        move || {
            let (queue, acked, name) = (queue.clone(), acked.clone(), name.clone());
            let (after_claim, before_ack) = (after_claim.clone(), before_ack.clone());
            async move {
                let mut looks = 0;
                while acked.load(Ordering::Relaxed) < target {
                    let got = queue.claim(Claim::by(&name).max(batch).wait(WAIT.into())).await?;
                    if got.is_empty() {
                        looks += 1;
                        if looks == LOOKS_MAX {
                            let acked = acked.load(Ordering::Relaxed);
                            return Err(format!("{acked} of {target} items were acked, and no more handed out").into());
                        }
                        continue;
                    }
                    after_claim(&got);
                    before_ack(&got);
                    let reference = got.iter().map(|delivery| delivery.reference);
                    let answers = queue.ack(reference).await?;
                    let done = answers.iter().filter(|answer| answer.outcome == SettleOutcome::Acked).count() as u64;
                    acked.fetch_add(done, Ordering::Relaxed);
                    return Ok(done);
                }
                Ok(0)
            }
        }
    };
    closed_loop((0..workers).map(worker).collect(), Until::Empty).await
}
