//! Expired deliveries count as ended for management calls and reads, although no sweep runs in these cases.

use super::world::{World, id, ids, put, take_one};
use turno::core::id::Key;
use turno::core::queue::{Kind, ManageAnswer, ManageRefused, OnExhausted, Policy};
use turno::core::time::Span;
use turno::queue::{Claim, Exhausted, ItemQuery, ItemState, QueueHandle};
use turno::store::Counts;

super::cases![
    an_expired_item_is_cancelled_without_a_sweep_and_its_lane_goes_on,
    an_item_beside_an_expired_one_is_managed_as_after_a_sweep,
    an_expired_last_attempt_is_exhausted_in_every_read,
    an_expired_last_attempt_is_retried_without_a_sweep,
    an_expired_delivery_ends_at_its_expiry_however_late_it_is_recorded,
];

fn policies(max_attempts: u32) -> Vec<(&'static str, Policy)> {
    let lane = Policy { window: Span::ZERO, batch_max: 1, max_attempts, ..Policy::for_kind(Kind::Lane) };
    let held = Policy { on_exhausted: OnExhausted::Hold, ..lane.clone() };
    let policy = |kind| Policy { max_attempts, ..Policy::for_kind(kind) };
    vec![("lane", lane), ("held", held), ("inbox", policy(Kind::Inbox)), ("sync", policy(Kind::Sync))]
}

/// Creates a queue in which the delivery of `a` has expired.
async fn expired(world: &World, name: &str, policy: Policy) -> QueueHandle {
    let queue = world.turno.put_queue(name, policy).await.unwrap();
    put(&queue, "ana", &["a"]).await;
    take_one(&queue).await;
    world.advance(60_000);
    queue
}

async fn an_expired_item_is_cancelled_without_a_sweep_and_its_lane_goes_on(world: World) {
    for (name, policy) in policies(5) {
        let queue = world.turno.put_queue(name, policy).await.unwrap();
        put(&queue, "ana", &["a"]).await;
        let got = take_one(&queue).await;
        assert_eq!(queue.cancel(id("a")).await.unwrap(), Err(ManageRefused::InProcess), "{name}: the delivery is live");
        world.advance((got.expires_at - got.now).0 - 1);
        assert_eq!(queue.cancel(id("a")).await.unwrap(), Err(ManageRefused::InProcess), "{name}: still");
        world.advance(1);
        assert_eq!(queue.cancel(id("a")).await.unwrap(), Ok(ManageAnswer::Cancelled), "{name}");
        let record = queue.item(id("a")).await.unwrap().unwrap();
        assert_eq!(record.state(record.now), ItemState::Cancelled);
        assert_eq!(record.last_error(), Some("not settled in time"), "{name}: the expiry is kept as an error");
        put(&queue, "ana", &["b"]).await;
        assert_eq!(ids(&take_one(&queue).await), ["b"], "{name}");
    }
}

async fn an_item_beside_an_expired_one_is_managed_as_after_a_sweep(world: World) {
    let queue = world.queue(Policy { window: Span::ZERO, ..Policy::for_kind(Kind::Lane) }).await;
    put(&queue, "ana", &["a", "b"]).await;
    let got = take_one(&queue).await;
    put(&queue, "ana", &["c", "d"]).await;
    world.advance(15_000);
    queue.cancel(id("c")).await.unwrap().unwrap();
    assert_eq!(queue.counts().await.unwrap(), Counts { pending: 1, error: 2, cancelled: 1, ..Counts::default() });
    let again = take_one(&queue).await;
    assert_eq!((ids(&again), again.attempt), (vec!["a", "b"], 2), "the group is unchanged");
    assert!(again.reference.fence > got.reference.fence);
}

async fn an_expired_last_attempt_is_exhausted_in_every_read(world: World) {
    for (name, policy) in policies(1) {
        let queue = expired(&world, name, policy).await;
        let record = queue.item(id("a")).await.unwrap().unwrap();
        assert_eq!(record.state(record.now), ItemState::Exhausted, "{name}");
        assert_eq!((record.attempts(), record.last_error()), (1, Some("not settled in time")), "{name}");
        assert_eq!(queue.counts().await.unwrap(), Counts { exhausted: 1, ..Counts::default() }, "{name}");
        let overview = queue.overview().await.unwrap();
        assert_eq!((overview.counts.exhausted, overview.oldest_waiting), (1, None), "{name}");
        assert_eq!(queue.why_item(id("a")).await.unwrap().unwrap().reason.code(), "exhausted", "{name}");
        for key in [None, Some(Key::new("ana").unwrap())] {
            for state in ItemState::ALL {
                let query = ItemQuery { state: Some(state), key: key.clone(), ..ItemQuery::default() };
                let found = queue.items(query).await.unwrap();
                assert_eq!(found.len(), usize::from(state == ItemState::Exhausted), "{name}: {state} of {key:?}");
                assert!(found.iter().all(|record| record.state(record.now) == state), "{name}");
            }
        }
        let unsettled = Exhausted { error: Some("in time".to_owned()), ..Exhausted::default() };
        assert_eq!(queue.count_matching(&unsettled, 10).await.unwrap(), 1, "{name}");
        let refused = queue.cancel(id("a")).await.unwrap();
        let stays = matches!(name, "held" | "sync");
        let expected = if stays { Ok(ManageAnswer::Cancelled) } else { Err(ManageRefused::Finished) };
        assert_eq!(refused, expected, "{name}: the same refusal as for any exhausted item");
    }
}

async fn an_expired_last_attempt_is_retried_without_a_sweep(world: World) {
    for (name, policy) in policies(1) {
        let queue = expired(&world, name, policy.clone()).await;
        assert_eq!(queue.retry(id("a")).await.unwrap(), Ok(ManageAnswer::Retried), "{name}");
        let record = queue.item(id("a")).await.unwrap().unwrap();
        assert_eq!((record.state(record.now), record.errors.len()), (ItemState::Pending, 1), "{name}");
        let again = take_one(&queue).await;
        assert_eq!((ids(&again), again.attempt), (vec!["a"], 1), "{name}: attempts start at 1 again");
        world.advance(60_000);
        queue.retry_with(id("a"), "7").await.unwrap().unwrap();
        assert_eq!(&*take_one(&queue).await.items[0].payload, "7", "{name}");
        world.advance(60_000);
        assert_eq!(queue.retry_exhausted(None, 10).await.unwrap(), 1, "{name}");
    }
}

async fn an_expired_delivery_ends_at_its_expiry_however_late_it_is_recorded(world: World) {
    let ended = async |queue: &QueueHandle| {
        let record = queue.item(id("a")).await.unwrap().unwrap();
        let failed = record.errors.iter().map(|error| error.at);
        failed.chain(record.came_back.iter().map(|back| back.at)).collect::<Vec<_>>()
    };
    for (name, policy) in policies(1).into_iter().chain(policies(5).into_iter().skip(2)) {
        let name = format!("{name}-{}", policy.max_attempts);
        let overtaken = name == "sync-5";
        let queue = world.turno.put_queue(name.as_str(), policy).await.unwrap();
        put(&queue, "ana", &["a"]).await;
        let got = take_one(&queue).await;
        if overtaken {
            put(&queue, "ana", &["b"]).await;
        }
        world.advance(600_000);
        assert_eq!(ended(&queue).await, [got.expires_at], "{name}: the read shows the expiry");
        world.advance(600_000);
        // A claim first takes the expired delivery back.
        queue.claim(Claim::by("worker-2")).await.unwrap();
        assert_eq!(ended(&queue).await, [got.expires_at], "{name}: the stored record shows the expiry");
    }
}
