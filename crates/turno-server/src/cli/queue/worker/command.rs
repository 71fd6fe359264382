//! The child process of one delivery: starting it, stopping it, and its exit code.

use std::collections::VecDeque;
use std::io::{ErrorKind, Write};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr};
use tokio::task::JoinHandle;

use super::site::Delivery;
use crate::failure::{Failure, io_cause};
use crate::texts::message::Message;

/// How many bytes of the end of stderr are kept as the error.
const KEPT: usize = 2_000;
/// How long stderr may stay open after the command has ended, because a background process may hold it.
const STDERR_GRACE: Duration = Duration::from_millis(500);

/// A running command.
pub(super) struct Command {
    child: Child,
    last: Arc<Mutex<VecDeque<u8>>>,
    listening: JoinHandle<()>,
}

/// How a command ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// The exit code. `None` if a signal ended the command.
    pub(super) code: Option<i32>,
    signal: Option<i32>,
    last: String,
}

impl Ended {
    pub(super) fn is_success(&self) -> bool {
        self.code == Some(0)
    }

    /// Renders the error that is stored with the item.
    pub(super) fn error(&self) -> String {
        let how = match (self.code, self.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("ended by signal {signal}"),
            (None, None) => "nobody knows how it ended".to_owned(),
        };
        match self.last.trim() {
            "" => how,
            last => format!("{how}: {last}"),
        }
    }
}

impl Command {
    /// Starts the command with the delivery on its stdin.
    pub(super) fn start(words: &[String], queue: &str, taken: &Delivery) -> Result<Command, Failure> {
        let (program, arguments) = words.split_first().expect("clap requires at least one word");
        let mut command = tokio::process::Command::new(program);
        command
            .args(arguments)
            .env("TURNO_QUEUE", queue)
            .env("TURNO_FENCE", taken.fence.to_string())
            .env("TURNO_DELIVERY", &taken.delivery)
            .env("TURNO_ATTEMPT", taken.attempt.to_string())
            .env_remove("TURNO_KEY")
            .envs(taken.key.as_ref().map(|key| ("TURNO_KEY", key)))
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        // A process group of its own, so that signals also reach its children and Ctrl-C reaches the worker only.
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn().map_err(|error| cannot_run(program, &error))?;
        if let Some(mut stdin) = child.stdin.take() {
            let json = format!("{}\n", taken.json);
            // A command may close its stdin without reading it.
            tokio::spawn(async move { drop(stdin.write_all(json.as_bytes()).await) });
        }
        let last = Arc::new(Mutex::new(VecDeque::new()));
        let listening = tokio::spawn(copy_stderr(child.stderr.take(), last.clone()));
        Ok(Command { child, last, listening })
    }

    /// Waits for the end. Cancel-safe.
    pub(super) async fn ended(&mut self) -> Ended {
        let status = self.child.wait().await.ok();
        // Does not wait for a background process that holds stderr.
        let _ = tokio::time::timeout(STDERR_GRACE, &mut self.listening).await;
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let last = String::from_utf8_lossy(&last.iter().copied().collect::<Vec<u8>>()).into_owned();
        #[cfg(unix)]
        let signal = status.as_ref().and_then(std::os::unix::process::ExitStatusExt::signal);
        #[cfg(not(unix))]
        let signal = None;
        Ended { code: status.and_then(|status| status.code()), signal, last }
    }

    /// Asks the command and its children to stop.
    pub(super) fn terminate(&mut self) {
        #[cfg(unix)]
        self.send(rustix::process::Signal::TERM);
        #[cfg(not(unix))]
        self.kill();
    }

    /// Kills the command and its children.
    pub(super) fn kill(&mut self) {
        #[cfg(unix)]
        self.send(rustix::process::Signal::KILL);
        #[cfg(not(unix))]
        drop(self.child.start_kill());
    }

    #[cfg(unix)]
    fn send(&self, signal: rustix::process::Signal) {
        let pid = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            // A process that has ended needs no signal.
            let _ = rustix::process::kill_process_group(pid, signal);
        }
    }
}

/// Copies the command's stderr to this process, and keeps its end.
async fn copy_stderr(stderr: Option<ChildStderr>, last: Arc<Mutex<VecDeque<u8>>>) {
    let Some(mut stderr) = stderr else { return };
    let mut buffer = [0; 1_024];
    while let Ok(size) = stderr.read(&mut buffer).await {
        if size == 0 {
            return;
        }
        // A closed stderr is ignored.
        let _ = std::io::stderr().write_all(&buffer[..size]);
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        last.extend(&buffer[..size]);
        let spare = last.len().saturating_sub(KEPT);
        last.drain(..spare);
    }
}

fn cannot_run(program: &str, error: &std::io::Error) -> Failure {
    let message = |id| Message::new(id).text("command", program);
    Failure::failed(match error.kind() {
        ErrorKind::NotFound => message("work-not-found"),
        ErrorKind::PermissionDenied => message("work-not-executable"),
        _ => message("work-command-failed").message("cause", io_cause(error)),
    })
}

/// Refuses a command that does not exist, before a delivery is claimed for it.
#[cfg(unix)]
pub(super) fn check_exists(words: &[String]) -> Result<(), Failure> {
    use std::os::unix::fs::PermissionsExt;
    let program = words.first().expect("clap requires at least one word");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places: Vec<std::path::PathBuf> = match program.contains('/') {
        true => vec![program.into()],
        false => std::env::split_paths(&path).map(|folder| folder.join(program)).collect(),
    };
    let files = places.iter().filter_map(|place| std::fs::metadata(place).ok());
    let modes: Vec<u32> = files.filter(std::fs::Metadata::is_file).map(|file| file.permissions().mode()).collect();
    match (modes.is_empty(), modes.iter().any(|mode| mode & 0o111 != 0)) {
        (true, _) => Err(Failure::usage(Message::new("work-not-found").text("command", program))),
        (false, false) => Err(Failure::usage(Message::new("work-not-executable").text("command", program))),
        (false, true) => Ok(()),
    }
}

/// Accepts every command: outside Unix, only starting it shows whether it exists.
#[cfg(not(unix))]
pub(super) fn check_exists(_: &[String]) -> Result<(), Failure> {
    Ok(())
}
