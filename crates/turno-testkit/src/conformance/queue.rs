//! Rules about a queue's row that a store applies outside of the core's decisions on items.

use super::world::{World, ack, ids, put, queue_name, take_one};
use std::sync::Arc;
use turno::core::audit::Actor;
use turno::core::id::{ItemId, Key, QueueId};
use turno::core::limits::ANSWER_BYTES;
use turno::core::queue::{ClaimRequest, Kind, Policy};
use turno::core::time::{Span, Time};
use turno::queue::QueueHandle;
use turno::store::{
    AuditQuery, Claim, ClaimGroup, ClaimOutcome, Group, Outcomes, PauseQueue, Purge, PutQueue, StoreError,
};

super::cases![
    pausing_or_purging_an_unknown_queue_is_refused,
    a_busy_queue_keeps_its_kind,
    a_changed_policy_or_a_pause_stops_a_claim,
    a_claim_of_one_item_has_no_more,
    a_delivery_deletes_the_typing_signal_of_its_window,
];

const UNKNOWN: QueueId = QueueId(77);

async fn pausing_or_purging_an_unknown_queue_is_refused(world: World) {
    let store = world.turno.store().unwrap();
    let pause = PauseQueue { queue: UNKNOWN, paused: true, by: Actor::system() };
    assert_eq!(store.pause_queue(pause).await, Err(StoreError::QueueGone));
    let purge = Purge::Items(UNKNOWN, Actor::system());
    assert_eq!(store.purge(purge, Time(i64::MAX), 10).await, Err(StoreError::QueueGone));
    let audit = world.turno.audit(AuditQuery { limit: 10, ..AuditQuery::default() }).await.unwrap();
    assert_eq!(audit, [], "a refusal is not audited");
}

async fn a_busy_queue_keeps_its_kind(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    put(&queue, "ana", &["1"]).await;
    let store = world.turno.store().unwrap();
    let change = PutQueue::new(queue_name(), Policy::for_kind(Kind::Lane));
    let refused = store.put_queue(change.clone(), Actor::system()).await;
    assert!(matches!(refused, Err(StoreError::KindStays { .. })), "{refused:?}");
    ack(&queue, &take_one(&queue).await).await;
    let changed = store.put_queue(change, Actor::system()).await.unwrap().unwrap();
    assert_eq!((changed.policy.kind, changed.version), (Kind::Lane, 2));
}

/// Commits one claim without the engine.
async fn commit(world: &World, claim: ClaimGroup) -> ClaimOutcome {
    let store = world.turno.store().unwrap();
    let groups = Arc::from([Group::Claim(claim)]);
    match store.commit(store.routes().items[0], groups, None).await.unwrap().remove(0) {
        Outcomes::Claim(outcome) => outcome,
        other => panic!("{other:?}"),
    }
}

async fn claim_group(queue: &QueueHandle, claim: Claim) -> ClaimGroup {
    let row = queue.row().await.unwrap();
    ClaimGroup { queue: row.id, policy: row.policy.clone(), version: row.version, claim }
}

fn want(max: u32) -> ClaimRequest {
    ClaimRequest { taker: "worker-3".into(), max, request: None, probes: false, bytes: ANSWER_BYTES }
}

async fn a_changed_policy_or_a_pause_stops_a_claim(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    put(&queue, "ana", &["1"]).await;
    let next = claim_group(&queue, Claim::Next(vec![want(1)])).await;
    let stale = ClaimGroup { version: next.version + 1, ..next.clone() };
    queue.pause().await.unwrap();
    assert_eq!(commit(&world, stale).await, ClaimOutcome::PolicyChanged, "a stale copy matters more than the pause");
    assert_eq!(commit(&world, next.clone()).await, ClaimOutcome::Paused);
    assert_eq!(commit(&world, ClaimGroup { queue: UNKNOWN, ..next }).await, ClaimOutcome::PolicyChanged);
}

async fn a_claim_of_one_item_has_no_more(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    put(&queue, "ana", &["1", "2", "3"]).await;
    let more = |outcome| match outcome {
        ClaimOutcome::Claimed { deliveries, more, .. } => (deliveries[0].len(), more),
        other => panic!("{other:?}"),
    };
    let item = Claim::Item { want: want(1), id: ItemId::new("2").unwrap() };
    assert_eq!(more(commit(&world, claim_group(&queue, item).await).await), (1, false));
    let next = claim_group(&queue, Claim::Next(vec![want(1)])).await;
    assert_eq!(more(commit(&world, next.clone()).await), (1, true));
    let all = ClaimGroup { claim: Claim::Next(vec![want(2)]), ..next.clone() };
    assert_eq!(more(commit(&world, all).await), (1, false), "fewer heads were due than wanted");
    assert_eq!(more(commit(&world, next).await), (0, false));
}

async fn a_delivery_deletes_the_typing_signal_of_its_window(world: World) {
    let extended = Policy {
        window: Span(1_000),
        typing_extension: Span(60_000),
        max_wait: Span(90_000),
        ..Policy::for_kind(Kind::Lane)
    };
    let queue = world.queue(extended.clone()).await;
    put(&queue, "ana", &["1"]).await;
    queue.typing(Key::new("ana").unwrap()).await.unwrap();
    let queue = world.queue(Policy { typing_extension: Span::ZERO, ..extended.clone() }).await;
    world.advance(1_000);
    let first = take_one(&queue).await;
    assert_eq!(ids(&first), ["1"], "the policy no longer extends the window");
    ack(&queue, &first).await;
    let queue = world.queue(extended).await;
    put(&queue, "ana", &["2"]).await;
    world.advance(1_000);
    assert_eq!(ids(&take_one(&queue).await), ["2"], "the signal belonged to the first message");
}
