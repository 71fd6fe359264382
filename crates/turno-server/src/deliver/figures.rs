//! Metrics about deliveries. Their labels are bounded: fixed words, and the names of the first queues.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use turno::core::id::QueueName;
use turno::push::PushOutcome;

/// The most queues with a label of their own, as in the library. A metric series lives for ever, so further queues
/// share one.
const QUEUES_MAX: usize = 200;
const OTHER: &str = "other";

/// The queues that have a label of their own.
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

    /// Counts a delivery that ended. `took` is the time since its hand-out, if it was tried.
    pub(super) fn count(&self, queue: &QueueName, outcome: PushOutcome, took: Option<Duration>) {
        let word = match outcome {
            PushOutcome::Delivered => "delivered",
            PushOutcome::Failed => "failed",
            PushOutcome::Returned => "returned",
            PushOutcome::Skipped => "skipped",
        };
        metrics::counter!("turno_deliveries_total", "queue" => self.label(queue), "outcome" => word).increment(1);
        if let Some(took) = took {
            metrics::histogram!("turno_delivery_seconds", "queue" => self.label(queue)).record(took.as_secs_f64());
        }
    }

    /// Sets whether the queue's destination is down. A queue without a label of its own has no such gauge.
    pub(super) fn set_down(&self, queue: &QueueName, down: bool) {
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
    fn queues_beyond_the_bound_share_one_label() {
        let figures = Figures::default();
        let label = |n: usize| figures.label(&QueueName::new(format!("q{n}")).unwrap());
        assert_eq!((0..QUEUES_MAX).map(label).filter(|label| label == OTHER).count(), 0);
        assert_eq!((label(QUEUES_MAX), label(3)), (OTHER.to_owned(), "q3".to_owned()));
    }
}
