//! One server for all the test processes of a run.
//!
//! nextest starts a process per test, and a server per test would cost a second each. The run has an id
//! (`NEXTEST_RUN_ID`), so the processes share a directory named after it. The process that first locks the file
//! in it starts the server and writes its port; the others wait for the lock and read the port. The server then
//! belongs to the run: the watchdog ends it when the runner, the parent of all test processes, has ended.
//!
//! Plain `cargo test` runs the tests of a binary as threads of one process and sets no run id. There the server
//! is kept in a static, and the watchdog ends it when the process exits.

use std::env;
use std::fs::{self, File};
use std::os::unix::process::parent_id;
use std::path::Path;

use super::{Cluster, Error, Settings};

pub(super) fn join() -> Result<Cluster, Error> {
    match env::var("NEXTEST_RUN_ID") {
        Ok(run) => join_run(&env::temp_dir().join(format!("turno-pg-run-{run}")), parent_id()),
        Err(_) => Cluster::start(),
    }
}

/// Joins the run of `runner`, the process whose end is the end of the run.
pub(super) fn join_run(directory: &Path, runner: u32) -> Result<Cluster, Error> {
    let meeting = |error| Error::new(format!("failed to meet the other tests in {}: {error}", directory.display()));
    fs::create_dir_all(directory).map_err(meeting)?;
    let lock = File::create(directory.join("lock")).map_err(meeting)?;
    // The kernel releases the lock when `lock` is closed, also if this process dies. The next process then takes over.
    lock.lock().map_err(meeting)?;
    let port_file = directory.join("port");
    if let Ok(port) = fs::read_to_string(&port_file) {
        let port = port.parse().map_err(|_| Error::new(format!("{} is not a port", port_file.display())))?;
        return Ok(Cluster { port, directory: directory.into(), owned: None });
    }
    // Each attempt gets its own directory, because a runner's timeout may have cut off an earlier one.
    let attempt = directory.join(super::unique());
    let mut cluster = Cluster::start_in(attempt, Settings::tests())?;
    cluster.owned().watchdog.outlive(runner, directory)?;
    fs::write(&port_file, cluster.port.to_string()).map_err(meeting)?;
    Ok(cluster)
}
