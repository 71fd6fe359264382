//! Enqueues that are written and committed in one round trip.

use super::loss::through_proxy;
use super::*;
use turno_core::access::Epoch;

/// Returns an item whose id the engine generated.
fn engine_item(id: &str, key: Option<&str>, payload: &str) -> NewItem {
    NewItem { id_given: false, ..new_item(id, key, payload) }
}

/// The stored rows of an item, without its number and relative to its time of acceptance.
const STORED: &str = "select concat_ws(' ', b.key, b.action, b.payload, b.enqueued_at - h.enqueued_at, h.lane, \
     h.not_before - h.enqueued_at, h.ready_at - h.enqueued_at, h.revision - h.seq, h.seq - b.seq, \
     to_jsonb(h) - '{seq,revision,enqueued_at,not_before,ready_at}'::text[]) \
     from turno.body b join turno.hot h using (seq) where b.id like $1 order by b.seq";

#[tokio::test]
async fn an_enqueue_in_one_trip_stores_the_same_rows_as_one_in_two() {
    let (store, url) = fresh_store().await;
    let queue = queue(&store, unwindowed(Kind::Inbox)).await;
    let items = |prefix: &str, made_up: bool| {
        let item = |name: &str, key: Option<&str>, delay| NewItem {
            id_given: !made_up,
            action: key.map(|_| "mail".to_owned()),
            delay: Span(delay),
            ..new_item(&format!("{prefix}-{name}"), key, &format!("[\"{name}\"]"))
        };
        vec![item("plain", None, 0), item("late", Some("ana"), 60_000), item("last", None, 0)]
    };
    let Group::Enqueue(group) = enqueue_group(&queue, items("one", true)) else { unreachable!("it enqueues") };
    assert!(group.needs_no_read() && !group.with_ids_given().needs_no_read());
    // The first group of a store raises the recorded time, so it takes two trips.
    enqueue(&store, &queue, vec![engine_item("first", None, "{}")]).await;
    assert_eq!(enqueue(&store, &queue, items("one", true)).await, vec![Accepted::Queued; 3]);
    assert_eq!(enqueue(&store, &queue, items("two", false)).await, vec![Accepted::Queued; 3]);
    let client = outside(&url).await;
    let stored = async |like: &str| {
        let rows = client.query(STORED, &[&like]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect::<Vec<String>>()
    };
    let one = stored("one-%").await;
    assert_eq!(one.len(), 3, "{one:?}");
    assert_eq!(one, stored("two-%").await);
    let claimed: Vec<_> = claim(&store, &queue, 10).await.into_iter().flat_map(|(_, ids)| ids).collect();
    assert_eq!(claimed, ["first", "one-plain", "one-last", "two-plain", "two-last"], "in the order of arrival");
}

#[tokio::test]
async fn items_whose_answer_was_lost_are_stored_once() {
    let url = Cluster::for_tests().fresh_database().await;
    let (store, proxy) = through_proxy(&url).await;
    let queue = queue(&store, unwindowed(Kind::Inbox)).await;
    enqueue(&store, &queue, vec![engine_item("first", None, "{}")]).await;
    for (id, arrives) in [("arrived", true), ("vanished", false)] {
        proxy.cut(arrives);
        assert_eq!(enqueue(&store, &queue, vec![engine_item(id, None, "{}")]).await, [Accepted::Queued]);
        assert!(!proxy.is_armed());
    }
    let claimed: Vec<_> = claim(&store, &queue, 10).await.into_iter().flat_map(|(_, ids)| ids).collect();
    assert_eq!(claimed, ["first", "arrived", "vanished"]);
    assert_eq!(number(&outside(&url).await, "select count(*) from turno.body").await, 3);
}

#[tokio::test]
async fn a_repeat_adds_no_items_while_the_first_attempt_is_running() {
    let (store, url) = fresh_store().await;
    let queue = queue(&store, unwindowed(Kind::Inbox)).await;
    enqueue(&store, &queue, vec![engine_item("first", None, "{}")]).await;
    let client = outside(&url).await;
    client.batch_execute("begin").await.unwrap();
    let insert = "insert into turno.body values (-1, $1, 'a', null, null, '{}', 0)";
    client.execute(insert, &[&queue.id.0]).await.unwrap();
    let ours = enqueue(&store, &queue, vec![engine_item("a", None, "{}")]);
    let theirs = async { client.batch_execute("commit").await.unwrap() };
    let (ours, ()) = tokio::join!(ours, theirs);
    assert_eq!(ours, [Accepted::Queued]);
    assert_eq!(number(&client, "select count(*) from turno.body where id = 'a'").await, 1);
}

#[tokio::test]
async fn an_enqueue_in_one_trip_under_another_epoch_stores_nothing() {
    let (store, url) = fresh_store().await;
    let queue = queue(&store, unwindowed(Kind::Inbox)).await;
    enqueue(&store, &queue, vec![engine_item("first", None, "{}")]).await;
    let group: Arc<[Group]> = vec![enqueue_group(&queue, vec![engine_item("a", None, "{}")])].into();
    let refused = store.commit(2, group.clone(), Some(Epoch(-1))).await;
    assert_eq!(refused, Err(StoreError::AccessChanged));
    let client = outside(&url).await;
    assert_eq!(number(&client, "select count(*) from turno.body").await, 1);
    let epoch = Epoch(number(&client, "select epoch from turno.mark").await);
    assert!(store.commit(2, group, Some(epoch)).await.is_ok());
    assert_eq!(number(&client, "select count(*) from turno.body").await, 2);
}

#[tokio::test]
async fn one_bad_item_in_an_enqueue_in_one_trip_rejects_the_whole_group() {
    let (store, url) = fresh_store().await;
    let queue = queue(&store, unwindowed(Kind::Inbox)).await;
    enqueue(&store, &queue, vec![engine_item("first", None, "{}")]).await;
    let refused =
        commit(&store, 2, enqueue_group(&queue, vec![engine_item("good", None, "{}"), engine_item("bad", None, "\0")]))
            .await;
    assert!(matches!(refused, Err(StoreError::Rejected(_))), "{refused:?}");
    assert_eq!(number(&outside(&url).await, "select count(*) from turno.hot").await, 1);
    assert_eq!(enqueue(&store, &queue, vec![engine_item("good", None, "{}")]).await, [Accepted::Queued]);
}
