//! Enqueues: single items from many callers, and large batches from a few.

use super::Bench;
use crate::fill;
use crate::measure::{Outcome, Until, closed_loop};
use crate::raw;
use crate::result::{Measured, Sample};
use crate::site::{Database, Site};
use std::time::Duration;

const SINGLES: usize = 16;
const CALLERS: usize = 4;
const BATCH: u64 = 1_000;

/// Measures one item per call.
pub(super) async fn single(bench: &Bench<'_>) -> Outcome<Measured> {
    let (span, database) = (bench.args.span(), bench.row.database);
    let beside = match database {
        Database::Sqlite => "single-row insert commits, one connection".to_owned(),
        Database::Postgres => format!("single-row insert commits, {SINGLES} connections"),
    };
    let mut measured = Measured {
        conditions: format!(
            "closed loop of {SINGLES} callers, one item of ~10 bytes per call, inbox, answered after the commit; the call's latency"
        ),
        beside,
        ..Measured::default()
    };
    let raw = async |site: &Site| match database {
        Database::Sqlite => raw::sqlite::Raw::open(site)?.insert(1, span),
        Database::Postgres => {
            let raw = raw::postgres::Raw::open(site).await?;
            raw.insert(SINGLES, span).await
        }
    };
    let ours = async |site: &Site| enqueue(site, SINGLES, 1, span).await;
    bench.rounds(&mut measured, raw, ours).await?;
    Ok(measured)
}

/// Measures a thousand items per call.
pub(super) async fn batch(bench: &Bench<'_>) -> Outcome<Measured> {
    let (span, database) = (bench.args.span(), bench.row.database);
    let beside = match database {
        Database::Sqlite => "inserts, 1,000 in a commit, one connection".to_owned(),
        Database::Postgres => {
            format!("inserts by unnest, 1,000 in a commit, {CALLERS} connections")
        }
    };
    let mut measured = Measured {
        conditions: format!(
            "closed loop of {CALLERS} callers, {BATCH} items of ~10 bytes per call, inbox; items per second, the call's latency"
        ),
        beside,
        ..Measured::default()
    };
    let raw = async |site: &Site| match database {
        Database::Sqlite => raw::sqlite::Raw::open(site)?.insert(BATCH, span),
        Database::Postgres => {
            let raw = raw::postgres::Raw::open(site).await?;
            raw.insert_many(CALLERS, BATCH, span).await
        }
    };
    let ours = async |site: &Site| enqueue(site, CALLERS, BATCH, span).await;
    bench.rounds(&mut measured, raw, ours).await?;
    Ok(measured)
}

async fn enqueue(site: &Site, callers: usize, batch: u64, span: Duration) -> Outcome<Sample> {
    let turno = site.turno().await?;
    let queue = fill::inbox(&turno).await?;
    let call = |_| {
        let queue = queue.clone();
        let mut at = 0;
        move || {
            let queue = queue.clone();
            at += batch;
            let items = (at - batch..at).map(fill::draft).collect();
            async move { Ok(queue.enqueue(items).await?.len() as u64) }
        }
    };
    closed_loop((0..callers).map(call).collect(), Until::After(span)).await
}
