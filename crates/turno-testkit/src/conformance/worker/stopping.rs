//! Workers that stop: what they have begun is finished or given back, and nothing waits for an expiry.

use super::super::world::{World, put};
use super::{Dropped, Message, Reports, eager, id, inbox, record, soon, until};
use std::sync::Arc;
use std::task::Poll;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use turno::core::queue::Last;
use turno::core::time::Span;
use turno::store::Counts;
use turno::{Job, QueueHandle, RunningWorker, Worker};

super::cases![
    a_stop_waits_for_running_handlers_and_takes_nothing_new,
    a_stop_gives_back_what_was_not_begun_with_its_attempt,
    a_handler_that_outlasts_the_grace_is_dropped_and_its_item_given_back,
    run_until_stops_when_it_is_told,
    a_dropped_worker_ends_its_handlers_and_its_claims_expire,
];

/// A handler that reports its item and waits for a permit.
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

/// Tells a worker to stop, and answers once it has been told.
async fn told_to_stop(running: RunningWorker) -> JoinHandle<()> {
    let mut stop = Box::pin(running.stop());
    let first = std::future::poll_fn(|context| Poll::Ready(stop.as_mut().poll(context))).await;
    assert!(first.is_pending(), "there is something to wait for");
    tokio::spawn(stop)
}

async fn a_stop_waits_for_running_handlers_and_takes_nothing_new(world: World) {
    let queue = world.queue(inbox()).await;
    put(&queue, "ana", &["x", "y"]).await;
    let (mut reports, permits) = (Reports::new(), Arc::new(Semaphore::new(0)));
    let running = worker(&queue, &reports, &permits).start().unwrap();
    reports.next().await;
    reports.next().await;
    let stop = told_to_stop(running).await;
    put(&queue, "ana", &["new"]).await;
    permits.add_permits(1);
    until("one is done", || async { queue.counts().await.unwrap().processed == 1 }).await;
    assert!(!stop.is_finished(), "the other still runs");
    permits.add_permits(1);
    soon("it stops", stop).await.unwrap();
    assert_eq!(queue.counts().await.unwrap().processed, 2, "acked before the stop returned");
    assert!(reports.none());
    assert_eq!(record(&queue, "new").await.item.unwrap().attempt, 0);
}

async fn a_stop_gives_back_what_was_not_begun_with_its_attempt(world: World) {
    let queue = world.queue(eager()).await;
    put(&queue, "ana", &["1", "2", "3"]).await;
    let (mut reports, permits) = (Reports::new(), Arc::new(Semaphore::new(0)));
    let running = worker(&queue, &reports, &permits).start().unwrap();
    assert_eq!(reports.next().await, "1");
    assert_eq!(record(&queue, "3").await.item.unwrap().attempt, 1, "all three are handed out");
    let stop = told_to_stop(running).await;
    permits.add_permits(1);
    soon("it stops", stop).await.unwrap();
    assert_eq!(queue.counts().await.unwrap(), Counts { processed: 1, pending: 2, ..Counts::default() });
    for id in ["2", "3"] {
        let item = record(&queue, id).await.item.unwrap();
        assert_eq!((item.attempt, item.last), (0, Last::Returned));
    }
    assert!(reports.none(), "nothing was begun after the stop");
    let rest = queue.claim("next", 1, Span::ZERO).await.unwrap().remove(0);
    assert_eq!((rest.items[0].id.as_str(), rest.attempt), ("2", 1), "at once, and in its place");
}

async fn a_handler_that_outlasts_the_grace_is_dropped_and_its_item_given_back(world: World) {
    let queue = world.queue(inbox()).await;
    put(&queue, "ana", &["x"]).await;
    let mut reports = Reports::new();
    let sender = reports.sender.clone();
    let worker = queue.worker(move |_: Job<Message>| {
        let held = Dropped(sender.clone());
        let _ = sender.send("begun");
        async move {
            let _held = held;
            std::future::pending().await
        }
    });
    let running = worker.grace(Span(5_000)).start().unwrap();
    assert_eq!(reports.next().await, "begun");
    let stop = told_to_stop(running).await;
    queue.counts().await.unwrap();
    assert!(!stop.is_finished() && reports.none(), "the grace is not over");
    // Slowly, and no further than needed: what it gives back must not have expired.
    let passing = async {
        while reports.none() {
            world.pass(50);
            queue.counts().await.unwrap();
        }
    };
    soon("it is dropped", passing).await;
    soon("it stops", stop).await.unwrap();
    assert_eq!(queue.counts().await.unwrap(), Counts { pending: 1, ..Counts::default() });
    let item = record(&queue, "x").await.item.unwrap();
    assert_eq!((item.attempt, item.last), (0, Last::Returned));
}

async fn run_until_stops_when_it_is_told(world: World) {
    let queue = world.queue(inbox()).await;
    let (told, tell) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let done = tell.clone();
    let worker = queue.worker(move |_: Job<Message>| {
        done.add_permits(1);
        async { Ok(()) }
    });
    let signal = told.clone();
    let run = tokio::spawn(worker.run_until(async move { drop(signal.acquire().await) }));
    put(&queue, "ana", &["x"]).await;
    soon("it works", tell.acquire()).await.unwrap().forget();
    assert!(!run.is_finished());
    told.add_permits(1);
    soon("it ends", run).await.unwrap().unwrap();
    assert_eq!(queue.counts().await.unwrap().processed, 1);
}

async fn a_dropped_worker_ends_its_handlers_and_its_claims_expire(world: World) {
    let queue = world.queue(inbox()).await;
    put(&queue, "ana", &["x"]).await;
    let mut reports = Reports::new();
    let sender = reports.sender.clone();
    let worker = queue.worker(move |_: Job<Message>| {
        let held = Dropped(sender.clone());
        let _ = sender.send("begun");
        async move {
            let _held = held;
            std::future::pending().await
        }
    });
    let running = worker.start().unwrap();
    assert_eq!(reports.next().await, "begun");
    drop(running);
    assert_eq!(reports.next().await, "dropped");
    assert!(queue.claim("other", 1, Span::ZERO).await.unwrap().is_empty());
    world.pass(60_000);
    assert_eq!(queue.claim("other", 1, Span::ZERO).await.unwrap()[0].attempt, 2);
}
