//! The shared record of all instances: the calls of the web service, and the fault that hits the first instance.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// The fault that hits the first instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Its process and its connections end.
    Dead,
    /// It does nothing any more, and its connections stay open.
    Hung,
}

/// The instance must stop, because the fault has hit it.
pub(crate) struct Struck;

/// The record of one run.
pub(crate) struct Board {
    start: Instant,
    work: Duration,
    calls: Vec<AtomicU32>,
    /// When each record was first processed, in microseconds from the start, or 0.
    at: Vec<AtomicU64>,
    processed: AtomicUsize,
    wasted: AtomicU64,
    fate: AtomicU8,
    /// The records that the first instance held when the fault hit it.
    held: Mutex<Vec<usize>>,
    over: watch::Sender<bool>,
}

/// Returns the current time. All measurements use this function.
#[expect(clippy::disallowed_methods, reason = "the program measures durations")]
fn now() -> Instant {
    Instant::now()
}

impl Board {
    pub(crate) fn new(records: usize, work: Duration) -> Board {
        Board {
            start: now(),
            work,
            calls: (0..records).map(|_| AtomicU32::new(0)).collect(),
            at: (0..records).map(|_| AtomicU64::new(0)).collect(),
            processed: AtomicUsize::new(0),
            wasted: AtomicU64::new(0),
            fate: AtomicU8::new(0),
            held: Mutex::default(),
            over: watch::Sender::new(false),
        }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        now().saturating_duration_since(self.start)
    }

    /// Calls the web service for one record. Fails if the fault hits the instance, which holds the records `having`.
    pub(crate) async fn call(&self, instance: usize, record: usize, having: &[usize]) -> Result<(), Struck> {
        let fate = if instance == 0 { self.fate.load(Ordering::SeqCst) } else { 0 };
        if fate > 0 {
            self.held.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(having);
            if fate == 2 {
                let mut over = self.over.subscribe();
                // The instance hangs until the run ends.
                drop(over.wait_for(|over| *over).await.map(drop));
            }
            return Err(Struck);
        }
        if !self.work.is_zero() {
            tokio::time::sleep(self.work).await;
        }
        if self.calls[record].fetch_add(1, Ordering::SeqCst) == 0 {
            let micros = u64::try_from(self.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.at[record].store(micros.max(1), Ordering::SeqCst);
            self.processed.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Counts attempts that got no record.
    pub(crate) fn waste(&self, attempts: u64) {
        self.wasted.fetch_add(attempts, Ordering::Relaxed);
    }

    pub(crate) fn strike(&self, fate: Fate) {
        self.fate.store(if fate == Fate::Dead { 1 } else { 2 }, Ordering::SeqCst);
    }

    /// Ends the run, so that hung instances return.
    pub(crate) fn strike_all(&self) {
        self.over.send_replace(true);
    }

    pub(crate) fn processed(&self) -> usize {
        self.processed.load(Ordering::SeqCst)
    }

    pub(crate) fn wasted(&self) -> u64 {
        self.wasted.load(Ordering::Relaxed)
    }

    /// Returns the number of records that were processed more than once.
    pub(crate) fn doubled(&self) -> usize {
        self.calls.iter().filter(|calls| calls.load(Ordering::SeqCst) > 1).count()
    }

    /// Returns the number of records that were not processed.
    pub(crate) fn left(&self) -> usize {
        self.calls.len() - self.processed()
    }

    /// Returns when the last record of the failed instance was processed.
    pub(crate) fn back(&self) -> Option<Duration> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.iter().map(|record| Duration::from_micros(self.at[*record].load(Ordering::SeqCst))).max()
    }
}
