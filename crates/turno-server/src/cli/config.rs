//! `turno config`: shows the settings in force and the origin of each.

use super::global::GlobalArgs;
use super::output::{Format, say};
use crate::config::{Overrides, origin};
use crate::database;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  turno config --config /etc/turno.toml    what `serve` would use, and why
  turno config --env production            … and whether it would start so
  turno config --json | jq '.[] | select(.origin != \"default\")'

Passwords are masked. Exit code 2 if `serve` would refuse to start with it: in
production for what is unsafe, everywhere for a missing `secret_env`.
docs/reference/configuration.md explains every key.";

/// Arguments of `turno config`: the same flags as `turno serve`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ConfigArgs {
    #[command(flatten)]
    flags: Overrides,
    #[command(flatten)]
    format: Format,
}

pub(crate) fn run(arguments: ConfigArgs, global: &GlobalArgs) -> Result<(), Failure> {
    let settings = global.settings(arguments.flags)?;
    let rows = settings.explain();
    if arguments.format.json {
        let text = serde_json::to_string(rows).expect("strings always serialize to JSON");
        say(&[text]);
    } else {
        say(&[origin::columns(rows).trim_end()]);
    }
    database::describe(&settings.database)?;
    settings.check(|name| std::env::var(name).ok())
}
