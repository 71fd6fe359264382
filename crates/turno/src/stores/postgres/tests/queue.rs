//! Queues: properties of this store's statements.

use super::*;
use crate::store::{ManageGroup, PutQueue};
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
