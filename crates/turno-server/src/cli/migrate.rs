//! `turno migrate`: creates or upgrades the schema of the database.

use turno::SchemaState;

use super::global::GlobalArgs;
use super::output::talk;
use crate::config::Overrides;
use crate::database::{self, Location};
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  turno migrate --database postgres://turno@db/turno
  turno migrate --check || echo \"the schema is not current\"

`turno serve` does it too, unless it is started with --no-migrate.";

/// Arguments of `turno migrate`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MigrateArgs {
    /// Change nothing and create nothing; exit code 1 if the schema is not current
    #[arg(long)]
    check: bool,
}

pub(crate) async fn run(arguments: &MigrateArgs, global: &GlobalArgs) -> Result<(), Failure> {
    let url = global.settings(Overrides::default())?.database;
    let at = database::describe(&url)?;
    let before = turno::schema(&url).await.map_err(|error| database::cannot_open(&at, &error))?;
    if before.compatible {
        talk(&current(&at, before));
        return Ok(());
    }
    if arguments.check {
        return Err(outdated(&at, before));
    }
    // Opening migrates. It refuses a schema that is too new, with the reason.
    global.open().await?;
    let SchemaState { found, wanted, .. } = before;
    talk(&match found {
        0 => format!("{}: created with schema {wanted}", at.name),
        _ => format!("{}: upgraded from schema {found} to {wanted}", at.name),
    });
    Ok(())
}

fn current(at: &Location, schema: SchemaState) -> String {
    let SchemaState { found, wanted, .. } = schema;
    if found == wanted {
        return format!("{} has schema {found}, which is current", at.name);
    }
    format!("{} has schema {found}; this program knows {wanted} and can work with it", at.name)
}

fn outdated(at: &Location, schema: SchemaState) -> Failure {
    let SchemaState { found, wanted, .. } = schema;
    let next = if found > wanted { "use a newer program" } else { "run `turno migrate`" };
    let has = if found == 0 { "no schema yet".to_owned() } else { format!("schema {found}") };
    Failure::failed(format!("{} has {has}; this program needs {wanted}", at.name), next)
}
