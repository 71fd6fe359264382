//! Turno beside the raw limit of the same database, in one run.
//!
//! A row measures one kind of work, round after round: first what the database itself can do under the same
//! durability, then the library. Figures of one row come from one run of this program on one machine, so
//! their ratio means something even where the figures themselves move. The load is made by this process: it
//! shares the machine's cores with the database, and the output says so.
//!
//! Peers are not run here; what is known about them is printed as a note and marked as such.

mod args;
mod fill;
mod histogram;
mod machine;
mod measure;
mod raw;
mod result;
mod rows;
mod server;
mod site;
mod spec;
mod table;

use args::Args;
use clap::Parser;
use measure::Outcome;
use site::{Database, Home};
use std::process::ExitCode;

/// Threads that run the load, Turno's engine and the raw clients alike.
const THREADS: usize = 2;

fn main() -> ExitCode {
    let args = Args::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build()
        .expect("a runtime can be made on any machine that runs a benchmark");
    match runtime.block_on(run(&args)) {
        Ok(complete) if complete => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("failed to measure: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Measures and prints; `false` if a row failed or broke a promise that it checks.
async fn run(args: &Args) -> Outcome<bool> {
    let chosen = args.rows()?;
    let home = Home::start(chosen.iter().any(|row| row.database == Database::Postgres))?;
    let machine = machine::describe(&home).await?;
    let mut results = Vec::new();
    for (index, row) in chosen.iter().enumerate() {
        eprintln!("[{}/{}] {} on {}: {}", index + 1, chosen.len(), row.name, row.database, row.variant);
        let result = rows::measure(&home, args, row).await;
        if let Err(failure) = &result {
            eprintln!("  failed: {failure}");
        }
        results.push((*row, result.map_err(|failure| failure.to_string())));
    }
    if args.json {
        println!("{}", table::json(&machine, args, &results));
    } else {
        table::print(&machine, args, &results);
    }
    Ok(results.iter().all(|(_, result)| result.as_ref().is_ok_and(|row| row.faults.is_empty())))
}
