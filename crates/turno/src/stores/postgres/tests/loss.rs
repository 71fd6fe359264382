//! Lost connections, killed servers, poolers, and commands that the server refuses.

use super::proxy::Proxy;
use super::*;
use std::sync::atomic::Ordering;

/// Opens a store through a proxy that sees every statement's text.
pub(super) async fn through_proxy(url: &str) -> (PostgresStore, Proxy) {
    let (head, tail) = url.split_once("127.0.0.1:").unwrap();
    let (port, database) = tail.split_once('/').unwrap();
    let proxy = Proxy::to(port.parse().unwrap()).await;
    let store = store_at(&format!("{head}127.0.0.1:{}/{database}", proxy.port)).await;
    // Sent as text, so that the proxy can recognise the commit.
    store.address.unprepared.store(true, Ordering::Relaxed);
    (store, proxy)
}

#[tokio::test]
async fn a_commit_whose_answer_was_lost_is_recognised_as_committed() {
    let url = Cluster::for_tests().fresh_database().await;
    let (store, proxy) = through_proxy(&url).await;
    let queue = queue(&store, unwindowed(Kind::Inbox)).await;
    proxy.cut(true);
    let accepted = enqueue(&store, &queue, vec![new_item("a", None, "{}")]).await;
    assert!(!proxy.is_armed());
    assert_eq!(accepted, [Accepted::Queued]);
    assert_eq!(number(&outside(&url).await, "select count(*) from turno.body").await, 1);
    proxy.cut(true);
    let deliveries = claim(&store, &queue, 5).await;
    assert!(!proxy.is_armed());
    assert_eq!(deliveries[0].1, ["a"], "the delivery is not lost with the answer");
}

#[tokio::test]
async fn a_commit_that_never_arrived_is_recognised_as_not_committed() {
    let url = Cluster::for_tests().fresh_database().await;
    let (store, proxy) = through_proxy(&url).await;
    let queue = queue(&store, unwindowed(Kind::Inbox)).await;
    proxy.cut(false);
    let lost = commit(&store, 2, enqueue_group(&queue, vec![new_item("a", None, "{}")])).await;
    assert!(!proxy.is_armed());
    assert!(matches!(lost, Err(StoreError::Unavailable(_))), "{lost:?}");
    assert_eq!(number(&outside(&url).await, "select count(*) from turno.body").await, 0);
    assert_eq!(enqueue(&store, &queue, vec![new_item("a", None, "{}")]).await, [Accepted::Queued]);
}

#[tokio::test]
async fn the_store_continues_after_a_killed_server_restarts() {
    let mut cluster = Cluster::start().unwrap();
    let url = cluster.fresh_database().await;
    let store = store_at(&url).await;
    let queue = queue(&store, unwindowed(Kind::Inbox)).await;
    enqueue(&store, &queue, vec![new_item("a", None, "{}")]).await;
    let life = store.address.connect().await.unwrap().life.clone();
    cluster.kill().unwrap();
    let down = commit(&store, 2, enqueue_group(&queue, vec![new_item("b", None, "{}")])).await;
    assert!(matches!(down, Err(StoreError::Unavailable(_))), "{down:?}");
    cluster.restart().unwrap();
    enqueue(&store, &queue, vec![new_item("c", None, "{}")]).await;
    let ids: Vec<_> = claim(&store, &queue, 10).await.into_iter().flat_map(|(_, ids)| ids).collect();
    assert_eq!(ids, ["a", "c"]);
    assert_ne!(store.address.connect().await.unwrap().life, life, "a crash begins another life");
    let life = store.address.connect().await.unwrap().life.clone();
    cluster.restart().unwrap();
    assert_eq!(store.address.connect().await.unwrap().life, life, "a shutdown begins no other life");
}

#[tokio::test]
async fn one_bad_item_rejects_the_whole_group() {
    let (store, url) = fresh_store().await;
    let queue = queue(&store, unwindowed(Kind::Inbox)).await;
    let items = vec![new_item("good", None, "{}"), new_item("bad", None, "\0")];
    let refused = commit(&store, 2, enqueue_group(&queue, items)).await;
    assert!(matches!(refused, Err(StoreError::Rejected(_))), "{refused:?}");
    assert_eq!(number(&outside(&url).await, "select count(*) from turno.hot").await, 0);
    assert_eq!(enqueue(&store, &queue, vec![new_item("good", None, "{}")]).await, [Accepted::Queued]);
}

#[tokio::test]
async fn the_same_new_id_from_two_processes_is_a_conflict_and_then_a_duplicate() {
    let (store, url) = fresh_store().await;
    let queue = queue(&store, unwindowed(Kind::Inbox)).await;
    let client = outside(&url).await;
    let insert = "insert into turno.body values (-1, $1, 'a', null, null, '{}', 0)";
    client.batch_execute("begin").await.unwrap();
    client.execute(insert, &[&queue.id.0]).await.unwrap();
    let ours = commit(&store, 2, enqueue_group(&queue, vec![new_item("a", None, "{}")]));
    let theirs = async { client.batch_execute("commit").await.unwrap() };
    let (ours, ()) = tokio::join!(ours, theirs);
    let duplicate = vec![vec![Accepted::Duplicate { differs: false }]];
    assert!(matches!(&ours, Err(StoreError::Conflict(_))) || ours == Ok(Outcomes::Enqueue(duplicate)), "{ours:?}");
    assert_eq!(enqueue(&store, &queue, vec![new_item("a", None, "[]")]).await, [Accepted::Duplicate { differs: true }]);
}

#[tokio::test]
async fn a_pooler_without_prepared_statements_switches_calls_to_text() {
    let (store, url) = fresh_store().await;
    let queue = queue(&store, unwindowed(Kind::Inbox)).await;
    enqueue(&store, &queue, vec![new_item("a", None, "{}")]).await;
    assert!(!store.address.unprepared.load(Ordering::Relaxed));
    // A pooler that assigns another connection has the same effect: the statements are gone.
    let link = store.routes[2].take(&store.address).await.unwrap();
    link.script("deallocate all").await.unwrap();
    link.put_back();
    enqueue(&store, &queue, vec![new_item("b", None, "{}")]).await;
    assert!(store.address.unprepared.load(Ordering::Relaxed));
    let deliveries = claim(&store, &queue, 5).await;
    let all: Vec<_> = deliveries.iter().map(|(delivery, _)| reference(&queue, delivery)).collect();
    assert_eq!(settle(&store, &queue, &all, ACK).await, [SettleOutcome::Acked, SettleOutcome::Acked]);
    assert!(decide(&store, lease("a", "ana", CLAIM)).await.unwrap().1);
    assert_eq!(number(&outside(&url).await, "select count(*) from turno.done").await, 2);
}
