//! One server for all the test processes of a run.
//!
//! nextest gives every test a process of its own; a server each would cost a second per test. The run has an
//! id (`NEXTEST_RUN_ID`), so the processes meet in a directory named after it: whoever locks the file in it
//! first starts the server and writes down its port, the others wait for the lock and read the port. The
//! server then belongs to the run: the watchdog ends it when the runner, the parent of all test processes,
//! is gone.
//!
//! Plain `cargo test` runs the tests of a binary as threads of one process and has no run id. There the
//! process is the run: its server is kept in a static and ended by the watchdog when the process exits.

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

/// `runner` is the process whose end is the end of the run.
pub(super) fn join_run(directory: &Path, runner: u32) -> Result<Cluster, Error> {
    let meeting = |error| Error::new(format!("failed to meet the other tests in {}: {error}", directory.display()));
    fs::create_dir_all(directory).map_err(meeting)?;
    let lock = File::create(directory.join("lock")).map_err(meeting)?;
    // Released by the kernel when `lock` is closed, also if this process dies: the next in line takes over.
    lock.lock().map_err(meeting)?;
    let port_file = directory.join("port");
    if let Ok(port) = fs::read_to_string(&port_file) {
        let port = port.parse().map_err(|_| Error::new(format!("{} is not a port", port_file.display())))?;
        return Ok(Cluster { port, directory: directory.into(), owned: None });
    }
    // A place of its own for each attempt, since one may have been cut short by a runner's timeout.
    let attempt = directory.join(super::unique());
    let mut cluster = Cluster::start_in(attempt, Settings::tests())?;
    cluster.owned().watchdog.outlive(runner, directory)?;
    fs::write(&port_file, cluster.port.to_string()).map_err(meeting)?;
    Ok(cluster)
}
