//! Where Turno remembers, for the commands that work directly on the database.

use std::path::PathBuf;

use turno::core::access::ChangeRefused;
use turno::{Error, Options};

use super::output::talk;
use crate::config::{self, Overrides, Settings};
use crate::database::{self, Database};
use crate::failure::Failure;

/// The options of every command.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Global options")]
pub(crate) struct PlaceArgs {
    // The variable is read with the other settings, so that the file's value has its place between them.
    /// sqlite:PATH, or postgres://USER@HOST/DATABASE [default: sqlite:turno.db] [env: TURNO_DATABASE]
    #[arg(long, value_name = "URL", global = true)]
    database: Option<String>,

    /// The configuration file (TOML) [env: TURNO_CONFIG]
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

impl PlaceArgs {
    /// Whether somebody typed `--database` and expects that it matters.
    pub(crate) fn database_was_typed(&self) -> bool {
        self.database.is_some()
    }

    /// The database that somebody typed.
    pub(crate) fn typed_database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// The configuration file that somebody typed.
    #[cfg(test)]
    pub(crate) fn typed_config(&self) -> Option<&std::path::Path> {
        self.config.as_deref()
    }

    /// What is in force: flags, variables, the file, defaults.
    pub(crate) fn settings(&self, flags: Overrides) -> Result<Settings, Failure> {
        let flags = flags.with("database", self.database.clone());
        config::parse(flags, self.config.as_deref(), |name| std::env::var(name).ok())
    }

    /// Opens the database for one command, also beside a server. Nothing runs in the background: a command that looks at
    /// something should not be the one that moves it.
    pub(crate) async fn open(&self) -> Result<Database, Failure> {
        let settings = self.settings(Overrides::default())?;
        database::open_with(&settings.database, Options { sweep: false, ..options(&settings) }).await
    }

    /// The same for a command that has nothing to do on a new database. One that nobody named, and that is not there, is
    /// not made: whoever only looks, in the wrong folder, should neither leave a file behind nor be told that all is well.
    pub(crate) async fn open_existing(&self) -> Result<Database, Failure> {
        let settings = self.settings(Overrides::default())?;
        let file = settings.database.strip_prefix("sqlite:").map(std::path::Path::new);
        let file = file.filter(|file| !file.as_os_str().is_empty());
        if let Some(file) = file.filter(|file| settings.is_default("database") && !file.exists()) {
            let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf());
            return Err(Failure::failed(
                format!("no database here: there is no {}", whole.display()),
                "go to its folder, or name it with --database or TURNO_DATABASE; `turno migrate` makes a new one",
            ));
        }
        let is_new = file.is_some_and(|file| !file.exists());
        let database = self.open().await?;
        if is_new {
            // It may be a slip in the name, and all that is looked for is somewhere else.
            talk(&format!("a new, empty database was made: {}", database.place.name));
        }
        Ok(database)
    }
}

/// How the engine is opened under these settings.
pub(crate) fn options(settings: &Settings) -> Options {
    Options { leases: settings.leases.clone(), keep: settings.keep_history, ..Options::default() }
}

/// What a refusal of the library is to whoever typed a command.
pub(crate) fn refused(error: Error) -> Failure {
    if let Error::Source(refused) = &error {
        return Failure::failed(refused.to_string(), refused.next());
    }
    let next = match &error {
        Error::Refused(ChangeRefused::Unknown(_)) | Error::Unknown(_) => {
            "check the id; `turno user list` and `turno token list` show what there is"
        }
        Error::Refused(ChangeRefused::Exists(_)) => "use `turno user change`, or another id",
        Error::Refused(ChangeRefused::LastAdmin(_)) => "add another one first: `turno user add ID --role admin`",
        Error::Refused(_) | Error::Invalid(_) | Error::Policy(_) | Error::TooDeep { .. } => "correct it and try again",
        Error::Overloaded => "try again in a moment",
        _ => "check that the database runs and can be written, and try again",
    };
    let cause = error.to_string();
    match &error {
        // Whoever asks for what can never be has typed something wrong; so it is at a server.
        Error::Invalid(_) | Error::Policy(_) | Error::TooDeep { .. } | Error::Refused(ChangeRefused::Invalid(_)) => {
            Failure::usage(cause, next)
        }
        _ => Failure::failed(cause, next),
    }
}
