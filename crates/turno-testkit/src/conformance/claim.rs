//! Claims of one item, and claims with a request id.

use super::world::{World, ack, draft, fail, id, ids, put, settle, take, take_one};
use std::collections::HashSet;
use std::time::Duration;
use turno::Error;
use turno::core::id::Key;
use turno::core::queue::{Act, Kind, OnExhausted, Policy, SettleOutcome};
use turno::core::time::Span;
use turno::queue::{Claim, ClaimedItem, Delivery, Draft, QueueHandle, WhyReason};

super::cases![
    a_claim_of_one_item_returns_its_state,
    a_claim_of_one_item_takes_over_an_expired_delivery,
    a_claim_of_one_item_behind_its_head_is_refused,
    a_repeated_claim_of_one_item_gets_the_same_delivery,
    instances_that_race_for_one_item_get_it_once,
    a_repeated_claim_gets_the_same_live_deliveries,
    a_repeated_claim_is_recognised_by_another_instance_and_after_a_restart,
    concurrent_claims_with_one_request_id_get_the_same_deliveries,
    control_concurrent_claims_without_a_request_id_get_different_deliveries,
    a_request_id_is_free_again_after_its_deliveries_settle_or_expire,
    a_request_id_counts_per_instance_and_queue,
    a_later_delivery_does_not_belong_to_an_old_request,
    a_caller_that_left_finds_its_deliveries_again,
];

async fn claim(queue: &QueueHandle, item: &str) -> ClaimedItem {
    queue.claim_item(id(item), Claim::by("worker-1")).await.unwrap()
}

async fn code(queue: &QueueHandle, item: &str) -> &'static str {
    match claim(queue, item).await {
        ClaimedItem::NotYet(why) => why.reason.code(),
        other => panic!("{other:?}"),
    }
}

async fn request(queue: &QueueHandle, max: u32, request: &str) -> Vec<Delivery> {
    queue.claim(Claim::by("worker-1").max(max).request(request)).await.unwrap()
}

async fn a_claim_of_one_item_returns_its_state(world: World) {
    let policy = Policy { batch_max: 2, on_exhausted: OnExhausted::Hold, ..Policy::for_kind(Kind::Lane) };
    let queue = world.queue(policy).await;
    assert_eq!(claim(&queue, "1").await, ClaimedItem::Unknown);
    put(&queue, "ana", &["1"]).await;
    queue.enqueue(vec![Draft { delay: Span(9_000), ..draft("luis", "later") }]).await.unwrap();
    assert_eq!(code(&queue, "1").await, "window_open");
    assert_eq!(code(&queue, "later").await, "delayed");
    world.advance(3_000);
    put(&queue, "ana", &["2"]).await;
    put(&queue, "ana", &["3"]).await;
    queue.pause().await.unwrap();
    assert_eq!(code(&queue, "1").await, "paused");
    queue.resume().await.unwrap();
    assert_eq!(code(&queue, "3").await, "behind_head");
    let got = claim(&queue, "1").await.delivery().expect("the item is due");
    assert_eq!(ids(&got), ["1", "2"], "the delivery contains the whole group");
    assert_eq!(claim(&queue, "1").await, ClaimedItem::AlreadyYours);
    assert_eq!(claim(&queue, "2").await, ClaimedItem::AlreadyYours);
    assert_eq!(queue.claim_item(id("1"), Claim::by("worker-2")).await.unwrap(), ClaimedItem::AlreadyClaimed);
    assert_eq!(code(&queue, "3").await, "behind_in_flight");
    let act = Act::Fail { error: "no".to_owned(), item: Some(id("2")), retry_in: None, give_up: true };
    settle(&queue, got.reference, act).await;
    assert_eq!(claim(&queue, "1").await, ClaimedItem::AlreadyProcessed, "acked");
    assert_eq!(claim(&queue, "2").await, ClaimedItem::AlreadyProcessed, "exhausted");
    assert_eq!(code(&queue, "3").await, "lane_held");
    queue.cancel(id("later")).await.unwrap().unwrap();
    assert_eq!(claim(&queue, "later").await, ClaimedItem::AlreadyProcessed, "cancelled");
    queue.cancel(id("2")).await.unwrap().unwrap();
    world.advance(3_000);
    let got = claim(&queue, "3").await.delivery().expect("the item is the head of its lane");
    let act = Act::Fail { error: "no".to_owned(), item: None, retry_in: Some(Span(500)), give_up: false };
    settle(&queue, got.reference, act).await;
    assert_eq!(code(&queue, "3").await, "retry_later");
}

async fn a_claim_of_one_item_takes_over_an_expired_delivery(world: World) {
    let queue = world.queue(Policy { max_attempts: 2, ..Policy::for_kind(Kind::Inbox) }).await;
    put(&queue, "ana", &["x"]).await;
    for attempt in 1..=2 {
        assert_eq!(claim(&queue, "x").await.delivery().expect("the item is free").attempt, attempt);
        assert_eq!(claim(&queue, "x").await, ClaimedItem::AlreadyYours);
        world.advance(60_000);
    }
    assert_eq!(claim(&queue, "x").await, ClaimedItem::AlreadyProcessed, "no attempts left");
}

async fn a_claim_of_one_item_behind_its_head_is_refused(world: World) {
    let queue = world.queue(Policy { window: Span::ZERO, ..Policy::for_kind(Kind::Lane) }).await;
    put(&queue, "ana", &["1", "2"]).await;
    let ClaimedItem::NotYet(why) = claim(&queue, "2").await else { panic!("it is behind the head of its lane") };
    assert_eq!(why.reason, WhyReason::BehindHead { id: id("1") });
    assert_eq!(ids(&claim(&queue, "1").await.delivery().expect("the item is the head of its lane")), ["1", "2"]);
}

async fn a_repeated_claim_of_one_item_gets_the_same_delivery(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    let other = world.instance().await.queue("mensajes").await.unwrap();
    put(&queue, "ana", &["x", "y"]).await;
    let ask = async |queue: &QueueHandle, worker: &str, item: &str, request: &str| {
        queue.claim_item(id(item), Claim::by(worker).request(request)).await.unwrap()
    };
    let got = ask(&queue, "w", "x", "r").await.delivery().expect("the item is due");
    let again = ask(&other, "w", "x", "r").await.delivery().expect("a repeated request gets the delivery again");
    assert_eq!((again.reference, again.attempt, ids(&again)), (got.reference, 1, vec!["x"]));
    assert_eq!(ask(&queue, "w", "x", "r-2").await, ClaimedItem::AlreadyYours, "another request");
    assert_eq!(ask(&queue, "w-2", "x", "r").await, ClaimedItem::AlreadyClaimed, "another worker");
    let second = ask(&queue, "w", "y", "r").await.delivery().expect("a request id counts per item");
    assert_ne!(second.reference, got.reference);
    assert_eq!(
        queue.claim(Claim::by("w").max(9).request("r")).await.unwrap(),
        [],
        "a claim by item and a claim of the queue do not share request ids"
    );
    ack(&queue, &got).await;
    assert_eq!(ask(&queue, "w", "x", "r").await, ClaimedItem::AlreadyProcessed, "the delivery is settled");
}

async fn instances_that_race_for_one_item_get_it_once(world: World) {
    let queue = world.queue(Policy { window: Span::ZERO, ..Policy::for_kind(Kind::Lane) }).await;
    let other = world.instance().await.queue("mensajes").await.unwrap();
    for round in 0..5 {
        let item = format!("x{round}");
        put(&queue, &item, &[&item]).await;
        let mut calls = tokio::task::JoinSet::new();
        for n in 0..12 {
            let (queue, item) = (if n % 2 == 0 { queue.clone() } else { other.clone() }, id(&item));
            calls.spawn(async move { queue.claim_item(item, Claim::by(format!("w{n}"))).await.unwrap() });
        }
        let answers = calls.join_all().await;
        let won = answers.iter().filter(|claimed| matches!(claimed, ClaimedItem::Delivered(_))).count();
        let lost = answers.iter().filter(|claimed| **claimed == ClaimedItem::AlreadyClaimed).count();
        assert_eq!((won, lost), (1, 11), "{answers:?}");
    }
}

async fn a_repeated_claim_gets_the_same_live_deliveries(world: World) {
    let queue = world.queue(Policy { window: Span::ZERO, batch_max: 2, ..Policy::for_kind(Kind::Lane) }).await;
    for key in ["ana", "luis", "eva"] {
        put(&queue, key, &[&format!("{key}1"), &format!("{key}2"), &format!("{key}3")]).await;
    }
    let first = request(&queue, 2, "r").await;
    assert_eq!(first.iter().map(|got| got.items.len()).collect::<Vec<_>>(), [2, 2]);
    world.advance(500);
    let again = request(&queue, 2, "r").await;
    for (first, again) in first.iter().zip(&again) {
        assert_eq!((again.reference, again.attempt, &again.key), (first.reference, 1, &first.key));
        assert_eq!((&again.items, again.expires_at, again.revision), (&first.items, first.expires_at, first.revision));
        assert!(again.now > first.now, "`now` is the time of the repeated claim");
    }
    assert_eq!(again.len(), 2);
    queue.pause().await.unwrap();
    assert_eq!(request(&queue, 1, "r").await.len(), 2, "pausing the queue does not end live deliveries");
    queue.resume().await.unwrap();
    ack(&queue, &first[0]).await;
    let left = request(&queue, 2, "r").await;
    assert_eq!(
        left.iter().map(|got| got.reference).collect::<Vec<_>>(),
        [first[1].reference],
        "a settled delivery does not come back"
    );
    assert_eq!(request(&queue, 9, "other").await.len(), 2, "the rest of ana's lane and eva's lane");
}

async fn a_repeated_claim_is_recognised_by_another_instance_and_after_a_restart(mut world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    put(&queue, "any", &["a", "b", "c", "d"]).await;
    let first = request(&queue, 2, "r").await;
    let other = world.instance().await.queue("mensajes").await.unwrap();
    assert_eq!(request(&other, 2, "r").await, first);
    drop((queue, other));
    world.reopen().await;
    let queue = world.turno.queue("mensajes").await.unwrap();
    assert_eq!(request(&queue, 2, "r").await, first);
    assert_eq!(queue.counts().await.unwrap().in_process, 2);
}

/// Sends many claims at once, half of them on another instance, and returns the answers.
async fn at_once(world: &World, request: Option<&'static str>) -> Vec<Vec<Delivery>> {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    let other = world.instance().await.queue("mensajes").await.unwrap();
    let drafts = (0..60).map(|n| draft("any", &n.to_string()));
    queue.enqueue(drafts.collect()).await.unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..12 {
        let queue = if n % 2 == 0 { queue.clone() } else { other.clone() };
        calls.spawn(async move { queue.claim(Claim::by("worker-1").max(3).request(request)).await.unwrap() });
    }
    calls.join_all().await
}

async fn concurrent_claims_with_one_request_id_get_the_same_deliveries(world: World) {
    let answers = at_once(&world, Some("r")).await;
    assert_eq!(answers[0].len(), 3);
    assert!(answers.iter().all(|got| *got == answers[0]), "{answers:?}");
    let queue = world.turno.queue("mensajes").await.unwrap();
    assert_eq!(queue.counts().await.unwrap().in_process, 3);
}

async fn control_concurrent_claims_without_a_request_id_get_different_deliveries(world: World) {
    let answers = at_once(&world, None).await;
    let fences: HashSet<_> = answers.iter().flatten().map(|got| got.reference.fence).collect();
    assert_eq!(fences.len(), 36);
}

async fn a_request_id_is_free_again_after_its_deliveries_settle_or_expire(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    put(&queue, "any", &["a", "b", "c"]).await;
    let first = request(&queue, 1, "r").await;
    ack(&queue, &first[0]).await;
    let second = request(&queue, 1, "r").await;
    assert_ne!(second[0].reference, first[0].reference, "the id counts as a new claim");
    world.advance(60_000);
    let third = request(&queue, 2, "r").await;
    assert_eq!(third.iter().map(ids).collect::<Vec<_>>(), [["c"]], "an expired delivery is not returned again");
    assert!(third[0].reference.fence > second[0].reference.fence);
    assert_eq!(settle(&queue, second[0].reference, Act::Beat).await.outcome, SettleOutcome::Stale);
}

async fn a_request_id_counts_per_instance_and_queue(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    let other = world.turno.put_queue("otra", Policy::for_kind(Kind::Inbox)).await.unwrap();
    put(&queue, "any", &["a", "b", "c"]).await;
    put(&other, "any", &["a"]).await;
    let first = request(&queue, 1, "r").await;
    let theirs = queue.claim(Claim::by("worker-2").request("r")).await.unwrap();
    assert_ne!(theirs[0].reference, first[0].reference);
    assert_eq!(request(&other, 1, "r").await[0].reference.queue, other.row().await.unwrap().id);
    for bad in ["", "línea\nnueva", &"x".repeat(201)] {
        let refused = queue.claim(Claim::by("worker-1").request(bad)).await;
        assert!(matches!(refused, Err(Error::Name(_))), "{refused:?}");
    }
}

async fn a_later_delivery_does_not_belong_to_an_old_request(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    put(&queue, "any", &["a"]).await;
    let first = request(&queue, 1, "r").await;
    fail(&queue, &first[0]).await;
    let second = take_one(&queue).await;
    assert_eq!((second.attempt, second.items[0].id.as_str()), (2, "a"));
    assert_eq!(request(&queue, 1, "r").await, [], "the worker holds the item by another claim");
    assert_eq!(ack(&queue, &second).await, SettleOutcome::Acked);
}

async fn a_caller_that_left_finds_its_deliveries_again(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    let waiting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.claim(Claim::by("worker-1").wait(Duration::from_millis(5_000)).request("r")).await }
    });
    tokio::task::yield_now().await;
    put(&queue, "any", &["a"]).await;
    let first = waiting.await.unwrap().unwrap();
    assert_eq!(first.len(), 1, "a waiting claim with a request id gets the item");
    drop(first);
    let again = request(&queue, 1, "r").await;
    assert_eq!((again.len(), again[0].attempt), (1, 1));
    assert_eq!(take(&queue, 1).await, [], "no other claim gets it");
    assert_eq!(Key::new("any").ok(), again[0].key);
}
