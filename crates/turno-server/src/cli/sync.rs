//! `turno sync`: triggers that put changes of an application's tables into queues.
//!
//! Nothing of it exists in this version but the words, so that scripts written for the next one fail with a reason.

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// What there is to do with synchronisation.
#[derive(Args, Debug)]
pub(crate) struct SyncArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Clone, Copy, Debug, Subcommand)]
enum What {
    /// Show the SQL that `install` would run
    Plan,
    /// Install the triggers of the configured sources
    Install,
    /// Show the sources, their triggers and what is on its way
    Status,
    /// Put every row of a source into its queue again
    Resync,
    /// Compare the sources with what was delivered
    Check,
    /// Remove the triggers
    Remove,
}

pub(crate) fn run(arguments: &SyncArgs) -> Result<(), Failure> {
    let what = format!("{:?}", arguments.what).to_lowercase();
    Err(Failure::failed(
        format!("`turno sync {what}` is not available in this version"),
        "put changes into a queue of kind sync yourself: `turno queue enqueue`, or turno.enqueue() in your trigger",
    ))
}
