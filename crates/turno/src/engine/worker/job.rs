//! What a handler receives, and how it reports a failure.

use crate::engine::queue::{Delivery, DeliveryItem};
use std::fmt::Display;
use std::time::Duration;
use tokio::sync::watch;
use turno_core::id::{Fence, ItemId, Key};
use turno_core::limits::SPAN_MAX;
use turno_core::queue::Act;
use turno_core::time::{Span, Time};

/// An item as its handler receives it.
#[derive(Clone, Debug)]
pub struct Job<T> {
    /// The item's id.
    pub id: ItemId,
    /// The item's key.
    pub key: Option<Key>,
    /// The item's action, for handlers that distinguish several.
    pub action: Option<String>,
    /// The parsed payload.
    pub payload: T,
    /// The number of this attempt, from 1.
    pub attempt: u32,
    /// The delivery's fence. It grows with every delivery: a system that stores the highest fence can refuse outdated
    /// workers.
    pub fence: Fence,
    /// The revision of the change, in a sync queue.
    pub revision: i64,
    /// When the item was accepted.
    pub enqueued_at: Time,
    /// Closed when the worker no longer holds the delivery.
    alive: watch::Receiver<()>,
}

impl<T> Job<T> {
    pub(super) fn new(got: &Delivery, item: &DeliveryItem, payload: T, alive: watch::Receiver<()>) -> Job<T> {
        Job {
            id: item.id.clone(),
            key: got.key.clone(),
            action: item.action.clone(),
            payload,
            attempt: item.attempt,
            fence: got.reference.fence,
            revision: got.revision,
            enqueued_at: item.enqueued_at,
            alive,
        }
    }

    /// Returns whether the handler no longer holds the delivery: it was lost or settled, or its worker ended.
    ///
    /// The handler itself is dropped at that moment. Use this for work that it started elsewhere, such as a thread.
    pub fn is_lost(&self) -> bool {
        self.alive.has_changed().is_err()
    }

    /// Waits until the handler no longer holds the delivery. For tasks that the handler has started.
    ///
    /// ```
    /// # use turno::queue::Job;
    /// async fn handle(job: Job<String>) -> Result<(), turno::queue::Failed> {
    ///     let lost = job.lost();
    ///     tokio::spawn(async move {
    ///         tokio::select! {
    ///             () = lost => {}
    ///             () = async { /* work that must not continue after a loss */ } => {}
    ///         }
    ///     });
    ///     Ok(())
    /// }
    /// ```
    pub fn lost(&self) -> impl Future<Output = ()> + Send + 'static + use<T> {
        let mut alive = self.alive.clone();
        async move { while alive.changed().await.is_ok() {} }
    }
}

/// Why a handler failed. Every error converts to it with `?`. It is not an error type itself.
///
/// ```
/// use std::time::Duration;
/// use turno::queue::Failed;
///
/// async fn send(to: &str) -> Result<(), Failed> {
///     let port: u16 = to.parse().map_err(|error| Failed::from(error).give_up())?;
///     if port == 25 {
///         return Err(Failed::new("the server is busy").retry_in(Duration::from_secs(60)));
///     }
///     std::str::from_utf8(b"hola")?; // retried by the queue's policy
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    error: String,
    item: Option<ItemId>,
    retry_in: Option<Span>,
    give_up: bool,
}

impl Failed {
    /// Fails for this reason. The queue's policy decides about the retry.
    pub fn new(reason: impl Display) -> Failed {
        Failed { error: reason.to_string(), item: None, retry_in: None, give_up: false }
    }

    /// Retries after `delay` instead of the policy's delay, at most after a year.
    pub fn retry_in(self, delay: Duration) -> Failed {
        Failed { retry_in: Some(Span::from(delay).min(SPAN_MAX)), ..self }
    }

    /// Exhausts the item without another attempt, because it would fail in the same way.
    pub fn give_up(self) -> Failed {
        Failed { give_up: true, ..self }
    }

    /// In a group: this item failed, the items before it are processed, and the items after it were not started.
    pub fn at(self, item: &ItemId) -> Failed {
        Failed { item: Some(item.clone()), ..self }
    }

    /// Returns the act for this failure. Ignores an `item` that is not one of several in the delivery.
    pub(super) fn settle(self, got: &Delivery) -> Act {
        let is_one_of_several = |id: &ItemId| got.items.len() > 1 && got.items.iter().any(|item| item.id == *id);
        let item = self.item.filter(is_one_of_several);
        Act::Fail { error: self.error, item, retry_in: self.retry_in, give_up: self.give_up }
    }
}

impl<E: std::error::Error> From<E> for Failed {
    /// Takes the error's text and appends its causes, unless the text already contains them.
    fn from(error: E) -> Failed {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            let cause_text = cause.to_string();
            if !text.contains(&cause_text) {
                text = format!("{text}: {cause_text}");
            }
            source = cause.source();
        }
        Failed::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("no answer")]
    struct Outer(#[source] std::num::ParseIntError);

    #[test]
    fn the_text_of_a_failure_contains_its_causes() {
        let cause = "x".parse::<i32>().unwrap_err();
        assert_eq!(Failed::from(Outer(cause)).error, "no answer: invalid digit found in string");
    }

    #[test]
    fn retry_delays_are_clamped() {
        assert_eq!(Failed::new("a").retry_in(Duration::MAX).retry_in, Some(SPAN_MAX));
    }
}
