//! The product as a new user sees it: built, started with `turno demo`, called, stopped.
//!
//! HTTP is written by hand over a socket, because a check with the server's libraries would share their bugs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use crate::tools::{Problem, StepResult, cargo};

/// Generous, because a shared CI machine can be slow. A normal start takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most lines that the demo may print.
const MOST_LINES: usize = 8;

/// Builds, starts, calls and stops the demo.
pub(crate) fn run() -> StepResult {
    build("turno")?;
    let mut command = Command::new(built("turno")?);
    command.args(["demo", "--listen", "127.0.0.1:0"]);
    let mut demo = Running::start(command)?;
    let address = demo.listening()?;
    println!("the demo listens on {address}");

    let page = get(address, "/")?;
    for wanted in ["Turno", "action=\"/sign-in\"", "content-security-policy:"] {
        expect(page.contains(wanted), &format!("`GET /` says `{wanted}`"))?;
    }
    get(address, "/healthz")?;

    let (status, lines) = demo.stop()?;
    expect(status.success(), &format!("SIGTERM ends it with exit code 0 (it was: {status})"))?;
    expect(lines <= MOST_LINES, &format!("it prints at most {MOST_LINES} lines (it was: {lines})"))
}

/// A running server. Dropping it ends the process.
pub(crate) struct Running {
    child: Child,
    output: Receiver<String>,
    lines: usize,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Result<Self, Problem> {
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| {
            Problem::failed(format!("failed to start {}: {error}", command.get_program().display()))
        })?;
        let (sender, output) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            // On its own thread, because a pipe cannot be read with a time limit.
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Self { child, output, lines: 0 })
    }

    /// Waits for the line with the address.
    pub(crate) fn listening(&mut self) -> Result<SocketAddr, Problem> {
        loop {
            match self.next_line() {
                Ok(line) => {
                    if let Some(address) = line.split("listening on http://").nth(1) {
                        let address = address.split_whitespace().next().unwrap_or_default();
                        return address
                            .parse()
                            .map_err(|_| Problem::failed(format!("`{line}` does not name an address")));
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(Problem::failed(format!("no `listening on` line within {PATIENCE:?}")));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Problem::failed("turno ended before it listened"));
                }
            }
        }
    }

    /// Returns the process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    fn next_line(&mut self) -> Result<String, RecvTimeoutError> {
        let line = self.output.recv_timeout(PATIENCE)?;
        println!("  | {line}");
        self.lines += 1;
        Ok(line)
    }

    /// Sends SIGTERM and waits for the end of the output, which is the end of the process.
    pub(crate) fn stop(self) -> Result<(ExitStatus, usize), Problem> {
        let process = self.child.id();
        self.stop_by(process)
    }

    /// The same, by a signal to a process that the started one waits for.
    pub(crate) fn stop_by(mut self, process: u32) -> Result<(ExitStatus, usize), Problem> {
        // Through the shell, whose `kill` is built in, because small containers lack the program.
        let kill = format!("kill -TERM {process}");
        let sent = Command::new("sh").args(["-c", &kill]).status();
        expect(sent.is_ok_and(|status| status.success()), "SIGTERM can be sent")?;
        loop {
            match self.next_line() {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    return Err(Problem::failed(format!("still running {PATIENCE:?} after SIGTERM")));
                }
            }
        }
        let status = self.child.wait();
        status
            .map(|status| (status, self.lines))
            .map_err(|error| Problem::failed(format!("failed to wait for turno: {error}")))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail harmlessly if the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Builds a program with the same workspace selection and profile as the tests. Another selection would have other
/// features and build everything again.
pub(crate) fn build(name: &str) -> StepResult {
    cargo(&["build", "--locked", "--workspace", "--bin", name])
}

/// Returns the path of a built program.
pub(crate) fn built(name: &str) -> Result<PathBuf, Problem> {
    Ok(target()?.join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}

/// Returns the target folder, wherever it is: this program lies in a folder of it.
pub(crate) fn target() -> Result<PathBuf, Problem> {
    let this = std::env::current_exe()
        .map_err(|error| Problem::failed(format!("failed to find the target folder: {error}")))?;
    let target = this.parent().and_then(|profile| profile.parent());
    target.map(PathBuf::from).ok_or_else(|| Problem::failed("failed to find the target folder"))
}

/// Sends a GET, requires status 200, and returns head and body.
pub(crate) fn get(address: SocketAddr, path: &str) -> Result<String, Problem> {
    let answer = exchange(address, path).map_err(|error| Problem::failed(format!("failed to GET {path}: {error}")))?;
    let first = answer.lines().next().unwrap_or_default();
    expect(first.starts_with("HTTP/1.1 200"), &format!("`GET {path}` answers 200 (it was: `{first}`)"))?;
    Ok(answer)
}

fn exchange(address: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn expect(true_enough: bool, claim: &str) -> StepResult {
    println!("  {} {claim}", if true_enough { "ok " } else { "NOT" });
    if true_enough { Ok(()) } else { Err(Problem::failed(format!("not true: {claim}"))) }
}
