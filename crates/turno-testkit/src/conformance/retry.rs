//! Retrying exhausted items: in bulk, or with an edited payload.

use super::world::{World, ack, fail, give_up, id, ids, put, take, take_one};
use turno::core::id::Key;
use turno::core::queue::{Kind, ManageRefused, OnExhausted, Policy, SettleOutcome, fingerprint};
use turno::core::time::Span;
use turno::queue::QueueHandle;
use turno::store::{AuditQuery, Counts, StoreError};
use turno::{Error, Turno};

super::cases![
    every_exhausted_item_is_retried_with_its_own_audit_entry,
    a_bulk_retry_covers_only_the_requested_key_and_count,
    retried_items_return_to_their_order_in_the_lane,
    an_edited_item_carries_the_new_payload_and_the_audit_has_both_fingerprints,
    an_edit_of_a_sync_item_is_a_newer_change,
    an_invalid_edit_is_refused_and_changes_nothing,
    a_queue_with_exhausted_items_cannot_change_its_kind,
    a_queue_keeps_its_version_without_a_change_and_its_kind_while_it_has_items,
];

async fn exhaust(queue: &QueueHandle, count: u32) {
    for got in take(queue, count).await {
        assert_eq!(give_up(queue, &got).await, SettleOutcome::Exhausted);
    }
}

async fn audited(turno: &Turno, action: &str) -> Vec<(String, String)> {
    let action = Some(action.to_owned());
    let query = AuditQuery { after: Some(0), action, limit: 1_000, ..AuditQuery::default() };
    turno.audit(query).await.unwrap().into_iter().map(|entry| (entry.resource, entry.detail)).collect()
}

async fn every_exhausted_item_is_retried_with_its_own_audit_entry(world: World) {
    for (name, hold) in [("continúa", OnExhausted::Continue), ("espera", OnExhausted::Hold)] {
        let policy = Policy { window: Span::ZERO, on_exhausted: hold, ..Policy::for_kind(Kind::Lane) };
        let queue = world.turno.put_queue(name, policy).await.unwrap();
        for n in 0..150 {
            put(&queue, &format!("k{n}"), &[&n.to_string()]).await;
        }
        exhaust(&queue, 150).await;
        let before = audited(&world.turno, "item_retry").await.len();
        assert_eq!(queue.retry_exhausted(None, u32::MAX).await.unwrap(), 150);
        assert_eq!(queue.counts().await.unwrap(), Counts { pending: 150, ..Counts::default() });
        assert_eq!(audited(&world.turno, "item_retry").await.len() - before, 150);
        assert!(audited(&world.turno, "item_retry").await.contains(&(format!("{name}/149"), "{}".to_owned())));
        assert_eq!(take(&queue, 200).await.len(), 150);
        assert_eq!(queue.retry_exhausted(None, 1_000).await.unwrap(), 0, "no item is left");
    }
}

async fn a_bulk_retry_covers_only_the_requested_key_and_count(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    for n in 0..6 {
        put(&queue, if n % 2 == 0 { "eva" } else { "luis" }, &[&n.to_string()]).await;
    }
    exhaust(&queue, 6).await;
    assert_eq!(queue.retry_exhausted(Some(Key::new("luis").unwrap()), 2).await.unwrap(), 2);
    assert_eq!(queue.counts().await.unwrap(), Counts { pending: 2, exhausted: 4, ..Counts::default() });
    let mut back: Vec<_> = take(&queue, 9).await.iter().map(|got| got.items[0].id.to_string()).collect();
    back.sort();
    assert_eq!(back, ["1", "3"], "the oldest items of that key");
    assert_eq!(queue.retry_exhausted(Some(Key::new("nadie").unwrap()), 9).await.unwrap(), 0);
    assert_eq!(queue.retry_exhausted(None, 0).await.unwrap(), 0);
}

async fn retried_items_return_to_their_order_in_the_lane(world: World) {
    let policy = Policy { window: Span::ZERO, batch_max: 1, max_attempts: 1, ..Policy::for_kind(Kind::Lane) };
    let queue = world.queue(policy).await;
    put(&queue, "ana", &["1", "2", "3", "4"]).await;
    for _ in 0..3 {
        fail(&queue, &take_one(&queue).await).await;
    }
    assert_eq!(queue.retry_exhausted(None, 10).await.unwrap(), 3);
    for expected in ["1", "2", "3", "4"] {
        let got = take_one(&queue).await;
        assert_eq!(ids(&got), [expected]);
        assert_eq!(ack(&queue, &got).await, SettleOutcome::Acked);
    }
}

async fn an_edited_item_carries_the_new_payload_and_the_audit_has_both_fingerprints(mut world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    put(&queue, "ana", &["x"]).await;
    let before = queue.item(id("x")).await.unwrap().unwrap().body;
    exhaust(&queue, 1).await;
    queue.retry_with(id("x"), "{\"bien\": \"ñ\"}").await.unwrap().unwrap();
    world.reopen().await;
    let queue = world.turno.queue("mensajes").await.unwrap();
    let after = queue.item(id("x")).await.unwrap().unwrap().body;
    assert_eq!(
        (&*after.payload, &after.key, after.enqueued_at),
        ("{\"bien\": \"ñ\"}", &before.key, before.enqueued_at)
    );
    let got = take_one(&queue).await;
    assert_eq!((&*got.items[0].payload, got.items[0].id.as_str()), ("{\"bien\": \"ñ\"}", "x"));
    let entries = audited(&world.turno, "item_edit").await;
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].0, "mensajes/x");
    for payload in [&*before.payload, "{\"bien\": \"ñ\"}"] {
        assert!(entries[0].1.contains(&fingerprint(payload).to_string()), "{}", entries[0].1);
    }
    assert!(!entries[0].1.contains("bien"), "the audit does not contain the payload");
}

async fn an_edit_of_a_sync_item_is_a_newer_change(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Sync)).await;
    put(&queue, "ana", &["x"]).await;
    let first = take_one(&queue).await;
    give_up(&queue, &first).await;
    queue.retry_with(id("x"), "{}").await.unwrap().unwrap();
    let second = take_one(&queue).await;
    assert!(second.revision > first.revision, "a consumer that compares revisions must accept the edit");
    assert_eq!(ack(&queue, &second).await, SettleOutcome::Acked, "no newer revision is left");
}

async fn an_invalid_edit_is_refused_and_changes_nothing(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    put(&queue, "ana", &["x", "y"]).await;
    let got = take_one(&queue).await;
    let refused = [("x", ManageRefused::InProcess), ("y", ManageRefused::Waiting), ("z", ManageRefused::Unknown)];
    for (item, why) in refused {
        assert_eq!(queue.retry_with(id(item), "{}").await.unwrap(), Err(why));
    }
    ack(&queue, &got).await;
    assert_eq!(queue.retry_with(id("x"), "{}").await.unwrap(), Err(ManageRefused::Finished));
    for payload in ["\0".to_owned(), "1".repeat(8 * 1024 * 1024 + 1)] {
        assert!(matches!(queue.retry_with(id("y"), payload).await, Err(Error::Invalid(_))));
    }
    assert!(queue.item(id("y")).await.unwrap().unwrap().body.payload.contains("texto"));
    assert_eq!(audited(&world.turno, "item_edit").await, []);
}

/// An exhausted item can be retried. In a queue of another kind it could be a second item of its key, or have no key.
async fn a_queue_with_exhausted_items_cannot_change_its_kind(world: World) {
    let kinds = [Kind::Inbox, Kind::Lane, Kind::Sync];
    for (from, to) in kinds.into_iter().flat_map(|from| kinds.map(|to| (from, to))).filter(|(from, to)| from != to) {
        for hold in [OnExhausted::Continue, OnExhausted::Hold] {
            let policy = Policy { window: Span::ZERO, on_exhausted: hold, ..Policy::for_kind(from) };
            let name = format!("{from:?}-{to:?}-{hold:?}").to_lowercase();
            let queue = world.turno.put_queue(&*name, policy).await.unwrap();
            put(&queue, "ana", &["1"]).await;
            exhaust(&queue, 1).await;
            let refused = world.turno.put_queue(&*name, Policy::for_kind(to)).await;
            assert!(matches!(refused, Err(Error::Store(StoreError::KindStays { .. }))), "{name}: {refused:?}");
            assert_eq!(queue.row().await.unwrap().policy.kind, from, "{name}");
            assert_eq!(queue.retry_exhausted(None, 9).await.unwrap(), 1, "{name}");
            assert_eq!(ack(&queue, &take_one(&queue).await).await, SettleOutcome::Acked, "{name}");
            world.turno.put_queue(&*name, Policy::for_kind(to)).await.unwrap();
            assert_eq!(queue.row().await.unwrap().policy.kind, to, "{name}: no item is left that could be retried");
        }
    }
}

async fn a_queue_keeps_its_version_without_a_change_and_its_kind_while_it_has_items(world: World) {
    let put_queue = |policy| world.turno.put_queue("jobs", policy);
    let queue = put_queue(Policy::for_kind(Kind::Inbox)).await.unwrap();
    let before = queue.row().await.unwrap();
    put_queue(Policy::for_kind(Kind::Inbox)).await.unwrap();
    assert_eq!(queue.row().await.unwrap(), before);
    put_queue(Policy { max_attempts: 3, ..Policy::for_kind(Kind::Inbox) }).await.unwrap();
    let after = queue.row().await.unwrap();
    assert_eq!((after.id, after.version), (before.id, before.version + 1));
    put(&queue, "ana", &["1"]).await;
    assert!(put_queue(Policy::for_kind(Kind::Sync)).await.is_err(), "an item is waiting");
    let delivery = take_one(&queue).await;
    assert!(put_queue(Policy::for_kind(Kind::Sync)).await.is_err(), "an item is in process");
    assert_eq!(queue.row().await.unwrap(), after);
    assert_eq!(ack(&queue, &delivery).await, SettleOutcome::Acked);
    put_queue(Policy::for_kind(Kind::Sync)).await.unwrap();
    assert_eq!(queue.row().await.unwrap().policy.kind, Kind::Sync);
}
