//! Threads that own connections and work off jobs: one that writes, a few that read.
//!
//! The channels have no bound of their own: the engine awaits every answer, so there are never more jobs than
//! it has calls under way. A job whose caller has gone away is done nevertheless.

use super::file::File;
use super::statements as sql;
use crate::store::{Pending, StoreError};
use rusqlite::Connection;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};

/// How often an idle writer looks whether another process has written.
const LOOK: Duration = Duration::from_millis(100);

/// How often the writer lets others have their turn before it goes to sleep: about a tenth of a millisecond.
const YIELDS: u32 = 200;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// Some threads with a common queue of jobs. Dropping them lets them finish what was accepted.
pub(super) struct Workers {
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
    /// What the writer looks after.
    file: Option<Arc<File>>,
}

impl Workers {
    /// The one writer. It tells `changed` when somebody else has written to the file, and refuses jobs once the file is
    /// lost.
    pub(super) fn writer(connection: Connection, changed: Arc<Notify>, file: Arc<File>) -> Result<Workers, StoreError> {
        let (sender, jobs) = mpsc::channel();
        let mut workers = Workers { jobs: Some(sender), threads: Vec::new(), file: Some(file) };
        // Read here and not by the thread: what others write before it has its first turn is news, too.
        let seen = data_version(&connection);
        workers.spawn("turno-write", move || write(connection, seen, &jobs, &changed))?;
        Ok(workers)
    }

    /// One reader per connection.
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
        let thread = thread.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        self.threads.push(thread);
        Ok(())
    }

    /// Does `work` on one of the threads.
    pub(super) fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Pending<'_, T> {
        Box::pin(async move {
            let closed = || StoreError::Unavailable("the store is closed; open it again".into());
            let (sender, answer) = oneshot::channel();
            let file = self.file.clone();
            let job: Job = Box::new(move |connection| {
                // A bug in one group must not silence the store for everybody else. Unwinding has rolled
                // the transaction back.
                let done = catch_unwind(AssertUnwindSafe(|| match file {
                    Some(file) => file.guard(|| work(connection)),
                    None => work(connection),
                }));
                let bug = |_| Err(StoreError::Rejected("a bug: the work on it panicked, see the log".into()));
                // Nobody waits any more: what was committed stays.
                let _ = sender.send(done.unwrap_or_else(bug));
            });
            let jobs = self.jobs.as_ref().ok_or_else(closed)?;
            jobs.send(job).map_err(|_| closed())?;
            answer.await.map_err(|_| closed())?
        })
    }

    /// Does `work` without anybody waiting for it, behind what was accepted before.
    pub(super) fn leave(&self, work: impl FnOnce(&mut Connection) + Send + 'static) {
        // If the threads have ended, there is nothing left to do it on.
        let _ = self.jobs.as_ref().map(|jobs| jobs.send(Box::new(work)));
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // Panics were caught, job by job.
            let _ = thread.join();
        }
    }
}

fn write(mut connection: Connection, mut seen: Option<i64>, jobs: &Receiver<Job>, changed: &Notify) {
    loop {
        let job = soon(jobs).map_or_else(|| jobs.recv_timeout(LOOK), Ok);
        // Only what others write changes this number on this connection.
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

/// The next job if it comes at once, as it does when those who were just answered ask again: going to sleep and being
/// woken would take as long as a small commit. Whoever else wants the processor has it meanwhile.
fn soon(jobs: &Receiver<Job>) -> Option<Job> {
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
        // The lock is held while waiting, so the others wait for the lock: whoever has it gets the next job.
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match job {
            Ok(job) => job(&mut connection),
            Err(_) => return,
        }
    }
}

/// Nothing if it cannot be read: then whoever works on the file next will say what is wrong with it.
fn data_version(connection: &Connection) -> Option<i64> {
    let mut statement = connection.prepare_cached(sql::DATA_VERSION).ok()?;
    statement.query_row([], |row| row.get(0)).ok()
}
