//! The databases of the run: a private PostgreSQL and a directory for SQLite, both removed afterwards.

use crate::measure::Outcome;
use clap::ValueEnum;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use tokio_postgres::{Client, NoTls};
use turno::Turno;
use turno_testkit::postgres::{Cluster, Settings};

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Database {
    /// Embedded, one file.
    Sqlite,
    /// A private server.
    Postgres,
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Database::Sqlite => "sqlite",
            Database::Postgres => "postgres",
        })
    }
}

/// All databases of this run.
pub(crate) struct Home {
    cluster: Option<Cluster>,
    folder: PathBuf,
    count: AtomicU32,
}

impl Home {
    pub(crate) fn start(postgres: bool) -> Outcome<Home> {
        let folder = std::env::temp_dir().join(format!("turno-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let cluster = postgres.then(|| Cluster::start_with(Settings::bench())).transpose()?;
        Ok(Home { cluster, folder, count: AtomicU32::new(0) })
    }

    /// Creates an empty database.
    pub(crate) async fn fresh(&self, database: Database) -> Outcome<Site> {
        let (url, maintenance) = match database {
            Database::Sqlite => {
                let number = self.count.fetch_add(1, Ordering::Relaxed);
                let file = self.folder.join(format!("{number}.db"));
                (format!("sqlite:{}", file.display()), None)
            }
            Database::Postgres => {
                let cluster = self.cluster()?;
                (cluster.fresh_database().await, Some(cluster.url("postgres")))
            }
        };
        Ok(Site { url, maintenance })
    }

    /// Returns the server, if the run has one.
    pub(crate) fn cluster(&self) -> Outcome<&Cluster> {
        self.cluster.as_ref().ok_or_else(|| "no PostgreSQL in this run".into())
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            eprintln!("{} is still there: {error}", self.folder.display());
        }
    }
}

/// One database.
pub(crate) struct Site {
    url: String,
    /// The URL through which the database is dropped; only on a server.
    maintenance: Option<String>,
}

impl Site {
    /// Opens the library on this database, as an application does.
    pub(crate) async fn turno(&self) -> Outcome<Turno> {
        Ok(Turno::open(&self.url).await?)
    }

    /// Returns the URL, for another process.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns the file of an embedded database.
    pub(crate) fn file(&self) -> &str {
        self.url.strip_prefix("sqlite:").unwrap_or(&self.url)
    }

    /// Connects to a server's database beside the library.
    pub(crate) async fn client(&self) -> Outcome<Client> {
        connect(&self.url).await
    }

    /// Brings statistics, hint bits and visibility into the state of a table that was not just filled. Does nothing on
    /// SQLite, because users of an embedded database do not do that by hand.
    pub(crate) async fn settle_down(&self) -> Outcome<()> {
        if self.maintenance.is_some() {
            self.client().await?.batch_execute("vacuum analyze").await?;
        }
        Ok(())
    }

    /// Deletes the database, so that its clean-up does not run during the next measurement.
    pub(crate) async fn remove(self) -> Outcome<()> {
        let Some(maintenance) = &self.maintenance else {
            for suffix in ["", "-wal", "-shm"] {
                // The write-ahead log is already gone if the last connection was closed in time.
                drop(std::fs::remove_file(format!("{}{suffix}", self.file())));
            }
            return Ok(());
        };
        let name = self.url.rsplit('/').next().unwrap_or_default();
        let client = connect(maintenance).await?;
        client.batch_execute(&format!("drop database {name} with (force)")).await?;
        Ok(())
    }
}

/// Opens a connection and drives it in its own task.
pub(crate) async fn connect(url: &str) -> Outcome<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}
