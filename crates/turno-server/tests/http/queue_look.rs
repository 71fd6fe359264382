//! Reads of items over HTTP, `why`, retries and cancellations.

use crate::cases;
use crate::queue::{add, audited, claim, ids, made, settle};
use crate::world::{Client, World, answer};
use reqwest::Method;
use serde_json::{Value, json};

cases![
    an_item_shows_its_whole_timeline,
    items_are_listed_by_state_and_key_in_pages,
    why_names_the_worker_and_the_time_in_the_callers_language,
    why_of_a_key_is_that_of_its_first_unfinished_item,
    a_retried_item_keeps_its_order_in_the_lane,
    an_item_is_corrected_and_retried,
    an_item_in_process_or_finished_is_neither_retried_nor_cancelled,
    exhausted_items_are_retried_all_or_by_key,
];

/// Exhausts an item with a final failure.
async fn exhaust(client: &Client, queue: &str, id: &str) {
    let got =
        client.post(&format!("/v1/queues/{queue}/items/{id}/claim"), json!({ "instance": "w-1" })).await.expect(200);
    settle(client, queue, "fail", &got, json!({ "error": "no route", "final": true })).await;
}

async fn an_item_shows_its_whole_timeline(world: World) {
    let eva = made(&world, "bot", json!({ "kind": "lane", "window_ms": 0 })).await;
    add(&eva, "bot", json!({ "id": "m/1", "key": "ana", "action": "say", "payload": [1] })).await;
    let path = "/v1/queues/bot/items/m%2F1";
    let fresh = eva.get(path).await.expect(200);
    assert_eq!((&fresh["id"], &fresh["key"], &fresh["action"]), (&json!("m/1"), &json!("ana"), &json!("say")));
    assert_eq!((&fresh["state"], &fresh["attempts"], &fresh["holder"]), (&json!("pending"), &json!(0), &Value::Null));
    let got = claim(&eva, "bot", "w-1").await.remove(0);
    let held = eva.get(path).await.expect(200);
    assert_eq!((&held["state"], &held["attempts"]), (&json!("in_process"), &json!(1)));
    assert_eq!((&held["holder"]["instance"], &held["holder"]["fence"]), (&json!("w-1"), &got["fence"]));
    assert_eq!(held["holder"]["expires_at"], got["expires_at"]);
    settle(&eva, "bot", "fail", &got, json!({ "error": "busy", "retry_in_ms": 0 })).await;
    let failed = eva.get(path).await.expect(200);
    assert_eq!((&failed["state"], &failed["last_error"]), (&json!("error"), &json!("busy")));
    let error = &failed["errors"][0];
    assert_eq!((&error["attempt"], &error["fence"], &error["instance"]), (&json!(1), &got["fence"], &json!("w-1")));
    let got = claim(&eva, "bot", "w-2").await.remove(0);
    settle(&eva, "bot", "ack", &got, json!({})).await;
    let done = eva.get(path).await.expect(200);
    assert_eq!((&done["state"], &done["attempts"]), (&json!("processed"), &json!(2)));
    assert_eq!((&done["holder"]["instance"], &done["holder"]["fence"]), (&json!("w-2"), &got["fence"]));
    assert!(done["finished_at"].as_str() >= done["enqueued_at"].as_str());
    eva.get("/v1/queues/bot/items/none").await.problem(404, "not_found");
}

async fn items_are_listed_by_state_and_key_in_pages(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    let item = |n: i32| json!({ "id": format!("m-{n}"), "key": if n % 2 == 0 { "ana" } else { "leo" }, "payload": n });
    add(&eva, "mails", (1..=6).map(item).collect()).await;
    exhaust(&eva, "mails", "m-2").await;
    eva.post("/v1/queues/mails/items/m-3/cancel", json!({})).await.expect(200);
    eva.post("/v1/queues/mails/items/m-4/claim", json!({ "instance": "w" })).await.expect(200);
    let listed = async |query: &str| -> Vec<String> {
        let page = eva.get(&format!("/v1/queues/mails/items?{query}")).await.expect(200);
        assert_eq!(page["next_cursor"], Value::Null);
        page["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(listed("").await, ["m-1", "m-2", "m-3", "m-4", "m-5", "m-6"]);
    for (state, expected) in [
        ("pending", &["m-1", "m-5", "m-6"][..]),
        ("in_process", &["m-4"]),
        ("processed", &[]),
        ("error", &[]),
        ("exhausted", &["m-2"]),
        ("cancelled", &["m-3"]),
    ] {
        assert_eq!(listed(&format!("state={state}")).await, expected, "{state}");
    }
    assert_eq!(listed("key=leo").await, ["m-1", "m-3", "m-5"]);
    assert_eq!(listed("key=leo&state=pending").await, ["m-1", "m-5"]);
    assert!(listed("key=nobody").await.is_empty());
    assert_eq!(listed("limit=1000").await.len(), 6);
    let first = eva.get("/v1/queues/mails/items?limit=4").await.expect(200);
    let cursor = first["next_cursor"].as_str().unwrap();
    assert_eq!(first["items"].as_array().unwrap().len(), 4);
    assert_eq!(listed(&format!("limit=4&cursor={cursor}")).await, ["m-5", "m-6"]);
    for wrong in ["state=done", "state=", "limit=0", "cursor=6d2d31", "cursor=x", "order=asc", "key=", "key=a%0Ab"] {
        let problem = eva.get(&format!("/v1/queues/mails/items?{wrong}")).await.problem(400, "bad_query");
        assert_eq!(problem["field"].as_str(), wrong.split('=').next(), "{wrong}");
    }
}

async fn why_names_the_worker_and_the_time_in_the_callers_language(world: World) {
    let eva = made(&world, "bot", json!({ "kind": "lane", "window_ms": 0, "batch_max": 1 })).await;
    let item = |id: &str, key: &str, delay: i64| json!({ "id": id, "key": key, "payload": 1, "delay_ms": delay });
    add(&eva, "bot", json!([item("m-1", "ana", 0), item("m-2", "ana", 0), item("m-3", "leo", 7_200_000)])).await;
    let why = async |id: &str, language: &str| -> Value {
        let request = eva.request(Method::GET, &format!("/v1/queues/bot/items/{id}/why"));
        answer(request.header("accept-language", language).send().await.unwrap()).await.expect(200)
    };
    let says = |why: &Value, reason: &str, words: &str| {
        assert_eq!((&why["running"], &why["reason"]), (&json!(reason == "running"), &json!(reason)));
        assert!(why["detail"].as_str().unwrap().contains(words), "{why}");
    };
    says(&why("m-1", "es").await, "ready", "Ningún proceso consume");
    says(&why("m-2", "es").await, "behind_head", "detrás de m-1");
    says(&why("m-3", "es").await, "delayed", "en 2 horas");
    says(&why("m-3", "en").await, "delayed", "in 2 hours");
    let got = claim(&eva, "bot", "bot-7").await.remove(0);
    let running = why("m-1", "en").await;
    says(&running, "running", "bot-7");
    assert_eq!((&running["instance"], &running["fence"]), (&json!("bot-7"), &got["fence"]));
    assert_eq!(running["until"], got["expires_at"]);
    let behind = why("m-2", "es").await;
    says(&behind, "behind_in_flight", "bot-7");
    assert_eq!(behind["behind"], "m-1");
    settle(&eva, "bot", "fail", &got, json!({ "error": "no answer", "retry_in_ms": 3_600_000 })).await;
    says(&why("m-1", "en").await, "retry_later", "no answer");
    says(&why("m-1", "es").await, "retry_later", "60 minutos");
    eva.post("/v1/queues/bot/pause", json!({})).await.expect(200);
    says(&why("m-1", "es").await, "paused", "en pausa");
    eva.post("/v1/queues/bot/items/m-1/cancel", json!({})).await.expect(200);
    says(&why("m-1", "es").await, "cancelled", "Se canceló hace");
    eva.get("/v1/queues/bot/items/none/why").await.problem(404, "not_found");
}

async fn why_of_a_key_is_that_of_its_first_unfinished_item(world: World) {
    let eva = made(&world, "bot", json!({ "kind": "lane", "window_ms": 0, "on_exhausted": "hold" })).await;
    let why = async || eva.get("/v1/queues/bot/keys/ana%20p%C3%A9rez/why").await.expect(200);
    let empty = why().await;
    assert_eq!((&empty["running"], &empty["reason"], &empty["item"]), (&json!(false), &json!("empty"), &Value::Null));
    assert!(empty["detail"].as_str().unwrap().contains("ana pérez"));
    add(&eva, "bot", json!({ "id": "m-1", "key": "ana pérez", "payload": 1 })).await;
    assert_eq!((&why().await["reason"], &why().await["item"]), (&json!("ready"), &json!("m-1")));
    let got = claim(&eva, "bot", "w-1").await.remove(0);
    assert_eq!((&why().await["running"], &why().await["instance"]), (&json!(true), &json!("w-1")));
    settle(&eva, "bot", "fail", &got, json!({ "error": "poison", "final": true })).await;
    let held = why().await;
    assert_eq!((&held["reason"], &held["behind"]), (&json!("lane_held"), &json!("m-1")));
    eva.get(&format!("/v1/queues/bot/keys/{}/why", "x".repeat(201))).await.problem(404, "not_found");
}

async fn a_retried_item_keeps_its_order_in_the_lane(world: World) {
    let eva =
        made(&world, "bot", json!({ "kind": "lane", "window_ms": 0, "batch_max": 1, "on_exhausted": "hold" })).await;
    add(&eva, "bot", json!([{ "id": "m-1", "key": "ana", "payload": 1 }, { "id": "m-2", "key": "ana", "payload": 2 }]))
        .await;
    exhaust(&eva, "bot", "m-1").await;
    assert!(claim(&eva, "bot", "w").await.is_empty(), "the exhausted item holds its lane");
    let over = eva.post("/v1/queues/bot/items/m-1/claim", json!({ "instance": "w" })).await;
    let over = over.problem(409, "already_processed");
    assert_eq!(over["state"], "exhausted");
    assert!(over["detail"].as_str().unwrap().contains("agotado") && over["detail"].as_str().unwrap().contains("retry"));
    let item = eva.post("/v1/queues/bot/items/m-1/retry", json!({})).await.expect(200);
    assert_eq!((&item["id"], &item["state"], &item["attempts"]), (&json!("m-1"), &json!("pending"), &json!(0)));
    let again = eva.post("/v1/queues/bot/items/m-1/retry", json!({})).await.problem(409, "wrong_state");
    assert_eq!(again["state"], "pending");
    let got = claim(&eva, "bot", "w").await;
    assert_eq!((ids(&got), &got[0]["attempt"]), (vec!["m-1"], &json!(1)));
    assert_eq!(audited(&world, "item_retry").await, [("eva".into(), "bot/m-1".into())]);
    eva.post("/v1/queues/bot/items/none/retry", json!({})).await.problem(404, "not_found");
    eva.post("/v1/queues/bot/items/none/cancel", json!({})).await.problem(404, "not_found");
}

async fn an_item_is_corrected_and_retried(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    add(&eva, "mails", json!([{ "id": "m-1", "payload": { "to": "ana@" } }, { "id": "m-2", "payload": 1 }])).await;
    exhaust(&eva, "mails", "m-1").await;
    exhaust(&eva, "mails", "m-2").await;
    let body = r#"{"payload": { "to" :"ana@example.org"} }"#;
    let request = eva.request(Method::POST, "/v1/queues/mails/items/m-1/retry");
    let corrected = answer(request.header("content-type", "application/json").body(body).send().await.unwrap()).await;
    corrected.expect(200);
    assert!(
        corrected.text.contains(r#""payload":{ "to" :"ana@example.org"}"#),
        "the payload is unchanged: {}",
        corrected.text
    );
    eva.post("/v1/queues/mails/items/m-2/retry", json!({ "payload": null })).await.expect(200);
    let got = claim(&eva, "mails", "w").await;
    assert_eq!(got[0]["items"][0]["payload"], json!({ "to": "ana@example.org" }));
    assert_eq!(got[1]["items"][0]["payload"], Value::Null, "null is a valid payload");
    let edits = [("eva".to_owned(), "mails/m-1".to_owned()), ("eva".to_owned(), "mails/m-2".to_owned())];
    assert_eq!(audited(&world, "item_edit").await, edits);
    eva.post("/v1/queues/mails/items/m-1/retry", json!({ "pyload": 1 })).await.problem(400, "bad_field");
}

async fn an_item_in_process_or_finished_is_neither_retried_nor_cancelled(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    add(&eva, "mails", json!([{ "id": "m-1", "payload": 1 }, { "id": "m-2", "payload": 2 }])).await;
    let got = eva.post("/v1/queues/mails/items/m-1/claim", json!({ "instance": "w" })).await.expect(200);
    for how in ["retry", "cancel"] {
        let refused =
            eva.post(&format!("/v1/queues/mails/items/m-1/{how}"), json!({})).await.problem(409, "wrong_state");
        assert_eq!(refused["state"], "in_process", "{how}");
    }
    settle(&eva, "mails", "ack", &got, json!({})).await;
    for how in ["retry", "cancel"] {
        let refused =
            eva.post(&format!("/v1/queues/mails/items/m-1/{how}"), json!({})).await.problem(409, "wrong_state");
        assert_eq!(refused["state"], "processed", "{how}");
    }
    let cancelled = eva.post("/v1/queues/mails/items/m-2/cancel", json!({})).await.expect(200);
    assert_eq!(cancelled["state"], "cancelled");
    assert!(claim(&eva, "mails", "w").await.is_empty());
    let over = eva.post("/v1/queues/mails/items/m-2/claim", json!({ "instance": "w" })).await;
    let over = over.problem(409, "already_processed");
    assert_eq!(over["state"], "cancelled");
    assert!(over["detail"].as_str().unwrap().contains("se canceló"), "{over}");
    assert_eq!(audited(&world, "item_cancel").await, [("eva".into(), "mails/m-2".into())]);
}

async fn exhausted_items_are_retried_all_or_by_key(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    let item = |n: i32| json!({ "id": format!("m-{n}"), "key": if n == 1 { "ana" } else { "leo" }, "payload": n });
    add(&eva, "mails", (1..=4).map(item).collect()).await;
    for id in ["m-1", "m-2", "m-3"] {
        exhaust(&eva, "mails", id).await;
    }
    let path = "/v1/queues/mails/retry-exhausted";
    assert_eq!(eva.post(path, json!({ "key": "ana" })).await.expect(200), json!({ "retried": 1 }));
    assert_eq!(eva.post(path, json!({})).await.expect(200), json!({ "retried": 2 }));
    assert_eq!(eva.post(path, json!({})).await.expect(200), json!({ "retried": 0 }));
    assert_eq!(ids(&claim(&eva, "mails", "w").await).len(), 4);
    assert_eq!(audited(&world, "item_retry").await.len(), 3);
    eva.post(path, json!({ "key": "" })).await.problem(400, "bad_field");
}
