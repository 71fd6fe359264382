//! A stopwatch on the machine's clock.
//!
//! Turno's rules use the database's clock only. Reading the machine's clock is safe here for two reasons: an elapsed
//! time is either shown to people, or it shortens what a server granted and never extends it.

use std::time::{Duration, Instant};

/// A started stopwatch: for the uptime of the server, the duration of a call, or the age of a cached value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch {
    since: Instant,
}

impl Stopwatch {
    #[expect(
        clippy::disallowed_methods,
        reason = "an elapsed time is shown or shortens a grant, and decides nothing else"
    )]
    pub(crate) fn start() -> Self {
        Self { since: Instant::now() }
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.since.elapsed()
    }
}

/// Formats a duration with at most two units, which are the same in both languages: `2 d 3 h`, `3 h 4 min`, `4 min 5
/// s`, `5 s`.
pub(crate) fn format_duration(time: Duration) -> String {
    let seconds = time.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_at_most_two_units() {
        let format = |seconds| format_duration(Duration::from_secs(seconds));
        assert_eq!(format(59), "59 s");
        assert_eq!(format(61), "1 min 1 s");
        assert_eq!(format(3_600), "1 h 0 min");
        assert_eq!(format(2 * 86_400 + 3 * 3_600 + 4), "2 d 3 h");
    }
}
