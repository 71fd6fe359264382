//! The command line beside a real server, on each database: `sqlite::NAME`, `postgres::NAME`.
//!
//! Commands without a server are tested in `program.rs`.
#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps")]

#[path = "cli/ask.rs"]
mod ask;
#[path = "cli/direct.rs"]
mod direct;
#[path = "cli/queue_put.rs"]
mod queue_put;
#[path = "cli/queue_work.rs"]
mod queue_work;
#[path = "cli/repair.rs"]
mod repair;
#[path = "cli/run.rs"]
mod run;
#[path = "cli/shell.rs"]
mod shell;
#[path = "cli/sync.rs"]
mod sync;
#[path = "cli/work.rs"]
mod work;
#[expect(dead_code, reason = "shared with the tests of the API, which use more of it")]
#[path = "http/world.rs"]
mod world;

use libtest_mimic::{Arguments, Trial};
use std::pin::Pin;
use world::{Backend, World};

/// A named claim about the command line.
pub(crate) struct Case {
    name: &'static str,
    on: &'static [Backend],
    run: fn(World) -> Pin<Box<dyn Future<Output = ()>>>,
}

const BOTH: &[Backend] = &[Backend::Sqlite, Backend::Postgres];
const SQLITE: &[Backend] = &[Backend::Sqlite];
const POSTGRES: &[Backend] = &[Backend::Postgres];

/// Lists functions as cases, under their own names, for some databases.
#[macro_export]
macro_rules! cases {
    ($($on:ident: [$($name:ident),* $(,)?]),* $(,)?) => {
        pub(crate) fn all() -> Vec<$crate::Case> {
            vec![$($($crate::Case {
                name: stringify!($name), on: $crate::$on, run: |world| Box::pin($name(world))
            }),*),*]
        }
    };
}

fn main() {
    // reqwest is built with TLS and needs a default provider, even for plain HTTP.
    rustls::crypto::ring::default_provider().install_default().unwrap();
    let mut trials = Vec::new();
    for (prefix, backend) in [("sqlite", Backend::Sqlite), ("postgres", Backend::Postgres)] {
        let cases = [
            ask::all(),
            direct::all(),
            queue_put::all(),
            queue_work::all(),
            repair::all(),
            run::all(),
            sync::all(),
            work::all(),
        ]
        .into_iter()
        .flatten();
        for case in cases.filter(|case| case.on.contains(&backend)) {
            trials.push(Trial::test(format!("{prefix}::{}", case.name), move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                runtime.block_on(async { (case.run)(World::on(backend).await).await });
                Ok(())
            }));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
