//! The health of a queue's destination: the endpoint that `push` or `deliver` calls.
//!
//! A destination is *down* if [`FAILURES`] calls failed in a row and not all of them were for the same key. If no
//! connection was made, the failure counts against no key, so then one key is enough. While the destination is down, no
//! item is sent to it, so that no item uses up its attempts. Instead a *probe* is sent from time to time. The first
//! success ends the outage, and the items that the outage exhausted are revived.
//!
//! A destination that refuses a message because of its contents works, so this is no failure of the destination
//! ([`Fault`]).
//!
//! If only one key fails, the fault may be the key's. Its item becomes exhausted, and other keys are still called. But
//! if no call has succeeded since the first failed attempt of that key, the key is *stuck*: the destination may be
//! down, so it is probed, and the first success revives the key. If another call succeeded meanwhile, the key stays
//! exhausted.
//!
//! No promise of Turno depends on this module: it only limits how many calls a destination receives while it is down.
//! So a caller may use a slightly old state and its own estimate of the time.

use crate::event::EventName;
use crate::id::Lane;
use crate::queue::AttemptError;
use crate::text::clip_text;
use crate::time::{Span, Time};

/// How many failures in a row, over at least two keys or without any connection, mean that a destination is down.
pub const FAILURES: u32 = 3;

/// The stored health of one queue's destination. All processes share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Grows with every change, so that concurrent changes are detected.
    pub version: i64,
    /// The number of calls that failed in a row. 0 if the last call succeeded.
    pub failures: u32,
    /// The key of the first failed call.
    pub first: Lane,
    /// The failures are not the fault of one key: another key failed, too, or no connection was made.
    pub several: bool,
    /// When the first failed call was handed out.
    pub began_at: Time,
    /// Since when the destination is down.
    pub down_at: Option<Time>,
    /// When to send the next probe, while the destination is down or a key is stuck.
    pub probe_at: Time,
    /// The error of the last failure.
    pub error: String,
    /// Set after an outage until its items are revived: the start of the outage. Items exhausted since then are
    /// revived.
    pub revive_since: Option<Time>,
    /// The success that ended the outage. An attempt that was handed out later failed for another reason.
    pub revive_until: Option<Time>,
    /// When a key was found stuck: it has at most one attempt left, and no call has succeeded since its first failed
    /// attempt. Set one attempt early, so that it is stored even if the server crashes during the last attempt.
    pub stuck_at: Option<Time>,
}

/// The likely cause of a failed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The message: the destination has read and refused it. The destination works, because it may accept others.
    Message,
    /// The key: no call could be made for it. This says nothing about the destination.
    Key,
    /// The destination, or an unknown cause.
    Destination,
    /// No connection was made, so the failure counts against no key.
    Unreached,
}

impl Fault {
    /// Returns the cause that an HTTP status indicates. Most 4xx statuses refuse this message. Some would refuse every
    /// message: a wrong secret or path, too many requests, or a wrong host.
    pub fn of_status(status: u16) -> Fault {
        match status {
            401 | 403 | 404 | 407 | 408 | 421 | 425 | 429 => Fault::Destination,
            400..500 => Fault::Message,
            _ => Fault::Destination,
        }
    }
}

/// A failed call that counts against the destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryFailure {
    /// The lane of the key, or of the item's id if it has no key.
    pub of: Lane,
    /// When the item was handed out.
    pub handed_at: Time,
    /// The error.
    pub error: String,
    /// No connection was made.
    pub unreached: bool,
    /// Set for a key with at most one attempt left: when its first failed attempt was handed out, see [`round_began`].
    pub round_began: Option<Time>,
}

/// Returns when the first failed attempt of an item's current round was handed out.
///
/// A round begins with attempt 1, after the item is enqueued, changed, retried or revived. `errors` are the item's
/// errors, oldest first. The attempt `attempt` was handed out at `handed_at` and has just failed.
pub fn round_began(errors: &[AttemptError], attempt: u32, handed_at: Time) -> Time {
    let (mut later, mut began) = (attempt, handed_at);
    // Attempt 0 means that the row could not be read, so no call was made.
    for error in errors.iter().rev().filter(|error| error.attempt > 0) {
        if error.attempt >= later {
            break;
        }
        (later, began) = (error.attempt, error.handed_at.unwrap_or(error.at));
    }
    began
}

impl Destination {
    /// Returns the state of a destination without failures.
    fn healthy() -> Destination {
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

    /// Returns whether the destination is down: it gets only probes until one succeeds.
    pub fn is_down(&self) -> bool {
        self.down_at.is_some()
    }

    /// Returns whether the destination is probed: it is down, or a key is stuck.
    pub fn is_probed(&self) -> bool {
        self.is_down() || self.stuck_at.is_some()
    }

    /// Returns whether the destination needs no stored state: calls succeed, and no item waits to be revived.
    pub fn is_well(&self) -> bool {
        self.failures == 0 && self.revive_since.is_none()
    }

    /// Returns the state after a failed call. While the destination is probed, every failure postpones the next probe.
    #[must_use]
    pub fn failed(before: Option<Destination>, failure: &DeliveryFailure, now: Time, probe: Span) -> Destination {
        let before = before.unwrap_or_else(Destination::healthy);
        let first = before.failures == 0;
        let mut after = Destination {
            version: before.version + 1,
            failures: before.failures.saturating_add(1),
            error: clip_text(&failure.error),
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
        // If the round began before the first of these failures, some call has succeeded since, so the key is not
        // stuck.
        if failure.round_began.is_some_and(|began| began >= after.began_at) {
            after.stuck_at = after.stuck_at.or(Some(now));
        }
        if after.is_probed() {
            after.probe_at = now + probe;
        }
        after
    }

    /// Returns the state after a call that succeeded, or whose message was refused. Returns `None` if nothing changes.
    #[must_use]
    pub fn succeeded(&self, now: Time) -> Option<Destination> {
        (self.failures > 0).then(|| {
            let mut after = Destination { version: self.version + 1, failures: 0, several: false, ..self.clone() };
            if self.is_probed() {
                // Two outages without a revival between them count as one, and their items are revived together.
                let since = self.revive_since.map_or(self.began_at, |since| since.min(self.began_at));
                (after.revive_since, after.revive_until) = (Some(since), Some(now));
            }
            (after.down_at, after.stuck_at) = (None, None);
            after
        })
    }

    /// Takes the due probe. The process that stores this state first sends the probe. If its result never arrives,
    /// another probe is due after `hold`.
    #[must_use]
    pub fn probing(&self, now: Time, hold: Span) -> Option<Destination> {
        (self.is_probed() && self.probe_at <= now).then(|| Destination {
            version: self.version + 1,
            probe_at: now + hold,
            ..self.clone()
        })
    }

    /// Makes a probe due at once, because the endpoint was replaced.
    #[must_use]
    pub fn replaced(&self, now: Time) -> Option<Destination> {
        (self.is_probed() && self.probe_at > now).then(|| Destination {
            version: self.version + 1,
            probe_at: now,
            ..self.clone()
        })
    }

    /// Returns the name and the detail of the event for the change from `before` to this state, if it needs one.
    pub fn news(&self, before: Option<&Destination>) -> Option<(EventName, Option<String>)> {
        let before = before.cloned().unwrap_or_else(Destination::healthy);
        match (before.is_down(), self.is_down()) {
            (false, true) => Some((EventName::DestinationDown, Some(self.error.clone()))),
            (true, false) => Some((EventName::DestinationRecovered, None)),
            // Only `probing` postpones the probe without counting a failure. A replaced endpoint moves it earlier.
            (true, true) if self.failures == before.failures && self.probe_at > before.probe_at => {
                Some((EventName::DestinationProbed, None))
            }
            (false, false) if before.revive_since.is_some() && self.revive_since.is_none() => {
                Some((EventName::DestinationRevived, None))
            }
            _ => None,
        }
    }

    /// Returns the state after the items exhausted since `since` were revived.
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

    fn failure(key: i64, seconds: i64) -> DeliveryFailure {
        DeliveryFailure {
            of: Lane(key),
            handed_at: at(seconds),
            error: format!("HTTP 503 for {key}"),
            unreached: false,
            round_began: None,
        }
    }

    /// Returns the state after failures of these keys, one second apart.
    fn after(keys: &[i64]) -> Destination {
        let mut seconds = 0;
        let fail = |before, key: &i64| {
            seconds += 1;
            Some(Destination::failed(before, &failure(*key, seconds), at(seconds), PROBE))
        };
        keys.iter().fold(None, fail).expect("at least one key")
    }

    #[test]
    fn three_failures_in_a_row_over_two_keys_mark_it_as_down() {
        assert!(!after(&[1, 2]).is_down(), "two are not enough");
        let down = after(&[1, 2, 1]);
        assert_eq!((down.down_at, down.probe_at, down.began_at), (Some(at(3)), at(33), at(1)));
        assert_eq!((down.version, down.error.as_str()), (3, "HTTP 503 for 1"));
    }

    #[test]
    fn failures_of_a_single_key_never_mark_it_as_down() {
        let alone = after(&[7; 100]);
        assert!(!alone.is_down());
        assert!(Destination::failed(Some(alone), &failure(8, 200), at(200), PROBE).is_down(), "a second key fails");
    }

    #[test]
    fn three_failures_without_a_connection_mark_it_as_down_for_one_key() {
        let refused = |seconds| DeliveryFailure { unreached: true, ..failure(7, seconds) };
        let fail = |before, seconds| Some(Destination::failed(before, &refused(seconds), at(seconds), PROBE));
        let twice = [1, 2].into_iter().fold(None, fail).expect("some");
        assert!(!twice.is_down(), "two are not enough");
        assert!(Destination::failed(Some(twice), &refused(3), at(3), PROBE).is_down());
    }

    #[test]
    fn http_status_tells_refused_messages_from_failing_destinations() {
        for status in [400, 402, 405, 406, 409, 410, 411, 413, 415, 422, 451, 499] {
            assert_eq!(Fault::of_status(status), Fault::Message, "{status}");
        }
        for status in [301, 304, 401, 403, 404, 407, 408, 421, 425, 429, 500, 502, 503, 504, 599] {
            assert_eq!(Fault::of_status(status), Fault::Destination, "{status}");
        }
    }

    #[test]
    fn success_resets_the_count_of_failures() {
        let well = after(&[1, 2]).succeeded(at(900)).expect("a change");
        assert!(well.is_well());
        let again = Destination::failed(Some(well), &failure(3, 9), at(9), PROBE);
        assert_eq!((again.failures, again.began_at, again.is_down()), (1, at(9), false));
        assert_eq!(again.version, 4, "versions only grow");
    }

    #[test]
    fn due_probe_is_taken_once_and_its_failure_postpones_the_next() {
        let down = after(&[1, 2, 1]);
        assert_eq!(down.probing(at(32), PROBE), None, "not due yet");
        let taken = down.probing(at(33), PROBE).expect("due");
        assert_eq!(taken.probing(at(34), PROBE), None, "the probe is already taken");
        let still = Destination::failed(Some(taken), &failure(1, 34), at(35), PROBE);
        assert_eq!((still.probe_at, still.began_at), (at(65), at(1)));
    }

    #[test]
    fn recovery_keeps_the_start_of_the_outage_for_the_revival() {
        let back = after(&[1, 2, 1]).succeeded(at(900)).expect("a change");
        assert_eq!((back.is_down(), back.is_well(), back.revive_since), (false, false, Some(at(1))));
        assert_eq!(back.revive_until, Some(at(900)), "later attempts fail for another reason");
        let again = [1, 2, 1]
            .iter()
            .fold(back, |before, key| Destination::failed(Some(before), &failure(*key, 100), at(100), PROBE));
        let back = again.succeeded(at(900)).expect("a change");
        assert_eq!(back.revive_since, Some(at(1)), "the start of the first outage stays");
        assert!(back.revived(at(1)).expect("done").is_well());
        assert_eq!(back.revived(at(2)), None, "another revival");
        assert_eq!(back.succeeded(at(900)), None, "no failure to reset");
    }

    #[test]
    fn replaced_endpoint_is_probed_at_once() {
        let down = after(&[1, 2, 1]);
        assert_eq!(down.replaced(at(4)).map(|asked| asked.probe_at), Some(at(4)));
        assert_eq!(after(&[1]).replaced(at(4)), None, "the destination is not down");
    }

    #[test]
    fn outage_is_announced_as_down_probed_recovered_and_revived() {
        let event = |after: &Destination, before: &Destination| after.news(Some(before)).map(|(name, _)| name);
        let (twice, down) = (after(&[1, 2]), after(&[1, 2, 1]));
        assert_eq!(after(&[1]).news(None), None, "a single failure needs no event");
        assert_eq!(down.news(Some(&twice)), Some((EventName::DestinationDown, Some("HTTP 503 for 1".to_owned()))));
        let probed = down.probing(at(40), PROBE).expect("due");
        assert_eq!(event(&probed, &down), Some(EventName::DestinationProbed));
        let still = Destination::failed(Some(probed.clone()), &failure(1, 41), at(41), PROBE);
        assert_eq!(event(&still, &probed), None, "the destination was down before");
        assert_eq!(event(&still.replaced(at(42)).expect("earlier"), &still), None);
        let back = still.succeeded(at(900)).expect("a change");
        assert_eq!(event(&back, &still), Some(EventName::DestinationRecovered));
        assert_eq!(event(&back.revived(at(1)).expect("done"), &back), Some(EventName::DestinationRevived));
        assert_eq!(event(&twice.succeeded(at(900)).expect("a change"), &twice), None, "the destination was never down");
    }

    /// Returns the state after one key used up its attempts, each handed out at one of `times`.
    fn alone(key: i64, times: &[i64], before: Option<Destination>) -> Destination {
        let began = Some(at(times[0]));
        let fail = |before, (n, seconds): (usize, &i64)| {
            let round_began = began.filter(|_| n + 2 >= times.len());
            let failure = DeliveryFailure { round_began, ..failure(key, *seconds) };
            Some(Destination::failed(before, &failure, at(*seconds + 1), PROBE))
        };
        times.iter().enumerate().fold(before, fail).expect("at least one attempt")
    }

    #[test]
    fn stuck_key_is_probed_and_the_first_success_revives_it() {
        assert_eq!(alone(7, &[1, 2, 4], None).stuck_at, Some(at(3)), "set with one attempt left");
        let stuck = alone(7, &[1, 2, 4, 8, 16], None);
        assert_eq!((stuck.is_down(), stuck.is_probed(), stuck.probe_at), (false, true, at(47)));
        assert_eq!(stuck.probing(at(46), PROBE), None, "not due yet");
        let still = Destination::failed(stuck.probing(at(47), PROBE), &failure(7, 47), at(48), PROBE);
        assert_eq!((still.is_down(), still.probe_at), (false, at(78)));
        assert_eq!(
            still.replaced(at(50)).map(|asked| asked.probe_at),
            Some(at(50)),
            "a replaced endpoint is probed at once"
        );
        let back = still.succeeded(at(60)).expect("a change");
        assert_eq!((back.is_probed(), back.revive_since, back.revive_until), (false, Some(at(1)), Some(at(60))));
    }

    #[test]
    fn exhausted_key_is_not_probed_if_another_call_succeeded() {
        let before = after(&[7]).succeeded(at(3)).expect("a change");
        assert_eq!(before.revive_since, None, "no key was stuck");
        // The key's first failed attempt was before the success, the others after it.
        let rest = [4, 8, 16].into_iter().fold(before, |before, seconds| {
            let failure = DeliveryFailure { round_began: Some(at(1)), ..failure(7, seconds) };
            Destination::failed(Some(before), &failure, at(seconds + 1), PROBE)
        });
        assert_eq!((rest.failures, rest.is_probed(), rest.stuck_at), (3, false, None));
        assert_eq!(rest.succeeded(at(20)).expect("a change").revive_since, None);
    }

    #[test]
    fn round_begins_with_its_first_failed_attempt_and_ignores_earlier_rounds() {
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
        assert_eq!(round_began(&rounds, 3, at(40)), at(21), "the time of the error, if the hand-out is unknown");
        assert_eq!(round_began(&rounds[..3], 1, at(9)), at(9), "revived, and failed again");
        assert_eq!(round_began(&rounds[..2], 3, at(9)), at(1));
    }
}
