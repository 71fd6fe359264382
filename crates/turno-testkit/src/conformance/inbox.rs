//! Inboxes: each item is delivered to one worker at a time.

use super::world::{World, ack, draft, fail, ids, put, settle, take, take_one};
use std::collections::HashSet;
use std::time::Duration;
use turno::core::id::{ItemId, Key};
use turno::core::limits::NAME_MAX;
use turno::core::queue::{Accepted, Act, Kind, Policy, SettleOutcome, WhyReason};
use turno::core::time::Span;
use turno::queue::{Claim, ClaimedItem, Draft, ItemQuery, ItemState};
use turno::store::Counts;

super::cases![
    concurrent_claims_return_disjoint_work,
    exactly_one_of_many_claims_of_one_record_wins,
    a_failure_puts_the_record_back_with_its_error,
    the_same_id_is_accepted_once_also_after_reopening,
    items_without_an_id_get_one_each,
    a_returned_delivery_counts_no_attempt,
    a_failed_item_that_is_returned_stays_in_error,
    an_item_that_could_not_be_tried_waits_with_its_error_and_spends_no_attempt,
    a_failed_item_that_could_not_be_tried_shows_the_last_cause_and_no_new_attempt,
    attempts_never_exceed_the_maximum_and_exhausted_happens_once,
    a_paused_queue_hands_out_nothing,
    a_waiting_claim_wakes_on_new_work,
    a_claim_whose_caller_leaves_costs_no_attempt,
    delayed_items_wait,
    a_heartbeat_keeps_a_delivery_alive,
    unacceptable_items_are_refused_and_nothing_is_stored,
];

fn inbox() -> Policy {
    Policy::for_kind(Kind::Inbox)
}

async fn concurrent_claims_return_disjoint_work(world: World) {
    let queue = world.queue(inbox()).await;
    let drafts: Vec<Draft> = (0..300).map(|n| draft("any", &n.to_string())).collect();
    queue.enqueue(drafts).await.unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..30 {
        let queue = queue.clone();
        calls.spawn(async move { queue.claim(Claim::by(format!("w{n}")).max(20)).await.unwrap() });
    }
    let got: Vec<_> = calls.join_all().await.into_iter().flatten().collect();
    let distinct: HashSet<_> = got.iter().map(|got| got.items[0].id.clone()).collect();
    let fences: HashSet<_> = got.iter().map(|got| got.reference.fence).collect();
    assert_eq!((got.len(), distinct.len(), fences.len()), (300, 300, 300));
}

async fn exactly_one_of_many_claims_of_one_record_wins(world: World) {
    let queue = world.queue(inbox()).await;
    put(&queue, "any", &["x", "y"]).await;
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..10 {
        let queue = queue.clone();
        calls.spawn(
            async move { queue.claim_item(ItemId::new("x").unwrap(), Claim::by(format!("w{n}"))).await.unwrap() },
        );
    }
    let (won, lost): (Vec<_>, Vec<_>) =
        calls.join_all().await.into_iter().partition(|claimed| matches!(claimed, ClaimedItem::Delivered(_)));
    assert!(lost.iter().all(|claimed| *claimed == ClaimedItem::AlreadyClaimed), "{lost:?}");
    let won: Vec<_> = won.into_iter().filter_map(ClaimedItem::delivery).collect();
    assert_eq!((won.len(), lost.len()), (1, 9));
    assert_eq!(ids(&won[0]), ["x"]);
    ack(&queue, &won[0]).await;
    assert_eq!(
        queue.claim_item(ItemId::new("x").unwrap(), Claim::by("late")).await.unwrap(),
        ClaimedItem::AlreadyProcessed
    );
    assert_eq!(queue.claim_item(ItemId::new("never").unwrap(), Claim::by("late")).await.unwrap(), ClaimedItem::Unknown);
}

async fn a_failure_puts_the_record_back_with_its_error(world: World) {
    let queue = world.queue(inbox()).await;
    put(&queue, "any", &["x"]).await;
    let got = take_one(&queue).await;
    let act = Act::Fail { error: "HTTP 503".to_owned(), item: None, retry_in: None, give_up: false };
    let SettleOutcome::Retrying { retry_at } = settle(&queue, got.reference, act).await.outcome else {
        panic!("an attempt is left, so the item is retried")
    };
    assert!(take(&queue, 1).await.is_empty(), "the item is not due before its back-off ends");
    assert_eq!(queue.counts().await.unwrap(), Counts { error: 1, ..Counts::default() });
    world.advance((retry_at - super::world::START).0);
    let again = take_one(&queue).await;
    assert_eq!(again.attempt, 2);
    let record = queue.item(ItemId::new("x").unwrap()).await.unwrap().unwrap();
    assert_eq!(record.errors[0].error, "HTTP 503");
}

async fn the_same_id_is_accepted_once_also_after_reopening(mut world: World) {
    let queue = world.queue(inbox()).await;
    assert_eq!(put(&queue, "any", &["x", "y", "x"]).await[2], Accepted::Duplicate { differs: false });
    ack(&queue, &take_one(&queue).await).await;
    world.reopen().await;
    let queue = world.turno.queue(super::world::queue_name()).await.unwrap();
    assert_eq!(put(&queue, "any", &["x"]).await, [Accepted::Duplicate { differs: false }]);
    let other = Draft { payload: "{}".into(), ..draft("any", "y") };
    let answers = queue.enqueue(vec![other]).await.unwrap();
    assert_eq!(answers[0].1, Accepted::Duplicate { differs: true });
    assert_eq!(queue.counts().await.unwrap(), Counts { pending: 1, processed: 1, ..Counts::default() });
}

async fn items_without_an_id_get_one_each(world: World) {
    let queue = world.queue(inbox()).await;
    let drafts = (0..10).map(|_| Draft { payload: "1".into(), ..Draft::default() }).collect();
    let answers = queue.enqueue(drafts).await.unwrap();
    let distinct: HashSet<_> = answers.iter().map(|(id, _)| id.clone()).collect();
    assert_eq!(distinct.len(), 10);
    assert_eq!(take(&queue, 100).await.len(), 10);
}

async fn a_returned_delivery_counts_no_attempt(world: World) {
    let queue = world.queue(Policy { max_attempts: 1, ..inbox() }).await;
    put(&queue, "any", &["x"]).await;
    for _ in 0..3 {
        let got = take_one(&queue).await;
        assert_eq!(got.attempt, 1);
        assert_eq!(settle(&queue, got.reference, Act::Return { error: None }).await.outcome, SettleOutcome::Returned);
    }
}

/// A returned item keeps its failed state, as if the returned delivery had never existed.
async fn a_failed_item_that_is_returned_stays_in_error(world: World) {
    for kind in [Kind::Inbox, Kind::Lane, Kind::Sync] {
        let policy = Policy { window: Span::ZERO, ..Policy::for_kind(kind) };
        let queue = world.turno.put_queue(&*format!("{kind:?}"), policy).await.unwrap();
        put(&queue, "ana", &["x"]).await;
        settle(&queue, take_one(&queue).await.reference, Act::Return { error: None }).await;
        assert_eq!(queue.counts().await.unwrap(), Counts { pending: 1, ..Counts::default() }, "the item never failed");
        fail(&queue, &take_one(&queue).await).await;
        settle(&queue, take_one(&queue).await.reference, Act::Return { error: None }).await;
        assert_eq!(queue.counts().await.unwrap(), Counts { error: 1, ..Counts::default() }, "{kind:?}");
        for state in ItemState::ALL {
            for key in [None, Key::new("ana").ok()] {
                let query = ItemQuery { state: Some(state), key, ..ItemQuery::default() };
                let found = queue.items(query).await.unwrap();
                assert_eq!(found.len(), usize::from(state == ItemState::Error), "{kind:?}: {state}");
            }
        }
        assert_eq!(take_one(&queue).await.attempt, 2, "{kind:?}");
    }
}

async fn an_item_that_could_not_be_tried_waits_with_its_error_and_spends_no_attempt(world: World) {
    let queue = world.queue(Policy { max_attempts: 1, ..inbox() }).await;
    put(&queue, "any", &["x"]).await;
    for error in [Some("ilegible".to_owned()), None, None] {
        let got = take_one(&queue).await;
        assert_eq!(got.attempt, 1);
        let act = Act::Defer { error, retry_in: Span(500) };
        let outcome = settle(&queue, got.reference, act).await.outcome;
        assert_eq!(outcome, SettleOutcome::Retrying { retry_at: got.now + Span(500) });
        assert_eq!(queue.counts().await.unwrap(), Counts { error: 1, ..Counts::default() });
        world.advance(499);
        assert!(take(&queue, 1).await.is_empty(), "the item is not due yet");
        world.advance(1);
    }
    let record = queue.item(ItemId::new("x").unwrap()).await.unwrap().unwrap();
    let errors: Vec<_> = record.errors.iter().map(|error| (error.attempt, error.error.as_str())).collect();
    assert_eq!(errors, [(0, "ilegible")], "one error, with no attempt counted");
    assert_eq!(ack(&queue, &take_one(&queue).await).await, SettleOutcome::Acked);
}

async fn a_failed_item_that_could_not_be_tried_shows_the_last_cause_and_no_new_attempt(world: World) {
    let queue = world.queue(Policy { max_attempts: 3, ..inbox() }).await;
    put(&queue, "any", &["x"]).await;
    let item = || ItemId::new("x").unwrap();
    for (error, attempt) in [("ocupado", 1), ("ilegible", 0), ("ocupado", 2), ("ilegible", 0)] {
        let got = take_one(&queue).await;
        let (error, retry_in) = (error.to_owned(), Span(500));
        let act = match attempt {
            0 => Act::Defer { error: Some(error.clone()), retry_in },
            _ => Act::Fail { error: error.clone(), item: None, retry_in: Some(retry_in), give_up: false },
        };
        settle(&queue, got.reference, act).await;
        let expected = WhyReason::RetryLater { until: got.now + retry_in, attempt, error: Some(error) };
        assert_eq!(queue.why_item(item()).await.unwrap().unwrap().reason, expected);
        world.advance(500);
    }
    let record = queue.item(item()).await.unwrap().unwrap();
    assert_eq!(record.errors.iter().map(|error| error.attempt).collect::<Vec<_>>(), [1, 0, 2, 0]);
    assert_eq!(take_one(&queue).await.attempt, 3, "only tried deliveries count as attempts");
}

async fn attempts_never_exceed_the_maximum_and_exhausted_happens_once(world: World) {
    let queue = world.queue(Policy { max_attempts: 3, ..inbox() }).await;
    put(&queue, "any", &["x"]).await;
    let mut attempts = Vec::new();
    loop {
        let Some(got) = take(&queue, 1).await.pop() else {
            break;
        };
        attempts.push(got.attempt);
        if got.attempt == 2 {
            world.advance(60_000); // the worker dies
        } else {
            fail(&queue, &got).await;
        }
    }
    assert_eq!(attempts, [1, 2, 3]);
    assert_eq!(queue.counts().await.unwrap(), Counts { exhausted: 1, ..Counts::default() });
    let record = queue.item(ItemId::new("x").unwrap()).await.unwrap().unwrap();
    assert_eq!(record.errors.iter().map(|error| error.attempt).collect::<Vec<_>>(), [1, 2, 3]);
}

async fn a_paused_queue_hands_out_nothing(world: World) {
    let queue = world.queue(inbox()).await;
    put(&queue, "any", &["x"]).await;
    queue.pause().await.unwrap();
    assert!(take(&queue, 1).await.is_empty());
    queue.resume().await.unwrap();
    assert_eq!(take(&queue, 1).await.len(), 1);
}

async fn a_waiting_claim_wakes_on_new_work(world: World) {
    let queue = world.queue(inbox()).await;
    let waiter = queue.clone();
    let waiting =
        tokio::spawn(
            async move { waiter.claim(Claim::by("w").max(5).wait(Duration::from_millis(60_000))).await.unwrap() },
        );
    tokio::task::yield_now().await;
    put(&queue, "any", &["x"]).await;
    assert_eq!(ids(&waiting.await.unwrap()[0]), ["x"]);
}

async fn a_claim_whose_caller_leaves_costs_no_attempt(world: World) {
    let queue = world.queue(inbox()).await;
    put(&queue, "any", &["x"]).await;
    // Each caller leaves a little later: before its group is formed, during the commit, after the answer.
    for steps in 0..40 {
        let caller = queue.clone();
        let claim =
            tokio::spawn(
                async move { caller.claim(Claim::by("gone").wait(Duration::from_millis(60_000))).await.unwrap() },
            );
        for _ in 0..steps {
            tokio::task::yield_now().await;
        }
        claim.abort();
        for got in claim.await.into_iter().flatten() {
            settle(&queue, got.reference, Act::Return { error: None }).await;
        }
    }
    let waiting = queue.claim(Claim::by("here").wait(Duration::from_millis(60_000)));
    let got =
        tokio::time::timeout(std::time::Duration::from_secs(20), waiting).await.expect("the delivery is returned");
    assert_eq!(got.unwrap()[0].attempt, 1);
}

async fn delayed_items_wait(world: World) {
    let queue = world.queue(inbox()).await;
    let later = Draft { delay: Span(5_000), ..draft("any", "later") };
    queue.enqueue(vec![later, draft("any", "now")]).await.unwrap();
    assert_eq!(ids(&take_one(&queue).await), ["now"]);
    world.advance(4_999);
    assert!(take(&queue, 1).await.is_empty());
    world.advance(1);
    assert_eq!(ids(&take_one(&queue).await), ["later"]);
}

async fn a_heartbeat_keeps_a_delivery_alive(world: World) {
    let queue = world.queue(inbox()).await;
    put(&queue, "any", &["x"]).await;
    let got = take_one(&queue).await;
    for _ in 0..5 {
        world.advance(50_000);
        assert!(matches!(settle(&queue, got.reference, Act::Beat).await.outcome, SettleOutcome::Renewed { .. }));
        assert!(take(&queue, 1).await.is_empty());
    }
    assert_eq!(ack(&queue, &got).await, SettleOutcome::Acked);
}

async fn unacceptable_items_are_refused_and_nothing_is_stored(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Lane)).await;
    let keyless = Draft { key: None, ..draft("any", "1") };
    let nul = Draft { payload: "\"\0\"".into(), ..draft("any", "2") };
    let negative = Draft { delay: Span(-1), ..draft("any", "3") };
    let wordy = Draft { action: Some("ñ".repeat(NAME_MAX + 1)), ..draft("any", "4") };
    let tabbed = Draft { action: Some("a\tb".to_owned()), ..draft("any", "5") };
    let refused = [
        (keyless, "[1].key: a lane or sync queue needs"),
        (nul, "[1].payload"),
        (negative, "[1].delay_ms"),
        (wordy, "[1].action: action has more than 200 characters"),
        (tabbed, "[1].action: action contains a control character"),
    ];
    for (bad, field) in refused {
        let good = Draft { key: Some(Key::new("k").unwrap()), ..draft("any", "good") };
        let error = queue.enqueue(vec![good, bad]).await.unwrap_err();
        assert!(error.to_string().starts_with(field), "{error}");
    }
    assert_eq!(queue.counts().await.unwrap(), Counts::default());
    let longest = Draft { action: Some("ñ".repeat(NAME_MAX)), ..draft("any", "5") };
    queue.enqueue(vec![longest]).await.unwrap();
    assert!(queue.claim(Claim::by("w").max(0)).await.is_err());
    assert!(queue.claim(Claim::by("")).await.is_err());
}
