//! The time of an item from the caller to a waiting worker.

use super::Bench;
use crate::fill;
use crate::measure::{self, BoxError, Dice, Outcome};
use crate::raw;
use crate::result::{Measured, Sample};
use crate::site::{Database, Site};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use turno::core::time::Span;
use turno::queue::Claim;

const PROBES: u32 = 300;
const PAUSE: Duration = Duration::from_millis(15);
/// Longer than any pause, so that the worker is always waiting.
const WAIT: Span = Span::from_secs(10);

pub(super) async fn measure(bench: &Bench<'_>) -> Outcome<Measured> {
    let database = bench.row.database;
    let mut measured = Measured {
        conditions: format!(
            "{PROBES} probes 15-22 ms apart on an idle inbox: from just before enqueue() to the delivery in the hands of a \
             worker that waits in claim(), same process; the enqueue's commit and the claim's are both in it"
        ),
        beside: "one durable single-row insert, one connection, as far apart".to_owned(),
        ..Measured::default()
    };
    let raw = async |site: &Site| match database {
        Database::Sqlite => raw::sqlite::Raw::open(site)?.commits(PROBES, PAUSE).await,
        Database::Postgres => {
            let raw = raw::postgres::Raw::open(site).await?;
            raw.commits(PROBES, PAUSE).await
        }
    };
    bench.rounds(&mut measured, raw, probe).await?;
    Ok(measured)
}

async fn probe(site: &Site) -> Outcome<Sample> {
    let turno = site.turno().await?;
    let queue = fill::inbox(&turno).await?;
    let (arrived, mut arrivals) = mpsc::channel::<(u64, Instant)>(1);
    let waiting = queue.clone();
    let worker = tokio::spawn(async move {
        loop {
            for delivery in waiting.claim(Claim::by("worker").wait(WAIT.into())).await? {
                let at = measure::now();
                let number = delivery
                    .items
                    .first()
                    .and_then(|item| fill::number(&item.payload))
                    .ok_or("a probe came back without its number")?;
                waiting.ack([delivery.reference]).await?;
                if arrived.send((number, at)).await.is_err() {
                    return Ok::<(), BoxError>(());
                }
            }
        }
    });
    // The caller is a task on the same threads, as in an application.
    let caller = tokio::spawn(async move {
        let (mut dice, mut took) = (Dice::new(1), Vec::new());
        for number in 0..u64::from(PROBES) {
            tokio::time::sleep(PAUSE + Duration::from_micros(dice.below(7_000))).await;
            let began = measure::now();
            queue.enqueue(vec![fill::draft(number)]).await?;
            let (arrived, at) = arrivals.recv().await.ok_or("the worker has ended")?;
            if arrived != number {
                return Err("a probe was handed out twice or not at all".into());
            }
            took.push(at - began);
        }
        Ok::<_, BoxError>(took)
    });
    let took = caller.await?;
    worker.abort();
    measure::probes(took?)
}
