//! Delivery names come back from clients: an altered name is stale and changes nothing.

use super::world::{World, put, settle, take, take_one};
use turno::core::id::{ItemId, Lane, QueueId, Seq};
use turno::core::queue::{Act, DeliveryRef, Kind, Policy, SettleOutcome};
use turno::core::time::Span;
use turno::queue::{Delivery, ItemQuery, QueueHandle};

super::cases![
    an_altered_group_delivery_is_stale_and_nothing_changes,
    an_altered_single_delivery_is_stale_and_nothing_changes,
    the_rest_of_a_split_group_is_a_delivery_of_its_own_size,
    an_expired_group_is_taken_back_completely,
    worker_error_with_the_text_of_an_expiry_is_a_failure_in_every_store,
];

fn acts(got: &Delivery) -> Vec<Act> {
    let last = || got.items.last().map(|item| item.id.clone());
    let fail = |item| Act::Fail { error: "no".to_owned(), item, retry_in: None, give_up: true };
    vec![
        Act::Beat,
        Act::Ack { through: None },
        Act::Ack { through: last() },
        fail(None),
        fail(last()),
        Act::Return { error: None },
        Act::Expire,
        Act::Complete,
    ]
}

/// Asserts that no action under an altered name changes anything, and that the unaltered name still works.
async fn assert_only_the_unaltered_name_works(
    world: &World,
    queue: &QueueHandle,
    got: &Delivery,
    altered: &[DeliveryRef],
) {
    let before = queue.items(ItemQuery::default()).await.unwrap();
    for reference in altered {
        assert_ne!(*reference, got.reference);
        for act in acts(got) {
            let answer = settle(queue, *reference, act.clone()).await;
            assert_eq!((answer.outcome, answer.repeated), (SettleOutcome::Stale, false), "{act:?} of {reference:?}");
        }
    }
    assert_eq!(queue.items(ItemQuery::default()).await.unwrap(), before);
    world.advance(1_000);
    let renewed = settle(queue, got.reference, Act::Beat).await.outcome;
    assert!(matches!(renewed, SettleOutcome::Renewed { .. }), "{renewed:?}");
    assert_eq!(settle(queue, got.reference, Act::Ack { through: None }).await.outcome, SettleOutcome::Acked);
    assert_eq!(queue.counts().await.unwrap().processed, got.items.len() as i64);
}

async fn an_altered_group_delivery_is_stale_and_nothing_changes(world: World) {
    let queue = world.queue(Policy { window: Span::ZERO, max_hold: None, ..Policy::for_kind(Kind::Lane) }).await;
    put(&queue, "ana", &["1", "2", "3"]).await;
    put(&queue, "luis", &["a", "b", "c"]).await;
    let got = take(&queue, 2).await;
    put(&queue, "ana", &["4", "5"]).await;
    let (genuine, other) = (got[0].reference, got[1].reference);
    assert_eq!((genuine.size, other.size), (3, 3));
    let second = queue.item(ItemId::new("2").unwrap()).await.unwrap().unwrap().body.seq;
    let altered = [
        DeliveryRef { size: 1, ..genuine },
        DeliveryRef { size: 2, ..genuine },
        DeliveryRef { size: 4, ..genuine },
        DeliveryRef { size: 0, ..genuine },
        DeliveryRef { size: u32::MAX, ..genuine },
        DeliveryRef { seq: second, ..genuine },
        DeliveryRef { seq: second, size: 2, ..genuine },
        DeliveryRef { seq: second, size: 1, ..genuine },
        DeliveryRef { seq: Seq(genuine.seq.0 - 1), size: 4, ..genuine },
        DeliveryRef { seq: other.seq, ..genuine },
        DeliveryRef { seq: other.seq, lane: other.lane, ..genuine },
        DeliveryRef { lane: other.lane, ..genuine },
        DeliveryRef { lane: None, ..genuine },
        DeliveryRef { lane: None, size: 1, ..genuine },
        DeliveryRef { lane: Some(Lane(0)), ..genuine },
        DeliveryRef { fence: other.fence, ..genuine },
        DeliveryRef { queue: QueueId(genuine.queue.0 + 1), ..genuine },
    ];
    assert_only_the_unaltered_name_works(&world, &queue, &got[0], &altered).await;
}

async fn an_altered_single_delivery_is_stale_and_nothing_changes(world: World) {
    for kind in [Kind::Lane, Kind::Inbox, Kind::Sync] {
        let name = format!("{kind:?}");
        let policy = Policy { window: Span::ZERO, max_hold: None, ..Policy::for_kind(kind) };
        let queue = world.turno.put_queue(&*name, policy).await.unwrap();
        put(&queue, "ana", &["1"]).await;
        put(&queue, "luis", &["2"]).await;
        let got = take(&queue, 2).await;
        let (genuine, other) = (got[0].reference, got[1].reference);
        let strange = if genuine.lane.is_some() { None } else { Some(Lane(77)) };
        let altered = [
            DeliveryRef { size: 0, ..genuine },
            DeliveryRef { size: 2, ..genuine },
            DeliveryRef { seq: other.seq, ..genuine },
            DeliveryRef { lane: strange, ..genuine },
            DeliveryRef { lane: Some(Lane(0)), ..genuine },
            DeliveryRef { fence: other.fence, ..genuine },
            DeliveryRef { queue: QueueId(genuine.queue.0 + 1), ..genuine },
        ];
        assert_only_the_unaltered_name_works(&world, &queue, &got[0], &altered).await;
    }
}

async fn the_rest_of_a_split_group_is_a_delivery_of_its_own_size(world: World) {
    let queue = world.queue(Policy { window: Span::ZERO, ..Policy::for_kind(Kind::Lane) }).await;
    put(&queue, "ana", &["1", "2", "3"]).await;
    let got = take_one(&queue).await;
    let through = Some(got.items[0].id.clone());
    assert_eq!(settle(&queue, got.reference, Act::Ack { through }).await.outcome, SettleOutcome::Acked);
    let rest = take_one(&queue).await;
    assert_eq!((rest.reference.size, rest.items.len()), (2, 2));
    let old_size = DeliveryRef { size: 3, ..rest.reference };
    assert_eq!(settle(&queue, old_size, Act::Ack { through: None }).await.outcome, SettleOutcome::Stale);
    assert_eq!(settle(&queue, rest.reference, Act::Ack { through: None }).await.outcome, SettleOutcome::Acked);
    assert_eq!(queue.counts().await.unwrap().processed, 3);
}

async fn an_expired_group_is_taken_back_completely(world: World) {
    let queue = world.queue(Policy { window: Span::ZERO, ..Policy::for_kind(Kind::Lane) }).await;
    put(&queue, "ana", &["1", "2", "3"]).await;
    let first = take_one(&queue).await;
    world.advance(15_000);
    let second = take_one(&queue).await;
    assert_eq!((second.reference.size, second.attempt), (3, 2));
    assert_eq!(settle(&queue, first.reference, Act::Ack { through: None }).await.outcome, SettleOutcome::Stale);
    assert_eq!(settle(&queue, second.reference, Act::Ack { through: None }).await.outcome, SettleOutcome::Acked);
}

async fn worker_error_with_the_text_of_an_expiry_is_a_failure_in_every_store(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    put(&queue, "ana", &["1"]).await;
    let errors = async || queue.item(ItemId::new("1").unwrap()).await.unwrap().unwrap().errors;
    let got = take_one(&queue).await;
    let error = "not settled in time".to_owned();
    let fail = Act::Fail { error, item: None, retry_in: Some(Span(500)), give_up: false };
    let first = settle(&queue, got.reference, fail.clone()).await;
    assert!(matches!(first.outcome, SettleOutcome::Retrying { .. }), "{first:?}");
    let again = settle(&queue, got.reference, fail).await;
    assert_eq!((again.outcome, again.repeated), (first.outcome, true));
    assert!(!errors().await[0].is_expiry());
    // The control: a delivery that expired has the same text and is an expiry.
    world.advance(500);
    let lost = take_one(&queue).await;
    world.advance(60_000);
    take_one(&queue).await;
    let kept = errors().await;
    assert_eq!((kept[1].error.as_str(), kept[1].is_expiry()), ("not settled in time", true));
    let late = settle(&queue, lost.reference, Act::Return { error: None }).await;
    assert_eq!((late.outcome, late.repeated), (SettleOutcome::Stale, false));
}
