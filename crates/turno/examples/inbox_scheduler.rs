//! A scheduler that can run in any number of instances. Each instance claims free records, calls a web service with
//! the fence, and settles the result. No instance needs to know about the others.
//! `cargo run --example inbox_scheduler -- sqlite:inbox.db instance-1`
//!
//! With `hang` as a third argument the instance claims one record and then does nothing: kill it, and another instance
//! takes over.

use std::time::Duration;
use turno::Turno;
use turno::queue::{Claim, Delivery, Draft, Policy, QueueHandle, Settlement};

/// The interval between two runs of the scheduler.
const EVERY: Duration = Duration::from_millis(200);
/// Records claimed in one run.
const BATCH: u32 = 5;

/// The web service. It receives the fence and should refuse a smaller one than it has seen for the same record.
async fn process(record: &str, attempt: u32, fence: i64) -> Result<(), String> {
    let _ = fence;
    // One record fails on its first attempt.
    if record == "\"presentation-3\"" && attempt == 1 { Err("503 from the web service".to_owned()) } else { Ok(()) }
}

/// Runs once: claim, process, settle. Returns the number of records.
async fn run(inbox: &QueueHandle, instance: &str) -> Result<usize, turno::Error> {
    let claimed = inbox.claim(Claim::by(instance).max(BATCH)).await?;
    for Delivery { reference, items, attempt, .. } in &claimed {
        let record = &items[0];
        let (settlement, how) = match process(&record.payload, *attempt, reference.fence.0).await {
            Ok(()) => (Settlement::ack(*reference), "processed".to_owned()),
            // The record is unprocessed again, with its error. The next free instance retries it.
            Err(error) => {
                let how = format!("failed ({error})");
                (Settlement::retry_in(*reference, error, Duration::from_millis(100)), how)
            }
        };
        let settled = inbox.settle(vec![settlement]).await?;
        println!("{instance}: {} {how}, attempt {attempt}: {:?}", record.id, settled[0].outcome);
    }
    Ok(claimed.len())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let turno = Turno::open(&arguments.next().unwrap_or("sqlite:inbox.db".into())).await?;
    let instance = arguments.next().unwrap_or_else(|| format!("instance-{}", std::process::id()));
    // After two seconds without a heartbeat, another instance may claim the record.
    let inbox = turno.put_queue("presentations", Policy::inbox().lock_timeout(Duration::from_secs(2))).await?;
    // Every instance enqueues the same records, as several producers may: an id is accepted once.
    let records = (1..=8).map(|n| format!("presentation-{n}"));
    let drafts = records.map(|record| Draft::json(&record)?.id(&record));
    inbox.enqueue(drafts.collect::<Result<_, _>>()?).await?;

    if arguments.next().as_deref() == Some("hang") {
        let claimed = inbox.claim(Claim::by(&instance)).await?;
        println!("{instance}: took {} under fence {}", claimed[0].items[0].id, claimed[0].reference.fence.0);
        std::future::pending::<()>().await;
    }
    // A real scheduler runs forever. This one ends when all records are processed.
    let mut ticks = tokio::time::interval(EVERY);
    while inbox.counts().await?.processed < 8 {
        ticks.tick().await;
        while run(&inbox, &instance).await? > 0 {}
    }
    println!("{instance}: all are processed");
    Ok(())
}
