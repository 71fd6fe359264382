//! Items from enqueue to their end, and the queues themselves.

use super::calls::{claim, enqueue, fail, id, item, next, queue, reference, settle, want};
use super::{Folder, START, commit_one, store};
use crate::store::{
    Claim, ClaimOutcome, Counts, Group, ItemQuery, ManageGroup, Outcomes, PutQueue, QueueRow, Store, StoreError,
};
use turno_core::audit::Actor;
use turno_core::id::{Fence, QueueName};
use turno_core::queue::{
    Accepted, Act, DeliveryRef, Ended, Kind, Manage, ManageAnswer, OnExhausted, Policy, SettleOutcome,
};
use turno_core::time::{Span, Time};

fn manage(queue: &QueueRow, wish: Manage) -> ManageGroup {
    let (name, policy, by) = (queue.name.clone(), queue.policy.clone(), Actor::system());
    ManageGroup { queue: queue.id, name, policy, id: id("a"), wish, by }
}

#[tokio::test]
async fn an_item_is_enqueued_handed_out_and_acked_once() {
    let folder = Folder::new();
    let (store, manual) = store(&folder).await;
    let inbox = queue(&store, "inbox", Policy::for_kind(Kind::Inbox)).await;
    let items = vec![item("a", None), item("b", Some("key")), item("a", None)];
    let answers = enqueue(&store, &inbox, items).await;
    assert_eq!(answers, [Accepted::Queued, Accepted::Queued, Accepted::Duplicate { differs: false }]);
    let mut other = item("a", None);
    other.payload = "{}".into();
    assert_eq!(enqueue(&store, &inbox, vec![other]).await, [Accepted::Duplicate { differs: true }]);

    manual.advance(Span(77));
    let ClaimOutcome::Claimed { now, deliveries, bodies, more } =
        claim(&store, &inbox, Claim::Next(vec![want(2)])).await
    else {
        panic!("nothing was dealt")
    };
    assert_eq!((now, deliveries[0].len(), bodies.len(), more), (START + Span(77), 2, 2, true));
    let first = &deliveries[0][0];
    let body = &bodies[&first.seq];
    assert_eq!((body.id.as_str(), body.action.as_deref(), body.key.as_ref()), ("a", Some("do a"), None));
    assert_eq!(&*body.payload, "{\"of\":\"a\\u0000\"}");

    let reference = reference(&inbox, first);
    assert_eq!(store.settled(vec![reference]).await.unwrap(), [None], "the delivery is still live");
    let stale = DeliveryRef { fence: Fence(first.fence.0 + 1_000), ..reference };
    assert_eq!(settle(&store, &inbox, stale, Act::Ack { through: None }).await, SettleOutcome::Stale);
    assert_eq!(settle(&store, &inbox, reference, Act::Ack { through: None }).await, SettleOutcome::Acked);
    assert_eq!(settle(&store, &inbox, reference, Act::Ack { through: None }).await, SettleOutcome::Stale);
    assert_eq!(store.settled(vec![stale, reference]).await.unwrap(), [None, Some(SettleOutcome::Acked)]);

    let record = store.item(inbox.id, id("a")).await.unwrap().unwrap();
    let done = record.done.unwrap();
    assert_eq!((done.ended, done.at, done.attempt, done.fence), (Ended::Processed, START + Span(77), 1, first.fence));
    assert_eq!((done.holder.as_ref().map(|taker| taker.as_str()), record.item), (Some("worker-7"), None));
    let counts = Counts { in_process: 1, processed: 1, ..Counts::default() };
    assert_eq!(store.counts(inbox.id).await.unwrap(), counts);
    let listed = store.items(inbox.id, ItemQuery::default()).await.unwrap();
    assert_eq!(listed.iter().map(|record| record.body.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(
        store.items(inbox.id, ItemQuery { after: Some(listed[0].body.seq), ..ItemQuery::default() }).await.unwrap(),
        listed[1..]
    );
}

#[tokio::test]
async fn failures_are_kept_and_answered_again_until_the_item_is_exhausted() {
    let folder = Folder::new();
    let (store, manual) = store(&folder).await;
    let policy = Policy { max_attempts: 2, ..Policy::for_kind(Kind::Inbox) };
    let inbox = queue(&store, "inbox", policy).await;
    enqueue(&store, &inbox, vec![item("a", None)]).await;
    let first = reference(&inbox, &next(&store, &inbox, 1).await[0]);
    let outcome = settle(&store, &inbox, first, fail("no route")).await;
    let SettleOutcome::Retrying { retry_at } = outcome else { panic!("{outcome:?}") };
    assert_eq!(store.settled(vec![first]).await.unwrap(), [Some(outcome)]);
    assert_eq!(store.next_look(inbox.id, Time(0)).await.unwrap(), Some(retry_at));
    assert_eq!(store.counts(inbox.id).await.unwrap(), Counts { error: 1, ..Counts::default() });
    assert!(next(&store, &inbox, 1).await.is_empty());

    manual.advance(Time::until(START, retry_at));
    assert_eq!(store.next_look(inbox.id, retry_at).await.unwrap(), None, "the retry is due");
    let named = claim(&store, &inbox, Claim::Item { want: want(1), id: id("a") }).await;
    let ClaimOutcome::Claimed { deliveries, more, .. } = named else { panic!("{named:?}") };
    assert!(!more);
    let second = reference(&inbox, &deliveries[0][0]);
    assert_eq!(settle(&store, &inbox, second, fail("still no route")).await, SettleOutcome::Exhausted);
    let settled = store.settled(vec![first, second]).await.unwrap();
    assert_eq!(settled, [Some(SettleOutcome::Retrying { retry_at }), Some(SettleOutcome::Exhausted)]);
    let record = store.item(inbox.id, id("a")).await.unwrap().unwrap();
    let errors: Vec<_> = record.errors.iter().map(|error| (error.attempt, error.error.as_str())).collect();
    assert_eq!(errors, [(1, "no route"), (2, "still no route")]);

    let group = manage(&inbox, Manage::Retry);
    assert_eq!(
        commit_one(&store, Group::Manage(group)).await,
        Outcomes::Manage { answer: Ok(ManageAnswer::Retried), expired: None }
    );
    assert_eq!(store.counts(inbox.id).await.unwrap(), Counts { pending: 1, ..Counts::default() });
    let group = manage(&inbox, Manage::Cancel);
    assert_eq!(
        commit_one(&store, Group::Manage(group)).await,
        Outcomes::Manage { answer: Ok(ManageAnswer::Cancelled), expired: None }
    );
    assert_eq!(store.counts(inbox.id).await.unwrap(), Counts { cancelled: 1, ..Counts::default() });
    let none = claim(&store, &inbox, Claim::Item { want: want(1), id: id("a") }).await;
    assert!(matches!(none, ClaimOutcome::Claimed { deliveries, .. } if deliveries == [vec![]]));
}

#[tokio::test]
async fn a_queue_keeps_its_version_without_a_change_and_its_kind_while_it_has_items() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    let name = QueueName::new("jobs").unwrap();
    let before = queue(&store, "jobs", Policy::for_kind(Kind::Inbox)).await;
    assert_eq!(queue(&store, "jobs", Policy::for_kind(Kind::Inbox)).await, before);
    let policy = Policy { max_attempts: 3, ..Policy::for_kind(Kind::Inbox) };
    let after = queue(&store, "jobs", policy).await;
    assert_eq!((after.id, after.version), (before.id, before.version + 1));
    assert_eq!(claim(&store, &before, Claim::Next(vec![want(1)])).await, ClaimOutcome::PolicyChanged);
    store.pause_queue(after.id, true, Actor::system()).await.unwrap();
    assert_eq!(claim(&store, &after, Claim::Next(vec![want(1)])).await, ClaimOutcome::Paused);
    store.pause_queue(after.id, false, Actor::system()).await.unwrap();
    assert_eq!(store.queues().await.unwrap(), std::slice::from_ref(&after));

    enqueue(&store, &after, vec![item("a", None)]).await;
    let refused = store.put_queue(PutQueue::new(name.clone(), Policy::for_kind(Kind::Sync)), Actor::system()).await;
    assert!(matches!(&refused, Err(StoreError::Rejected(text)) if text.contains("stays of kind inbox")), "{refused:?}");
    let delivery = next(&store, &after, 1).await.remove(0);
    assert!(
        store.put_queue(PutQueue::new(name.clone(), Policy::for_kind(Kind::Sync)), Actor::system()).await.is_err(),
        "a handed-out item is unfinished too"
    );
    settle(&store, &after, reference(&after, &delivery), Act::Ack { through: None }).await;
    let changed = store
        .put_queue(PutQueue::new(name.clone(), Policy::for_kind(Kind::Sync)), Actor::system())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(store.queue(name).await.unwrap(), Some(changed));
}

#[tokio::test]
async fn changing_the_policy_releases_held_lanes() {
    let folder = Folder::new();
    let (store, _) = store(&folder).await;
    let lane = Policy { window: Span::ZERO, batch_max: 1, max_attempts: 1, ..Policy::for_kind(Kind::Lane) };
    let held = queue(&store, "lane", Policy { on_exhausted: OnExhausted::Hold, ..lane.clone() }).await;
    enqueue(&store, &held, vec![item("a1", Some("a")), item("a2", Some("a"))]).await;
    let first = reference(&held, &next(&store, &held, 1).await[0]);
    assert_eq!(settle(&store, &held, first, fail("no")).await, SettleOutcome::Exhausted);
    assert!(next(&store, &held, 1).await.is_empty(), "the lane is held");
    let goes_on = queue(&store, "lane", lane).await;
    assert_eq!(next(&store, &goes_on, 1).await.len(), 1, "changing the policy released the lane");
    assert_eq!(store.counts(held.id).await.unwrap(), Counts { exhausted: 1, in_process: 1, ..Counts::default() });
}
