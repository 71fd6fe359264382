//! A standby of a cluster: streaming replication and promotion.

use super::binaries::Binaries;
use super::server::{self, Server};
use super::watchdog::Watchdog;
use super::{Cluster, Error, Owned, Settings, unique};
use std::process::Command;

impl Cluster {
    /// Creates a standby of this server and starts it. It replicates until the primary ends or until it is promoted.
    ///
    /// # Errors
    /// If the copy fails, or if the standby is not ready within a minute.
    pub fn standby(&self, name: &str, settings: Settings) -> Result<Cluster, Error> {
        let directory = std::env::temp_dir().join(format!("turno-pg-{name}-{}", unique()));
        let binaries = Binaries::find()?;
        let mut watchdog = Watchdog::start(&directory)?;
        binaries.base_backup(&directory, self.port, name)?;
        let server = Server::start_copy(binaries, &directory, settings, &mut watchdog)?;
        Ok(Cluster { port: server.port(), directory, owned: Some(Owned { server, watchdog }) })
    }

    /// Promotes this standby to a primary and waits until it accepts writes.
    ///
    /// # Errors
    /// If it does not accept writes within a minute.
    pub fn promote(&mut self) -> Result<(), Error> {
        self.owned().server.promote()?;
        let url = self.url("postgres");
        server::until("the promoted server to accept writes", || Ok(accepts_writes(&url)))
    }

    /// Freezes the replication of this primary while it keeps running: a failover loses every later commit. The frozen
    /// processes end with the server.
    ///
    /// # Errors
    /// If no process is replicating.
    pub fn freeze_replication(&mut self) -> Result<(), Error> {
        self.owned().server.freeze_senders()
    }

    /// Returns a URL for several servers that connects to the one that accepts writes.
    #[must_use]
    pub fn url_of_any(servers: &[&Cluster], database: &str) -> String {
        let hosts: Vec<String> = servers.iter().map(|server| format!("127.0.0.1:{}", server.port)).collect();
        format!("postgres://turno@{}/{database}?target_session_attrs=read-write", hosts.join(","))
    }
}

impl Binaries {
    /// Copies a running server into `directory`, as the standby `name`.
    pub(super) fn base_backup(&self, directory: &std::path::Path, port: u16, name: &str) -> Result<(), Error> {
        let mut command = self.copying(directory)?;
        let connection = format!("host=127.0.0.1 port={port} user={} application_name={name}", super::USER);
        command.args(["-R", "-X", "stream", "-c", "fast", "-d", &connection, "-D"]).arg(directory.join("data"));
        run(command, "pg_basebackup")
    }
}

/// Runs on its own thread, because a runtime refuses to block inside another one.
fn accepts_writes(url: &str) -> bool {
    let ask = async {
        let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.ok()?;
        let connection = tokio::spawn(connection);
        let row = client.query_one("select not pg_is_in_recovery()", &[]).await.ok()?;
        connection.abort();
        row.try_get::<_, bool>(0).ok()
    };
    std::thread::scope(|scope| {
        let answer = scope.spawn(|| {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            runtime.enable_all().build().ok()?.block_on(ask)
        });
        answer.join().ok().flatten().unwrap_or(false)
    })
}

fn run(mut command: Command, name: &str) -> Result<(), Error> {
    let output = command.output().map_err(|error| Error::new(format!("failed to run {name}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::new(format!("{name} ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr))))
}

impl Server {
    /// Promotes the server as `pg_ctl promote` does: a signal file, then SIGUSR1.
    pub(super) fn promote(&mut self) -> Result<(), Error> {
        let written = |error| Error::new(format!("failed to ask for the promotion: {error}"));
        std::fs::write(self.data().join("promote"), "").map_err(written)?;
        let pid = self.pid()?;
        server::signal("USR1", pid);
        Ok(())
    }

    pub(super) fn freeze_senders(&mut self) -> Result<(), Error> {
        let senders = server::children_named(self.pid()?, "walsender");
        if senders.is_empty() {
            return Err(Error::new("nothing is replicated, so nothing can be frozen"));
        }
        senders.into_iter().for_each(|sender| server::signal("STOP", sender));
        Ok(())
    }

    fn pid(&self) -> Result<u32, Error> {
        self.process.as_ref().map(std::process::Child::id).ok_or_else(|| Error::new("the server is not running"))
    }
}
