//! Queues: properties of this store's statements.

use super::*;
use crate::store::{Counts, ItemQuery, ManageGroup, PauseQueue, PutQueue};
use turno_core::queue::{Manage, ManageAnswer, OnExhausted};

async fn manage(store: &PostgresStore, queue: &QueueRow, id: &str, wish: Manage) -> crate::store::ManageOutcome {
    let (name, policy) = (queue.name.clone(), queue.policy.clone());
    let by = Actor::user(UserId::new("ana").unwrap());
    let group = ManageGroup { queue: queue.id, name, policy, id: ItemId::new(id).unwrap(), wish, by };
    let Outcomes::Manage { answer: outcome, .. } = commit(store, 4, Group::Manage(group)).await.unwrap() else {
        panic!("a manage's outcome")
    };
    outcome
}

/// The symptom was: while the rollback of a refused command was under way, the next claim skipped the locked head.
#[tokio::test]
async fn a_refused_management_command_hides_no_head_from_the_next_claim() {
    let (store, _) = fresh_store().await;
    let queue = queue(&store, unwindowed(Kind::Lane)).await;
    enqueue(&store, &queue, vec![new_item("a", Some("k"), "{}")]).await;
    for round in 0..100 {
        let refused = manage(&store, &queue, "a", Manage::Retry).await;
        assert_eq!(refused, Err(turno_core::queue::ManageRefused::Waiting));
        let deliveries = claim(&store, &queue, 1).await;
        assert_eq!(deliveries.len(), 1, "in round {round}");
        settle(&store, &queue, &[reference(&queue, &deliveries[0].0)], Act::Return { error: None }).await;
    }
}

/// A statement that locks only its first row fails here, because each lane is tried.
#[tokio::test]
async fn an_enqueue_locks_every_lane_of_its_group() {
    let (store, url) = fresh_store().await;
    let queue = queue(&store, unwindowed(Kind::Lane)).await;
    let client = outside(&url).await;
    let keys = ["a", "b", "c", "d"];
    for held in keys {
        let of = (queue.id, turno_core::id::Lane::from_key(&Key::new(held).unwrap()));
        client.batch_execute("begin").await.unwrap();
        client.execute(&super::super::sql::LANE_LOCK.text, &[&vec![super::super::lane::slot(of)]]).await.unwrap();
        let items = keys.map(|key| new_item(&format!("{held}{key}"), Some(key), "{}")).to_vec();
        let mut waiting = Box::pin(enqueue(&store, &queue, items));
        let waits = tokio::time::timeout(std::time::Duration::from_millis(150), &mut waiting).await;
        assert!(waits.is_err(), "it did not wait for the lane of {held}");
        client.batch_execute("commit").await.unwrap();
        assert_eq!(waiting.await.len(), 4);
    }
}

/// The symptom would be: a process with a later cached floor overlooks an item that was re-queued at its old seq.
#[tokio::test]
async fn an_item_requeued_by_another_process_is_not_overtaken() {
    let (one, url) = fresh_store().await;
    let two = store_at(&url).await;
    let queue = queue(&one, Policy { max_attempts: 1, ..unwindowed(Kind::Lane) }).await;
    let ids = ["a1", "a2", "a3", "a4"];
    enqueue(&one, &queue, ids.map(|id| new_item(id, Some("a"), "{}")).to_vec()).await;
    let (first, _) = claim(&one, &queue, 1).await.remove(0);
    assert_eq!(settle(&one, &queue, &[reference(&queue, &first)], fail("no")).await, [SettleOutcome::Exhausted]);
    let (second, _) = claim(&one, &queue, 1).await.remove(0);
    settle(&one, &queue, &[reference(&queue, &second)], ACK).await;
    let (third, ids) = claim(&one, &queue, 1).await.remove(0);
    assert_eq!(ids, ["a3"]);
    assert_eq!(manage(&two, &queue, "a1", Manage::Retry).await, Ok(ManageAnswer::Retried));
    settle(&one, &queue, &[reference(&queue, &third)], ACK).await;
    let (_, ids) = claim(&one, &queue, 1).await.remove(0);
    assert_eq!(ids, ["a1"], "a1 was re-queued while a3 was in process, and comes before a4");
    assert_eq!(claim(&one, &queue, 1).await, [], "a4 waits for a1");
}

#[tokio::test]
async fn a_group_is_settled_by_item_id() {
    let (store, _) = fresh_store().await;
    let policy = Policy { window: Span::ZERO, batch_max: 3, ..Policy::for_kind(Kind::Lane) };
    let queue = queue(&store, policy).await;
    let ids = ["a1", "a2", "a3", "a4"];
    enqueue(&store, &queue, ids.map(|id| new_item(id, Some("a"), "{}")).to_vec()).await;
    let (delivery, ids) = claim(&store, &queue, 5).await.remove(0);
    assert_eq!(ids, ["a1", "a2", "a3"]);
    let one = reference(&queue, &delivery);
    let item = Some(ItemId::new("a2").unwrap());
    let act = Act::Fail { error: "a2 is bad".into(), item, retry_in: Some(Span::ZERO), give_up: false };
    assert!(matches!(settle(&store, &queue, &[one], act).await[..], [SettleOutcome::Retrying { .. }]));
    let record = store.item(queue.id, ItemId::new("a2").unwrap()).await.unwrap().unwrap();
    assert_eq!((record.errors.len(), record.errors[0].error.as_str()), (1, "a2 is bad"));
    assert_eq!(record.item.unwrap().attempt, 1);
    let records = store.items(queue.id, ItemQuery::default()).await.unwrap();
    assert_eq!(records.iter().map(|record| record.done.is_some()).collect::<Vec<_>>(), [true, false, false, false]);
    let (_, ids) = claim(&store, &queue, 5).await.remove(0);
    assert_eq!(ids, ["a2", "a3"], "the items of the first delivery stay together");
}

#[tokio::test]
async fn a_sync_change_replaces_the_waiting_one_and_is_handed_out_with_its_own_data() {
    let (store, _) = fresh_store().await;
    let queue = queue(&store, Policy::for_kind(Kind::Sync)).await;
    enqueue(&store, &queue, vec![new_item("v1", Some("k"), "1")]).await;
    let coalesced = enqueue(&store, &queue, vec![new_item("v2", Some("k"), "2")]).await;
    assert_eq!(coalesced, [Accepted::Coalesced { id: ItemId::new("v1").unwrap() }]);
    let (delivery, _) = claim(&store, &queue, 1).await.remove(0);
    let record = store.item(queue.id, ItemId::new("v1").unwrap()).await.unwrap().unwrap();
    assert_eq!((&*record.body.payload, record.item.unwrap().reference), ("2", delivery.revision));
    enqueue(&store, &queue, vec![new_item("v3", Some("k"), "3")]).await;
    assert_eq!(settle(&store, &queue, &[reference(&queue, &delivery)], ACK).await, [SettleOutcome::Superseded]);
    assert_eq!(claim(&store, &queue, 1).await.len(), 1);
}

#[tokio::test]
async fn an_expired_delivery_is_found_with_all_items_and_taken_back() {
    let manual = crate::clock::Manual::starting_at(Time(1_000_000));
    let url = Cluster::for_tests().fresh_database().await;
    let store = PostgresStore::open(&url, Arc::new(Clock::manual(manual.clone())), true).await.unwrap();
    let policy = Policy { window: Span::ZERO, batch_max: 3, ..Policy::for_kind(Kind::Lane) };
    let queue = queue(&store, policy).await;
    enqueue(&store, &queue, ["a1", "a2", "a3"].map(|id| new_item(id, Some("a"), "{}")).to_vec()).await;
    let (delivery, _) = claim(&store, &queue, 5).await.remove(0);
    assert_eq!(store.expired(10).await.unwrap(), (vec![], None), "not within a second");
    manual.advance(Span(14_100));
    assert_eq!(store.expired(10).await.unwrap(), (vec![], Some(delivery.expires_at)));
    manual.advance(Span(900));
    let (expired, next) = store.expired(1).await.unwrap();
    assert_eq!(
        (&expired[..], next),
        (&[reference(&queue, &delivery)][..], None),
        "with its full size, whatever the limit"
    );
    assert_eq!(settle(&store, &queue, &expired, Act::Expire).await, [SettleOutcome::Expired]);
    assert_eq!(store.settled(expired).await.unwrap(), [None], "an expiry is no settlement");
    assert_eq!(claim(&store, &queue, 5).await[0].1, ["a1", "a2", "a3"]);
}

#[tokio::test]
async fn a_delayed_item_is_reported_by_next_look_and_claimed_when_due() {
    let manual = crate::clock::Manual::starting_at(Time(1_000_000));
    let url = Cluster::for_tests().fresh_database().await;
    let store = PostgresStore::open(&url, Arc::new(Clock::manual(manual.clone())), true).await.unwrap();
    let queue = queue(&store, unwindowed(Kind::Inbox)).await;
    let delayed = NewItem { delay: Span(700), ..new_item("a", None, "{}") };
    enqueue(&store, &queue, vec![delayed]).await;
    assert_eq!(claim(&store, &queue, 5).await, []);
    assert_eq!(store.next_look(queue.id, Time(0)).await.unwrap(), Some(Time(1_000_700)));
    manual.advance(Span(700));
    assert_eq!(claim(&store, &queue, 5).await.len(), 1);
    assert_eq!(store.next_look(queue.id, Time(0)).await.unwrap(), None);
}

#[tokio::test]
async fn a_queue_keeps_its_kind_while_it_has_items() {
    let (store, _) = fresh_store().await;
    let first = queue(&store, unwindowed(Kind::Inbox)).await;
    assert_eq!(queue(&store, unwindowed(Kind::Inbox)).await.version, first.version, "unchanged");
    enqueue(&store, &first, vec![new_item("a", None, "{}")]).await;
    let refused = store.put_queue(PutQueue::new(first.name.clone(), unwindowed(Kind::Lane)), Actor::system()).await;
    assert!(matches!(&refused, Err(StoreError::Rejected(text)) if text.contains("unfinished")), "{refused:?}");
    let second = queue(&store, Policy { max_attempts: 3, ..unwindowed(Kind::Inbox) }).await;
    assert_eq!(second.version, first.version + 1);
    let stale = commit(&store, 3, claim_group(&first, 1)).await.unwrap();
    assert_eq!(stale, Outcomes::Claim(ClaimOutcome::PolicyChanged));
    store.pause_queue(PauseQueue { queue: first.id, paused: true, by: Actor::system() }).await.unwrap();
    assert_eq!(commit(&store, 3, claim_group(&second, 1)).await.unwrap(), Outcomes::Claim(ClaimOutcome::Paused));
    assert_eq!(store.queues().await.unwrap(), [QueueRow { paused: true, ..second.clone() }]);
    store.pause_queue(PauseQueue { queue: first.id, paused: false, by: Actor::system() }).await.unwrap();
    assert_eq!(store.queue(first.name.clone()).await.unwrap(), Some(second.clone()));
    assert_eq!(claim(&store, &second, 1).await.len(), 1);
}

#[tokio::test]
async fn hints_reach_other_processes_but_not_the_sender() {
    let (one, url) = fresh_store().await;
    let two = store_at(&url).await;
    let next = async |store: &PostgresStore, within| tokio::time::timeout(within, store.hint()).await;
    let (long, short) = (std::time::Duration::from_secs(20), std::time::Duration::from_millis(200));
    // A store that begins to listen has missed earlier hints.
    for store in [&one, &two] {
        assert_eq!(next(store, long).await, Ok(Ok(crate::store::Hint::All)));
    }
    one.announce(vec![crate::store::Hint::Lease(resource("ana's"))]).await.unwrap();
    assert_eq!(next(&two, long).await, Ok(Ok(crate::store::Hint::Lease(resource("ana's")))));
    let echo = next(&one, short).await;
    assert!(echo.is_err(), "{echo:?}");
}

#[tokio::test]
async fn held_lanes_are_released_in_the_transaction_that_changes_the_policy() {
    let (store, url) = fresh_store().await;
    let hold = Policy { on_exhausted: OnExhausted::Hold, max_attempts: 1, ..unwindowed(Kind::Lane) };
    let held = queue(&store, hold.clone()).await;
    enqueue(&store, &held, ["a1", "a2", "b1", "b2"].map(|id| new_item(id, Some(&id[..1]), "{}")).to_vec()).await;
    let reference: Vec<DeliveryRef> =
        claim(&store, &held, 5).await.iter().map(|(one, _)| reference(&held, one)).collect();
    settle(&store, &held, &reference, fail("no")).await;
    assert_eq!(claim(&store, &held, 5).await, [], "both lanes are held");
    let by = Actor::user(UserId::new("ana").unwrap());
    let goes_on = Policy { on_exhausted: OnExhausted::Continue, ..hold };
    let queue = store.put_queue(PutQueue::new(held.name.clone(), goes_on), by).await.unwrap().unwrap();
    let together = "select count(*) from turno.queue q join turno.hot h on h.queue = q.id and h.xmin = q.xmin
        where h.ready_at is not null";
    assert_eq!(number(&outside(&url).await, together).await, 2, "both changes are in one transaction");
    let ids: Vec<String> = claim(&store, &queue, 5).await.into_iter().flat_map(|(_, ids)| ids).collect();
    assert_eq!(ids, ["a2", "b2"]);
    let counts = store.counts(queue.id).await.unwrap();
    assert_eq!((counts.exhausted, counts.in_process), (2, 2), "exhausted items stay exhausted");
}
