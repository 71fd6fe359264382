//! Seed 003, presentations in an inbox that several instances process: its two timelines, by their names, over two
//! servers on one database, and the hole that the seed left open.

use std::collections::HashMap;

use crate::cases;
use crate::queue::{add, claim, claim_with, ids, made, settle};
use crate::world::{Client, World};
use serde_json::{Value, json};

cases![
    timeline_1_before_the_solution_the_service_is_called_twice,
    timeline_2_with_the_atomic_update_the_service_is_called_once,
    an_exception_makes_the_presentation_unprocessed_again_for_the_next_run_of_the_scheduler,
    an_instance_that_dies_after_taking_a_presentation_does_not_keep_it,
    schedulers_of_two_instances_share_the_work_and_the_death_of_one_loses_nothing,
];

/// The web service that processes presentations, and counts how often it did.
#[derive(Default)]
pub(crate) struct WebService {
    looks_at_fences: bool,
    highest: HashMap<String, i64>,
    calls: Vec<String>,
}

impl WebService {
    /// Refuses a smaller fence than one it has seen for the same thing.
    pub(crate) fn fenced() -> WebService {
        WebService { looks_at_fences: true, ..WebService::default() }
    }

    /// Does whatever it is told.
    pub(crate) fn naive() -> WebService {
        WebService::default()
    }

    /// Does it under the delivery's fence; answers whether it did.
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

/// `SELECT … WHERE processed = false`: what a naive scheduler would process.
async fn unprocessed(client: &Client) -> Vec<String> {
    let page = client.get("/v1/queues/inbox/items?state=pending").await.expect(200);
    page["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

/// `UPDATE … WHERE id = ? AND processed = false`: the delivery if one row was updated, the code of the refusal if none.
async fn try_mark_as_processing(client: &Client, id: &str, instance: &str) -> Result<Value, String> {
    let answer = client.post(&format!("/v1/queues/inbox/items/{id}/claim"), json!({ "instance": instance })).await;
    if answer.status == 200 { Ok(answer.json()) } else { Err(answer.json()["code"].as_str().unwrap().to_owned()) }
}

// Escenario problemático (antes de la solución). This is the control of the next one: selecting takes nothing.
async fn timeline_1_before_the_solution_the_service_is_called_twice(world: World) {
    let second = world.second();
    let a = made(&world, "inbox", json!({ "kind": "inbox" })).await;
    let b = a.at(&second);
    add(&a, "inbox", json!({ "id": "x", "payload": { "presentation": "x" } })).await;
    let mut service = WebService::naive();
    // T1, T2: both select, and both get X.
    let (of_a, of_b) = tokio::join!(unprocessed(&a), unprocessed(&b));
    assert_eq!((of_a, of_b), (vec!["x".to_owned()], vec!["x".to_owned()]));
    // T3, T4: both process it, and mark it only afterwards.
    assert!(service.call("x", &json!({ "fence": 0 })) && service.call("x", &json!({ "fence": 0 })));
    let taken = try_mark_as_processing(&a, "x", "a").await.unwrap();
    settle(&a, "inbox", "ack", &taken, json!({})).await;
    // T6: no row for B, which has processed it already.
    assert_eq!(try_mark_as_processing(&b, "x", "b").await.unwrap_err(), "already_processed");
    assert_eq!(service.answered("x"), 2, "the web service was called twice");
}

// Escenario con la solución implementada: who updates the row processes, the other one skips.
async fn timeline_2_with_the_atomic_update_the_service_is_called_once(world: World) {
    let second = world.second();
    let a = made(&world, "inbox", json!({ "kind": "inbox" })).await;
    let b = a.at(&second);
    let ids: Vec<String> = (0..25).map(|n| format!("x-{n}")).collect();
    let records: Vec<Value> = ids.iter().map(|id| json!({ "id": id, "payload": { "presentation": id } })).collect();
    add(&a, "inbox", json!(records)).await;
    let mut service = WebService::naive();
    for id in &ids {
        // T1, T2: both try at the same time, several times over, as schedulers do.
        let (first, second, third) = tokio::join!(
            try_mark_as_processing(&a, id, "a"),
            try_mark_as_processing(&b, id, "b"),
            try_mark_as_processing(&b, id, "b-2"),
        );
        let mut won = Vec::new();
        for tried in [first, second, third] {
            match tried {
                // T3: one row was updated: process it.
                Ok(taken) => won.push(taken),
                // T4: none was: skip it.
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

// Manejo de Errores
async fn an_exception_makes_the_presentation_unprocessed_again_for_the_next_run_of_the_scheduler(world: World) {
    let second = world.second();
    let a = made(&world, "inbox", json!({ "kind": "inbox", "backoff_ms": 1 })).await;
    let b = a.at(&second);
    add(&a, "inbox", json!({ "id": "x", "payload": {} })).await;
    let taken = try_mark_as_processing(&a, "x", "a").await.unwrap();
    assert!(claim(&b, "inbox", "b").await.is_empty(), "it is taken");
    let failed = settle(&a, "inbox", "fail", &taken, json!({ "error": "Error processing presentation x" })).await;
    assert_eq!(failed["outcome"], "retrying");
    // The next run, at whichever instance.
    let again = claim_with(&b, "inbox", json!({ "instance": "b", "wait_ms": 20_000 })).await;
    assert_eq!((ids(&again), &again[0]["attempt"]), (vec!["x"], &json!(2)));
    let item = b.get("/v1/queues/inbox/items/x").await.expect(200);
    assert_eq!(item["errors"][0]["error"], "Error processing presentation x", "and the error is kept");
    settle(&b, "inbox", "ack", &again[0], json!({})).await;
    // The control: whoever does not say that it failed keeps it until its time is over.
    add(&a, "inbox", json!({ "id": "y", "payload": {} })).await;
    try_mark_as_processing(&a, "y", "a").await.unwrap();
    assert!(claim(&b, "inbox", "b").await.is_empty());
}

// What the seed left open: `processed = true` stays if the instance dies before it processes, and is lost for ever.
async fn an_instance_that_dies_after_taking_a_presentation_does_not_keep_it(mut world: World) {
    let second = world.second();
    let a = made(&world, "inbox", json!({ "kind": "inbox", "lock_timeout_ms": 3_000 })).await;
    let b = a.at(&second);
    let (mut careful, mut naive) = (WebService::fenced(), WebService::naive());
    add(&a, "inbox", json!({ "id": "x", "payload": {} })).await;
    let taken = try_mark_as_processing(&a, "x", "a").await.unwrap();
    world.server.kill();
    // The control: as long as it may still be at work, it is nobody else's.
    assert_eq!(try_mark_as_processing(&b, "x", "b").await.unwrap_err(), "already_claimed");
    let again = claim_with(&b, "inbox", json!({ "instance": "b", "wait_ms": 20_000 })).await.remove(0);
    assert_eq!(ids(std::slice::from_ref(&again)), ["x"]);
    // A was not dead but slow. Its fence is the smaller one: it can settle nothing, and the service refuses its call.
    assert!(careful.call("x", &again) && naive.call("x", &again));
    assert_eq!(settle(&b, "inbox", "ack", &taken, json!({})).await["outcome"], "stale");
    assert!(!careful.call("x", &taken));
    assert_eq!(settle(&b, "inbox", "ack", &again, json!({})).await["outcome"], "acked");
    assert_eq!(careful.answered("x"), 1);
    assert!(naive.call("x", &taken), "the control: a service that does not look at fences does it again");
    assert_eq!(naive.answered("x"), 2);
}

/// A scheduler: takes what there is, processes, marks. It knows of no other instance.
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

// Distribución automática: each instance works on other records, and nobody counts instances.
async fn schedulers_of_two_instances_share_the_work_and_the_death_of_one_loses_nothing(mut world: World) {
    let second = world.second();
    let a = made(&world, "inbox", json!({ "kind": "inbox", "lock_timeout_ms": 3_000 })).await;
    let b = a.at(&second);
    let records: Vec<Value> = (0..60).map(|n| json!({ "id": format!("x-{n}"), "payload": n })).collect();
    add(&a, "inbox", json!(records)).await;
    // One takes ten and dies with its server; the others go on meanwhile.
    let lost = claim_with(&a, "inbox", json!({ "instance": "a", "max": 10 })).await;
    assert_eq!(lost.len(), 10);
    world.server.kill();
    let schedulers = (0..3).map(|n| tokio::spawn(scheduler(b.fresh(), format!("b-{n}"))));
    let mut done = Vec::new();
    for scheduler in schedulers.collect::<Vec<_>>() {
        done.extend(scheduler.await.unwrap());
    }
    // What the dead one had comes back when its time is over: waiting for the first of it is waiting for that.
    while done.len() < 60 {
        for delivery in claim_with(&b, "inbox", json!({ "instance": "b", "max": 100, "wait_ms": 20_000 })).await {
            settle(&b, "inbox", "ack", &delivery, json!({})).await;
            done.push((ids(std::slice::from_ref(&delivery))[0].to_owned(), delivery));
        }
    }
    let mut seen: Vec<&str> = done.iter().map(|(id, _)| id.as_str()).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!((seen.len(), done.len()), (60, 60), "all of them, each once");
    assert!(lost.iter().all(|old| {
        done.iter().any(|(id, new)| ids(std::slice::from_ref(old))[0] == id && new["fence"] != old["fence"])
    }));
}
