//! The database and the server that made-up requests go to.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::verdict::{Memory, parse_memory};
use crate::product;
use crate::tools::Problem;

/// Generous, because a shared CI machine can be slow.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most bytes of the log that are kept. A server that logs more is wrong in another way.
const LOG_MAX: usize = 16 << 20;

/// A database with a caller of every role. Dropping it removes the database.
pub(super) struct Site {
    child: Child,
    stdin: Option<ChildStdin>,
    pub(super) url: String,
    /// Role to token.
    tokens: Vec<(String, String)>,
    /// The ids of the callers' accounts and tokens, separated by commas.
    pub(super) callers: String,
}

impl Site {
    pub(super) fn start(database: &str) -> Result<Site, Problem> {
        let program = product::built("site")?;
        let mut command = Command::new(program);
        command.arg(database).stdin(Stdio::piped()).stdout(Stdio::piped());
        let failed = |error| Problem::failed(format!("failed to prepare a database: {error}"));
        let mut child = command.spawn().map_err(failed)?;
        let stdin = child.stdin.take();
        let lines = child.stdout.take().map(|stdout| BufReader::new(stdout).lines()).into_iter().flatten();
        let mut site = Site { child, stdin, url: String::new(), tokens: Vec::new(), callers: String::new() };
        for line in lines.map_while(Result::ok) {
            match line.split(' ').collect::<Vec<&str>>()[..] {
                ["ready"] => return Ok(site),
                [role, token, ids] => {
                    site.tokens.push((role.to_owned(), token.to_owned()));
                    site.callers = format!("{}{ids},", site.callers);
                }
                _ => site.url = line,
            }
        }
        Err(Problem::failed("no database was prepared"))
    }

    /// Returns the token of a role, or nothing for the anonymous caller.
    pub(super) fn token(&self, role: &str) -> Option<&str> {
        self.tokens.iter().find(|(name, _)| name == role).map(|(_, token)| token.as_str())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}

/// A server on a database. Dropping it ends the server.
pub(super) struct Server {
    child: Child,
    pub(super) base: String,
    log: Arc<Mutex<String>>,
}

impl Server {
    pub(super) fn start(url: &str) -> Result<Server, Problem> {
        let mut command = Command::new(product::built("turno")?);
        command.args(["serve", "--listen", "127.0.0.1:0"]).env("TURNO_DATABASE", url).env("TURNO_LOG_LEVEL", "warn");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let failed = |error| Problem::failed(format!("failed to start turno: {error}"));
        let mut child = command.spawn().map_err(failed)?;
        let log = Arc::new(Mutex::new(String::new()));
        let (sender, lines) = mpsc::channel();
        if let Some(stderr) = child.stderr.take() {
            collect(stderr, Arc::clone(&log), None);
        }
        if let Some(stdout) = child.stdout.take() {
            collect(stdout, Arc::clone(&log), Some(sender));
        }
        let mut server = Server { child, base: String::new(), log };
        loop {
            match lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    if let Some((_, base)) = line.split_once("listening on ") {
                        server.base = base.trim().to_owned();
                        return Ok(server);
                    }
                }
                Err(RecvTimeoutError::Timeout) => return Err(Problem::failed("turno does not listen")),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Problem::failed(format!("turno ended before it listened: {}", server.log())));
                }
            }
        }
    }

    /// Returns the log so far.
    pub(super) fn log(&self) -> String {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the resident memory, or `None` if the process ended.
    pub(super) fn memory(&self) -> Option<Memory> {
        parse_memory(&std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?)
    }

    /// Returns the status of `GET /v1/me` with these headers.
    pub(super) fn me(&self, headers: &[String]) -> Option<u16> {
        let host = self.base.strip_prefix("http://")?;
        let mut stream = TcpStream::connect(host).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        write!(stream, "GET /v1/me HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.split_whitespace().nth(1)?.parse().ok()
    }
}

/// Collects the lines of a pipe on a thread of its own, because a full pipe would stop the server.
fn collect(pipe: impl Read + Send + 'static, log: Arc<Mutex<String>>, listener: Option<mpsc::Sender<String>>) {
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
            if log.len() < LOG_MAX {
                log.push_str(&line);
                log.push('\n');
            }
            if let Some(listener) = &listener {
                // The listener is gone once the server listens.
                let _ = listener.send(line);
            }
        }
    });
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
