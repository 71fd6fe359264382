//! Sync queues: the latest state of a key is always delivered.

use super::world::{World, ack, draft, fail, put, queue_name, take, take_one};
use turno::core::queue::{Accepted, Act, ItemState, Kind, ManageAnswer, ManageRefused, Policy, SettleOutcome};
use turno::core::sync::Source;
use turno::core::time::Span;
use turno::queue::{Delivery, Draft, Failed, Job, Settlement};
use turno::store::Counts;
use turno::sync::{Prepared, SyncChange, SyncHandle};

super::cases![
    a_newer_change_replaces_the_waiting_one_and_keeps_its_id,
    a_change_during_processing_leads_to_another_delivery_with_the_newest_data,
    the_newest_state_overtakes_the_retries_of_the_stale_one,
    a_new_change_revives_an_exhausted_key,
    a_change_behind_one_in_process_is_cancelled_only_after_it,
    revisions_handed_out_for_a_key_never_decrease,
    one_enqueue_call_may_contain_a_key_twice,
    a_deactivation_never_overrides_a_newer_update,
    a_confirmed_delivery_is_shown_on_its_item,
    deactivated_keys_are_purged_after_the_retention_and_not_before,
    a_worker_of_a_source_without_a_table_gets_the_enqueued_changes,
];

fn sync() -> Policy {
    Policy::for_kind(Kind::Sync)
}

/// Returns the change to send. Without a table, it is the enqueued one.
async fn change(sync: &SyncHandle, got: &Delivery) -> SyncChange {
    match sync.prepare(got).await.unwrap() {
        Prepared::Send(change) => change,
        other => panic!("{other:?}"),
    }
}

async fn a_newer_change_replaces_the_waiting_one_and_keeps_its_id(world: World) {
    let queue = world.queue(sync()).await;
    put(&queue, "idper-9", &["first"]).await;
    let newer = Draft { action: Some("DESACTIVAR".to_owned()), payload: "null".into(), ..draft("idper-9", "second") };
    let answers = queue.enqueue(vec![newer]).await.unwrap();
    assert_eq!(answers[0].1, Accepted::Coalesced { id: draft("x", "first").id.unwrap() });
    let got = take_one(&queue).await;
    let item = &got.items[0];
    assert_eq!((item.id.as_str(), item.action.as_deref(), &*item.payload), ("first", Some("DESACTIVAR"), "null"));
    assert!(take(&queue, 5).await.is_empty(), "at most one unfinished item per key");
}

async fn a_change_during_processing_leads_to_another_delivery_with_the_newest_data(world: World) {
    let queue = world.queue(sync()).await;
    put(&queue, "idper-9", &["a"]).await;
    let old = take_one(&queue).await;
    let newer = Draft { payload: "\"new\"".into(), ..draft("idper-9", "b") };
    queue.enqueue(vec![newer]).await.unwrap();
    assert!(take(&queue, 5).await.is_empty(), "no second delivery while one is live");
    assert_eq!(queue.counts().await.unwrap(), Counts { pending: 1, ..Counts::default() }, "the item counts as pending");
    assert_eq!(ack(&queue, &old).await, SettleOutcome::Superseded);
    let new = take_one(&queue).await;
    assert_eq!((&*new.items[0].payload, new.attempt), ("\"new\"", 1));
    assert_eq!(ack(&queue, &new).await, SettleOutcome::Acked);
    assert_eq!(queue.counts().await.unwrap(), Counts { processed: 1, ..Counts::default() });
}

async fn the_newest_state_overtakes_the_retries_of_the_stale_one(world: World) {
    let queue = world.queue(sync()).await;
    put(&queue, "idper-9", &["a"]).await;
    let got = take_one(&queue).await;
    let act =
        Act::Fail { error: "caído".to_owned(), item: None, retry_in: Some(Span::from_secs(3_000)), give_up: false };
    queue.settle(vec![Settlement { reference: got.reference, act }]).await.unwrap();
    assert!(take(&queue, 1).await.is_empty());
    put(&queue, "idper-9", &["b"]).await;
    assert_eq!(take_one(&queue).await.attempt, 1);
}

async fn a_new_change_revives_an_exhausted_key(world: World) {
    let queue = world.queue(sync()).await;
    put(&queue, "idper-9", &["a"]).await;
    for _ in 0..5 {
        fail(&queue, &take_one(&queue).await).await;
    }
    assert!(take(&queue, 1).await.is_empty());
    assert_eq!(queue.counts().await.unwrap(), Counts { exhausted: 1, ..Counts::default() });
    put(&queue, "idper-9", &["b"]).await;
    assert_eq!(queue.counts().await.unwrap(), Counts { pending: 1, ..Counts::default() });
    assert_eq!(take_one(&queue).await.attempt, 1);
}

async fn a_change_behind_one_in_process_is_cancelled_only_after_it(world: World) {
    let queue = world.queue(sync()).await;
    put(&queue, "idper-9", &["a"]).await;
    let id = || draft("x", "a").id.unwrap();
    let old = take_one(&queue).await;
    assert_eq!(queue.cancel(id()).await.unwrap(), Err(ManageRefused::InProcess));
    put(&queue, "idper-9", &["b"]).await;
    let record = queue.item(id()).await.unwrap().unwrap();
    assert_eq!(record.state(record.now), ItemState::Pending);
    assert_eq!(queue.cancel(id()).await.unwrap(), Err(ManageRefused::Changing), "the newer change is still pending");
    assert_eq!(queue.retry(id()).await.unwrap(), Err(ManageRefused::Changing));
    assert_eq!(ack(&queue, &old).await, SettleOutcome::Superseded);
    assert_eq!(queue.cancel(id()).await.unwrap(), Ok(ManageAnswer::Cancelled), "no delivery is in flight");
    assert!(take(&queue, 1).await.is_empty());
}

async fn revisions_handed_out_for_a_key_never_decrease(world: World) {
    let queue = world.queue(sync()).await;
    let mut last = 0;
    for round in 0..6 {
        put(&queue, "idper-9", &[&format!("a{round}")]).await;
        let got = take_one(&queue).await;
        assert!(got.revision > last);
        last = got.revision;
        match round % 3 {
            0 => assert_eq!(ack(&queue, &got).await, SettleOutcome::Acked),
            1 => assert!(matches!(fail(&queue, &got).await, SettleOutcome::Retrying { .. })),
            _ => world.advance(60_000),
        }
    }
}

async fn one_enqueue_call_may_contain_a_key_twice(world: World) {
    let queue = world.queue(sync()).await;
    let last = Draft { payload: "\"last\"".into(), ..draft("k", "3") };
    let answers = queue.enqueue(vec![draft("k", "1"), draft("other", "2"), last]).await.unwrap();
    assert_eq!(answers[0].1, Accepted::Queued);
    assert_eq!(answers[2].1, Accepted::Coalesced { id: draft("k", "1").id.unwrap() });
    let got = take(&queue, 5).await;
    assert_eq!(got.len(), 2);
    assert_eq!(&*got[0].items[0].payload, "\"last\"");
}

async fn a_deactivation_never_overrides_a_newer_update(world: World) {
    let queue = world.queue(sync()).await;
    let say = |id: &str, action: &str| Draft { action: Some(action.to_owned()), ..draft("idper-9", id) };
    queue.enqueue(vec![say("a", "DESACTIVAR"), say("b", "ACTUALIZAR")]).await.unwrap();
    let first = take_one(&queue).await;
    assert_eq!(first.items[0].action.as_deref(), Some("ACTUALIZAR"), "the deactivation was never sent");
    queue.enqueue(vec![say("c", "DESACTIVAR")]).await.unwrap();
    assert_eq!(ack(&queue, &first).await, SettleOutcome::Superseded);
    let late = take_one(&queue).await;
    queue.enqueue(vec![say("d", "ACTUALIZAR")]).await.unwrap();
    // The worker that deactivates hangs. The newer update has a higher revision and fence.
    world.advance(60_000);
    let last = take_one(&queue).await;
    assert_eq!(last.items[0].action.as_deref(), Some("ACTUALIZAR"));
    assert!(last.revision > late.revision && last.reference.fence > late.reference.fence);
    assert_eq!(ack(&queue, &late).await, SettleOutcome::Stale);
    assert_eq!(ack(&queue, &last).await, SettleOutcome::Acked);
}

async fn a_confirmed_delivery_is_shown_on_its_item(world: World) {
    let queue = world.queue(sync()).await;
    put(&queue, "idper-9", &["a"]).await;
    let got = take_one(&queue).await;
    let sync = world.turno.sync(Source { queue: queue_name(), ..Source::siper() });
    let mut change = change(&sync, &got).await;
    (change.action, change.data) = ("DESACTIVAR".to_owned(), None);
    sync.delivered(&change).await.unwrap();
    // The item changed after this delivery was handed out, because another delivery was faster.
    (change.action, change.data) = ("ACTUALIZAR".to_owned(), Some("{}".into()));
    sync.delivered(&change).await.unwrap();
    ack(&queue, &got).await;
    let record = queue.item(got.items[0].id.clone()).await.unwrap().unwrap();
    assert_eq!(record.body.action.as_deref(), Some("DESACTIVAR"), "the item keeps its newer action");
}

async fn deactivated_keys_are_purged_after_the_retention_and_not_before(world: World) {
    let queue = world.queue(sync()).await;
    let source = world.turno.sync(Source { queue: queue_name(), ..Source::siper() });
    for (key, data) in [("living", Some("{}")), ("gone", None)] {
        put(&queue, key, &[key]).await;
        let got = take_one(&queue).await;
        let mut change = change(&source, &got).await;
        (change.action, change.data) = (source.source().action(data.is_some()).to_owned(), data.map(Into::into));
        source.delivered(&change).await.unwrap();
        ack(&queue, &got).await;
    }
    world.advance(sync().retention.0 - 60_000);
    assert_eq!(world.turno.purge().await.unwrap().delivered, 0, "nothing is purged within the retention");
    world.advance(61_000);
    assert_eq!(world.turno.purge().await.unwrap().delivered, 1, "only the deactivated key is purged");
    assert_eq!(world.turno.purge().await.unwrap().delivered, 0);
}

async fn a_worker_of_a_source_without_a_table_gets_the_enqueued_changes(world: World) {
    let queue = world.queue(sync()).await;
    let source = world.turno.sync(Source { queue: queue_name(), ..Source::siper() });
    let deactivated = Draft { action: Some("DESACTIVAR".to_owned()), ..draft("gone", "b") };
    queue.enqueue(vec![draft("living", "a"), deactivated]).await.unwrap();
    let (sent, mut received) = tokio::sync::mpsc::unbounded_channel();
    let handler = move |job: Job<Option<serde_json::Value>>| {
        let change = (job.key.unwrap().to_string(), job.action.unwrap(), job.payload.is_some());
        std::future::ready(sent.send(change).map_err(|_| Failed::new("the test ended")))
    };
    let worker = source.worker(handler).await.unwrap().concurrency(1).start().unwrap();
    let mut changes = [received.recv().await.unwrap(), received.recv().await.unwrap()];
    changes.sort();
    let expected = [("gone", "DESACTIVAR", false), ("living", "ACTUALIZAR", true)];
    assert_eq!(changes, expected.map(|(key, action, data)| (key.to_owned(), action.to_owned(), data)));
    worker.stop().await;
    assert_eq!(queue.counts().await.unwrap(), Counts { processed: 2, ..Counts::default() });
}
