//! How the destination of a queue is doing: whoever is called, by `push` or by `deliver`.
//!
//! A destination that fails as a whole is left alone, so that nobody's attempts are spent on it, and asked gently
//! whether it is back. It fails as a whole if [`FAILURES`] calls fail in a row and not all for the same key.
//! Where nobody was reached, no key can be at fault.
//! Whoever refuses a message for what it says is alive, and no failure at all: [`Fault`] tells them apart.
//!
//! One key that fails alone is exhausted, and other keys go on being called, because the fault may be the key's. If the
//! destination had no success since that key's first failed attempt, the key is *stuck*: it is part of an outage all
//! the same. It is probed, and the first success revives it. If another call succeeded meanwhile, the key stays
//! exhausted.
//!
//! Pure: times come in, the next state goes out. Nothing that is promised depends on it, only how much is spent on a
//! destination that is down; so whoever calls may go by what it last saw, and by its own estimate of the time.

use crate::id::Lane;
use crate::queue::AttemptError;
use crate::text::kept;
use crate::time::{Span, Time};

/// So many failures in a row, without a success between them, over at least two keys or with nobody there.
pub const FAILURES: u32 = 3;

/// The event that tells how many went round again after an outage.
pub const REVIVED: &str = "destination.revived";

/// The destination of one queue, as all processes see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Grows with every change, so that two who change it at once notice.
    pub version: i64,
    /// Calls that failed in a row; none if the last one succeeded.
    pub failures: u32,
    /// Whose call failed first.
    pub first: Lane,
    /// It cannot be that one's fault alone: somebody else's failed, too, or nobody was reached.
    pub several: bool,
    /// When the first of them was handed out.
    pub began_at: Time,
    /// Left alone since then.
    pub down_at: Option<Time>,
    /// While it is down: when to ask again.
    pub probe_at: Time,
    /// What the last failure said.
    pub error: String,
    /// It is back, and what was exhausted from here on is yet to be revived.
    pub revive_since: Option<Time>,
    /// The success that ended the outage: an attempt that was handed out later failed for another reason.
    pub revive_until: Option<Time>,
    /// A key has at most one attempt left, and no call has succeeded since its first failed attempt: the time of that
    /// finding. Noted one attempt early, so that a server that dies during the last attempt leaves the note behind.
    pub stuck_at: Option<Time>,
}

/// Whose fault it is that a call failed, as far as its end tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The message's: the destination has read it and will not have it. Others may be welcome, so it is alive.
    Message,
    /// The key's, with which nobody could be called: nothing is known of the destination by it.
    Key,
    /// The destination's, or nobody can tell.
    Destination,
    /// Nobody's who could have answered: no connection came about.
    Unreached,
}

impl Fault {
    /// What a refusal's HTTP status tells. Of those that speak about the request, some would be said to anybody: a
    /// wrong secret or path, a destination that has no time or that somebody else answers for.
    pub fn of_status(status: u16) -> Fault {
        match status {
            401 | 403 | 404 | 407 | 408 | 421 | 425 | 429 => Fault::Destination,
            400..500 => Fault::Message,
            _ => Fault::Destination,
        }
    }
}

/// A call that failed by the destination's fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Whose: the lane of the key, or of the id where there are no keys.
    pub of: Lane,
    /// When it was handed out.
    pub handed_at: Time,
    /// What went wrong.
    pub error: String,
    /// Nobody answered at that address: no connection came about.
    pub unreached: bool,
    /// Of a key with at most one attempt left: when its first failed attempt was handed out, see [`round_began`].
    pub round_began: Option<Time>,
}

/// Returns when the first failed attempt of an item's present round was handed out. A round begins when the item is
/// new, changed, retried or revived, with attempt 1. `errors` are the item's, oldest first; `attempt` was handed out at
/// `handed_at` and fails now.
pub fn round_began(errors: &[AttemptError], attempt: u32, handed_at: Time) -> Time {
    let (mut later, mut began) = (attempt, handed_at);
    // Attempt 0 is a row that could not be read: nobody was called.
    for error in errors.iter().rev().filter(|error| error.attempt > 0) {
        if error.attempt >= later {
            break;
        }
        (later, began) = (error.attempt, error.handed_at.unwrap_or(error.at));
    }
    began
}

impl Destination {
    /// Nothing is known against it.
    fn fresh() -> Destination {
        Destination {
            version: 0,
            failures: 0,
            first: Lane(0),
            several: false,
            began_at: Time(0),
            down_at: None,
            probe_at: Time(0),
            error: String::new(),
            revive_since: None,
            revive_until: None,
            stuck_at: None,
        }
    }

    /// Left alone until it answers a probe.
    pub fn is_down(&self) -> bool {
        self.down_at.is_some()
    }

    /// Asked again and again whether it is back: it is down, or a key is stuck.
    pub fn is_probed(&self) -> bool {
        self.is_down() || self.stuck_at.is_some()
    }

    /// Nothing to remember: calls succeed, and nothing waits to be revived.
    pub fn is_well(&self) -> bool {
        self.failures == 0 && self.revive_since.is_none()
    }

    /// After a call that failed. While the destination is probed, every failure moves the next probe.
    #[must_use]
    pub fn failed(before: Option<Destination>, failure: &Failure, now: Time, probe: Span) -> Destination {
        let before = before.unwrap_or_else(Destination::fresh);
        let first = before.failures == 0;
        let mut after = Destination {
            version: before.version + 1,
            failures: before.failures.saturating_add(1),
            error: kept(&failure.error),
            ..before
        };
        if first {
            (after.first, after.several, after.began_at) = (failure.of, failure.unreached, failure.handed_at);
        } else {
            after.several |= failure.unreached || failure.of != after.first;
            after.began_at = after.began_at.min(failure.handed_at);
        }
        if !after.is_down() && after.failures >= FAILURES && after.several {
            after.down_at = Some(now);
        }
        // A first failed attempt before the first failure of the row: some call has succeeded between the two.
        if failure.round_began.is_some_and(|began| began >= after.began_at) {
            after.stuck_at = after.stuck_at.or(Some(now));
        }
        if after.is_probed() {
            after.probe_at = now + probe;
        }
        after
    }

    /// After a call that succeeded, or was refused for what it carried; nothing if that changes nothing.
    #[must_use]
    pub fn succeeded(&self, now: Time) -> Option<Destination> {
        (self.failures > 0).then(|| {
            let mut after = Destination { version: self.version + 1, failures: 0, several: false, ..self.clone() };
            if self.is_probed() {
                // Two outages without a revival between them count as one: its keys are revived together.
                let since = self.revive_since.map_or(self.began_at, |since| since.min(self.began_at));
                (after.revive_since, after.revive_until) = (Some(since), Some(now));
            }
            (after.down_at, after.stuck_at) = (None, None);
            after
        })
    }

    /// Takes the probe that is due, for whoever stores this first; should nothing come of it, another may be taken
    /// after `hold`.
    #[must_use]
    pub fn probing(&self, now: Time, hold: Span) -> Option<Destination> {
        (self.is_probed() && self.probe_at <= now).then(|| Destination {
            version: self.version + 1,
            probe_at: now + hold,
            ..self.clone()
        })
    }

    /// Another endpoint has taken its place: it is asked at once.
    #[must_use]
    pub fn replaced(&self, now: Time) -> Option<Destination> {
        (self.is_probed() && self.probe_at > now).then(|| Destination {
            version: self.version + 1,
            probe_at: now,
            ..self.clone()
        })
    }

    /// What there is to tell of having become this, for those who watch: a name and a message, if it is news.
    pub fn news(&self, before: Option<&Destination>) -> Option<(&'static str, Option<String>)> {
        let before = before.cloned().unwrap_or_else(Destination::fresh);
        match (before.is_down(), self.is_down()) {
            (false, true) => Some(("destination.down", Some(self.error.clone()))),
            (true, false) => Some(("destination.recovered", None)),
            // A failure moves the next probe as well, and counts; another endpoint makes it earlier.
            (true, true) if self.failures == before.failures && self.probe_at > before.probe_at => {
                Some(("destination.probed", None))
            }
            (false, false) if before.revive_since.is_some() && self.revive_since.is_none() => Some((REVIVED, None)),
            _ => None,
        }
    }

    /// What was exhausted since then is revived.
    #[must_use]
    pub fn revived(&self, since: Time) -> Option<Destination> {
        (self.revive_since == Some(since)).then(|| Destination {
            version: self.version + 1,
            revive_since: None,
            revive_until: None,
            ..self.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROBE: Span = Span::from_secs(30);

    fn at(seconds: i64) -> Time {
        Time(seconds * 1_000)
    }

    fn failure(of: i64, seconds: i64) -> Failure {
        Failure {
            of: Lane(of),
            handed_at: at(seconds),
            error: format!("HTTP 503 for {of}"),
            unreached: false,
            round_began: None,
        }
    }

    /// Fails for these keys, a second apart.
    fn after(keys: &[i64]) -> Destination {
        let mut seconds = 0;
        let fail = |before, of: &i64| {
            seconds += 1;
            Some(Destination::failed(before, &failure(*of, seconds), at(seconds), PROBE))
        };
        keys.iter().fold(None, fail).expect("at least one key")
    }

    #[test]
    fn three_failures_in_a_row_over_two_keys_mean_that_it_is_down() {
        assert!(!after(&[1, 2]).is_down(), "two are not enough");
        let down = after(&[1, 2, 1]);
        assert_eq!((down.down_at, down.probe_at, down.began_at), (Some(at(3)), at(33), at(1)));
        assert_eq!((down.version, down.error.as_str()), (3, "HTTP 503 for 1"));
    }

    #[test]
    fn one_key_failing_alone_is_not_an_outage_however_often() {
        let alone = after(&[7; 100]);
        assert!(!alone.is_down());
        assert!(
            Destination::failed(Some(alone), &failure(8, 200), at(200), PROBE).is_down(),
            "until another fails, too"
        );
    }

    #[test]
    fn where_nobody_is_reached_no_key_is_at_fault() {
        let refused = |seconds| Failure { unreached: true, ..failure(7, seconds) };
        let fail = |before, seconds| Some(Destination::failed(before, &refused(seconds), at(seconds), PROBE));
        let twice = [1, 2].into_iter().fold(None, fail).expect("some");
        assert!(!twice.is_down(), "it may just be starting");
        assert!(Destination::failed(Some(twice), &refused(3), at(3), PROBE).is_down());
    }

    #[test]
    fn a_refusal_of_the_message_shows_a_destination_that_is_alive_and_one_that_anybody_would_get_does_not() {
        for status in [400, 402, 405, 406, 409, 410, 411, 413, 415, 422, 451, 499] {
            assert_eq!(Fault::of_status(status), Fault::Message, "{status}");
        }
        for status in [301, 304, 401, 403, 404, 407, 408, 421, 425, 429, 500, 502, 503, 504, 599] {
            assert_eq!(Fault::of_status(status), Fault::Destination, "{status}");
        }
    }

    #[test]
    fn a_success_between_failures_begins_the_count_anew() {
        let well = after(&[1, 2]).succeeded(at(900)).expect("a change");
        assert!(well.is_well());
        let again = Destination::failed(Some(well), &failure(3, 9), at(9), PROBE);
        assert_eq!((again.failures, again.began_at, again.is_down()), (1, at(9), false));
        assert_eq!(again.version, 4, "versions only grow");
    }

    #[test]
    fn of_those_who_ask_at_once_one_takes_the_probe_and_its_failure_moves_the_next() {
        let down = after(&[1, 2, 1]);
        assert_eq!(down.probing(at(32), PROBE), None, "not before its time");
        let taken = down.probing(at(33), PROBE).expect("due");
        assert_eq!(taken.probing(at(34), PROBE), None, "somebody has it");
        let still = Destination::failed(Some(taken), &failure(1, 34), at(35), PROBE);
        assert_eq!((still.probe_at, still.began_at), (at(65), at(1)));
    }

    #[test]
    fn its_recovery_remembers_since_when_items_are_to_be_revived() {
        let back = after(&[1, 2, 1]).succeeded(at(900)).expect("a change");
        assert_eq!((back.is_down(), back.is_well(), back.revive_since), (false, false, Some(at(1))));
        assert_eq!(back.revive_until, Some(at(900)), "what is handed out later fails for another reason");
        let again = [1, 2, 1]
            .iter()
            .fold(back, |before, of| Destination::failed(Some(before), &failure(*of, 100), at(100), PROBE));
        let back = again.succeeded(at(900)).expect("a change");
        assert_eq!(back.revive_since, Some(at(1)), "the first outage is not forgotten for the second");
        assert!(back.revived(at(1)).expect("done").is_well());
        assert_eq!(back.revived(at(2)), None, "another revival");
        assert_eq!(back.succeeded(at(900)), None, "nothing to change");
    }

    #[test]
    fn another_endpoint_is_asked_at_once() {
        let down = after(&[1, 2, 1]);
        assert_eq!(down.replaced(at(4)).map(|asked| asked.probe_at), Some(at(4)));
        assert_eq!(after(&[1]).replaced(at(4)), None, "it is not down");
    }

    #[test]
    fn an_outage_is_told_as_down_probed_recovered_and_revived_and_nothing_else_is() {
        let told = |after: &Destination, before: &Destination| after.news(Some(before)).map(|(name, _)| name);
        let (twice, down) = (after(&[1, 2]), after(&[1, 2, 1]));
        assert_eq!(after(&[1]).news(None), None, "one failure is no news");
        assert_eq!(down.news(Some(&twice)), Some(("destination.down", Some("HTTP 503 for 1".to_owned()))));
        let probed = down.probing(at(40), PROBE).expect("due");
        assert_eq!(told(&probed, &down), Some("destination.probed"));
        let still = Destination::failed(Some(probed.clone()), &failure(1, 41), at(41), PROBE);
        assert_eq!(told(&still, &probed), None, "it is as down as before");
        assert_eq!(told(&still.replaced(at(42)).expect("earlier"), &still), None);
        let back = still.succeeded(at(900)).expect("a change");
        assert_eq!(told(&back, &still), Some("destination.recovered"));
        assert_eq!(told(&back.revived(at(1)).expect("done"), &back), Some("destination.revived"));
        assert_eq!(told(&twice.succeeded(at(900)).expect("a change"), &twice), None, "it was never down");
    }

    /// The failures of one key with this many attempts, each handed out at its time.
    fn alone(of: i64, times: &[i64], before: Option<Destination>) -> Destination {
        let began = Some(at(times[0]));
        let fail = |before, (n, seconds): (usize, &i64)| {
            let round_began = began.filter(|_| n + 2 >= times.len());
            let failure = Failure { round_began, ..failure(of, *seconds) };
            Some(Destination::failed(before, &failure, at(*seconds + 1), PROBE))
        };
        times.iter().enumerate().fold(before, fail).expect("at least one attempt")
    }

    #[test]
    fn a_key_that_runs_out_while_nobody_is_answered_is_probed_and_the_first_success_revives_it() {
        assert_eq!(alone(7, &[1, 2, 4], None).stuck_at, Some(at(3)), "noted with one attempt left");
        let stuck = alone(7, &[1, 2, 4, 8, 16], None);
        assert_eq!((stuck.is_down(), stuck.is_probed(), stuck.probe_at), (false, true, at(47)));
        assert_eq!(stuck.probing(at(46), PROBE), None, "not before its time");
        let still = Destination::failed(stuck.probing(at(47), PROBE), &failure(7, 47), at(48), PROBE);
        assert_eq!((still.is_down(), still.probe_at), (false, at(78)));
        assert_eq!(
            still.replaced(at(50)).map(|asked| asked.probe_at),
            Some(at(50)),
            "another endpoint is asked at once"
        );
        let back = still.succeeded(at(60)).expect("a change");
        assert_eq!((back.is_probed(), back.revive_since, back.revive_until), (false, Some(at(1)), Some(at(60))));
    }

    #[test]
    fn a_key_that_runs_out_while_others_succeed_is_not_probed() {
        let before = after(&[7]).succeeded(at(3)).expect("a change");
        assert_eq!(before.revive_since, None, "nothing ran out");
        // The first failed attempt was before the success; the others follow it.
        let rest = [4, 8, 16].into_iter().fold(before, |before, seconds| {
            let failure = Failure { round_began: Some(at(1)), ..failure(7, seconds) };
            Destination::failed(Some(before), &failure, at(seconds + 1), PROBE)
        });
        assert_eq!((rest.failures, rest.is_probed(), rest.stuck_at), (3, false, None));
        assert_eq!(rest.succeeded(at(20)).expect("a change").revive_since, None);
    }

    #[test]
    fn a_round_begins_with_its_first_failed_attempt_and_an_earlier_round_does_not_count() {
        let error = |attempt: u32, seconds: i64| AttemptError {
            seq: crate::id::Seq(1),
            attempt,
            fence: crate::id::Fence(seconds),
            at: at(seconds + 1),
            error: "HTTP 503".to_owned(),
            retry_at: None,
            holder: None,
            handed_at: Some(at(seconds)).filter(|_| seconds != 20),
            expired: false,
        };
        assert_eq!(round_began(&[], 1, at(9)), at(9), "its only attempt");
        let rounds = [error(1, 1), error(2, 2), error(3, 3), error(1, 20), error(0, 25), error(2, 30)];
        assert_eq!(round_began(&rounds, 3, at(40)), at(21), "the end, where the hand-out is not known");
        assert_eq!(round_began(&rounds[..3], 1, at(9)), at(9), "revived, and failed again");
        assert_eq!(round_began(&rounds[..2], 3, at(9)), at(1));
    }
}
