//! The server's processes: start, kill, stop, and wait for their end.
//!
//! The readiness and the end of another process can only be polled. Every wait polls each 5 ms, returns at once
//! when its condition is true, and has a deadline whose error names the condition. No wait sleeps for a fixed time.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::binaries::Binaries;
use super::watchdog::Watchdog;
use super::{Error, Settings};

/// Generous enough for a loaded machine that has to recover. Only a defect makes a wait last this long.
const DEADLINE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(5);
/// Below the kernel's range for outgoing connections, because the port of a killed server must still be free when
/// the server restarts.
const PORTS: std::ops::Range<u16> = 15_000..30_000;
/// Another process may take the port between our check and the server's bind. More tries would hide another problem.
const PORT_TRIES: u32 = 8;

#[derive(Debug)]
pub(super) struct Server {
    binaries: Binaries,
    directory: PathBuf,
    settings: Settings,
    port: u16,
    pub(super) process: Option<Child>,
}

impl Server {
    pub(super) fn start(
        binaries: Binaries,
        directory: &Path,
        settings: Settings,
        watchdog: &mut Watchdog,
    ) -> Result<Self, Error> {
        binaries.initdb(directory)?;
        Server::start_copy(binaries, directory, settings, watchdog)
    }

    /// Starts a server on an existing data directory.
    pub(super) fn start_copy(
        binaries: Binaries,
        directory: &Path,
        settings: Settings,
        watchdog: &mut Watchdog,
    ) -> Result<Self, Error> {
        let mut server = Self { binaries, directory: directory.into(), settings, port: 0, process: None };
        for attempt in 0..PORT_TRIES {
            server.port = free_port(attempt)?;
            match server.launch(watchdog) {
                Err(_) if server.log().contains("could not bind") && attempt + 1 < PORT_TRIES => {
                    let _ = fs::remove_file(server.log_path());
                }
                outcome => return outcome.map(|()| server),
            }
        }
        Err(Error::new("found no free port for the database server"))
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn launch(&mut self, watchdog: &mut Watchdog) -> Result<(), Error> {
        let unreadable = |error| Error::new(format!("failed to write the server's log: {error}"));
        let log = File::options().create(true).append(true).open(self.log_path()).map_err(unreadable)?;
        let mut command = self.binaries.postgres(&self.directory)?;
        command.arg("-D").arg(self.data());
        for (name, value) in self.options() {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        let process = command
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(unreadable)?)
            .stderr(log)
            // Ctrl-c in a terminal goes to the tests, which then stop the server.
            .process_group(0)
            .spawn()
            .map_err(|error| Error::new(format!("failed to run postgres: {error}")))?;
        watchdog.guard_server(process.id())?;
        self.process = Some(process);
        self.wait_until_ready()
    }

    /// Kills the postmaster and all its children with SIGKILL.
    ///
    /// A backend in the middle of a statement notices the death of its postmaster late and could still commit, so
    /// the children are killed too. The postmaster is frozen before its children are listed, so that it starts no
    /// new ones.
    pub(super) fn kill(&mut self) -> Result<(), Error> {
        let Some(mut postmaster) = self.process.take() else {
            return Ok(());
        };
        signal("STOP", postmaster.id());
        let children = children_of(postmaster.id());
        for child in &children {
            signal("KILL", *child);
        }
        let reaped = postmaster.kill().and_then(|()| postmaster.wait());
        reaped.map_err(|error| Error::new(format!("failed to kill the postmaster: {error}")))?;
        until("the end of the server's processes", || Ok(!children.iter().any(|child| is_alive(*child))))
    }

    /// Stops the server with SIGINT, PostgreSQL's "fast" shutdown.
    pub(super) fn stop(&mut self) -> Result<(), Error> {
        let Some(mut postmaster) = self.process.take() else {
            return Ok(());
        };
        signal("INT", postmaster.id());
        let ended = until("the server's shutdown", || {
            let status = postmaster.try_wait();
            Ok(status.map_err(|error| Error::new(format!("failed to wait for the postmaster: {error}")))?.is_some())
        });
        if ended.is_err() {
            self.process = Some(postmaster);
        }
        ended
    }

    /// Waits until the eighth line of the postmaster's lock file says "ready", as `pg_ctl` does.
    fn wait_until_ready(&mut self) -> Result<(), Error> {
        let lock_file = self.data().join("postmaster.pid");
        let Some(process) = &mut self.process else {
            return Err(Error::new("the server was not started"));
        };
        let pid = process.id().to_string();
        let outcome = until("the server to be ready", || {
            if let Ok(Some(status)) = process.try_wait() {
                return Err(Error::new(format!("the server ended with {status}")));
            }
            let state = fs::read_to_string(&lock_file).unwrap_or_default();
            let mut lines = state.lines();
            // The first line is the process id. After a kill, the file of the dead server still exists.
            Ok(lines.next() == Some(&pid) && lines.nth(6).is_some_and(|line| line.trim_end() == "ready"))
        });
        outcome.map_err(|error| Error::new(format!("{error}; its log ends with:\n{}", tail(&self.log()))))
    }

    fn options(&self) -> Vec<(String, String)> {
        let Settings { fsync, shared_buffers_mb, max_wal_size_gb, max_connections, extra } = &self.settings;
        let own = [
            ("listen_addresses", "127.0.0.1".to_owned()),
            ("port", self.port.to_string()),
            ("unix_socket_directories", self.directory.join("socket").display().to_string()),
            ("fsync", if *fsync { "on" } else { "off" }.to_owned()),
            ("shared_buffers", format!("{shared_buffers_mb}MB")),
            ("max_wal_size", format!("{max_wal_size_gb}GB")),
            ("max_connections", max_connections.to_string()),
        ];
        own.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(extra.iter().cloned()).collect()
    }

    pub(super) fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    fn log_path(&self) -> PathBuf {
        self.directory.join("server.log")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "another program's state gives no signal to wait on, and its deadline is in real time"
)]
pub(super) fn until(what: &str, mut happened: impl FnMut() -> Result<bool, Error>) -> Result<(), Error> {
    let started = Instant::now();
    while !happened()? {
        if started.elapsed() > DEADLINE {
            return Err(Error::new(format!("waited {} s in vain for {what}", DEADLINE.as_secs())));
        }
        thread::sleep(POLL);
    }
    Ok(())
}

/// Finds a free port. Each process starts at a different port, so that two processes rarely want the same one.
pub(super) fn free_port(attempt: u32) -> Result<u16, Error> {
    let spread = std::process::id().wrapping_mul(7919).wrapping_add(attempt.wrapping_mul(101));
    let first = usize::try_from(spread).unwrap_or_default() % PORTS.len();
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    PORTS
        .cycle()
        .skip(first)
        .take(PORTS.len())
        .find(is_free)
        .ok_or_else(|| Error::new(format!("no free port between {} and {}", PORTS.start, PORTS.end)))
}

/// Sends a signal with the shell's `kill`, because std can only send SIGKILL, and only to a child.
pub(super) fn signal(name: &str, pid: u32) {
    let command = format!("kill -{name} {pid}");
    // A failure means that the process has ended, and every caller waits for that.
    let _ = Command::new("sh").args(["-c", &command]).stderr(Stdio::null()).status();
}

/// Lists the children of a process. Without `/proc` the list is empty; then PostgreSQL itself refuses to start while
/// a process of the old server is attached to the shared memory.
fn children_of(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| stat(*pid).is_some_and(|(_, its_parent)| its_parent == parent)).collect()
}

/// Lists the children of a process whose title contains `word`.
pub(super) fn children_named(parent: u32, word: &str) -> Vec<u32> {
    let title = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    children_of(parent).into_iter().filter(|pid| title(pid).contains(word)).collect()
}

pub(super) fn is_alive(pid: u32) -> bool {
    // A zombie counts as ended: it does nothing, and the init process reaps it.
    stat(pid).is_some_and(|(state, _)| state != 'Z')
}

/// Returns the state and the parent of a process. Parses after the last parenthesis, because the command name may
/// contain any character.
fn stat(pid: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
