//! The child process: starting it, stopping it, and its exit code.

use std::io::{ErrorKind, IsTerminal};
use std::process::ExitStatus;

use tokio::process::Command;

use super::held::Held;
use crate::client::{TOKEN_FILE_VARIABLE, TOKEN_VARIABLE};
use crate::failure::{Failure, io_cause};
use crate::texts::message::Message;

/// A running command.
#[derive(Debug)]
pub(super) struct Child {
    child: tokio::process::Child,
    #[cfg(unix)]
    signals: unix::Signals,
    /// Whether SIGKILL was sent. It is sent once, because the process group id may be reused.
    killed: bool,
}

impl Child {
    /// Starts the command, with resource and fence in its environment. The command gets the token only if `pass_token`
    /// says so, because most commands need the lease and no access to the server.
    pub(super) fn start(words: &[String], held: &Held, pass_token: bool) -> Result<Child, Failure> {
        let (program, arguments) = words.split_first().expect("clap requires at least one word");
        let mut command = Command::new(program);
        command.args(arguments).env("TURNO_FENCE", held.fence().to_string()).env("TURNO_RESOURCE", held.resource());
        if !pass_token {
            command.env_remove(TOKEN_VARIABLE).env_remove(TOKEN_FILE_VARIABLE);
        }
        // If this process fails, the command must not run on without a watched lease.
        command.kill_on_drop(true);
        // On a terminal the command stays in this process group, so that it can read input and receives Ctrl-C.
        // Elsewhere it gets its own group, so that signals also reach its children.
        #[cfg(unix)]
        let grouped = !std::io::stdin().is_terminal();
        #[cfg(unix)]
        if grouped {
            command.process_group(0);
        }
        #[cfg(unix)]
        let signals = unix::Signals::new(grouped)?;
        let child = command.spawn().map_err(|error| cannot_run(program, &error))?;
        Ok(Child {
            child,
            #[cfg(unix)]
            signals,
            killed: false,
        })
    }

    /// Waits for the end. Returns the exit code that a shell would report, or `None` after forwarding a signal.
    #[cfg(unix)]
    pub(super) async fn ended(&mut self) -> Option<u8> {
        let id = self.child.id();
        tokio::select! {
            status = self.child.wait() => Some(code(status)),
            () = self.signals.forward(id) => None,
        }
    }

    /// Waits for the end. Returns the exit code that a shell would report.
    #[cfg(not(unix))]
    pub(super) async fn ended(&mut self) -> Option<u8> {
        Some(code(self.child.wait().await))
    }

    /// Asks the command to stop.
    pub(super) fn terminate(&mut self) {
        #[cfg(unix)]
        self.signals.send(self.child.id(), rustix::process::Signal::TERM);
        #[cfg(not(unix))]
        self.kill();
    }

    /// Kills the command.
    pub(super) fn kill(&mut self) {
        if std::mem::replace(&mut self.killed, true) {
            return;
        }
        #[cfg(unix)]
        self.signals.send(self.child.id(), rustix::process::Signal::KILL);
        #[cfg(not(unix))]
        let _ = self.child.start_kill();
    }
}

fn code(status: std::io::Result<ExitStatus>) -> u8 {
    // If waiting fails, the exit status is unknown.
    let Ok(status) = status else { return 1 };
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(u8::MAX);
    }
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// Returns the failure of a command that cannot start, with the exit codes of shells.
fn cannot_run(program: &str, error: &std::io::Error) -> Failure {
    let message = |id| Message::new(id).text("command", program);
    match error.kind() {
        ErrorKind::NotFound => Failure::failed(message("run-not-found")).with_code(127),
        ErrorKind::PermissionDenied => Failure::failed(message("run-not-executable")).with_code(126),
        _ => Failure::failed(message("run-failed").message("cause", io_cause(error))).with_code(126),
    }
}

#[cfg(unix)]
mod unix {
    //! Signals that this process receives and forwards.

    use rustix::process::{Pid, Signal, kill_process, kill_process_group};
    use tokio::signal::unix::{SignalKind, signal};

    use crate::failure::{Failure, io_cause};
    use crate::texts::message::Message;

    #[derive(Debug)]
    pub(super) struct Signals {
        interrupt: tokio::signal::unix::Signal,
        terminate: tokio::signal::unix::Signal,
        grouped: bool,
    }

    impl Signals {
        /// Subscribes to the signals, so that none of them ends this process while the command runs.
        pub(super) fn new(grouped: bool) -> Result<Signals, Failure> {
            let failed = |error| Failure::failed(Message::new("signals-failed").message("cause", io_cause(&error)));
            let interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
            let terminate = signal(SignalKind::terminate()).map_err(failed)?;
            Ok(Signals { interrupt, terminate, grouped })
        }

        pub(super) async fn forward(&mut self, child: Option<u32>) {
            let signal = tokio::select! {
                _ = self.interrupt.recv() => Signal::INT,
                _ = self.terminate.recv() => Signal::TERM,
            };
            // On a terminal Ctrl-C already reaches the command; a second signal could abort its cleanup.
            if signal != Signal::INT || self.grouped {
                self.send(child, signal);
            }
        }

        pub(super) fn send(&self, child: Option<u32>, signal: Signal) {
            let pid = child.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
            let Some(pid) = pid else { return };
            // A process that has ended needs no signal.
            let _ = if self.grouped { kill_process_group(pid, signal) } else { kill_process(pid, signal) };
        }
    }
}
