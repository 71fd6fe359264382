//! Workers that stop: running items are finished, the others are returned, and no item waits for an expiry.

use super::super::world::{World, put};
use super::{Dropped, Message, Reports, eager, id, inbox, record, soon, until};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use turno::core::queue::Last;
use turno::queue::{Claim, Job, QueueHandle, RunningWorker, Worker};
use turno::store::Counts;

super::cases![
    a_stop_waits_for_running_handlers_and_claims_nothing_new,
    a_stop_returns_unstarted_items_without_counting_an_attempt,
    a_handler_that_outlasts_the_grace_is_dropped_and_its_item_returned,
    run_until_stops_on_its_signal,
    a_dropped_worker_ends_its_handlers_and_its_deliveries_expire,
];

/// Returns a worker whose handler reports its item and waits for a permit.
fn worker(queue: &QueueHandle, reports: &Reports<String>, permits: &Arc<Semaphore>) -> Worker {
    let (sender, permits) = (reports.sender.clone(), permits.clone());
    queue.worker(move |job: Job<Message>| {
        let _ = sender.send(id(&job));
        let permits = permits.clone();
        async move {
            permits.acquire().await?.forget();
            Ok(())
        }
    })
}

/// Returns a worker whose handler reports its start and its drop, and never ends.
fn endless_worker(queue: &QueueHandle, reports: &Reports<&'static str>) -> Worker {
    let sender = reports.sender.clone();
    queue.worker(move |_: Job<Message>| {
        let held = Dropped(sender.clone());
        let _ = sender.send("begun");
        async move {
            let _held = held;
            std::future::pending().await
        }
    })
}

/// Tells a worker to stop. Returns once the worker has received the signal.
async fn signal_stop(running: RunningWorker) -> JoinHandle<()> {
    let mut stop = Box::pin(running.stop());
    let first = std::future::poll_fn(|context| Poll::Ready(stop.as_mut().poll(context))).await;
    assert!(first.is_pending(), "the stop waits for a handler");
    tokio::spawn(stop)
}

async fn a_stop_waits_for_running_handlers_and_claims_nothing_new(world: World) {
    let queue = world.queue(inbox()).await;
    put(&queue, "ana", &["x", "y"]).await;
    let (mut reports, permits) = (Reports::new(), Arc::new(Semaphore::new(0)));
    let running = worker(&queue, &reports, &permits).start().unwrap();
    reports.next().await;
    reports.next().await;
    let stop = signal_stop(running).await;
    put(&queue, "ana", &["new"]).await;
    permits.add_permits(1);
    until("one item is processed", || async { queue.counts().await.unwrap().processed == 1 }).await;
    assert!(!stop.is_finished(), "the other handler still runs");
    permits.add_permits(1);
    soon("the worker stops", stop).await.unwrap();
    assert_eq!(queue.counts().await.unwrap().processed, 2, "both items are acked before the stop returns");
    assert!(reports.none());
    assert_eq!(record(&queue, "new").await.item.unwrap().attempt, 0);
}

async fn a_stop_returns_unstarted_items_without_counting_an_attempt(world: World) {
    let queue = world.queue(eager()).await;
    put(&queue, "ana", &["1", "2", "3"]).await;
    let (mut reports, permits) = (Reports::new(), Arc::new(Semaphore::new(0)));
    let running = worker(&queue, &reports, &permits).start().unwrap();
    assert_eq!(reports.next().await, "1");
    assert_eq!(record(&queue, "3").await.item.unwrap().attempt, 1, "all three items are handed out");
    let stop = signal_stop(running).await;
    permits.add_permits(1);
    soon("the worker stops", stop).await.unwrap();
    assert_eq!(queue.counts().await.unwrap(), Counts { processed: 1, pending: 2, ..Counts::default() });
    for id in ["2", "3"] {
        let item = record(&queue, id).await.item.unwrap();
        assert_eq!((item.attempt, item.last), (0, Last::Returned));
    }
    assert!(reports.none(), "no handler starts after the stop");
    let rest = queue.claim(Claim::by("next")).await.unwrap().remove(0);
    assert_eq!((rest.items[0].id.as_str(), rest.attempt), ("2", 1), "the item comes back at once and in its order");
}

async fn a_handler_that_outlasts_the_grace_is_dropped_and_its_item_returned(world: World) {
    let queue = world.queue(inbox()).await;
    put(&queue, "ana", &["x"]).await;
    let mut reports = Reports::new();
    let worker = endless_worker(&queue, &reports);
    let running = worker.grace(Duration::from_millis(5_000)).start().unwrap();
    assert_eq!(reports.next().await, "begun");
    let stop = signal_stop(running).await;
    queue.counts().await.unwrap();
    assert!(!stop.is_finished() && reports.none(), "the grace period is not over");
    // In small steps up to the end of the grace period: the returned delivery must not have expired.
    let passing = async {
        while reports.none() {
            world.advance(50);
            queue.counts().await.unwrap();
        }
    };
    soon("the handler is dropped", passing).await;
    soon("the worker stops", stop).await.unwrap();
    assert_eq!(queue.counts().await.unwrap(), Counts { pending: 1, ..Counts::default() });
    let item = record(&queue, "x").await.item.unwrap();
    assert_eq!((item.attempt, item.last), (0, Last::Returned));
}

async fn run_until_stops_on_its_signal(world: World) {
    let queue = world.queue(inbox()).await;
    let (stop, started) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let done = started.clone();
    let worker = queue.worker(move |_: Job<Message>| {
        done.add_permits(1);
        async { Ok(()) }
    });
    let signal = stop.clone();
    let run = tokio::spawn(worker.run_until(async move { drop(signal.acquire().await) }));
    put(&queue, "ana", &["x"]).await;
    soon("the handler runs", started.acquire()).await.unwrap().forget();
    assert!(!run.is_finished());
    stop.add_permits(1);
    soon("the worker stops", run).await.unwrap().unwrap();
    assert_eq!(queue.counts().await.unwrap().processed, 1);
}

async fn a_dropped_worker_ends_its_handlers_and_its_deliveries_expire(world: World) {
    let queue = world.queue(inbox()).await;
    put(&queue, "ana", &["x"]).await;
    let mut reports = Reports::new();
    let worker = endless_worker(&queue, &reports);
    let running = worker.start().unwrap();
    assert_eq!(reports.next().await, "begun");
    drop(running);
    assert_eq!(reports.next().await, "dropped");
    assert!(queue.claim(Claim::by("other")).await.unwrap().is_empty());
    world.advance(60_000);
    assert_eq!(queue.claim(Claim::by("other")).await.unwrap()[0].attempt, 2);
}
