//! Threads that own connections and run jobs: one that writes, a few that read.
//!
//! The channels are unbounded, but the engine awaits every answer, so there are never more jobs than calls under way. A
//! job whose caller has gone is run nevertheless.

use super::file::File;
use super::sql;
use crate::store::{Pending, StoreError};
use rusqlite::Connection;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};

/// How often an idle writer checks whether another process has written.
const LOOK: Duration = Duration::from_millis(100);

/// How often the writer yields before it sleeps: about a tenth of a millisecond.
const YIELDS: u32 = 200;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// Threads with a common queue of jobs. Dropping them waits until all accepted jobs are done.
pub(super) struct Workers {
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
    /// The file that the writer checks around each job.
    file: Option<Arc<File>>,
}

impl Workers {
    /// Starts the one writer. It notifies `changed` when another process has written to the file, and refuses jobs once
    /// the file is lost.
    pub(super) fn writer(connection: Connection, changed: Arc<Notify>, file: Arc<File>) -> Result<Workers, StoreError> {
        let (sender, jobs) = mpsc::channel();
        let mut workers = Workers { jobs: Some(sender), threads: Vec::new(), file: Some(file) };
        // Read here and not on the thread, so that a write by another process before the thread starts is noticed too.
        let seen = data_version(&connection);
        workers.spawn("turno-write", move || write(connection, seen, &jobs, &changed))?;
        Ok(workers)
    }

    /// Starts one reader per connection.
    pub(super) fn readers(name: &str, connections: Vec<Connection>) -> Result<Workers, StoreError> {
        let (sender, jobs) = mpsc::channel();
        let jobs = Arc::new(Mutex::new(jobs));
        let mut workers = Workers { jobs: Some(sender), threads: Vec::new(), file: None };
        for connection in connections {
            let jobs = jobs.clone();
            workers.spawn(name, move || read(connection, &jobs))?;
        }
        Ok(workers)
    }

    fn spawn(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), StoreError> {
        let thread = thread::Builder::new().name(name.into()).spawn(work);
        let thread = thread.map_err(|error| StoreError::Unavailable(error.to_string().into()))?;
        self.threads.push(thread);
        Ok(())
    }

    /// Runs `work` on one of the threads.
    pub(super) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Pending<'_, T> {
        Box::pin(async move {
            let closed = || StoreError::Unavailable("the store is closed; open it again".into());
            let (sender, answer) = oneshot::channel();
            let file = self.file.clone();
            let job: Job = Box::new(move |connection| {
                // A panic in one group must not stop the store for other callers. Unwinding has rolled the transaction
                // back.
                let done = catch_unwind(AssertUnwindSafe(|| match file {
                    Some(file) => file.guard(|| work(connection)),
                    None => work(connection),
                }));
                let bug = |_| Err(StoreError::Bug("the work on it panicked, see the log"));
                // If the caller has gone, the committed result stays.
                let _ = sender.send(done.unwrap_or_else(bug));
            });
            let jobs = self.jobs.as_ref().ok_or_else(closed)?;
            jobs.send(job).map_err(|_| closed())?;
            answer.await.map_err(|_| closed())?
        })
    }

    /// Runs `work` after all accepted jobs, without waiting for it.
    pub(super) fn leave(&self, work: impl FnOnce(&mut Connection) + Send + 'static) {
        // If the threads have ended, there is nothing to run it on.
        let _ = self.jobs.as_ref().map(|jobs| jobs.send(Box::new(work)));
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // Panics are caught in each job.
            let _ = thread.join();
        }
    }
}

fn write(mut connection: Connection, mut seen: Option<i64>, jobs: &Receiver<Job>, changed: &Notify) {
    loop {
        let job = next_job_soon(jobs).map_or_else(|| jobs.recv_timeout(LOOK), Ok);
        // Only writes of other connections change this number.
        let version = data_version(&connection);
        if version != seen {
            seen = version;
            changed.notify_one();
        }
        match job {
            Ok(job) => job(&mut connection),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// Returns the next job if it arrives at once, as when a caller that was just answered calls again. Sleeping and waking
/// would take as long as a small commit. Yields the processor meanwhile.
fn next_job_soon(jobs: &Receiver<Job>) -> Option<Job> {
    for _ in 0..YIELDS {
        if let Ok(job) = jobs.try_recv() {
            return Some(job);
        }
        thread::yield_now();
    }
    None
}

fn read(mut connection: Connection, jobs: &Mutex<Receiver<Job>>) {
    loop {
        // The lock is held while waiting, so the other readers wait for the lock, and the one that has it gets the next
        // job.
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match job {
            Ok(job) => job(&mut connection),
            Err(_) => return,
        }
    }
}

/// Returns `None` if the version cannot be read. The next job on the file then reports the fault.
fn data_version(connection: &Connection) -> Option<i64> {
    let mut statement = connection.prepare_cached(&sql::DATA_VERSION).ok()?;
    statement.query_row([], |row| row.get(0)).ok()
}
