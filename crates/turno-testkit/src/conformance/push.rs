//! Pushers: deliveries that an application's sender passes to a destination.

use super::world::{World, put};
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use turno::core::queue::{Kind, Policy};
use turno::push::{Parcel, SendFailed, SendFuture, Sender};
use turno::queue::QueueHandle;
use turno::store::Counts;

super::cases![an_outage_spends_no_attempts_and_its_end_revives_the_exhausted_keys];

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Passes every call to the test, which answers it.
struct Calls(mpsc::UnboundedSender<Call>);

struct Call {
    key: String,
    answer: oneshot::Sender<Result<(), SendFailed>>,
}

impl Sender for Calls {
    fn send<'a>(&'a self, parcel: &'a Parcel) -> SendFuture<'a> {
        let (answer, answered) = oneshot::channel();
        let key = parcel.delivery.key.as_ref().expect("a sync item has a key").to_string();
        let sent = self.0.send(Call { key, answer });
        Box::pin(async move {
            sent.map_err(|_| SendFailed::new("the test ended"))?;
            answered.await.unwrap_or_else(|_| Err(SendFailed::new("the test ended")))
        })
    }
}

async fn next(calls: &mut mpsc::UnboundedReceiver<Call>) -> Call {
    tokio::time::timeout(PATIENCE, calls.recv()).await.expect("the sender is called").expect("the pusher runs")
}

async fn until(queue: &QueueHandle, expected: Counts) {
    let reached = async { while queue.counts().await.expect("the store answers") != expected {} };
    tokio::time::timeout(PATIENCE, reached).await.expect("the counts are reached");
}

async fn an_outage_spends_no_attempts_and_its_end_revives_the_exhausted_keys(world: World) {
    let queue = world.queue(Policy { max_attempts: 1, ..Policy::for_kind(Kind::Sync) }).await;
    for key in ["1", "2", "3"] {
        put(&queue, key, &[key]).await;
    }
    let (sender, mut calls) = mpsc::unbounded_channel();
    let pusher = queue.pusher(Calls(sender)).probe(Duration::from_secs(30)).start().await.expect("it starts");
    for _ in 0..3 {
        next(&mut calls).await.answer.send(Err(SendFailed::new("HTTP 503"))).expect("the pusher waits");
    }
    until(&queue, Counts { exhausted: 3, ..Counts::default() }).await;
    let down = async { while !queue.destination().await.unwrap().is_some_and(|seen| seen.is_down()) {} };
    tokio::time::timeout(PATIENCE, down).await.expect("three keys have failed");
    put(&queue, "4", &["4"]).await;
    world.advance(30_001);
    let probe = next(&mut calls).await;
    assert_eq!(probe.key, "4", "a key that was never tried is the probe");
    probe.answer.send(Err(SendFailed::new("HTTP 503"))).expect("the pusher waits");
    until(&queue, Counts { exhausted: 3, pending: 1, ..Counts::default() }).await;
    let mut delivered = BTreeSet::new();
    world.advance(30_001);
    while delivered.len() < 4 {
        let call = next(&mut calls).await;
        delivered.insert(call.key);
        call.answer.send(Ok(())).expect("the pusher waits");
    }
    until(&queue, Counts { processed: 4, ..Counts::default() }).await;
    pusher.stop().await;
}
