//! The program `turno`: a command line and an HTTP server around the library `turno`.
//!
//! Data goes to stdout, messages go to stderr. Exit codes: 0 done, 1 refused or failed, 2 wrong usage. This crate
//! contains no SQL and no rules: the core decides every command.

mod cli;
mod client;
mod config;
mod console;
mod database;
mod deliver;
mod failure;
mod figures;
mod http;
mod logging;
mod oidc;
mod passwords;
mod stopwatch;
mod texts;
#[cfg(feature = "otlp")]
mod traces;

use std::process::ExitCode;

/// Runs the program `turno`. The binary only calls this, so that cargo compiles the program and the library `turno` side
/// by side (docs/decisions/0021-build.md).
pub fn main() -> ExitCode {
    match cli::run() {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
