//! `GET /locks` and `POST /locks/clear`.

use crate::cases;
use crate::queue::{add, audited, claim, made, settle};
use crate::world::{Running, World, answer};
use reqwest::Method;
use serde_json::json;

cases![
    locks_are_counted_by_key_over_all_lanes,
    clearing_over_http_cancels_waiting_items_and_makes_fences_stale,
    nothing_is_cleared_in_production,
];

async fn locks_are_counted_by_key_over_all_lanes(world: World) {
    let eva = made(&world, "bot", json!({ "kind": "lane", "window_ms": 0 })).await;
    made(&world, "mails", json!({ "kind": "inbox" })).await;
    let idle = world.client("vera").await.get("/locks").await.expect(200);
    assert_eq!(idle["stats"], json!({ "activeLocks": 0, "activeQueues": 0, "totalUsers": 0 }));
    let item = |key: &str| json!({ "key": key, "payload": 1 });
    add(&eva, "mails", json!([item("ana"), item("sol")])).await;
    add(&eva, "bot", json!([item("ana"), item("leo")])).await;
    assert_eq!(claim(&eva, "bot", "w").await.len(), 2);
    add(&eva, "bot", json!([item("ana"), item("eva")])).await;
    let busy = eva.get("/locks").await.expect(200);
    assert_eq!((&busy["system"], &busy["environment"]), (&json!("SimpleLockManager"), &json!("development")));
    assert_eq!(busy["stats"], json!({ "activeLocks": 2, "activeQueues": 2, "totalUsers": 3 }));
    let configuration =
        json!({ "timeoutSeconds": 15, "lockType": "user-based", "queueEnabled": true, "autoRelease": true });
    assert_eq!(busy["configuration"], configuration);
    let timestamp = busy["timestamp"].as_str().unwrap();
    assert!(timestamp.len() == 24 && timestamp.ends_with('Z') && timestamp.starts_with("20"), "{timestamp}");
    let members: Vec<&String> = busy.as_object().unwrap().keys().collect();
    assert_eq!(members.len(), 5, "{members:?}");
    world.anonymous().get("/locks").await.problem(401, "unauthenticated");
}

async fn clearing_over_http_cancels_waiting_items_and_makes_fences_stale(world: World) {
    let eva = made(&world, "bot", json!({ "kind": "lane", "window_ms": 0, "batch_max": 1 })).await;
    made(&world, "mails", json!({ "kind": "inbox" })).await;
    add(&eva, "bot", json!([{ "id": "m-1", "key": "ana", "payload": 1 }, { "id": "m-2", "key": "ana", "payload": 2 }]))
        .await;
    add(&eva, "mails", json!({ "id": "m-1", "payload": 1 })).await;
    let held = claim(&eva, "bot", "w").await.remove(0);
    let ana = world.client("ana").await;
    assert_eq!(ana.post("/locks/clear", json!({})).await.problem(403, "forbidden")["permission"], "queues.manage");
    world.anonymous().post("/locks/clear", json!({})).await.problem(401, "unauthenticated");
    assert_eq!(eva.post("/locks/clear", json!({ "key": "ana" })).await.problem(400, "bad_field")["field"], "key");
    let cleared = eva.post("/locks/clear", json!({})).await.expect(200);
    assert_eq!(cleared["message"], "Todos los locks y colas han sido limpiados");
    assert_eq!(cleared.as_object().unwrap().len(), 2);
    assert!(cleared["timestamp"].as_str().unwrap().ends_with('Z'));
    assert_eq!(settle(&eva, "bot", "ack", &held, json!({})).await["outcome"], "stale");
    let counts = &eva.get("/v1/queues/bot").await.expect(200)["counts"];
    assert_eq!((&counts["cancelled"], &counts["pending"], &counts["in_process"]), (&json!(2), &json!(0), &json!(0)));
    assert_eq!(eva.get("/v1/queues/mails").await.expect(200)["counts"]["pending"], 1, "only lanes are cleared");
    let stats = &eva.get("/locks").await.expect(200)["stats"];
    assert_eq!(*stats, json!({ "activeLocks": 0, "activeQueues": 0, "totalUsers": 0 }));
    assert_eq!(audited(&world, "lane_clear").await, [("eva".into(), "bot/ana".into())]);
    let life = async |id: &str| eva.get(&format!("/v1/queues/bot/items/{id}")).await;
    let timeline = life("m-1").await.expect(200)["timeline"].clone();
    let kinds: Vec<&str> = timeline.as_array().unwrap().iter().map(|one| one["what"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["enqueued", "cleared", "cancelled"], "the attempt in process and its end are listed");
    let (attempt, person) = (&timeline[1], &timeline[2]);
    assert_eq!((&attempt["fence"], &attempt["instance"]), (&held["fence"], &json!("w")));
    assert!(attempt["handed_at"].as_str().unwrap() <= attempt["at"].as_str().unwrap(), "{attempt}");
    assert_eq!((&person["user"], &person["reason"]), (&json!("eva"), &json!("lane_clear")));
    let waited = life("m-2").await.expect(200)["timeline"].clone();
    assert_eq!(
        (waited.as_array().unwrap().len(), &waited[1]["user"]),
        (2, &json!("eva")),
        "a waiting item has no attempt"
    );
    let english = eva.request(Method::POST, "/locks/clear").header("accept-language", "en");
    let english = answer(english.send().await.unwrap()).await.expect(200);
    assert_eq!(english["message"], "Todos los locks y colas han sido limpiados");
}

async fn nothing_is_cleared_in_production(world: World) {
    let eva = made(&world, "bot", json!({ "kind": "lane", "window_ms": 0 })).await;
    add(&eva, "bot", json!({ "key": "ana", "payload": 1 })).await;
    let production = match Running::in_production(&world.url) {
        Ok(production) => production,
        // The tests' cluster runs with fsync off, and production must refuse such a database (R4).
        Err(stderr) => {
            return assert!(stderr.contains("fsync = off") && world.url.starts_with("postgres:"), "{stderr}");
        }
    };
    let there = eva.at(&production);
    there.post("/locks/clear", json!({})).await.problem(403, "development_only");
    let seen = there.get("/locks").await.expect(200);
    assert_eq!((&seen["environment"], &seen["stats"]["activeQueues"]), (&json!("production"), &json!(1)));
    assert!(audited(&world, "lane_clear").await.is_empty());
}
