//! Whether the file is still the one that was opened.
//!
//! SQLite goes on in a file that was deleted or replaced: it has it open, and commits succeed into what nobody will find
//! again. So the writer looks before and after each of its jobs. That is two calls of the system, next to a flush.

use super::SqliteStore;
use crate::store::{FileFault, StoreError};
use std::fs::{Metadata, metadata};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::Mutex;
use turno_core::time::{Span, Time};

/// Which file it is, whatever its name.
type Identity = (u64, u64);

/// The open file, its log, and what was noticed about them.
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
    log: PathBuf,
    /// Nothing if it has no name to look for.
    opened: Option<Identity>,
    log_opened: Option<Identity>,
    /// It never shrinks: nothing here vacuums.
    length: AtomicU64,
    cut: AtomicBool,
    told: AtomicBool,
}

impl File {
    /// Remembers which file is at `path`, and which log beside it.
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
            told: AtomicBool::new(false),
        }
    }

    /// Fails if the file is not the one that was opened. The first time it is logged.
    pub(super) fn check(&self) -> Result<(), FileFault> {
        let checked = self.look();
        if let Err(fault) = &checked
            && !self.told.swap(true, Ordering::Relaxed)
        {
            tracing::error!(path = %self.path.display(), %fault, "the database file is lost");
        }
        checked
    }

    /// Runs a job that may write. If the file was lost meanwhile, what was committed is in a file that nobody will find.
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
            // A checkpoint may make it as long as it was, with holes.
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

/// When a write was last tried for readiness, and what came of it.
pub(super) type Probed = Mutex<Option<(Time, Result<(), StoreError>)>>;

/// How often readiness may cost a write.
const PROBE_EVERY: Span = Span::from_secs(1);

impl SqliteStore {
    /// Writes for real, at most once in [`PROBE_EVERY`]: whoever asks in between gets the answer of that time.
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

/// Elsewhere a file that is open cannot be deleted.
#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<Identity> {
    None
}
