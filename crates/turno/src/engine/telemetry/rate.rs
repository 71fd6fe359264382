//! How many lines are worth reading in a second; the rest is counted.

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use tokio::sync::Notify;
use turno_core::time::{Span, Time};

/// A person can follow this many; a server at work has thousands, and an incident is found by the sum.
const LINES_MAX: u32 = 20;
/// The span that they are counted in.
const WINDOW: Span = Span::from_secs(1);

/// A window of a second that lines are let through in. Threads may race at its border and let a few more through.
#[derive(Debug, Default)]
pub(super) struct Rate {
    since: AtomicI64,
    used: AtomicU32,
    left_out: AtomicU64,
    /// Told when the first line of a window is left out.
    pub(super) over: Notify,
}

impl Rate {
    /// Whether one more may be written at `now`.
    pub(super) fn take(&self, now: Time) -> bool {
        let since = self.since.load(Ordering::Relaxed);
        if now.0 >= since.saturating_add(WINDOW.0) || now.0 < since {
            self.since.store(now.0, Ordering::Relaxed);
            self.used.store(0, Ordering::Relaxed);
        }
        self.used.fetch_add(1, Ordering::Relaxed) < LINES_MAX
    }

    /// Counts one that was not written.
    pub(super) fn leave_out(&self) {
        if self.left_out.fetch_add(1, Ordering::Relaxed) == 0 {
            self.over.notify_one();
        }
    }

    /// When the sum is due that was begun at `now`.
    pub(super) fn due(now: Time) -> Time {
        now + WINDOW
    }

    /// How many were not written since it was last asked.
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
    fn a_second_has_room_for_twenty_lines_and_the_next_one_again() {
        let rate = Rate::default();
        assert_eq!(taken(&rate, 5_000), 20);
        assert_eq!(taken(&rate, 5_999), 0, "it is still the same second");
        assert_eq!(taken(&rate, 6_000), 20);
    }

    #[test]
    fn a_clock_that_steps_back_does_not_silence_the_log() {
        let rate = Rate::default();
        assert_eq!(taken(&rate, 90_000_000), 20);
        assert_eq!(taken(&rate, 5_000), 20);
    }

    #[test]
    fn what_was_left_out_is_summed_up_once() {
        let rate = Rate::default();
        (0..7).for_each(|_| rate.leave_out());
        assert_eq!((rate.sum(), rate.sum()), (7, 0));
    }
}
