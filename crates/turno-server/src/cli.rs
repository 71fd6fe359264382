//! The command line. One file per command under `cli/`; what several commands share is here.

mod demo;
mod serve;

use std::io::Write;
use std::net::SocketAddr;

use clap::parser::ValueSource;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::failure::Failure;
use crate::logging;

/// One at a time, in turn, nothing lost.
///
/// Turno coordinates work: who may work on something until when (leases), and in which order work is handed
/// out, once each (queues).
#[derive(Debug, Parser)]
#[command(name = "turno", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,

    /// Where to remember: sqlite:PATH, or postgres://USER@HOST/DATABASE [default: sqlite:turno.db]
    // Its value may hold a password, which `--help` must not show.
    #[arg(long, value_name = "URL", env = "TURNO_DATABASE", hide_env_values = true, global = true)]
    database: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Try Turno in a temporary place that disappears at the end
    Demo(Listen),
    /// Serve on a database that stays
    Serve(Serve),
}

/// How to serve.
#[derive(clap::Args, Debug)]
struct Serve {
    #[command(flatten)]
    listen: Listen,

    /// Serve metrics, without a token, on an address of their own
    #[arg(long, value_name = "ADDR", env = "TURNO_METRICS_LISTEN", value_parser = address)]
    metrics_listen: Option<String>,
}

/// Where to listen.
#[derive(clap::Args, Debug)]
struct Listen {
    /// Address and port; port 0 takes a free one
    #[arg(long, value_name = "ADDR", env = "TURNO_LISTEN", default_value = "127.0.0.1:7171", value_parser = address)]
    listen: String,
}

/// Reads the arguments and runs the command; wrong ones end the program here with exit code 2.
pub(crate) fn run() -> Result<(), Failure> {
    let matches = Cli::command().get_matches();
    let database_was_typed = matches.value_source("database") == Some(ValueSource::CommandLine)
        || matches
            .subcommand()
            .is_some_and(|(_, inner)| inner.value_source("database") == Some(ValueSource::CommandLine));
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    // The demo is looked at, not read: only what is wrong.
    let quiet = matches!(cli.command, Command::Demo(_));
    let _logging = logging::from_environment(if quiet { "warn" } else { "info" })?;
    let runtime = tokio::runtime::Runtime::new().map_err(|error| {
        Failure::failed(format!("failed to start threads: {error}"), "check the limit of processes (ulimit -u)")
    })?;
    runtime.block_on(async {
        match cli.command {
            Command::Demo(_) if database_was_typed => Err(Failure::usage(
                "the demo always uses a fresh temporary database",
                "leave out --database, or use `turno serve --database URL`",
            )),
            Command::Demo(listen) => demo::run(&listen.listen).await,
            Command::Serve(serve) => {
                let url = cli.database.as_deref().unwrap_or("sqlite:turno.db");
                serve::run(url, &serve.listen.listen, serve.metrics_listen.as_deref()).await
            }
        }
    })
}

/// `HOST:PORT`, where the host may be a name.
fn address(text: &str) -> Result<String, String> {
    let named = text
        .rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && !host.contains(':') && port.parse::<u16>().is_ok());
    if named || text.parse::<SocketAddr>().is_ok() {
        return Ok(text.to_string());
    }
    Err("expected HOST:PORT, for example 127.0.0.1:7171 or [::1]:0".into())
}

/// Writes lines to stdout. Whoever closed it does not want to hear; that is no reason to stop serving.
fn say(lines: &[String]) {
    let mut stdout = std::io::stdout().lock();
    for line in lines {
        if writeln!(stdout, "{line}").is_err() {
            return;
        }
    }
    let _ = stdout.flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for good in ["127.0.0.1:7171", "[::1]:0", "localhost:80", "0.0.0.0:65535"] {
            assert_eq!(address(good).as_deref(), Ok(good));
        }
        for bad in ["", "7171", ":7171", "localhost", "localhost:70000", "::1:x", "a:b:1"] {
            assert!(address(bad).is_err(), "{bad}");
        }
    }
}
