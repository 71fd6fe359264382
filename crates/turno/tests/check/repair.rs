//! A damaged lane is found, `why` reports it, a repair rebuilds it, and then a worker drains it in order.

use super::{findings, plant, push};
use turno::Turno;
use turno::core::queue::{Act, OnExhausted, SettleOutcome, WhyReason};
use turno::core::time::Span;
use turno::queue::{Claim, Delivery, Draft, Kind, Policy, QueueHandle, Settlement};
use turno::store::AuditQuery;
use turno_testkit::conformance::{Backend, World};

/// A way in which the rows of Ana's lane can contradict each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) name: &'static str,
    /// How many deliveries are in process at the damage: 0, or 1 with the first three items.
    handed: usize,
    sql: &'static str,
    /// The invariant that the check reports, and a part of its text.
    found: (&'static str, &'static str),
    /// The items that a worker gets from Ana's lane after the repair.
    drained: &'static [&'static str],
    /// Whether the delivery in process can still be settled after the repair.
    settleable: bool,
    /// The reason that `why` gives for the key before the repair.
    why: &'static str,
}

const ALL: &[&str] = &["m1", "m2", "m3", "m4", "m5", "m6"];
const WAITING: Shape =
    Shape { name: "", handed: 0, sql: "", found: ("", ""), drained: ALL, settleable: false, why: "damaged" };

pub(super) const SHAPES: &[Shape] = &[
    Shape {
        name: "two_heads",
        sql: "update turno.hot set ready_at = 1 where seq = (select seq from turno.body where id = 'm4')",
        found: ("Q1", "queue bot, key ana: SeveralHeads { count: 2 }"),
        ..WAITING
    },
    Shape {
        name: "a_head_that_is_not_the_first",
        sql: "update turno.hot set ready_at = null where seq = (select seq from turno.body where id = 'm1');
              update turno.hot set ready_at = 1 where seq = (select seq from turno.body where id = 'm2')",
        found: ("Q1", "queue bot, key ana: HeadNotFirst"),
        ..WAITING
    },
    Shape {
        name: "no_head",
        sql: "update turno.hot set ready_at = null where seq = (select seq from turno.body where id = 'm1')",
        found: ("Q14", "queue bot, key ana: Unreachable"),
        ..WAITING
    },
    Shape {
        name: "a_second_delivery_that_took_an_item_of_the_first",
        handed: 1,
        sql: "update turno.hot set fence = fence + 1, size = 1 where seq = (select seq from turno.body where id = 'm3')",
        found: ("Q10", "size: 3, count: 2"),
        ..WAITING
    },
    Shape {
        name: "a_delivery_of_a_wrong_size",
        handed: 1,
        sql: "update turno.hot set size = 5 where expires_at is not null and lane is not null",
        found: ("Q10", "size: 5, count: 3"),
        ..WAITING
    },
    Shape {
        name: "a_head_beside_a_delivery",
        handed: 1,
        sql: "update turno.hot set ready_at = 1 where seq = (select seq from turno.body where id = 'm5')",
        found: ("Q2", "queue bot, key ana: SeveralDeliveries { count: 2 }"),
        drained: &["m4", "m5", "m6"],
        settleable: true,
        why: "running",
    },
    Shape {
        name: "two_whole_deliveries",
        handed: 1,
        sql: "update turno.hot set fence = 2, size = 1, expires_at = 9000000000000, attempt = 1, handed = revision
              where seq = (select seq from turno.body where id = 'm5')",
        found: ("Q2", "queue bot, key ana: SeveralDeliveries { count: 2 }"),
        drained: &["m4", "m5", "m6"],
        settleable: true,
        why: "running",
    },
    Shape {
        name: "an_item_without_a_body",
        sql: "delete from turno.body where id = 'm1'",
        found: ("Q5", "NoContents"),
        drained: &["m2", "m3", "m4", "m5", "m6"],
        ..WAITING
    },
    Shape {
        name: "an_item_of_a_delivery_without_a_body",
        handed: 1,
        sql: "delete from turno.body where id = 'm2'",
        found: ("Q5", "NoContents"),
        drained: &["m1", "m3", "m4", "m5", "m6"],
        ..WAITING
    },
    Shape {
        name: "a_body_without_an_item",
        sql: "delete from turno.hot where seq = (select seq from turno.body where id = 'm1')",
        found: ("Q5", "queue bot, item m1: NoRow"),
        ..WAITING
    },
    Shape {
        name: "an_item_that_is_finished_and_unfinished",
        sql: "insert into turno.done (seq, queue, ended, at, attempt, fence, revision)
              select h.seq, h.queue, 0, 1, 1, 7, h.revision from turno.hot h
              join turno.body b on b.seq = h.seq where b.id = 'm2'",
        found: ("Q4", "queue bot, item m2: FinishedTwice"),
        drained: &["m1", "m3", "m4", "m5", "m6"],
        why: "ready",
        ..WAITING
    },
    Shape {
        name: "an_item_that_is_ready_and_handed_out",
        handed: 1,
        sql: "update turno.hot set ready_at = 1 where seq = (select seq from turno.body where id = 'm1')",
        found: ("Q8", "queue bot, item m1: Contradiction"),
        drained: &["m4", "m5", "m6"],
        settleable: true,
        why: "running",
    },
];

/// Fills lanes of two keys and damages Ana's.
async fn damaged(backend: Backend, shape: Shape) -> (World, QueueHandle, Option<Delivery>) {
    let world = World::on(backend).await;
    let policy = Policy { window: Span::ZERO, batch_max: 3, ..Policy::for_kind(Kind::Lane) };
    let queue = world.turno.put_queue("bot", policy).await.unwrap();
    push(&queue, &ALL.iter().map(|id| (*id, "ana")).collect::<Vec<_>>()).await;
    let got = if shape.handed > 0 { queue.claim(Claim::by("dead")).await.unwrap().pop() } else { None };
    push(&queue, &[("n1", "leo"), ("n2", "leo")]).await;
    assert_eq!(findings(&world.turno).await, [], "intact before");
    plant(&world, shape.sql).await;
    (world, queue, got)
}

/// Claims and acks until nothing is left. Returns the item ids of one key in the order of their deliveries.
async fn drained(queue: &QueueHandle, key: &str) -> Vec<String> {
    let mut ids = Vec::new();
    loop {
        let got = queue.claim(Claim::by("worker").max(10)).await.unwrap();
        if got.is_empty() {
            return ids;
        }
        for delivery in got.iter().filter(|got| got.key.as_ref().is_some_and(|own| own.as_str() == key)) {
            ids.extend(delivery.items.iter().map(|item| item.id.to_string()));
            assert!(
                delivery.items.iter().all(|item| item.attempt == 1),
                "the attempt of an ended delivery does not count: {delivery:?}"
            );
        }
        for delivery in got {
            assert_eq!(ack(queue, &delivery).await, SettleOutcome::Acked);
        }
    }
}

async fn ack(queue: &QueueHandle, got: &Delivery) -> SettleOutcome {
    queue.ack([got.reference]).await.unwrap().remove(0).outcome
}

async fn why(queue: &QueueHandle, key: &str) -> &'static str {
    queue.why_key(key.try_into().unwrap()).await.unwrap().reason.code()
}

pub(super) async fn a_damaged_lane_is_found_and_repaired_and_drains_in_order(backend: Backend, shape: Shape) {
    let (world, queue, got) = damaged(backend, shape).await;
    let found = findings(&world.turno).await;
    let (invariant, says) = shape.found;
    assert!(found.iter().any(|(id, text)| *id == invariant && text.contains(says)), "{says} is not among {found:?}");
    assert_eq!(why(&queue, "ana").await, shape.why);
    let repair = world.turno.repair(|_| ()).await.unwrap();
    assert_eq!(repair.left, [], "the repair leaves nothing");
    assert!(!repair.mended.is_empty());
    let entries = world.turno.audit(AuditQuery { action: Some("queue_repair".to_owned()), ..audit() }).await.unwrap();
    assert_eq!(entries.len(), repair.mended.len(), "one entry per lane that was rebuilt");
    assert_eq!(findings(&world.turno).await, [], "intact after");
    if let Some(got) = got {
        assert_eq!(ack(&queue, &got).await, if shape.settleable { SettleOutcome::Acked } else { SettleOutcome::Stale });
    }
    let cancelled = queue.cancel("n2".try_into().unwrap()).await.unwrap();
    assert!(cancelled.is_ok(), "an undamaged lane is unchanged: {cancelled:?}");
    assert_eq!(drained(&queue, "ana").await, shape.drained);
    assert_eq!(findings(&world.turno).await, []);
}

/// A process that caches the lane's floor and a process that starts later see the same after a repair.
pub(super) async fn a_repair_reaches_running_instances(backend: Backend) {
    let world = World::on(backend).await;
    let other = world.instance().await;
    let policy = Policy { window: Span::ZERO, batch_max: 1, ..Policy::for_kind(Kind::Lane) };
    let queue = world.turno.put_queue("bot", policy).await.unwrap();
    push(&queue, &[("m1", "ana"), ("m2", "ana"), ("m3", "ana")]).await;
    // Both processes have used the lane and cache its floor after `m1`.
    let there = other.queue("bot").await.unwrap();
    let first = there.claim(Claim::by("w")).await.unwrap();
    assert_eq!(ack(&there, &first[0]).await, SettleOutcome::Acked);
    push(&queue, &[("m4", "ana")]).await;
    // Brings `m1` back without their knowledge, as on a server that lacks the ack. `m2` is a second head then.
    plant(&world, "delete from turno.done where seq = (select seq from turno.body where id = 'm1')").await;
    let repair = other.repair(|_| ()).await.unwrap();
    assert_eq!((repair.left.len(), repair.mended[0].repaired.restored.len()), (0, 1));
    push(&queue, &[("m5", "ana")]).await;
    assert_eq!(drained(&queue, "ana").await, ["m1", "m2", "m3", "m4", "m5"]);
    assert_eq!(findings(&world.turno).await, []);
}

pub(super) async fn an_inbox_item_that_is_not_ready_is_repaired(backend: Backend) {
    let world = World::on(backend).await;
    let queue = world.turno.put_queue("in", Policy::for_kind(Kind::Inbox)).await.unwrap();
    push(&queue, &[("a", "k"), ("b", "k")]).await;
    plant(&world, "update turno.hot set ready_at = null where seq = (select seq from turno.body where id = 'a')").await;
    let reason = queue.why_item("a".try_into().unwrap()).await.unwrap().unwrap().reason;
    assert_eq!(reason, WhyReason::Damaged);
    let found = findings(&world.turno).await;
    assert_eq!(found, [("Q14", "queue in, item a: Unreachable".to_owned())]);
    assert_eq!(world.turno.repair(|_| ()).await.unwrap().left, []);
    assert_eq!(queue.why_item("a".try_into().unwrap()).await.unwrap().unwrap().reason, WhyReason::Ready);
    assert_eq!(drained(&queue, "k").await.len(), 2);
}

/// Regression: a lane without a head was not found if it also had an exhausted item.
pub(super) async fn a_lane_without_a_head_is_found_beside_an_exhausted_item(backend: Backend) {
    let world = World::on(backend).await;
    let policy =
        Policy { window: Span::ZERO, batch_max: 1, on_exhausted: OnExhausted::Hold, ..Policy::for_kind(Kind::Lane) };
    let queue = world.turno.put_queue("bot", policy).await.unwrap();
    push(&queue, &[("m1", "ana"), ("m2", "ana")]).await;
    let reference = queue.claim(Claim::by("w")).await.unwrap()[0].reference;
    let act = Act::Fail { error: "no".to_owned(), item: None, retry_in: None, give_up: true };
    queue.settle(vec![Settlement { reference, act }]).await.unwrap();
    assert_eq!(why(&queue, "ana").await, "lane_held");
    assert_eq!(findings(&world.turno).await, [], "a held lane is intact");
    // Makes the second item the exhausted one: no item holds the lane, and it has no head.
    let (one, two) = ("(select seq from turno.body where id = 'm1')", "(select seq from turno.body where id = 'm2')");
    plant(&world, &format!("update turno.hot set parked = not parked where seq in ({one}, {two})")).await;
    plant(
        &world,
        &format!("insert into turno.attempt_error (seq, attempt, fence, at, error) values ({two}, 1, 1, 1, 'no')"),
    )
    .await;
    assert_eq!(why(&queue, "ana").await, "damaged");
    let found = findings(&world.turno).await;
    assert_eq!(found, [("Q14", "queue bot, key ana: Unreachable".to_owned())]);
    assert_eq!(world.turno.repair(|_| ()).await.unwrap().left, []);
    let got = queue.claim(Claim::by("w")).await.unwrap();
    assert_eq!(got[0].items[0].id.as_str(), "m1");
}

pub(super) async fn two_unfinished_items_of_a_sync_key_are_merged(backend: Backend) {
    let world = World::on(backend).await;
    let queue = world.turno.put_queue("people", Policy::for_kind(Kind::Sync)).await.unwrap();
    let draft = |id: &str, key: &str| Draft::json(id).unwrap().id(id).unwrap().key(key).unwrap();
    queue.enqueue(vec![draft("old", "ana"), draft("new", "leo")]).await.unwrap();
    // Gives the newer item to Ana too, as after an enqueue that missed the older one.
    plant(
        &world,
        "update turno.hot set lane = (select h.lane from turno.hot h join turno.body b on b.seq = h.seq where b.id = 'old');
         update turno.body set key = 'ana'",
    )
    .await;
    let found = findings(&world.turno).await;
    assert!(found.iter().any(|(id, text)| *id == "S3" && text.contains("queue people, key ana")), "{found:?}");
    let repair = world.turno.repair(|_| ()).await.unwrap();
    assert_eq!(repair.left, []);
    let got = queue.claim(Claim::by("w").max(9)).await.unwrap();
    assert_eq!(got.len(), 1, "one delivery of the key: {got:?}");
    assert_eq!((got[0].items[0].id.as_str(), &*got[0].items[0].payload), ("old", "\"new\""), "with the newest change");
    assert_eq!(ack(&queue, &got[0]).await, SettleOutcome::Acked);
}

pub(super) async fn repairing_an_intact_database_changes_nothing(turno: &Turno) {
    let before = turno.audit(audit()).await.unwrap().len();
    assert_eq!(turno.repair(|_| ()).await.unwrap(), turno::Repair::default());
    assert_eq!(turno.audit(audit()).await.unwrap().len(), before, "the audit has no new entry");
}

fn audit() -> AuditQuery {
    AuditQuery { limit: 100, ..AuditQuery::default() }
}
