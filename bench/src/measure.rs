//! The closed loop: each caller starts its next call when the last one was answered.
//!
//! Nothing is subtracted or extrapolated: a rate is the number of answers within the span, divided by the span.

use crate::histogram::Histogram;
use crate::result::Sample;
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// The error of a failed measurement.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// A measurement or its error.
pub(crate) type Outcome<T> = Result<T, BoxError>;

/// When callers stop.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    /// After this long. A warm-up of a tenth of it comes first and does not count.
    After(Duration),
    /// When a call finds no more work.
    Empty,
}

/// Returns the current time. All measurements use this function.
#[expect(clippy::disallowed_methods, reason = "the program measures durations")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The record of one caller.
struct Seen {
    until: Until,
    start: Instant,
    from: Instant,
    to: Option<Instant>,
    count: u64,
    last: Instant,
    calls: Histogram,
}

impl Seen {
    fn new(start: Instant, until: Until) -> Seen {
        let (from, to) = match until {
            Until::After(span) => (start + span / 10, Some(start + span / 10 + span)),
            Until::Empty => (start, None),
        };
        Seen { until, start, from, to, count: 0, last: start, calls: Histogram::new() }
    }

    fn over(&self, began: Instant) -> bool {
        self.to.is_some_and(|to| began >= to)
    }

    /// Records a call. Returns `false` if it was the last one.
    fn note(&mut self, began: Instant, ended: Instant, done: u64) -> bool {
        if done == 0 && self.to.is_none() {
            return false;
        }
        if ended >= self.from && self.to.is_none_or(|to| ended <= to) {
            self.count += done;
            self.last = self.last.max(ended);
            self.calls.record(ended - began);
        }
        true
    }

    fn add(&mut self, other: &Seen) {
        self.count += other.count;
        self.last = self.last.max(other.last);
        self.calls.add(&other.calls);
    }

    fn sample(&self) -> Outcome<Sample> {
        let elapsed = match self.until {
            Until::After(span) => span,
            Until::Empty => self.last - self.start,
        };
        if self.count == 0 {
            return Err("nothing was answered while it was measured".into());
        }
        Ok(Sample {
            count: self.count,
            per_second: self.count as f64 / elapsed.as_secs_f64(),
            p50: self.calls.quantile(0.5),
            p99: self.calls.quantile(0.99),
        })
    }
}

/// Runs every caller in a loop. A call returns how much it did; only that counts.
pub(crate) async fn closed_loop<C, F>(callers: Vec<C>, until: Until) -> Outcome<Sample>
where
    C: FnMut() -> F + Send + 'static,
    F: Future<Output = Outcome<u64>> + Send + 'static,
{
    let start = now();
    let mut tasks = JoinSet::new();
    for mut call in callers {
        tasks.spawn(async move {
            let mut seen = Seen::new(start, until);
            loop {
                let began = now();
                if seen.over(began) {
                    break;
                }
                let done = call().await?;
                if !seen.note(began, now(), done) {
                    break;
                }
            }
            Ok::<Seen, BoxError>(seen)
        });
    }
    let mut all = Seen::new(start, until);
    while let Some(seen) = tasks.join_next().await {
        all.add(&seen??);
    }
    all.sample()
}

/// Runs one caller in a loop on the current thread, for calls that block.
pub(crate) fn blocking_loop(until: Until, mut call: impl FnMut() -> Outcome<u64>) -> Outcome<Sample> {
    let mut seen = Seen::new(now(), until);
    loop {
        let began = now();
        if seen.over(began) {
            break;
        }
        let done = call()?;
        if !seen.note(began, now(), done) {
            break;
        }
    }
    seen.sample()
}

/// Builds a sample from durations that were measured one by one.
pub(crate) fn probes(durations: impl IntoIterator<Item = Duration>) -> Outcome<Sample> {
    let mut calls = Histogram::new();
    let (mut count, mut sum) = (0, 0.0);
    for duration in durations {
        calls.record(duration);
        count += 1;
        sum += duration.as_secs_f64();
    }
    if count == 0 {
        return Err("no probe was answered".into());
    }
    Ok(Sample { count, per_second: count as f64 / sum, p50: calls.quantile(0.5), p99: calls.quantile(0.99) })
}

/// Pseudo-random numbers that are the same in every run.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: usize) -> Dice {
        Dice(seed as u64)
    }

    /// Returns a number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}
