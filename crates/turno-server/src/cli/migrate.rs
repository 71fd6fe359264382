//! `turno migrate`: creates or upgrades the schema of the database.

use serde_json::{Value, json};
use turno::SchemaState;

use super::global::GlobalArgs;
use super::output::{Format, say, talk};
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
    #[command(flatten)]
    format: Format,
}

pub(crate) async fn run(arguments: &MigrateArgs, global: &GlobalArgs) -> Result<(), Failure> {
    let url = global.settings(Overrides::default())?.database;
    let at = database::describe(&url)?;
    let before = turno::schema(&url).await.map_err(|error| database::cannot_open(&at, &error))?;
    if before.compatible {
        let id = if before.found == before.wanted { "schema-current" } else { "schema-compatible" };
        report(arguments, &at, id, before, false);
        return Ok(());
    }
    if arguments.check {
        if arguments.format.json {
            say(&[view(&at, before, false).to_string()]);
        }
        return Err(outdated(&at, before));
    }
    // Opening migrates. It refuses a schema that is too new, with the reason.
    global.open().await?;
    let id = if before.found == 0 { "schema-created" } else { "schema-upgraded" };
    report(arguments, &at, id, before, true);
    Ok(())
}

fn report(arguments: &MigrateArgs, at: &Location, id: &'static str, before: SchemaState, migrated: bool) {
    if arguments.format.json {
        say(&[view(at, before, migrated).to_string()]);
    } else {
        talk(&schema_message(id, at, before));
    }
}

/// Returns the result for programs: the version before, the version of this program, and whether the schema fits now.
fn view(at: &Location, before: SchemaState, migrated: bool) -> Value {
    json!({
        "database": at.name,
        "found": before.found,
        "wanted": before.wanted,
        "compatible": before.compatible || migrated,
        "migrated": migrated,
    })
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
