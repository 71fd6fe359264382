//! The results of a row.

use crate::spec::Goal;
use std::time::Duration;

/// One measurement.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// The number of operations.
    pub(crate) count: u64,
    /// Operations per second.
    pub(crate) per_second: f64,
    /// The median duration of a call or a probe.
    pub(crate) p50: Option<Duration>,
    /// The 99th percentile of the duration.
    pub(crate) p99: Option<Duration>,
}

/// The results of a row, in the order of the rounds.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// A description of the work.
    pub(crate) conditions: String,
    /// A description of the left side: the raw limit, or Turno under easier conditions. Empty if there is none.
    pub(crate) beside: String,
    /// The samples of the left side.
    pub(crate) raw: Vec<Sample>,
    /// The samples of Turno.
    pub(crate) ours: Vec<Sample>,
    /// Further observations.
    pub(crate) notes: Vec<String>,
    /// Violated invariants. The figures of such a row are worthless.
    pub(crate) faults: Vec<String>,
}

/// Whether a goal was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reached {
    /// The row has no goal.
    NoGoal,
    /// The best run reaches the figure.
    Yes,
    /// The best run misses the figure, but its ratio to the raw limit of this run reaches the goal's ratio.
    ByRatio,
    /// The goal was missed.
    No,
}

impl Measured {
    /// Returns the best run of one side, by the quantity of the goal.
    pub(crate) fn best<'a>(&self, side: &'a [Sample], goal: &Goal) -> Option<&'a Sample> {
        match goal {
            Goal::Latency { .. } => side.iter().min_by_key(|sample| sample.p50),
            _ => side.iter().max_by(|a, b| a.per_second.total_cmp(&b.per_second)),
        }
    }

    /// Returns the ratio of Turno to the left side. If the goal is itself a share, both sides come from the best
    /// single round.
    pub(crate) fn ratio(&self, goal: &Goal) -> Option<f64> {
        let rounds = || self.raw.iter().zip(&self.ours);
        match goal {
            Goal::Share(_) => rounds().map(|(raw, ours)| ours.per_second / raw.per_second).max_by(f64::total_cmp),
            Goal::Latency { .. } => {
                let p50 = |side: &[Sample]| Some(self.best(side, goal)?.p50?.as_secs_f64());
                Some(p50(&self.ours)? / p50(&self.raw)?)
            }
            _ => {
                let best = |side: &[Sample]| Some(self.best(side, goal)?.per_second);
                Some(best(&self.ours)? / best(&self.raw)?)
            }
        }
    }

    /// Returns whether the goal was reached. `documented` is the lower end of the raw limit that the goal was set by:
    /// a rate, or the milliseconds of a median.
    pub(crate) fn reached(&self, goal: &Goal, documented: Option<f64>) -> Reached {
        let Some(best) = self.best(&self.ours, goal) else {
            return Reached::No;
        };
        let ratio = self.ratio(goal);
        let reached = match goal {
            Goal::None => return Reached::NoGoal,
            Goal::PerSecond(wanted) => best.per_second >= *wanted,
            Goal::Share(wanted) => ratio.is_some_and(|ratio| ratio >= *wanted),
            Goal::Latency { p50_ms, p99_ms } => {
                let within =
                    |value: Option<Duration>, limit: f64| value.is_some_and(|value| value.as_secs_f64() * 1e3 <= limit);
                self.ours.iter().any(|run| within(run.p50, *p50_ms) && within(run.p99, *p99_ms))
            }
        };
        let by_ratio = match (goal, documented, ratio) {
            (Goal::PerSecond(wanted), Some(raw), Some(ratio)) => ratio >= wanted / raw,
            (Goal::Latency { p50_ms, .. }, Some(raw_ms), Some(ratio)) => ratio <= p50_ms / raw_ms,
            _ => false,
        };
        match (reached, by_ratio) {
            (true, _) => Reached::Yes,
            (false, true) => Reached::ByRatio,
            (false, false) => Reached::No,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(per_second: f64, p50_ms: u64, p99_ms: u64) -> Sample {
        let millis = |ms| Some(Duration::from_millis(ms));
        Sample { count: 1, per_second, p50: millis(p50_ms), p99: millis(p99_ms) }
    }

    #[test]
    fn the_best_run_counts_and_otherwise_its_ratio() {
        let row = Measured {
            raw: vec![sample(80.0, 1, 1), sample(100.0, 1, 1)],
            ours: vec![sample(150.0, 1, 1), sample(120.0, 1, 1)],
            ..Measured::default()
        };
        let goal = Goal::PerSecond(150.0);
        assert_eq!(row.ratio(&goal), Some(1.5));
        assert_eq!(row.reached(&goal, None), Reached::Yes);
        let goal = Goal::PerSecond(300.0);
        assert_eq!(row.reached(&goal, Some(200.0)), Reached::ByRatio);
        assert_eq!(row.reached(&goal, Some(199.0)), Reached::No);
        assert_eq!(row.reached(&goal, None), Reached::No);
    }

    #[test]
    fn a_share_is_taken_within_a_round() {
        let row = Measured {
            raw: vec![sample(100.0, 1, 1), sample(50.0, 1, 1)],
            ours: vec![sample(90.0, 1, 1), sample(40.0, 1, 1)],
            ..Measured::default()
        };
        assert_eq!(row.ratio(&Goal::Share(0.9)), Some(0.9));
        assert_eq!(row.reached(&Goal::Share(0.91), None), Reached::No);
    }

    #[test]
    fn both_ends_of_a_latency_must_come_from_one_run() {
        let row = Measured { ours: vec![sample(1.0, 1, 9), sample(1.0, 3, 4)], ..Measured::default() };
        let goal = |p50_ms, p99_ms| Goal::Latency { p50_ms, p99_ms };
        assert_eq!(row.reached(&goal(1.0, 4.0), None), Reached::No);
        assert_eq!(row.reached(&goal(3.0, 4.0), None), Reached::Yes);
    }

    #[test]
    fn a_latency_is_reached_by_ratio_where_the_raw_one_is_longer_too() {
        let row = Measured { raw: vec![sample(1.0, 2, 4)], ours: vec![sample(1.0, 6, 9)], ..Measured::default() };
        let goal = Goal::Latency { p50_ms: 3.0, p99_ms: 4.0 };
        assert_eq!(row.ratio(&goal), Some(3.0));
        assert_eq!(row.reached(&goal, Some(1.0)), Reached::ByRatio);
        assert_eq!(row.reached(&goal, Some(1.1)), Reached::No);
        assert_eq!(row.reached(&goal, None), Reached::No);
    }
}
