//! The pace of sign-in attempts, per source, per user, and per pair of both.
//!
//! An attempt from a source at a user counts for the pair, the source and the user. The pair is the narrow limit, so
//! that a guesser slows only himself: the same user signs in from another source. The source is a wide limit, because
//! an office shares one address. The user alone is delayed and never refused, because otherwise a guesser with many
//! addresses could keep the user out.
//!
//! A count is one instant, the time until which past attempts are paid for. Each attempt moves it by [`Pace::every`],
//! and an attempt is within the pace while the instant is less than [`Pace::burst`] attempts ahead. So a count needs no
//! list of attempts, and it is over as soon as its instant is in the past.

use crate::audit::Hash;
use crate::time::{Span, Time};

/// A number of attempts at once, and the time after which one more is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The attempts that are allowed at once.
    pub burst: i64,
    /// The time after which one more attempt is allowed.
    pub every: Span,
}

/// The pace of one source at one user: room for typing errors.
pub const PAIR_PACE: Pace = Pace { burst: 20, every: Span::from_secs(3) };
/// The pace of one source at all users: an office behind one address. Successful attempts do not count.
pub const SOURCE_PACE: Pace = Pace { burst: 400, every: Span(500) };
/// The pace at one user from all sources, beyond which attempts are delayed.
pub const USER_PACE: Pace = Pace { burst: 100, every: Span::from_secs(3) };
/// The longest delay of an attempt: bearable for a person, and short enough for a request.
pub const SIGN_IN_DELAY_MAX: Span = Span::from_secs(2);

impl Pace {
    fn room(self) -> Span {
        Span(self.burst * self.every.0)
    }

    /// Returns the count with one more attempt.
    fn add(self, paid_until: Time, now: Time) -> Time {
        paid_until.max(now) + self.every
    }

    /// Returns how long the attempt that led to this count is ahead of the pace.
    fn excess(self, paid_until: Time, now: Time) -> Span {
        Span((now.until(paid_until).0 - self.room().0).max(0))
    }
}

/// The keys under which the counts of an attempt are stored. They are hashes, so that a row has a fixed size and no text
/// that a visitor entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaceKeys {
    /// The key of the source and the user together.
    pub pair: Hash,
    /// The key of the source.
    pub source: Hash,
    /// The key of the user.
    pub user: Hash,
}

impl PaceKeys {
    /// Returns the keys of an attempt. `user` is the entered text, whether the user exists or not.
    pub fn new(source: &str, user: &str) -> PaceKeys {
        let key = |kind: &[u8], parts: &[&str]| {
            let mut hasher = blake3::Hasher::new_derive_key("turno sign-in pace");
            hasher.update(kind);
            for part in parts {
                // With its length, so that no two lists of parts are hashed alike.
                hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
            }
            Hash(*hasher.finalize().as_bytes())
        };
        PaceKeys { pair: key(b"p", &[source, user]), source: key(b"s", &[source]), user: key(b"u", &[user]) }
    }

    /// Returns the keys in the order of [`PaceCounts::to_array`].
    pub fn to_array(self) -> [Hash; 3] {
        [self.pair, self.source, self.user]
    }
}

/// The stored counts of an attempt. A missing row is a count in the past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PaceCounts {
    /// The count of the source and the user together.
    pub pair: Time,
    /// The count of the source.
    pub source: Time,
    /// The count of the user.
    pub user: Time,
}

impl PaceCounts {
    /// Builds the counts from stored rows, in any order.
    pub fn from_rows(keys: PaceKeys, rows: impl IntoIterator<Item = (Hash, Time)>) -> PaceCounts {
        let mut counts = PaceCounts::default();
        for (key, at) in rows {
            let count = match key {
                key if key == keys.pair => &mut counts.pair,
                key if key == keys.source => &mut counts.source,
                key if key == keys.user => &mut counts.user,
                _ => continue,
            };
            *count = at;
        }
        counts
    }

    /// Returns the counts in the order of [`PaceKeys::to_array`].
    pub fn to_array(self) -> [Time; 3] {
        [self.pair, self.source, self.user]
    }
}

/// A step of a sign-in that changes the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaceStep {
    /// An attempt begins. It counts before its outcome is known, so that parallel attempts cannot pass the limit.
    Attempt,
    /// The attempt succeeded, so it does not count.
    Success,
}

/// The decision about an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaceVerdict {
    /// The attempt may go on after this delay.
    Allowed {
        /// Zero, unless many attempts were made at this user.
        delay: Span,
    },
    /// The attempt is refused and counts for nothing.
    Refused {
        /// The time after which one more attempt is allowed.
        wait: Span,
    },
}

/// Decides a step at `now`. Returns the counts to store, or `None` if nothing changes.
pub fn pace(step: PaceStep, counts: PaceCounts, now: Time) -> (PaceVerdict, Option<PaceCounts>) {
    match step {
        PaceStep::Attempt => attempt(counts, now),
        PaceStep::Success => {
            // The pair starts afresh: the person knows the password.
            let back = |paid_until: Time, pace: Pace| Time(paid_until.0 - pace.every.0);
            let counts = PaceCounts {
                pair: Time(0),
                source: back(counts.source, SOURCE_PACE),
                user: back(counts.user, USER_PACE),
            };
            (PaceVerdict::Allowed { delay: Span(0) }, Some(counts))
        }
    }
}

fn attempt(counts: PaceCounts, now: Time) -> (PaceVerdict, Option<PaceCounts>) {
    let (pair, source) = (PAIR_PACE.add(counts.pair, now), SOURCE_PACE.add(counts.source, now));
    let wait = PAIR_PACE.excess(pair, now).max(SOURCE_PACE.excess(source, now));
    if wait > Span(0) {
        return (PaceVerdict::Refused { wait }, None);
    }
    let user = USER_PACE.add(counts.user, now);
    let delay = USER_PACE.excess(user, now).min(SIGN_IN_DELAY_MAX);
    // The count stops growing at the longest delay, so that the user is not delayed for long after an attack.
    let user = user.min(now + USER_PACE.room() + SIGN_IN_DELAY_MAX);
    (PaceVerdict::Allowed { delay }, Some(PaceCounts { pair, source, user }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    const START: Time = Time(1_000_000);

    /// The counts of all keys, as a store keeps them.
    #[derive(Default)]
    struct Table(HashMap<[u8; 32], Time>);

    impl Table {
        fn step(&mut self, step: PaceStep, source: &str, user: &str, now: Time) -> PaceVerdict {
            let keys = PaceKeys::new(source, user);
            let rows = keys.to_array().map(|key| (key, self.0.get(&key.0).copied().unwrap_or_default()));
            let (verdict, counts) = pace(step, PaceCounts::from_rows(keys, rows), now);
            for (key, at) in keys.to_array().into_iter().zip(counts.into_iter().flat_map(PaceCounts::to_array)) {
                self.0.insert(key.0, at);
            }
            verdict
        }

        fn attempt(&mut self, source: &str, user: &str, now: Time) -> PaceVerdict {
            self.step(PaceStep::Attempt, source, user, now)
        }

        fn is_allowed(&mut self, source: &str, user: &str, now: Time) -> bool {
            matches!(self.attempt(source, user, now), PaceVerdict::Allowed { .. })
        }
    }

    #[test]
    fn guesser_is_refused_after_twenty_attempts_and_then_allowed_one_per_three_seconds() {
        let mut table = Table::default();
        assert_eq!((0..50).filter(|_| table.is_allowed("a", "ana", START)).count(), 20);
        assert_eq!(table.attempt("a", "ana", START), PaceVerdict::Refused { wait: Span(3_000) });
        assert!(!table.is_allowed("a", "ana", START + Span(2_999)));
        assert!(table.is_allowed("a", "ana", START + Span(3_000)));
        assert!(!table.is_allowed("a", "ana", START + Span(3_000)));
        let hour = (0..3_600).filter(|n| table.is_allowed("a", "ana", START + Span(n * 1_000))).count();
        assert!((1_190..=1_220).contains(&hour), "{hour}");
    }

    #[test]
    fn user_under_attack_is_let_in_from_another_source_and_the_guesser_at_another_user() {
        let mut table = Table::default();
        assert!((0..100).any(|_| !table.is_allowed("a", "ana", START)));
        assert_eq!(table.attempt("b", "ana", START), PaceVerdict::Allowed { delay: Span(0) });
        assert!(table.is_allowed("a", "leo", START));
    }

    #[test]
    fn source_is_refused_far_later_than_a_pair() {
        let mut table = Table::default();
        let allowed = (0..1_000).filter(|n| table.is_allowed("a", &format!("user-{n}"), START)).count();
        assert_eq!(allowed, 400);
        assert!(table.is_allowed("b", "user-1", START) && table.is_allowed("a", "user-1", START + Span(500)));
    }

    #[test]
    fn user_is_delayed_and_never_refused() {
        let mut table = Table::default();
        let verdicts: Vec<_> = (0..500).map(|n| table.attempt(&format!("source-{n}"), "ana", START)).collect();
        assert!(verdicts.iter().all(|verdict| matches!(verdict, PaceVerdict::Allowed { .. })));
        assert_eq!(verdicts[99], PaceVerdict::Allowed { delay: Span(0) });
        assert_eq!(verdicts[499], PaceVerdict::Allowed { delay: SIGN_IN_DELAY_MAX });
        let calm = START + USER_PACE.room() + SIGN_IN_DELAY_MAX;
        assert_eq!(table.attempt("home", "ana", calm), PaceVerdict::Allowed { delay: Span(0) });
    }

    #[test]
    fn successful_attempts_do_not_count() {
        let mut table = Table::default();
        for n in 0..1_000 {
            let user = format!("user-{n}");
            assert!(table.is_allowed("office", &user, START), "{n}");
            table.step(PaceStep::Success, "office", &user, START);
        }
        for _ in 0..19 {
            assert!(table.is_allowed("office", "ana", START));
        }
        table.step(PaceStep::Success, "office", "ana", START);
        assert_eq!((0..50).filter(|_| table.is_allowed("office", "ana", START)).count(), 20);
    }

    #[test]
    fn counts_of_different_keys_are_separate() {
        assert_ne!(PaceKeys::new("ab", "c"), PaceKeys::new("a", "bc"));
        let [pair, source, user] = PaceKeys::new("a", "a").to_array();
        assert!(pair != source && source != user && pair != user);
    }
}
