//! Finds PostgreSQL's programs and runs them as an unprivileged user, because they refuse to run as root.

use std::env;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Error, USER};

/// The directory with `initdb` and `postgres`.
#[derive(Debug)]
pub(super) struct Binaries(PathBuf);

/// The user that root switches to: PostgreSQL's own if the package created one, otherwise `nobody`.
const UNPRIVILEGED: [&str; 2] = ["postgres", "nobody"];

impl Binaries {
    pub(super) fn find() -> Result<Self, Error> {
        if let Some(directory) = env::var_os("TURNO_PG_BIN") {
            let directory = PathBuf::from(directory);
            return complete(&directory).then_some(Self(directory.clone())).ok_or_else(|| {
                Error::new(format!("TURNO_PG_BIN={} has no `initdb` and `postgres`", directory.display()))
            });
        }
        // Debian installs several versions side by side, none of them in PATH.
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let mut packaged: Vec<(u32, PathBuf)> = versions
            .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
            .collect();
        packaged.sort_by(|a, b| b.cmp(a));
        let path = env::var_os("PATH").unwrap_or_default();
        packaged
            .into_iter()
            .map(|(_, directory)| directory)
            .chain(env::split_paths(&path))
            .find(|directory| complete(directory))
            .map(Self)
            .ok_or_else(|| {
                Error::new("no PostgreSQL server found: install one, or name the directory of `initdb` in TURNO_PG_BIN")
            })
    }

    /// Creates `directory` for the server's user and runs `initdb` in it.
    pub(super) fn initdb(&self, directory: &Path) -> Result<(), Error> {
        let owner = prepare(directory).map_err(|error| {
            Error::new(format!("failed to prepare {} for the database server: {error}", directory.display()))
        })?;
        let mut command = self.command("initdb", owner);
        command
            .arg("-D")
            .arg(directory.join("data"))
            .args(["-U", USER, "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8"])
            // Independent of the `fsync` setting: a cluster lost in a machine crash is created again.
            .arg("--no-sync")
            .stdin(Stdio::null());
        let output = command.output().map_err(|error| Error::new(format!("failed to run initdb: {error}")))?;
        if output.status.success() {
            return Ok(());
        }
        Err(Error::new(format!("initdb ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr))))
    }

    /// Returns the command `pg_basebackup`, run as the owner of `directory`. Creates the directory.
    pub(super) fn copying(&self, directory: &Path) -> Result<Command, Error> {
        let owner = prepare(directory).map_err(|error| {
            Error::new(format!("failed to prepare {} for the database server: {error}", directory.display()))
        })?;
        Ok(self.command("pg_basebackup", owner))
    }

    /// Returns the command `postgres`, run as the owner of `directory`.
    pub(super) fn postgres(&self, directory: &Path) -> Result<Command, Error> {
        let metadata = fs::metadata(directory)
            .map_err(|error| Error::new(format!("failed to look at {}: {error}", directory.display())))?;
        Ok(self.command("postgres", drop_to(metadata.uid(), metadata.gid())))
    }

    fn command(&self, program: &str, user: Option<(u32, u32)>) -> Command {
        let mut command = Command::new(self.0.join(program));
        // The server's user may lack access to the caller's working directory, and variables such as PGPORT would take
        // effect.
        command.current_dir("/");
        for (name, _) in env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("PG") || name.starts_with("LC_")) {
                command.env_remove(name);
            }
        }
        if let Some((uid, gid)) = user {
            command.uid(uid).gid(gid);
        }
        command
    }
}

fn complete(directory: &Path) -> bool {
    ["initdb", "postgres"].iter().all(|program| directory.join(program).is_file())
}

/// Creates the directory and, for root, changes its owner. Returns the user and group to run as.
fn prepare(directory: &Path) -> std::io::Result<Option<(u32, u32)>> {
    fs::create_dir_all(directory)?;
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755))?;
    let socket = directory.join("socket");
    fs::create_dir_all(&socket)?;
    // The owner of the new directory is the current user; std has no other safe way to ask.
    let owner = match fs::metadata(&socket)?.uid() {
        0 => unprivileged(),
        _ => None,
    };
    if let Some((uid, gid)) = owner {
        chown(&socket, Some(uid), Some(gid))?;
        chown(directory, Some(uid), Some(gid))?;
    }
    Ok(owner)
}

/// Returns the owner only for root: for any other user the directory already has the right owner.
fn drop_to(uid: u32, gid: u32) -> Option<(u32, u32)> {
    let root = fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0);
    root.then_some((uid, gid))
}

fn unprivileged() -> Option<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    UNPRIVILEGED.iter().find_map(|wanted| {
        let line = users.lines().find(|line| line.split(':').next() == Some(wanted))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    })
}
