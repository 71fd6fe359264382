//! Leases that an application's open transaction asserts: takers are refused at once, and other commands are not
//! affected.

use super::super::sql;
use super::*;
use crate::store::Past;
use tokio::time::timeout;
use turno_core::lease::{Beat, Decision, Outcome, Refused};

const ASSERT: &str = "begin; select from turno.lease where resource = 'a' for key share";

fn command(name: &str, user: &str, action: Action) -> Command {
    Command { resource: resource(name), who: holder(user), via: None, policy: LeasePolicy::default(), action }
}

/// Commits one group of several commands, which must not wait for a lock.
async fn at_once(store: &PostgresStore, commands: Vec<Command>) -> Vec<Result<Outcome, Refused>> {
    let group = commit(store, 0, Group::Lease(LeaseGroup { commands }));
    let outcome = timeout(AT_ONCE, group).await.expect("the group waits for no lock").unwrap();
    let Outcomes::Lease { answers, .. } = outcome else { panic!("{outcome:?}") };
    answers.into_iter().map(|(Decision { answer, .. }, _)| answer).collect()
}

const GRANTED: Result<Outcome, Refused> = Ok(Outcome::Claimed { renewed: false });

#[tokio::test]
async fn a_pinned_lease_is_renewed_but_not_taken_and_other_leases_of_the_group_are_granted() {
    let (store, url) = fresh_store().await;
    let (_, _, state) = decide(&store, lease("a", "ana", CLAIM)).await.unwrap();
    let fence = state.grant.unwrap().fence;
    let client = outside(&url).await;
    client.batch_execute(ASSERT).await.unwrap();
    let beat = Action::Heartbeat { fence, idle: None, worked: true };
    let answers = at_once(
        &store,
        vec![
            command("a", "luis", force("now")),
            command("b", "luis", CLAIM),
            command("a", "ana", beat.clone()),
            command("a", "ana", Action::Release { fence, claim: None }),
            command("0", "luis", CLAIM),
        ],
    )
    .await;
    let renewed = Ok(Outcome::Beat(Beat::Renewed));
    assert_eq!(answers, [Err(Refused::Pinned), GRANTED, renewed.clone(), Err(Refused::Pinned), GRANTED]);
    assert_eq!(at_once(&store, vec![command("a", "ana", beat)]).await, [renewed]);
    client.batch_execute("rollback").await.unwrap();
    assert_eq!(at_once(&store, vec![command("a", "luis", force("now"))]).await, [GRANTED]);
    assert_eq!(verify_audit(&store).await, 1, "refused commands leave no entry");
}

#[tokio::test]
async fn an_expired_pinned_lease_is_granted_after_the_transaction_ends() {
    let manual = crate::clock::Manual::starting_at(Time(1_000_000));
    let url = Cluster::for_tests().fresh_database().await;
    let store = PostgresStore::open(&url, None, Arc::new(Clock::manual(manual.clone())), true).await.unwrap();
    decide(&store, lease("a", "ana", CLAIM)).await.unwrap();
    let client = outside(&url).await;
    client.batch_execute(ASSERT).await.unwrap();
    manual.advance(Span::from_secs(31));
    let claims = || vec![command("a", "luis", CLAIM), command("b", "luis", CLAIM)];
    assert_eq!(at_once(&store, claims()).await, [Err(Refused::Pinned), GRANTED]);
    client.batch_execute("commit").await.unwrap();
    assert_eq!(at_once(&store, claims()).await, [GRANTED, Ok(Outcome::Claimed { renewed: true })]);
    let history = store.history(resource("a"), Past::Newest { before: None }, 9).await.unwrap();
    assert_eq!(history.len(), 1, "ana's ownership ended once");
}

/// The negative control: without `skip locked` the whole group would wait.
#[tokio::test]
async fn control_without_skip_locked_the_lock_waits_for_the_open_transaction() {
    let (store, url) = fresh_store().await;
    decide(&store, lease("a", "ana", CLAIM)).await.unwrap();
    let client = outside(&url).await;
    client.batch_execute(ASSERT).await.unwrap();
    let engine = outside(&url).await;
    let names = vec!["a"];
    engine.batch_execute("begin; set local lock_timeout = '100ms'").await.unwrap();
    assert_eq!(engine.query(&sql::LEASE_LOCK.text, &[&names]).await.unwrap().len(), 0);
    let waiting = sql::LEASE_LOCK.text.replace(" skip locked", "");
    assert_ne!(waiting, sql::LEASE_LOCK.text);
    let refused = engine.query(&waiting, &[&names]).await.unwrap_err();
    assert_eq!(refused.code(), Some(&tokio_postgres::error::SqlState::LOCK_NOT_AVAILABLE));
}

/// The counterpart: a lock held by another engine is waited for.
#[tokio::test]
async fn a_row_locked_by_another_engine_is_waited_for_and_not_reported_as_pinned() {
    let (store, url) = fresh_store().await;
    decide(&store, lease("a", "ana", CLAIM)).await.unwrap();
    let engine = outside(&url).await;
    engine.batch_execute("begin; select from turno.lease where resource = 'a' for update").await.unwrap();
    let store = Arc::new(store);
    let waiting = tokio::spawn({
        let store = store.clone();
        async move { decide(&store, lease("a", "luis", force("now"))).await }
    });
    wait_until(
        &outside(&url).await,
        "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
    )
    .await;
    engine.batch_execute("commit").await.unwrap();
    let (_, granted, state) = waiting.await.unwrap().unwrap();
    assert!(granted && !state.pinned);
}
