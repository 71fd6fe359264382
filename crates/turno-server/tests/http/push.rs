//! Push: Turno calls an endpoint for every delivery of a queue.

use crate::cases;
use crate::queue::{add, made};
use crate::receiver::{PATIENCE, Received, Receiver};
use crate::world::{Client, Running, World};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

cases![
    a_pushed_delivery_equals_a_claimed_one_and_is_signed,
    an_unsigned_push_has_no_signature_headers,
    a_failed_push_is_tried_again_under_the_same_id_and_a_greater_fence,
    a_push_that_always_fails_is_exhausted_with_all_its_errors,
    a_push_that_is_not_answered_in_time_is_a_failed_attempt,
    a_receiver_can_ask_for_a_later_retry,
    a_key_is_pushed_in_order_one_call_at_a_time_and_beside_other_keys,
    a_group_of_a_lane_is_pushed_in_one_call,
    a_redirect_is_not_followed,
    a_lost_delivery_ends_its_call_and_settles_nothing,
    a_push_follows_changes_of_its_endpoint_and_ends_with_its_removal,
    an_endpoint_from_the_configuration_cannot_be_changed_over_the_api,
    a_stop_waits_for_calls_and_returns_unfinished_deliveries,
    the_push_from_get_can_be_put_back_and_any_other_hidden_url_is_refused,
];

/// Creates a queue that is pushed to the receiver.
pub(crate) async fn pushed(world: &World, queue: &str, policy: Value, push: Value) -> Client {
    let mut policy = policy;
    policy["push"] = push;
    made(world, queue, policy).await
}

/// Waits until the item is in this state and returns it.
pub(crate) async fn item_in(client: &Client, queue: &str, id: &str, state: &str) -> Value {
    let path = format!("/v1/queues/{queue}/items/{id}");
    let waiting = async {
        loop {
            let item = client.get(&path).await.expect(200);
            if item["state"] == state {
                return item;
            }
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("{id} never was {state}"))
}

/// Computes HMAC-SHA256 by its definition, without the crate that signs.
fn hmac(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut block = [0_u8; 64];
    if key.len() > 64 {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let pad = |with: u8| block.map(|byte| byte ^ with);
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().to_vec()
}

fn is_signed_with(call: &Received, key: &[u8]) -> bool {
    let signed = format!("{}.{}.{}", call.header("webhook-id"), call.header("webhook-timestamp"), call.text);
    let expected = format!("v1,{}", STANDARD.encode(hmac(key, signed.as_bytes())));
    call.header("webhook-signature").split(' ').any(|signature| signature == expected)
}

async fn a_pushed_delivery_equals_a_claimed_one_and_is_signed(world: World) {
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    let server = Running::with(&world.url, &[], &[("TURNO_PUSH_SECRET_TEST", secret)]);
    let mut receiver = Receiver::start().await;
    let eva = world.client("eva").await.at(&server);
    let push = json!({ "url": receiver.url("/in/{key}?from=turno"), "secret_env": "TURNO_PUSH_SECRET_TEST" });
    let put = json!({ "kind": "lane", "window_ms": 0, "push": push });
    let made = eva.send(Method::PUT, "/v1/queues/bot", put).await.expect(200);
    assert_eq!(
        made["push"]["url"],
        json!(receiver.url("/in/{key}?***")),
        "the query string is hidden, because it may be secret"
    );
    assert_eq!((&made["push"]["method"], &made["push"]["timeout_ms"]), (&json!("POST"), &json!(10_000)));
    add(&eva, "bot", json!({ "id": "m-1", "key": "ana/ñ", "payload": { "n": 1 } })).await;
    let call = receiver.next().await;
    assert_eq!((call.method.as_str(), call.uri.to_string().as_str()), ("POST", "/in/ana%2F%C3%B1?from=turno"));
    assert!(is_signed_with(&call, &STANDARD.decode(&secret[6..]).unwrap()), "{call:?}");
    assert!(!is_signed_with(&call, b"another secret"), "the control: another secret does not match");
    let body = call.json();
    assert_eq!((&body["queue"], &body["key"]), (&json!("bot"), &json!("ana/ñ")));
    assert_eq!((&body["attempt"], body["fence"].as_i64()), (&json!(1), Some(call.fence())));
    assert_eq!((&body["items"][0]["id"], &body["items"][0]["payload"]), (&json!("m-1"), &json!({ "n": 1 })));
    assert_eq!((call.header("turno-attempt"), call.header("content-type")), ("1", "application/json"));
    assert_eq!(call.header("idempotency-key"), call.header("webhook-id"));
    assert_eq!(item_in(&eva, "bot", "m-1", "in_process").await["attempts"], 1);
    call.answer_with(204, &[], "");
    item_in(&eva, "bot", "m-1", "processed").await;
    let metrics = eva.get("/metrics").await.text;
    assert!(metrics.contains(r#"turno_deliveries_total{queue="bot",outcome="delivered"} 1"#), "{metrics}");
}

async fn an_unsigned_push_has_no_signature_headers(world: World) {
    let mut receiver = Receiver::start().await;
    let eva =
        pushed(&world, "mails", json!({ "kind": "inbox" }), json!({ "url": receiver.url("/"), "method": "PUT" })).await;
    add(&eva, "mails", json!({ "id": "m-1", "payload": 1 })).await;
    let call = receiver.next().await;
    assert_eq!((call.method.as_str(), call.headers.get("webhook-signature")), ("PUT", None));
    assert_eq!(call.json()["key"], Value::Null);
    call.answer(200);
    item_in(&eva, "mails", "m-1", "processed").await;
}

async fn a_failed_push_is_tried_again_under_the_same_id_and_a_greater_fence(world: World) {
    let mut receiver = Receiver::start().await;
    let policy = json!({ "kind": "inbox", "backoff_ms": 1 });
    let eva = pushed(&world, "mails", policy, json!({ "url": receiver.url("/") })).await;
    add(&eva, "mails", json!({ "id": "m-1", "payload": 1 })).await;
    let first = receiver.next().await;
    let (id, fence) = (first.header("webhook-id").to_owned(), first.fence());
    first.answer_with(503, &[], "closed\nfor lunch");
    let second = receiver.next().await;
    assert_eq!((second.header("webhook-id"), second.header("turno-attempt")), (id.as_str(), "2"));
    assert!(second.fence() > fence);
    second.answer(200);
    let item = item_in(&eva, "mails", "m-1", "processed").await;
    assert_eq!((&item["attempts"], &item["errors"][0]["error"]), (&json!(2), &json!("HTTP 503: closed for lunch")));
}

async fn a_push_that_always_fails_is_exhausted_with_all_its_errors(world: World) {
    let mut receiver = Receiver::start().await;
    let policy = json!({ "kind": "inbox", "backoff_ms": 1, "max_attempts": 4 });
    let eva = pushed(&world, "mails", policy, json!({ "url": receiver.url("/") })).await;
    add(&eva, "mails", json!({ "id": "m-1", "payload": 1 })).await;
    for status in [500, 404, 410, 301] {
        receiver.next().await.answer(status);
    }
    let item = item_in(&eva, "mails", "m-1", "exhausted").await;
    let errors: Vec<_> = item["errors"].as_array().unwrap().iter().map(|error| error["error"].clone()).collect();
    assert_eq!(errors, ["HTTP 500", "HTTP 404", "HTTP 410", "HTTP 301"], "one key alone is not an outage");
    assert!(!receiver.has_more());
}

async fn a_push_that_is_not_answered_in_time_is_a_failed_attempt(world: World) {
    let mut receiver = Receiver::start().await;
    let policy = json!({ "kind": "inbox", "backoff_ms": 1, "max_attempts": 1 });
    let eva = pushed(&world, "mails", policy, json!({ "url": receiver.url("/"), "timeout_ms": 150 })).await;
    add(&eva, "mails", json!({ "id": "m-1", "payload": 1 })).await;
    receiver.next().await.abandoned().await;
    let item = item_in(&eva, "mails", "m-1", "exhausted").await;
    assert_eq!(item["errors"][0]["error"], "timed out after 150 ms");
    let address = receiver.address;
    drop(receiver);
    eva.post("/v1/queues/mails/items/m-1/retry", json!({})).await.expect(200);
    let waiting = async {
        loop {
            let item = eva.get("/v1/queues/mails/items/m-1").await.expect(200);
            if item["errors"].as_array().unwrap().len() == 2 {
                return item["errors"][1]["error"].clone();
            }
        }
    };
    let error = tokio::time::timeout(PATIENCE, waiting).await.unwrap();
    assert_eq!(error, "connection refused", "{address} is closed");
}

async fn a_receiver_can_ask_for_a_later_retry(world: World) {
    let mut receiver = Receiver::start().await;
    let policy = json!({ "kind": "inbox", "backoff_ms": 1 });
    let eva = pushed(&world, "mails", policy, json!({ "url": receiver.url("/") })).await;
    add(&eva, "mails", json!({ "id": "m-1", "payload": 1 })).await;
    receiver.next().await.answer_with(429, &[("retry-after", "600")], "");
    item_in(&eva, "mails", "m-1", "error").await;
    let record = world.turno.queue("mails").await.unwrap().item("m-1".try_into().unwrap()).await.unwrap().unwrap();
    let wait = record.errors[0].retry_at.unwrap() - record.errors[0].at;
    assert_eq!(wait.0, 600_000);
}

async fn a_key_is_pushed_in_order_one_call_at_a_time_and_beside_other_keys(world: World) {
    let mut receiver = Receiver::start().await;
    let policy = json!({ "kind": "lane", "window_ms": 0, "batch_max": 1, "backoff_ms": 1 });
    let eva = pushed(&world, "bot", policy, json!({ "url": receiver.url("/{key}") })).await;
    let message = |id: &str, key: &str| json!({ "id": id, "key": key, "payload": id });
    add(&eva, "bot", json!([message("a1", "ana"), message("a2", "ana"), message("l1", "leo")])).await;
    let mut first = [receiver.next().await, receiver.next().await];
    first.sort_by_key(|call| call.uri.to_string());
    let [ana, leo] = first;
    assert_eq!(
        (ana.ids(), leo.ids()),
        (vec!["a1".to_owned()], vec!["l1".to_owned()]),
        "both keys are called at the same time"
    );
    leo.answer(200);
    item_in(&eva, "bot", "l1", "processed").await;
    assert!(!receiver.has_more(), "a2 waits for a1");
    ana.answer(500);
    let again = receiver.next().await;
    assert_eq!(again.ids(), ["a1"], "the order holds across retries");
    again.answer(200);
    let next = receiver.next().await;
    assert_eq!(next.ids(), ["a2"]);
    next.answer(200);
    item_in(&eva, "bot", "a2", "processed").await;
}

async fn a_group_of_a_lane_is_pushed_in_one_call(world: World) {
    let mut receiver = Receiver::start().await;
    let policy = json!({ "kind": "lane", "window_ms": 60_000, "max_wait_ms": 60_000, "batch_max": 3 });
    let eva = pushed(&world, "bot", policy, json!({ "url": receiver.url("/") })).await;
    for id in ["a1", "a2", "a3"] {
        add(&eva, "bot", json!({ "id": id, "key": "ana", "payload": id })).await;
    }
    let call = receiver.next().await;
    assert_eq!(call.ids(), ["a1", "a2", "a3"]);
    call.answer(200);
    for id in ["a1", "a2", "a3"] {
        item_in(&eva, "bot", id, "processed").await;
    }
}

async fn a_redirect_is_not_followed(world: World) {
    let mut receiver = Receiver::start().await;
    let inside = Receiver::start().await;
    let policy = json!({ "kind": "inbox", "max_attempts": 1 });
    let eva = pushed(&world, "mails", policy, json!({ "url": receiver.url("/") })).await;
    add(&eva, "mails", json!({ "id": "m-1", "payload": 1 })).await;
    receiver.next().await.answer_with(307, &[("location", &inside.url("/secret"))], "");
    let item = item_in(&eva, "mails", "m-1", "exhausted").await;
    assert_eq!(item["errors"][0]["error"], "HTTP 307");
    assert!(!inside.has_more());
}

async fn a_lost_delivery_ends_its_call_and_settles_nothing(world: World) {
    let mut receiver = Receiver::start().await;
    let policy = json!({ "kind": "lane", "window_ms": 0, "lock_timeout_ms": 1_000, "max_hold_ms": 30_000 });
    let eva = pushed(&world, "bot", policy, json!({ "url": receiver.url("/") })).await;
    add(&eva, "bot", json!({ "id": "a1", "key": "ana", "payload": 1 })).await;
    let call = receiver.next().await;
    // A person clears the lane, so the next heartbeat finds the delivery gone.
    eva.post("/locks/clear", json!({})).await.expect(200);
    call.abandoned().await;
    let item = item_in(&eva, "bot", "a1", "cancelled").await;
    assert_eq!(item["errors"], json!([]));
}

async fn a_push_follows_changes_of_its_endpoint_and_ends_with_its_removal(world: World) {
    let (mut before, mut after) = (Receiver::start().await, Receiver::start().await);
    let eva = pushed(&world, "mails", json!({ "kind": "inbox" }), json!({ "url": before.url("/") })).await;
    add(&eva, "mails", json!({ "id": "m-1", "payload": 1 })).await;
    let under_way = before.next().await;
    pushed(&world, "mails", json!({ "kind": "inbox" }), json!({ "url": after.url("/") })).await;
    under_way.answer(200);
    item_in(&eva, "mails", "m-1", "processed").await;
    let mut pending = 1;
    // Deliveries that the old pusher claimed before the change still go to the old endpoint.
    loop {
        pending += 1;
        add(&eva, "mails", json!({ "id": format!("m-{pending}"), "payload": 1 })).await;
        let call = tokio::select! {
            call = before.next() => call,
            call = after.next() => { call.answer(200); break }
        };
        call.answer(200);
    }
    item_in(&eva, "mails", &format!("m-{pending}"), "processed").await;
    let seen =
        made(&world, "mails", json!({ "kind": "inbox", "push": null })).await.get("/v1/queues/mails").await.expect(200);
    assert_eq!((&seen["push"], &seen["destination"]), (&Value::Null, &Value::Null));
    let claimed = async {
        loop {
            add(&eva, "mails", json!({ "payload": 1 })).await;
            let claim = json!({ "instance": "w", "wait_ms": 100 });
            let got = eva.post("/v1/queues/mails/claim", claim).await.expect(200);
            if !got["deliveries"].as_array().unwrap().is_empty() {
                return;
            }
            if after.has_more() {
                after.next().await.answer(200);
            }
        }
    };
    tokio::time::timeout(PATIENCE, claimed).await.expect("workers can claim from the queue");
}

async fn an_endpoint_from_the_configuration_cannot_be_changed_over_the_api(world: World) {
    let mut receiver = Receiver::start().await;
    let file = std::env::temp_dir().join(format!("turno-push-{}-{}.toml", std::process::id(), receiver.address.port()));
    let url = receiver.url("/bot");
    let text = format!(
        "[queues.bot]\nkind = \"lane\"\nwindow_ms = 0\n[queues.bot.push]\nurl = \"{url}\"\nsecret_env = \"BOT\"\n"
    );
    std::fs::write(&file, text).unwrap();
    let server = Running::with(&world.url, &["--config", file.to_str().unwrap()], &[("BOT", "hush")]);
    std::fs::remove_file(&file).unwrap();
    let eva = world.client("eva").await.at(&server);
    add(&eva, "bot", json!({ "id": "a1", "key": "ana", "payload": 1 })).await;
    let call = receiver.next().await;
    assert!(is_signed_with(&call, b"hush"));
    call.answer(200);
    item_in(&eva, "bot", "a1", "processed").await;
    let seen = eva.get("/v1/queues/bot").await.expect(200);
    assert_eq!((&seen["push"]["url"], &seen["push"]["secret_env"]), (&json!(url), &json!("BOT")));
    assert!(!seen.to_string().contains("hush"));
    let put = json!({ "kind": "lane", "push": { "url": "http://127.0.0.1:9/" } });
    eva.send(Method::PUT, "/v1/queues/bot", put).await.problem(409, "managed_by_config");
}

async fn a_stop_waits_for_calls_and_returns_unfinished_deliveries(world: World) {
    let mut receiver = Receiver::start().await;
    let mut world = world;
    let eva = pushed(&world, "mails", json!({ "kind": "inbox" }), json!({ "url": receiver.url("/{key}") })).await;
    world.server.kill();
    let mut server = Running::start(&world.url, &["--limits-stop-grace-ms", "1500"]);
    let eva = eva.at(&server);
    add(
        &eva,
        "mails",
        json!([{ "id": "quick", "key": "q", "payload": 1 }, { "id": "slow", "key": "s", "payload": 1 }]),
    )
    .await;
    let mut calls = [receiver.next().await, receiver.next().await];
    calls.sort_by_key(|call| call.uri.to_string());
    let [quick, slow] = calls;
    server.tell_to_stop();
    // The server has received the signal once it is not ready any more.
    while reqwest::get(format!("{}/readyz", server.base)).await.is_ok_and(|answer| answer.status() == 200) {}
    quick.answer(200);
    slow.abandoned().await;
    let stopped = tokio::task::spawn_blocking(move || server.stop()).await.unwrap();
    assert_eq!(stopped, Some(0));
    let queue = world.turno.queue("mails").await.unwrap();
    let item = |id: &'static str| {
        let queue = queue.clone();
        async move { queue.item(id.try_into().unwrap()).await.unwrap().unwrap() }
    };
    assert!(item("quick").await.done.is_some(), "the quick call was answered in time");
    let slow = item("slow").await.item.unwrap();
    assert_eq!((slow.attempt, slow.expires_at), (0, None), "the delivery was returned and counts no attempt");
}

async fn the_push_from_get_can_be_put_back_and_any_other_hidden_url_is_refused(world: World) {
    let mut receiver = Receiver::start().await;
    let push = json!({ "url": receiver.url("/in?token=s3cret") });
    let eva = pushed(&world, "mails", json!({ "kind": "inbox" }), push).await;
    let read = eva.get("/v1/queues/mails").await.expect(200)["push"].clone();
    assert_eq!(read["url"], receiver.url("/in?***"));
    pushed(&world, "mails", json!({ "kind": "inbox", "max_attempts": 3 }), read).await;
    add(&eva, "mails", json!([{ "id": "m-1", "payload": 1 }])).await;
    let call = receiver.next().await;
    assert_eq!(call.uri, "/in?token=s3cret");
    call.answer(200);
    let hidden = json!({ "kind": "inbox", "push": { "url": receiver.url("/other?***") } });
    let refused = eva.send(Method::PUT, "/v1/queues/mails", hidden).await.expect(400);
    assert_eq!(refused["field"], "push.url");
}
