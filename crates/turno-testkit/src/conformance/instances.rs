//! Several instances that work on one database at the same time.

use super::world::{World, draft, holder, put, queue_name, resource, strict, take_one};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use turno::Turno;
use turno::core::id::{ItemId, QueueName};
use turno::core::lease::{Action, Command, Policy as LeasePolicy};
use turno::core::queue::{Accepted, Act, Kind, Policy, SettleOutcome};
use turno::core::time::Span;
use turno::queue::{Claim, Draft, QueueHandle};
use turno::store::PutQueue;

super::cases![
    lanes_keep_order_and_exclusion_over_two_instances,
    an_inbox_is_processed_once_over_two_instances,
    the_same_id_is_accepted_once_over_two_instances,
    a_lease_is_held_once_over_two_instances,
    a_change_on_another_instance_supersedes_the_running_delivery,
    a_policy_changed_on_another_instance_is_noticed,
    a_policy_changed_on_another_instance_applies_to_renewals_and_settlements_here,
    a_queue_change_based_on_an_outdated_version_changes_nothing,
    work_of_a_dead_instance_is_taken_over,
    a_waiting_claim_wakes_on_new_work_of_another_instance,
];

async fn both(world: &World, policy: Policy) -> [QueueHandle; 2] {
    let first = world.queue(policy).await;
    let second = world.instance().await.queue(queue_name()).await.unwrap();
    [first, second]
}

async fn lanes_keep_order_and_exclusion_over_two_instances(world: World) {
    const KEYS: usize = 12;
    const EACH: usize = 15;
    let queues = both(&world, strict()).await;
    let mut tasks = tokio::task::JoinSet::new();
    for (half, queue) in queues.iter().cloned().enumerate() {
        tasks.spawn(async move {
            for n in 0..EACH {
                for key in (0..KEYS).filter(|key| key % 2 == half) {
                    put(&queue, &format!("k{key}"), &[&format!("{key}/{n}")]).await;
                }
            }
        });
    }
    // An observer beside the workers records per key whether a delivery is in process, and the last item.
    let seen: Arc<Mutex<HashMap<String, (bool, usize)>>> = Arc::default();
    let done = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    for worker in 0..6 {
        let (queue, seen, done) = (queues[worker % 2].clone(), seen.clone(), done.clone());
        tasks.spawn(async move {
            while done.load(std::sync::atomic::Ordering::SeqCst) < KEYS * EACH {
                for got in queue.claim(Claim::by(format!("w{worker}")).max(3)).await.unwrap() {
                    let (key, n) = got.items[0].id.as_str().split_once('/').unwrap();
                    let n: usize = n.parse().unwrap();
                    {
                        let mut seen = seen.lock().unwrap();
                        let entry = seen.entry(key.to_owned()).or_insert((false, 0));
                        assert!(!entry.0, "two deliveries of key {key} at once");
                        assert_eq!(entry.1, n, "key {key} out of order");
                        *entry = (true, n + 1);
                    }
                    tokio::task::yield_now().await;
                    seen.lock().unwrap().get_mut(key).unwrap().0 = false;
                    let settled = queue.ack([got.reference]).await.unwrap();
                    assert_eq!(settled[0].outcome, SettleOutcome::Acked);
                    done.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                }
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(queues[0].counts().await.unwrap().processed, (KEYS * EACH) as i64);
}

async fn an_inbox_is_processed_once_over_two_instances(world: World) {
    let queues = both(&world, Policy::for_kind(Kind::Inbox)).await;
    let drafts: Vec<Draft> = (0..400).map(|n| draft("any", &n.to_string())).collect();
    queues[0].enqueue(drafts).await.unwrap();
    let mut tasks = tokio::task::JoinSet::new();
    for worker in 0..8 {
        let queue = queues[worker % 2].clone();
        tasks.spawn(async move {
            let mut ids: Vec<ItemId> = Vec::new();
            loop {
                let got = queue.claim(Claim::by(format!("w{worker}")).max(10)).await.unwrap();
                if got.is_empty() {
                    break ids;
                }
                let settled = queue.ack(got.iter().map(|got| got.reference)).await.unwrap();
                assert!(settled.iter().all(|settled| settled.outcome == SettleOutcome::Acked));
                ids.extend(got.into_iter().map(|got| got.items[0].id.clone()));
            }
        });
    }
    let mut all: Vec<ItemId> = tasks.join_all().await.into_iter().flatten().collect();
    let total = all.len();
    all.sort();
    all.dedup();
    assert_eq!((total, all.len()), (400, 400));
}

async fn the_same_id_is_accepted_once_over_two_instances(world: World) {
    let queues = both(&world, Policy::for_kind(Kind::Inbox)).await;
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..40 {
        let queue = queues[n % 2].clone();
        tasks.spawn(async move { put(&queue, "any", &[&(n / 4).to_string()]).await.remove(0) });
    }
    let queued = tasks.join_all().await.into_iter().filter(|answer| *answer == Accepted::Queued).count();
    assert_eq!(queued, 10);
    assert_eq!(queues[1].counts().await.unwrap().pending, 10);
}

async fn a_lease_is_held_once_over_two_instances(world: World) {
    let other = world.instance().await;
    let held = Arc::new(Mutex::new(false));
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..6 {
        let turno: Turno = if n % 2 == 0 { world.turno.clone() } else { other.clone() };
        let held = held.clone();
        tasks.spawn(async move {
            let mut fences = Vec::new();
            while fences.len() < 10 {
                let who = holder(&format!("u{n}"));
                let command = |action| Command {
                    resource: resource(),
                    who: who.clone(),
                    via: None,
                    policy: LeasePolicy::default(),
                    action,
                };
                let answer = turno.lease_command(command(Action::Claim { ttl: None, wait: false })).await.unwrap();
                if answer.answer.is_err() {
                    tokio::task::yield_now().await;
                    continue;
                }
                assert!(!std::mem::replace(&mut *held.lock().unwrap(), true), "two holders at once");
                let fence = answer.state.grant.unwrap().fence;
                fences.push(fence);
                tokio::task::yield_now().await;
                *held.lock().unwrap() = false;
                turno.lease_command(command(Action::Release { fence, claim: None })).await.unwrap().answer.unwrap();
            }
            fences
        });
    }
    let mut fences: Vec<_> = tasks.join_all().await.into_iter().flatten().collect();
    fences.sort();
    fences.dedup();
    assert_eq!(fences.len(), 60, "every fence is unique");
}

async fn a_change_on_another_instance_supersedes_the_running_delivery(world: World) {
    let queues = both(&world, Policy::for_kind(Kind::Sync)).await;
    put(&queues[0], "idper-1", &["a"]).await;
    let old = take_one(&queues[0]).await;
    put(&queues[1], "idper-1", &["b"]).await;
    let settled = queues[0].ack([old.reference]).await.unwrap();
    assert_eq!(settled[0].outcome, SettleOutcome::Superseded);
    assert_eq!(take_one(&queues[1]).await.attempt, 1);
}

async fn a_policy_changed_on_another_instance_is_noticed(world: World) {
    let queues = both(&world, Policy::for_kind(Kind::Inbox)).await;
    put(&queues[0], "any", &["1", "2"]).await;
    let first = take_one(&queues[0]).await;
    assert_eq!(first.expires_at - first.now, Span(60_000));
    let name: QueueName = queue_name();
    let policy = Policy { lock_timeout: Span(5_000), ..Policy::for_kind(Kind::Inbox) };
    world.instance().await.put_queue(name, policy).await.unwrap();
    let second = take_one(&queues[0]).await;
    assert_eq!(second.expires_at - second.now, Span(5_000));
}

async fn a_policy_changed_on_another_instance_applies_to_renewals_and_settlements_here(world: World) {
    let here = world.queue(Policy { max_attempts: 1, ..Policy::for_kind(Kind::Inbox) }).await;
    put(&here, "any", &["x"]).await;
    let taken = take_one(&here).await;
    let longer = Policy { lock_timeout: Span(600_000), max_attempts: 20, ..Policy::for_kind(Kind::Inbox) };
    let there = world.instance().await;
    there.put_queue(queue_name(), longer).await.unwrap();
    let settle =
        async |act| here.settle(vec![turno::queue::Settlement { reference: taken.reference, act }]).await.unwrap();
    // No claim runs here, which would read the policy. Only the hint of the other instance carries the change, and a
    // hint takes time.
    let mut tries = 0;
    loop {
        match settle(Act::Beat).await[0].outcome {
            SettleOutcome::Renewed { expires_at, .. } if expires_at - taken.now > Span(60_000) => break,
            _ => tries += 1,
        }
        assert!(tries < 10_000, "the heartbeat still uses the old policy");
    }
    let failed = Act::Fail { error: "no".into(), item: None, retry_in: None, give_up: false };
    assert!(matches!(settle(failed).await[0].outcome, SettleOutcome::Retrying { .. }));
}

async fn a_queue_change_based_on_an_outdated_version_changes_nothing(world: World) {
    let (here, there) = (world.instance().await, world.instance().await);
    let made = PutQueue { seen: Some(0), ..PutQueue::new(queue_name(), Policy::for_kind(Kind::Inbox)) };
    assert!(here.change_queue(made.clone()).await.unwrap(), "no queue existed");
    assert!(!there.change_queue(made).await.unwrap(), "the queue exists now");
    let seen = here.queue(queue_name()).await.unwrap().row().await.unwrap();
    let change = |policy| PutQueue { seen: Some(seen.version), ..PutQueue::new(queue_name(), policy) };
    let theirs = Policy { max_attempts: 7, ..seen.policy.clone() };
    assert!(there.change_queue(change(theirs.clone())).await.unwrap());
    let ours = Policy { backoff: Span(7), ..seen.policy.clone() };
    assert!(!here.change_queue(change(ours.clone())).await.unwrap(), "the expected policy is outdated");
    let policy = async || here.queues().await.unwrap().remove(0).policy;
    assert_eq!(policy().await, theirs);
    here.put_queue(queue_name(), ours.clone()).await.unwrap();
    assert_eq!(policy().await, ours, "a change without an expected policy overwrites");
    let gone = PutQueue { seen: Some(1), ..PutQueue::new(QueueName::new("none").unwrap(), ours) };
    assert!(!here.change_queue(gone).await.unwrap());
    assert_eq!(here.queues().await.unwrap().len(), 1, "no queue is created");
}

async fn work_of_a_dead_instance_is_taken_over(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    put(&queue, "any", &["x"]).await;
    let dead = world.instance().await;
    let lost = take_one(&dead.queue(queue_name()).await.unwrap()).await;
    drop(dead);
    world.advance(60_000);
    let taken = take_one(&queue).await;
    assert_eq!((taken.items[0].id.as_str(), taken.attempt), ("x", 2));
    let late = queue
        .settle(vec![turno::queue::Settlement { reference: lost.reference, act: Act::Ack { through: None } }])
        .await
        .unwrap();
    assert_eq!(late[0].outcome, SettleOutcome::Stale);
}

async fn a_waiting_claim_wakes_on_new_work_of_another_instance(world: World) {
    let queues = both(&world, Policy::for_kind(Kind::Inbox)).await;
    let waiter = queues[1].clone();
    let waiting =
        tokio::spawn(async move { waiter.claim(Claim::by("w").wait(Duration::from_millis(60_000))).await.unwrap() });
    tokio::task::yield_now().await;
    put(&queues[0], "any", &["x"]).await;
    // The clock stands still, so only a hint from the other instance can wake the claim.
    assert_eq!(waiting.await.unwrap()[0].items[0].id.as_str(), "x");
}
