//! TLS and admission of a cluster: its certificate, the authority of its clients, `pg_hba.conf`.

use super::certificates::Identity;
use super::{Cluster, Error};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

impl Cluster {
    /// Restarts the server with TLS. `clients` is the authority of client certificates. `admission` are lines of
    /// `pg_hba.conf`; the superuser is always admitted, with and without TLS.
    ///
    /// # Errors
    /// If a file cannot be written, or if the server does not start.
    pub fn serve_tls(&mut self, identity: &Identity, clients: Option<&str>, admission: &str) -> Result<(), Error> {
        let data = self.directory().join("data");
        self.write(&data.join("server.crt"), &identity.certificate)?;
        self.write(&data.join("server.key"), &identity.key)?;
        self.write(&data.join("clients.crt"), clients.unwrap_or_default())?;
        let ca = if clients.is_some() { "clients.crt" } else { "" };
        self.write(&data.join("postgresql.auto.conf"), &format!("ssl = on\nssl_ca_file = '{ca}'\n"))?;
        let superuser = "local all all trust\nhost all turno 127.0.0.1/32 trust\n";
        self.write(&data.join("pg_hba.conf"), &format!("{superuser}{admission}\n"))?;
        self.restart()
    }

    /// Writes a file that only the owner of the cluster's directory and root can read.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path, text: &str) -> Result<PathBuf, Error> {
        let wrong = |error: std::io::Error| Error::new(format!("failed to write {}: {error}", path.display()));
        let owner = fs::metadata(self.directory()).map_err(wrong)?;
        fs::write(path, text).map_err(wrong)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(wrong)?;
        // Fails for other users than root, whose files belong to the right user already.
        let _ = chown(path, Some(owner.uid()), Some(owner.gid()));
        Ok(path.to_owned())
    }
}
