//! The one clock: the database's, guarded so that it never runs backwards.
//!
//! Only what the database's clock showed after the rows were locked decides anything. Should that clock
//! step back, time is carried on from the highest value seen by the monotonic clock of this process: an
//! expired lease is not revived, and a dead one is not kept for as long as the step was. The highest value
//! is also kept in the database (`mark`), for processes that start after the step.
//!
//! Tests put a [`Manual`] time in place of the raw reading; everything behind it is the production path.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::Notify;
use turno_core::time::{Span, Time};

/// A backward step of more than this is worth an alarm; less is ordinary clock discipline.
const ALARM: Span = Span::from_secs(1);

/// A time that only moves when a test says so.
#[derive(Debug)]
pub struct Manual {
    wall: AtomicI64,
    monotonic: AtomicI64,
    moved: Notify,
}

impl Manual {
    /// A manual time that begins at `start`.
    pub fn starting_at(start: Time) -> Arc<Manual> {
        Arc::new(Manual { wall: AtomicI64::new(start.0), monotonic: AtomicI64::new(0), moved: Notify::new() })
    }

    /// Lets time pass.
    pub fn advance(&self, span: Span) {
        self.wall.fetch_add(span.0, Ordering::SeqCst);
        self.monotonic.fetch_add(span.0, Ordering::SeqCst);
        self.moved.notify_waiters();
    }

    /// Steps the wall clock, forwards or backwards, without time passing.
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

/// The highest time seen, and when that was on the monotonic clock.
#[derive(Clone, Copy, Debug)]
struct Seen {
    high: Time,
    at: i64,
    stepped: bool,
}

impl Clock {
    /// The clock of a real process.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the process's clocks")]
    pub fn system() -> Clock {
        Clock::of(Source::System { started: Instant::now() })
    }

    /// A clock that follows a test's manual time.
    pub fn manual(manual: Arc<Manual>) -> Clock {
        Clock::of(Source::Manual(manual))
    }

    fn of(source: Source) -> Clock {
        Clock { source, seen: Mutex::new(Seen { high: Time(i64::MIN), at: 0, stepped: false }) }
    }

    /// Takes in what the database's clock showed and answers the time to decide with.
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

    /// What a test has put in place of the database's clock.
    pub(crate) fn fixed(&self) -> Option<Time> {
        match &self.source {
            Source::System { .. } => None,
            Source::Manual(manual) => Some(Time(manual.wall.load(Ordering::SeqCst))),
        }
    }

    /// Raises the highest time seen to what earlier processes recorded in the database.
    pub fn resume(&self, mark: Time) {
        let at = self.monotonic();
        let mut seen = self.seen();
        if seen.carried_to(at) < mark {
            *seen = Seen { high: mark, at, stepped: seen.stepped };
        }
    }

    /// Roughly the database's time, without asking it: good for choosing what to look at, never for deciding.
    pub fn estimate(&self) -> Time {
        match &self.source {
            Source::System { .. } => self.seen().carried_to(self.monotonic()),
            Source::Manual(_) => self.observe(Time(0)),
        }
    }

    /// The clock of this machine, which is the database's clock for an embedded database.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the process's clocks")]
    pub fn machine(&self) -> Time {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Time(since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Waits until about `then`: a reason to look again, never to decide.
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

/// Measures how long something takes, for figures and for the size of background work. No rule may depend on it.
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
    fn a_backward_step_is_carried_on_by_monotonic_time() {
        let manual = Manual::starting_at(Time(1_000_000));
        let clock = Clock::manual(manual.clone());
        assert_eq!(clock.observe(Time(0)), Time(1_000_000));
        manual.step(Span(-86_400_000));
        assert_eq!(clock.observe(Time(0)), Time(1_000_000), "it does not run backwards");
        manual.advance(Span(5_000));
        assert_eq!(clock.observe(Time(0)), Time(1_005_000), "and does not stand still for a day either");
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
    fn a_new_process_goes_on_from_the_recorded_mark() {
        let clock = Clock::manual(Manual::starting_at(Time(1_000)));
        clock.resume(Time(50_000));
        assert_eq!(clock.observe(Time(0)), Time(50_000));
    }
}
