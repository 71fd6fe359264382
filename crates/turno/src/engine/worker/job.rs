//! What a handler is given, and what it may say when it fails.

use crate::engine::queue::{Got, GotItem};
use std::fmt::Display;
use tokio::sync::watch;
use turno_core::id::{Fence, ItemId, Key};
use turno_core::limits::SPAN_MAX;
use turno_core::queue::Act;
use turno_core::time::{Span, Time};

/// An item in a handler's hands.
#[derive(Clone, Debug)]
pub struct Job<T> {
    /// Its id.
    pub id: ItemId,
    /// Whose it is.
    pub key: Option<Key>,
    /// What to do, for handlers that tell actions apart.
    pub action: Option<String>,
    /// What it carries.
    pub payload: T,
    /// Which attempt this is, from 1.
    pub attempt: u32,
    /// Grows with every hand-out: a store that remembers the highest refuses whoever comes late.
    pub fence: Fence,
    /// The change that is handed out, in a sync queue.
    pub revision: i64,
    /// When it was accepted.
    pub enqueued_at: Time,
    /// Closed by the worker when the delivery is over.
    alive: watch::Receiver<()>,
}

impl<T> Job<T> {
    pub(super) fn new(got: &Got, item: &GotItem, payload: T, alive: watch::Receiver<()>) -> Job<T> {
        Job {
            id: item.id.clone(),
            key: got.key.clone(),
            action: item.action.clone(),
            payload,
            attempt: item.attempt,
            fence: got.handed.fence,
            revision: got.revision,
            enqueued_at: item.enqueued_at,
            alive,
        }
    }

    /// Whether the delivery is not this handler's any more: lost, settled, or its worker is gone.
    ///
    /// The handler itself is dropped when that happens; this is for what it has started elsewhere, such as a
    /// thread.
    pub fn is_lost(&self) -> bool {
        self.alive.has_changed().is_err()
    }

    /// Waits until the delivery is not this handler's any more; for tasks that the handler has started.
    ///
    /// ```
    /// # use turno::Job;
    /// async fn handle(job: Job<String>) -> Result<(), turno::Failed> {
    ///     let lost = job.lost();
    ///     tokio::spawn(async move {
    ///         tokio::select! {
    ///             () = lost => {}
    ///             () = async { /* what must not go on without the claim */ } => {}
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

/// Why a handler did not do its job. Every error turns into one with `?`; it is no error type itself.
///
/// ```
/// use turno::core::time::Span;
/// use turno::Failed;
///
/// async fn send(to: &str) -> Result<(), Failed> {
///     let port: u16 = to.parse().map_err(|error| Failed::from(error).give_up())?;
///     if port == 25 {
///         return Err(Failed::new("the server is busy").retry_in(Span::from_secs(60)));
///     }
///     std::str::from_utf8(b"hola")?; // tried again as the queue's policy says
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
    /// Failed for this reason; tried again as the queue's policy says.
    pub fn new(reason: impl Display) -> Failed {
        Failed { error: reason.to_string(), item: None, retry_in: None, give_up: false }
    }

    /// To be tried again after `span`, whatever the policy says; at most a year.
    pub fn retry_in(self, span: Span) -> Failed {
        Failed { retry_in: Some(span.clamp(Span::ZERO, SPAN_MAX)), ..self }
    }

    /// Not to be tried again: another attempt would fail in the same way.
    pub fn give_up(self) -> Failed {
        Failed { give_up: true, ..self }
    }

    /// In a group: this item failed, those before it are done, those behind it were not begun.
    pub fn at(self, item: &ItemId) -> Failed {
        Failed { item: Some(item.clone()), ..self }
    }

    /// What is settled with it. An item that was not in the delivery cannot have failed alone.
    pub(super) fn settle(self, got: &Got) -> Act {
        let one_of_many = |id: &ItemId| got.items.len() > 1 && got.items.iter().any(|item| item.id == *id);
        let item = self.item.filter(one_of_many);
        Act::Fail { error: self.error, item, retry_in: self.retry_in, give_up: self.give_up }
    }
}

impl<E: std::error::Error> From<E> for Failed {
    /// With the causes that the error names, where it does not say them itself.
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
    fn an_errors_causes_are_told() {
        let cause = "x".parse::<i32>().unwrap_err();
        assert_eq!(Failed::from(Outer(cause)).error, "no answer: invalid digit found in string");
    }

    #[test]
    fn an_absurd_delay_is_bounded() {
        assert_eq!(Failed::new("a").retry_in(Span(-5)).retry_in, Some(Span::ZERO));
        assert_eq!(Failed::new("a").retry_in(Span(i64::MAX)).retry_in, Some(SPAN_MAX));
    }
}
