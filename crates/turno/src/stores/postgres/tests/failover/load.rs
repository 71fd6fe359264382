//! Failovers under constant load, checked from the recorded history.
//!
//! Three servers: A and its standbys B and C. Replication stops, A commits a tail that both standbys lack and is killed,
//! B is promoted, commits a tail that C lacks and is killed, C is promoted. A stored counter of lives would count 2 on B
//! and again 2 on C, so this history finds every memory and every number that relies on one.

use super::*;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tokio::task::{JoinSet, LocalSet};

/// Lanes, each fed by one producer in the order of its items' numbers.
const LANES: usize = 4;
/// Deliveries that are recorded between two steps of the script.
const STEP: usize = 60;

/// One delivery, or one grant of the lease.
#[derive(Clone, Debug)]
struct Entry {
    /// How many entries were recorded when the claim was sent: those are older than this one.
    sent_after: usize,
    /// The lane, or none for the lease.
    lane: Option<usize>,
    /// The number of the item in its lane.
    item: usize,
    fence: Fence,
}

/// Everything that the callers were answered, in the order of the answers.
#[derive(Default)]
struct History {
    entries: Mutex<Vec<Entry>>,
    /// By lane: the items whose enqueue was answered, with how many entries were recorded before the call.
    accepted: Mutex<[Vec<(usize, usize)>; LANES]>,
    tasks: Mutex<Vec<i64>>,
    recorded: tokio::sync::Notify,
    stop: AtomicBool,
}

impl History {
    fn len(&self) -> usize {
        self.entries.lock().unwrap().len()
    }

    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::SeqCst)
    }

    fn record(&self, entry: Entry) {
        self.entries.lock().unwrap().push(entry);
        self.recorded.notify_waiters();
    }

    fn deliveries(&self) -> usize {
        self.entries.lock().unwrap().iter().filter(|entry| entry.lane.is_some()).count()
    }

    /// Waits until `more` deliveries were recorded, or until `patience` is over; returns whether they were.
    async fn grows(&self, more: usize, patience: Duration) -> bool {
        let wanted = self.deliveries() + more;
        let grown = async {
            loop {
                let recorded = self.recorded.notified();
                if self.deliveries() >= wanted {
                    return;
                }
                recorded.await;
            }
        };
        tokio::time::timeout(patience, grown).await.is_ok()
    }

    /// Checks the whole history; `settled` is the number of entries at the last promotion.
    fn check(&self, failovers: usize, settled: usize) -> Result<(), String> {
        let entries = self.entries.lock().unwrap();
        let mut known = HashSet::new();
        if let Some(repeated) = entries.iter().find(|entry| !known.insert(entry.fence)) {
            return Err(format!("the fence of {repeated:?} was given twice"));
        }
        for lane in (0..LANES).map(Some).chain([None]) {
            // By position in the history: the highest fence that was answered before it.
            let mut highest = vec![Fence(0)];
            for entry in entries.iter() {
                let last = highest[highest.len() - 1];
                highest.push(if entry.lane == lane { last.max(entry.fence) } else { last });
            }
            let of_lane = entries.iter().filter(|entry| entry.lane == lane);
            if let Some(entry) = of_lane.into_iter().find(|entry| entry.fence <= highest[entry.sent_after]) {
                return Err(format!("{entry:?} fell behind a fence that was answered before its claim was sent"));
            }
        }
        for lane in 0..LANES {
            let mut deliveries: Vec<&Entry> = entries.iter().filter(|entry| entry.lane == Some(lane)).collect();
            deliveries.sort_by_key(|entry| entry.fence);
            let turned_back = deliveries.windows(2).filter(|pair| pair[1].item < pair[0].item).count();
            if turned_back > failovers {
                return Err(format!("lane {lane} turned back {turned_back} times over {failovers} failovers"));
            }
            for (item, before) in &self.accepted.lock().unwrap()[lane] {
                if *before > settled && !deliveries.iter().any(|entry| entry.item == *item) {
                    return Err(format!("item {item} of lane {lane} was accepted by the last server and never came"));
                }
            }
        }
        let mut tasks = self.tasks.lock().unwrap().clone();
        let created = tasks.len();
        tasks.sort_unstable();
        tasks.dedup();
        if tasks.len() < created { Err("a task id was given twice".to_owned()) } else { Ok(()) }
    }
}

/// Enqueues item after item into one lane; an unanswered one is repeated under its id.
async fn produce(queue: QueueHandle, lane: usize, history: Arc<History>) {
    for item in 0.. {
        if !history.goes_on() {
            return;
        }
        let before = history.len();
        insist(async || {
            let draft = Draft::json(&item)?.id(&format!("{lane}-{item}"))?.key(&format!("k{lane}"))?;
            queue.enqueue(vec![draft]).await
        })
        .await;
        history.accepted.lock().unwrap()[lane].push((item, before));
    }
}

/// Claims and acks until the load stops and the queue is empty.
async fn consume(queue: QueueHandle, worker: &'static str, history: Arc<History>) {
    loop {
        let (stopping, sent_after) = (!history.goes_on(), history.len());
        let deliveries: Vec<Delivery> =
            insist(async || queue.claim(crate::queue::Claim::by(worker).max(2).wait(Duration::from_millis(200))).await)
                .await;
        if deliveries.is_empty() && stopping && unfinished(&queue).await == 0 {
            return;
        }
        for delivery in deliveries {
            let id = delivery.items[0].id.to_string();
            let (lane, item) = id.split_once('-').unwrap();
            let (lane, item) = (Some(lane.parse().unwrap()), item.parse().unwrap());
            let entry = Entry { sent_after, lane, item, fence: delivery.reference.fence };
            history.record(entry);
            // A stale ack is no fault: the tail with this delivery may be lost.
            insist(async || queue.ack([delivery.reference]).await).await;
        }
    }
}

/// How many items still have to be handed out.
async fn unfinished(queue: &QueueHandle) -> i64 {
    let counts = insist(async || queue.counts().await).await;
    counts.pending + counts.in_process + counts.error
}

/// Takes one lease from the other person again and again, and creates tasks.
async fn take_over(turno: Turno, user: &'static str, history: Arc<History>) {
    for n in 0.. {
        if !history.goes_on() {
            return;
        }
        let sent_after = history.len();
        // A holder who claims again keeps the fence, so each claim is another person's.
        let fence = claim_lease(&turno, &format!("{user}{n}")).await;
        history.record(Entry { sent_after, lane: None, item: 0, fence });
        let task = new_task(&turno).await;
        history.tasks.lock().unwrap().push(task);
    }
}

/// Kills a server and promotes its standby, while the load goes on.
async fn fail_over(mut from: Cluster, mut to: Cluster) -> Cluster {
    let promoted = tokio::task::spawn_blocking(move || {
        from.kill().unwrap();
        to.promote().unwrap();
        to
    });
    promoted.await.unwrap()
}

/// Lives through two failovers under load, without waiting longer than `patience` for the next step.
async fn live_through(blind: bool, patience: Duration) -> Result<(), String> {
    let (site, spare) = Site::start_with_spare().await;
    let history = Arc::new(History::default());
    let mut load = JoinSet::new();
    for lane in 0..LANES {
        load.spawn_local(produce(site.queue(lane % 2).await, lane, history.clone()));
    }
    for (engine, worker) in [(0, "w1"), (1, "w2")] {
        load.spawn_local(consume(site.queue(engine).await, worker, history.clone()));
    }
    for (engine, user) in [(0, "ana"), (1, "eva")] {
        load.spawn_local(take_over(site.engines[engine].clone(), user, history.clone()));
    }
    let Site { mut primary, standby, stores, engines } = site;
    let mut moving = history.grows(STEP, patience).await;
    primary.freeze_replication().unwrap();
    moving &= history.grows(STEP, patience).await;
    stores.iter().for_each(|store| store.shared.lives.blind.store(blind, Ordering::SeqCst));
    let standby = fail_over(primary, standby).await;
    moving &= history.grows(STEP, patience).await;
    let _third = fail_over(standby, spare).await;
    let settled = history.len();
    moving &= history.grows(STEP, patience).await;
    history.stop.store(true, Ordering::SeqCst);
    moving &= tokio::time::timeout(patience, async { while load.join_next().await.is_some() {} }).await.is_ok();
    load.abort_all();
    history.check(2, settled)?;
    let findings = engines[0].check(|_| {}).await.map_err(|error| error.to_string())?;
    if moving && findings.is_empty() { Ok(()) } else { Err(format!("moving: {moving}, found: {findings:?}")) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_failovers_under_load_keep_order_and_repeat_no_number() {
    let lived = LocalSet::new().run_until(live_through(false, Duration::from_secs(60))).await;
    assert_eq!(lived, Ok(()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn control_the_history_of_processes_that_keep_their_memory_shows_it() {
    let fault = LocalSet::new().run_until(live_through(true, Duration::from_secs(3))).await;
    assert!(fault.as_ref().is_err_and(|fault| fault.contains("given twice")), "{fault:?}");
}
