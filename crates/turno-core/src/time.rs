//! Points in time and lengths of time, in whole milliseconds.
//!
//! Both databases store milliseconds as integers, so both compare and round in the same way. Arithmetic saturates: a
//! time in the far future means "never" and does not overflow.

use serde::{Deserialize, Serialize};
use std::ops::{Add, Sub};
use std::time::Duration;

/// A point in time of the database's clock: milliseconds since 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(pub i64);

/// A length of time in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Span(pub i64);

impl Time {
    /// Returns the length of time from `self` until `later`, or zero if `later` is in the past.
    pub fn until(self, later: Time) -> Span {
        Span(later.0.saturating_sub(self.0).max(0))
    }
}

impl Span {
    /// Zero milliseconds.
    pub const ZERO: Span = Span(0);

    /// Makes a span from whole seconds.
    pub const fn from_secs(secs: i64) -> Span {
        Span(secs.saturating_mul(1000))
    }
}

/// Whole milliseconds. Longer durations than a span can hold become the longest span.
impl From<Duration> for Span {
    fn from(duration: Duration) -> Span {
        Span(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX))
    }
}

/// A negative span becomes zero.
impl From<Span> for Duration {
    fn from(span: Span) -> Duration {
        Duration::from_millis(u64::try_from(span.0).unwrap_or(0))
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl Sub<Time> for Time {
    type Output = Span;
    fn sub(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates_instead_of_overflowing() {
        assert_eq!(Time(i64::MAX) + Span(1), Time(i64::MAX));
        assert_eq!(Time(i64::MIN) - Time(1), Span(i64::MIN));
    }

    #[test]
    fn until_is_never_negative() {
        assert_eq!(Time(10).until(Time(4)), Span::ZERO);
        assert_eq!(Time(4).until(Time(10)), Span(6));
    }
}
