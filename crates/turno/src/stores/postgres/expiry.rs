//! Where scans for expired deliveries and due leases start. As with due heads, dead index entries lie before that
//! instant.

use super::life::{Generation, Remembered};
use turno_core::time::{Span, Time};

/// How far behind the clock scans for expired deliveries and due leases start, once all earlier ones are settled.
pub(super) const EXPIRY_MARGIN: Span = Span::from_secs(60);
/// The instant before anything can expire.
const BOTTOM: Time = Time(i64::MIN);
/// How often everything is scanned.
const RESCAN: Span = Span::from_secs(60);

/// The instant before which this process has seen no unsettled expiry.
#[derive(Debug, Default)]
pub(super) struct Expiry(Remembered<Clear>);

#[derive(Debug)]
struct Clear {
    before: Time,
    /// When everything was last scanned.
    full: Time,
}

impl Default for Clear {
    fn default() -> Clear {
        Clear { before: BOTTOM, full: BOTTOM }
    }
}

impl Expiry {
    /// Returns where a scan at `now` starts.
    pub(super) fn from(&self, life: Generation, now: Time) -> Time {
        self.0.with(life, |clear| {
            if clear.full + RESCAN <= now || now < clear.full {
                *clear = Clear { before: BOTTOM, full: now };
            }
            clear.before
        })
    }

    /// Records that nothing is open that expired before this instant.
    pub(super) fn clear_before(&self, life: Generation, instant: Time) {
        self.0.with(life, |clear| clear.before = instant.max(clear.before));
    }
}
