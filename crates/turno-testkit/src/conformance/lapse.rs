//! What has expired is over for whoever manages or looks: nobody sweeps in these cases.

use super::world::{World, ids, put, take_one};
use turno::core::id::{ItemId, Key};
use turno::core::queue::{Kind, ManageAnswer, ManageRefused, OnExhausted, Policy};
use turno::core::time::Span;
use turno::store::Counts;
use turno::{Exhausted, ItemQuery, ItemState, QueueHandle};

super::cases![
    what_has_expired_is_cancelled_without_a_sweep_and_its_lane_goes_on,
    a_neighbour_of_what_has_expired_is_managed_as_after_a_sweep,
    a_last_attempt_that_expired_shows_as_exhausted_wherever_one_looks,
    a_last_attempt_that_expired_is_sent_round_again_without_a_sweep,
    a_hand_out_ends_with_its_time_whenever_that_is_noticed,
];

fn policies(max_attempts: u32) -> Vec<(&'static str, Policy)> {
    let lane = Policy { window: Span::ZERO, batch_max: 1, max_attempts, ..Policy::of(Kind::Lane) };
    let held = Policy { on_exhausted: OnExhausted::Hold, ..lane.clone() };
    let of = |kind| Policy { max_attempts, ..Policy::of(kind) };
    vec![("lane", lane), ("held", held), ("inbox", of(Kind::Inbox)), ("sync", of(Kind::Sync))]
}

/// A queue in which `a` was handed out until its time was over.
async fn expired(world: &World, name: &str, policy: Policy) -> QueueHandle {
    let queue = world.turno.put_queue(name, policy).await.unwrap();
    put(&queue, "ana", &["a"]).await;
    take_one(&queue).await;
    world.pass(60_000);
    queue
}

fn id(id: &str) -> ItemId {
    ItemId::new(id).unwrap()
}

async fn what_has_expired_is_cancelled_without_a_sweep_and_its_lane_goes_on(world: World) {
    for (name, policy) in policies(5) {
        let queue = world.turno.put_queue(name, policy).await.unwrap();
        put(&queue, "ana", &["a"]).await;
        let got = take_one(&queue).await;
        assert_eq!(queue.cancel(id("a")).await.unwrap(), Err(ManageRefused::InProcess), "{name}: it lives");
        world.pass((got.expires_at - got.now).0 - 1);
        assert_eq!(queue.cancel(id("a")).await.unwrap(), Err(ManageRefused::InProcess), "{name}: still");
        world.pass(1);
        assert_eq!(queue.cancel(id("a")).await.unwrap(), Ok(ManageAnswer::Cancelled), "{name}");
        let record = queue.item(id("a")).await.unwrap().unwrap();
        assert_eq!(record.state(record.now), ItemState::Cancelled);
        assert_eq!(record.last_error(), Some("not settled in time"), "{name}: what happened before is kept");
        put(&queue, "ana", &["b"]).await;
        assert_eq!(ids(&take_one(&queue).await), ["b"], "{name}");
    }
}

async fn a_neighbour_of_what_has_expired_is_managed_as_after_a_sweep(world: World) {
    let queue = world.queue(Policy { window: Span::ZERO, ..Policy::of(Kind::Lane) }).await;
    put(&queue, "ana", &["a", "b"]).await;
    let got = take_one(&queue).await;
    put(&queue, "ana", &["c", "d"]).await;
    world.pass(15_000);
    queue.cancel(id("c")).await.unwrap().unwrap();
    assert_eq!(queue.counts().await.unwrap(), Counts { pending: 1, error: 2, cancelled: 1, ..Counts::default() });
    let again = take_one(&queue).await;
    assert_eq!((ids(&again), again.attempt), (vec!["a", "b"], 2), "the group as it was");
    assert!(again.handed.fence > got.handed.fence);
}

async fn a_last_attempt_that_expired_shows_as_exhausted_wherever_one_looks(world: World) {
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
        assert_eq!(refused, expected, "{name}: as of any that is exhausted");
    }
}

async fn a_last_attempt_that_expired_is_sent_round_again_without_a_sweep(world: World) {
    for (name, policy) in policies(1) {
        let queue = expired(&world, name, policy.clone()).await;
        assert_eq!(queue.retry(id("a")).await.unwrap(), Ok(ManageAnswer::Retried), "{name}");
        let record = queue.item(id("a")).await.unwrap().unwrap();
        assert_eq!((record.state(record.now), record.errors.len()), (ItemState::Pending, 1), "{name}");
        let again = take_one(&queue).await;
        assert_eq!((ids(&again), again.attempt), (vec!["a"], 1), "{name}: from the beginning");
        world.pass(60_000);
        queue.retry_with(id("a"), "7").await.unwrap().unwrap();
        assert_eq!(&*take_one(&queue).await.items[0].payload, "7", "{name}");
        world.pass(60_000);
        assert_eq!(queue.retry_exhausted(None, 10).await.unwrap(), 1, "{name}");
    }
}

async fn a_hand_out_ends_with_its_time_whenever_that_is_noticed(world: World) {
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
        world.pass(600_000);
        assert_eq!(ended(&queue).await, [got.expires_at], "{name}: as it is read");
        world.pass(600_000);
        // Whoever takes has it taken back first.
        queue.claim("worker-2", 1, Span::ZERO).await.unwrap();
        assert_eq!(ended(&queue).await, [got.expires_at], "{name}: as it is written");
    }
}
