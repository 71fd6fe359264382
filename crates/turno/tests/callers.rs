//! Callers that disconnect, and callers that ask the same at once: on the model, which fails on request.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use tokio::sync::Notify;
use turno::clock::{Clock, Manual};
use turno::core::id::{ItemId, QueueName};
use turno::core::queue::{Kind, Last, Policy};
use turno::core::time::{Span, Time};
use turno::queue::{Claim, Draft, QueueHandle};
use turno::store::Group;
use turno::{Options, Turno};
use turno_testkit::model::{Model, Trouble};

struct Engine {
    queue: QueueHandle,
    model: Arc<Model>,
    time: Arc<Manual>,
    /// The instances whose claims were in a group, in order.
    asked: Arc<Mutex<Vec<String>>>,
    /// Releases the answers to the claims of "late".
    answer: Arc<Notify>,
}

async fn engine() -> Engine {
    let time = Manual::starting_at(Time(1_000_000));
    let clock = Arc::new(Clock::manual(time.clone()));
    let (asked, answer) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Notify::new()));
    let (seen, release) = (asked.clone(), answer.clone());
    let trouble = move |group: &Group| {
        let Group::Claim(group) = group else { return None };
        let names: Vec<String> = group.wants().iter().map(|want| want.taker.instance().to_owned()).collect();
        let late = names.iter().any(|name| name == "late");
        seen.lock().expect("not poisoned").extend(names);
        late.then(|| Trouble::Late(release.clone()))
    };
    let model = Arc::new(Model::new(clock.clone()).with_trouble(trouble));
    let turno = Turno::on(model.clone(), Options { clock, sweep: false, ..Options::default() });
    let queue = turno
        .put_queue(QueueName::new("q").expect("valid"), Policy::for_kind(Kind::Inbox))
        .await
        .expect("the model answers");
    let x = Draft { id: Some(ItemId::new("x").expect("valid")), payload: "1".into(), ..Draft::default() };
    queue.enqueue(vec![x]).await.expect("the model answers");
    Engine { queue, model, time, asked, answer }
}

/// Polls a call once, so that it begins.
async fn begin<F: Future + Unpin>(call: &mut F) {
    let first = std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut *call).poll(context))).await;
    assert!(first.is_pending());
}

/// Lets other tasks run, more often than any of them needs.
async fn meanwhile() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

impl Engine {
    /// The next claim gets the item on its first attempt.
    async fn assert_untouched(&self) {
        meanwhile().await;
        let got = self.queue.claim(Claim::by("here")).await.expect("the model answers");
        assert_eq!(got.iter().map(|got| got.attempt).collect::<Vec<_>>(), [1]);
    }

    async fn last(&self) -> Last {
        self.queue
            .item(ItemId::new("x").expect("valid"))
            .await
            .expect("answers")
            .expect("accepted")
            .item
            .expect("unfinished")
            .last
    }
}

#[tokio::test]
async fn a_claim_whose_caller_disconnected_before_its_group_was_formed_hands_out_nothing() {
    let engine = engine().await;
    let mut claim = Box::pin(engine.queue.claim(Claim::by("gone")));
    begin(&mut claim).await;
    drop(claim);
    engine.assert_untouched().await;
    assert_eq!(*engine.asked.lock().unwrap(), ["here"], "the claim was in no group");
}

#[tokio::test]
async fn a_delivery_whose_caller_disconnected_during_the_commit_is_returned() {
    let engine = engine().await;
    let mut claim = Box::pin(engine.queue.claim(Claim::by("late")));
    begin(&mut claim).await;
    meanwhile().await;
    assert_eq!(*engine.asked.lock().unwrap(), ["late"], "the claim is in a group");
    drop(claim);
    assert_eq!(engine.last().await, Last::None, "the item is handed out");
    engine.answer.notify_one();
    meanwhile().await;
    assert_eq!(engine.last().await, Last::Returned);
    engine.assert_untouched().await;
}

#[tokio::test]
async fn a_delivery_whose_answer_was_never_received_is_returned() {
    let engine = engine().await;
    let mut claim = Box::pin(engine.queue.claim(Claim::by("slow")));
    begin(&mut claim).await;
    meanwhile().await;
    assert_eq!((engine.last().await, engine.queue.counts().await.unwrap().in_process), (Last::None, 1));
    drop(claim);
    meanwhile().await;
    assert_eq!(engine.last().await, Last::Returned);
    engine.assert_untouched().await;
}

#[tokio::test]
async fn claims_that_find_nothing_share_one_sweep() {
    let engine = engine().await;
    engine.queue.claim(Claim::by("dead")).await.unwrap();
    for (looks, ms) in [(1, 0), (2, 1), (3, 1)] {
        engine.time.advance(Span(ms));
        let mut calls = tokio::task::JoinSet::new();
        for n in 0..20 {
            let queue = engine.queue.clone();
            calls.spawn(async move { queue.claim(Claim::by(format!("w{n}"))).await.unwrap() });
        }
        assert!(calls.join_all().await.into_iter().all(|got| got.is_empty()));
        assert_eq!(engine.model.sweeps(), looks, "a new sweep runs only after time has passed");
    }
    // An item found by a shared sweep goes to one of them.
    engine.time.advance(Span(60_000));
    let mut calls = tokio::task::JoinSet::new();
    for n in 0..20 {
        let queue = engine.queue.clone();
        calls.spawn(async move { queue.claim(Claim::by(format!("w{n}"))).await.unwrap() });
    }
    let got: Vec<_> = calls.join_all().await.into_iter().flatten().collect();
    assert_eq!((got.len(), got[0].attempt), (1, 2));
}
