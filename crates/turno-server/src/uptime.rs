//! How long the program has been running, or a call has taken. It is shown to people, or makes what a server granted
//! shorter and never longer, so it may look at the machine's own clock; every time that matters comes from the database.

use std::time::{Duration, Instant};

/// Started when the server is ready, or a call is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uptime {
    since: Instant,
}

impl Uptime {
    #[expect(clippy::disallowed_methods, reason = "shown on a page, never compared with a time that decides")]
    pub(crate) fn start() -> Self {
        Self { since: Instant::now() }
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.since.elapsed()
    }
}

/// `2 d 3 h`, `3 h 4 min`, `4 min 5 s`, `5 s`: two units are enough, and they are the same in both languages.
pub(crate) fn shown(time: Duration) -> String {
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
    fn two_units_are_shown_at_most() {
        let shown = |seconds| shown(Duration::from_secs(seconds));
        assert_eq!(shown(59), "59 s");
        assert_eq!(shown(61), "1 min 1 s");
        assert_eq!(shown(3_600), "1 h 0 min");
        assert_eq!(shown(2 * 86_400 + 3 * 3_600 + 4), "2 d 3 h");
    }
}
