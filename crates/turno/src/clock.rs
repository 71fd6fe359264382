//! The clock: the database's time, guarded so that it never runs backwards.
//!
//! Decisions use only the time that the database's clock showed after the rows were locked. If that clock steps back,
//! this process continues from the highest time seen, with its monotonic clock. So an expired lease does not become
//! live again, and a live lease is not prolonged by the step. The highest time is also stored in the database
//! (`mark`), for processes that start after the step.
//!
//! Tests replace the raw reading by a [`Manual`] time. Everything else is the production code.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::Notify;
use turno_core::time::{Span, Time};

/// Backward steps above this limit are logged as errors. Smaller ones are ordinary clock corrections.
const ALARM: Span = Span::from_secs(1);

/// A time that moves only when a test moves it.
#[derive(Debug)]
pub struct Manual {
    wall: AtomicI64,
    monotonic: AtomicI64,
    moved: Notify,
}

impl Manual {
    /// Creates a manual time that begins at `start`.
    pub fn starting_at(start: Time) -> Arc<Manual> {
        Arc::new(Manual { wall: AtomicI64::new(start.0), monotonic: AtomicI64::new(0), moved: Notify::new() })
    }

    /// Moves both clocks forward: time passes.
    pub fn advance(&self, span: Span) {
        self.wall.fetch_add(span.0, Ordering::SeqCst);
        self.monotonic.fetch_add(span.0, Ordering::SeqCst);
        self.moved.notify_waiters();
    }

    /// Steps the wall clock forwards or backwards, without time passing.
    pub fn step(&self, by: Span) {
        self.wall.fetch_add(by.0, Ordering::SeqCst);
        self.moved.notify_waiters();
    }
}

#[derive(Debug)]
enum Source {
    System { started: Instant },
    Manual(Arc<Manual>),
}

/// The guarded clock of one process.
#[derive(Debug)]
pub struct Clock {
    source: Source,
    seen: Mutex<Seen>,
}

/// The highest time seen, and the monotonic time at which it was seen.
#[derive(Clone, Copy, Debug)]
struct Seen {
    high: Time,
    at: i64,
    stepped: bool,
}

impl Clock {
    /// Creates the clock of a real process.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the process's clocks")]
    pub fn system() -> Clock {
        Clock::from_source(Source::System { started: Instant::now() })
    }

    /// Creates a clock that follows a test's manual time.
    pub fn manual(manual: Arc<Manual>) -> Clock {
        Clock::from_source(Source::Manual(manual))
    }

    fn from_source(source: Source) -> Clock {
        Clock { source, seen: Mutex::new(Seen { high: Time(i64::MIN), at: 0, stepped: false }) }
    }

    /// Takes a reading of the database's clock and returns the time to decide with.
    pub fn observe(&self, raw: Time) -> Time {
        let raw = match &self.source {
            Source::System { .. } => raw,
            Source::Manual(manual) => Time(manual.wall.load(Ordering::SeqCst)),
        };
        let at = self.monotonic();
        let mut seen = self.seen();
        let carried = seen.carried_to(at);
        let stepped = raw + ALARM < carried;
        if stepped && !seen.stepped {
            tracing::error!(
                raw_ms = raw.0,
                carried_ms = carried.0,
                "the database's clock stepped back; carrying on by monotonic time"
            );
        }
        *seen = Seen { high: raw.max(carried), at, stepped };
        seen.high
    }

    /// Returns a test's manual time, which replaces the database's clock.
    pub(crate) fn fixed(&self) -> Option<Time> {
        match &self.source {
            Source::System { .. } => None,
            Source::Manual(manual) => Some(Time(manual.wall.load(Ordering::SeqCst))),
        }
    }

    /// Raises the highest time seen to the mark that earlier processes stored in the database.
    pub fn resume(&self, mark: Time) {
        let at = self.monotonic();
        let mut seen = self.seen();
        if seen.carried_to(at) < mark {
            *seen = Seen { high: mark, at, stepped: seen.stepped };
        }
    }

    /// Estimates the database's time without a query. Use it to choose what to look at, never to decide.
    pub fn estimate(&self) -> Time {
        match &self.source {
            Source::System { .. } => self.seen().carried_to(self.monotonic()),
            Source::Manual(_) => self.observe(Time(0)),
        }
    }

    /// Returns this machine's time, which is the database's clock for an embedded database.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the process's clocks")]
    pub fn machine(&self) -> Time {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Time(since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Waits until about `then`. The caller must read the clock again before it decides.
    pub async fn sleep_until(&self, then: Time) {
        match &self.source {
            Source::System { .. } => {
                let wait = self.estimate().until(then);
                tokio::time::sleep(Duration::from_millis(wait.0.unsigned_abs())).await;
            }
            Source::Manual(manual) => loop {
                let moved = manual.moved.notified();
                tokio::pin!(moved);
                moved.as_mut().enable();
                if then <= self.estimate() {
                    return;
                }
                moved.await;
            },
        }
    }

    fn monotonic(&self) -> i64 {
        match &self.source {
            Source::System { started } => i64::try_from(started.elapsed().as_millis()).unwrap_or(i64::MAX),
            Source::Manual(manual) => manual.monotonic.load(Ordering::SeqCst),
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Measures durations for metrics and for the size of background work. No rule may depend on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the process's clocks")]
    pub(crate) fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

impl Seen {
    fn carried_to(&self, at: i64) -> Time {
        self.high + Span((at - self.at).max(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_backward_step_time_continues_by_the_monotonic_clock() {
        let manual = Manual::starting_at(Time(1_000_000));
        let clock = Clock::manual(manual.clone());
        assert_eq!(clock.observe(Time(0)), Time(1_000_000));
        manual.step(Span(-86_400_000));
        assert_eq!(clock.observe(Time(0)), Time(1_000_000), "the time does not run backwards");
        manual.advance(Span(5_000));
        assert_eq!(clock.observe(Time(0)), Time(1_005_000), "the time does not stand still either");
    }

    #[test]
    fn a_forward_step_is_followed() {
        let manual = Manual::starting_at(Time(1_000));
        let clock = Clock::manual(manual.clone());
        clock.observe(Time(0));
        manual.step(Span(60_000));
        assert_eq!(clock.observe(Time(0)), Time(61_000));
    }

    #[test]
    fn a_new_process_continues_from_the_stored_mark() {
        let clock = Clock::manual(Manual::starting_at(Time(1_000)));
        clock.resume(Time(50_000));
        assert_eq!(clock.observe(Time(0)), Time(50_000));
    }
}
