//! The time of a message from the caller to a worker, beside a bulk change in another queue.

use super::Bench;
use crate::fill;
use crate::measure::{self, BoxError, Dice, Outcome};
use crate::result::{Measured, Sample};
use crate::site::Site;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use turno::core::id::QueueName;
use turno::core::queue::{Kind, Policy};
use turno::core::time::Span;
use turno::queue::{Claim, QueueHandle};

/// Inserts what the trigger of a source inserts for an update of many rows, in one transaction.
const BULK: &str = "insert into turno.intake (kind, at, queue, id, key, payload)
    select 'enqueue', turno.time_ms(), q.id, 'b-' || n, 'k-' || n, 'null'
    from turno.queue q, generate_series(1, $1::bigint) n where q.name = 'bulk'";
const LEFT: &str = "select count(*) from (select from turno.intake i join turno.queue q on q.id = i.queue and q.name = 'bulk' limit 1) l";
const SAY: &str = "select turno.enqueue('lanes', jsonb_build_object('n', $1::bigint), key => 'ana')";
const PAUSE: Duration = Duration::from_millis(15);
/// Longer than any probe, so that the worker is always waiting.
const WAIT: Span = Span::from_secs(60);
/// How many probes there are between two checks whether the bulk change is over.
const ASK: u64 = 25;

/// The sender of the measured message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    /// A caller of the library.
    Library,
    /// A transaction of an application.
    Sql,
}

pub(super) async fn measure(bench: &Bench<'_>, sender: Sender) -> Outcome<Measured> {
    let rows: i64 = if bench.args.quick { 10_000 } else { 100_000 };
    let mut measured = Measured {
        conditions: format!(
            "one transaction leaves {rows} marks of a sync queue; from its beginning until the last of them is taken in, \
             messages of a lane 15-22 ms apart: from just before the enqueue to the delivery in the hands of a worker that \
             waits in claim(), same process"
        ),
        ..Measured::default()
    };
    let mut notes = Vec::new();
    bench
        .our_rounds(&mut measured, async |site: &Site| {
            let (sample, took, worst) = probe(site, rows, sender).await?;
            notes.push(format!(
                "{} probes in {:.1} s, the slowest {} ms",
                sample.count,
                took.as_secs_f64(),
                worst.as_millis()
            ));
            Ok(sample)
        })
        .await?;
    measured.notes = notes;
    Ok(measured)
}

async fn probe(site: &Site, rows: i64, sender: Sender) -> Outcome<(Sample, Duration, Duration)> {
    let turno = site.turno().await?;
    let queue = fill::lanes(&turno).await?;
    turno.put_queue(QueueName::new("bulk")?, Policy::for_kind(Kind::Sync)).await?;
    let (arrived, mut arrivals) = mpsc::channel::<(u64, Instant)>(1);
    let worker = tokio::spawn(work(queue.clone(), arrived));
    let (bulk, app) = (site.client().await?, site.client().await?);
    let began = measure::now();
    let bulk = tokio::spawn(async move { bulk.execute(BULK, &[&rows]).await });
    let (mut dice, mut took) = (Dice::new(1), Vec::new());
    for number in 0_u64.. {
        tokio::time::sleep(PAUSE + Duration::from_micros(dice.below(7_000))).await;
        let sent = measure::now();
        match sender {
            Sender::Library => {
                let draft = turno::queue::Draft { key: Some(fill::key(1)?), ..fill::draft(number) };
                drop(queue.enqueue(vec![draft]).await?);
            }
            Sender::Sql => drop(app.execute(SAY, &[&i64::try_from(number)?]).await?),
        }
        let (_, at) = arrivals.recv().await.ok_or("the worker has ended")?;
        took.push(at - sent);
        if number % ASK == 0 && bulk.is_finished() && app.query_one(LEFT, &[]).await?.get::<_, i64>(0) == 0 {
            break;
        }
    }
    bulk.await??;
    worker.abort();
    let worst = took.iter().max().copied().unwrap_or_default();
    Ok((measure::probes(took)?, measure::now() - began, worst))
}

/// Claims every message and reports its arrival.
async fn work(queue: QueueHandle, arrived: mpsc::Sender<(u64, Instant)>) -> Result<(), BoxError> {
    for number in 0.. {
        for delivery in queue.claim(Claim::by("worker").wait(WAIT.into())).await? {
            let at = measure::now();
            queue.ack([delivery.reference]).await?;
            if arrived.send((number, at)).await.is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}
