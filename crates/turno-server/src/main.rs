//! The program `turno`: command line and HTTP around the library.
//!
//! Data go to stdout, talk goes to stderr. Exit codes: 0 done, 1 refused or failed, 2 wrong usage. There is no
//! SQL here and no rule: what may be done is decided in the core.

mod cli;
mod client;
#[cfg_attr(not(test), expect(dead_code, reason = "the commands that use it are being written"))]
mod config;
mod console;
mod database;
mod failure;
mod figures;
mod http;
mod logging;
mod passwords;
mod texts;
#[cfg(feature = "otlp")]
mod traces;
mod uptime;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::run() {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
