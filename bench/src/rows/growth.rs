//! Growth: whether the speed stays with a large backlog, a large history, an open transaction, or many lanes.
//!
//! Both sides of these rows are Turno; the left one has easier conditions. Only the ratio within a round counts.

use super::drain::{self, Look, drain};
use super::{Bench, ordered};
use crate::fill;
use crate::measure::Outcome;
use crate::result::{Measured, Sample};
use crate::site::Site;
use std::sync::Arc;
use std::time::Duration;
use turno::Turno;
use turno::queue::{Delivery, QueueHandle};

/// The batch size of the raw limits and of the peers in growth measurements.
const BATCH: u32 = 100;
/// The small backlog.
const FEW: u64 = 10_000;
/// Items that are drained and refilled per slice.
const SLICE: u64 = 8_000;

fn unseen() -> Look {
    Arc::new(|_: &[Delivery]| {})
}

async fn take(queue: &QueueHandle, count: u64) -> Outcome<Sample> {
    drain(queue, drain::WORKERS, BATCH, count, unseen(), unseen()).await
}

/// A filled inbox.
struct Inbox {
    site: Site,
    turno: Turno,
    queue: QueueHandle,
}

impl Inbox {
    async fn with(bench: &Bench<'_>, items: u64) -> Outcome<Inbox> {
        let site = bench.fresh().await?;
        let turno = site.turno().await?;
        let queue = fill::inbox(&turno).await?;
        fill::items(&queue, items).await?;
        Ok(Inbox { site, turno, queue })
    }

    /// Drains slices and refills each before the next, so that the backlog stays the same.
    async fn steady(&self, slices: u64) -> Outcome<Sample> {
        let mut parts = Vec::new();
        for _ in 0..slices {
            let part = take(&self.queue, SLICE).await?;
            fill::items(&self.queue, part.count).await?;
            parts.push(part);
        }
        Ok(together(&parts))
    }

    async fn remove(self) -> Outcome<()> {
        drop((self.queue, self.turno));
        self.site.remove().await
    }
}

/// Combines several samples of the same work.
fn together(parts: &[Sample]) -> Sample {
    let count = parts.iter().map(|part| part.count).sum();
    let seconds: f64 = parts.iter().map(|part| part.count as f64 / part.per_second).sum();
    let longest = |of: fn(&Sample) -> Option<Duration>| parts.iter().filter_map(of).max();
    Sample { count, per_second: count as f64 / seconds, p50: longest(|part| part.p50), p99: longest(|part| part.p99) }
}

/// Compares a backlog of a million items with one of ten thousand.
pub(super) async fn backlog(bench: &Bench<'_>) -> Outcome<Measured> {
    let many = bench.args.size(1_000_000, 200_000);
    let slices = bench.args.size(12, 6);
    let mut measured = Measured {
        conditions: format!(
            "inbox with {many} items waiting, filled through the library, vacuum-analyzed; {slices} times: {SLICE} drained \
             (measured; {} workers, up to {BATCH} at a time) and as many put back (not measured)",
            drain::WORKERS
        ),
        beside: format!("Turno, the same with {FEW} waiting"),
        ..Measured::default()
    };
    let easy = Inbox::with(bench, FEW).await?;
    let hard = Inbox::with(bench, many).await?;
    easy.site.settle_down().await?;
    hard.site.settle_down().await?;
    for round in 1..=bench.args.runs {
        let sample = easy.steady(slices).await?;
        bench.progress(round, "few waiting", &sample);
        measured.raw.push(sample);
        let sample = hard.steady(slices).await?;
        bench.progress(round, "many waiting", &sample);
        measured.ours.push(sample);
    }
    easy.remove().await?;
    hard.remove().await?;
    Ok(measured)
}

/// Compares a history of a million items with none.
pub(super) async fn history(bench: &Bench<'_>) -> Outcome<Measured> {
    let many = bench.args.size(1_000_000, 200_000);
    let count = bench.args.size(100_000, 40_000);
    let mut measured = Measured {
        conditions: format!(
            "inbox of {count} items with {many} finished ones kept (enqueued, drained and acked through the library), \
             vacuum-analyzed; {} workers, up to {BATCH} at a time, until empty",
            drain::WORKERS
        ),
        beside: "Turno, the same with nothing finished before".to_owned(),
        ..Measured::default()
    };
    let hard = Inbox::with(bench, many).await?;
    take(&hard.queue, many).await?;
    for round in 1..=bench.args.runs {
        let easy = Inbox::with(bench, count).await?;
        easy.site.settle_down().await?;
        let sample = take(&easy.queue, count).await?;
        easy.remove().await?;
        bench.progress(round, "no history", &sample);
        measured.raw.push(sample);
        fill::items(&hard.queue, count).await?;
        hard.site.settle_down().await?;
        let sample = take(&hard.queue, count).await?;
        bench.progress(round, "history", &sample);
        measured.ours.push(sample);
    }
    hard.remove().await?;
    Ok(measured)
}

/// Drains a million items beside a transaction that was left open.
pub(super) async fn open_transaction(bench: &Bench<'_>) -> Outcome<Measured> {
    let many = bench.args.size(1_000_000, 200_000);
    let slice = many / 10;
    let mut measured = Measured {
        conditions: format!(
            "inbox, vacuum-analyzed; another session holds a REPEATABLE READ transaction with an xid open while {many} items \
             are drained ({} workers, up to {BATCH} at a time); the rate of the last {slice}",
            drain::WORKERS
        ),
        beside: format!("Turno, the same inbox: the first {slice}, before that transaction begins"),
        ..Measured::default()
    };
    for round in 1..=bench.args.runs {
        let inbox = Inbox::with(bench, many + slice).await?;
        inbox.site.settle_down().await?;
        let sample = take(&inbox.queue, slice).await?;
        bench.progress(round, "before", &sample);
        let before = sample.count;
        measured.raw.push(sample);
        let forgotten = inbox.site.client().await?;
        forgotten.batch_execute("begin isolation level repeatable read; select txid_current()").await?;
        let mut slices = Vec::new();
        let mut left = (many + slice).saturating_sub(before);
        while left > 0 {
            // Workers may take more than a slice, so a small rest joins the last slice.
            let part = if left < slice * 3 / 2 { left } else { slice };
            let sample = take(&inbox.queue, part).await?;
            left = left.saturating_sub(sample.count);
            slices.push(sample);
        }
        forgotten.batch_execute("rollback").await?;
        inbox.remove().await?;
        let rates: Vec<String> = slices.iter().map(|part| format!("{:.1}k", part.per_second / 1e3)).collect();
        measured.notes.push(format!("by slice, run {round}: {}", rates.join(" ")));
        let last = slices.pop().ok_or("nothing was drained beside the open transaction")?;
        bench.progress(round, "after", &last);
        measured.ours.push(last);
    }
    Ok(measured)
}

/// Compares a hundred thousand lanes of one message with a thousand lanes of a hundred.
pub(super) async fn many_lanes(bench: &Bench<'_>) -> Outcome<Measured> {
    let many = bench.args.size(100_000, 20_000);
    let few = 1_000;
    let mut measured = Measured {
        conditions: format!(
            "{many} lanes with one message each, window 0, filled through the library, vacuum-analyzed; {} workers claim up \
             to {} deliveries and ack them, until empty",
            ordered::WORKERS,
            ordered::BATCH
        ),
        beside: format!("Turno, as many messages in {few} lanes"),
        ..Measured::default()
    };
    for round in 1..=bench.args.runs {
        for (keys, each) in [(few, many / few), (many, 1)] {
            let site = bench.fresh().await?;
            let sample = lanes(&site, keys, each, &mut measured.faults).await?;
            site.remove().await?;
            bench.progress(round, &format!("{keys} lanes"), &sample);
            let side = if keys == few { &mut measured.raw } else { &mut measured.ours };
            side.push(sample);
        }
    }
    if measured.faults.is_empty() {
        measured
            .notes
            .push("afterwards turno.hot and turno.typing have no rows: nothing is kept of an empty lane".to_owned());
    }
    Ok(measured)
}

async fn lanes(site: &Site, keys: u64, each: u64, faults: &mut Vec<String>) -> Outcome<Sample> {
    let turno = site.turno().await?;
    let queue = fill::lanes(&turno).await?;
    fill::messages(&queue, keys, each).await?;
    site.settle_down().await?;
    let watch = ordered::Watch::over(keys);
    let (workers, batch) = (ordered::WORKERS, ordered::BATCH);
    let sample = drain(&queue, workers, batch, keys * each, watch.after_claim(), watch.before_ack()).await?;
    faults.extend(watch.faults(keys, each));
    let left: i64 = site
        .client()
        .await?
        .query_one("select (select count(*) from turno.hot) + (select count(*) from turno.typing)", &[])
        .await?
        .get(0);
    if left > 0 {
        faults.push(format!("{left} rows are left of {keys} empty lanes"));
    }
    Ok(sample)
}
