//! A delivery while its handler runs: renewed, or lost.

use super::super::world::{START, World, put, settle};
use super::{Dropped, Message, Reports, inbox, record, soon, until};
use std::sync::Arc;
use tokio::sync::Notify;
use turno::core::queue::{Act, DeliveryRef, Last, SettleOutcome};
use turno::core::time::Span;
use turno::queue::{Claim, Job, QueueHandle};

super::cases![
    a_running_handler_keeps_its_delivery_past_the_lock_timeout,
    a_handler_whose_delivery_was_taken_is_dropped_without_an_ack,
    a_handler_whose_delivery_expired_is_dropped_and_the_item_is_redelivered,
    a_task_spawned_by_a_handler_learns_of_the_loss,
];

/// Returns the delivery of an item in process, as another client could name it.
async fn reference(queue: &QueueHandle, id: &str) -> DeliveryRef {
    let item = record(queue, id).await.item.expect("the item is in process");
    DeliveryRef { queue: item.queue, seq: item.seq, lane: item.lane, size: 1, fence: item.fence }
}

/// Returns a worker whose handler reports its start and its drop, and waits for `go_on`.
fn worker(queue: &QueueHandle, reports: &Reports<&'static str>, go_on: &Arc<Notify>) -> turno::queue::Worker {
    let (sender, go_on) = (reports.sender.clone(), go_on.clone());
    queue.worker(move |_: Job<Message>| {
        let (held, go_on) = (Dropped(sender.clone()), go_on.clone());
        let _ = sender.send("begun");
        async move {
            go_on.notified().await;
            let _ = held.0.send("done");
            Ok(())
        }
    })
}

async fn a_running_handler_keeps_its_delivery_past_the_lock_timeout(world: World) {
    let queue = world.queue(inbox()).await;
    put(&queue, "ana", &["x", "y"]).await;
    let (mut reports, go_on) = (Reports::new(), Arc::new(Notify::new()));
    let running = worker(&queue, &reports, &go_on).start().unwrap();
    assert_eq!((reports.next().await, reports.next().await), ("begun", "begun"));
    for third in 1..=7 {
        world.advance(20_000);
        let expiry = Some(START + Span(20_000 * third + 60_000));
        for id in ["x", "y"] {
            until("the delivery is renewed", || async { record(&queue, id).await.item.unwrap().expires_at == expiry })
                .await;
        }
    }
    assert!(queue.claim(Claim::by("other")).await.unwrap().is_empty());
    go_on.notify_waiters();
    until("both items are acked", || async { queue.counts().await.unwrap().processed == 2 }).await;
    assert_eq!(record(&queue, "x").await.done.unwrap().attempt, 1);
    running.stop().await;
}

async fn a_handler_whose_delivery_was_taken_is_dropped_without_an_ack(world: World) {
    let queue = world.queue(inbox()).await;
    put(&queue, "ana", &["x"]).await;
    let (mut reports, go_on) = (Reports::new(), Arc::new(Notify::new()));
    let running = worker(&queue, &reports, &go_on).concurrency(1).start().unwrap();
    assert_eq!(reports.next().await, "begun");
    settle(&queue, reference(&queue, "x").await, Act::Return { error: None }).await;
    let taken = queue.claim(Claim::by("thief")).await.unwrap().remove(0);
    assert!(reports.none(), "the worker has not renewed since the loss");
    world.advance(20_000);
    assert_eq!(reports.next().await, "dropped", "the refused renewal drops the handler");
    go_on.notify_waiters();
    running.stop().await;
    assert!(reports.none());
    let item = record(&queue, "x").await.item.expect("the item is not acked by the worker that lost it");
    assert_eq!((item.fence, item.holder.as_ref().map(|taker| taker.as_str())), (taken.reference.fence, Some("thief")));
    assert_eq!(settle(&queue, taken.reference, Act::Ack { through: None }).await.outcome, SettleOutcome::Acked);
}

async fn a_handler_whose_delivery_expired_is_dropped_and_the_item_is_redelivered(world: World) {
    let queue = world.queue(inbox()).await;
    put(&queue, "ana", &["x"]).await;
    let (mut reports, go_on) = (Reports::new(), Arc::new(Notify::new()));
    let running = worker(&queue, &reports, &go_on).concurrency(1).start().unwrap();
    assert_eq!(reports.next().await, "begun");
    // In one step, as after a suspended process: no renewal can come in time.
    world.advance(60_000);
    assert_eq!((reports.next().await, reports.next().await), ("dropped", "begun"));
    go_on.notify_one();
    until("the item is acked", || async { queue.counts().await.unwrap().processed == 1 }).await;
    let record = record(&queue, "x").await;
    assert_eq!((record.done.unwrap().attempt, record.errors[0].error.as_str()), (2, "not settled in time"));
    running.stop().await;
}

async fn a_task_spawned_by_a_handler_learns_of_the_loss(world: World) {
    let queue = world.queue(inbox()).await;
    put(&queue, "ana", &["x"]).await;
    let mut reports = Reports::new();
    let sender = reports.sender.clone();
    let worker = queue.worker(move |job: Job<Message>| {
        let _ = sender.send(job);
        std::future::pending()
    });
    let running = worker.start().unwrap();
    let job = reports.next().await;
    let lost = tokio::spawn(job.lost());
    assert!(!job.is_lost() && !lost.is_finished());
    queue.pause().await.unwrap();
    settle(&queue, reference(&queue, "x").await, Act::Return { error: None }).await;
    world.advance(20_000);
    soon("the spawned task learns of the loss", lost).await.unwrap();
    assert!(job.is_lost());
    running.stop().await;
    assert_eq!(record(&queue, "x").await.item.unwrap().last, Last::Returned);
}
