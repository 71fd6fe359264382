//! Item ids: an id is accepted once within the retention, on every instance, and again afterwards.

use super::world::{World, ack, draft, fail, ids, put, queue_name, take_one};
use turno::core::id::{ItemId, Key};
use turno::core::queue::{Accepted, Kind, Policy};
use turno::core::time::Span;
use turno::queue::{Draft, QueueHandle};
use turno::store::{AuditQuery, Counts};

super::cases![
    a_late_repeat_of_an_absorbed_change_does_not_restore_an_old_state,
    a_duplicate_differs_if_its_key_or_json_value_differs,
    an_id_is_accepted_again_after_its_retention_without_a_purge,
    an_absorbed_id_is_accepted_again_after_its_retention,
    one_of_many_concurrent_uses_of_an_outlived_id_is_accepted,
    an_exhausted_item_keeps_its_id_until_it_is_retried_or_cancelled,
    absorbed_ids_are_purged_after_the_retention_and_not_before,
    the_absorber_of_a_change_is_found_after_it_finished,
];

const DAY: i64 = 86_400_000;
const AGAIN: Accepted = Accepted::Duplicate { differs: false };
const MIXED_UP: Accepted = Accepted::Duplicate { differs: true };

fn kept_a_day(kind: Kind) -> Policy {
    Policy { retention: Span(DAY), ..Policy::for_kind(kind) }
}

async fn enqueue(queue: &QueueHandle, key: &str, id: &str, payload: &str) -> Accepted {
    let draft = Draft { payload: payload.into(), ..draft(key, id) };
    queue.enqueue(vec![draft]).await.expect("accepted").remove(0).1
}

/// Returns the stored count of purged items of the queue.
async fn purged(world: &World) -> i64 {
    world.turno.queues().await.unwrap()[0].purged
}

fn into(id: &str) -> Accepted {
    Accepted::Coalesced { id: ItemId::new(id).expect("valid") }
}

async fn a_late_repeat_of_an_absorbed_change_does_not_restore_an_old_state(mut world: World) {
    let queue = world.queue(kept_a_day(Kind::Sync)).await;
    assert_eq!(enqueue(&queue, "idper-9", "a", r#"{"v":1}"#).await, Accepted::Queued);
    assert_eq!(enqueue(&queue, "idper-9", "b", r#"{"v":2}"#).await, into("a"));
    assert_eq!(enqueue(&queue, "idper-9", "c", r#"{"v":3}"#).await, into("a"));
    // The sender of b lost the answer and sends b again, to another instance.
    let other = world.instance().await.queue(queue_name()).await.unwrap();
    assert_eq!(enqueue(&other, "idper-9", "b", r#"{"v":2}"#).await, AGAIN);
    assert_eq!(enqueue(&other, "idper-9", "b", r#"{"v":20}"#).await, MIXED_UP);
    assert_eq!(enqueue(&other, "idper-8", "b", r#"{"v":2}"#).await, MIXED_UP, "the id belongs to another key");
    // The surviving item too: a repeat is compared with the payload accepted under its id, not with the current one.
    assert_eq!(enqueue(&other, "idper-9", "a", r#"{"v": 1.0}"#).await, AGAIN);
    assert_eq!(enqueue(&other, "idper-9", "a", r#"{"v":3}"#).await, MIXED_UP);
    let got = take_one(&queue).await;
    assert_eq!(&*got.items[0].payload, r#"{"v":3}"#);
    // The same while the item is in process, after it is processed, and after a restart.
    assert_eq!(enqueue(&queue, "idper-9", "d", r#"{"v":4}"#).await, into("a"));
    world.reopen().await;
    let queue = world.turno.queue(queue_name()).await.unwrap();
    ack(&queue, &got).await;
    let newest = take_one(&queue).await;
    assert_eq!(&*newest.items[0].payload, r#"{"v":4}"#);
    ack(&queue, &newest).await;
    for (id, payload) in [("b", r#"{"v":2}"#), ("c", r#"{"v":3}"#), ("d", r#"{"v":4}"#)] {
        assert_eq!(enqueue(&queue, "idper-9", id, payload).await, AGAIN, "{id}");
    }
    assert_eq!(queue.counts().await.unwrap(), Counts { processed: 1, ..Counts::default() });
    // The same within one call.
    let twice = vec![draft("k", "1"), draft("k", "2"), draft("k", "2"), draft("k", "1")];
    let answers: Vec<_> = queue.enqueue(twice).await.unwrap().into_iter().map(|(_, accepted)| accepted).collect();
    assert_eq!(answers, [Accepted::Queued, into("1"), AGAIN, AGAIN]);
    let both = [("m1", "1"), ("m2", "2")].map(|(id, payload)| Draft { payload: payload.into(), ..draft("m", id) });
    queue.enqueue(both.to_vec()).await.unwrap();
    assert_eq!([enqueue(&queue, "m", "m1", "1").await, enqueue(&queue, "m", "m1", "2").await], [AGAIN, MIXED_UP]);
    let carried = queue.item(ItemId::new("m1").unwrap()).await.unwrap().unwrap().body.payload;
    assert_eq!(&*carried, "2", "the newest payload is kept");
}

async fn a_duplicate_differs_if_its_key_or_json_value_differs(world: World) {
    let queue = world.queue(kept_a_day(Kind::Lane)).await;
    enqueue(&queue, "ana", "1", r#"{"n":1,"s":"ñ","big":9007199254740993}"#).await;
    let other_way = r#"{ "s": "\u00f1", "big": 9007199254740993, "n": 1.0 }"#;
    assert_eq!(enqueue(&queue, "ana", "1", other_way).await, AGAIN, "the same JSON value in another notation");
    let other_value = r#"{"n":1,"s":"ñ","big":9007199254740992}"#;
    assert_eq!(enqueue(&queue, "ana", "1", other_value).await, MIXED_UP);
    assert_eq!(enqueue(&queue, "eva", "1", other_way).await, MIXED_UP, "the same JSON value under another key");
}

async fn an_id_is_accepted_again_after_its_retention_without_a_purge(world: World) {
    let queue = world.queue(kept_a_day(Kind::Inbox)).await;
    put(&queue, "any", &["x"]).await;
    let first = take_one(&queue).await;
    fail(&queue, &first).await;
    ack(&queue, &take_one(&queue).await).await;
    world.advance(DAY);
    assert_eq!(put(&queue, "any", &["x"]).await, [AGAIN], "the retention lasts to the last millisecond");
    world.advance(1);
    assert_eq!(put(&queue, "any", &["x", "y", "x"]).await, [Accepted::Queued, Accepted::Queued, AGAIN]);
    assert_eq!(queue.counts().await.unwrap(), Counts { pending: 2, ..Counts::default() });
    assert_eq!(purged(&world).await, 1, "the replaced item counts as purged");
    let query = AuditQuery { action: Some("queue_purge".to_owned()), limit: 9, ..AuditQuery::default() };
    let entries = world.turno.audit(query).await.unwrap();
    assert_eq!(entries.len(), 1, "the purge has an audit entry");
    assert!(entries[0].detail.contains(r#""count":1"#), "{}", entries[0].detail);
    let record = queue.item(ItemId::new("x").unwrap()).await.unwrap().unwrap();
    assert!(record.errors.is_empty(), "the errors of the old item are gone: {:?}", record.errors);
    let got = take_one(&queue).await;
    assert_eq!((ids(&got), got.attempt), (vec!["x"], 1));
    assert_eq!(world.turno.purge().await.unwrap().items, 0, "no item is left to purge");
}

async fn an_absorbed_id_is_accepted_again_after_its_retention(world: World) {
    let queue = world.queue(kept_a_day(Kind::Sync)).await;
    put(&queue, "k", &["a", "b"]).await;
    world.advance(DAY);
    assert_eq!(put(&queue, "k", &["b"]).await, [AGAIN]);
    world.advance(1);
    assert_eq!(put(&queue, "k", &["b", "b"]).await, [into("a"), AGAIN], "the retention starts again");
    world.advance(DAY);
    assert_eq!(put(&queue, "k", &["b"]).await, [AGAIN]);
    world.advance(1);
    ack(&queue, &take_one(&queue).await).await;
    assert_eq!(put(&queue, "k", &["b"]).await, [Accepted::Queued], "b is accepted as a new item");
    assert_eq!(put(&queue, "k", &["b"]).await, [AGAIN]);
    assert_eq!(world.turno.purge().await.unwrap().absorbed, 0);
}

async fn one_of_many_concurrent_uses_of_an_outlived_id_is_accepted(world: World) {
    let queue = world.queue(kept_a_day(Kind::Inbox)).await;
    put(&queue, "any", &["x"]).await;
    ack(&queue, &take_one(&queue).await).await;
    world.advance(DAY + 1);
    let instances = [queue.clone(), world.instance().await.queue(queue_name()).await.unwrap()];
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..12 {
        let queue = instances[n % 2].clone();
        calls.spawn(async move { put(&queue, "any", &["x"]).await.remove(0) });
    }
    let answers = calls.join_all().await;
    let queued = answers.iter().filter(|answer| **answer == Accepted::Queued).count();
    let again = answers.iter().filter(|answer| **answer == AGAIN).count();
    assert_eq!((queued, again), (1, 11), "{answers:?}");
    assert_eq!(queue.counts().await.unwrap(), Counts { pending: 1, ..Counts::default() });
    assert_eq!(purged(&world).await, 1);
    // The control: within the retention no enqueue is accepted.
    world.advance(1);
    ack(&queue, &take_one(&queue).await).await;
    assert_eq!(put(&queue, "any", &["x"]).await, [AGAIN]);
}

async fn an_exhausted_item_keeps_its_id_until_it_is_retried_or_cancelled(world: World) {
    let queue = world.queue(Policy { max_attempts: 1, ..kept_a_day(Kind::Inbox) }).await;
    put(&queue, "any", &["x"]).await;
    fail(&queue, &take_one(&queue).await).await;
    world.advance(5 * DAY);
    assert_eq!(put(&queue, "any", &["x"]).await, [AGAIN]);
    assert_eq!(queue.counts().await.unwrap(), Counts { exhausted: 1, ..Counts::default() });
}

async fn absorbed_ids_are_purged_after_the_retention_and_not_before(world: World) {
    let queue = world.queue(kept_a_day(Kind::Sync)).await;
    put(&queue, "k", &["a", "b"]).await;
    world.advance(DAY / 2);
    put(&queue, "k", &["c"]).await;
    world.advance(DAY / 2);
    assert_eq!(world.turno.purge().await.unwrap().absorbed, 0, "nothing is purged within the retention");
    world.advance(1);
    assert_eq!(world.turno.purge().await.unwrap().absorbed, 1, "only b is past the retention");
    assert_eq!(put(&queue, "k", &["c", "a"]).await, [AGAIN, AGAIN], "a is unfinished and c is within the retention");
    assert_eq!(put(&queue, "k", &["b"]).await, [into("a")]);
}

async fn the_absorber_of_a_change_is_found_after_it_finished(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Sync)).await;
    put(&queue, "k", &["a", "b"]).await;
    world.advance(10);
    ack(&queue, &take_one(&queue).await).await;
    world.advance(10);
    put(&queue, "k", &["c", "d"]).await;
    put(&queue, "other", &["e"]).await;
    for (id, by) in [("a", None), ("b", Some("a")), ("c", None), ("d", Some("c")), ("e", None), ("never", None)] {
        let found = queue.absorber(ItemId::new(id).unwrap(), Key::new("k").unwrap()).await.unwrap();
        assert_eq!(found.as_ref().map(ItemId::as_str), by, "{id}");
    }
}
