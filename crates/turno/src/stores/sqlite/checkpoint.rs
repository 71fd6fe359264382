//! Moving the log into the file, beside the commits and not in their way.
//!
//! SQLite would do it inside the commit that makes the log too long, and whoever waits for that commit would
//! wait for it. Here a thread of its own does it. A passive checkpoint holds nobody up but never finishes
//! under a committer that does not rest; so once the log is long, the tail that is left is moved under the
//! write lock, after which the log starts anew.

use super::statements as sql;
use crate::store::StoreError;
use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

/// Pages in the log between two passive checkpoints: 4 MiB.
const PASSIVE: i32 = 1_000;
/// Pages in the log from which on the committer is held up for the tail: 32 MiB.
const RESTART: i32 = 8_000;

/// The thread. Its connection is the last to be closed, and moves the rest of the log into the file: two that close at
/// the same moment would each leave that to the other.
pub(super) struct Checkpoints {
    thread: Option<JoinHandle<()>>,
    /// Dropped when the others are closed.
    others: Option<mpsc::Sender<()>>,
}

impl Checkpoints {
    /// Lets every commit of `writer` say how long the log is, and checkpoints on `own` when it is long enough.
    pub(super) fn start(writer: &mut Connection, own: Connection) -> Result<Checkpoints, StoreError> {
        let (wake, woken) = mpsc::sync_channel(1);
        let (others, closed) = mpsc::channel();
        let due = Arc::new(AtomicI32::new(PASSIVE));
        let threshold = due.clone();
        let mut before = 0;
        writer.wal_hook(Some(move |_: &mut _, pages| {
            // Shorter than before: the log has started anew.
            if pages < before {
                threshold.store(PASSIVE, Ordering::Relaxed);
            }
            before = pages;
            if pages >= threshold.load(Ordering::Relaxed) {
                // Full means that it has been woken already.
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
            // Nobody sends anything: this waits for the other end to be dropped.
            let _ = closed.recv();
        };
        let thread = thread::Builder::new().name("turno-checkpoint".into()).spawn(work);
        let thread = thread.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        Ok(Checkpoints { thread: Some(thread), others: Some(others) })
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.others = None;
        if let Some(thread) = self.thread.take() {
            // It has nothing to report: a failed checkpoint was logged, and the log is still there.
            let _ = thread.join();
        }
    }
}

/// Answers how many pages the log had.
fn checkpoint(connection: &Connection) -> Result<i32, rusqlite::Error> {
    // The first column says whether somebody who reads an old state was in the way. Until they are done the
    // log grows; then the next try succeeds.
    let run = |text| connection.query_row(text, [], |row| row.get(1));
    let pages = run(sql::CHECKPOINT_PASSIVE)?;
    if pages >= RESTART {
        run(sql::CHECKPOINT_RESTART)?;
    }
    Ok(pages)
}
