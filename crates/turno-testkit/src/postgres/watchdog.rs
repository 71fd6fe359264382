//! Ends the server and removes its directory when the owning process is gone.
//!
//! A test may panic, be killed by its runner's timeout, or by ctrl-c, so `Drop` may not run. `PR_SET_PDEATHSIG` is no
//! solution: it fires when the *thread* that started the server ends, test harnesses end threads all the time, and it
//! needs unsafe code. So a small shell script holds the reading end of a pipe whose only writing end is in this
//! process. The kernel closes the pipe however the process ends; the script reads end-of-file and cleans up. That
//! needs no polling and no process id, which might be reused.
//!
//! A server shared by the processes of a run must outlive the process that started it. Then the script gets the
//! runner's process id (`outlive`), and after end-of-file it polls once a second until the runner has ended.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use super::Error;

/// SIGQUIT makes the postmaster end its children before itself. SIGKILL follows if the postmaster is stuck.
const SCRIPT: &str = r#"
directory=$1 server= runner=
while read -r word value; do
    case $word in
        server) server=$value ;;
        outlive) runner=$value ;;
        directory) directory=$value ;;
    esac
done
if [ -n "$runner" ]; then
    while kill -0 "$runner" 2>/dev/null; do sleep 1; done
fi
if [ -n "$server" ]; then
    kill -QUIT "$server" 2>/dev/null
    tries=0
    while kill -0 "$server" 2>/dev/null && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
    kill -KILL "$server" 2>/dev/null
fi
rm -rf "$directory"
"#;

#[derive(Debug)]
pub(super) struct Watchdog {
    child: Child,
    /// The pipe. Closing it is the signal; it is `None` afterwards.
    pub(super) orders: Option<ChildStdin>,
}

impl Watchdog {
    pub(super) fn start(directory: &Path) -> Result<Self, Error> {
        let mut child = Command::new("sh")
            .args(["-c", SCRIPT, "turno-pg-watchdog"])
            .arg(directory)
            .stdin(Stdio::piped())
            // A runner considers a test unfinished while any process holds its output.
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Outside the process group that ctrl-c or a runner's timeout kills.
            .process_group(0)
            .spawn()
            .map_err(|error| Error::new(format!("failed to start the watchdog (sh): {error}")))?;
        let orders = child.stdin.take();
        Ok(Self { child, orders })
    }

    pub(super) fn guard_server(&mut self, pid: u32) -> Result<(), Error> {
        self.order(&format!("server {pid}"))
    }

    /// Forgets the server's process id, because another process may get the same id later.
    pub(super) fn forget_server(&mut self) -> Result<(), Error> {
        self.order("server")
    }

    /// Lets the server outlive this process until process `runner` has ended, then removes `directory`.
    pub(super) fn outlive(&mut self, runner: u32, directory: &Path) -> Result<(), Error> {
        self.order(&format!("directory {}", directory.display()))?;
        self.order(&format!("outlive {runner}"))
    }

    /// Orders the removal of the directory and waits for it.
    pub(super) fn finish(&mut self) {
        drop(self.orders.take());
        let _ = self.child.wait();
    }

    fn order(&mut self, line: &str) -> Result<(), Error> {
        let orders = self.orders.as_mut().expect("orders are given before `finish`");
        writeln!(orders, "{line}").map_err(|error| Error::new(format!("failed to talk to the watchdog: {error}")))
    }
}
