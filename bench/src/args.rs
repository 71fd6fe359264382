//! The arguments: which rows to measure, and for how long.

use crate::measure::Outcome;
use crate::site::Database;
use crate::spec::{ROWS, Row};
use clap::Parser;
use std::time::Duration;

/// Turno beside the raw limit of the same database, in one run.
#[derive(Debug, Parser)]
#[command(name = "turno-bench")]
pub(crate) struct Args {
    /// Only these rows, by name (see bench/README.md)
    #[arg(long, value_delimiter = ',', value_name = "ROW")]
    only: Vec<String>,
    /// On which databases
    #[arg(long, value_delimiter = ',', value_name = "DATABASE", default_values_t = [Database::Sqlite, Database::Postgres])]
    on: Vec<Database>,
    /// How long one measurement lasts; also sets how much is filled in for rows that empty a queue
    #[arg(long, default_value_t = 3.0)]
    pub(crate) seconds: f64,
    /// Rounds of raw and Turno, one after the other
    #[arg(long, default_value_t = 3)]
    pub(crate) runs: u32,
    /// A smaller backlog, history and transaction left open: to see that it works, not for figures
    #[arg(long)]
    pub(crate) quick: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

impl Args {
    /// Returns the requested rows, in the order of the list.
    pub(crate) fn rows(&self) -> Outcome<Vec<&'static Row>> {
        if self.runs == 0 || !(0.1..=600.0).contains(&self.seconds) {
            return Err("--runs must be at least 1 and --seconds between 0.1 and 600".into());
        }
        for name in &self.only {
            if !ROWS.iter().any(|row| row.name == name) {
                let mut names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
                names.sort_unstable();
                names.dedup();
                return Err(format!("there is no row {name}; there are {}", names.join(", ")).into());
            }
        }
        let wanted = |row: &&Row| {
            self.on.contains(&row.database) && (self.only.is_empty() || self.only.iter().any(|name| name == row.name))
        };
        Ok(ROWS.iter().filter(wanted).collect())
    }

    /// Returns the length of one measurement.
    pub(crate) fn span(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }

    /// Returns how many items keep workers of this speed busy for one measurement, in whole thousands.
    pub(crate) fn items(&self, per_second: f64) -> u64 {
        ((self.seconds * per_second / 1_000.0).ceil() as u64).max(10) * 1_000
    }

    /// Returns `full`, or `quick` with `--quick`.
    pub(crate) fn size(&self, full: u64, quick: u64) -> u64 {
        if self.quick { quick } else { full }
    }
}
