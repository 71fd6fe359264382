//! Wraps an application's handler: a delivery in, an [`Act`] out.
//!
//! Errors, panics and unreadable payloads all become an [`Act`], and the types of payloads and futures are erased
//! here. Claiming, renewing and settling are in `runner`.

use super::job::{Failed, Job};
use crate::engine::queue::{Delivery, DeliveryItem};
use crate::engine::sync::{Prepared, SyncHandle};
use futures_util::FutureExt;
use serde::de::DeserializeOwned;
use std::any::{Any, type_name};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;
use turno_core::id::ItemId;
use turno_core::queue::Act;

/// Handles one delivery and returns how to settle it.
pub(super) type HandlerFn = Arc<dyn Fn(Task) -> Pin<Box<dyn Future<Output = Act> + Send>> + Send + Sync>;

/// One delivery to handle.
pub(super) struct Task {
    pub(super) got: Delivery,
    /// Closed when the worker no longer holds the delivery.
    pub(super) alive: watch::Receiver<()>,
    /// True when the worker is stopping.
    pub(super) stopping: watch::Receiver<bool>,
    pub(super) progress: Progress,
}

/// The last processed item of a group, in case its handler is dropped.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress(Arc<Mutex<Option<ItemId>>>);

impl Progress {
    fn reached(&self, id: &ItemId) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(id.clone());
    }

    /// Returns the act that acks the processed items and returns the rest.
    pub(super) fn so_far(&self) -> Act {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).clone() {
            Some(id) => Act::Ack { through: Some(id) },
            None => Act::Return { error: None },
        }
    }
}

/// Wraps a handler that takes one item at a time.
pub(super) fn each<T, F, R>(handler: F) -> HandlerFn
where
    T: DeserializeOwned + Send + 'static,
    F: Fn(Job<T>) -> R + Send + Sync + 'static,
    R: Future<Output = Result<(), Failed>> + Send + 'static,
{
    let handler = Arc::new(handler);
    Arc::new(move |task: Task| {
        let handler = handler.clone();
        Box::pin(async move {
            let Task { got, alive, stopping, progress } = task;
            for (index, item) in got.items.iter().enumerate() {
                if index > 0 && *stopping.borrow() {
                    return progress.so_far();
                }
                let done = match parse_job::<T>(&got, item, &alive) {
                    Ok(job) => catch_panic(|| handler(job)).await,
                    Err(failed) => Err(failed),
                };
                match done {
                    Ok(()) => progress.reached(&item.id),
                    Err(failed) => return failed.at(&item.id).settle(&got),
                }
            }
            Act::Ack { through: None }
        })
    })
}

/// Wraps a handler that takes the whole delivery.
pub(super) fn whole<T, F, R>(handler: F) -> HandlerFn
where
    T: DeserializeOwned + Send + 'static,
    F: Fn(Vec<Job<T>>) -> R + Send + Sync + 'static,
    R: Future<Output = Result<(), Failed>> + Send + 'static,
{
    let handler = Arc::new(handler);
    Arc::new(move |task: Task| {
        let handler = handler.clone();
        Box::pin(async move {
            let Task { got, alive, .. } = task;
            let mut jobs = Vec::with_capacity(got.items.len());
            let mut unreadable = None;
            for item in &got.items {
                match parse_job::<T>(&got, item, &alive) {
                    Ok(job) => jobs.push(job),
                    Err(failed) => {
                        unreadable = Some(failed.at(&item.id));
                        break;
                    }
                }
            }
            if !jobs.is_empty()
                && let Err(failed) = catch_panic(|| handler(jobs)).await
            {
                return failed.settle(&got);
            }
            unreadable.map_or(Act::Ack { through: None }, |failed| failed.settle(&got))
        })
    })
}

/// Wraps a handler that takes the delivery unchanged and chooses the act itself.
pub(super) fn settling<F, R>(handler: F) -> HandlerFn
where
    F: Fn(Delivery) -> R + Send + Sync + 'static,
    R: Future<Output = Act> + Send + 'static,
{
    Arc::new(move |task: Task| Box::pin(handler(task.got)))
}

/// Wraps a handler for the changes of a source: it gets the current row, and what it acks is recorded as delivered.
pub(super) fn filled(sync: SyncHandle, handler: HandlerFn) -> HandlerFn {
    Arc::new(move |mut task: Task| {
        let (sync, handler) = (sync.clone(), handler.clone());
        Box::pin(async move {
            let change = match sync.prepare(&task.got).await {
                Ok(Prepared::Send(change)) => change,
                Ok(Prepared::Nothing) => return Act::Skip,
                Ok(Prepared::Wait { act, .. }) => return act,
                Err(error) => return Act::Return { error: Some(error.to_string()) },
            };
            change.fill(&mut task.got);
            let act = handler(task).await;
            if matches!(act, Act::Ack { .. }) {
                sync.note_delivered(&change).await;
            }
            act
        })
    })
}

/// Parses the item's payload. An unreadable payload fails for good, because a retry would not help.
fn parse_job<T: DeserializeOwned>(
    got: &Delivery,
    item: &DeliveryItem,
    alive: &watch::Receiver<()>,
) -> Result<Job<T>, Failed> {
    match serde_json::from_str(&item.payload) {
        Ok(payload) => Ok(Job::new(got, item, payload, alive.clone())),
        Err(error) => Err(Failed::new(format!("the payload is not a {}: {error}", type_name::<T>())).give_up()),
    }
}

/// Calls the handler and turns a panic into a failed attempt of its item.
async fn catch_panic<R>(call: impl FnOnce() -> R) -> Result<(), Failed>
where
    R: Future<Output = Result<(), Failed>>,
{
    let call = AssertUnwindSafe(async { call().await });
    call.catch_unwind().await.unwrap_or_else(|panic| Err(Failed::new(format!("panicked: {}", panic_message(&*panic)))))
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}
