//! Lists, item records and queue overviews.

use super::world::{START, World, ack, draft, put, settle, take, take_one};
use turno::Error;
use turno::core::id::{Fence, ItemId, Key};
use turno::core::queue::{Act, Kind, Last, OnExhausted, Policy, SettleOutcome, UncountedDelivery};
use turno::core::time::Span;
use turno::queue::{Claim, Draft, ItemQuery, ItemState, LaneLocks, QueueHandle};
use turno::store::Counts;

super::cases![
    items_are_listed_by_state_exactly_as_they_are_counted,
    items_are_listed_by_key_page_by_page,
    a_list_of_one_queue_contains_no_items_of_another,
    an_item_record_has_the_holder_the_fence_and_the_outcome,
    only_the_newest_returned_deliveries_are_kept,
    an_overview_has_the_oldest_waiting_item_and_recent_activity,
    ended_attempts_keep_their_hand_out_time_and_a_queue_its_latency,
    purgeable_items_are_counted_and_purged_in_every_kind_of_queue,
    an_overview_notices_a_pause_of_another_instance,
    lanes_are_counted_by_live_deliveries_and_waiting_items,
];

fn give_up() -> Act {
    Act::Fail { error: "ni hablar".to_owned(), item: None, retry_in: None, give_up: true }
}

fn later() -> Act {
    Act::Fail { error: "luego".to_owned(), item: None, retry_in: Some(Span(60_000)), give_up: false }
}

fn ids(records: &[turno::queue::ItemRecord]) -> Vec<&str> {
    records.iter().map(|record| record.body.id.as_str()).collect()
}

async fn by_state(queue: &QueueHandle, state: ItemState) -> Vec<turno::queue::ItemRecord> {
    queue.items(ItemQuery { state: Some(state), ..ItemQuery::default() }).await.unwrap()
}

/// Creates a queue with an item in every state.
async fn one_in_each_state(world: &World, policy: Policy) -> QueueHandle {
    let queue = world.queue(Policy { lock_timeout: Span(10_000), max_hold: None, ..policy }).await;
    for key in ["a", "b", "c", "d", "e"] {
        put(&queue, key, &[key]).await;
    }
    let got = take(&queue, 5).await;
    ack(&queue, &got[0]).await;
    settle(&queue, got[1].reference, later()).await;
    assert_eq!(settle(&queue, got[2].reference, give_up()).await.outcome, SettleOutcome::Exhausted);
    world.advance(9_000);
    assert!(matches!(settle(&queue, got[3].reference, Act::Beat).await.outcome, SettleOutcome::Renewed { .. }));
    put(&queue, "f", &["f"]).await;
    put(&queue, "g", &["g"]).await;
    queue.cancel(ItemId::new("g").unwrap()).await.unwrap().unwrap();
    // e was neither renewed nor settled: its delivery has expired, and no command ran since.
    world.advance(1_000);
    queue
}

async fn items_are_listed_by_state_exactly_as_they_are_counted(world: World) {
    let lane = Policy { window: Span::ZERO, batch_max: 1, ..Policy::for_kind(Kind::Lane) };
    let policies = [
        lane.clone(),
        Policy { on_exhausted: OnExhausted::Hold, ..lane },
        Policy::for_kind(Kind::Inbox),
        Policy::for_kind(Kind::Sync),
    ];
    for (n, policy) in policies.into_iter().enumerate() {
        let world = if n == 0 { &world } else { &World::on(world.backend()).await };
        let queue = one_in_each_state(world, policy).await;
        let counts = queue.counts().await.unwrap();
        let expected = Counts { pending: 1, in_process: 1, error: 2, processed: 1, exhausted: 1, cancelled: 1 };
        assert_eq!(counts, expected, "policy {n}");
        for state in ItemState::ALL {
            let found = by_state(&queue, state).await;
            assert_eq!(found.len() as i64, counts.get(state), "{state}");
            assert!(found.iter().all(|record| record.state(record.now) == state), "{found:?}");
        }
        assert_eq!(ids(&by_state(&queue, ItemState::Pending).await), ["f"]);
        assert_eq!(ids(&by_state(&queue, ItemState::InProcess).await), ["d"]);
        assert_eq!(ids(&by_state(&queue, ItemState::Processed).await), ["a"]);
        assert_eq!(ids(&by_state(&queue, ItemState::Error).await), ["b", "e"], "an expired hand-out is an error");
        assert_eq!(ids(&by_state(&queue, ItemState::Exhausted).await), ["c"]);
        assert_eq!(ids(&by_state(&queue, ItemState::Cancelled).await), ["g"]);
        let all = queue.items(ItemQuery::default()).await.unwrap();
        assert_eq!(ids(&all), ["a", "b", "c", "d", "e", "f", "g"], "listed in the order of arrival");
        for record in all {
            let query = ItemQuery { key: record.body.key.clone(), ..ItemQuery::default() };
            for state in ItemState::ALL {
                let found = queue.items(ItemQuery { state: Some(state), ..query.clone() }).await.unwrap();
                assert_eq!(found.len(), usize::from(state == record.state(record.now)), "{state} of {query:?}");
            }
        }
    }
}

async fn ended_attempts_keep_their_hand_out_time_and_a_queue_its_latency(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    assert_eq!(queue.overview().await.unwrap().latency, None, "no item was processed");
    put(&queue, "a", &["x"]).await;
    world.advance(1_000);
    let first = take_one(&queue).await;
    world.advance(10);
    let at_once = Act::Fail { error: "luego".to_owned(), item: None, retry_in: Some(Span::ZERO), give_up: false };
    settle(&queue, first.reference, at_once).await;
    world.advance(100);
    let second = take_one(&queue).await;
    world.advance(20);
    ack(&queue, &second).await;
    let record = queue.item(ItemId::new("x").unwrap()).await.unwrap().unwrap();
    let failed = record.errors.first().unwrap();
    assert_eq!((failed.handed_at, failed.at), (Some(START + Span(1_000)), START + Span(1_010)));
    let done = record.done.as_ref().unwrap();
    assert_eq!((done.handed_at, done.at), (Some(START + Span(1_110)), START + Span(1_130)));
    assert_eq!(record.hand_out().unwrap().handed_at, done.handed_at);
    let latency = queue.overview().await.unwrap().latency.unwrap();
    assert_eq!((latency.items, latency.waited.p50, latency.took.p95), (1, Span(1_110), Span(1_130)));
    world.advance(61_000);
    assert_eq!(queue.overview().await.unwrap().latency, None, "the deliveries are outside the measured period");
}

async fn purgeable_items_are_counted_and_purged_in_every_kind_of_queue(world: World) {
    let lane = Policy { window: Span::ZERO, batch_max: 1, ..Policy::for_kind(Kind::Lane) };
    for (n, policy) in [lane, Policy::for_kind(Kind::Inbox), Policy::for_kind(Kind::Sync)].into_iter().enumerate() {
        let world = if n == 0 { &world } else { &World::on(world.backend()).await };
        let queue = one_in_each_state(world, policy).await;
        assert_eq!(queue.count_purgeable().await.unwrap(), 0, "policy {n}: within the retention");
        world.advance(queue.row().await.unwrap().policy.retention.0);
        assert_eq!(queue.count_purgeable().await.unwrap(), 2, "policy {n}: processed and cancelled");
        assert_eq!(queue.purge().await.unwrap(), 2);
        let counts = queue.counts().await.unwrap();
        assert_eq!((counts.processed, counts.cancelled, counts.exhausted), (0, 0, 1), "policy {n}");
        assert_eq!(queue.count_purgeable().await.unwrap(), 0);
    }
}

async fn items_are_listed_by_key_page_by_page(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    let drafts = (0..25).map(|n| draft(if n % 5 == 0 { "eva" } else { "luis" }, &format!("{n:02}")));
    queue.enqueue(drafts.collect()).await.unwrap();
    queue.enqueue(vec![Draft { key: None, ..draft("nadie", "sin clave") }]).await.unwrap();
    let of_eva = ItemQuery { key: Some(Key::new("eva").unwrap()), limit: 2, ..ItemQuery::default() };
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = queue.items(ItemQuery { after, ..of_eva.clone() }).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.body.seq);
        assert!(page.len() <= 2);
        seen.extend(ids(&page).into_iter().map(str::to_owned));
    }
    assert_eq!(seen, ["00", "05", "10", "15", "20"]);
    let middle = queue.items(ItemQuery { after, limit: 3, ..ItemQuery::default() }).await.unwrap();
    assert_eq!(ids(&middle), ["21", "22", "23"], "a cursor counts over all items, whatever page it came from");
    for limit in [0, 1_001] {
        let refused = queue.items(ItemQuery { limit, ..ItemQuery::default() }).await;
        assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    }
}

async fn a_list_of_one_queue_contains_no_items_of_another(world: World) {
    let queue = one_in_each_state(&world, Policy::for_kind(Kind::Inbox)).await;
    let other = world.turno.put_queue("otra", Policy::for_kind(Kind::Inbox)).await.unwrap();
    for state in ItemState::ALL.map(Some).into_iter().chain([None]) {
        for key in [None, Some(Key::new("a").unwrap())] {
            assert_eq!(other.items(ItemQuery { state, key, ..ItemQuery::default() }).await.unwrap(), []);
        }
    }
    assert_eq!(other.overview().await.unwrap().counts, Counts::default());
    assert_eq!(other.overview().await.unwrap().processed_last_minute, 0);
    assert_eq!(other.overview().await.unwrap().failed_last_minute, 0);
    assert_eq!(queue.overview().await.unwrap().failed_last_minute, 2);
}

async fn an_item_record_has_the_holder_the_fence_and_the_outcome(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    put(&queue, "ana", &["x"]).await;
    let x = || ItemId::new("x").unwrap();
    let fresh = queue.item(x()).await.unwrap().unwrap();
    assert_eq!((fresh.attempts(), fresh.hand_out(), fresh.due_at()), (0, None, None));
    world.advance(10);
    let first = take_one(&queue).await;
    let held = queue.item(x()).await.unwrap().unwrap();
    let hand_out = held.hand_out().unwrap();
    assert_eq!((hand_out.taker.instance(), hand_out.fence), ("worker-1", first.reference.fence));
    assert_eq!(hand_out.handed_at, Some(START + Span(10)));
    assert_eq!(hand_out.expires_at, Some(first.expires_at));
    settle(&queue, first.reference, later()).await;
    let failed = queue.item(x()).await.unwrap().unwrap();
    assert_eq!((failed.state(failed.now), failed.attempts()), (ItemState::Error, 1));
    assert_eq!(failed.due_at(), Some(START + Span(60_010)));
    assert_eq!(failed.hand_out().unwrap().expires_at, None, "no delivery is live");
    assert_eq!(failed.last_error(), Some("luego"));
    world.advance(60_000);
    let second = queue.claim(Claim::by("worker-2")).await.unwrap().remove(0);
    world.advance(5);
    ack(&queue, &second).await;
    let done = queue.item(x()).await.unwrap().unwrap();
    assert_eq!((done.state(done.now), done.attempts(), done.errors.len()), (ItemState::Processed, 2, 1));
    let hand_out = done.hand_out().unwrap();
    assert_eq!((hand_out.taker.instance(), hand_out.fence), ("worker-2", second.reference.fence));
    assert_eq!(done.done.as_ref().unwrap().at, START + Span(60_015));
    assert_eq!((done.body.enqueued_at, done.revision()), (START, second.revision));
    let error = &done.errors[0];
    assert_eq!(
        (error.attempt, error.fence, error.holder.as_ref().map(|taker| taker.as_str())),
        (1, first.reference.fence, Some("worker-1"))
    );
}

async fn only_the_newest_returned_deliveries_are_kept(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    put(&queue, "ana", &["x", "y"]).await;
    let other = take_one(&queue).await;
    let mut reference = Vec::new();
    for _ in 0..UncountedDelivery::KEPT + 3 {
        let got = take_one(&queue).await;
        world.advance(10);
        settle(&queue, got.reference, Act::Return { error: None }).await;
        reference.push(got.reference);
    }
    settle(&queue, other.reference, Act::Return { error: None }).await;
    let record = queue.item(ItemId::new("y").unwrap()).await.unwrap().unwrap();
    let kept: Vec<Fence> = record.came_back.iter().map(|back| back.fence).collect();
    assert_eq!(kept, reference[3..].iter().map(|reference| reference.fence).collect::<Vec<_>>());
    let last = record.came_back.last().unwrap();
    assert_eq!((last.how, last.at, last.error.as_deref()), (Last::Returned, record.now, None));
    assert_eq!(last.holder.as_ref().map(|taker| taker.instance()), Some("worker-1"));
    assert_eq!(last.handed_at.map(|handed_at| handed_at + Span(10)), Some(last.at));
    assert_eq!((record.attempts(), record.last_error()), (0, None));
    let own = queue.item(ItemId::new("x").unwrap()).await.unwrap().unwrap().came_back;
    assert_eq!(
        own.iter().map(|back| back.fence).collect::<Vec<_>>(),
        [other.reference.fence],
        "each item has its own returned deliveries"
    );
    // Repeating one of the kept returns gets its answer; a return that is no longer kept is stale.
    assert_eq!(settle(&queue, reference[3], Act::Return { error: None }).await.outcome, SettleOutcome::Returned);
    assert_eq!(settle(&queue, reference[2], Act::Return { error: None }).await.outcome, SettleOutcome::Stale);
}

async fn an_overview_has_the_oldest_waiting_item_and_recent_activity(world: World) {
    let queue = world.queue(Policy { max_attempts: 1, ..Policy::for_kind(Kind::Inbox) }).await;
    let empty = queue.overview().await.unwrap();
    assert_eq!((empty.oldest_waiting, empty.now, empty.row.name.as_str()), (None, START, "mensajes"));
    for id in ["a", "b", "c"] {
        put(&queue, "k", &[id]).await;
        world.advance(100);
    }
    assert_eq!(queue.overview().await.unwrap().oldest_waiting, Some(START));
    let got = take(&queue, 2).await;
    assert_eq!(
        queue.overview().await.unwrap().oldest_waiting,
        Some(START + Span(200)),
        "an item in process is not waiting"
    );
    ack(&queue, &got[0]).await;
    settle(&queue, got[1].reference, give_up()).await;
    let seen = queue.overview().await.unwrap();
    assert_eq!((seen.processed_last_minute, seen.failed_last_minute), (1, 1));
    assert_eq!(
        (seen.oldest_waiting, seen.counts.exhausted),
        (Some(START + Span(200)), 1),
        "an exhausted item is not waiting"
    );
    world.advance(60_000);
    let later = queue.overview().await.unwrap();
    assert_eq!((later.processed_last_minute, later.failed_last_minute), (0, 0));
    assert_eq!((later.counts.processed, later.now), (1, START + Span(60_300)));
}

async fn an_overview_notices_a_pause_of_another_instance(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    assert!(!queue.overview().await.unwrap().row.paused);
    let other = world.instance().await;
    other.queue("mensajes").await.unwrap().pause().await.unwrap();
    assert!(queue.overview().await.unwrap().row.paused);
}

async fn lanes_are_counted_by_live_deliveries_and_waiting_items(world: World) {
    assert_eq!(world.turno.lane_locks().await.unwrap(), LaneLocks::default());
    let strict = Policy { window: Span::ZERO, batch_max: 1, ..Policy::for_kind(Kind::Lane) };
    let chat = world.queue(Policy { on_exhausted: OnExhausted::Hold, ..strict.clone() }).await;
    let other = world.turno.put_queue("otra", strict).await.unwrap();
    let inbox = world.turno.put_queue("buzón", Policy::for_kind(Kind::Inbox)).await.unwrap();
    let sync = world.turno.put_queue("sincro", Policy::for_kind(Kind::Sync)).await.unwrap();
    put(&inbox, "ana", &["i1", "i2"]).await;
    put(&sync, "ana", &["s1"]).await;
    take(&inbox, 1).await;
    assert_eq!(world.turno.lane_locks().await.unwrap(), LaneLocks::default(), "only lanes are counted");
    put(&chat, "ana", &["1", "2"]).await;
    put(&chat, "luis", &["3"]).await;
    put(&other, "ana", &["4"]).await;
    let got = take(&chat, 1).await;
    let locks = |active_locks, active_queues, total_users| LaneLocks { active_locks, active_queues, total_users };
    assert_eq!(
        world.turno.lane_locks().await.unwrap(),
        locks(1, 3, 3),
        "ana's lane has a live delivery and a waiting item"
    );
    settle(&chat, got[0].reference, give_up()).await;
    ack(&other, &take_one(&other).await).await;
    assert_eq!(world.turno.lane_locks().await.unwrap(), locks(0, 2, 2));
    let got = take(&chat, 9).await;
    assert_eq!(got.len(), 1, "ana's lane is held");
    assert_eq!(world.turno.lane_locks().await.unwrap(), locks(1, 1, 2));
    world.advance(15_000);
    assert_eq!(world.turno.lane_locks().await.unwrap(), locks(0, 2, 2), "an expired item counts as waiting");
}
