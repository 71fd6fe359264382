//! Items of one key: grouped, in order, the newest only.

use super::calls::{enqueue, id, item, next, queue, reference, settle};
use super::{Folder, START, commit_one, store};
use crate::store::{Counts, Group, Store, TypingGroup};
use std::collections::HashMap;
use turno_core::id::Key;
use turno_core::queue::{Accepted, Act, Kind, Last, Policy, SettleOutcome};
use turno_core::time::{Span, Time};

#[tokio::test]
async fn a_lanes_batch_is_handed_out_together_and_the_next_item_follows() {
    let folder = Folder::new();
    let (store, manual) = store(&folder).await;
    let policy = Policy { batch_max: 3, ..Policy::for_kind(Kind::Lane) };
    let chat = queue(&store, "chat", policy).await;
    let items = ["a", "b", "c", "d"].map(|name| item(name, Some("ana"))).to_vec();
    enqueue(&store, &chat, items).await;
    let delivery = next(&store, &chat, 5).await.remove(0);
    assert_eq!(delivery.items.len(), 3, "a full batch does not wait for its window");
    assert!(next(&store, &chat, 5).await.is_empty(), "one delivery of a lane at a time");

    let live = reference(&chat, &delivery);
    assert_eq!(store.expired(10).await.unwrap(), (vec![], Some(delivery.expires_at)));
    manual.advance(Span(20_000));
    assert_eq!(store.expired(10).await.unwrap(), (vec![live], None));
    assert_eq!(store.counts(chat.id).await.unwrap(), Counts { pending: 1, error: 3, ..Counts::default() });
    assert_eq!(settle(&store, &chat, live, Act::Expire).await, SettleOutcome::Expired);
    assert_eq!(store.settled(vec![live]).await.unwrap(), [None], "the delivery expired and was not settled");

    let again = next(&store, &chat, 5).await.remove(0);
    assert_eq!((again.items.len(), again.attempt), (3, 2), "the items stay together");
    assert_eq!(store.settled(vec![live]).await.unwrap(), [None], "also after it was handed out again");
    let through = Act::Ack { through: Some(id("b")) };
    assert_eq!(settle(&store, &chat, reference(&chat, &again), through).await, SettleOutcome::Acked);
    let record = store.item(chat.id, id("c")).await.unwrap().unwrap();
    let kept = record.item.unwrap();
    assert_eq!((kept.last, kept.attempt, kept.ready_at.is_some()), (Last::Returned, 1, true));
    assert_eq!((record.errors.len(), record.errors[0].error.as_str()), (1, "not settled in time"));
    assert_eq!((record.errors[0].attempt, record.errors[0].fence), (1, delivery.fence));
    let waits = store.item(chat.id, id("d")).await.unwrap().unwrap().item.unwrap();
    assert_eq!(waits.ready_at, None, "item c comes first");
}

#[tokio::test]
async fn a_sync_change_replaces_the_payload_and_keeps_the_id() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    let sync = queue(&store, "sync", Policy::for_kind(Kind::Sync)).await;
    enqueue(&store, &sync, vec![item("a", Some("ana")), item("x", Some("luis"))]).await;
    let delivery = next(&store, &sync, 1).await.remove(0);
    let answers = enqueue(&store, &sync, vec![item("b", Some("ana"))]).await;
    assert_eq!(answers, [Accepted::Coalesced { id: id("a") }]);
    assert_eq!(
        settle(&store, &sync, reference(&sync, &delivery), Act::Ack { through: None }).await,
        SettleOutcome::Superseded
    );
    assert_eq!(store.settled(vec![reference(&sync, &delivery)]).await.unwrap(), [Some(SettleOutcome::Superseded)]);
    let record = store.item(sync.id, id("a")).await.unwrap().unwrap();
    assert_eq!((record.body.action.as_deref(), record.body.enqueued_at), (Some("do b"), START));
    assert_eq!(store.item(sync.id, id("b")).await.unwrap(), None);
    let kept: HashMap<_, _> = next(&store, &sync, 9).await.into_iter().map(|one| (one.seq, one.revision)).collect();
    assert_eq!(kept.len(), 2);
    assert!(kept[&delivery.seq] > delivery.revision);
}

#[tokio::test]
async fn a_typing_signal_extends_the_window_and_is_removed_at_the_hand_out() {
    let folder = Folder::new();
    let (store, manual) = store(&folder).await;
    let chat = queue(&store, "chat", Policy::for_kind(Kind::Lane)).await;
    enqueue(&store, &chat, vec![item("a", Some("ana"))]).await;
    manual.advance(Span(2_000));
    let keys = ["ana", "luis"].map(|key| Key::new(key).unwrap()).to_vec();
    commit_one(&store, Group::Typing(TypingGroup { queue: chat.id, policy: chat.policy.clone(), keys })).await;
    manual.advance(Span(1_000));
    assert!(next(&store, &chat, 1).await.is_empty(), "a typing signal holds the window open");
    assert_eq!(store.next_look(chat.id, Time(0)).await.unwrap(), Some(START + Span(5_000)));
    manual.advance(Span(2_000));
    assert_eq!(next(&store, &chat, 1).await.len(), 1);
    let rows: i64 =
        store.looks.run(|db| Ok(db.query_row("select count(*) from typing", [], |row| row.get(0))?)).await.unwrap();
    assert_eq!(rows, 0);
}
