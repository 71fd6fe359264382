//! What all instances do, seen together: the web service that counts its calls, and the fate that strikes one of them.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// What happens to the first instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Its process ends, and its connections with it.
    Dead,
    /// It does nothing any more, and its connections stay.
    Hung,
}

/// The instance shall end.
pub(crate) struct Struck;

/// The whole picture.
pub(crate) struct Board {
    start: Instant,
    work: Duration,
    calls: Vec<AtomicU32>,
    /// When each was first processed, in microseconds from the start; 0 if it was not.
    at: Vec<AtomicU64>,
    processed: AtomicUsize,
    wasted: AtomicU64,
    fate: AtomicU8,
    /// What the first instance had when it was struck.
    held: Mutex<Vec<usize>>,
    over: watch::Sender<bool>,
}

/// The time that figures are made of.
#[expect(clippy::disallowed_methods, reason = "measuring how long something took is what this program is for")]
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

    /// The web service does one record for an instance that has these; unless the instance is struck down before.
    pub(crate) async fn call(&self, instance: usize, record: usize, having: &[usize]) -> Result<(), Struck> {
        let fate = if instance == 0 { self.fate.load(Ordering::SeqCst) } else { 0 };
        if fate > 0 {
            self.held.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(having);
            if fate == 2 {
                let mut over = self.over.subscribe();
                // It hangs until everything is over.
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

    /// Attempts that got nothing.
    pub(crate) fn waste(&self, attempts: u64) {
        self.wasted.fetch_add(attempts, Ordering::Relaxed);
    }

    pub(crate) fn strike(&self, fate: Fate) {
        self.fate.store(if fate == Fate::Dead { 1 } else { 2 }, Ordering::SeqCst);
    }

    /// Nobody needs to hang any longer.
    pub(crate) fn strike_all(&self) {
        self.over.send_replace(true);
    }

    pub(crate) fn processed(&self) -> usize {
        self.processed.load(Ordering::SeqCst)
    }

    pub(crate) fn wasted(&self) -> u64 {
        self.wasted.load(Ordering::Relaxed)
    }

    /// Records for which the service was called more than once.
    pub(crate) fn doubled(&self) -> usize {
        self.calls.iter().filter(|calls| calls.load(Ordering::SeqCst) > 1).count()
    }

    /// Records that nobody has processed.
    pub(crate) fn left(&self) -> usize {
        self.calls.len() - self.processed()
    }

    /// When the last of what the struck instance had was processed after all.
    pub(crate) fn back(&self) -> Option<Duration> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.iter().map(|record| Duration::from_micros(self.at[*record].load(Ordering::SeqCst))).max()
    }
}
