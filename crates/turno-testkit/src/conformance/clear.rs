//! Clearing lanes.

use super::world::{World, ack, draft, give_up, put, settle, take, take_one};
use turno::access::{NewPerson, NewToken, Role};
use turno::core::id::Fence;
use turno::core::queue::{Act, Kind, OnExhausted, Policy, SettleOutcome};
use turno::core::time::Span;
use turno::queue::{Claim, LaneLocks};
use turno::store::{AuditQuery, Counts};
use turno::{Error, Turno};

super::cases![
    clearing_cancels_waiting_items_and_makes_live_fences_stale,
    clearing_keeps_other_kinds_and_exhausted_items,
    a_lane_longer_than_one_transaction_is_cleared_completely,
    clearing_during_claims_neither_loses_nor_repeats_an_item,
    clearing_without_the_manage_permission_is_denied,
];

fn eager() -> Policy {
    Policy { window: Span::ZERO, batch_max: 3, ..Policy::for_kind(Kind::Lane) }
}

async fn entries(turno: &Turno) -> Vec<(String, String)> {
    let query =
        AuditQuery { after: Some(0), action: Some("lane_clear".to_owned()), limit: 100, ..AuditQuery::default() };
    let found = turno.audit(query).await.unwrap();
    found.into_iter().map(|entry| (entry.resource, entry.detail)).collect()
}

async fn clearing_cancels_waiting_items_and_makes_live_fences_stale(world: World) {
    let queue = world.queue(eager()).await;
    put(&queue, "ana", &["1", "2", "3", "4"]).await;
    put(&queue, "luis", &["5"]).await;
    let got = take(&queue, 1).await;
    assert_eq!(got[0].items.len(), 3);
    assert_eq!(world.turno.lane_clear().await.unwrap(), 5);
    assert_eq!(queue.counts().await.unwrap(), Counts { cancelled: 5, ..Counts::default() });
    assert_eq!(world.turno.lane_locks().await.unwrap(), LaneLocks::default());
    for act in [Act::Beat, Act::Ack { through: None }, Act::Return { error: None }] {
        assert_eq!(settle(&queue, got[0].reference, act).await.outcome, SettleOutcome::Stale);
    }
    assert_eq!(take(&queue, 9).await, []);
    for (item, handed_at) in [("1", Some(got[0].now)), ("3", Some(got[0].now)), ("4", None)] {
        let record = queue.item(item.try_into().unwrap()).await.unwrap().unwrap();
        let done = record.done.expect("the item is cancelled");
        let (fence, holder) = (done.fence, done.holder.as_ref().map(|taker| taker.instance().to_owned()));
        assert_eq!(done.handed_at, handed_at, "{item}: the attempt that the clear ended is recorded");
        assert_eq!(
            (fence, holder.is_some()),
            if handed_at.is_some() { (got[0].reference.fence, true) } else { (Fence(0), false) }
        );
    }
    let mut audited = entries(&world.turno).await;
    audited.sort();
    let entry = |key: &str, count: u64| (format!("mensajes/{key}"), format!("{{\"count\":{count}}}"));
    assert_eq!(audited, [entry("ana", 4), entry("luis", 1)]);
    world.advance(1);
    put(&queue, "ana", &["6"]).await;
    assert_eq!(ack(&queue, &take_one(&queue).await).await, SettleOutcome::Acked, "the lane accepts new items");
    assert_eq!(world.turno.lane_clear().await.unwrap(), 0);
    assert_eq!(entries(&world.turno).await.len(), 2, "clearing nothing adds no entry");
}

async fn clearing_keeps_other_kinds_and_exhausted_items(world: World) {
    let held = world.queue(Policy { on_exhausted: OnExhausted::Hold, ..eager() }).await;
    let inbox = world.turno.put_queue("buzón", Policy::for_kind(Kind::Inbox)).await.unwrap();
    put(&inbox, "ana", &["i"]).await;
    put(&held, "ana", &["1"]).await;
    let got = take_one(&held).await;
    give_up(&held, &got).await;
    put(&held, "ana", &["2"]).await;
    assert_eq!(world.turno.lane_clear().await.unwrap(), 1);
    assert_eq!(held.counts().await.unwrap(), Counts { exhausted: 1, cancelled: 1, ..Counts::default() });
    assert_eq!(inbox.counts().await.unwrap().pending, 1);
    held.retry(got.items[0].id.clone()).await.unwrap().unwrap();
    assert_eq!(take_one(&held).await.items[0].id.as_str(), "1");
}

async fn a_lane_longer_than_one_transaction_is_cleared_completely(world: World) {
    let queue = world.queue(eager()).await;
    for part in 0..3 {
        let drafts = (0..900).map(|n| draft("ana", &format!("{part}-{n}")));
        queue.enqueue(drafts.collect()).await.unwrap();
    }
    take(&queue, 1).await;
    assert_eq!(world.turno.lane_clear().await.unwrap(), 2_700);
    assert_eq!(queue.counts().await.unwrap(), Counts { cancelled: 2_700, ..Counts::default() });
    assert_eq!(entries(&world.turno).await.len(), 3, "one entry per transaction");
}

async fn clearing_during_claims_neither_loses_nor_repeats_an_item(world: World) {
    let queue = world.queue(eager()).await;
    for n in 0..40 {
        put(&queue, &format!("k{}", n % 8), &[&n.to_string()]).await;
    }
    let mut workers = tokio::task::JoinSet::new();
    for n in 0..3 {
        let queue = queue.clone();
        workers.spawn(async move {
            let mut acked = 0;
            for _ in 0..10 {
                for got in queue.claim(Claim::by(format!("w{n}")).max(2)).await.unwrap() {
                    if ack(&queue, &got).await == SettleOutcome::Acked {
                        acked += got.items.len() as i64;
                    }
                }
            }
            acked
        });
    }
    let cleared = world.turno.lane_clear().await.unwrap() as i64;
    let acked: i64 = workers.join_all().await.into_iter().sum();
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.processed, counts.cancelled), (acked, cleared));
    assert_eq!(acked + cleared + counts.pending + counts.in_process, 40);
    assert_eq!(take(&queue, 100).await, [], "every item is processed or cancelled");
}

async fn clearing_without_the_manage_permission_is_denied(world: World) {
    let queue = world.queue(eager()).await;
    put(&queue, "ana", &["1"]).await;
    world.turno.add_person(NewPerson::new("eva", "Eva", Role::Editor).unwrap()).await.unwrap();
    let (_, secret) = world.turno.create_token(NewToken::for_user("eva").unwrap()).await.unwrap();
    let eva = world.turno.authenticate(&secret).await.unwrap();
    assert!(matches!(eva.lane_clear().await, Err(Error::Denied(_))));
    assert!(matches!(eva.queue("mensajes").await.unwrap().retry_exhausted(None, 9).await, Err(Error::Denied(_))));
    assert_eq!(eva.lane_locks().await.unwrap().active_queues, 1, "any authenticated user may read the lane locks");
}
