//! The program of docs/library.md: a lease with a fence, and a queue with a worker.

use serde::{Deserialize, Serialize};
use turno::Turno;
use turno::queue::{Draft, Job, Policy};

#[derive(Serialize, Deserialize)]
struct Mail {
    to: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let turno = Turno::open(&std::env::args().nth(1).unwrap_or("sqlite:turno.db".into())).await?;

    // A lease: one program at a time. If it is lost, what runs under it is dropped; the fence tells late writers apart.
    if let Some(hold) = turno.lease("report:nightly").hold("instance-1").await? {
        let fence = hold.fence().0;
        hold.run(async move { println!("report written under fence {fence}") }).await?;
        hold.release().await?;
    }

    // A queue: the same id is accepted once, and each mail is sent by one of however many programs run this.
    let mails = turno.put_queue("mails", Policy::inbox()).await?;
    mails.enqueue(vec![Draft::json(&Mail { to: "ana@example.com".into() })?.id("welcome-ana")?]).await?;
    let worker = mails.worker(|job: Job<Mail>| async move {
        println!("mail sent to {}", job.payload.to);
        Ok(())
    });
    worker.run_until(tokio::signal::ctrl_c()).await?;
    Ok(())
}
