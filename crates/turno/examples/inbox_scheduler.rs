//! A scheduler that may run in as many instances as you like: each takes what nobody has, calls a web service with the
//! fence, and says how it went. None needs to know how many there are.
//! `cargo run --example inbox_scheduler -- sqlite:inbox.db instance-1`
//!
//! With `hang` as a third word it takes one record and does nothing more: kill it, and another instance takes over.

use std::time::Duration;
use turno::core::queue::Act;
use turno::core::time::Span;
use turno::{Draft, Got, Kind, Policy, QueueHandle, Settlement, Turno};

/// Between two runs of the scheduler.
const EVERY: Duration = Duration::from_millis(200);
/// Records taken in one run.
const BATCH: u32 = 5;

/// The web service. It gets the fence along, and should refuse a smaller one than it has seen for the same record.
async fn process(record: &str, attempt: u32, fence: i64) -> Result<(), String> {
    let _ = fence;
    // One of them does not work the first time.
    if record == "\"presentation-3\"" && attempt == 1 { Err("503 from the web service".to_owned()) } else { Ok(()) }
}

/// One run: take, process, settle. Answers how many there were.
async fn run(inbox: &QueueHandle, instance: &str) -> Result<usize, turno::Error> {
    let taken = inbox.claim(instance, BATCH, Span::ZERO).await?;
    for Got { handed, items, attempt, .. } in &taken {
        let record = &items[0];
        let (act, how) = match process(&record.payload, *attempt, handed.fence.0).await {
            Ok(()) => (Act::Ack { through: None }, "processed".to_owned()),
            // Unprocessed again, with its error; tried again as the policy says, by whoever comes first.
            Err(error) => {
                let how = format!("failed ({error})");
                (Act::Fail { error, item: None, retry_in: Some(Span(100)), give_up: false }, how)
            }
        };
        let settled = inbox.settle(vec![Settlement { handed: *handed, act }]).await?;
        println!("{instance}: {} {how}, attempt {attempt}: {:?}", record.id, settled[0].outcome);
    }
    Ok(taken.len())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let turno = Turno::open(&words.next().unwrap_or("sqlite:inbox.db".into())).await?;
    let instance = words.next().unwrap_or_else(|| format!("instance-{}", std::process::id()));
    // After two seconds without a sign of life a record is anybody's again.
    let inbox =
        turno.put_queue("presentations", Policy { lock_timeout: Span(2_000), ..Policy::of(Kind::Inbox) }).await?;
    // Every instance offers the same records, as several producers may: an id is accepted once.
    let records = (1..=8).map(|n| format!("presentation-{n}"));
    let drafts = records.map(|record| Draft::json(&record)?.id(&record));
    inbox.enqueue(drafts.collect::<Result<_, _>>()?).await?;

    if words.next().as_deref() == Some("hang") {
        let taken = inbox.claim(&instance, 1, Span::ZERO).await?;
        println!("{instance}: took {} under fence {}", taken[0].items[0].id, taken[0].handed.fence.0);
        std::future::pending::<()>().await;
    }
    // A real one goes on for ever; this one ends when all are processed.
    let mut ticks = tokio::time::interval(EVERY);
    while inbox.counts().await?.processed < 8 {
        ticks.tick().await;
        while run(&inbox, &instance).await? > 0 {}
    }
    println!("{instance}: all are processed");
    Ok(())
}
