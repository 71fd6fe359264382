//! `turno config`: which settings are in force, and where each comes from.

use super::output::Format;
use super::place::PlaceArgs;
use crate::failure::Failure;

/// What showing settings takes.
#[derive(clap::Args, Debug)]
pub(crate) struct ConfigArgs {
    #[command(flatten)]
    format: Format,
}

pub(crate) fn run(arguments: &ConfigArgs, place: &PlaceArgs) -> Result<(), Failure> {
    let _ = (arguments.format.json, place.url()?);
    Ok(())
}
