//! Tests of repair: a repaired lane is sound, and no item is lost or reordered.

use super::super::*;
use super::shelf::Shelf;
use crate::id::{Fence, ItemId};
use crate::time::Span;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn shelf(batch_max: u32) -> Shelf {
    let policy = Policy { window: Span::ZERO, batch_max, ..Policy::for_kind(Kind::Lane) };
    Shelf::holding(policy, &["1", "2", "3", "4", "5", "6"])
}

fn read(shelf: &Shelf) -> RepairRead {
    let id = |item: &Item| shelf.bodies.iter().find(|body| body.seq == item.seq).map(|body| body.id.clone());
    let mut items = shelf.hot.clone();
    items.sort_by_key(|item| item.seq);
    let rows = items.into_iter().map(|item| RepairRow { id: id(&item), item, is_finished: false }).collect();
    let (lost, empty, spared) = (None, None, shelf.spared.clone());
    RepairRead { queue: QueueId(3), now: shelf.now, rows, bodies: Vec::new(), lost, empty, spared }
}

fn repair_lane(shelf: &mut Shelf) -> Repaired {
    let (changes, repaired) = repair(&shelf.policy, read(shelf));
    shelf.write(changes);
    repaired
}

fn drain(shelf: &mut Shelf) -> Vec<String> {
    let mut ids = Vec::new();
    for _ in 0..20 {
        for delivery in shelf.claim(9) {
            ids.extend(shelf.ids(&delivery));
            assert_eq!(shelf.ack(&delivery), SettleOutcome::Acked);
        }
    }
    ids
}

#[test]
fn repair_changes_nothing_in_a_sound_lane() {
    let mut waiting = shelf(3);
    assert!(repair_lane(&mut waiting).is_nothing());
    let delivery = waiting.claim_one();
    assert!(repair_lane(&mut waiting).is_nothing(), "with a delivery in process");
    waiting.pass(60_000);
    assert!(repair_lane(&mut waiting).is_nothing(), "with an expired delivery");
    waiting.settle(&delivery, Act::Expire);
    assert!(repair_lane(&mut waiting).is_nothing(), "after the delivery was taken back");
}

#[test]
fn repair_returns_an_incomplete_delivery_without_its_attempt() {
    let mut shelf = shelf(3);
    let delivery = shelf.claim_one();
    shelf.hot[1].expires_at = None;
    let repaired = repair_lane(&mut shelf);
    assert_eq!(repaired.ended, [delivery.fence]);
    assert_eq!(shelf.ack(&delivery), SettleOutcome::Stale, "a late ack changes nothing");
    assert!(shelf.hot.iter().all(|item| item.attempt == 0 || item.seq.0 == 2));
    assert_eq!(drain(&mut shelf), ["1", "2", "3", "4", "5", "6"]);
}

#[test]
fn repair_keeps_a_delivery_that_an_application_is_completing() {
    let mut shelf = shelf(1);
    let delivery = shelf.claim_one();
    shelf.spared = vec![delivery.fence];
    shelf.hot[3].ready_at = Some(shelf.now);
    assert!(repair_lane(&mut shelf).ended.is_empty());
    assert_eq!(shelf.settle(&delivery, Act::Complete), SettleOutcome::Acked);
    assert_eq!(drain(&mut shelf), ["2", "3", "4", "5", "6"]);
}

#[test]
fn repair_restores_a_lost_item_in_its_place() {
    let mut shelf = shelf(1);
    let gone = shelf.hot.remove(0);
    let lost = Lost { seq: gone.seq, id: ItemId::new("1").expect("valid"), lane: gone.lane, enqueued_at: shelf.now };
    let (changes, repaired) = repair(&shelf.policy, RepairRead { lost: Some(lost), ..read(&shelf) });
    assert_eq!(repaired.restored.len(), 1);
    shelf.write(changes);
    assert_eq!(drain(&mut shelf), ["1", "2", "3", "4", "5", "6"]);
}

/// A damage to one row.
#[derive(Clone, Copy, Debug)]
enum Harm {
    Ready,
    NotReady,
    DeliveryRef(i64, u32),
    GivenUp,
    Size(u32),
}

fn harm() -> impl Strategy<Value = (usize, Harm)> {
    let harm = prop_oneof![
        Just(Harm::Ready),
        Just(Harm::NotReady),
        (1..4_i64, 1..4_u32).prop_map(|(fence, size)| Harm::DeliveryRef(fence, size)),
        Just(Harm::GivenUp),
        (1..5_u32).prop_map(Harm::Size),
    ];
    (0..6_usize, harm)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn repaired_lane_drains_in_order_after_random_damage(
        batch in 1..4_u32, claims in any::<bool>(), harms in prop::collection::vec(harm(), 1..8),
    ) {
        let mut shelf = shelf(batch);
        if claims {
            shelf.claim_one();
        }
        for (index, harm) in harms {
            let at = shelf.now + Span(5_000);
            let item = &mut shelf.hot[index];
            match harm {
                Harm::Ready => item.ready_at = Some(at),
                Harm::NotReady => item.ready_at = None,
                Harm::DeliveryRef(fence, size) => {
                    (item.fence, item.size, item.expires_at) = (Fence(fence), size, Some(at));
                    (item.attempt, item.handed) = (item.attempt.max(1), item.revision);
                }
                Harm::GivenUp => item.expires_at = None,
                Harm::Size(size) => item.size = size,
            }
        }
        repair_lane(&mut shelf);
        prop_assert!(repair_lane(&mut shelf).is_nothing(), "one repair is enough");
        shelf.pass(60_000);
        // A delivery that is still in process expires and is taken back.
        for item in shelf.hot.clone().into_iter().filter(|item| item.expires_at.is_some()) {
            let items = vec![(item.seq, item.attempt); item.size as usize];
            let (seq, lane, fence, attempt) = (item.seq, item.lane, item.fence, item.attempt);
            let (expires_at, revision) = (shelf.now, item.revision);
            let delivery = Delivery { seq, lane, fence, attempt, expires_at, revision, items };
            shelf.settle(&delivery, Act::Expire);
        }
        prop_assert_eq!(drain(&mut shelf), ["1", "2", "3", "4", "5", "6"]);
    }
}

/// `why` used to answer `ready` for such an item, although no claim ever handed it out.
#[test]
fn why_reports_damaged_for_a_lane_that_hands_out_nothing() {
    let mut headless = shelf(1);
    headless.hot[0].ready_at = None;
    assert_eq!(headless.why("1", false), "damaged");
    let mut broken = shelf(3);
    broken.claim_one();
    broken.hot[1].expires_at = None;
    broken.pass(60_000);
    assert_eq!(["1", "2", "4"].map(|id| broken.why(id, false)), ["damaged"; 3], "after the delivery expired");
    let mut inbox = Shelf::new(Policy::for_kind(Kind::Inbox));
    inbox.put("k", "1");
    inbox.hot[0].ready_at = None;
    assert_eq!(inbox.why("1", false), "damaged");
}
