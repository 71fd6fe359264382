//! The options of every command, and access to the database for commands that work on it directly.

use std::path::PathBuf;

use turno::core::access::ChangeRefused;
use turno::{Error, Options};

use super::output::talk;
use crate::config::{self, Overrides, Settings};
use crate::database::{self, Database};
use crate::failure::Failure;
use crate::texts::causes;
use crate::texts::message::Message;

/// The options of every command.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    // clap does not read the variable. The configuration does, because the file comes between flags and variables.
    /// sqlite:PATH, or postgres://USER@HOST/DATABASE [default: sqlite:turno.db] [env: TURNO_DATABASE, or DATABASE_URL]
    #[arg(long, value_name = "URL", global = true)]
    database: Option<String>,

    /// The configuration file (TOML) [env: TURNO_CONFIG]
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

impl GlobalArgs {
    /// Returns whether `--database` was given.
    pub(crate) fn database_was_typed(&self) -> bool {
        self.database.is_some()
    }

    /// Returns the value of `--database`.
    pub(crate) fn typed_database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// Returns the value of `--config`.
    #[cfg(test)]
    pub(crate) fn typed_config(&self) -> Option<&std::path::Path> {
        self.config.as_deref()
    }

    /// Resolves the settings from flags, variables, the file and defaults.
    pub(crate) fn settings(&self, flags: Overrides) -> Result<Settings, Failure> {
        let flags = flags.with("database", self.database.clone());
        config::parse(flags, self.config.as_deref(), |name| std::env::var(name).ok())
    }

    /// Opens the database for one command, even while a server uses it. No background work runs, so that a command that
    /// only looks changes nothing.
    pub(crate) async fn open(&self) -> Result<Database, Failure> {
        let settings = self.settings(Overrides::default())?;
        database::open_with(&settings.database, Options { sweep: false, ..options(&settings) }).await
    }

    /// Opens the database for a command that makes no sense on a new one.
    ///
    /// If the default database file does not exist, fails and creates nothing. Otherwise a command in the wrong folder
    /// would leave a file behind and report that all is well.
    pub(crate) async fn open_existing(&self) -> Result<Database, Failure> {
        let settings = self.settings(Overrides::default())?;
        let file = settings.database.strip_prefix("sqlite:").map(std::path::Path::new);
        let file = file.filter(|file| !file.as_os_str().is_empty());
        if let Some(file) = file.filter(|file| settings.is_default("database") && !file.exists()) {
            let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
            return Err(Failure::failed(Message::new("database-missing").text("path", whole.display())));
        }
        let is_new = file.is_some_and(|file| !file.exists());
        let database = self.open().await?;
        if is_new {
            // Warns, because the name may be misspelt and the wanted database somewhere else.
            talk(&Message::new("database-created").text("place", &database.place.name));
        }
        Ok(database)
    }
}

/// Returns the engine's options for these settings.
pub(crate) fn options(settings: &Settings) -> Options {
    Options {
        leases: settings.leases.clone(),
        keep: settings.keep_history.into(),
        direct: settings.database_direct.clone(),
        answer_bytes: settings.limits.answer_bytes,
        payload_bytes: settings.limits.payload_bytes,
        ..Options::default()
    }
}

/// Turns an error of the library into a failure, with advice for the command line.
pub(crate) fn refused(error: Error) -> Failure {
    let cause = causes::message(&error);
    let id = match &error {
        // The messages of sources have a next step of their own.
        Error::Source(_) => return Failure::failed(cause),
        Error::Refused(ChangeRefused::Unknown(_)) | Error::Unknown(_) => "refused-unknown",
        Error::Refused(ChangeRefused::Exists(_)) => "refused-exists",
        Error::Refused(ChangeRefused::LastAdmin(_)) => "refused-last-admin",
        Error::Refused(_)
        | Error::Invalid(_)
        | Error::Name(_)
        | Error::Misuse(_)
        | Error::Lease(_)
        | Error::Policy(_) => "refused-invalid",
        Error::Overloaded => "refused-overloaded",
        _ => "refused-database",
    };
    let message = Message::new(id).message("cause", cause);
    match &error {
        // A value that can never be valid is wrong usage, as it is for a server.
        Error::Invalid(_)
        | Error::Name(_)
        | Error::Misuse(_)
        | Error::Lease(_)
        | Error::Policy(_)
        | Error::Refused(ChangeRefused::Invalid(_)) => Failure::usage(message),
        _ => Failure::failed(message),
    }
}
