//! The input of a handler, and how its result is settled.

use super::super::world::{START, World, draft, put};
use super::{Message, Reports, id, inbox, record, until};
use std::time::Duration;
use turno::core::id::Key;
use turno::core::queue::Policy;
use turno::core::time::Span;
use turno::queue::{Claim, Draft, Failed, Job};
use turno::store::Counts;

super::cases![
    a_typed_payload_arrives_with_its_metadata_and_is_acked,
    an_item_whose_handler_fails_is_retried_and_finally_exhausted,
    a_handler_may_choose_its_delay_or_give_up,
    a_panic_is_a_failed_attempt_and_other_handlers_go_on,
    an_unreadable_payload_is_exhausted_with_its_cause,
    an_invalid_worker_is_refused_at_once,
];

async fn a_typed_payload_arrives_with_its_metadata_and_is_acked(world: World) {
    let queue = world.queue(inbox()).await;
    world.advance(1_234);
    queue.enqueue(vec![Draft { action: Some("ALTA".to_owned()), ..draft("ana", "x") }]).await.unwrap();
    world.advance(10);
    let mut reports = Reports::new();
    let sender = reports.sender.clone();
    let worker = queue.worker(move |job: Job<Message>| {
        let _ = sender.send(job);
        async { Ok(()) }
    });
    let running = worker.instance("mailer-1").start().unwrap();
    let job = reports.next().await;
    let payload = Message { de: "ana".to_owned(), texto: "x ñ \0".to_owned() };
    assert_eq!((id(&job).as_str(), &job.payload, job.attempt), ("x", &payload, 1));
    assert_eq!((job.key.as_ref().map(Key::as_str), job.action.as_deref()), (Some("ana"), Some("ALTA")));
    assert_eq!(job.enqueued_at, START + Span(1_234));
    until("the item is acked", || async { queue.counts().await.unwrap().processed == 1 }).await;
    let done = record(&queue, "x").await.done.unwrap();
    assert_eq!((done.fence, done.holder.as_ref().map(|taker| taker.as_str())), (job.fence, Some("mailer-1")));
    super::soon("`lost` resolves after the ack", job.lost()).await;
    assert!(job.is_lost());
    running.stop().await;
}

async fn an_item_whose_handler_fails_is_retried_and_finally_exhausted(world: World) {
    let queue = world.queue(Policy { max_attempts: 3, ..inbox() }).await;
    put(&queue, "ana", &["x"]).await;
    let mut reports = Reports::new();
    let sender = reports.sender.clone();
    let worker = queue.worker(move |job: Job<Message>| {
        let _ = sender.send(job.attempt);
        async move { Err(Failed::new(format!("sin línea {}", job.attempt))) }
    });
    let running = worker.start().unwrap();
    for attempt in 1..=3 {
        assert_eq!(reports.next().await, attempt);
        if attempt < 3 {
            let back = || async { record(&queue, "x").await.item.is_some_and(|item| item.ready_at.is_some()) };
            until("the item waits for its back-off", back).await;
            let now = world.turno.store().unwrap().peek(Vec::new()).await.unwrap().now;
            let due = record(&queue, "x").await.item.unwrap().not_before;
            assert!(due >= now + Span(1_000 << (attempt - 1)), "the back-off doubles");
            world.advance((due - now).0 - 1);
            assert!(queue.claim(Claim::by("early")).await.unwrap().is_empty() && reports.none());
            world.advance(1);
        }
    }
    until("the item is exhausted", || async { queue.counts().await.unwrap().exhausted == 1 }).await;
    let errors: Vec<String> = record(&queue, "x").await.errors.into_iter().map(|error| error.error).collect();
    assert_eq!(errors, ["sin línea 1", "sin línea 2", "sin línea 3"]);
    running.stop().await;
    assert!(reports.none());
}

async fn a_handler_may_choose_its_delay_or_give_up(world: World) {
    let queue = world.queue(inbox()).await;
    put(&queue, "ana", &["later", "never", "error"]).await;
    let worker = queue.worker(move |job: Job<Message>| async move {
        match job.id.as_str() {
            "later" => Err(Failed::new("busy").retry_in(Duration::from_millis(77_000))),
            "never" => Err(Failed::new("no such address").give_up()),
            _ => Ok("no number".parse::<i32>().map(drop)?),
        }
    });
    let running = worker.start().unwrap();
    let settled = Counts { error: 2, exhausted: 1, ..Counts::default() };
    until("all items have failed", || async { queue.counts().await.unwrap() == settled }).await;
    assert_eq!(record(&queue, "later").await.item.unwrap().not_before, START + Span(77_000));
    assert_eq!(record(&queue, "never").await.errors[0].error, "no such address");
    let error = record(&queue, "error").await.errors.remove(0);
    assert_eq!(error.error, "invalid digit found in string");
    assert!(error.retry_at < Some(START + Span(2_000)), "the policy's back-off applies");
    running.stop().await;
}

async fn a_panic_is_a_failed_attempt_and_other_handlers_go_on(world: World) {
    let queue = world.queue(inbox()).await;
    put(&queue, "ana", &["at once", "later", "fine"]).await;
    let worker = queue.worker(move |job: Job<Message>| {
        assert!(id(&job) != "at once", "broken before the first await");
        async move {
            tokio::task::yield_now().await;
            assert!(id(&job) != "later", "broken at {}", job.id);
            Ok(())
        }
    });
    let running = worker.concurrency(1).start().unwrap();
    let settled = Counts { error: 2, processed: 1, ..Counts::default() };
    until("all items are settled", || async { queue.counts().await.unwrap() == settled }).await;
    assert_eq!(record(&queue, "at once").await.errors[0].error, "panicked: broken before the first await");
    assert_eq!(record(&queue, "later").await.errors[0].error, "panicked: broken at later");
    put(&queue, "ana", &["afterwards"]).await;
    until("the worker goes on", || async { queue.counts().await.unwrap().processed == 2 }).await;
    running.stop().await;
}

async fn an_unreadable_payload_is_exhausted_with_its_cause(world: World) {
    let queue = world.queue(inbox()).await;
    let strange = Draft { payload: r#"{"de":7}"#.into(), ..draft("ana", "strange") };
    let broken = Draft { payload: "{".into(), ..draft("ana", "broken") };
    queue.enqueue(vec![strange, broken, draft("ana", "fine")]).await.unwrap();
    let running = queue.worker(move |_: Job<Message>| async { Ok(()) }).start().unwrap();
    let settled = Counts { exhausted: 2, processed: 1, ..Counts::default() };
    until("all items are settled", || async { queue.counts().await.unwrap() == settled }).await;
    let record = record(&queue, "strange").await;
    let error = &record.errors[0].error;
    assert!(error.starts_with("the payload is not a ") && error.contains("Message"), "{error}");
    assert_eq!((record.errors.len(), record.errors[0].retry_at), (1, None));
    running.stop().await;
}

async fn an_invalid_worker_is_refused_at_once(world: World) {
    let queue = world.queue(inbox()).await;
    let worker = || queue.worker(|_: Job<Message>| async { Ok(()) });
    assert!(worker().instance("").start().is_err());
    assert!(worker().concurrency(0).start().is_err());
    assert!(worker().concurrency(1_001).start().is_err());
}
