//! Why an item or a key is not running: every reason, from a real database.

use super::world::{START, World, ack, draft, id, put, settle, strict, take, take_one};
use turno::core::id::Key;
use turno::core::queue::{Act, Kind, OnExhausted, Policy, SettleOutcome};
use turno::core::time::Span;
use turno::queue::{Draft, QueueHandle, Why, WhyReason};

super::cases![
    the_reason_of_an_item_names_its_worker_or_its_outcome,
    the_reason_of_a_delayed_or_retried_item_has_its_due_time,
    a_paused_queue_is_the_reason,
    an_open_window_is_the_reason_for_every_item_in_it,
    the_reason_of_an_item_behind_another_names_that_item,
    a_held_lane_names_the_item_that_holds_it,
    the_reason_of_a_key_is_that_of_its_first_unfinished_item,
    an_expired_hand_out_is_no_reason,
    a_sync_key_has_a_reason_too,
    a_reason_agrees_with_the_next_claim,
];

async fn item(queue: &QueueHandle, item: &str) -> Why {
    queue.why_item(id(item)).await.unwrap().expect("the item is known")
}

async fn reason(queue: &QueueHandle, item_id: &str) -> WhyReason {
    item(queue, item_id).await.reason
}

async fn key(queue: &QueueHandle, key: &str) -> Why {
    queue.why_key(Key::new(key).unwrap()).await.unwrap()
}

fn fail(error: &str, retry_in: i64, give_up: bool) -> Act {
    Act::Fail { error: error.to_owned(), item: None, retry_in: Some(Span(retry_in)), give_up }
}

async fn the_reason_of_an_item_names_its_worker_or_its_outcome(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    assert_eq!(queue.why_item(id("never")).await.unwrap(), None);
    put(&queue, "ana", &["a", "b", "c"]).await;
    let why = item(&queue, "a").await;
    assert_eq!((why.running, &why.reason, why.attempt, why.now), (false, &WhyReason::Ready, 0, START));
    assert_eq!((why.item, why.key), (Some(id("a")), Some(Key::new("ana").unwrap())));
    world.advance(7);
    let got = take(&queue, 2).await;
    let running = WhyReason::Running {
        taker: Some("worker-1".into()),
        fence: got[0].reference.fence,
        since: START + Span(7),
        expires_at: got[0].expires_at,
    };
    let why = item(&queue, "a").await;
    assert_eq!((why.running, why.reason, why.attempt), (true, running, 1));
    world.advance(3);
    ack(&queue, &got[0]).await;
    settle(&queue, got[1].reference, fail("ni hablar", 0, true)).await;
    queue.cancel(id("c")).await.unwrap().unwrap();
    assert_eq!(reason(&queue, "a").await, WhyReason::Processed { at: START + Span(10) });
    assert_eq!(reason(&queue, "b").await, WhyReason::Exhausted { error: Some("ni hablar".to_owned()) });
    assert_eq!(reason(&queue, "c").await, WhyReason::Cancelled { at: START + Span(10) });
}

async fn the_reason_of_a_delayed_or_retried_item_has_its_due_time(world: World) {
    for kind in [Kind::Inbox, Kind::Lane, Kind::Sync] {
        let name = format!("{kind:?}");
        let policy = Policy { window: Span::ZERO, ..Policy::for_kind(kind) };
        let queue = world.turno.put_queue(&*name, policy).await.unwrap();
        let now = queue.overview().await.unwrap().now;
        queue.enqueue(vec![Draft { delay: Span(500), ..draft("luis", "later") }]).await.unwrap();
        assert_eq!(reason(&queue, "later").await, WhyReason::Delayed { until: now + Span(500) });
        put(&queue, "ana", &["x"]).await;
        let got = take_one(&queue).await;
        settle(&queue, got.reference, fail("ocupado", 900, false)).await;
        let until = now + Span(900);
        let expected = WhyReason::RetryLater { until, attempt: 1, error: Some("ocupado".to_owned()) };
        assert_eq!(reason(&queue, "x").await, expected);
        assert_eq!(key(&queue, "ana").await.reason, expected);
        world.advance(900);
        assert_eq!(reason(&queue, "x").await, WhyReason::Ready);
    }
}

async fn a_paused_queue_is_the_reason(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Lane)).await;
    put(&queue, "ana", &["1", "2"]).await;
    world.advance(3_000);
    let got = take_one(&queue).await;
    put(&queue, "luis", &["3"]).await;
    let other = world.instance().await;
    other.queue("mensajes").await.unwrap().pause().await.unwrap();
    assert!(item(&queue, "1").await.running, "an item in process keeps running");
    assert_eq!(reason(&queue, "3").await, WhyReason::Paused);
    assert_eq!(key(&queue, "luis").await.reason, WhyReason::Paused);
    ack(&queue, &got).await;
    assert_eq!(reason(&queue, "2").await.code(), "processed", "a finished item stays processed in a paused queue");
    assert_eq!(key(&queue, "nadie").await.reason, WhyReason::Empty);
}

async fn an_open_window_is_the_reason_for_every_item_in_it(world: World) {
    let queue = world.queue(Policy { batch_max: 3, ..Policy::for_kind(Kind::Lane) }).await;
    put(&queue, "ana", &["1"]).await;
    world.advance(1_000);
    put(&queue, "ana", &["2"]).await;
    let until = START + Span(4_000);
    assert_eq!(reason(&queue, "1").await, WhyReason::WindowOpen { until });
    assert_eq!(reason(&queue, "2").await, WhyReason::WindowOpen { until }, "item 2 is in the group of item 1");
    assert_eq!(key(&queue, "ana").await.reason, WhyReason::WindowOpen { until });
    world.advance(500);
    queue.typing(Key::new("ana").unwrap()).await.unwrap();
    assert_eq!(reason(&queue, "1").await, WhyReason::WindowOpen { until: START + Span(4_500) });
    put(&queue, "ana", &["3", "4"]).await;
    for item in ["1", "2", "3"] {
        assert_eq!(reason(&queue, item).await, WhyReason::Ready, "the batch is full");
    }
    assert_eq!(reason(&queue, "4").await, WhyReason::BehindHead { id: id("1") }, "item 4 is beyond the batch");
}

async fn the_reason_of_an_item_behind_another_names_that_item(world: World) {
    let queue = world.queue(strict()).await;
    put(&queue, "ana", &["1", "2"]).await;
    for n in 3..30 {
        put(&queue, "ana", &[&n.to_string()]).await;
    }
    assert_eq!(reason(&queue, "1").await, WhyReason::Ready);
    assert_eq!(reason(&queue, "2").await, WhyReason::BehindHead { id: id("1") });
    assert_eq!(
        reason(&queue, "29").await,
        WhyReason::BehindHead { id: id("1") },
        "the head is named however far back the item is"
    );
    let got = take_one(&queue).await;
    let behind = WhyReason::BehindInFlight {
        id: id("1"),
        taker: Some("worker-1".into()),
        fence: got.reference.fence,
        since: START,
        expires_at: got.expires_at,
    };
    assert_eq!(reason(&queue, "2").await, behind);
    assert_eq!(reason(&queue, "29").await, behind);
    settle(&queue, got.reference, fail("ocupado", 5_000, false)).await;
    assert_eq!(reason(&queue, "2").await, WhyReason::BehindHead { id: id("1") });
    assert_eq!(reason(&queue, "1").await.code(), "retry_later");
}

async fn a_held_lane_names_the_item_that_holds_it(world: World) {
    let queue = world.queue(Policy { on_exhausted: OnExhausted::Hold, ..strict() }).await;
    put(&queue, "ana", &["1", "2"]).await;
    settle(&queue, take_one(&queue).await.reference, fail("ni hablar", 0, true)).await;
    assert_eq!(reason(&queue, "1").await, WhyReason::Exhausted { error: Some("ni hablar".to_owned()) });
    assert_eq!(reason(&queue, "2").await, WhyReason::LaneHeld { id: id("1") });
    assert_eq!(key(&queue, "ana").await.reason, WhyReason::LaneHeld { id: id("1") });
}

async fn the_reason_of_a_key_is_that_of_its_first_unfinished_item(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    assert_eq!(key(&queue, "ana").await.reason, WhyReason::Empty);
    queue.enqueue(vec![Draft { delay: Span(500), ..draft("ana", "1") }]).await.unwrap();
    put(&queue, "ana", &["2"]).await;
    let why = key(&queue, "ana").await;
    assert_eq!((why.reason.code(), why.item), ("delayed", Some(id("1"))));
    let got = take_one(&queue).await;
    let why = key(&queue, "ana").await;
    assert_eq!((why.running, why.item), (true, Some(id("2"))), "a running item comes first");
    ack(&queue, &got).await;
    queue.cancel(id("1")).await.unwrap().unwrap();
    assert_eq!(key(&queue, "ana").await.reason, WhyReason::Empty);
}

async fn an_expired_hand_out_is_no_reason(world: World) {
    for kind in [Kind::Inbox, Kind::Lane, Kind::Sync] {
        let name = format!("{kind:?}");
        let policy =
            Policy { window: Span::ZERO, max_attempts: 2, lock_timeout: Span(1_000), ..Policy::for_kind(kind) };
        let queue = world.turno.put_queue(&*name, policy).await.unwrap();
        put(&queue, "ana", &["x"]).await;
        take_one(&queue).await;
        world.advance(1_000);
        assert_eq!(reason(&queue, "x").await, WhyReason::Ready, "{kind:?}: a claim at this instant gets the item");
        take_one(&queue).await;
        world.advance(1_000);
        let exhausted = WhyReason::Exhausted { error: Some("not settled in time".to_owned()) };
        assert_eq!(reason(&queue, "x").await, exhausted, "{kind:?}: the expired delivery was the last attempt");
        assert_eq!(take(&queue, 1).await, []);
        assert_eq!(reason(&queue, "x").await, exhausted, "{kind:?}: the sweep stores the same state");
    }
}

async fn a_sync_key_has_a_reason_too(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Sync)).await;
    put(&queue, "ana", &["x"]).await;
    let got = take_one(&queue).await;
    put(&queue, "ana", &["y"]).await;
    assert!(key(&queue, "ana").await.running, "a newer change waits while the older one is in process");
    ack(&queue, &got).await;
    assert_eq!(key(&queue, "ana").await.reason, WhyReason::Ready);
    settle(&queue, take_one(&queue).await.reference, fail("ni hablar", 0, true)).await;
    assert_eq!(key(&queue, "ana").await.reason, WhyReason::Exhausted { error: Some("ni hablar".to_owned()) });
}

/// An item whose reason is `Ready` is handed out by a claim, and no other item is.
async fn a_reason_agrees_with_the_next_claim(world: World) {
    let queue = world.queue(Policy { batch_max: 2, max_attempts: 9, ..Policy::for_kind(Kind::Lane) }).await;
    for round in 0_i64..40 {
        let (key, item) = (format!("k{}", round % 4), format!("{round}"));
        let delay = Span(if round % 7 == 0 { 2_000 } else { 0 });
        queue.enqueue(vec![Draft { delay, ..draft(&key, &item) }]).await.unwrap();
        world.advance(700);
        let all = queue.items(turno::queue::ItemQuery::default()).await.unwrap();
        let mut ready = Vec::new();
        for record in &all {
            if reason(&queue, record.body.id.as_str()).await == WhyReason::Ready {
                ready.push(record.body.id.to_string());
            }
        }
        let got = take(&queue, 100).await;
        let mut taken: Vec<String> = got.iter().flat_map(|got| &got.items).map(|item| item.id.to_string()).collect();
        taken.sort();
        ready.sort();
        assert_eq!(taken, ready, "round {round}");
        for (n, got) in got.iter().enumerate() {
            match (round as usize + n) % 3 {
                0 => assert_eq!(ack(&queue, got).await, SettleOutcome::Acked),
                1 => {
                    let failed = settle(&queue, got.reference, fail("ocupado", 1_500, false)).await.outcome;
                    assert!(matches!(failed, SettleOutcome::Retrying { .. }), "{failed:?}");
                }
                _ => {}
            }
        }
    }
}
