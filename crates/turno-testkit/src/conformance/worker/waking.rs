//! Workers wake at once, also for events of another instance, and share the work between instances.

use super::super::world::{World, draft, put, queue_name, take_one};
use super::{Message, Reports, id, inbox, record, until};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use turno::core::id::QueueName;
use turno::core::queue::{Kind, Policy};
use turno::core::time::Span;
use turno::queue::{Claim, Draft, Job, QueueHandle, RunningWorker};

super::cases![
    a_paused_queue_hands_a_worker_nothing_and_resuming_wakes_it,
    a_worker_wakes_on_new_work_of_another_instance,
    a_worker_wakes_when_a_window_ends,
    a_worker_wakes_when_the_delivery_of_a_dead_instance_expires,
    a_worker_never_exceeds_its_concurrency,
    two_workers_on_two_instances_process_each_item_once_in_order_per_key,
    the_observer_catches_workers_that_do_not_share_a_queue,
];

/// Starts a worker that reports every item.
fn start(queue: &QueueHandle, reports: &Reports<(String, u32)>) -> RunningWorker {
    let sender = reports.sender.clone();
    let worker = queue.worker(move |job: Job<Message>| {
        let _ = sender.send((id(&job), job.attempt));
        async { Ok(()) }
    });
    worker.start().unwrap()
}

async fn a_paused_queue_hands_a_worker_nothing_and_resuming_wakes_it(world: World) {
    let queue = world.queue(inbox()).await;
    let there = world.instance().await.queue(queue_name()).await.unwrap();
    let mut reports = Reports::new();
    let running = start(&queue, &reports);
    for (id, resume) in [("here", &queue), ("there", &there)] {
        queue.pause().await.unwrap();
        put(&queue, "ana", &[id]).await;
        world.advance(5_000);
        assert!(queue.claim(Claim::by("other")).await.unwrap().is_empty());
        assert!(reports.none(), "paused");
        resume.resume().await.unwrap();
        assert_eq!(reports.next().await, (id.to_owned(), 1));
    }
    running.stop().await;
}

async fn a_worker_wakes_on_new_work_of_another_instance(world: World) {
    let queue = world.queue(inbox()).await;
    let there = world.instance().await.queue(queue_name()).await.unwrap();
    let mut reports = Reports::new();
    let running = start(&there, &reports);
    for id in ["x", "y", "z"] {
        put(&queue, "ana", &[id]).await;
        assert_eq!(reports.next().await, (id.to_owned(), 1));
    }
    running.stop().await;
}

async fn a_worker_wakes_when_a_window_ends(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Lane)).await;
    let mut reports = Reports::new();
    let running = start(&queue, &reports);
    put(&queue, "ana", &["1"]).await;
    world.advance(2_000);
    put(&queue, "ana", &["2"]).await;
    world.advance(2_999);
    assert!(queue.counts().await.unwrap().pending == 2 && reports.none());
    world.advance(1);
    assert_eq!((reports.next().await.0.as_str(), reports.next().await.0.as_str()), ("1", "2"));
    running.stop().await;
}

async fn a_worker_wakes_when_the_delivery_of_a_dead_instance_expires(world: World) {
    let queue = world.queue(inbox()).await;
    put(&queue, "ana", &["x"]).await;
    let dead = world.instance().await;
    take_one(&dead.queue(queue_name()).await.unwrap()).await;
    drop(dead);
    let mut reports = Reports::new();
    let running = start(&queue, &reports);
    world.advance(59_999);
    assert!(queue.claim(Claim::by("other")).await.unwrap().is_empty() && reports.none());
    world.advance(1);
    assert_eq!(reports.next().await, ("x".to_owned(), 2));
    running.stop().await;
}

async fn a_worker_never_exceeds_its_concurrency(world: World) {
    let queue = world.queue(inbox()).await;
    queue.enqueue((0..30).map(|n| draft("ana", &n.to_string())).collect()).await.unwrap();
    // The number of handlers that run now, and the highest number so far.
    let at_it = Arc::new(Mutex::new((0, 0)));
    let counted = at_it.clone();
    let worker = queue.worker(move |_: Job<Message>| {
        let counted = counted.clone();
        async move {
            {
                let mut counted = counted.lock().unwrap();
                counted.0 += 1;
                counted.1 = counted.1.max(counted.0);
            }
            for _ in 0..5 {
                tokio::task::yield_now().await;
            }
            counted.lock().unwrap().0 -= 1;
            Ok(())
        }
    });
    let running = worker.concurrency(3).start().unwrap();
    until("all items are processed", || async { queue.counts().await.unwrap().processed == 30 }).await;
    running.stop().await;
    assert!(at_it.lock().unwrap().1 <= 3, "{at_it:?}");
}

const KEYS: usize = 10;
const EACH: usize = 12;

/// The record of an observer: per key whether an item is in process and the last item, and all violations.
#[derive(Default)]
struct Seen {
    keys: HashMap<String, (bool, usize)>,
    wrong: Vec<String>,
}

/// Lets two workers process `KEYS` × `EACH` items. Returns the violations that the observer found.
async fn observe(queues: [QueueHandle; 2], handed_out: usize) -> Vec<String> {
    let seen: Arc<Mutex<Seen>> = Arc::default();
    let (done, _) = tokio::sync::watch::channel(0);
    let start = |queue: &QueueHandle| {
        let (seen, done) = (seen.clone(), done.clone());
        let worker = queue.worker(move |job: Job<Message>| {
            let (seen, done) = (seen.clone(), done.clone());
            async move {
                let (key, n) = job.id.as_str().split_once('/').expect("key/n");
                let n: usize = n.parse()?;
                {
                    let mut seen = seen.lock().unwrap();
                    let (busy, next) = seen.keys.get(key).copied().unwrap_or_default();
                    if busy || next != n {
                        seen.wrong.push(format!("{}: {next} was next, busy {busy}", job.id));
                    }
                    seen.keys.insert(key.to_owned(), (true, n + 1));
                }
                tokio::task::yield_now().await;
                seen.lock().unwrap().keys.get_mut(key).expect("inserted above").0 = false;
                done.send_modify(|done| *done += 1);
                Ok(())
            }
        });
        worker.concurrency(4).start().unwrap()
    };
    let running = queues.each_ref().map(start);
    let mut watched = done.subscribe();
    super::soon("all items are processed", watched.wait_for(|done| *done >= handed_out)).await.unwrap();
    for worker in running {
        worker.stop().await;
    }
    assert_eq!(*done.borrow(), handed_out);
    std::mem::take(&mut seen.lock().unwrap().wrong)
}

fn items() -> Vec<Draft> {
    let all = (0..EACH).flat_map(|n| (0..KEYS).map(move |key| draft(&format!("k{key}"), &format!("{key}/{n}"))));
    all.collect()
}

fn lane() -> Policy {
    Policy { window: Span::ZERO, batch_max: 4, ..Policy::for_kind(Kind::Lane) }
}

async fn two_workers_on_two_instances_process_each_item_once_in_order_per_key(world: World) {
    let here = world.queue(lane()).await;
    let there = world.instance().await.queue(queue_name()).await.unwrap();
    here.enqueue(items()).await.unwrap();
    let wrong = observe([here.clone(), there], KEYS * EACH).await;
    assert!(wrong.is_empty(), "{wrong:?}");
    let counts = here.counts().await.unwrap();
    assert_eq!(counts.processed, (KEYS * EACH) as i64);
    assert_eq!(record(&here, "3/7").await.done.unwrap().attempt, 1);
}

/// The control: the observer must find violations where nothing keeps the two workers apart.
async fn the_observer_catches_workers_that_do_not_share_a_queue(world: World) {
    let here = world.queue(lane()).await;
    let there = world.turno.put_queue(QueueName::new("apart").unwrap(), lane()).await.unwrap();
    here.enqueue(items()).await.unwrap();
    there.enqueue(items()).await.unwrap();
    assert!(!observe([here, there], 2 * KEYS * EACH).await.is_empty());
}
