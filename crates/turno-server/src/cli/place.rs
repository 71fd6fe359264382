//! Where Turno remembers, for the commands that work directly on the database.

use std::path::PathBuf;

use clap::ArgMatches;
use clap::parser::ValueSource;
use turno::core::access::ChangeRefused;
use turno::{Error, Options};

use crate::database::{self, Database};
use crate::failure::Failure;

/// The options of every command.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Global options")]
pub(crate) struct PlaceArgs {
    /// Where to remember: sqlite:PATH, or postgres://USER@HOST/DATABASE [default: sqlite:turno.db]
    // Its value may hold a password, which `--help` must not show.
    #[arg(long, value_name = "URL", env = "TURNO_DATABASE", hide_env_values = true, global = true)]
    database: Option<String>,

    /// The configuration file (TOML)
    #[arg(long, value_name = "FILE", env = "TURNO_CONFIG", global = true)]
    config: Option<PathBuf>,

    /// Whether somebody typed `--database`, and did not just have the variable set.
    #[arg(skip)]
    typed: bool,
}

impl PlaceArgs {
    /// Looks where the database's URL comes from.
    pub(crate) fn note_what_was_typed(&mut self, matches: &ArgMatches) {
        let mut level = Some(matches);
        while let Some(matches) = level {
            self.typed |= matches.value_source("database") == Some(ValueSource::CommandLine);
            level = matches.subcommand().map(|(_, inner)| inner);
        }
    }

    /// Whether somebody typed `--database` and expects that it matters.
    pub(crate) fn database_was_typed(&self) -> bool {
        self.typed
    }

    /// The database that was asked for, in any way.
    pub(crate) fn url(&self) -> Result<String, Failure> {
        Ok(self.database.clone().unwrap_or_else(|| "sqlite:turno.db".to_owned()))
    }

    /// Opens the database for one command, also beside a server. Nothing runs in the background: a command that looks at
    /// something should not be the one that moves it.
    pub(crate) async fn open(&self) -> Result<Database, Failure> {
        database::open_with(&self.url()?, Options { sweep: false, ..Options::default() }).await
    }
}

/// What a refusal of the library is to whoever typed a command.
pub(crate) fn refused(error: Error) -> Failure {
    let next = match &error {
        Error::Refused(ChangeRefused::Unknown(_)) | Error::Unknown(_) => {
            "check the id; `turno user list` and `turno token list` show what there is"
        }
        Error::Refused(ChangeRefused::Exists(_)) => "use `turno user change`, or another id",
        Error::Refused(ChangeRefused::LastAdmin(_)) => "add another one first: `turno user add ID --role admin`",
        Error::Refused(_) | Error::Invalid(_) => "correct it and try again",
        Error::Overloaded => "try again in a moment",
        _ => "check that the database runs and can be written, and try again",
    };
    Failure::failed(error.to_string(), next)
}
