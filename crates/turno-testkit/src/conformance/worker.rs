//! Workers: how a handler's result is settled, how its claim is renewed or lost, and how a worker stops.
//!
//! Handlers report through channels, and the cases wait for the reports up to a limit. The clock moves only when
//! a case moves it. So an expected event needs no time to pass, and an unwanted one has no cause.

mod groups;
mod holding;
mod results;
mod stopping;
mod waking;

use super::{Case, cases};
use serde::Deserialize;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use turno::core::id::ItemId;
use turno::core::queue::{Kind, Policy};
use turno::core::time::Span;
use turno::queue::{Job, QueueHandle};
use turno::store::ItemRecord;

/// Returns the cases of this folder.
pub(super) fn cases() -> Vec<Case> {
    [results::cases(), groups::cases(), holding::cases(), stopping::cases(), waking::cases()]
        .into_iter()
        .flatten()
        .collect()
}

/// The limit for events that need no time to pass: a signal that never comes fails the case.
const LIMIT: Duration = Duration::from_secs(20);

/// The payload of the drafts.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Message {
    de: String,
    texto: String,
}

fn inbox() -> Policy {
    Policy::for_kind(Kind::Inbox)
}

/// Returns a lane policy without a window and without a hold limit: a group takes every waiting item.
fn eager() -> Policy {
    Policy { window: Span::ZERO, max_hold: None, ..Policy::for_kind(Kind::Lane) }
}

/// A channel on which handlers report.
struct Reports<T> {
    sender: UnboundedSender<T>,
    receiver: UnboundedReceiver<T>,
}

impl<T> Reports<T> {
    fn new() -> Reports<T> {
        let (sender, receiver) = unbounded_channel();
        Reports { sender, receiver }
    }

    /// Returns the next report, or panics after the limit.
    async fn next(&mut self) -> T {
        let next = tokio::time::timeout(LIMIT, self.receiver.recv()).await;
        next.expect("a handler reports in time").expect("the sender is alive")
    }

    fn none(&mut self) -> bool {
        self.receiver.try_recv().is_err()
    }
}

/// Sends "dropped" when it is dropped.
struct Dropped(UnboundedSender<&'static str>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

/// Waits until `check` is true, or panics after the limit.
async fn until<R: Future<Output = bool>>(event: &str, check: impl Fn() -> R) {
    let looking = async {
        while !check().await {
            tokio::task::yield_now().await;
        }
    };
    assert!(tokio::time::timeout(LIMIT, looking).await.is_ok(), "not in time: {event}");
}

/// Waits for `future`, or panics after the limit.
async fn soon<T>(event: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(LIMIT, future).await {
        Ok(answer) => answer,
        Err(_) => panic!("not in time: {event}"),
    }
}

async fn record(queue: &QueueHandle, id: &str) -> ItemRecord {
    queue.item(ItemId::new(id).unwrap()).await.unwrap().expect("the item was accepted")
}

fn id<T>(job: &Job<T>) -> String {
    job.id.as_str().to_owned()
}
