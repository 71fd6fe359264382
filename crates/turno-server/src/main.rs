//! The program `turno`: command line and HTTP around the library.
//!
//! Data go to stdout, talk goes to stderr. Exit codes: 0 done, 1 refused or failed, 2 wrong usage. There is no
//! SQL here and no rule: what may be done is decided in the core.

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
mod passwords;
mod texts;
#[cfg(feature = "otlp")]
mod traces;
mod uptime;

use std::process::ExitCode;

/// The C library's allocator made the threads of a busy server wait for each other.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match cli::run() {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}
