//! Workers when the database fails: on the model, which fails on request.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use turno::clock::{Clock, Manual};
use turno::core::id::{ItemId, QueueName};
use turno::core::queue::{Act, Kind, Last, Policy};
use turno::core::time::{Span, Time};
use turno::queue::{Draft, Job, QueueHandle};
use turno::store::{Counts, Group, StoreError};
use turno::{Options, Turno};
use turno_testkit::model::{Model, Trouble};

/// The limit for a signal that never comes.
const LIMIT: Duration = Duration::from_secs(20);

async fn queue(
    items: &[&str],
    trouble: impl Fn(&Group) -> Option<Trouble> + Send + Sync + 'static,
) -> (QueueHandle, Arc<Manual>) {
    let time = Manual::starting_at(Time(1_000_000));
    let clock = Arc::new(Clock::manual(time.clone()));
    let model = Model::new(clock.clone()).with_trouble(trouble);
    let turno = Turno::on(Arc::new(model), Options { clock, sweep: false, ..Options::default() });
    let queue = turno
        .put_queue(QueueName::new("q").expect("valid"), Policy::for_kind(Kind::Inbox))
        .await
        .expect("the model answers");
    let draft = |id: &&str| Draft { id: Some(item(id)), payload: format!("\"{id}\"").into(), ..Draft::default() };
    queue.enqueue(items.iter().map(draft).collect()).await.expect("the model answers");
    (queue, time)
}

fn item(id: &str) -> ItemId {
    ItemId::new(id).expect("valid")
}

async fn until(what: &str, check: impl Fn() -> bool) {
    let looking = async {
        while !check() {
            tokio::task::yield_now().await;
        }
    };
    assert!(tokio::time::timeout(LIMIT, looking).await.is_ok(), "in time: {what}");
}

async fn counts(queue: &QueueHandle, expected: Counts) {
    let looking = async {
        while queue.counts().await.expect("the model answers") != expected {
            tokio::task::yield_now().await;
        }
    };
    assert!(tokio::time::timeout(LIMIT, looking).await.is_ok(), "{expected:?}");
}

/// Makes the database unavailable while `flag` is set, and counts the refused calls.
fn down(flag: &Arc<AtomicBool>, noticed: &Arc<AtomicUsize>) -> impl Fn(&Group) -> Option<Trouble> + use<> {
    let (flag, noticed) = (flag.clone(), noticed.clone());
    move |_| {
        flag.load(Ordering::SeqCst).then(|| {
            noticed.fetch_add(1, Ordering::SeqCst);
            Trouble::Error(StoreError::Unavailable("down".into()))
        })
    }
}

#[tokio::test]
async fn a_settlement_is_repeated_until_the_database_is_back() {
    let (flag, noticed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (queue, time) = queue(&["x"], down(&flag, &noticed)).await;
    let off = flag.clone();
    let worker = queue.worker(move |_: Job<String>| {
        off.store(true, Ordering::SeqCst);
        async { Ok(()) }
    });
    let running = worker.start().unwrap();
    for times in 1..=3 {
        until("the settlement is tried", || noticed.load(Ordering::SeqCst) >= times).await;
        time.advance(Span(1_000));
    }
    assert_eq!(queue.counts().await.unwrap().processed, 0);
    flag.store(false, Ordering::SeqCst);
    time.advance(Span(1_000));
    counts(&queue, Counts { processed: 1, ..Counts::default() }).await;
    running.stop().await;
}

#[tokio::test]
async fn a_handler_is_dropped_when_no_renewal_reaches_the_database_before_the_expiry() {
    struct Dropped(mpsc::UnboundedSender<()>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }
    let (flag, noticed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (queue, time) = queue(&["x"], down(&flag, &noticed)).await;
    let (sender, mut ends) = mpsc::unbounded_channel();
    let off = flag.clone();
    let worker = queue.worker(move |_: Job<String>| {
        let held = Dropped(sender.clone());
        off.store(true, Ordering::SeqCst);
        async move {
            let _held = held;
            std::future::pending().await
        }
    });
    let running = worker.concurrency(1).grace(Duration::ZERO).start().unwrap();
    until("the handler runs", || flag.load(Ordering::SeqCst)).await;
    for (ms, times) in [(20_000, 1), (20_000, 2), (19_999, 3)] {
        time.advance(Span(ms));
        until("a renewal is tried", || noticed.load(Ordering::SeqCst) >= times).await;
    }
    assert!(ends.try_recv().is_err(), "the delivery has not expired");
    time.advance(Span(1));
    tokio::time::timeout(LIMIT, ends.recv()).await.unwrap().unwrap();
    running.stop().await;
}

#[tokio::test]
async fn a_claim_in_progress_at_the_stop_is_returned() {
    let (answer, claimed) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let (release, seen) = (answer.clone(), claimed.clone());
    let late = move |group: &Group| {
        matches!(group, Group::Claim(_)).then(|| {
            seen.fetch_add(1, Ordering::SeqCst);
            Trouble::Late(release.clone())
        })
    };
    let (queue, _time) = queue(&["x"], late).await;
    let begun = Arc::new(AtomicBool::new(false));
    let begin = begun.clone();
    let worker = queue.worker(move |_: Job<String>| {
        begin.store(true, Ordering::SeqCst);
        async { Ok(()) }
    });
    let running = worker.start().unwrap();
    until("the worker claims", || claimed.load(Ordering::SeqCst) == 1).await;
    let stop = async {
        tokio::task::yield_now().await;
        answer.notify_one();
    };
    tokio::time::timeout(LIMIT, async { tokio::join!(running.stop(), stop) }).await.expect("the worker stops");
    let left = queue.item(item("x")).await.unwrap().unwrap().item.unwrap();
    assert_eq!((left.attempt, left.last), (0, Last::Returned), "returned before `stop` returned");
    assert!(!begun.load(Ordering::SeqCst));
}

#[tokio::test]
async fn deliveries_that_end_together_are_settled_together_and_a_rejected_one_fails_alone() {
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let bad = Arc::new(Mutex::new(None));
    let (seen, refused) = (sizes.clone(), bad.clone());
    let trouble = move |group: &Group| {
        let Group::Settle(group) = group else { return None };
        let acks = group.settlements.iter().filter(|settle| matches!(settle.act, Act::Ack { .. }));
        seen.lock().unwrap().push(acks.count());
        let is_bad = |fence| Some(fence) == *refused.lock().unwrap();
        let found = group.settlements.iter().any(|settle| is_bad(settle.reference.fence));
        found.then(|| Trouble::Error(StoreError::Rejected("no".into())))
    };
    let (queue, _time) = queue(&["a", "bad", "c", "d"], trouble).await;
    let go_on = Arc::new(Notify::new());
    let (waits, begun) = (go_on.clone(), Arc::new(AtomicUsize::new(0)));
    let begin = begun.clone();
    let worker = queue.worker(move |job: Job<String>| {
        if job.payload == "bad" {
            *bad.lock().unwrap() = Some(job.fence);
        }
        let (go_on, begin) = (waits.clone(), begin.clone());
        async move {
            let released = go_on.notified();
            begin.fetch_add(1, Ordering::SeqCst);
            released.await;
            Ok(())
        }
    });
    let running = worker.start().unwrap();
    until("all handlers run", || begun.load(Ordering::SeqCst) == 4).await;
    go_on.notify_waiters();
    counts(&queue, Counts { processed: 3, in_process: 1, ..Counts::default() }).await;
    running.stop().await;
    let sizes = sizes.lock().unwrap();
    assert_eq!((sizes[0], sizes.iter().skip(1).max()), (4, Some(&1)), "first together, then one by one: {sizes:?}");
}
