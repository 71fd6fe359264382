//! Figures about deliveries. Labels are bounded: words of ours, and the names of the first queues.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use turno::core::id::QueueName;

/// As in the library: every name is a series for ever, so the others share theirs.
const QUEUES_MAX: usize = 200;
const OTHER: &str = "other";

/// What became of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The receiver took it.
    Delivered,
    /// It was a failed attempt.
    Failed,
    /// It was given back, because the destination is down.
    Returned,
    /// There was nothing to be told.
    Skipped,
}

/// Which queues have figures of their own.
#[derive(Debug, Default)]
pub(crate) struct Figures(Mutex<BTreeSet<QueueName>>);

impl Figures {
    fn label(&self, queue: &QueueName) -> String {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains(queue) || known.len() < QUEUES_MAX {
            known.insert(queue.clone());
            return queue.to_string();
        }
        OTHER.to_owned()
    }

    /// A delivery ended; with how long the call took, if there was one.
    pub(super) fn ended(&self, queue: &QueueName, outcome: Outcome, took: Option<Duration>) {
        let word = match outcome {
            Outcome::Delivered => "delivered",
            Outcome::Failed => "failed",
            Outcome::Returned => "returned",
            Outcome::Skipped => "skipped",
        };
        metrics::counter!("turno_deliveries_total", "queue" => self.label(queue), "outcome" => word).increment(1);
        if let Some(took) = took {
            metrics::histogram!("turno_delivery_seconds", "queue" => self.label(queue)).record(took.as_secs_f64());
        }
    }

    /// Whether the queue's destination is down, as this process sees it. One that has no figures of its own shows none.
    pub(super) fn down(&self, queue: &QueueName, down: bool) {
        let label = self.label(queue);
        if label != OTHER {
            metrics::gauge!("turno_destination_down", "queue" => label).set(if down { 1.0 } else { 0.0 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_bound_share_one_label() {
        let figures = Figures::default();
        let label = |n: usize| figures.label(&QueueName::new(format!("q{n}")).unwrap());
        assert_eq!((0..QUEUES_MAX).map(label).filter(|label| label == OTHER).count(), 0);
        assert_eq!((label(QUEUES_MAX), label(3)), (OTHER.to_owned(), "q3".to_owned()));
    }
}
