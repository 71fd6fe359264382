//! A copy of the database, consistent as of one instant, while reads and commits continue.
//!
//! A separate connection reads everything in one step, and so in one read transaction. Commits during that time go into
//! the log behind it. The copy is complete and on disk before the call returns.

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
    // Created here, so that one of two backups to the same file is refused.
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    // The copy contains hashes of secrets, so only its owner may read it.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(to).map_err(|error| cannot(to, &error))?;
    let copied = copy(&source, to).and_then(|()| sync(to).map_err(|error| cannot(to, &error)));
    if copied.is_err() {
        // A partial copy is worse than none. The error is returned below.
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
        _ => return Err(StoreError::Unavailable(format!("{} is in use by another process", to.display()).into())),
    }
    drop(backup);
    target.close().map_err(|(_, error)| error.into())
}

fn sync(to: &Path) -> Result<(), Error> {
    File::open(to)?.sync_all()?;
    // The folder must be synced too, because it holds the file's name.
    match to.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => File::open(folder)?.sync_all(),
        _ => File::open(".")?.sync_all(),
    }
}

fn cannot(to: &Path, error: &Error) -> StoreError {
    let to = to.display();
    match error.kind() {
        ErrorKind::AlreadyExists => StoreError::Rejected(format!("{to} exists already; name a new file").into()),
        ErrorKind::NotFound => {
            StoreError::Rejected(format!("the folder of {to} does not exist; create it first").into())
        }
        _ => StoreError::Rejected(format!("failed to write {to}: {error}").into()),
    }
}
