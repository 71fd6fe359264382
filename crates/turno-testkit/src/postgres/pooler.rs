//! PgBouncer in front of a cluster, with the settings of its package.

use super::server::{free_port, signal, until};
use super::watchdog::Watchdog;
use super::{Cluster, Error, USER, unique};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A running PgBouncer. Dropping it ends the process and removes its directory.
#[derive(Debug)]
pub struct Pooler {
    port: u16,
    directory: PathBuf,
    owner: (u32, u32),
    process: Option<Child>,
    watchdog: Watchdog,
}

impl Pooler {
    /// Starts PgBouncer in front of the cluster. `mode` is `session` or `transaction`.
    ///
    /// # Errors
    /// If PgBouncer is not installed, or if it does not accept connections within a minute.
    pub fn start(cluster: &Cluster, mode: &str) -> Result<Pooler, Error> {
        let directory = std::env::temp_dir().join(format!("turno-bouncer-{}", unique()));
        let wrong = |error: std::io::Error| Error::new(format!("failed to prepare PgBouncer: {error}"));
        let watchdog = Watchdog::start(&directory)?;
        std::fs::create_dir_all(&directory).map_err(wrong)?;
        let owner = std::fs::metadata(cluster.directory()).map_err(wrong)?;
        let _ = std::os::unix::fs::chown(&directory, Some(owner.uid()), Some(owner.gid()));
        let port = free_port(50)?;
        let (users, log) = (directory.join("users.txt"), directory.join("pooler.log"));
        std::fs::write(&users, format!("\"{USER}\" \"\"\n")).map_err(wrong)?;
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n\
             unix_socket_dir =\nauth_type = trust\nauth_file = {}\nlogfile = {}\npool_mode = {mode}\n",
            cluster.port,
            users.display(),
            log.display(),
        );
        std::fs::write(directory.join("pgbouncer.ini"), settings).map_err(wrong)?;
        let mut pooler = Pooler { port, directory, owner: (owner.uid(), owner.gid()), process: None, watchdog };
        pooler.launch()?;
        Ok(pooler)
    }

    /// Kills PgBouncer, which cuts all its connections, and starts it again on the same port.
    ///
    /// # Errors
    /// If it does not accept connections within a minute.
    pub fn restart(&mut self) -> Result<(), Error> {
        self.kill();
        self.launch()
    }

    /// Returns the URL of the same database through the pooler.
    ///
    /// # Panics
    /// If the URL is not one of a cluster.
    #[must_use]
    pub fn url(&self, url: &str) -> String {
        let (_, database) = url.rsplit_once('/').expect("a cluster's URL ends with its database");
        format!("postgres://{USER}@127.0.0.1:{}/{database}", self.port)
    }

    fn launch(&mut self) -> Result<(), Error> {
        let program =
            ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].into_iter().find(|path| PathBuf::from(path).is_file());
        let mut command = Command::new(program.unwrap_or("pgbouncer"));
        command.arg("-q").arg(self.directory.join("pgbouncer.ini")).current_dir("/");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        if std::fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0) {
            command.uid(self.owner.0).gid(self.owner.1);
        }
        let missing = |error| Error::new(format!("failed to run pgbouncer (apt-get install pgbouncer): {error}"));
        let process = self.process.insert(command.spawn().map_err(missing)?);
        self.watchdog.guard_server(process.id())?;
        let (port, log) = (self.port, self.directory.join("pooler.log"));
        until("PgBouncer to accept connections", || {
            if let Ok(Some(status)) = process.try_wait() {
                let log = std::fs::read_to_string(&log).unwrap_or_default();
                return Err(Error::new(format!("PgBouncer ended with {status}: {log}")));
            }
            Ok(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok())
        })
    }

    fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            signal("KILL", process.id());
            let _ = process.wait();
            let _ = self.watchdog.forget_server();
        }
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        self.kill();
        self.watchdog.finish();
    }
}
