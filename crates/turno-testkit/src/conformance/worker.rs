//! Workers on a real database: what becomes of a handler's outcome, of its claim, and of a worker that stops.
//!
//! Handlers report through channels, and the cases wait for the reports, with a bound: time moves only when a
//! case moves it, so what must happen happens without any passing, and what must not has no reason to.

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
use turno::store::ItemRecord;
use turno::{Job, QueueHandle};

/// The cases of this folder.
pub(super) fn cases() -> Vec<Case> {
    [results::cases(), groups::cases(), holding::cases(), stopping::cases(), waking::cases()]
        .into_iter()
        .flatten()
        .collect()
}

/// The longest that anything may take that needs no time to pass: a signal that never comes must fail.
const LIMIT: Duration = Duration::from_secs(20);

/// What the drafts of the cases carry.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Message {
    de: String,
    texto: String,
}

fn inbox() -> Policy {
    Policy::of(Kind::Inbox)
}

/// A lane that groups whatever is there, without a window, and lets beats stretch a claim.
fn eager() -> Policy {
    Policy { window: Span::ZERO, max_hold: None, ..Policy::of(Kind::Lane) }
}

/// Reports of handlers.
struct Reports<T> {
    sender: UnboundedSender<T>,
    receiver: UnboundedReceiver<T>,
}

impl<T> Reports<T> {
    fn new() -> Reports<T> {
        let (sender, receiver) = unbounded_channel();
        Reports { sender, receiver }
    }

    /// The next report, with a bound.
    async fn next(&mut self) -> T {
        let next = tokio::time::timeout(LIMIT, self.receiver.recv()).await;
        next.expect("a handler reports in time").expect("there is a sender")
    }

    fn none(&mut self) -> bool {
        self.receiver.try_recv().is_err()
    }
}

/// Says so when it is dropped.
struct Dropped(UnboundedSender<&'static str>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

/// Waits, with a bound, until `check` is true.
async fn until<R: Future<Output = bool>>(what: &str, check: impl Fn() -> R) {
    let looking = async {
        while !check().await {
            tokio::task::yield_now().await;
        }
    };
    assert!(tokio::time::timeout(LIMIT, looking).await.is_ok(), "in time: {what}");
}

/// Waits for `future`, with a bound.
async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(LIMIT, future).await {
        Ok(answer) => answer,
        Err(_) => panic!("in time: {what}"),
    }
}

async fn record(queue: &QueueHandle, id: &str) -> ItemRecord {
    queue.item(ItemId::new(id).unwrap()).await.unwrap().expect("it was accepted")
}

fn id<T>(job: &Job<T>) -> String {
    job.id.as_str().to_owned()
}
