//! A task with lines: processed by one person, finalized line by line, and never applied twice.
//! `cargo run --example finalize -- sqlite:tasks.db`

use turno::Turno;
use turno::task::{LineOutcome, Movement, NewLine, NewTask};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let turno = Turno::open(&std::env::args().nth(1).unwrap_or("sqlite:tasks.db".into())).await?;
    let lines = [NewLine::quantity(Movement::In, "clavos", 30)?, NewLine::quantity(Movement::Out, "tuercas", 5)?];
    let task = turno.create_task("eva", NewTask::titled("Recepción").lines(lines).ready()).await?;

    let grant = task.claim("ana").await?;
    for round in ["finalized", "repeated"] {
        let answer = task.finalize(&grant).await?;
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
    println!("{} nails in stock", turno.stock_level("clavos".try_into()?).await?.quantity);
    Ok(())
}
