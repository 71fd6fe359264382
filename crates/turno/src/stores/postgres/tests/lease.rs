//! Leases: missing rows, the clock, and failures.

use super::*;
use crate::store::Past;

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
async fn every_column_of_a_lease_is_read_back() {
    let (store, _) = fresh_store().await;
    let worker = Holder { instance: Some(turno_core::id::Instance::new("i-7").unwrap()), ..holder("worker") };
    let claim = |who: Holder, action| Command {
        resource: resource("a"),
        who,
        via: None,
        policy: LeasePolicy::default(),
        action,
    };
    let group = |command| Group::Lease(LeaseGroup { commands: vec![command] });
    decide(&store, group(claim(worker.clone(), Action::Claim { ttl: Some(Span(12_345)), wait: false }))).await.unwrap();
    let wait = Action::Claim { ttl: None, wait: true };
    decide(&store, group(claim(holder("luis"), wait))).await.unwrap();
    let ask = Action::RequestRelease { message: Some("\"please\"".into()) };
    decide(&store, group(claim(holder("eva"), ask))).await.unwrap();
    let force = Action::ForceClaim { reason: "needed ñ".into(), fence: None };
    let (_, _, forced) = decide(&store, group(claim(holder("admin"), force))).await.unwrap();
    let read = store.peek(vec![resource("never"), resource("a")]).await.unwrap().states;
    assert_eq!(read, [State::unseen(resource("never")), forced.clone()]);
    let (ended, grant) = (forced.ended.unwrap(), forced.grant.unwrap());
    assert_eq!((ended.grant.holder.clone(), ended.grant.ttl), (worker, Span(12_345)));
    assert_eq!(forced.line.len(), 1);
    assert_eq!(store.ending(resource("a"), ended.grant.fence).await.unwrap(), Some(ended.clone()));
    assert_eq!(store.ending(resource("a"), grant.fence).await.unwrap(), None);
    decide(&store, lease("a", "admin", Action::Release { fence: grant.fence, claim: None })).await.unwrap();
    let history = store.history(resource("a"), Past::Newest { before: None }, 10).await.unwrap();
    assert_eq!(history.iter().map(|ending| ending.grant.fence).collect::<Vec<_>>(), [grant.fence, ended.grant.fence]);
    assert_eq!(store.history(resource("a"), Past::Newest { before: None }, 1).await.unwrap().len(), 1);
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
