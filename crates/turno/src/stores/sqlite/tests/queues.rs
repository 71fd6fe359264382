//! Items from admission to their end.

use super::{Folder, START, one, store};
use crate::store::{
    Claim, ClaimGroup, ClaimOutcome, Counts, EnqueueGroup, Group, ManageGroup, Outcomes, QueueRow,
    SettleGroup, Store, StoreError, TypingGroup,
};
use crate::stores::sqlite::SqliteStore;
use std::collections::HashMap;
use turno_core::id::{ItemId, Key, QueueName, Seq};
use turno_core::queue::{
    Accepted, Act, Delivery, Ended, Enqueue, Handed, Kind, Last, Manage, ManageAnswer, NewItem,
    Policy, Settle, SettleOutcome, Want,
};
use turno_core::time::{Span, Time};

async fn queue(store: &SqliteStore, name: &str, policy: Policy) -> QueueRow {
    store
        .put_queue(QueueName::new(name).unwrap(), policy)
        .await
        .unwrap()
}

fn id(text: &str) -> ItemId {
    ItemId::new(text).unwrap()
}

fn item(name: &str, key: Option<&str>) -> NewItem {
    NewItem {
        id: id(name),
        id_given: true,
        key: key.map(|key| Key::new(key).unwrap()),
        action: Some(format!("do {name}")),
        payload: format!("{{\"of\":\"{name}\\u0000\"}}").into(),
        delay: Span::ZERO,
    }
}

async fn enqueue(store: &SqliteStore, queue: &QueueRow, items: Vec<NewItem>) -> Vec<Accepted> {
    let call = Enqueue {
        queue: queue.id,
        policy: queue.policy.clone(),
        items,
    };
    match one(store, Group::Enqueue(EnqueueGroup { calls: vec![call] })).await {
        Outcomes::Enqueue(mut answers) => answers.remove(0),
        other => panic!("{other:?}"),
    }
}

fn want(max: u32) -> Want {
    Want {
        instance: "worker-7".into(),
        max,
    }
}

async fn claim(store: &SqliteStore, queue: &QueueRow, claim: Claim) -> ClaimOutcome {
    let group = ClaimGroup {
        queue: queue.id,
        policy: queue.policy.clone(),
        version: queue.version,
        claim,
    };
    match one(store, Group::Claim(group)).await {
        Outcomes::Claim(outcome) => outcome,
        other => panic!("{other:?}"),
    }
}

async fn next(store: &SqliteStore, queue: &QueueRow, max: u32) -> Vec<Delivery> {
    match claim(store, queue, Claim::Next(vec![want(max)])).await {
        ClaimOutcome::Dealt { mut deliveries, .. } => deliveries.remove(0),
        other => panic!("{other:?}"),
    }
}

fn handed(queue: &QueueRow, delivery: &Delivery) -> Handed {
    Handed {
        queue: queue.id,
        seq: delivery.seq,
        lane: delivery.lane,
        size: u32::try_from(delivery.items.len()).unwrap(),
        fence: delivery.fence,
    }
}

async fn settle(store: &SqliteStore, queue: &QueueRow, handed: Handed, act: Act) -> SettleOutcome {
    let settle = Settle {
        handed,
        policy: queue.policy.clone(),
        act,
    };
    match one(
        store,
        Group::Settle(SettleGroup {
            settlements: vec![settle],
        }),
    )
    .await
    {
        Outcomes::Settle { mut answers, .. } => answers.remove(0),
        other => panic!("{other:?}"),
    }
}

fn fail(error: &str) -> Act {
    Act::Fail {
        error: error.into(),
        item: None,
        retry_in: None,
        give_up: false,
    }
}

#[tokio::test]
async fn an_item_is_admitted_handed_out_and_acked_once() {
    let folder = Folder::new();
    let (store, manual) = store(&folder).await;
    let inbox = queue(&store, "inbox", Policy::of(Kind::Inbox)).await;
    let items = vec![item("a", None), item("b", Some("key")), item("a", None)];
    let answers = enqueue(&store, &inbox, items).await;
    assert_eq!(
        answers,
        [
            Accepted::Queued,
            Accepted::Queued,
            Accepted::Duplicate { differs: false }
        ]
    );
    let mut other = item("a", None);
    other.payload = "{}".into();
    assert_eq!(
        enqueue(&store, &inbox, vec![other]).await,
        [Accepted::Duplicate { differs: true }]
    );

    manual.advance(Span(77));
    let ClaimOutcome::Dealt {
        now,
        deliveries,
        bodies,
        more,
    } = claim(&store, &inbox, Claim::Next(vec![want(2)])).await
    else {
        panic!("nothing was dealt")
    };
    assert_eq!(
        (now, deliveries[0].len(), bodies.len(), more),
        (START + Span(77), 2, 2, true)
    );
    let first = &deliveries[0][0];
    let body = &bodies[&first.seq];
    assert_eq!(
        (body.id.as_str(), body.action.as_deref(), body.key.as_ref()),
        ("a", Some("do a"), None)
    );
    assert_eq!(&*body.payload, "{\"of\":\"a\\u0000\"}");

    let handed = handed(&inbox, first);
    assert_eq!(
        store.settled(vec![handed]).await.unwrap(),
        [None],
        "still live"
    );
    let stale = Handed {
        fence: turno_core::id::Fence(first.fence.0 + 1_000),
        ..handed
    };
    assert_eq!(
        settle(&store, &inbox, stale, Act::Ack { through: None }).await,
        SettleOutcome::Stale
    );
    assert_eq!(
        settle(&store, &inbox, handed, Act::Ack { through: None }).await,
        SettleOutcome::Acked
    );
    assert_eq!(
        settle(&store, &inbox, handed, Act::Ack { through: None }).await,
        SettleOutcome::Stale
    );
    assert_eq!(
        store.settled(vec![stale, handed]).await.unwrap(),
        [None, Some(SettleOutcome::Acked)]
    );

    let record = store.item(inbox.id, id("a")).await.unwrap().unwrap();
    let done = record.done.unwrap();
    assert_eq!(
        (done.ended, done.at, done.attempt, done.fence),
        (Ended::Processed, START + Span(77), 1, first.fence)
    );
    assert_eq!(
        (done.holder.as_deref(), record.item),
        (Some("worker-7"), None)
    );
    let counts = Counts {
        in_process: 1,
        processed: 1,
        ..Counts::default()
    };
    assert_eq!(store.counts(inbox.id).await.unwrap(), counts);
    let listed = store.items(inbox.id, Seq(0), 10).await.unwrap();
    assert_eq!(
        listed
            .iter()
            .map(|record| record.body.id.as_str())
            .collect::<Vec<_>>(),
        ["a", "b"]
    );
    assert_eq!(
        store.items(inbox.id, listed[0].body.seq, 10).await.unwrap(),
        listed[1..]
    );
}

#[tokio::test]
async fn a_lane_goes_out_together_and_its_successor_follows() {
    let folder = Folder::new();
    let (store, manual) = store(&folder).await;
    let policy = Policy {
        batch_max: 3,
        ..Policy::of(Kind::Lane)
    };
    let chat = queue(&store, "chat", policy).await;
    let items = ["a", "b", "c", "d"]
        .map(|name| item(name, Some("ana")))
        .to_vec();
    enqueue(&store, &chat, items).await;
    let delivery = next(&store, &chat, 5).await.remove(0);
    assert_eq!(
        delivery.items.len(),
        3,
        "a full batch does not wait for its window"
    );
    assert!(
        next(&store, &chat, 5).await.is_empty(),
        "one delivery of a lane at a time"
    );

    let live = handed(&chat, &delivery);
    assert_eq!(
        store.expired(10).await.unwrap(),
        (vec![], Some(delivery.expires_at))
    );
    manual.advance(Span(20_000));
    assert_eq!(store.expired(10).await.unwrap(), (vec![live], None));
    assert_eq!(
        store.counts(chat.id).await.unwrap(),
        Counts {
            pending: 1,
            error: 3,
            ..Counts::default()
        }
    );
    assert_eq!(
        settle(&store, &chat, live, Act::Expire).await,
        SettleOutcome::Expired
    );
    assert_eq!(
        store.settled(vec![live]).await.unwrap(),
        [None],
        "the clock ended it, not its holder"
    );

    let again = next(&store, &chat, 5).await.remove(0);
    assert_eq!(
        (again.items.len(), again.attempt),
        (3, 2),
        "they stay together"
    );
    assert_eq!(
        store.settled(vec![live]).await.unwrap(),
        [None],
        "also once it is handed out anew"
    );
    let through = Act::Ack {
        through: Some(id("b")),
    };
    assert_eq!(
        settle(&store, &chat, handed(&chat, &again), through).await,
        SettleOutcome::Acked
    );
    let record = store.item(chat.id, id("c")).await.unwrap().unwrap();
    let kept = record.item.unwrap();
    assert_eq!(
        (kept.last, kept.attempt, kept.ready_at.is_some()),
        (Last::Returned, 1, true)
    );
    assert_eq!(
        (record.errors.len(), record.errors[0].error.as_str()),
        (1, "not settled in time")
    );
    assert_eq!(
        (record.errors[0].attempt, record.errors[0].fence),
        (1, delivery.fence)
    );
    let waits = store
        .item(chat.id, id("d"))
        .await
        .unwrap()
        .unwrap()
        .item
        .unwrap();
    assert_eq!(waits.ready_at, None, "c goes first");
}

#[tokio::test]
async fn a_failure_is_kept_and_told_again_until_the_item_is_exhausted() {
    let folder = Folder::new();
    let (store, manual) = store(&folder).await;
    let policy = Policy {
        max_attempts: 2,
        ..Policy::of(Kind::Inbox)
    };
    let inbox = queue(&store, "inbox", policy).await;
    enqueue(&store, &inbox, vec![item("a", None)]).await;
    let first = handed(&inbox, &next(&store, &inbox, 1).await[0]);
    let outcome = settle(&store, &inbox, first, fail("no route")).await;
    let SettleOutcome::Retrying { retry_at } = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(store.settled(vec![first]).await.unwrap(), [Some(outcome)]);
    assert_eq!(store.next_look(inbox.id).await.unwrap(), Some(retry_at));
    assert_eq!(
        store.counts(inbox.id).await.unwrap(),
        Counts {
            error: 1,
            ..Counts::default()
        }
    );
    assert!(next(&store, &inbox, 1).await.is_empty());

    manual.advance(Time::until(START, retry_at));
    assert_eq!(store.next_look(inbox.id).await.unwrap(), None, "due");
    let named = claim(
        &store,
        &inbox,
        Claim::Item {
            want: want(1),
            id: id("a"),
        },
    )
    .await;
    let ClaimOutcome::Dealt {
        deliveries, more, ..
    } = named
    else {
        panic!("{named:?}")
    };
    assert!(!more);
    let second = handed(&inbox, &deliveries[0][0]);
    assert_eq!(
        settle(&store, &inbox, second, fail("still no route")).await,
        SettleOutcome::Exhausted
    );
    let told = store.settled(vec![first, second]).await.unwrap();
    assert_eq!(
        told,
        [
            Some(SettleOutcome::Retrying { retry_at: START }),
            Some(SettleOutcome::Exhausted)
        ]
    );
    let record = store.item(inbox.id, id("a")).await.unwrap().unwrap();
    let errors: Vec<_> = record
        .errors
        .iter()
        .map(|error| (error.attempt, error.error.as_str()))
        .collect();
    assert_eq!(errors, [(1, "no route"), (2, "still no route")]);

    let group = ManageGroup {
        queue: inbox.id,
        policy: inbox.policy.clone(),
        id: id("a"),
        wish: Manage::Retry,
    };
    assert_eq!(
        one(&store, Group::Manage(group)).await,
        Outcomes::Manage(Ok(ManageAnswer::Retried))
    );
    assert_eq!(
        store.counts(inbox.id).await.unwrap(),
        Counts {
            pending: 1,
            ..Counts::default()
        }
    );
    let group = ManageGroup {
        queue: inbox.id,
        policy: inbox.policy.clone(),
        id: id("a"),
        wish: Manage::Cancel,
    };
    assert_eq!(
        one(&store, Group::Manage(group)).await,
        Outcomes::Manage(Ok(ManageAnswer::Cancelled))
    );
    assert_eq!(
        store.counts(inbox.id).await.unwrap(),
        Counts {
            cancelled: 1,
            ..Counts::default()
        }
    );
    let none = claim(
        &store,
        &inbox,
        Claim::Item {
            want: want(1),
            id: id("a"),
        },
    )
    .await;
    assert!(matches!(none, ClaimOutcome::Dealt { deliveries, .. } if deliveries == [vec![]]));
}

#[tokio::test]
async fn a_sync_change_replaces_the_payload_and_keeps_the_id() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    let sync = queue(&store, "sync", Policy::of(Kind::Sync)).await;
    enqueue(
        &store,
        &sync,
        vec![item("a", Some("ana")), item("x", Some("luis"))],
    )
    .await;
    let delivery = next(&store, &sync, 1).await.remove(0);
    let answers = enqueue(&store, &sync, vec![item("b", Some("ana"))]).await;
    assert_eq!(answers, [Accepted::Coalesced { id: id("a") }]);
    assert_eq!(
        settle(
            &store,
            &sync,
            handed(&sync, &delivery),
            Act::Ack { through: None }
        )
        .await,
        SettleOutcome::Superseded
    );
    assert_eq!(
        store.settled(vec![handed(&sync, &delivery)]).await.unwrap(),
        [Some(SettleOutcome::Superseded)]
    );
    let record = store.item(sync.id, id("a")).await.unwrap().unwrap();
    assert_eq!(
        (record.body.action.as_deref(), record.body.enqueued_at),
        (Some("do b"), START)
    );
    assert_eq!(store.item(sync.id, id("b")).await.unwrap(), None);
    let kept: HashMap<_, _> = next(&store, &sync, 9)
        .await
        .into_iter()
        .map(|one| (one.seq, one.revision))
        .collect();
    assert_eq!(kept.len(), 2);
    assert!(kept[&delivery.seq] > delivery.revision);
}

#[tokio::test]
async fn typing_holds_a_window_open_and_is_forgotten_with_the_hand_out() {
    let folder = Folder::new();
    let (store, manual) = store(&folder).await;
    let chat = queue(&store, "chat", Policy::of(Kind::Lane)).await;
    enqueue(&store, &chat, vec![item("a", Some("ana"))]).await;
    manual.advance(Span(2_000));
    let keys = ["ana", "luis"].map(|key| Key::new(key).unwrap()).to_vec();
    one(
        &store,
        Group::Typing(TypingGroup {
            queue: chat.id,
            policy: chat.policy.clone(),
            keys,
        }),
    )
    .await;
    manual.advance(Span(1_000));
    assert!(next(&store, &chat, 1).await.is_empty(), "somebody types");
    assert_eq!(
        store.next_look(chat.id).await.unwrap(),
        Some(START + Span(5_000))
    );
    manual.advance(Span(2_000));
    assert_eq!(next(&store, &chat, 1).await.len(), 1);
    let rows: i64 = store
        .looks
        .run(|db| Ok(db.query_row("select count(*) from typing", [], |row| row.get(0))?))
        .await
        .unwrap();
    assert_eq!(rows, 0);
}

#[tokio::test]
async fn a_queue_keeps_its_version_until_its_policy_changes_and_its_kind_while_it_is_busy() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    let name = QueueName::new("jobs").unwrap();
    let before = queue(&store, "jobs", Policy::of(Kind::Inbox)).await;
    assert_eq!(queue(&store, "jobs", Policy::of(Kind::Inbox)).await, before);
    let policy = Policy {
        max_attempts: 3,
        ..Policy::of(Kind::Inbox)
    };
    let after = queue(&store, "jobs", policy).await;
    assert_eq!((after.id, after.version), (before.id, before.version + 1));
    assert_eq!(
        claim(&store, &before, Claim::Next(vec![want(1)])).await,
        ClaimOutcome::PolicyChanged
    );
    store.pause_queue(after.id, true).await.unwrap();
    assert_eq!(
        claim(&store, &after, Claim::Next(vec![want(1)])).await,
        ClaimOutcome::Paused
    );
    store.pause_queue(after.id, false).await.unwrap();
    assert_eq!(store.queues().await.unwrap(), [after.clone()]);

    enqueue(&store, &after, vec![item("a", None)]).await;
    let refused = store.put_queue(name.clone(), Policy::of(Kind::Sync)).await;
    assert!(
        matches!(&refused, Err(StoreError::Rejected(text)) if text.contains("stays of kind inbox")),
        "{refused:?}"
    );
    let delivery = next(&store, &after, 1).await.remove(0);
    assert!(
        store
            .put_queue(name.clone(), Policy::of(Kind::Sync))
            .await
            .is_err(),
        "handed out is unfinished too"
    );
    settle(
        &store,
        &after,
        handed(&after, &delivery),
        Act::Ack { through: None },
    )
    .await;
    let changed = store
        .put_queue(name.clone(), Policy::of(Kind::Sync))
        .await
        .unwrap();
    assert_eq!(store.queue(name).await.unwrap(), Some(changed));
}
