//! A private PostgreSQL for tests and benchmarks.
//!
//! A [`Cluster`] is a server of our own: made with `initdb` in a temporary directory, listening on a free
//! port of 127.0.0.1, gone when its owner is gone. The harness is the parent of `postgres` itself, not of
//! `pg_ctl`, so that a test can kill the server and start it again on the same data.
//!
//! Two ways to get one:
//!
//! - [`Cluster::start`]: for a test that kills, stops or tunes its server. These take `&mut self`.
//! - [`Cluster::for_tests`]: for everybody else. It is shared, hence `&'static` and out of reach of those
//!   methods. A runner that gives each test a process of its own (nextest) still gets one server per run:
//!   the first test starts it, the others find it, and it ends with the run.
//!
//! [`Cluster::standby`] makes a standby, for tests of failovers.
//!
//! Left out on purpose: extensions, passwords (it trusts every connection from 127.0.0.1), and
//! downloading a server: one must be installed (`TURNO_PG_BIN` names its directory if it is in an unusual
//! place).

mod binaries;
mod run;
mod server;
mod standby;
#[cfg(test)]
mod tests;
mod watchdog;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio_postgres::NoTls;

use binaries::Binaries;
use server::Server;
use watchdog::Watchdog;

/// The superuser of every cluster; its name is no secret, since nothing but 127.0.0.1 is listened on.
const USER: &str = "turno";

/// Why there is no server: a sentence for the person who runs the tests, with the end of the server's log.
#[derive(Debug)]
pub struct Error(String);

impl Error {
    fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// How the server is tuned. Everything not named here keeps PostgreSQL's default, as a user's server would.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Off loses nothing when the server is killed (the kernel still has the pages), only when the machine
    /// dies. So tests of crashes may turn it off; figures may not.
    pub fsync: bool,
    /// Megabytes of `shared_buffers`.
    pub shared_buffers_mb: u32,
    /// Gigabytes of `max_wal_size`: with little, a benchmark measures checkpoints.
    pub max_wal_size_gb: u32,
    /// `max_connections`; tests of many processes at once need more than the default of 100.
    pub max_connections: u32,
    /// Further `name = value` pairs, given last, so that they win.
    pub extra: Vec<(String, String)>,
}

impl Settings {
    /// Quick to start and to throw away.
    #[must_use]
    pub fn tests() -> Self {
        Self { fsync: false, shared_buffers_mb: 128, max_wal_size_gb: 1, max_connections: 400, extra: Vec::new() }
    }

    /// As durable as a server that matters, with room enough not to measure checkpoints.
    #[must_use]
    pub fn bench() -> Self {
        Self {
            fsync: true,
            shared_buffers_mb: 1024,
            max_wal_size_gb: 8,
            max_connections: 400,
            extra: vec![("checkpoint_timeout".into(), "15min".into())],
        }
    }
}

/// A running (or killed, and not yet restarted) private server.
///
/// Dropping it stops the server and removes its directory; a process that dies without dropping it leaves
/// both to the `watchdog`.
#[derive(Debug)]
pub struct Cluster {
    port: u16,
    directory: PathBuf,
    /// `None` when another test process of the same run owns the server.
    owned: Option<Owned>,
}

#[derive(Debug)]
struct Owned {
    server: Server,
    watchdog: Watchdog,
}

impl Cluster {
    /// Starts a server with the settings for tests.
    ///
    /// # Errors
    /// When no PostgreSQL is installed, or when it does not become ready in a minute.
    pub fn start() -> Result<Self, Error> {
        Self::start_with(Settings::tests())
    }

    /// Starts a server in a new temporary directory.
    ///
    /// # Errors
    /// When no PostgreSQL is installed, or when it does not become ready in a minute.
    pub fn start_with(settings: Settings) -> Result<Self, Error> {
        let directory = std::env::temp_dir().join(format!("turno-pg-{}", unique()));
        Self::start_in(directory, settings)
    }

    fn start_in(directory: PathBuf, settings: Settings) -> Result<Self, Error> {
        let binaries = Binaries::find()?;
        // Before anything is on disk: from here on, however this process ends, the directory goes with it.
        let mut watchdog = Watchdog::start(&directory)?;
        let server = Server::start(binaries, &directory, settings, &mut watchdog)?;
        Ok(Self { port: server.port(), directory, owned: Some(Owned { server, watchdog }) })
    }

    /// The server of this test run, started by whoever asks first.
    ///
    /// # Panics
    /// When it cannot be started: no test that asks for it could go on.
    #[must_use]
    pub fn for_tests() -> &'static Self {
        static CLUSTER: OnceLock<Cluster> = OnceLock::new();
        CLUSTER.get_or_init(|| match run::join() {
            Ok(cluster) => cluster,
            Err(error) => panic!("failed to start a private PostgreSQL: {error}"),
        })
    }

    /// Ends the server with SIGKILL, and every process it had: what a power cut leaves behind.
    ///
    /// # Errors
    /// When the processes outlive it.
    pub fn kill(&mut self) -> Result<(), Error> {
        let Owned { server, watchdog } = self.owned();
        server.kill()?;
        watchdog.forget_server()
    }

    /// Ends the server politely ("fast": sessions are cut, data is flushed).
    ///
    /// # Errors
    /// When it does not end in a minute.
    pub fn stop(&mut self) -> Result<(), Error> {
        let Owned { server, watchdog } = self.owned();
        server.stop()?;
        watchdog.forget_server()
    }

    /// Starts the server again on the same data and port, so that URLs stay true. Stops it first if it runs.
    ///
    /// # Errors
    /// When it does not become ready in a minute.
    pub fn restart(&mut self) -> Result<(), Error> {
        let Owned { server, watchdog } = self.owned();
        server.stop()?;
        server.launch(watchdog)
    }

    fn owned(&mut self) -> &mut Owned {
        self.owned.as_mut().expect("only `for_tests` makes a cluster that is not owned, and gives it out as `&'static`")
    }

    /// The URL of a database on this server.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{database}", self.port)
    }

    /// Where the data, the log (`server.log`) and the Unix socket (`socket/`) are.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Creates an empty database that nobody else has and returns its URL.
    ///
    /// # Panics
    /// When the server refuses: it is ours, so this is a defect of the harness.
    pub async fn fresh_database(&self) -> String {
        let name = format!("db_{}", unique().replace('-', "_"));
        // template0 and not template1: nobody can be connected to it, which would make the copy fail.
        let statement = format!("create database {name} template template0");
        let (client, connection) =
            tokio_postgres::connect(&self.url("postgres"), NoTls).await.expect("our own server accepts connections");
        let connection = tokio::spawn(connection);
        client.batch_execute(&statement).await.expect("our own server creates a database");
        drop(client);
        connection.await.expect("the connection task does not panic").expect("the connection ends well");
        self.url(&name)
    }

    /// [`Cluster::fresh_database`] for callers that are not async (or that are, and must not nest runtimes).
    ///
    /// # Panics
    /// As [`Cluster::fresh_database`].
    #[must_use]
    pub fn fresh_database_blocking(&self) -> String {
        // On a thread of its own, since a runtime refuses to block inside another one.
        std::thread::scope(|scope| {
            let create = || {
                let mut runtime = tokio::runtime::Builder::new_current_thread();
                let runtime = runtime.enable_all().build().expect("a single-threaded runtime can be made");
                runtime.block_on(self.fresh_database())
            };
            scope.spawn(create).join().expect("creating a database does not panic")
        })
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(Owned { server, watchdog }) = &mut self.owned {
            // An error leaves the server to the watchdog, which is less polite.
            if server.stop().is_ok() {
                let _ = watchdog.forget_server();
            }
            watchdog.finish();
        }
    }
}

/// A name part that no other call, process or run of this machine has.
#[expect(clippy::disallowed_methods, reason = "tells runs apart; nothing is decided by it")]
fn unique() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    // The time guards against a process id that comes back.
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_nanos());
    format!("{:x}-{:x}-{count}", std::process::id(), nanos & 0xffff_ffff_ffff)
}
