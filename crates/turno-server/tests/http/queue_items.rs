//! Enqueues over HTTP.

use crate::cases;
use crate::queue::{add, claim, claim_with, ids, made, settle};
use crate::world::{Answer, World, answer};
use reqwest::Method;
use serde_json::{Value, json};

cases![
    an_id_is_accepted_once_whatever_its_payload,
    a_batch_of_items_is_accepted_in_order_or_not_at_all,
    an_invalid_item_is_refused_with_its_index,
    an_enqueue_under_a_key_happens_once,
    a_newer_change_replaces_the_unfinished_one_of_its_key,
    payloads_are_returned_byte_for_byte,
    a_payload_nested_too_deep_is_refused_with_the_limit,
    a_delayed_item_is_not_handed_out_before_its_delay,
    typing_extends_a_window_only_if_an_item_waits,
];

async fn an_id_is_accepted_once_whatever_its_payload(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    let first = add(&eva, "mails", json!({ "id": "m-1", "payload": { "n": 1 } })).await;
    assert_eq!(first, json!([{ "id": "m-1", "outcome": "queued" }]));
    let again = add(&eva, "mails", json!({ "id": "m-1", "payload": { "n": 1 } })).await;
    assert_eq!(again, json!([{ "id": "m-1", "outcome": "duplicate", "differs": false }]));
    let other = add(&eva, "mails", json!([{ "id": "m-1", "payload": { "n": 2 } }, { "payload": { "n": 1 } }])).await;
    assert_eq!(other[0], json!({ "id": "m-1", "outcome": "duplicate", "differs": true }));
    assert_eq!(other[1]["outcome"], "queued", "the same payload without an id is another item");
    let got = claim(&eva, "mails", "w").await;
    assert_eq!((got.len(), &got[0]["items"][0]["payload"]), (2, &json!({ "n": 1 })));
    settle(&eva, "mails", "ack", &got[0], json!({})).await;
    let late = add(&eva, "mails", json!({ "id": "m-1", "payload": { "n": 1 } })).await;
    assert_eq!(late[0]["outcome"], "duplicate", "also after the item is processed");
}

async fn a_batch_of_items_is_accepted_in_order_or_not_at_all(world: World) {
    let eva = made(&world, "bot", json!({ "kind": "lane", "window_ms": 0 })).await;
    let wrong = json!([{ "id": "a", "key": "ana", "payload": 1 }, { "id": "b", "payload": 2 }]);
    let refused = eva.post("/v1/queues/bot/items", wrong).await.problem(400, "bad_field");
    assert_eq!(refused["field"], "[1].key");
    eva.get("/v1/queues/bot/items/a").await.problem(404, "not_found");
    let many: Vec<Value> = (0..1_000).map(|n| json!({ "id": format!("i{n}"), "key": "ana", "payload": n })).collect();
    let results = add(&eva, "bot", json!(many)).await;
    let order: Vec<&Value> = results.as_array().unwrap().iter().map(|result| &result["id"]).collect();
    assert_eq!(order, many.iter().map(|item| &item["id"]).collect::<Vec<_>>());
    let got = claim(&eva, "bot", "w").await;
    assert_eq!(ids(&got), (0..50).map(|n| format!("i{n}")).collect::<Vec<_>>(), "a full batch, in order");
    let too_many: Vec<Value> = (0..1_001).map(|n| json!({ "key": "ana", "payload": n })).collect();
    eva.post("/v1/queues/bot/items", json!(too_many)).await.problem(400, "bad_body");
    assert_eq!(add(&eva, "bot", json!([])).await, json!([]));
}

async fn an_invalid_item_is_refused_with_its_index(world: World) {
    let eva = made(&world, "bot", json!({ "kind": "lane" })).await;
    let good = json!({ "key": "ana", "payload": 1 });
    for (wrong, field) in [
        (json!({ "key": "ana" }), "payload"),
        (json!({ "payload": 1 }), "key"),
        (json!({ "key": "", "payload": 1 }), "key"),
        (json!({ "key": "a\nb", "payload": 1 }), "key"),
        (json!({ "key": 7, "payload": 1 }), "key"),
        (json!({ "key": "ana", "payload": 1, "id": "x".repeat(201) }), "id"),
        (json!({ "key": "ana", "payload": 1, "action": "á".repeat(201) }), "action"),
        (json!({ "key": "ana", "payload": 1, "action": "a\tb" }), "action"),
        (json!({ "key": "ana", "payload": 1, "delay_ms": -1 }), "delay_ms"),
        (json!({ "key": "ana", "payload": 1, "delay_ms": i64::MAX }), "delay_ms"),
        (json!({ "key": "ana", "payload": 1, "delay_ms": 1.5 }), "delay_ms"),
        (json!({ "key": "ana", "payload": 1, "prio": 1 }), "prio"),
    ] {
        let one = eva.post("/v1/queues/bot/items", wrong.clone()).await.problem(400, "bad_field");
        assert_eq!(one["field"], field, "{wrong}");
        let among = json!([good, good, good, wrong]);
        let many = eva.post("/v1/queues/bot/items", among).await.problem(400, "bad_field");
        assert_eq!(many["field"], format!("[3].{field}"), "{wrong}");
    }
    for wrong in [json!(1), json!("x"), json!(null)] {
        eva.post("/v1/queues/bot/items", wrong).await.problem(400, "bad_body");
    }
    assert_eq!(eva.get("/v1/queues/bot").await.expect(200)["counts"]["pending"], 0, "no item was stored");
    add(&eva, "bot", json!({ "key": "ana", "payload": 1, "action": "á".repeat(200) })).await;
}

async fn a_newer_change_replaces_the_unfinished_one_of_its_key(world: World) {
    let eva = made(&world, "users", json!({ "kind": "sync" })).await;
    let first = json!({ "id": "c-1", "key": "7", "action": "ACTUALIZAR", "payload": "old" });
    assert_eq!(add(&eva, "users", first).await[0]["outcome"], "queued");
    let newer = add(&eva, "users", json!({ "id": "c-2", "key": "7", "action": "DESACTIVAR", "payload": "new" })).await;
    assert_eq!(newer, json!([{ "id": "c-1", "outcome": "coalesced" }]), "the answer has the id of the surviving item");
    let again = add(&eva, "users", json!({ "id": "c-2", "key": "7", "action": "DESACTIVAR", "payload": "new" })).await;
    assert_eq!((&again[0]["id"], &again[0]["outcome"]), (&json!("c-1"), &json!("duplicate")), "a repeat has it, too");
    let got = claim(&eva, "users", "w").await;
    let item = &got[0]["items"][0];
    assert_eq!((got.len(), &item["payload"], &item["action"]), (1, &json!("new"), &json!("DESACTIVAR")));
    let before = got[0]["revision"].as_i64().unwrap();
    // The key changes once more during its delivery.
    add(&eva, "users", json!({ "key": "7", "payload": "newest" })).await;
    assert_eq!(settle(&eva, "users", "ack", &got[0], json!({})).await["outcome"], "superseded");
    let again = claim(&eva, "users", "w").await;
    assert_eq!(again[0]["items"][0]["payload"], "newest");
    assert!(again[0]["revision"].as_i64().unwrap() > before);
    for _ in ["while another delivery is live", "after the item is finished"] {
        let repeated = settle(&eva, "users", "ack", &got[0], json!({})).await;
        assert_eq!((&repeated["outcome"], &repeated["repeated"]), (&json!("superseded"), &json!(true)));
        assert_eq!(settle(&eva, "users", "ack", &again[0], json!({})).await["outcome"], "acked");
    }
}

async fn payloads_are_returned_byte_for_byte(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    for (index, payload) in [
        "1e400",
        "-0.0",
        "123456789012345678901234567890.1234567890123456789",
        r#""\u0000 \u00e9 é e\u0301 \ud83d\ude00 \/""#,
        "{ \"b\" : 1,\n\t\"a\":2, \"a\" :3 }",
        "null",
        "\"\"",
        "[[],{}]",
    ]
    .into_iter()
    .enumerate()
    {
        let body = format!(r#"{{"id":"m-{index}", "payload" : {payload} }}"#);
        let request = eva.request(Method::POST, "/v1/queues/mails/items").header("content-type", "application/json");
        answer(request.body(body).send().await.unwrap()).await.expect(201);
        let got = eva.post("/v1/queues/mails/claim", json!({ "instance": "w" })).await;
        let kept = format!(r#""payload":{payload},"attempt":1"#);
        assert!(got.text.contains(&kept), "{payload}: {}", got.text);
        let seen = eva.get(&format!("/v1/queues/mails/items/m-{index}")).await;
        assert!(seen.text.contains(&format!(r#""payload":{payload},"state""#)), "{payload}: {}", seen.text);
    }
}

async fn a_payload_nested_too_deep_is_refused_with_the_limit(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox", "max_attempts": 1 })).await;
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let refused = eva.post("/v1/queues/mails/items", json!({ "id": "m-1", "payload": nested(101) })).await;
    let refused = refused.problem(422, "payload_too_deep");
    assert_eq!((&refused["field"], &refused["limit"]), (&json!("payload"), &json!(100)));
    let many = json!([{ "payload": 1 }, { "payload": nested(101) }]);
    let refused = eva.post("/v1/queues/mails/items", many).await.problem(422, "payload_too_deep");
    assert_eq!(refused["field"], "[1].payload");
    add(&eva, "mails", json!({ "id": "m-1", "payload": nested(100) })).await;
    let got = claim(&eva, "mails", "w").await;
    assert_eq!(got[0]["items"][0]["payload"], nested(100), "an accepted payload can be read back");
    settle(&eva, "mails", "fail", &got[0], json!({ "error": "no" })).await;
    let deeper = json!({ "payload": nested(101) });
    eva.post("/v1/queues/mails/items/m-1/retry", deeper).await.problem(422, "payload_too_deep");
}

async fn a_delayed_item_is_not_handed_out_before_its_delay(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    let item = |id: &str, delay: i64| json!({ "id": id, "payload": 1, "delay_ms": delay });
    add(&eva, "mails", json!([item("late", 3_600_000), item("soon", 300)])).await;
    let got = claim_with(&eva, "mails", json!({ "instance": "w", "max": 9, "wait_ms": 10_000 })).await;
    assert_eq!(ids(&got), ["soon"]);
    let soon = eva.get("/v1/queues/mails/items/soon").await.expect(200);
    let at = |time: &Value| time.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_millisecond();
    assert!(at(&soon["holder"]["handed_at"]) >= at(&soon["enqueued_at"]) + 300, "{soon}");
    let why = eva.get("/v1/queues/mails/items/late/why").await.expect(200);
    assert_eq!((&why["running"], &why["reason"]), (&json!(false), &json!("delayed")));
    let late = eva.get("/v1/queues/mails/items/late").await.expect(200);
    assert_eq!((&late["state"], &late["due_at"]), (&json!("pending"), &why["until"]));
}

async fn typing_extends_a_window_only_if_an_item_waits(world: World) {
    let policy = json!({ "kind": "lane", "window_ms": 10_000, "typing_extension_ms": 20_000, "max_wait_ms": 60_000 });
    let eva = made(&world, "bot", policy).await;
    let typing = async |key: &str| eva.post("/v1/queues/bot/typing", json!({ "key": key })).await.expect(202);
    typing("leo").await;
    add(&eva, "bot", json!([{ "key": "ana", "payload": 1 }, { "key": "leo", "payload": 2 }])).await;
    typing("ana").await;
    let until = async |key: &str| {
        let why = eva.get(&format!("/v1/queues/bot/keys/{key}/why")).await.expect(200);
        assert_eq!(why["reason"], "window_open");
        why["until"].as_str().unwrap().to_owned()
    };
    let (ana, leo) = (until("ana").await, until("leo").await);
    assert!(ana > leo, "ana is typing; leo typed before an item waited: {ana} {leo}");
    let refused = eva.post("/v1/queues/bot/typing", json!({})).await.problem(400, "bad_field");
    assert_eq!(refused["field"], "key");
    eva.post("/v1/queues/bot/typing", json!({ "key": "ana", "for": 3 })).await.problem(400, "bad_field");
}

async fn an_enqueue_under_a_key_happens_once(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    made(&world, "other", json!({ "kind": "inbox" })).await;
    let send = async |queue: &str, key: &str, body: &Value| -> Answer {
        let request = eva.request(Method::POST, &format!("/v1/queues/{queue}/items")).header("idempotency-key", key);
        answer(request.json(body).send().await.unwrap()).await
    };
    let body = json!([{ "payload": 1 }, { "payload": 1 }, { "id": "m-3", "payload": 3 }]);
    let (first, meanwhile) = tokio::join!(send("mails", "k-1", &body), send("mails", "k-1", &body));
    assert_eq!(first.expect(201), meanwhile.expect(201), "concurrent calls get the same answer");
    let again = send("mails", "k-1", &body).await;
    assert_eq!(again.expect(201), first.json());
    assert_eq!(again.headers["idempotency-replayed"], "true");
    let outcomes: Vec<Value> =
        first.json()["results"].as_array().unwrap().iter().map(|result| result["outcome"].clone()).collect();
    assert_eq!(outcomes, ["queued", "queued", "queued"]);
    send("mails", "k-1", &json!({ "payload": 2 })).await.problem(422, "idempotency_key_reused");
    send("other", "k-1", &body).await.problem(422, "idempotency_key_reused");
    send("mails", "two words", &body).await.problem(400, "bad_header");
    assert_eq!(send("mails", "k-2", &body).await.expect(201)["results"][2]["outcome"], "duplicate");
    assert_eq!(
        eva.get("/v1/queues/mails").await.expect(200)["counts"]["pending"],
        5,
        "three items, and two under the other key"
    );
    // A refusal is not kept, because nothing was stored. A corrected call under the same key is accepted.
    send("mails", "k-3", &json!({ "payload": 1, "delay_ms": -1 })).await.problem(400, "bad_field");
    assert_eq!(send("mails", "k-3", &json!({ "payload": 1 })).await.expect(201)["results"][0]["outcome"], "queued");
}
