//! The command itself: started, told to stop, and asked how it ended.

use std::io::{ErrorKind, IsTerminal};
use std::process::ExitStatus;

use tokio::process::Command;

use super::held::Held;
use crate::failure::Failure;

/// A running command.
#[derive(Debug)]
pub(super) struct Child {
    child: tokio::process::Child,
    #[cfg(unix)]
    signals: unix::Signals,
    /// It was killed: once is enough, and the group's number may soon be somebody else's.
    killed: bool,
}

impl Child {
    /// Starts it, with the fence in its environment.
    pub(super) fn start(words: &[String], held: &Held) -> Result<Child, Failure> {
        let (program, arguments) = words.split_first().expect("clap asks for one word at least");
        let mut command = Command::new(program);
        command.args(arguments).env("TURNO_FENCE", held.fence().to_string()).env("TURNO_RESOURCE", held.resource());
        // Should this process fall over, the command must not go on without anybody who watches the lease.
        command.kill_on_drop(true);
        // On a terminal it stays in our group, so that it can read and hears Ctrl-C. Elsewhere it gets its own: whatever it
        // has started itself is stopped with it.
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

    /// Waits for its end, and answers the code that a shell would; nothing, if a signal came that was passed on.
    #[cfg(unix)]
    pub(super) async fn ended(&mut self) -> Option<u8> {
        let id = self.child.id();
        tokio::select! {
            status = self.child.wait() => Some(code(status)),
            () = self.signals.forward(id) => None,
        }
    }

    /// Waits for its end, and answers the code that a shell would.
    #[cfg(not(unix))]
    pub(super) async fn ended(&mut self) -> Option<u8> {
        Some(code(self.child.wait().await))
    }

    /// Asks it to stop.
    pub(super) fn terminate(&mut self) {
        #[cfg(unix)]
        self.signals.send(self.child.id(), rustix::process::Signal::TERM);
        #[cfg(not(unix))]
        self.kill();
    }

    /// Makes it stop.
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
    // A child that cannot be waited for is gone, and nobody knows how.
    let Ok(status) = status else { return 1 };
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(u8::MAX);
    }
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// The codes that shells use for commands that they cannot run.
fn cannot_run(program: &str, error: &std::io::Error) -> Failure {
    let (code, next) = match error.kind() {
        ErrorKind::NotFound => (127, "check the name and PATH; after -- comes the command as you would type it"),
        ErrorKind::PermissionDenied => (126, "make it executable (chmod +x)"),
        _ => (126, "check the command; the lease was given back"),
    };
    Failure::failed(format!("failed to run {program}: {error}"), next).with_code(code)
}

#[cfg(unix)]
mod unix {
    //! Signals to us, and from us.

    use rustix::process::{Pid, Signal, kill_process, kill_process_group};
    use tokio::signal::unix::{SignalKind, signal};

    use crate::failure::Failure;

    #[derive(Debug)]
    pub(super) struct Signals {
        interrupt: tokio::signal::unix::Signal,
        terminate: tokio::signal::unix::Signal,
        grouped: bool,
    }

    impl Signals {
        /// Heard from here on, so that none ends us while the command runs.
        pub(super) fn new(grouped: bool) -> Result<Signals, Failure> {
            let failed = |error| Failure::failed(format!("failed to listen for signals: {error}"), "start it again");
            let interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
            let terminate = signal(SignalKind::terminate()).map_err(failed)?;
            Ok(Signals { interrupt, terminate, grouped })
        }

        pub(super) async fn forward(&mut self, child: Option<u32>) {
            let signal = tokio::select! {
                _ = self.interrupt.recv() => Signal::INT,
                _ = self.terminate.recv() => Signal::TERM,
            };
            // On a terminal Ctrl-C reaches the command without us; twice would mean more than it was meant to.
            if signal != Signal::INT || self.grouped {
                self.send(child, signal);
            }
        }

        pub(super) fn send(&self, child: Option<u32>, signal: Signal) {
            let pid = child.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
            let Some(pid) = pid else { return };
            // One that is gone already needs no signal.
            let _ = if self.grouped { kill_process_group(pid, signal) } else { kill_process(pid, signal) };
        }
    }
}
