//! Presentations in an inbox that several instances process. Two timelines over two servers on one database: without
//! and with an atomic claim, and an instance that dies after the claim.

use std::collections::HashMap;

use crate::cases;
use crate::queue::{add, claim, claim_with, ids, made, settle};
use crate::world::{Client, World};
use serde_json::{Value, json};

cases![
    timeline_1_without_an_atomic_claim_the_service_is_called_twice,
    timeline_2_with_an_atomic_claim_the_service_is_called_once,
    a_failed_presentation_is_claimed_by_the_next_run_of_a_scheduler,
    a_presentation_of_a_dead_instance_is_claimed_by_another,
    schedulers_of_two_instances_share_the_items_and_a_crash_loses_none,
];

/// The web service that processes presentations and counts the calls.
#[derive(Default)]
pub(crate) struct WebService {
    looks_at_fences: bool,
    highest: HashMap<String, i64>,
    calls: Vec<String>,
}

impl WebService {
    /// Returns a service that refuses a smaller fence than it has seen for the same presentation.
    pub(crate) fn fenced() -> WebService {
        WebService { looks_at_fences: true, ..WebService::default() }
    }

    /// Returns a service that ignores fences.
    pub(crate) fn naive() -> WebService {
        WebService::default()
    }

    /// Calls the service under the delivery's fence. Returns whether it accepted the call.
    pub(crate) fn call(&mut self, id: &str, delivery: &Value) -> bool {
        let fence = delivery["fence"].as_i64().unwrap();
        let highest = self.highest.entry(id.to_owned()).or_default();
        if self.looks_at_fences && fence < *highest {
            return false;
        }
        *highest = fence.max(*highest);
        self.calls.push(id.to_owned());
        true
    }

    pub(crate) fn answered(&self, id: &str) -> usize {
        self.calls.iter().filter(|call| *call == id).count()
    }
}

/// `SELECT … WHERE processed = false`: the items that a naive scheduler would process.
async fn unprocessed(client: &Client) -> Vec<String> {
    let page = client.get("/v1/queues/inbox/items?state=pending").await.expect(200);
    page["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

/// `UPDATE … WHERE id = ? AND processed = false`: returns the delivery if one row was updated, else the refusal's
/// code.
async fn try_mark_as_processing(client: &Client, id: &str, instance: &str) -> Result<Value, String> {
    let answer = client.post(&format!("/v1/queues/inbox/items/{id}/claim"), json!({ "instance": instance })).await;
    if answer.status == 200 { Ok(answer.json()) } else { Err(answer.json()["code"].as_str().unwrap().to_owned()) }
}

// The problem before the solution, and the control of the next case: a select takes nothing.
async fn timeline_1_without_an_atomic_claim_the_service_is_called_twice(world: World) {
    let second = world.second();
    let a = made(&world, "inbox", json!({ "kind": "inbox" })).await;
    let b = a.at(&second);
    add(&a, "inbox", json!({ "id": "x", "payload": { "presentation": "x" } })).await;
    let mut service = WebService::naive();
    // T1, T2: both instances select, and both get X.
    let (seen_by_a, seen_by_b) = tokio::join!(unprocessed(&a), unprocessed(&b));
    assert_eq!((seen_by_a, seen_by_b), (vec!["x".to_owned()], vec!["x".to_owned()]));
    // T3, T4: both process X and mark it only afterwards.
    assert!(service.call("x", &json!({ "fence": 0 })) && service.call("x", &json!({ "fence": 0 })));
    let taken = try_mark_as_processing(&a, "x", "a").await.unwrap();
    settle(&a, "inbox", "ack", &taken, json!({})).await;
    // T6: no row is updated for B, which has already processed X.
    assert_eq!(try_mark_as_processing(&b, "x", "b").await.unwrap_err(), "already_processed");
    assert_eq!(service.answered("x"), 2, "the web service was called twice");
}

// With the solution: the instance that updates the row processes it, the other one skips it.
async fn timeline_2_with_an_atomic_claim_the_service_is_called_once(world: World) {
    let second = world.second();
    let a = made(&world, "inbox", json!({ "kind": "inbox" })).await;
    let b = a.at(&second);
    let ids: Vec<String> = (0..25).map(|n| format!("x-{n}")).collect();
    let records: Vec<Value> = ids.iter().map(|id| json!({ "id": id, "payload": { "presentation": id } })).collect();
    add(&a, "inbox", json!(records)).await;
    let mut service = WebService::naive();
    for id in &ids {
        // T1, T2: both try at the same time, several times, as schedulers do.
        let (first, second, third) = tokio::join!(
            try_mark_as_processing(&a, id, "a"),
            try_mark_as_processing(&b, id, "b"),
            try_mark_as_processing(&b, id, "b-2"),
        );
        let mut won = Vec::new();
        for tried in [first, second, third] {
            match tried {
                // T3: one row was updated, so process it.
                Ok(taken) => won.push(taken),
                // T4: no row was updated, so skip it.
                Err(code) => assert_eq!(code, "already_claimed"),
            }
        }
        assert_eq!(won.len(), 1, "exactly one wins {id}");
        assert!(service.call(id, &won[0]));
        assert_eq!(settle(&a, "inbox", "ack", &won[0], json!({})).await["outcome"], "acked");
        assert_eq!(try_mark_as_processing(&b, id, "b").await.unwrap_err(), "already_processed");
    }
    assert!(ids.iter().all(|id| service.answered(id) == 1), "{:?}", service.calls);
    assert!(unprocessed(&b).await.is_empty());
}

// Errors during processing.
async fn a_failed_presentation_is_claimed_by_the_next_run_of_a_scheduler(world: World) {
    let second = world.second();
    let a = made(&world, "inbox", json!({ "kind": "inbox", "backoff_ms": 1 })).await;
    let b = a.at(&second);
    add(&a, "inbox", json!({ "id": "x", "payload": {} })).await;
    let taken = try_mark_as_processing(&a, "x", "a").await.unwrap();
    assert!(claim(&b, "inbox", "b").await.is_empty(), "the item is in process");
    let failed = settle(&a, "inbox", "fail", &taken, json!({ "error": "Error processing presentation x" })).await;
    assert_eq!(failed["outcome"], "retrying");
    // The next run, on any instance.
    let again = claim_with(&b, "inbox", json!({ "instance": "b", "wait_ms": 20_000 })).await;
    assert_eq!((ids(&again), &again[0]["attempt"]), (vec!["x"], &json!(2)));
    let item = b.get("/v1/queues/inbox/items/x").await.expect(200);
    assert_eq!(item["errors"][0]["error"], "Error processing presentation x", "the error is kept");
    settle(&b, "inbox", "ack", &again[0], json!({})).await;
    // The control: an item that is not settled stays taken until its delivery expires.
    add(&a, "inbox", json!({ "id": "y", "payload": {} })).await;
    try_mark_as_processing(&a, "y", "a").await.unwrap();
    assert!(claim(&b, "inbox", "b").await.is_empty());
}

// With a plain `processed = true`, an item would be lost if the instance dies before it processes it.
async fn a_presentation_of_a_dead_instance_is_claimed_by_another(mut world: World) {
    let second = world.second();
    let a = made(&world, "inbox", json!({ "kind": "inbox", "lock_timeout_ms": 3_000 })).await;
    let b = a.at(&second);
    let (mut careful, mut naive) = (WebService::fenced(), WebService::naive());
    add(&a, "inbox", json!({ "id": "x", "payload": {} })).await;
    let taken = try_mark_as_processing(&a, "x", "a").await.unwrap();
    world.server.kill();
    // The control: until the delivery expires, no other instance gets the item.
    assert_eq!(try_mark_as_processing(&b, "x", "b").await.unwrap_err(), "already_claimed");
    let again = claim_with(&b, "inbox", json!({ "instance": "b", "wait_ms": 20_000 })).await.remove(0);
    assert_eq!(ids(std::slice::from_ref(&again)), ["x"]);
    // A was slow, not dead. Its fence is smaller, so its settlement is stale and the service refuses its call.
    assert!(careful.call("x", &again) && naive.call("x", &again));
    assert_eq!(settle(&b, "inbox", "ack", &taken, json!({})).await["outcome"], "stale");
    assert!(!careful.call("x", &taken));
    assert_eq!(settle(&b, "inbox", "ack", &again, json!({})).await["outcome"], "acked");
    assert_eq!(careful.answered("x"), 1);
    assert!(naive.call("x", &taken), "the control: a service that ignores fences processes it again");
    assert_eq!(naive.answered("x"), 2);
}

/// Runs a scheduler: claims all items, processes them and acks. It knows of no other instance.
async fn scheduler(client: Client, instance: String) -> Vec<(String, Value)> {
    let mut done = Vec::new();
    loop {
        let taken = claim_with(&client, "inbox", json!({ "instance": instance, "max": 3 })).await;
        if taken.is_empty() {
            return done;
        }
        for delivery in taken {
            if settle(&client, "inbox", "ack", &delivery, json!({})).await["outcome"] == "acked" {
                done.push((ids(std::slice::from_ref(&delivery))[0].to_owned(), delivery));
            }
        }
    }
}

// Instances share the items without knowing of each other.
async fn schedulers_of_two_instances_share_the_items_and_a_crash_loses_none(mut world: World) {
    let second = world.second();
    let a = made(&world, "inbox", json!({ "kind": "inbox", "lock_timeout_ms": 3_000 })).await;
    let b = a.at(&second);
    let records: Vec<Value> = (0..60).map(|n| json!({ "id": format!("x-{n}"), "payload": n })).collect();
    add(&a, "inbox", json!(records)).await;
    // One instance takes ten items and dies with its server, while the others go on.
    let lost = claim_with(&a, "inbox", json!({ "instance": "a", "max": 10 })).await;
    assert_eq!(lost.len(), 10);
    world.server.kill();
    let schedulers = (0..3).map(|n| tokio::spawn(scheduler(b.fresh(), format!("b-{n}"))));
    let mut done = Vec::new();
    for scheduler in schedulers.collect::<Vec<_>>() {
        done.extend(scheduler.await.unwrap());
    }
    // The items of the dead instance come back when their deliveries expire.
    while done.len() < 60 {
        for delivery in claim_with(&b, "inbox", json!({ "instance": "b", "max": 100, "wait_ms": 20_000 })).await {
            settle(&b, "inbox", "ack", &delivery, json!({})).await;
            done.push((ids(std::slice::from_ref(&delivery))[0].to_owned(), delivery));
        }
    }
    let mut seen: Vec<&str> = done.iter().map(|(id, _)| id.as_str()).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!((seen.len(), done.len()), (60, 60), "every item once");
    assert!(lost.iter().all(|old| {
        done.iter().any(|(id, new)| ids(std::slice::from_ref(old))[0] == id && new["fence"] != old["fence"])
    }));
}
