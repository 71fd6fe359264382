//! `turno migrate`: creates or upgrades the schema of the database.

use turno::SchemaState;

use super::global::GlobalArgs;
use super::output::talk;
use crate::config::Overrides;
use crate::database::{self, Location};
use crate::failure::Failure;
use crate::texts::message::Message;

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
        let id = if before.found == before.wanted { "schema-current" } else { "schema-compatible" };
        talk(&schema_message(id, &at, before));
        return Ok(());
    }
    if arguments.check {
        return Err(outdated(&at, before));
    }
    // Opening migrates. It refuses a schema that is too new, with the reason.
    global.open().await?;
    let id = if before.found == 0 { "schema-created" } else { "schema-upgraded" };
    talk(&schema_message(id, &at, before));
    Ok(())
}

fn outdated(at: &Location, schema: SchemaState) -> Failure {
    let id = match schema.found {
        0 => "schema-missing",
        found if found > schema.wanted => "schema-new",
        _ => "schema-old",
    };
    Failure::failed(schema_message(id, at, schema))
}

fn schema_message(id: &'static str, at: &Location, schema: SchemaState) -> Message {
    Message::new(id).text("place", &at.name).number("found", schema.found).number("wanted", schema.wanted)
}
