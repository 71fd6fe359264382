//! Ends the server and removes its directory when nobody is left who would.
//!
//! A test may panic, be killed by its runner for lateness, or by a person with ctrl-c: `Drop` is no
//! promise. `PR_SET_PDEATHSIG` would be, but it fires when the *thread* that started the server ends, and
//! test harnesses end threads all the time; it also needs unsafe code. So a small shell script holds the
//! reading end of a pipe whose only writing end is in this process: the kernel closes it however the
//! process ends, the script reads end-of-file and cleans up. No polling, no process id that might be reused.
//!
//! A server shared by the processes of a run must outlive the one that started it: then the script is told
//! the runner's process id (`outlive`), and after end-of-file polls once a second until the runner is gone.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use super::Error;

/// SIGQUIT makes the postmaster end its children before itself. SIGKILL follows for one that is stuck.
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
    /// Closing it is the signal; `None` after that.
    pub(super) orders: Option<ChildStdin>,
}

impl Watchdog {
    pub(super) fn start(directory: &Path) -> Result<Self, Error> {
        let mut child = Command::new("sh")
            .args(["-c", SCRIPT, "turno-pg-watchdog"])
            .arg(directory)
            .stdin(Stdio::piped())
            // A runner takes a test for unfinished while anybody holds its output.
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Out of the group that a terminal's ctrl-c, or a runner's timeout, kills as a whole.
            .process_group(0)
            .spawn()
            .map_err(|error| Error::new(format!("failed to start the watchdog (sh): {error}")))?;
        let orders = child.stdin.take();
        Ok(Self { child, orders })
    }

    pub(super) fn guard_server(&mut self, pid: u32) -> Result<(), Error> {
        self.order(&format!("server {pid}"))
    }

    /// The server has ended and its process id may come back as somebody else's.
    pub(super) fn forget_server(&mut self) -> Result<(), Error> {
        self.order("server")
    }

    /// Lets the server live on after this process, until process `runner` is gone; then removes `directory`.
    pub(super) fn outlive(&mut self, runner: u32, directory: &Path) -> Result<(), Error> {
        self.order(&format!("directory {}", directory.display()))?;
        self.order(&format!("outlive {runner}"))
    }

    /// Has the directory removed and waits for it.
    pub(super) fn finish(&mut self) {
        drop(self.orders.take());
        let _ = self.child.wait();
    }

    fn order(&mut self, line: &str) -> Result<(), Error> {
        let orders = self.orders.as_mut().expect("orders are given before `finish`");
        writeln!(orders, "{line}").map_err(|error| Error::new(format!("failed to talk to the watchdog: {error}")))
    }
}
