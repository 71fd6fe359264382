//! Lives of a database, and how far its counters move when a life begins.
//!
//! A database can go back: a standby is promoted without the newest commits, a dump is restored, a file is copied. Fences,
//! item numbers, task ids and event positions of the lost time are known outside, so they must never be given again. A
//! stored counter cannot ensure that, because it is lost together with the time that it protects. Time can: the
//! sequence is moved to a number made from the clock, and no installation takes as many numbers as time gives.

use crate::time::{Span, Time};

/// The instant that the numbers made from the clock begin at: 2025-01-01, UTC.
const BEGINNING: Time = Time(1_735_689_600_000);
/// Numbers per millisecond: more than an installation takes, and below 2^53 for 285 years.
const NUMBERS_PER_MS: i64 = 1_000;
/// A move by less than this is not worth its write. A database that has gone back moves at least this far.
const MOVE_MIN: i64 = 1_000_000;
/// Task ids that are skipped when a database has gone back, and how many more for every second of the gap.
const TASKS_MIN: i64 = 1_000;
const TASKS_PER_S: i64 = 10;

/// Where a database is. Parts that cannot be read are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The server's cluster and the schema in it, or the file.
    pub identifier: String,
    /// The history that the server writes; another one after a promotion and after point-in-time recovery.
    pub timeline: String,
    /// When the server was started.
    pub started: String,
}

impl Origin {
    /// Whether the database may have gone back between the two: it is elsewhere, or goes on from an earlier point. A
    /// part that either of them lacks proves nothing.
    fn has_left(&self, stored: &Origin) -> bool {
        let differ = |a: &str, b: &str| !a.is_empty() && !b.is_empty() && a != b;
        differ(&self.identifier, &stored.identifier) || differ(&self.timeline, &stored.timeline)
    }
}

/// The last values that a database has given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counters {
    /// Of the one sequence: fences, item numbers, revisions.
    pub number: i64,
    /// Of tasks.
    pub task: i64,
    /// Of events.
    pub position: i64,
}

/// How a life begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// The counters from now on; never lower than they were.
    pub counters: Counters,
    /// The database may have gone back: who listens is told to read everything anew, and the audit says so.
    pub went_back: bool,
    /// Something is to be written. Otherwise the life was begun by another process.
    pub writes: bool,
}

/// Decides how a life begins: at the start of a program (`starts`), or when a process meets a server it does not know.
pub fn begin(stored: Option<&Origin>, found: &Origin, was: Counters, starts: bool, now: Time) -> Beginning {
    let went_back = stored.is_some_and(|stored| found.has_left(stored));
    let is_new = starts || stored != Some(found);
    let by_clock = BEGINNING.until(now).0.saturating_mul(NUMBERS_PER_MS);
    let mut counters = was;
    if is_new && by_clock > was.number.saturating_add(MOVE_MIN) {
        counters.number = by_clock;
    }
    if went_back {
        counters.number = counters.number.max(was.number.saturating_add(MOVE_MIN));
        let gap = Span((counters.number - was.number) / NUMBERS_PER_MS);
        counters.task = was.task.saturating_add(TASKS_MIN + gap.0 / 1_000 * TASKS_PER_S);
        counters.position = counters.number.max(was.position.saturating_add(MOVE_MIN));
    }
    Beginning { counters, went_back, writes: counters != was || stored != Some(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAS: Counters = Counters { number: 5_000, task: 7, position: 90 };
    /// A day after the beginning.
    const NOW: Time = Time(BEGINNING.0 + 86_400_000);

    fn origin(identifier: &str, timeline: &str, started: &str) -> Origin {
        Origin { identifier: identifier.into(), timeline: timeline.into(), started: started.into() }
    }

    #[test]
    fn a_start_moves_the_sequence_to_the_clock_and_nothing_else() {
        let home = origin("c1/10", "1", "8:00");
        let begun = begin(Some(&home), &home, WAS, true, NOW);
        assert_eq!(begun.counters, Counters { number: 86_400_000_000, ..WAS });
        assert!(begun.writes && !begun.went_back);
        let again = begin(Some(&home), &home, begun.counters, true, NOW + Span(900));
        assert_eq!(again.counters, begun.counters, "less than a million numbers are not worth a write");
        assert!(!again.writes);
    }

    #[test]
    fn a_database_from_before_lives_were_kept_has_not_gone_back() {
        let begun = begin(None, &origin("c1/10", "1", "8:00"), WAS, true, NOW);
        assert_eq!((begun.went_back, begun.counters.task, begun.counters.position), (false, 7, 90));
        assert!(begun.writes);
    }

    #[test]
    fn a_promotion_moves_every_counter_beyond_what_the_lost_time_can_have_given() {
        let was = Counters { number: 86_400_000_000, task: 7, position: 90 };
        let begun = begin(
            Some(&origin("c1/10", "1", "8:00")),
            &origin("c1/10", "2", "7:00"),
            was,
            false,
            NOW + Span::from_secs(60),
        );
        assert!(begun.went_back);
        assert_eq!(begun.counters.number, 86_460_000_000);
        assert_eq!(begun.counters.task, 7 + 1_000 + 600, "ten for each second of the gap");
        assert!(begun.counters.position >= begun.counters.number);
    }

    /// A stored counter of lives would count both promotions as the second life.
    #[test]
    fn a_standby_that_never_heard_of_an_earlier_promotion_gives_other_numbers() {
        let (home, promoted) = (origin("c1/10", "1", "8:00"), origin("c1/10", "2", "7:00"));
        let was = Counters { number: 86_400_000_000, task: 7, position: 90 };
        let begin_at = |seconds| begin(Some(&home), &promoted, was, false, NOW + Span::from_secs(seconds)).counters;
        let (first, second) = (begin_at(60), begin_at(75));
        assert!(second.number - first.number >= 15_000_000, "fifteen seconds of numbers lie between them");
        assert!(second.task > first.task && second.position > first.position);
    }

    #[test]
    fn a_promotion_moves_the_sequence_also_where_the_clock_is_behind() {
        let was = Counters { number: 900_000_000_000_000, task: 7, position: 90 };
        let begun = begin(Some(&origin("c1/10", "1", "8:00")), &origin("c2/10", "1", "8:00"), was, false, Time(0));
        assert_eq!(begun.counters.number, 900_000_001_000_000);
    }

    #[test]
    fn a_restarted_server_begins_a_life_and_has_not_gone_back() {
        let begun = begin(Some(&origin("c1/10", "1", "8:00")), &origin("c1/10", "1", "9:00"), WAS, false, NOW);
        assert!(begun.writes && !begun.went_back);
        assert_eq!(begun.counters.number, 86_400_000_000);
    }

    #[test]
    fn who_meets_a_life_that_another_process_has_begun_moves_nothing() {
        let home = origin("c1/10", "2", "8:00");
        let met = begin(Some(&home), &home, WAS, false, NOW);
        assert_eq!(met, Beginning { counters: WAS, went_back: false, writes: false });
    }

    #[test]
    fn a_part_that_cannot_be_read_proves_nothing() {
        let begun = begin(Some(&origin("c1/10", "1", "8:00")), &origin("", "", ""), WAS, false, NOW);
        assert!(!begun.went_back);
    }
}
