//! `turno backup`: copies an SQLite database while it is in use. The copy is consistent as of one instant.

use std::path::PathBuf;

use serde_json::json;
use turno::Error;
use turno::store::StoreError;

use super::global::{GlobalArgs, refused};
use super::output::{Format, say, talk};
use crate::config::Overrides;
use crate::database;
use crate::failure::Failure;
use crate::texts::message::Message;

const EXAMPLES: &str = "\
Examples:
  turno backup --database sqlite:turno.db /backups/turno-$(date +%F).db
  turno serve --database sqlite:/backups/turno-2026-01-15.db

Works beside a running server; a copy is a database like any other. PostgreSQL
has its own tools (pg_dump): Turno's tables are in the schema `turno`.";

/// Arguments of `turno backup`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BackupArgs {
    /// The new file; one that exists is not overwritten
    file: PathBuf,
    #[command(flatten)]
    format: Format,
}

pub(crate) async fn run(arguments: &BackupArgs, global: &GlobalArgs) -> Result<(), Failure> {
    let from = database::describe(&global.settings(Overrides::default())?.database)?;
    if from.kind == "PostgreSQL" {
        return Err(Failure::failed(Message::new("backup-postgres").text("place", from.name)));
    }
    let database = global.open_existing().await?;
    database.turno.backup(&arguments.file).await.map_err(|error| match error {
        Error::Store(StoreError::Rejected(cause)) => {
            Failure::failed(Message::new("backup-failed").text("cause", cause))
        }
        other => refused(other),
    })?;
    if arguments.format.json {
        let (from, file) = (&database.place.name, arguments.file.display().to_string());
        say(&[json!({ "database": from, "file": file }).to_string()]);
        return Ok(());
    }
    talk(&Message::new("backup-done").text("place", &database.place.name).text("file", arguments.file.display()));
    Ok(())
}
