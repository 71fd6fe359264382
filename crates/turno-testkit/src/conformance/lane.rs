//! Lanes: order, one delivery at a time, windows, groups, exhausted heads.

use super::world::{World, ack, draft, fail, give_up, ids, put, queue_name, settle, strict, take, take_one};
use std::time::Duration;
use turno::core::id::{ItemId, Key};
use turno::core::queue::{Act, Ended, Kind, Last, ManageAnswer, OnExhausted, Policy, SettleOutcome};
use turno::core::time::Span;
use turno::queue::{Claim, Delivery, ItemQuery};
use turno::store::Counts;

super::cases![
    a_key_is_served_in_order_one_delivery_at_a_time,
    messages_of_one_window_are_delivered_together_after_reopening,
    a_shortened_window_ends_sooner_but_an_open_one_stays_open,
    typing_keeps_the_window_open,
    typing_extends_the_window_of_a_message_behind_one_in_process,
    a_due_key_behind_keys_with_open_windows_is_claimed,
    a_full_batch_is_due_at_once_in_every_store,
    a_claim_waits_for_the_window_and_wakes_when_it_ends,
    a_failed_group_stays_frozen_and_only_the_failing_item_is_exhausted,
    ack_through_and_fail_item_split_a_group,
    items_that_arrive_meanwhile_join_an_untried_group,
    an_expired_claim_is_found_by_the_next_claim_and_its_late_ack_is_refused,
    a_repeated_settlement_gets_the_same_answer,
    a_repeated_settlement_gets_the_same_answer_after_a_later_delivery,
    a_retried_item_returns_to_the_head_of_its_lane,
    a_held_lane_waits_until_its_exhausted_item_is_cancelled,
    a_policy_change_frees_held_lanes_and_holds_only_later_ones,
    cancelling_the_head_wakes_the_next,
    a_stuck_key_delays_no_other,
    counters_equal_a_count_over_the_rows,
    empty_lanes_leave_no_rows_behind,
    every_column_of_an_item_survives_the_store,
];

fn eager() -> Policy {
    Policy { window: Span::ZERO, ..Policy::for_kind(Kind::Lane) }
}

async fn a_key_is_served_in_order_one_delivery_at_a_time(world: World) {
    let queue = world.queue(strict()).await;
    put(&queue, "ana", &["1", "2", "3"]).await;
    put(&queue, "luis", &["a"]).await;
    let first = take(&queue, 10).await;
    assert_eq!(first.iter().map(|got| ids(got)[0]).collect::<Vec<_>>(), ["1", "a"], "one delivery per key");
    assert!(take(&queue, 10).await.is_empty());
    assert_eq!(ack(&queue, &first[0]).await, SettleOutcome::Acked);
    for id in ["2", "3"] {
        let got = take_one(&queue).await;
        assert_eq!((ids(&got), got.key.as_ref().map(Key::as_str)), (vec![id], Some("ana")));
        assert_eq!(
            &*got.items[0].payload,
            format!("{{\"de\":\"ana\",\"texto\":\"{id} ñ \\u0000\"}}"),
            "the payload is unchanged"
        );
        ack(&queue, &got).await;
    }
}

async fn messages_of_one_window_are_delivered_together_after_reopening(mut world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Lane)).await;
    put(&queue, "ana", &["hola"]).await;
    world.advance(2_000);
    put(&queue, "ana", &["¿disponibilidad?"]).await;
    world.advance(2_999);
    assert!(take(&queue, 1).await.is_empty(), "each message restarts the window");
    drop(queue);
    world.reopen().await;
    let queue = world.turno.queue(super::world::queue_name()).await.unwrap();
    assert!(take(&queue, 1).await.is_empty());
    world.advance(1);
    assert_eq!(ids(&take_one(&queue).await), ["hola", "¿disponibilidad?"]);
}

async fn a_shortened_window_ends_sooner_but_an_open_one_stays_open(world: World) {
    let long = Policy { window: Span(12_000), max_wait: Span(60_000), ..Policy::for_kind(Kind::Lane) };
    let queue = world.queue(long.clone()).await;
    put(&queue, "ana", &["a"]).await;
    world.advance(2_000);
    assert!(queue.claim(Claim::by("w")).await.unwrap().is_empty());
    world.turno.put_queue(queue_name(), Policy { window: Span(4_000), ..long.clone() }).await.unwrap();
    assert!(queue.claim(Claim::by("w")).await.unwrap().is_empty(), "the shorter window is not over either");
    world.advance(2_000);
    assert_eq!(take_one(&queue).await.items[0].id.as_str(), "a");
    put(&queue, "leo", &["b"]).await;
    world.turno.put_queue(queue_name(), Policy { window: Span::ZERO, ..long }).await.unwrap();
    assert_eq!(take_one(&queue).await.items[0].id.as_str(), "b");
}

async fn typing_keeps_the_window_open(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Lane)).await;
    put(&queue, "ana", &["1"]).await;
    world.advance(2_900);
    queue.typing(Key::new("ana").unwrap()).await.unwrap();
    queue.typing(Key::new("nadie").unwrap()).await.unwrap();
    world.advance(2_999);
    assert!(take(&queue, 1).await.is_empty());
    world.advance(1);
    ack(&queue, &take_one(&queue).await).await;
    put(&queue, "nadie", &["2"]).await;
    world.advance(3_000);
    assert_eq!(ids(&take_one(&queue).await), ["2"], "typing before the first message has no effect");
}

async fn typing_extends_the_window_of_a_message_behind_one_in_process(world: World) {
    let queue = world.queue(Policy { batch_max: 2, ..Policy::for_kind(Kind::Lane) }).await;
    put(&queue, "ana", &["1", "2"]).await;
    let answering = take_one(&queue).await;
    put(&queue, "ana", &["3"]).await;
    world.advance(2_900);
    queue.typing(Key::new("ana").unwrap()).await.unwrap();
    ack(&queue, &answering).await;
    world.advance(2_999);
    assert!(take(&queue, 1).await.is_empty());
    world.advance(1);
    assert_eq!(ids(&take_one(&queue).await), ["3"]);
}

async fn a_due_key_behind_keys_with_open_windows_is_claimed(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Lane)).await;
    for key in ["ana", "eva", "leo"] {
        put(&queue, key, &[&format!("{key} 1")]).await;
    }
    world.advance(500);
    put(&queue, "luis", &["a"]).await;
    world.advance(2_400);
    for key in ["ana", "eva", "leo"] {
        put(&queue, key, &[&format!("{key} 2")]).await;
    }
    // Three heads come before Luis's in the index, and each has a window that was reopened.
    world.advance(700);
    assert_eq!(ids(&take_one(&queue).await), ["a"]);
}

async fn a_full_batch_is_due_at_once_in_every_store(world: World) {
    let queue = world.queue(Policy { batch_max: 3, ..Policy::for_kind(Kind::Lane) }).await;
    put(&queue, "ana", &["1"]).await;
    put(&queue, "ana", &["2"]).await;
    assert!(take(&queue, 1).await.is_empty());
    put(&queue, "ana", &["3", "4"]).await;
    assert_eq!(ids(&take_one(&queue).await), ["1", "2", "3"]);
}

async fn a_claim_waits_for_the_window_and_wakes_when_it_ends(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Lane)).await;
    let waiter = queue.clone();
    let waiting =
        tokio::spawn(
            async move { waiter.claim(Claim::by("worker-1").wait(Duration::from_millis(60_000))).await.unwrap() },
        );
    put(&queue, "ana", &["1"]).await;
    for _ in 0..29 {
        world.advance(100);
        tokio::task::yield_now().await;
    }
    assert!(!waiting.is_finished(), "the window is still open");
    // Advances exactly to the end of the window, so only that end can wake the claim.
    world.advance(100);
    assert_eq!(ids(&waiting.await.unwrap()[0]), ["1"]);
}

async fn a_failed_group_stays_frozen_and_only_the_failing_item_is_exhausted(world: World) {
    let queue = world.queue(eager()).await;
    put(&queue, "ana", &["1", "bad", "3"]).await;
    for _ in 0..2 {
        let got = take_one(&queue).await;
        assert_eq!(ids(&got), ["1", "bad", "3"]);
        put(&queue, "ana", &[&format!("later {}", got.attempt)]).await;
        fail(&queue, &got).await;
    }
    let mut order = Vec::new();
    while let Some(got) = take(&queue, 1).await.pop() {
        let id = ids(&got).join("+");
        if id == "bad" {
            fail(&queue, &got).await
        } else {
            ack(&queue, &got).await
        };
        order.push(id);
    }
    assert_eq!(order, ["1", "bad", "bad", "bad", "3", "later 1+later 2"]);
    let counts = queue.counts().await.unwrap();
    assert_eq!(counts, Counts { processed: 4, exhausted: 1, ..Counts::default() });
}

async fn ack_through_and_fail_item_split_a_group(world: World) {
    let queue = world.queue(eager()).await;
    put(&queue, "ana", &["1", "2", "3", "4"]).await;
    let got = take_one(&queue).await;
    let through = Some(ItemId::new("1").unwrap());
    assert_eq!(settle(&queue, got.reference, Act::Ack { through }).await.outcome, SettleOutcome::Acked);
    let got = take_one(&queue).await;
    assert_eq!((ids(&got), got.attempt), (vec!["2", "3", "4"], 1));
    let wrong = Some(ItemId::new("1").unwrap());
    let answer = settle(&queue, got.reference, Act::Ack { through: wrong }).await.outcome;
    assert_eq!(answer, SettleOutcome::NotInDelivery);
    let item = Some(ItemId::new("3").unwrap());
    let act = Act::Fail { error: "3 no".to_owned(), item, retry_in: Some(Span(500)), give_up: false };
    settle(&queue, got.reference, act).await;
    assert!(take(&queue, 1).await.is_empty(), "the lane waits for its head");
    world.advance(500);
    let got = take_one(&queue).await;
    assert_eq!(got.items.iter().map(|item| (item.id.as_str(), item.attempt)).collect::<Vec<_>>(), [("3", 2), ("4", 1)]);
}

async fn items_that_arrive_meanwhile_join_an_untried_group(mut world: World) {
    let queue = world.queue(eager()).await;
    put(&queue, "ana", &["1", "2"]).await;
    let got = take_one(&queue).await;
    put(&queue, "ana", &["3"]).await;
    settle(&queue, got.reference, Act::Ack { through: Some(ItemId::new("1").unwrap()) }).await;
    let rest = take_one(&queue).await;
    assert_eq!((ids(&rest), rest.attempt), (vec!["2", "3"], 1), "the rest of a partial ack comes back untried");
    put(&queue, "ana", &["4"]).await;
    settle(&queue, rest.reference, Act::Return { error: None }).await;
    world.reopen().await;
    let queue = world.turno.queue(super::world::queue_name()).await.unwrap();
    let again = take_one(&queue).await;
    assert_eq!((ids(&again), again.attempt), (vec!["2", "3", "4"], 1), "a return");
    put(&queue, "ana", &["5"]).await;
    fail(&queue, &again).await;
    assert_eq!(ids(&take_one(&queue).await), ["2", "3", "4"], "a failed group stays frozen");
}

async fn an_expired_claim_is_found_by_the_next_claim_and_its_late_ack_is_refused(world: World) {
    let queue = world.queue(strict()).await;
    put(&queue, "ana", &["1", "2"]).await;
    let old = take_one(&queue).await;
    world.advance(14_999);
    assert!(take(&queue, 1).await.is_empty());
    world.advance(1);
    let new = take_one(&queue).await;
    assert_eq!((ids(&new), new.attempt), (vec!["1"], 2));
    assert!(new.reference.fence > old.reference.fence);
    for act in [Act::Ack { through: None }, Act::Return { error: None }, Act::Beat] {
        assert_eq!(settle(&queue, old.reference, act).await.outcome, SettleOutcome::Stale);
    }
    assert_eq!(ack(&queue, &new).await, SettleOutcome::Acked);
}

async fn a_repeated_settlement_gets_the_same_answer(world: World) {
    let queue = world.queue(strict()).await;
    put(&queue, "ana", &["1"]).await;
    let got = take_one(&queue).await;
    assert!(!settle(&queue, got.reference, Act::Return { error: None }).await.repeated);
    let again = settle(&queue, got.reference, Act::Return { error: None }).await;
    assert_eq!((again.outcome, again.repeated), (SettleOutcome::Returned, true));

    let got = take_one(&queue).await;
    let act = || Act::Fail { error: "x".to_owned(), item: None, retry_in: Some(Span(700)), give_up: false };
    let first = settle(&queue, got.reference, act()).await.outcome;
    let again = settle(&queue, got.reference, act()).await;
    assert_eq!((again.outcome, again.repeated), (first, true));
    let other = settle(&queue, got.reference, Act::Ack { through: None }).await;
    assert_eq!(other.outcome, SettleOutcome::Stale, "an ack does not repeat a fail");

    world.advance(700);
    let got = take_one(&queue).await;
    ack(&queue, &got).await;
    let again = settle(&queue, got.reference, Act::Ack { through: None }).await;
    assert_eq!((again.outcome, again.repeated), (SettleOutcome::Acked, true));
    assert_eq!(queue.counts().await.unwrap(), Counts { processed: 1, ..Counts::default() });
}

async fn a_repeated_settlement_gets_the_same_answer_after_a_later_delivery(world: World) {
    let ack_all = || Act::Ack { through: None };
    for kind in [Kind::Lane, Kind::Inbox, Kind::Sync] {
        let (name, policy) = (format!("{kind:?}"), Policy { window: Span::ZERO, ..Policy::for_kind(kind) });
        let queue = world.turno.put_queue(&*name, policy).await.unwrap();
        put(&queue, "ana", &["1"]).await;
        let first = take_one(&queue).await;
        settle(&queue, first.reference, Act::Return { error: None }).await;
        let second = take_one(&queue).await;
        let expect = async |act: Act, delivery: &Delivery, outcome: SettleOutcome, when: &str| {
            let again = settle(&queue, delivery.reference, act).await;
            assert_eq!((again.outcome, again.repeated), (outcome, true), "{kind:?}, {when}");
        };
        expect(Act::Return { error: None }, &first, SettleOutcome::Returned, "while another delivery is live").await;
        let stale = settle(&queue, first.reference, ack_all()).await;
        assert_eq!((stale.outcome, stale.repeated), (SettleOutcome::Stale, false), "the first settlement was no ack");
        if kind == Kind::Sync {
            put(&queue, "ana", &["2"]).await;
            assert_eq!(ack(&queue, &second).await, SettleOutcome::Superseded);
            let third = take_one(&queue).await;
            expect(ack_all(), &second, SettleOutcome::Superseded, "while another delivery is live").await;
            assert_eq!(ack(&queue, &third).await, SettleOutcome::Acked);
            expect(ack_all(), &second, SettleOutcome::Superseded, "after the item is finished").await;
        } else {
            assert_eq!(ack(&queue, &second).await, SettleOutcome::Acked);
        }
        expect(Act::Return { error: None }, &first, SettleOutcome::Returned, "after the item is finished").await;
        assert_eq!(queue.counts().await.unwrap(), Counts { processed: 1, ..Counts::default() });
    }
}

async fn a_retried_item_returns_to_the_head_of_its_lane(world: World) {
    let queue = world.queue(Policy { max_attempts: 1, ..strict() }).await;
    put(&queue, "ana", &["1", "2", "3"]).await;
    assert_eq!(fail(&queue, &take_one(&queue).await).await, SettleOutcome::Exhausted);
    let second = take_one(&queue).await;
    let id = ItemId::new("1").unwrap();
    let record = queue.item(id.clone()).await.unwrap().unwrap();
    assert_eq!(record.done.as_ref().map(|done| (done.ended, done.attempt)), Some((Ended::Exhausted, 1)));
    assert_eq!(record.errors.len(), 1);
    assert_eq!(queue.retry(id).await.unwrap(), Ok(ManageAnswer::Retried));
    assert!(take(&queue, 5).await.is_empty(), "one delivery in flight per key");
    ack(&queue, &second).await;
    assert_eq!(ids(&take_one(&queue).await), ["1"]);
}

async fn a_held_lane_waits_until_its_exhausted_item_is_cancelled(world: World) {
    let queue = world.queue(Policy { max_attempts: 1, on_exhausted: OnExhausted::Hold, ..strict() }).await;
    put(&queue, "ana", &["1", "2"]).await;
    fail(&queue, &take_one(&queue).await).await;
    world.advance(1_000_000);
    assert!(take(&queue, 5).await.is_empty());
    assert_eq!(queue.counts().await.unwrap(), Counts { pending: 1, exhausted: 1, ..Counts::default() });
    assert_eq!(queue.cancel(ItemId::new("1").unwrap()).await.unwrap(), Ok(ManageAnswer::Cancelled));
    assert_eq!(ids(&take_one(&queue).await), ["2"]);
}

async fn a_policy_change_frees_held_lanes_and_holds_only_later_ones(world: World) {
    let hold = Policy { max_attempts: 1, on_exhausted: OnExhausted::Hold, ..strict() };
    let goes_on = Policy { on_exhausted: OnExhausted::Continue, ..hold.clone() };
    let queue = world.turno.put_queue("chat", hold.clone()).await.unwrap();
    for key in ["ana", "luis"] {
        put(&queue, key, &[&format!("{key}-1"), &format!("{key}-2"), &format!("{key}-3")]).await;
        fail(&queue, &take_one(&queue).await).await;
    }
    assert!(take(&queue, 5).await.is_empty(), "both lanes are held");
    world.turno.put_queue("chat", goes_on).await.unwrap();
    let got = take(&queue, 5).await;
    assert_eq!(got.iter().flat_map(|got| ids(got)).collect::<Vec<_>>(), ["ana-2", "luis-2"]);
    let held = queue.item(ItemId::new("ana-1").unwrap()).await.unwrap().unwrap();
    assert_eq!(held.done.map(|done| done.ended), Some(Ended::Exhausted), "the item stays exhausted");
    fail(&queue, &got[0]).await;
    world.turno.put_queue("chat", hold).await.unwrap();
    let third = take_one(&queue).await;
    assert_eq!(ids(&third), ["ana-3"], "an item exhausted before the change does not hold the lane");
    ack(&queue, &third).await;
    assert_eq!(fail(&queue, &got[1]).await, SettleOutcome::Exhausted);
    assert!(take(&queue, 5).await.is_empty(), "an item exhausted after the change holds the lane");
}

async fn cancelling_the_head_wakes_the_next(world: World) {
    let queue = world.queue(strict()).await;
    put(&queue, "ana", &["1", "2", "3"]).await;
    queue.cancel(ItemId::new("1").unwrap()).await.unwrap().unwrap();
    queue.cancel(ItemId::new("3").unwrap()).await.unwrap().unwrap();
    assert_eq!(ids(&take_one(&queue).await), ["2"]);
    assert_eq!(queue.counts().await.unwrap(), Counts { in_process: 1, cancelled: 2, ..Counts::default() });
}

async fn a_stuck_key_delays_no_other(world: World) {
    let queue = world.queue(strict()).await;
    for key in 0..50 {
        put(&queue, &format!("k{key}"), &[&format!("{key}-1"), &format!("{key}-2")]).await;
    }
    let stuck = take_one(&queue).await;
    let mut served = 0;
    while let Some(got) = take(&queue, 1).await.pop() {
        assert_ne!(got.key, stuck.key);
        ack(&queue, &got).await;
        served += 1;
    }
    assert_eq!(served, 98);
}

async fn counters_equal_a_count_over_the_rows(world: World) {
    let queue = world.queue(Policy { max_attempts: 2, ..strict() }).await;
    for key in 0..8 {
        put(&queue, &format!("k{key}"), &[&format!("{key}-1"), &format!("{key}-2")]).await;
    }
    let got = take(&queue, 7).await;
    ack(&queue, &got[0]).await;
    ack(&queue, &got[1]).await;
    let act = Act::Fail { error: "x".to_owned(), item: None, retry_in: Some(Span(60_000)), give_up: false };
    settle(&queue, got[2].reference, act).await;
    give_up(&queue, &got[3]).await;
    queue.cancel(ItemId::new("7-2").unwrap()).await.unwrap().unwrap();
    let expected = Counts { pending: 8, in_process: 3, error: 1, processed: 2, exhausted: 1, cancelled: 1 };
    assert_eq!(queue.counts().await.unwrap(), expected);
    let records = queue.items(ItemQuery::default()).await.unwrap();
    assert_eq!(records.len(), 16, "the states add up to all accepted items");
}

async fn empty_lanes_leave_no_rows_behind(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Lane)).await;
    for key in 0..20 {
        put(&queue, &format!("k{key}"), &[&key.to_string()]).await;
        queue.typing(Key::new(format!("k{key}")).unwrap()).await.unwrap();
    }
    world.advance(3_000);
    for got in take(&queue, 100).await {
        ack(&queue, &got).await;
    }
    let row = queue.row().await.unwrap();
    let records = queue.items(ItemQuery::default()).await.unwrap();
    assert!(records.iter().all(|record| record.item.is_none() && record.done.is_some()));
    assert_eq!(world.turno.store().unwrap().next_look(row.id, turno::core::time::Time(0)).await.unwrap(), None);
}

async fn every_column_of_an_item_survives_the_store(mut world: World) {
    let queue = world.queue(Policy { lock_timeout: Span(11_000), max_hold: None, ..eager() }).await;
    let mut item = draft("clave ü", "id 1");
    item.action = Some("ACTUALIZAR".to_owned());
    item.delay = Span(1_500);
    queue.enqueue(vec![item]).await.unwrap();
    world.advance(2_000);
    let got = take_one(&queue).await;
    world.advance(100);
    let act = Act::Fail { error: "línea ocupada".to_owned(), item: None, retry_in: Some(Span(700)), give_up: false };
    settle(&queue, got.reference, act).await;
    world.reopen().await;
    let row = world.turno.queue(super::world::queue_name()).await.unwrap();
    let record = row.item(ItemId::new("id 1").unwrap()).await.unwrap().unwrap();
    let start = super::world::START;
    let stored = record.item.unwrap();
    assert_eq!((stored.enqueued_at, stored.claimed_at), (start, Some(start + Span(2_000))));
    assert_eq!((stored.not_before, stored.ready_at), (start + Span(2_800), Some(start + Span(2_800))));
    assert_eq!((stored.attempt, stored.fence, stored.group), (1, got.reference.fence, got.reference.fence));
    assert_eq!((stored.last, stored.expires_at, stored.parked), (Last::Failed, None, false));
    assert_eq!(
        (stored.holder.as_ref().map(|taker| taker.as_str()), stored.lane),
        (Some("worker-1"), got.reference.lane)
    );
    assert_eq!((stored.revision, stored.handed, stored.size), (got.revision, got.revision, 1));
    assert_eq!(record.body.action.as_deref(), Some("ACTUALIZAR"));
    assert_eq!(record.body.key.as_ref().map(Key::as_str), Some("clave ü"));
    let error = &record.errors[0];
    assert_eq!((error.attempt, error.at, error.error.as_str()), (1, start + Span(2_100), "línea ocupada"));
    assert_eq!(
        (error.fence, error.holder.as_ref().map(|taker| taker.as_str())),
        (got.reference.fence, Some("worker-1"))
    );
}
