//! Whether the file is still the one that was opened.
//!
//! SQLite continues in a file that was deleted or replaced, because it has the file open. Its commits succeed, but into
//! a file that no path leads to. So the writer checks the file before and after each job. That costs two system calls,
//! next to a flush.

use super::SqliteStore;
use crate::store::{FileFault, StoreError};
use std::fs::{Metadata, metadata};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::Mutex;
use turno_core::time::{Span, Time};

/// Identifies a file independently of its name.
type Identity = (u64, u64);

/// The open file, its log, and the faults noticed so far.
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
    log: PathBuf,
    /// `None` if the path leads to no file, or where files have no identity. Then nothing is checked.
    opened: Option<Identity>,
    log_opened: Option<Identity>,
    /// The file never shrinks, because nothing vacuums it.
    length: AtomicU64,
    cut: AtomicBool,
    logged: AtomicBool,
}

impl File {
    /// Records which file is at `path`, and which log beside it.
    pub(super) fn opened(path: &str) -> File {
        let log = PathBuf::from(format!("{path}-wal"));
        let found = metadata(path).ok();
        File {
            path: PathBuf::from(path),
            opened: found.as_ref().and_then(identity),
            log_opened: metadata(&log).ok().as_ref().and_then(identity),
            length: AtomicU64::new(found.map_or(0, |found| found.len())),
            log,
            cut: AtomicBool::new(false),
            logged: AtomicBool::new(false),
        }
    }

    /// Returns a fault if the file is not the one that was opened. Logs the first fault.
    pub(super) fn check(&self) -> Result<(), FileFault> {
        let checked = self.look();
        if let Err(fault) = &checked
            && !self.logged.swap(true, Ordering::Relaxed)
        {
            tracing::error!(path = %self.path.display(), %fault, "the database file is lost");
        }
        checked
    }

    /// Runs a job that may write. If the file was lost meanwhile, the commit went into an unreachable file, so the
    /// outcome is unknown.
    pub(super) fn guard<T>(&self, job: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.check()?;
        let done = job()?;
        self.check().map_err(|fault| StoreError::Unknown(fault.to_string()))?;
        Ok(done)
    }

    fn look(&self) -> Result<(), FileFault> {
        let Some(opened) = self.opened else {
            return Ok(());
        };
        let found = metadata(&self.path).map_err(|_| FileFault::Gone)?;
        if identity(&found) != Some(opened) {
            return Err(FileFault::Replaced);
        }
        if found.len() < self.length.fetch_max(found.len(), Ordering::Relaxed) {
            // A checkpoint may restore the length, but with holes, so the fault is remembered.
            self.cut.store(true, Ordering::Relaxed);
        }
        if self.cut.load(Ordering::Relaxed) {
            return Err(FileFault::CutShort);
        }
        if self.log_opened.is_some() && metadata(&self.log).ok().as_ref().and_then(identity) != self.log_opened {
            return Err(FileFault::LogGone);
        }
        Ok(())
    }
}

/// When readiness last tried a write, and the result.
pub(super) type Probed = Mutex<Option<(Time, Result<(), StoreError>)>>;

/// How often readiness may cost a write.
const PROBE_EVERY: Span = Span::from_secs(1);

impl SqliteStore {
    /// Writes to the file, at most once per [`PROBE_EVERY`]. Calls in between get the last result.
    pub(super) async fn probe(&self) -> Result<(), StoreError> {
        let mut probed = self.probed.lock().await;
        let now = self.clock.estimate();
        if let Some((_, result)) = probed.as_ref().filter(|(at, _)| *at <= now && now < *at + PROBE_EVERY) {
            return result.clone();
        }
        let written = self.write(|write| write.raise()).await.map_err(|error| match error {
            StoreError::Unavailable(text) => FileFault::Unwritable(text).into(),
            error => error,
        });
        *probed = Some((now, written.clone()));
        written
    }
}

#[cfg(unix)]
fn identity(found: &Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    Some((found.dev(), found.ino()))
}

/// On other systems an open file cannot be deleted.
#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<Identity> {
    None
}
