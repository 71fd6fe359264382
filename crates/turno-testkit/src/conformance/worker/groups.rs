//! Workers on lanes: processed items of a group are not processed again.

use super::super::world::{World, draft, put};
use super::{Message, Reports, eager, id, record, until};
use std::time::Duration;
use turno::queue::{Draft, Failed, Job};
use turno::store::Counts;

super::cases![
    a_failing_item_does_not_repeat_the_processed_items_of_its_group,
    a_group_handler_gets_the_whole_group_and_may_name_the_item_that_failed,
    a_group_that_fails_as_a_whole_is_delivered_again_as_a_whole,
    an_unreadable_item_of_a_group_fails_alone,
];

async fn a_failing_item_does_not_repeat_the_processed_items_of_its_group(world: World) {
    let queue = world.queue(eager()).await;
    put(&queue, "ana", &["1", "2", "3"]).await;
    let mut reports = Reports::new();
    let sender = reports.sender.clone();
    let worker = queue.worker(move |job: Job<Message>| {
        let _ = sender.send((id(&job), job.attempt));
        async move {
            match (job.id.as_str(), job.attempt) {
                ("2", 1) => Err(Failed::new("not yet").retry_in(Duration::ZERO)),
                _ => Ok(()),
            }
        }
    });
    let running = worker.start().unwrap();
    for expected in [("1", 1), ("2", 1), ("2", 2), ("3", 1)] {
        let (id, attempt) = reports.next().await;
        assert_eq!((id.as_str(), attempt), expected);
    }
    until("all items are processed", || async { queue.counts().await.unwrap().processed == 3 }).await;
    running.stop().await;
    assert!(reports.none());
}

async fn a_group_handler_gets_the_whole_group_and_may_name_the_item_that_failed(world: World) {
    let queue = world.queue(eager()).await;
    put(&queue, "ana", &["1", "2", "3"]).await;
    let mut reports = Reports::new();
    let sender = reports.sender.clone();
    let worker = queue.group_worker(move |group: Vec<Job<Message>>| {
        let _ = sender.send(group.iter().map(id).collect::<Vec<_>>());
        async move {
            match &group[..] {
                [_, second, _] => Err(Failed::new("not yet").retry_in(Duration::ZERO).at(&second.id)),
                _ => Ok(()),
            }
        }
    });
    let running = worker.start().unwrap();
    assert_eq!(reports.next().await, ["1", "2", "3"]);
    assert_eq!(reports.next().await, ["2", "3"]);
    until("all items are processed", || async { queue.counts().await.unwrap().processed == 3 }).await;
    running.stop().await;
    assert_eq!(record(&queue, "3").await.errors.len(), 0);
}

async fn a_group_that_fails_as_a_whole_is_delivered_again_as_a_whole(world: World) {
    let queue = world.queue(eager()).await;
    put(&queue, "ana", &["1", "2"]).await;
    let mut reports = Reports::new();
    let sender = reports.sender.clone();
    let worker = queue.group_worker(move |group: Vec<Job<Message>>| {
        let _ = sender.send(group.iter().map(id).collect::<Vec<_>>());
        async move {
            let elsewhere = turno::core::id::ItemId::new("elsewhere").unwrap();
            // The named item belongs to another delivery, so the failure counts for the whole group.
            if group[0].attempt == 1 { Err(Failed::new("a").retry_in(Duration::ZERO).at(&elsewhere)) } else { Ok(()) }
        }
    });
    let running = worker.start().unwrap();
    assert_eq!(
        (reports.next().await, reports.next().await),
        (vec!["1".into(), "2".into()], vec!["1".into(), "2".into()])
    );
    until("all items are processed", || async { queue.counts().await.unwrap().processed == 2 }).await;
    running.stop().await;
}

async fn an_unreadable_item_of_a_group_fails_alone(world: World) {
    let queue = world.queue(eager()).await;
    let broken = |id: &str| Draft { payload: "{}".into(), ..draft("ana", id) };
    queue.enqueue(vec![broken("0"), draft("ana", "1"), broken("2"), draft("ana", "3")]).await.unwrap();
    let mut reports = Reports::new();
    let sender = reports.sender.clone();
    let worker = queue.group_worker(move |group: Vec<Job<Message>>| {
        let _ = sender.send(group.iter().map(id).collect::<Vec<_>>());
        async { Ok(()) }
    });
    let running = worker.start().unwrap();
    assert_eq!((reports.next().await, reports.next().await), (vec!["1".into()], vec!["3".into()]));
    let settled = Counts { processed: 2, exhausted: 2, ..Counts::default() };
    until("all items are settled", || async { queue.counts().await.unwrap() == settled }).await;
    running.stop().await;
}
