//! Whether the file is still the one that was opened.
//!
//! SQLite continues in a file that was deleted or replaced, because it has the file open. Its commits succeed, but into
//! a file that no path leads to. So the writer checks the file before and after each job. That costs two system calls,
//! next to a flush.

use super::SqliteStore;
use super::connection::LOG_KEPT;
use crate::store::{FileFault, StoreError};
use std::fs::{Metadata, metadata};
use std::io::Read;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::Mutex;
use turno_core::time::{Span, Time};

/// The first bytes of every SQLite database.
const HEADER: &[u8; 16] = b"SQLite format 3\0";

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
    /// The log never shrinks below [`LOG_KEPT`], or below its longest length if that is less.
    log_length: AtomicU64,
    log_cut: AtomicBool,
    logged: AtomicBool,
}

impl File {
    /// Records which file is at `path`, and which log beside it.
    pub(super) fn opened(path: &str) -> File {
        let log = PathBuf::from(format!("{path}-wal"));
        let found = metadata(path).ok();
        let log_found = metadata(&log).ok();
        File {
            path: PathBuf::from(path),
            opened: found.as_ref().and_then(identity),
            log_opened: log_found.as_ref().and_then(identity),
            log_length: AtomicU64::new(log_found.map_or(0, |found| found.len().min(LOG_KEPT.unsigned_abs()))),
            log_cut: AtomicBool::new(false),
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
        if is_cut(found.len(), &self.length, &self.cut) {
            return Err(FileFault::CutShort);
        }
        let Some(log_opened) = self.log_opened else {
            return Ok(());
        };
        let log = metadata(&self.log).map_err(|_| FileFault::LogGone)?;
        if identity(&log) != Some(log_opened)
            || is_cut(log.len().min(LOG_KEPT.unsigned_abs()), &self.log_length, &self.log_cut)
        {
            return Err(FileFault::LogGone);
        }
        Ok(())
    }

    /// Checks that the file still begins as a database does. Only readiness reads the file for that.
    fn check_header(&self) -> Result<(), FileFault> {
        let mut header = [0; HEADER.len()];
        let read = std::fs::File::open(&self.path).and_then(|mut file| file.read_exact(&mut header));
        if self.opened.is_some() && read.is_ok() && header != *HEADER {
            return Err(FileFault::Replaced);
        }
        Ok(())
    }
}

/// Returns whether a file has ever been shorter than before. Later writes may restore its length, but with holes, so
/// the fault is remembered.
fn is_cut(length: u64, longest: &AtomicU64, cut: &AtomicBool) -> bool {
    if length < longest.fetch_max(length, Ordering::Relaxed) {
        cut.store(true, Ordering::Relaxed);
    }
    cut.load(Ordering::Relaxed)
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
        self.file.check_header()?;
        let written = self.write(|write| write.raise()).await.map_err(|error| match error {
            StoreError::Unavailable(text) => FileFault::Unwritable(text.text).into(),
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
