//! From where on expired hand-outs are looked for: the same graveyard as with due heads, at another index.

use std::sync::{Mutex, PoisonError};
use turno_core::time::{Span, Time};

/// Before anything can expire.
const BOTTOM: Time = Time(i64::MIN);
/// How often everything is looked at.
const RESCAN: Span = Span::from_secs(60);

/// Before which instant no hand-out that was still open expired, as far as this process has seen.
#[derive(Debug)]
pub(super) struct Expiry(Mutex<(Time, Time)>);

impl Expiry {
    pub(super) fn new() -> Expiry {
        Expiry(Mutex::new((BOTTOM, BOTTOM)))
    }

    /// Where to begin at `now`.
    pub(super) fn from(&self, now: Time) -> Time {
        let mut both = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (clear, full) = &mut *both;
        if *full + RESCAN <= now || now < *full {
            (*clear, *full) = (BOTTOM, now);
        }
        *clear
    }

    /// Nothing that expired before this instant is open any more.
    pub(super) fn clear_before(&self, instant: Time) {
        let mut both = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        both.0 = instant.max(both.0);
    }
}
