//! Measures Turno beside the raw limit of the same database, in one run.
//!
//! A row measures one kind of work in rounds: first the database alone under the same durability, then the library.
//! The figures of a row come from one run on one machine, so their ratio is meaningful even if the figures vary. This
//! process creates the load: it shares the machine's cores with the database, and the output says so.
//!
//! Peers are not run here. Their known figures are printed as marked notes.

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

/// The threads for the load, Turno's engine and the raw clients.
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

/// Measures and prints. Returns `false` if a row failed or violated an invariant that it checks.
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
