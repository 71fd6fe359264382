//! The audit under concurrency, and against plain SQL.

use super::super::sql;
use super::*;
use crate::store::PauseQueue;
use turno_core::audit::{AuditAction, Draft, Hash, Head, chain};

/// The negative control of the conformance case with two instances: two transactions that chain from a head that they did not lock.
#[tokio::test]
async fn entries_chained_from_an_unlocked_head_fork_and_are_refused() {
    let (_store, url) = fresh_store().await;
    let (one, two) = (outside(&url).await, outside(&url).await);
    let mut refused = Vec::new();
    let mut drafts = Vec::new();
    for client in [&one, &two] {
        client.batch_execute("begin").await.unwrap();
        let row = client.query_one(&sql::AUDIT_HEAD.text, &[]).await.unwrap();
        let hash = Hash(row.get::<_, &[u8]>(1).try_into().unwrap());
        let mut head = Head { n: row.get(0), hash };
        drafts.push(chain(&mut head, Time(1), vec![Draft::new(Actor::system(), AuditAction::QueuePut, "y")]).remove(0));
    }
    for (client, entry) in [&one, &two].into_iter().zip(&drafts) {
        let (hash, sql) = (&entry.hash.0[..], "insert into turno.audit values ($1, 1, 'a', null, 'x', 'y', '{}', $2)");
        refused.push(client.execute(sql, &[&entry.n, &hash]).await.is_err());
        client.batch_execute("commit").await.unwrap();
    }
    assert_eq!((drafts[0].n, drafts[1].n), (1, 1));
    assert_eq!(refused, [false, true], "with the lock, the second entry would follow the first");
}

#[tokio::test]
async fn plain_sql_can_neither_change_nor_delete_nor_truncate_audit_entries() {
    let (store, url) = fresh_store().await;
    decide(&store, lease("a", "ana", force("first"))).await.unwrap();
    let client = outside(&url).await;
    for sql in ["update turno.audit set actor = 'eva'", "delete from turno.audit", "truncate turno.audit"] {
        let refused = client.batch_execute(sql).await.unwrap_err();
        assert!(format!("{refused:?}").contains("not changed nor removed"), "{sql}: {refused:?}");
    }
    assert_eq!(verify_audit(&store).await, 1);
}

#[tokio::test]
async fn a_queue_change_without_its_audit_entry_is_not_stored() {
    let (store, url) = fresh_store().await;
    let first = queue(&store, unwindowed(Kind::Inbox)).await;
    let client = outside(&url).await;
    client.batch_execute("alter table turno.audit rename to hidden").await.unwrap();
    let pause = PauseQueue { queue: first.id, paused: true, by: Actor::system() };
    assert!(store.pause_queue(pause).await.is_err());
    client.batch_execute("alter table turno.hidden rename to audit").await.unwrap();
    assert!(!store.queues().await.unwrap()[0].paused);
}

#[tokio::test]
async fn a_purge_counts_and_audits_and_keeps_young_and_unfinished_items() {
    let manual = crate::clock::Manual::starting_at(Time(1_000_000));
    let url = Cluster::for_tests().fresh_database().await;
    let store = PostgresStore::open(&url, None, Arc::new(Clock::manual(manual.clone())), true).await.unwrap();
    let queue = queue(&store, unwindowed(Kind::Inbox)).await;
    for id in ["a", "b", "c", "d"] {
        enqueue(&store, &queue, vec![new_item(id, None, "{}")]).await;
    }
    let deliveries = claim(&store, &queue, 3).await;
    let all: Vec<_> = deliveries.iter().map(|(delivery, _)| reference(&queue, delivery)).collect();
    settle(&store, &queue, &all[..1], fail("no")).await;
    settle(&store, &queue, &all[1..], ACK).await;
    let returned = claim(&store, &queue, 1).await;
    settle(&store, &queue, &[reference(&queue, &returned[0].0)], Act::Return { error: None }).await;
    let retried = claim(&store, &queue, 1).await;
    settle(&store, &queue, &[reference(&queue, &retried[0].0)], ACK).await;
    let by = Actor::user(UserId::new("ana").unwrap());
    let purge = |before, limit| store.purge(crate::store::Purge::Items(queue.id, by.clone()), before, limit);
    let entries = store.audit_head().await.unwrap().n;
    assert_eq!(purge(Time(1_000_000), 10).await.unwrap(), 0);
    assert_eq!(store.audit_head().await.unwrap().n, entries, "an empty purge leaves no entry");
    assert_eq!(purge(Time(1_000_001), 2).await.unwrap(), 2);
    assert_eq!(purge(Time(1_000_001), 2).await.unwrap(), 1);
    assert_eq!(store.queue(queue.name.clone()).await.unwrap().unwrap().purged, 3);
    let client = outside(&url).await;
    for (table, left) in [("body", 1), ("done", 0), ("attempt_error", 0), ("came_back", 0), ("hot", 1)] {
        assert_eq!(number(&client, &format!("select count(*) from turno.{table}")).await, left, "{table}");
    }
    let last = store.audit(AuditQuery { limit: 1, ..AuditQuery::default() }).await.unwrap().remove(0);
    assert_eq!((last.action.as_str(), last.resource.as_str(), last.actor.clone()), ("queue_purge", "q", by));
    assert_eq!(last.detail, r#"{"before_ms":1000001,"count":1}"#);
    assert_eq!(verify_audit(&store).await, entries + 2);
}

/// Otherwise the re-queued item would have no body.
#[tokio::test]
async fn an_item_that_is_being_requeued_is_not_purged() {
    let (store, url) = fresh_store().await;
    let queue = queue(&store, unwindowed(Kind::Inbox)).await;
    enqueue(&store, &queue, vec![new_item("a", None, "{}"), new_item("b", None, "{}")]).await;
    let deliveries = claim(&store, &queue, 2).await;
    let all: Vec<_> = deliveries.iter().map(|(delivery, _)| reference(&queue, delivery)).collect();
    settle(&store, &queue, &all, ACK).await;
    let client = outside(&url).await;
    client.batch_execute("begin").await.unwrap();
    assert_eq!(client.query(&sql::DONE_READ.text, &[&all[0].seq.0]).await.unwrap().len(), 1);
    let purge = || {
        let what = crate::store::Purge::Items(queue.id, Actor::system());
        tokio::time::timeout(AT_ONCE, store.purge(what, Time(9_000_000_000_000), 10))
    };
    assert_eq!(purge().await.expect("the purge waits for no lock").unwrap(), 1);
    assert!(store.item(queue.id, ItemId::new("a").unwrap()).await.unwrap().is_some());
    client.batch_execute("rollback").await.unwrap();
    assert_eq!(purge().await.unwrap().unwrap(), 1);
}
