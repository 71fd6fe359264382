//! `turno run`: runs a command while it holds a lease.
//!
//! The lease is renewed as long as the command runs. If the lease is lost, another process may already do the same
//! work, so the command is stopped: first with SIGTERM, later with SIGKILL.

mod child;
mod held;
mod remote;

use std::process::ExitCode;
use std::time::Duration;

use super::duration;
use super::global::GlobalArgs;
use super::lease::resource;
use super::output::talk;
use crate::client::TokenArgs;
use crate::failure::Failure;
use crate::texts::message::Message;
use child::Child;
pub(super) use held::instance;
use held::{Held, LeaseRequest};

const EXAMPLES: &str = "\
Examples:
  turno run --resource nightly-report -- ./report.sh
  turno run --server http://turno:7171 --resource deploy --wait 10m -- make
  turno run --resource import --ttl 1m -- sh -c 'import $TURNO_FENCE'
  turno run --resource nightly-report --at-least-for 30m -- ./report.sh

The lease is taken on --database, or at a server if --server or TURNO_URL
names one. CMD finds TURNO_RESOURCE and TURNO_FENCE in its environment, and
TURNO_TOKEN only with --pass-token;
a system that stores its output should refuse a fence smaller than one it
has seen. SIGINT and SIGTERM are passed on to CMD. If the lease is lost, CMD is
stopped: with SIGTERM, and with SIGKILL 10 s later. With --at-least-for, CMD
runs once per period: after CMD the lease stays held for the rest of that time,
for every process and whatever CMD's exit code is.

Exit codes: those of CMD (128 + N if signal N ended it), 75 if the lease was
not granted, 1 if it was lost, 2 if --at-least-for is above the policy's
max_ttl_ms, 126 or 127 if CMD cannot be run.";

/// Arguments of `turno run`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunArgs {
    /// The command and its arguments
    #[arg(last = true, required = true, num_args = 1.., value_name = "CMD")]
    command: Vec<String>,
    /// The resource to hold
    #[arg(long, value_parser = resource)]
    resource: String,
    /// When the lease expires if this machine fails [default: the policy's]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    ttl: Option<Duration>,
    /// Wait in line for at most this long; without it, do not wait
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    wait: Option<Duration>,
    /// Keep the lease held for at least this long after the claim, also if CMD ends earlier
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    at_least_for: Option<Duration>,
    /// The name of this instance [default: the machine, the process and a random word]
    #[arg(long, value_name = "NAME")]
    instance: Option<String>,
    /// Claim at this server; without it, on --database
    #[arg(long, value_name = "URL", env = "TURNO_URL", hide_env_values = true, help_heading = "Server")]
    server: Option<String>,
    #[command(flatten)]
    token: TokenArgs,
    /// Leave TURNO_TOKEN and TURNO_TOKEN_FILE in CMD's environment
    #[arg(long)]
    pass_token: bool,
}

/// The time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(10);
/// How often a running command counts as work, because a policy may have a rolling timeout.
const WORKING: Duration = Duration::from_secs(1);
/// The exit code if the lease was not granted: "try again later" (EX_TEMPFAIL).
pub(in crate::cli) const NOT_GRANTED: u8 = 75;

pub(crate) async fn run(arguments: &RunArgs, global: &GlobalArgs) -> Result<ExitCode, Failure> {
    let request = LeaseRequest {
        resource: arguments.resource.clone(),
        instance: arguments.instance.clone().map_or_else(held::instance, Ok)?,
        ttl: arguments.ttl,
        wait: arguments.wait.unwrap_or_default(),
        at_least: arguments.at_least_for.unwrap_or_default(),
    };
    let held = match &arguments.server {
        // `--database` has precedence over the variable `TURNO_URL`.
        Some(server) if !global.database_was_typed() => {
            Held::claim_at_server(server, &arguments.token, request).await?
        }
        _ => Held::claim_on_database(global, request).await?,
    };
    let child = Child::start(&arguments.command, &held, arguments.pass_token);
    let ended = match child {
        Ok(child) => supervise(child, &held).await,
        Err(failure) => {
            held.release().await;
            return Err(failure);
        }
    };
    let name = arguments.command.first().map_or("", String::as_str);
    match ended {
        Ok(code) => match held.release().await {
            // The command ran for a moment without its lease, so its success does not count.
            Some(loss) => Err(lost("run-outlived", name, loss)),
            None => Ok(ExitCode::from(code)),
        },
        Err(loss) => Err(lost("run-stopped", name, loss)),
    }
}

/// Waits for the command to end. Returns its exit code, or why the lease was lost.
async fn supervise(mut child: Child, held: &Held) -> Result<u8, Message> {
    let mut loss = None;
    // Restarted when the command is asked to stop; not polled before.
    let mut grace = Box::pin(tokio::time::sleep(GRACE));
    let mut work_tick = tokio::time::interval(WORKING);
    loop {
        tokio::select! {
            ended = child.ended() => if let Some(code) = ended {
                return loss.map_or(Ok(code), Err);
            },
            reason = held.lost(), if loss.is_none() => {
                talk(&Message::new("run-stopping").message("cause", reason.clone()));
                loss = Some(reason);
                child.terminate();
                grace = Box::pin(tokio::time::sleep(GRACE));
            }
            () = &mut grace, if loss.is_some() => child.kill(),
            _ = work_tick.tick() => held.worked(),
        }
    }
}

fn lost(id: &'static str, command: &str, cause: Message) -> Failure {
    Failure::failed(Message::new(id).text("command", command).message("cause", cause))
}
