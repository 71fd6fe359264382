//! Property test: random sequences of commands on every kind of queue never break its rules.
//!
//! The shelf checks after every write that each item is in exactly one condition and that none is lost. This test
//! checks the order and the exclusion per key, as a caller sees them.

use super::super::*;
use super::shelf::Shelf;
use crate::time::{Span, Time};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::HashSet;

#[derive(Clone, Debug)]
struct Step {
    pick: u8,
    key: u8,
    which: usize,
    wait: i64,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step =
        (0u8..24, 0u8..3, 0usize..8, 0i64..400).prop_map(|(pick, key, which, wait)| Step { pick, key, which, wait });
    prop::collection::vec(step, 1..150)
}

fn policy(kind: usize) -> Policy {
    let quick = |policy: Policy| Policy {
        lock_timeout: Span(300),
        max_hold: Some(Span(500)),
        backoff: Span(100),
        max_attempts: 3,
        ..policy
    };
    let lane = Policy::for_kind(Kind::Lane);
    quick(match kind {
        0 => Policy { window: Span(150), typing_extension: Span(200), max_wait: Span(700), batch_max: 4, ..lane },
        1 => Policy { window: Span::ZERO, batch_max: 1, ..lane },
        2 => Policy { window: Span::ZERO, batch_max: 3, on_exhausted: OnExhausted::Hold, ..lane },
        3 => Policy::for_kind(Kind::Inbox),
        _ => Policy::for_kind(Kind::Sync),
    })
}

/// What a caller knows: its live deliveries, and the items that it acked.
#[derive(Default)]
struct Seen {
    live: Vec<(String, Delivery)>,
    acked: HashSet<String>,
}

proptest! {
    // A fixed seed, so that a failure is reproducible. The simulator explores random seeds.
    #![proptest_config(ProptestConfig { cases: 2_000, rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_commands_never_break_order_exclusion_or_accounting(kind in 0usize..5, steps in steps()) {
        let mut shelf = Shelf::new(policy(kind));
        let mut seen = Seen::default();
        let laned = shelf.policy.kind != Kind::Inbox;
        let mut put = 0usize;
        for step in steps {
            shelf.pass(step.wait);
            let key = format!("k{}", step.key);
            let now = shelf.now;
            seen.live.retain(|(_, delivery)| now < delivery.expires_at);
            match step.pick {
                0..=6 => {
                    put += 1;
                    shelf.put(&key, &put.to_string());
                }
                7 => shelf.type_in(&key),
                8..=13 => for delivery in shelf.claim(2) {
                    let ids = shelf.ids(&delivery);
                    let key = key_of(&shelf, &delivery);
                    prop_assert!(!laned || seen.live.iter().all(|(other, _)| *other != key), "two live deliveries of {}", key);
                    for id in &ids {
                        prop_assert!(!seen.acked.contains(id), "{} was finished", id);
                    }
                    let waits_before = |item: &&Item| item.lane == delivery.lane && delivery.items.iter().all(|(seq, _)| item.seq < *seq);
                    if shelf.policy.kind == Kind::Lane {
                        prop_assert_eq!(shelf.hot.iter().find(waits_before), None, "something older of the key is unfinished");
                    }
                    seen.live.push((key, delivery));
                },
                14..=22 if !seen.live.is_empty() => {
                    let (_, delivery) = seen.live.remove(step.which % seen.live.len());
                    settle_by(&mut shelf, &delivery, step.pick, &mut seen);
                }
                _ => {
                    let id = (1 + step.which % put.max(1)).to_string();
                    let command = if step.pick == 23 { Manage::Retry } else { Manage::Cancel };
                    let answer = shelf.manage(&id, command);
                    prop_assert!(answer.is_err() || !seen.acked.contains(&id), "{} was finished", id);
                }
            }
            expire_all(&mut shelf);
        }
        drain(&mut shelf);
    }
}

fn key_of(shelf: &Shelf, delivery: &Delivery) -> String {
    let body = shelf.bodies.iter().find(|body| body.seq == delivery.seq).expect("a body");
    body.key.as_ref().expect("a key").to_string()
}

fn settle_by(shelf: &mut Shelf, delivery: &Delivery, pick: u8, seen: &mut Seen) {
    let ids = shelf.ids(delivery);
    match pick {
        14..=17 => {
            if shelf.ack(delivery) == SettleOutcome::Acked {
                seen.acked.extend(ids);
            }
        }
        18 | 19 => drop(shelf.fail(delivery, None)),
        20 => drop(shelf.fail(delivery, Some(&ids[ids.len() / 2]))),
        21 => drop(shelf.settle(delivery, Act::Return { error: None })),
        _ => {
            let through = Some(ItemId::new(ids[0].as_str()).expect("valid"));
            if shelf.settle(delivery, Act::Ack { through }) == SettleOutcome::Acked {
                seen.acked.insert(ids[0].clone());
            }
        }
    }
}

/// Takes back every expired delivery, as the sweep does.
fn expire_all(shelf: &mut Shelf) {
    let expired: Vec<Item> =
        shelf.hot.iter().filter(|item| item.expires_at.is_some_and(|at| at <= shelf.now)).cloned().collect();
    let mut fences = HashSet::new();
    for item in expired.iter().filter(|item| fences.insert(item.fence)) {
        let members = expired.iter().filter(|other| other.fence == item.fence);
        let items = members.map(|other| (other.seq, other.attempt)).collect();
        let (expires_at, revision) = (Time(0), item.handed);
        let delivery =
            Delivery { seq: item.seq, lane: item.lane, fence: item.fence, attempt: 0, expires_at, revision, items };
        assert_eq!(shelf.settle(&delivery, Act::Expire), SettleOutcome::Expired);
    }
}

/// Acks everything until only parked items and the lanes that they hold are left, and checks that no other item is
/// stuck.
fn drain(shelf: &mut Shelf) {
    for _ in 0..2_000 {
        if shelf.hot.iter().all(|item| item.parked) {
            break;
        }
        shelf.pass(200);
        expire_all(shelf);
        for delivery in shelf.claim(5) {
            shelf.ack(&delivery);
        }
    }
    let held: HashSet<_> = shelf.hot.iter().filter(|item| item.parked).map(|item| item.lane).collect();
    let stuck: Vec<&Item> = shelf.hot.iter().filter(|item| !held.contains(&item.lane)).collect();
    assert!(stuck.is_empty(), "stuck: {stuck:?}");
}
