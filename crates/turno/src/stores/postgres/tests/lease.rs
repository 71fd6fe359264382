//! Leases: missing rows, the clock, and failures.

use super::*;

#[tokio::test]
async fn concurrent_claims_of_a_resource_never_seen_grant_it_once() {
    let (one, url) = fresh_store().await;
    let two = store_at(&url).await;
    for round in 0..20 {
        let name = format!("task:{round}");
        let ana = decide(&one, lease(&name, "ana", CLAIM));
        let luis = decide(&two, lease(&name, "luis", CLAIM));
        let (ana, luis) = tokio::join!(ana, luis);
        let ((_, ana, _), (_, luis, state)) = (ana.unwrap(), luis.unwrap());
        assert!(ana != luis, "ana: {ana}, luis: {luis}, {state:?}");
    }
}

#[tokio::test]
async fn the_clock_is_read_after_the_wait_for_the_lock() {
    let (store, url) = fresh_store().await;
    decide(&store, lease("a", "ana", CLAIM)).await.unwrap();
    let client = outside(&url).await;
    client.batch_execute("begin; select from turno.lease where resource = 'a' for update").await.unwrap();
    let store = Arc::new(store);
    let waiting = tokio::spawn({
        let store = store.clone();
        async move { decide(&store, lease("a", "luis", CLAIM)).await }
    });
    let other = outside(&url).await;
    wait_until(
        &other,
        "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
    )
    .await;
    let released = number(&other, "select (extract(epoch from statement_timestamp()) * 1000)::bigint").await;
    client.batch_execute("rollback").await.unwrap();
    let (now, granted, _) = waiting.await.unwrap().unwrap();
    assert!(!granted);
    assert!(now.0 >= released, "decided at {now:?}, released at {released}");
}

#[tokio::test]
async fn a_refused_heartbeat_writes_no_lease_row() {
    let (store, url) = fresh_store().await;
    let beat = Action::Heartbeat { fence: Fence(1), idle: None, worked: false };
    assert!(!decide(&store, lease("a", "ana", beat)).await.unwrap().1);
    assert_eq!(number(&outside(&url).await, "select count(*) from turno.lease").await, 0);
}

#[tokio::test]
async fn a_dropped_commit_leaves_no_transaction_open() {
    let (store, url) = fresh_store().await;
    decide(&store, lease("a", "ana", CLAIM)).await.unwrap();
    let client = outside(&url).await;
    client.batch_execute("begin; select from turno.lease where resource = 'a' for update").await.unwrap();
    let dropped = decide(&store, lease("a", "luis", CLAIM));
    assert!(tokio::time::timeout(std::time::Duration::from_millis(100), dropped).await.is_err());
    client.batch_execute("rollback").await.unwrap();
    let (_, _, state) = decide(&store, lease("b", "luis", CLAIM)).await.unwrap();
    assert!(state.grant.is_some());
    let sessions = "select count(*) from pg_stat_activity where datname = current_database() and state like 'idle in%'";
    let none = async { while number(&client, sessions).await > 0 {} };
    tokio::time::timeout(std::time::Duration::from_secs(20), none).await.expect("no transaction stays open");
}
