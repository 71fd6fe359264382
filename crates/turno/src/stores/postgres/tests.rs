//! Tests particular to this store: its connections, locks and query plans. The conformance cases test what every store
//! must do.

mod access;
mod arrive;
mod audit;
mod connections;
mod effect;
mod event;
mod failover;
mod hint;
mod lease;
mod line;
mod loss;
mod pin;
mod plan;
mod proxy;
mod queue;
mod rights;
mod schema;

use super::PostgresStore;
use crate::clock::Clock;
use crate::store::traits::*;
use crate::store::{
    AuditQuery, Claim, ClaimGroup, ClaimOutcome, EnqueueGroup, Group, LeaseGroup, Outcomes, PutQueue, QueueRow,
    SettleGroup, StoreError,
};
use std::sync::Arc;
use tokio_postgres::{Client, NoTls};
use turno_core::audit::{Actor, Verifier};
use turno_core::id::{Fence, ItemId, Key, QueueName, Resource, UserId};
use turno_core::lease::{Action, Command, Holder, Policy as LeasePolicy, State};
use turno_core::limits::ANSWER_BYTES;
use turno_core::queue::{
    Accepted, Act, ClaimRequest, Delivery, DeliveryRef, Enqueue, Kind, NewItem, Policy, Settle, SettleOutcome, Settler,
};
use turno_core::time::{Span, Time};
use turno_testkit::postgres::Cluster;

async fn store_at(url: &str) -> PostgresStore {
    PostgresStore::open(url, None, Arc::new(Clock::system()), true).await.unwrap()
}

async fn fresh_store() -> (PostgresStore, String) {
    let url = Cluster::for_tests().fresh_database().await;
    (store_at(&url).await, url)
}

/// Opens a connection outside of the store.
async fn outside(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn number(client: &Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.unwrap().get(0)
}

async fn commit(store: &PostgresStore, route: usize, group: Group) -> Result<Outcomes, StoreError> {
    Ok(store.commit(route, Arc::from([group]), None).await?.remove(0))
}

fn holder(user: &str) -> Holder {
    Holder { user: UserId::new(user).unwrap(), name: format!("{user}'s name"), instance: None }
}

fn resource(name: &str) -> Resource {
    Resource::new(name).unwrap()
}

fn lease(name: &str, user: &str, action: Action) -> Group {
    let command =
        Command { resource: resource(name), who: holder(user), via: None, policy: LeasePolicy::default(), action };
    Group::Lease(LeaseGroup { commands: vec![command] })
}

const CLAIM: Action = Action::Claim { ttl: None, wait: false };

fn force(reason: &str) -> Action {
    Action::ForceClaim { reason: reason.into(), fence: None }
}

/// Polls until a query returns a positive number, because another session's state gives no signal.
async fn wait_until(client: &Client, positive: &str) {
    let seen = async { while number(client, positive).await == 0 {} };
    tokio::time::timeout(SOON, seen).await.expect("the state is reached within 20 s");
}

/// Longer than any call takes that does not wait for a lock.
const SOON: std::time::Duration = std::time::Duration::from_secs(20);
/// Shorter than the lock timeout: a call that returns within it has waited for no lock.
const AT_ONCE: std::time::Duration = std::time::Duration::from_secs(4);

/// Verifies the whole audit chain up to its head. Returns the number of entries.
async fn verify_audit(store: &PostgresStore) -> i64 {
    let query = AuditQuery { after: Some(0), limit: 10_000, ..AuditQuery::default() };
    let entries = store.audit(query).await.unwrap();
    let mut verifier = Verifier::default();
    entries.iter().try_for_each(|entry| verifier.follow(entry)).unwrap();
    let head = store.audit_head().await.unwrap();
    verifier.end(head).unwrap();
    head.n
}

/// Returns the time of the decision, whether it was granted, and the state after it.
async fn decide(store: &PostgresStore, group: Group) -> Result<(Time, bool, State), StoreError> {
    let Outcomes::Lease { now, mut answers } = commit(store, 0, group).await? else { panic!("a lease's outcome") };
    let (decision, state) = answers.remove(0);
    Ok((now, decision.answer.is_ok(), state))
}

async fn queue(store: &PostgresStore, policy: Policy) -> QueueRow {
    store.put_queue(PutQueue::new(QueueName::new("q").unwrap(), policy), Actor::system()).await.unwrap().unwrap()
}

fn new_item(id: &str, key: Option<&str>, payload: &str) -> NewItem {
    NewItem {
        id: ItemId::new(id).unwrap(),
        id_given: true,
        key: key.map(|key| Key::new(key).unwrap()),
        action: Some(format!("do {id}")),
        payload: payload.into(),
        delay: Span::ZERO,
        since: None,
    }
}

fn enqueue_group(queue: &QueueRow, items: Vec<NewItem>) -> Group {
    Group::Enqueue(EnqueueGroup {
        calls: vec![Enqueue { queue: queue.id, policy: queue.policy.clone(), items, group_bytes: ANSWER_BYTES }],
    })
}

async fn enqueue(store: &PostgresStore, queue: &QueueRow, items: Vec<NewItem>) -> Vec<Accepted> {
    let outcome = commit(store, 2, enqueue_group(queue, items)).await.unwrap();
    let Outcomes::Enqueue(mut answers) = outcome else { panic!("an enqueue's outcome") };
    answers.remove(0)
}

fn claim_group(queue: &QueueRow, max: u32) -> Group {
    let claim = Claim::Next(vec![ClaimRequest {
        taker: "worker-1".into(),
        max,
        request: None,
        probes: false,
        bytes: ANSWER_BYTES,
    }]);
    Group::Claim(ClaimGroup { queue: queue.id, policy: queue.policy.clone(), version: queue.version, claim })
}

/// Returns the deliveries, each with the ids of its items.
async fn claim(store: &PostgresStore, queue: &QueueRow, max: u32) -> Vec<(Delivery, Vec<String>)> {
    let outcome = commit(store, 3, claim_group(queue, max)).await.unwrap();
    let Outcomes::Claim(ClaimOutcome::Claimed { deliveries, bodies, .. }) = outcome else { panic!("{outcome:?}") };
    let named = |delivery: Delivery| {
        let ids = delivery.items.iter().map(|(seq, _)| bodies[seq].id.to_string()).collect();
        (delivery, ids)
    };
    deliveries.into_iter().flatten().map(named).collect()
}

fn reference(queue: &QueueRow, delivery: &Delivery) -> DeliveryRef {
    let size = u32::try_from(delivery.items.len()).unwrap();
    DeliveryRef { queue: queue.id, seq: delivery.seq, lane: delivery.lane, size, fence: delivery.fence }
}

fn settle_group(queue: &QueueRow, reference: &[DeliveryRef], act: &Act) -> Group {
    let settle = |reference: &DeliveryRef| Settle {
        reference: *reference,
        policy: queue.policy.clone(),
        act: act.clone(),
        by: Settler::Server,
    };
    Group::Settle(SettleGroup { settlements: reference.iter().map(settle).collect() })
}

async fn settle(store: &PostgresStore, queue: &QueueRow, reference: &[DeliveryRef], act: Act) -> Vec<SettleOutcome> {
    let outcome = commit(store, 4, settle_group(queue, reference, &act)).await.unwrap();
    let Outcomes::Settle { answers, .. } = outcome else { panic!("{outcome:?}") };
    answers
}

const ACK: Act = Act::Ack { through: None };

fn fail(error: &str) -> Act {
    Act::Fail { error: error.into(), item: None, retry_in: Some(Span::ZERO), give_up: false }
}

fn unwindowed(kind: Kind) -> Policy {
    Policy { window: Span::ZERO, batch_max: 1, ..Policy::for_kind(kind) }
}
