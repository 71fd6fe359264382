//! From where on expired hand-outs and due leases are looked for: the same graveyard as with due heads, at other indexes.

use super::life::{Generation, Remembered};
use turno_core::time::{Span, Time};

/// Before anything can expire.
const BOTTOM: Time = Time(i64::MIN);
/// How often everything is looked at.
const RESCAN: Span = Span::from_secs(60);

/// Before which instant nothing that was still open expired, as far as this process has seen.
#[derive(Debug, Default)]
pub(super) struct Expiry(Remembered<Clear>);

#[derive(Debug)]
struct Clear {
    before: Time,
    /// When everything was last looked at.
    full: Time,
}

impl Default for Clear {
    fn default() -> Clear {
        Clear { before: BOTTOM, full: BOTTOM }
    }
}

impl Expiry {
    /// Where to begin at `now`.
    pub(super) fn from(&self, life: Generation, now: Time) -> Time {
        self.0.with(life, |clear| {
            if clear.full + RESCAN <= now || now < clear.full {
                *clear = Clear { before: BOTTOM, full: now };
            }
            clear.before
        })
    }

    /// Nothing that expired before this instant is open any more.
    pub(super) fn clear_before(&self, life: Generation, instant: Time) {
        self.0.with(life, |clear| clear.before = instant.max(clear.before));
    }
}
