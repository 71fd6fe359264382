//! The command line. Each command has a file under `cli/`.
//!
//! Some commands work directly on the database (`user`, `token`, `migrate`, `check`, `audit verify`, `backup`, `sync`).
//! Others call a server (`login`, `lease`, `queue`, `task`, `audit list`, `why`, `events`). `run` does either.

mod audit;
mod backup;
mod check;
mod config;
mod demo;
pub(crate) mod duration;
mod events;
mod generate;
mod global;
mod healthcheck;
mod help;
mod lease;
mod login;
mod migrate;
pub(crate) mod output;
mod queue;
#[cfg(test)]
mod reference;
mod run;
mod serve;
mod sync;
mod task;
mod token;
mod user;
mod why;

use std::cell::OnceCell;
use std::process::ExitCode;

use clap::{FromArgMatches, Parser, Subcommand};

use crate::database::TemporaryFolder;
use crate::failure::{Failure, io_cause};
use crate::texts::message::Message;
use crate::texts::{Language, terminal};
use global::GlobalArgs;

const EXAMPLES: &str = "\
Examples:
  turno demo                              see it work, in a temporary place
  turno serve --database sqlite:turno.db  serve on a file
  turno user add ana --role admin --name \"Ana Pérez\"
  export TURNO_TOKEN=$(turno token create --user ana)
  turno lease claim caja:3 --ttl 30s      take it, for 30 seconds at a time
  turno why caja:3                        who has it, and until when
  turno run --resource report -- ./report never twice at once

Exit codes: 0 done, 1 refused or failed, 2 wrong usage (`turno run` has more).
Data go to stdout, everything else to stderr. Lengths of time: 500ms, 30s, 5m,
1h30m, 7d. Colours only on a terminal, and not if NO_COLOR is set. Spanish if
TURNO_LANG, LC_ALL, LC_MESSAGES or LANG says so, except with --json.";

/// One at a time, in turn, nothing lost.
///
/// Turno coordinates work: who may work on something until when (leases), and in which order work is handed
/// out, once each (queues).
#[derive(Debug, Parser)]
#[command(name = "turno", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    global: GlobalArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Try Turno with sample data in a temporary database
    Demo(demo::DemoArgs),
    /// Run the server
    Serve(serve::ServeArgs),
    /// Create or upgrade the schema of the database
    Migrate(migrate::MigrateArgs),
    /// Show the settings and the origin of each
    Config(config::ConfigArgs),
    /// Check whether a server is ready
    Healthcheck(healthcheck::HealthcheckArgs),
    /// Sign in to a server through a browser, and keep the token
    Login(login::LoginArgs),
    /// Revoke and remove the token that `login` kept
    Logout(login::LogoutArgs),
    /// Users: add, list, change, disable, link (on the database)
    User(user::UserArgs),
    /// Tokens for the API: create, list, rotate, revoke (on the database)
    Token(token::TokenArgs),
    /// Leases: who may work on a resource, and until when
    Lease(lease::LeaseArgs),
    /// Queues: enqueue, claim, settle, list, repair
    Queue(queue::QueueArgs),
    /// Tasks with lines that are applied once
    Task(task::TaskArgs),
    /// Explain who holds a resource, or why an item is not processed
    Why(why::WhyArgs),
    /// Run a command while holding a lease, and stop it if the lease is lost
    Run(run::RunArgs),
    /// Print live events
    Events(events::EventsArgs),
    /// The audit log: actions that need special permissions
    Audit(audit::AuditArgs),
    /// Check the stored data against the invariants (on the database)
    Check(check::CheckArgs),
    /// Copy an SQLite database to a new file while it is in use
    Backup(backup::BackupArgs),
    /// Sync sources: triggers that queue the changes of your tables (on the database)
    Sync(sync::SyncArgs),
    /// Print a script that completes commands in your shell
    Completions(generate::CompletionsArgs),
    /// Print the manual, or write its pages into a folder
    Man(generate::ManArgs),
}

/// Parses the arguments and runs the command. Wrong arguments end the program with exit code 2.
pub(crate) fn run() -> Result<ExitCode, Failure> {
    terminal::choose(language());
    let cli = match help::command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return help::end(&error),
    };
    // Declared before the runtime, so dropped after it: background tasks write to the demo's folder until the runtime ends.
    let demo_folder = OnceCell::new();
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|error| Failure::failed(Message::new("threads-failed").message("cause", io_cause(&error))))?;
    runtime.block_on(cli.command.run(&cli.global, &demo_folder))
}

/// Returns the language of the messages: English with `--json`, because programs match on the text.
fn language() -> Language {
    let is_program = std::env::args().skip(1).take_while(|word| word != "--").any(|word| word == "--json");
    match is_program {
        true => Language::English,
        false => terminal::from_environment(|name| std::env::var(name).ok()),
    }
}

impl Command {
    async fn run(self, global: &GlobalArgs, demo_folder: &OnceCell<TemporaryFolder>) -> Result<ExitCode, Failure> {
        match self {
            Command::Demo(arguments) => demo::run(&arguments, global, demo_folder).await,
            Command::Serve(arguments) => serve::run(arguments, global).await,
            Command::Migrate(arguments) => migrate::run(&arguments, global).await,
            Command::Config(arguments) => config::run(arguments, global),
            Command::Healthcheck(arguments) => healthcheck::run(&arguments, global).await,
            Command::Login(arguments) => login::login(&arguments).await,
            Command::Logout(arguments) => login::logout(&arguments).await,
            Command::User(arguments) => user::run(arguments, global).await,
            Command::Token(arguments) => token::run(arguments, global).await,
            Command::Lease(arguments) => lease::run(&arguments).await,
            Command::Queue(arguments) => queue::run(&arguments, global).await,
            Command::Task(arguments) => task::run(&arguments).await,
            Command::Why(arguments) => why::run(&arguments).await,
            Command::Run(arguments) => return run::run(&arguments, global).await,
            Command::Events(arguments) => events::run(&arguments).await,
            Command::Audit(arguments) => audit::run(&arguments, global).await,
            Command::Check(arguments) => check::run(&arguments, global).await,
            Command::Backup(arguments) => backup::run(&arguments, global).await,
            Command::Sync(arguments) => sync::run(&arguments, global).await,
            Command::Completions(arguments) => generate::completions(&arguments),
            Command::Man(arguments) => generate::man(&arguments),
        }
        .map(|()| ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_of_the_command_line_is_valid() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_that_prints_data_has_json() {
        // These print no data: they serve, run other commands, or write files for a shell or a reader.
        const WITHOUT: [&str; 5] = ["turno demo", "turno serve", "turno run", "turno completions", "turno man"];
        fn look(command: &clap::Command, path: &str, missing: &mut Vec<String>) {
            let has = command.get_arguments().any(|argument| argument.get_id() == "json");
            let inner: Vec<&clap::Command> = command.get_subcommands().filter(|one| one.get_name() != "help").collect();
            if inner.is_empty() && !has && !WITHOUT.contains(&path) {
                missing.push(path.to_owned());
            }
            inner.into_iter().for_each(|one| look(one, &format!("{path} {}", one.get_name()), missing));
        }
        let mut command = Cli::command();
        command.build();
        let mut missing = Vec::new();
        look(&command, "turno", &mut missing);
        assert_eq!(missing, [""; 0]);
    }

    #[test]
    fn every_command_and_option_has_help() {
        fn look(command: &clap::Command, path: &str) {
            assert!(command.get_about().is_some(), "{path}");
            for argument in command.get_arguments() {
                assert!(argument.get_help().is_some(), "{path} {}", argument.get_id());
            }
            let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in examples.lines() {
                assert!(line.chars().count() <= 80, "it is wrapped on a usual terminal: {path}: {line}");
            }
            command.get_subcommands().for_each(|inner| look(inner, &format!("{path} {}", inner.get_name())));
        }
        look(&Cli::command(), "turno");
    }
}
