//! Helpers that commit one queue group at a time.

use super::commit_one;
use crate::store::traits::*;
use crate::store::{Claim, ClaimGroup, ClaimOutcome, EnqueueGroup, Group, Outcomes, PutQueue, QueueRow, SettleGroup};
use crate::stores::sqlite::SqliteStore;
use turno_core::audit::Actor;
use turno_core::id::{ItemId, Key, QueueName};
use turno_core::limits::ANSWER_BYTES;
use turno_core::queue::{
    Accepted, Act, ClaimRequest, Delivery, DeliveryRef, Enqueue, NewItem, Policy, Settle, SettleOutcome, Settler,
};
use turno_core::time::Span;

pub(super) async fn queue(store: &SqliteStore, name: &str, policy: Policy) -> QueueRow {
    store.put_queue(PutQueue::new(QueueName::new(name).unwrap(), policy), Actor::system()).await.unwrap().unwrap()
}

pub(super) fn id(text: &str) -> ItemId {
    ItemId::new(text).unwrap()
}

pub(super) fn item(name: &str, key: Option<&str>) -> NewItem {
    NewItem {
        id: id(name),
        id_given: true,
        key: key.map(|key| Key::new(key).unwrap()),
        action: Some(format!("do {name}")),
        payload: format!("{{\"of\":\"{name}\\u0000\"}}").into(),
        delay: Span::ZERO,
        since: None,
    }
}

pub(super) async fn enqueue(store: &SqliteStore, queue: &QueueRow, items: Vec<NewItem>) -> Vec<Accepted> {
    let call = Enqueue { queue: queue.id, policy: queue.policy.clone(), items, group_bytes: ANSWER_BYTES };
    match commit_one(store, Group::Enqueue(EnqueueGroup { calls: vec![call] })).await {
        Outcomes::Enqueue(mut answers) => answers.remove(0),
        other => panic!("{other:?}"),
    }
}

pub(super) fn want(max: u32) -> ClaimRequest {
    ClaimRequest { taker: "worker-7".into(), max, request: None, probes: false, bytes: ANSWER_BYTES }
}

pub(super) async fn claim(store: &SqliteStore, queue: &QueueRow, claim: Claim) -> ClaimOutcome {
    let group = ClaimGroup { queue: queue.id, policy: queue.policy.clone(), version: queue.version, claim };
    match commit_one(store, Group::Claim(group)).await {
        Outcomes::Claim(outcome) => outcome,
        other => panic!("{other:?}"),
    }
}

pub(super) async fn next(store: &SqliteStore, queue: &QueueRow, max: u32) -> Vec<Delivery> {
    match claim(store, queue, Claim::Next(vec![want(max)])).await {
        ClaimOutcome::Claimed { mut deliveries, .. } => deliveries.remove(0),
        other => panic!("{other:?}"),
    }
}

pub(super) fn reference(queue: &QueueRow, delivery: &Delivery) -> DeliveryRef {
    DeliveryRef {
        queue: queue.id,
        seq: delivery.seq,
        lane: delivery.lane,
        size: u32::try_from(delivery.items.len()).unwrap(),
        fence: delivery.fence,
    }
}

pub(super) async fn settle(store: &SqliteStore, queue: &QueueRow, reference: DeliveryRef, act: Act) -> SettleOutcome {
    let settle = Settle { reference, policy: queue.policy.clone(), act, by: Settler::Server };
    match commit_one(store, Group::Settle(SettleGroup { settlements: vec![settle] })).await {
        Outcomes::Settle { mut answers, .. } => answers.remove(0),
        other => panic!("{other:?}"),
    }
}

pub(super) fn fail(error: &str) -> Act {
    Act::Fail { error: error.into(), item: None, retry_in: None, give_up: false }
}
