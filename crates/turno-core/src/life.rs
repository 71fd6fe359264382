//! Lives of a database, and how far its counters jump when a life begins.
//!
//! A *life* is a period in which a database loses no commit. It ends with a failover, a restore or a restart of the
//! server. After a failover or a restore the database may have *gone back*: a standby was promoted without the newest
//! commits, a dump was restored, a file was copied.
//!
//! Callers still know the fences, sequence numbers, task ids and event positions of the lost commits, so the database
//! must never issue them again. A stored counter cannot ensure that, because the failover loses the counter, too.
//! Therefore the sequence jumps to a number computed from the clock. The clock yields 1,000 numbers per millisecond,
//! which is more than any installation uses, so the jump always passes the lost numbers.

use crate::time::Time;

/// The instant for which the clock yields the number 0: 2025-01-01, UTC.
const BEGINNING: Time = Time(1_735_689_600_000);
/// Numbers per millisecond: more than an installation uses, and below 2^53 for 285 years.
const NUMBERS_PER_MS: i64 = 1_000;
/// The smallest jump of the sequence. A smaller one is not worth a write, and a database that went back jumps at least
/// this far.
const MOVE_MIN: i64 = 1_000_000;
/// How many task ids a database that went back skips at least.
const TASKS_MIN: i64 = 10_000;
/// How many more task ids it skips for every millisecond that it may have lost. More than any installation creates,
/// because two standbys that are promoted one after the other must not issue the same ids.
const TASKS_PER_MS: i64 = 10;
/// How many it skips at least for every second that the sequence moves.
const TASKS_PER_GAP_S: i64 = 10;

/// Identifies the server and the history that a database belongs to. A part that the engine cannot read is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// PostgreSQL: the server's cluster and the schema. SQLite: the file.
    pub identifier: String,
    /// The server's timeline, which changes with a promotion and with point-in-time recovery.
    pub timeline: String,
    /// When the server started.
    pub started: String,
}

impl Origin {
    /// Returns whether the database may have gone back since `stored`: its server or its timeline changed. An empty
    /// part is ignored, because it proves nothing.
    fn has_left(&self, stored: &Origin) -> bool {
        let differ = |a: &str, b: &str| !a.is_empty() && !b.is_empty() && a != b;
        differ(&self.identifier, &stored.identifier) || differ(&self.timeline, &stored.timeline)
    }
}

/// The last numbers that a database has issued, and the time that it has recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counters {
    /// The last number of the one sequence: fences, sequence numbers of items, revisions.
    pub number: i64,
    /// The last task id.
    pub task: i64,
    /// The last event position.
    pub position: i64,
    /// The latest time that the database has recorded; it lags by at most a second behind its last commit.
    pub recorded: Time,
}

/// The decision about how a life begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// The counters from now on, never lower than before.
    pub counters: Counters,
    /// The database may have gone back. Listeners receive a reset, and the audit records it.
    pub went_back: bool,
    /// The store must write the counters or the origin. `false` if another process has already begun this life.
    pub writes: bool,
}

/// The reason to begin a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// The process starts.
    Start,
    /// A transaction of this process met another life.
    Met,
    /// An operator says that the database was restored. A snapshot that was restored while no process ran has the origin
    /// of the original, so only the operator knows.
    Restored,
}

/// Decides how a life begins. `was` holds the counters as the database has them now. `committed` is the time that this
/// process has recorded in the database. If the database has an earlier one, a snapshot was restored under the running
/// process.
pub fn begin(
    occasion: Occasion,
    stored: Option<&Origin>,
    found: &Origin,
    was: Counters,
    committed: Option<Time>,
    now: Time,
) -> Beginning {
    let went_back = occasion == Occasion::Restored
        || committed > Some(was.recorded)
        || stored.is_some_and(|stored| found.has_left(stored));
    let is_new = occasion != Occasion::Met || stored != Some(found);
    let by_clock = BEGINNING.until(now).0.saturating_mul(NUMBERS_PER_MS);
    let mut counters = was;
    if is_new && by_clock > was.number.saturating_add(MOVE_MIN) {
        counters.number = by_clock;
    }
    if went_back {
        counters.number = counters.number.max(was.number.saturating_add(MOVE_MIN));
        let gap_s = (counters.number - was.number) / NUMBERS_PER_MS / 1_000;
        let lost = was.recorded.until(now).0.saturating_mul(TASKS_PER_MS);
        counters.task = was.task.saturating_add(TASKS_MIN).saturating_add(lost.max(gap_s * TASKS_PER_GAP_S));
        counters.position = counters.number.max(was.position.saturating_add(MOVE_MIN));
    }
    Beginning { counters, went_back, writes: counters != was || stored != Some(found) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;

    /// One day after `BEGINNING`.
    const NOW: Time = Time(BEGINNING.0 + 86_400_000);
    const WAS: Counters = Counters { number: 5_000, task: 7, position: 90, recorded: NOW };

    fn origin(identifier: &str, timeline: &str, started: &str) -> Origin {
        Origin { identifier: identifier.into(), timeline: timeline.into(), started: started.into() }
    }

    #[test]
    fn a_restore_that_an_operator_reports_has_gone_back() {
        let home = origin("c1/10", "1", "8:00");
        let restored = begin(Occasion::Restored, Some(&home), &home, WAS, None, NOW + Span(2));
        assert!(restored.went_back && restored.writes);
        assert!(restored.counters.task > WAS.task && restored.counters.position > WAS.position);
        assert!(
            !begin(Occasion::Start, Some(&home), &home, WAS, None, NOW + Span(2)).went_back,
            "the negative control"
        );
    }

    #[test]
    fn a_snapshot_restored_under_a_running_process_has_gone_back() {
        let (stopped, started) = (origin("c1/10", "1", "8:00"), origin("c1/10", "1", "9:00"));
        let restored = begin(Occasion::Met, Some(&stopped), &started, WAS, Some(NOW + Span(1)), NOW + Span(2));
        assert!(restored.went_back && restored.counters.task > WAS.task && restored.counters.position > WAS.position);
        let restarted = begin(Occasion::Met, Some(&stopped), &started, WAS, Some(NOW), NOW + Span(2));
        assert!(!restarted.went_back, "the database has everything that the process committed");
    }

    #[test]
    fn process_start_moves_only_the_sequence_to_the_clock() {
        let home = origin("c1/10", "1", "8:00");
        let begun = begin(Occasion::Start, Some(&home), &home, WAS, None, NOW);
        assert_eq!(begun.counters, Counters { number: 86_400_000_000, ..WAS });
        assert!(begun.writes && !begun.went_back);
        let again = begin(Occasion::Start, Some(&home), &home, begun.counters, None, NOW + Span(900));
        assert_eq!(again.counters, begun.counters, "a jump below one million numbers is not written");
        assert!(!again.writes);
    }

    #[test]
    fn database_without_a_stored_origin_has_not_gone_back() {
        let begun = begin(Occasion::Start, None, &origin("c1/10", "1", "8:00"), WAS, None, NOW);
        assert_eq!((begun.went_back, begun.counters.task, begun.counters.position), (false, 7, 90));
        assert!(begun.writes);
    }

    #[test]
    fn promotion_moves_every_counter_past_the_lost_numbers() {
        let was = Counters { number: 86_400_000_000, task: 7, position: 90, recorded: NOW };
        let begun = begin(
            Occasion::Met,
            Some(&origin("c1/10", "1", "8:00")),
            &origin("c1/10", "2", "7:00"),
            was,
            None,
            NOW + Span::from_secs(60),
        );
        assert!(begun.went_back);
        assert_eq!(begun.counters.number, 86_460_000_000);
        assert_eq!(begun.counters.task, 7 + 10_000 + 600_000, "ten for each millisecond that may be lost");
        assert!(begun.counters.position >= begun.counters.number);
    }

    /// If the numbers came from a stored counter of lives, both promotions would be the second life and issue the same
    /// numbers.
    #[test]
    fn two_promotions_from_the_same_state_issue_different_numbers() {
        let (home, promoted) = (origin("c1/10", "1", "8:00"), origin("c1/10", "2", "7:00"));
        let was = Counters { number: 86_400_000_000, task: 7, position: 90, recorded: NOW };
        let begin_at =
            |seconds| begin(Occasion::Met, Some(&home), &promoted, was, None, NOW + Span::from_secs(seconds)).counters;
        let (first, second) = (begin_at(60), begin_at(75));
        assert!(second.number - first.number >= 15_000_000, "fifteen seconds of numbers lie between them");
        assert_eq!(second.task - first.task, 150_000, "the first one cannot have given as many in fifteen seconds");
        assert!(second.position > first.position);
    }

    #[test]
    fn promotion_moves_the_sequence_even_if_the_clock_is_behind_it() {
        let was = Counters { number: 900_000_000_000_000, task: 7, position: 90, recorded: NOW };
        let begun = begin(
            Occasion::Met,
            Some(&origin("c1/10", "1", "8:00")),
            &origin("c2/10", "1", "8:00"),
            was,
            None,
            Time(0),
        );
        assert_eq!(begun.counters.number, 900_000_001_000_000);
    }

    #[test]
    fn server_restart_begins_a_life_but_has_not_gone_back() {
        let begun =
            begin(Occasion::Met, Some(&origin("c1/10", "1", "8:00")), &origin("c1/10", "1", "9:00"), WAS, None, NOW);
        assert!(begun.writes && !begun.went_back);
        assert_eq!(begun.counters.number, 86_400_000_000);
    }

    #[test]
    fn life_begun_by_another_process_moves_no_counter() {
        let home = origin("c1/10", "2", "8:00");
        let met = begin(Occasion::Met, Some(&home), &home, WAS, None, NOW);
        assert_eq!(met, Beginning { counters: WAS, went_back: false, writes: false });
    }

    #[test]
    fn unreadable_origin_does_not_count_as_gone_back() {
        let begun = begin(Occasion::Met, Some(&origin("c1/10", "1", "8:00")), &origin("", "", ""), WAS, None, NOW);
        assert!(!begun.went_back);
    }
}
