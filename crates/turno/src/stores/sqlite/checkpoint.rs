//! Checkpoints: moving the log into the file, outside of the commits.
//!
//! SQLite would do this inside the commit that makes the log too long, and the callers of that commit would wait. Here
//! a separate thread does it. A passive checkpoint blocks no commit, but never completes under a continuous stream of
//! them. So once the log is long, the remaining tail is moved under the write lock, and the log restarts.

use super::sql;
use crate::store::StoreError;
use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

/// Pages in the log between two passive checkpoints: 4 MiB.
const PASSIVE: i32 = 1_000;
/// Pages in the log from which on commits wait while the tail is moved: 32 MiB.
const RESTART: i32 = 8_000;

/// The checkpoint thread. Its connection closes last and moves the rest of the log into the file. If two connections
/// closed at the same moment, each would leave that to the other.
pub(super) struct Checkpoints {
    thread: Option<JoinHandle<()>>,
    /// Dropped when the other connections are closed.
    others: Option<mpsc::Sender<()>>,
}

impl Checkpoints {
    /// Watches the log's length after every commit of `writer`, and checkpoints on `own` when the log is long enough.
    pub(super) fn start(writer: &mut Connection, own: Connection) -> Result<Checkpoints, StoreError> {
        let (wake, woken) = mpsc::sync_channel(1);
        let (others, closed) = mpsc::channel();
        let due = Arc::new(AtomicI32::new(PASSIVE));
        let threshold = due.clone();
        let mut before = 0;
        writer.wal_hook(Some(move |_: &mut _, pages| {
            // The log is shorter than before, so it has restarted.
            if pages < before {
                threshold.store(PASSIVE, Ordering::Relaxed);
            }
            before = pages;
            if pages >= threshold.load(Ordering::Relaxed) {
                // If the channel is full, the thread has been woken already.
                let _ = wake.try_send(());
            }
            Ok(())
        }))?;
        let work = move || {
            while woken.recv().is_ok() {
                match checkpoint(&own) {
                    Ok(pages) => due.store(pages.saturating_add(PASSIVE), Ordering::Relaxed),
                    Err(error) => {
                        tracing::warn!(%error, "failed to move the log into the file; trying again later");
                        due.fetch_add(PASSIVE, Ordering::Relaxed);
                    }
                }
            }
            // Nothing is sent on this channel. Waits until the other end is dropped.
            let _ = closed.recv();
        };
        let thread = thread::Builder::new().name("turno-checkpoint".into()).spawn(work);
        let thread = thread.map_err(|error| StoreError::Unavailable(error.to_string().into()))?;
        Ok(Checkpoints { thread: Some(thread), others: Some(others) })
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.others = None;
        if let Some(thread) = self.thread.take() {
            // The thread has nothing to report: a failed checkpoint was logged, and the log still exists.
            let _ = thread.join();
        }
    }
}

/// Moves the log into the file. Returns how many pages the log had.
fn checkpoint(connection: &Connection) -> Result<i32, rusqlite::Error> {
    // The first column says whether a reader of an old snapshot was in the way. Until that reader is done the log
    // grows; then the next attempt succeeds.
    let run = |text| connection.query_row(text, [], |row| row.get(1));
    let pages = run(&sql::CHECKPOINT_PASSIVE)?;
    if pages >= RESTART {
        run(&sql::CHECKPOINT_RESTART)?;
    }
    Ok(pages)
}
