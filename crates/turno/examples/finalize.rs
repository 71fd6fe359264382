//! A task with lines: processed by one person, finalized line by line, and never applied twice.
//! `cargo run --example finalize -- sqlite:tasks.db`

use turno::core::id::{Sku, UserId};
use turno::core::lease::Holder;
use turno::core::task::{self, Goods, LineOutcome, Movement, NewLine};
use turno::{Action, Turno};

fn line(sku: &str, movement: Movement, quantity: i64) -> Result<NewLine, turno::Error> {
    Ok(NewLine { movement, sku: Sku::new(sku)?, goods: Goods::Quantity(quantity) })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let turno = Turno::open(&std::env::args().nth(1).unwrap_or("sqlite:tasks.db".into())).await?;
    let ana = Holder { user: UserId::new("ana")?, name: "Ana".to_owned(), instance: None };
    let lines = vec![line("clavos", Movement::In, 30)?, line("tuercas", Movement::Out, 5)?];
    let created = turno.task_create(ana.clone(), "Recepción", lines, true, None).await?;
    let id = created.task.expect("the task was created").id;

    let claim = task::Action::Lease(Action::Claim { ttl: None, wait: false });
    let fence = turno.task(Some(id), ana.clone(), claim).await?.lease.grant.expect("the task is free").fence;
    for round in ["finalized", "repeated"] {
        let answer = turno.task_finalize(id, ana.clone(), fence).await?;
        let finalized = answer.answer.expect("ana holds the lease");
        println!("{round}: {}", finalized.status.as_str());
        for (number, outcome) in answer.lines {
            match outcome {
                LineOutcome::Applied => println!("  line {number} applied"),
                LineOutcome::Skipped => println!("  line {number} was applied before"),
                LineOutcome::Failed(error) => println!("  line {number} failed: {error}"),
            }
        }
    }
    println!("{} nails in stock", turno.stock_level(Sku::new("clavos")?).await?.quantity);
    Ok(())
}
