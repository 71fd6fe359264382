//! Runs every conformance case on every database, each as its own test: `sqlite::NAME`, `postgres::NAME`.

use libtest_mimic::{Arguments, Trial};
use turno_testkit::conformance::{Backend, World, all};

fn main() {
    let mut trials = Vec::new();
    let backends = [
        ("sqlite", Backend::Sqlite, cfg!(feature = "sqlite")),
        ("postgres", Backend::Postgres, cfg!(feature = "postgres")),
    ];
    for (prefix, backend, _) in backends.into_iter().filter(|(.., enabled)| *enabled) {
        for case in all() {
            let name = format!("{prefix}::{}", case.name);
            trials.push(Trial::test(name, move || {
                let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
                runtime.block_on(async { (case.run)(World::on(backend).await).await });
                Ok(())
            }));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
