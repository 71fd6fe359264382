//! The rate limit of the log at info; further lines are counted.

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use tokio::sync::Notify;
use turno_core::time::{Span, Time};

/// Lines per window: as many as a person can follow. A busy server has thousands, and then their sum is enough.
const LINES_MAX: u32 = 20;
/// The window of the limit.
const WINDOW: Span = Span::from_secs(1);

/// The current window. Threads may race at its border and let a few more lines through.
#[derive(Debug, Default)]
pub(super) struct Rate {
    since: AtomicI64,
    used: AtomicU32,
    left_out: AtomicU64,
    /// Notified when the first line of a window is left out.
    pub(super) over: Notify,
}

impl Rate {
    /// Returns whether one more line may be written at `now`.
    pub(super) fn take(&self, now: Time) -> bool {
        let since = self.since.load(Ordering::Relaxed);
        if now.0 >= since.saturating_add(WINDOW.0) || now.0 < since {
            self.since.store(now.0, Ordering::Relaxed);
            self.used.store(0, Ordering::Relaxed);
        }
        self.used.fetch_add(1, Ordering::Relaxed) < LINES_MAX
    }

    /// Counts a line that was not written.
    pub(super) fn leave_out(&self) {
        if self.left_out.fetch_add(1, Ordering::Relaxed) == 0 {
            self.over.notify_one();
        }
    }

    /// Returns when the sum of a window that began at `now` is due.
    pub(super) fn due(now: Time) -> Time {
        now + WINDOW
    }

    /// Returns how many lines were left out since the last call.
    pub(super) fn sum(&self) -> u64 {
        self.left_out.swap(0, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(rate: &Rate, now: i64) -> usize {
        (0..100).filter(|_| rate.take(Time(now))).count()
    }

    #[test]
    fn each_second_has_room_for_twenty_lines() {
        let rate = Rate::default();
        assert_eq!(taken(&rate, 5_000), 20);
        assert_eq!(taken(&rate, 5_999), 0, "the same second");
        assert_eq!(taken(&rate, 6_000), 20);
    }

    #[test]
    fn a_clock_that_steps_back_does_not_silence_the_log() {
        let rate = Rate::default();
        assert_eq!(taken(&rate, 90_000_000), 20);
        assert_eq!(taken(&rate, 5_000), 20);
    }

    #[test]
    fn left_out_lines_are_summed_once() {
        let rate = Rate::default();
        (0..7).for_each(|_| rate.leave_out());
        assert_eq!((rate.sum(), rate.sum()), (7, 0));
    }
}
