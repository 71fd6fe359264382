//! A copy of the database, consistent as of one instant, while everybody goes on.
//!
//! It is read by a connection of its own in one go, hence in one read transaction: commits that come meanwhile go
//! into the log behind it. The copy is complete and on the disk before the answer.

use super::connection;
use crate::store::StoreError;
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind};
use std::path::Path;

/// Copies the database at `from` into a new file.
pub(super) fn write(from: &str, to: &Path) -> Result<(), StoreError> {
    let source = connection::reader(from)?;
    // Made here and now, so that of two backups to the same place one is refused.
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    // It holds what the database holds: hashes of secrets among it.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(to).map_err(|error| cannot(to, &error))?;
    let copied = copy(&source, to).and_then(|()| sync(to).map_err(|error| cannot(to, &error)));
    if copied.is_err() {
        // Half a copy is worse than none; that it could not be written is told below.
        let _ = std::fs::remove_file(to);
    }
    copied
}

fn copy(source: &Connection, to: &Path) -> Result<(), StoreError> {
    let mut target = Connection::open(to)?;
    // The file is new and synced once, at the end.
    target.pragma_update(None, "synchronous", "OFF")?;
    let backup = Backup::new(source, &mut target)?;
    match backup.step(-1)? {
        StepResult::Done => {}
        _ => return Err(StoreError::Unavailable(format!("{} is in use by another process", to.display()))),
    }
    drop(backup);
    target.close().map_err(|(_, error)| error.into())
}

fn sync(to: &Path) -> Result<(), Error> {
    File::open(to)?.sync_all()?;
    // The file's name is kept by its folder.
    match to.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => File::open(folder)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}

fn cannot(to: &Path, error: &Error) -> StoreError {
    let to = to.display();
    match error.kind() {
        ErrorKind::AlreadyExists => StoreError::Rejected(format!("{to} exists already; name a new file")),
        ErrorKind::NotFound => StoreError::Rejected(format!("the folder of {to} does not exist; create it first")),
        _ => StoreError::Rejected(format!("failed to write {to}: {error}")),
    }
}
