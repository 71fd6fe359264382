//! A private PostgreSQL for tests and benchmarks.
//!
//! A [`Cluster`] is a private server: it is created with `initdb` in a temporary directory, listens on a free
//! port of 127.0.0.1, and ends with its owner. The harness is the parent of `postgres` itself, not of
//! `pg_ctl`, so that a test can kill the server and start it again on the same data.
//!
//! There are two ways to get one:
//!
//! - [`Cluster::start`]: for a test that kills, stops or tunes its server. These take `&mut self`.
//! - [`Cluster::for_tests`]: for all other tests. It is shared, so it is `&'static` and those methods cannot be
//!   called. With a runner that starts a process per test (nextest), a run still has one server: the first test
//!   starts it, the others find it, and it ends with the run.
//!
//! [`Cluster::standby`] creates a standby, for failover tests. [`Cluster::serve_tls`] turns TLS on, with certificates of
//! a private authority. A [`Pooler`] is PgBouncer in front of a cluster.
//!
//! Left out on purpose: extensions, passwords (it trusts every connection from 127.0.0.1), and
//! downloading a server: one must be installed (`TURNO_PG_BIN` names its directory if it is in an unusual
//! place).

mod binaries;
pub mod certificates;
mod pooler;
mod run;
mod secure;
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

pub use pooler::Pooler;

use binaries::Binaries;
use server::Server;
use watchdog::Watchdog;

/// The superuser of every cluster. Its name is no secret, because the server listens only on 127.0.0.1.
const USER: &str = "turno";

/// The reason why the server failed, for the person who runs the tests, with the end of the server's log.
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

/// The server's settings. Everything not named here keeps PostgreSQL's default, as on a user's server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// With `false`, a killed server loses nothing, because the kernel still has the pages; only a machine crash
    /// loses data. So crash tests may turn it off, and benchmarks may not.
    pub fsync: bool,
    /// Megabytes of `shared_buffers`.
    pub shared_buffers_mb: u32,
    /// Gigabytes of `max_wal_size`. With a small value a benchmark measures checkpoints.
    pub max_wal_size_gb: u32,
    /// `max_connections`. Tests with many processes need more than the default of 100.
    pub max_connections: u32,
    /// Further `name = value` pairs. They come last, so they override the others.
    pub extra: Vec<(String, String)>,
}

impl Settings {
    /// Settings that start fast and do not sync to disk.
    #[must_use]
    pub fn tests() -> Self {
        Self { fsync: false, shared_buffers_mb: 128, max_wal_size_gb: 1, max_connections: 400, extra: Vec::new() }
    }

    /// Settings as durable as in production, with enough WAL not to measure checkpoints.
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

/// A private server, running or killed.
///
/// Dropping it stops the server and removes its directory. If a process dies without dropping it, the `watchdog`
/// does both.
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
    /// If no PostgreSQL is installed, or if the server is not ready within a minute.
    pub fn start() -> Result<Self, Error> {
        Self::start_with(Settings::tests())
    }

    /// Starts a server in a new temporary directory.
    ///
    /// # Errors
    /// If no PostgreSQL is installed, or if the server is not ready within a minute.
    pub fn start_with(settings: Settings) -> Result<Self, Error> {
        let directory = std::env::temp_dir().join(format!("turno-pg-{}", unique()));
        Self::start_in(directory, settings)
    }

    fn start_in(directory: PathBuf, settings: Settings) -> Result<Self, Error> {
        let binaries = Binaries::find()?;
        // Started before any file exists, so that the directory is removed however this process ends.
        let mut watchdog = Watchdog::start(&directory)?;
        let server = Server::start(binaries, &directory, settings, &mut watchdog)?;
        Ok(Self { port: server.port(), directory, owned: Some(Owned { server, watchdog }) })
    }

    /// Returns the server of this test run. The first caller starts it.
    ///
    /// # Panics
    /// If the server cannot be started, because no test could go on without it.
    #[must_use]
    pub fn for_tests() -> &'static Self {
        static CLUSTER: OnceLock<Cluster> = OnceLock::new();
        CLUSTER.get_or_init(|| match run::join() {
            Ok(cluster) => cluster,
            Err(error) => panic!("failed to start a private PostgreSQL: {error}"),
        })
    }

    /// Kills the server and all its processes with SIGKILL, to simulate a power cut.
    ///
    /// # Errors
    /// If the processes do not end.
    pub fn kill(&mut self) -> Result<(), Error> {
        let Owned { server, watchdog } = self.owned();
        server.kill()?;
        watchdog.forget_server()
    }

    /// Stops the server with a "fast" shutdown: sessions are cut, data is flushed.
    ///
    /// # Errors
    /// If the server does not end within a minute.
    pub fn stop(&mut self) -> Result<(), Error> {
        let Owned { server, watchdog } = self.owned();
        server.stop()?;
        watchdog.forget_server()
    }

    /// Starts the server again on the same data and port, so that URLs stay valid. Stops it first if it runs.
    ///
    /// # Errors
    /// If the server is not ready within a minute.
    pub fn restart(&mut self) -> Result<(), Error> {
        let Owned { server, watchdog } = self.owned();
        server.stop()?;
        server.launch(watchdog)
    }

    fn owned(&mut self) -> &mut Owned {
        self.owned.as_mut().expect("only `for_tests` makes a cluster that is not owned, and gives it out as `&'static`")
    }

    /// Returns the URL of a database on this server.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/{database}", self.port)
    }

    /// Returns the directory of the data, the log (`server.log`) and the Unix socket (`socket/`).
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Creates an empty database for the caller alone and returns its URL.
    ///
    /// # Panics
    /// If the server refuses, which is a defect of the harness.
    pub async fn fresh_database(&self) -> String {
        let name = format!("db_{}", unique().replace('-', "_"));
        // template0 accepts no connections. A connection to the template makes the copy fail.
        let statement = format!("create database {name} template template0");
        let (client, connection) =
            tokio_postgres::connect(&self.url("postgres"), NoTls).await.expect("our own server accepts connections");
        let connection = tokio::spawn(connection);
        client.batch_execute(&statement).await.expect("our own server creates a database");
        drop(client);
        connection.await.expect("the connection task does not panic").expect("the connection ends without an error");
        self.url(&name)
    }

    /// Does the same as [`Cluster::fresh_database`], for callers that are not async or must not nest runtimes.
    ///
    /// # Panics
    /// As [`Cluster::fresh_database`].
    #[must_use]
    pub fn fresh_database_blocking(&self) -> String {
        // On its own thread, because a runtime refuses to block inside another one.
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
            // If this fails, the watchdog ends the server by force.
            if server.stop().is_ok() {
                let _ = watchdog.forget_server();
            }
            watchdog.finish();
        }
    }
}

/// Returns a name part that is unique on this machine, across calls, processes and runs.
#[expect(clippy::disallowed_methods, reason = "tells runs apart; nothing is decided by it")]
fn unique() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    // The time guards against reused process ids.
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_nanos());
    format!("{:x}-{:x}-{count}", std::process::id(), nanos & 0xffff_ffff_ffff)
}
