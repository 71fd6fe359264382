//! A destination that fails as a whole is not called except by probes, and its outage costs no attempts.

use crate::cases;
use crate::push::{item_in, pushed};
use crate::queue::{add, audited, claim, ids, settle};
use crate::receiver::{PATIENCE, Receiver};
use crate::world::{Client, World};
use serde_json::{Value, json};

cases![
    three_failures_over_two_keys_open_the_breaker_and_the_first_success_closes_it,
    items_exhausted_by_an_outage_of_a_sync_queue_are_revived_when_it_ends,
    while_a_destination_is_down_why_names_it_instead_of_an_earlier_retry,
    one_key_that_fails_alone_is_exhausted_and_opens_no_breaker,
    a_dead_receiver_delays_no_other_queue,
    a_restarted_server_still_knows_that_a_destination_is_down,
    two_servers_see_the_same_outage_and_one_of_them_probes,
    a_new_endpoint_is_called_at_once,
    a_worker_may_claim_items_that_wait_for_a_destination_that_is_down,
    keys_refused_for_their_payload_are_exhausted_and_delay_no_other_key,
    keys_that_always_fail_delay_a_healthy_key_by_at_most_one_probe,
    a_refused_payload_counts_as_an_answer_to_the_probe,
];

/// Waits until the destination of the queue meets a condition and returns the queue.
async fn destination(client: &Client, queue: &str, is: impl Fn(&Value) -> bool) -> Value {
    let waiting = async {
        loop {
            let seen = client.get(&format!("/v1/queues/{queue}")).await.expect(200);
            if is(&seen["destination"]) {
                return seen;
            }
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("the destination changes")
}

async fn down(client: &Client, queue: &str) -> Value {
    destination(client, queue, |destination| destination["down"] == true).await
}

fn changes(ids: &[&str]) -> Value {
    ids.iter().map(|id| json!({ "id": id, "key": format!("key of {id}"), "payload": id })).collect()
}

async fn three_failures_over_two_keys_open_the_breaker_and_the_first_success_closes_it(world: World) {
    let mut receiver = Receiver::start().await;
    let push = json!({ "url": receiver.url("/"), "probe_ms": 100, "concurrency": 1 });
    let eva = pushed(&world, "mails", json!({ "kind": "inbox", "backoff_ms": 1 }), push).await;
    add(&eva, "mails", changes(&["m-1", "m-2"])).await;
    let mut spent = Vec::new();
    for _ in 0..3 {
        let call = receiver.next().await;
        spent.extend(call.ids());
        call.answer_with(503, &[], "closed");
    }
    assert!(spent.contains(&"m-1".to_owned()) && spent.contains(&"m-2".to_owned()), "{spent:?}");
    let seen = down(&eva, "mails").await;
    assert_eq!(seen["destination"]["last_error"], "HTTP 503: closed");
    assert!(
        seen["destination"]["down_since"].is_string() && seen["destination"]["next_probe_at"].is_string(),
        "{seen}"
    );
    assert!(eva.get("/metrics").await.text.contains(r#"turno_destination_down{queue="mails"} 1"#));
    // Many more probes than attempts were allowed, one after another.
    for _ in 0..25 {
        let call = receiver.next().await;
        assert!(!receiver.has_more(), "one probe at a time");
        call.answer(503);
    }
    let (mut attempts, mut probes) = (0, 0);
    for id in ["m-1", "m-2"] {
        let life = eva.get(&format!("/v1/queues/mails/items/{id}")).await.expect(200);
        attempts += life["errors"].as_array().unwrap().len();
        // The error of a probe is still recorded.
        let returned = life["timeline"].as_array().unwrap().iter().filter(|happened| happened["what"] == "returned");
        probes += returned.filter(|happened| happened["error"] == "HTTP 503").count();
    }
    assert_eq!(attempts, 3, "a probe is not an attempt");
    assert!(probes >= 20, "{probes}");
    receiver.next().await.answer(200);
    destination(&eva, "mails", |destination| destination["failures"] == 0).await;
    receiver.next().await.answer(200);
    for id in ["m-1", "m-2"] {
        item_in(&eva, "mails", id, "processed").await;
    }
    assert!(eva.get("/metrics").await.text.contains(r#"turno_destination_down{queue="mails"} 0"#));
    assert!(audited(&world, "sync_revived").await.is_empty(), "no item was exhausted");
}

async fn while_a_destination_is_down_why_names_it_instead_of_an_earlier_retry(world: World) {
    let mut receiver = Receiver::start().await;
    let push = json!({ "url": receiver.url("/"), "probe_ms": 60_000, "concurrency": 1 });
    let eva = pushed(&world, "mails", json!({ "kind": "inbox", "backoff_ms": 7_000 }), push).await;
    add(&eva, "mails", changes(&["m-1", "m-2", "m-3"])).await;
    for n in 1..=3 {
        let call = receiver.next().await;
        let id = call.ids().remove(0);
        call.answer_with(503, &[], "closed");
        item_in(&eva, "mails", &id, "error").await;
        let why = eva.get(&format!("/v1/queues/mails/items/{id}/why")).await.expect(200);
        let reason = if n < 3 { "retry_later" } else { "destination_down" };
        assert_eq!(why["reason"], reason, "{why}");
    }
    let why = eva.get("/v1/queues/mails/items/m-1/why").await.expect(200);
    let next = down(&eva, "mails").await["destination"]["next_probe_at"].clone();
    assert_eq!((&why["reason"], &why["until"]), (&json!("destination_down"), &next), "{why}");
}

async fn items_exhausted_by_an_outage_of_a_sync_queue_are_revived_when_it_ends(world: World) {
    let mut receiver = Receiver::start().await;
    let push = json!({ "url": receiver.url("/"), "probe_ms": 2_000, "concurrency": 1 });
    let eva = pushed(&world, "users", json!({ "kind": "sync", "max_attempts": 1 }), push).await;
    // Exhausted by its own failure before the outage, so it stays exhausted.
    add(&eva, "users", changes(&["old"])).await;
    receiver.next().await.answer(422);
    item_in(&eva, "users", "old", "exhausted").await;
    add(&eva, "users", changes(&["well"])).await;
    receiver.next().await.answer(200);
    item_in(&eva, "users", "well", "processed").await;
    destination(&eva, "users", |destination| destination["failures"] == 0).await;
    add(&eva, "users", changes(&["u-1", "u-2", "u-3"])).await;
    for _ in 0..3 {
        receiver.next().await.answer(503);
    }
    for id in ["u-1", "u-2", "u-3"] {
        item_in(&eva, "users", id, "exhausted").await;
    }
    // No item waits, so the items that this outage exhausted are probed in turn.
    let mut probed = Vec::new();
    for _ in 0..3 {
        let probe = receiver.next().await;
        probed.extend(probe.ids());
        probe.answer(503);
    }
    probed.sort_unstable();
    assert_eq!(probed, ["u-1", "u-2", "u-3"]);
    receiver.next().await.answer(200);
    for _ in 0..2 {
        receiver.next().await.answer(200);
    }
    for id in ["u-1", "u-2", "u-3"] {
        item_in(&eva, "users", id, "processed").await;
    }
    assert_eq!(eva.get("/v1/queues/users/items/old").await.expect(200)["state"], "exhausted");
    let mut revived = audited(&world, "sync_revived").await;
    revived.sort();
    let by_system = |id: &str| ("system".to_owned(), format!("users/{id}"));
    assert_eq!(revived, [by_system("u-1"), by_system("u-2"), by_system("u-3")]);
}

async fn one_key_that_fails_alone_is_exhausted_and_opens_no_breaker(world: World) {
    let mut receiver = Receiver::start().await;
    let push = json!({ "url": receiver.url("/") });
    let eva = pushed(&world, "users", json!({ "kind": "sync", "backoff_ms": 1 }), push).await;
    add(&eva, "users", changes(&["u-1"])).await;
    for attempt in ["1", "2", "3", "4", "5"] {
        let call = receiver.next().await;
        assert_eq!(call.header("turno-attempt"), attempt);
        call.answer(500);
    }
    item_in(&eva, "users", "u-1", "exhausted").await;
    let seen = eva.get("/v1/queues/users").await.expect(200);
    assert_eq!((&seen["destination"]["down"], &seen["destination"]["failures"]), (&json!(false), &json!(5)));
}

async fn a_dead_receiver_delays_no_other_queue(world: World) {
    let mut alive = Receiver::start().await;
    let mut hanging = Receiver::start().await;
    let dead = json!({ "url": hanging.url("/"), "timeout_ms": 60_000, "concurrency": 2 });
    let eva = pushed(&world, "dead", json!({ "kind": "inbox" }), dead).await;
    let push = json!({ "url": alive.url("/") });
    pushed(&world, "alive", json!({ "kind": "inbox" }), push).await;
    add(&eva, "dead", changes(&["d-1", "d-2", "d-3"])).await;
    // Both slots of the dead queue are taken and stay taken.
    let _held = [hanging.next().await, hanging.next().await];
    for n in 0..20 {
        let id = format!("a-{n}");
        add(&eva, "alive", changes(&[&id])).await;
        let call = alive.next().await;
        assert_eq!(call.ids(), std::slice::from_ref(&id));
        call.answer(200);
        item_in(&eva, "alive", &id, "processed").await;
    }
    // The control: behind the same slots, no item is delivered.
    assert_eq!(eva.get("/v1/queues/dead/items/d-3").await.expect(200)["state"], "pending");
    assert!(!hanging.has_more());
}

async fn a_restarted_server_still_knows_that_a_destination_is_down(world: World) {
    let mut world = world;
    let mut receiver = Receiver::start().await;
    let push = json!({ "url": receiver.url("/"), "probe_ms": 3_600_000, "concurrency": 1 });
    let eva = pushed(&world, "mails", json!({ "kind": "inbox", "backoff_ms": 1 }), push).await;
    add(&eva, "mails", changes(&["m-1", "m-2"])).await;
    for _ in 0..3 {
        receiver.next().await.answer(503);
    }
    let before = down(&eva, "mails").await;
    world.server.kill();
    let server = world.second();
    let eva = eva.at(&server);
    let after = eva.get("/v1/queues/mails").await.expect(200);
    assert_eq!(after["destination"], before["destination"]);
    // By the time that another queue is served, this one has not been called.
    let mut other = Receiver::start().await;
    let put = json!({ "kind": "inbox", "push": { "url": other.url("/") } });
    eva.send(reqwest::Method::PUT, "/v1/queues/other", put).await.expect(200);
    add(&eva, "other", changes(&["o-1"])).await;
    other.next().await.answer(200);
    item_in(&eva, "other", "o-1", "processed").await;
    assert!(!receiver.has_more());
}

async fn two_servers_see_the_same_outage_and_one_of_them_probes(world: World) {
    let mut receiver = Receiver::start().await;
    let push = json!({ "url": receiver.url("/"), "probe_ms": 1_000, "concurrency": 1 });
    let eva = pushed(&world, "mails", json!({ "kind": "inbox", "backoff_ms": 1 }), push).await;
    let second = world.second();
    let there = eva.at(&second);
    add(&eva, "mails", changes(&["m-1", "m-2", "m-3", "m-4"])).await;
    while eva.get("/v1/queues/mails").await.expect(200)["destination"]["down"] == false {
        if receiver.has_more() {
            receiver.next().await.answer(503);
        }
    }
    // Both servers read one stored row. A failed call changes it, so the reads are repeated until no call came between.
    while down(&there, "mails").await["destination"] != down(&eva, "mails").await["destination"] {}
    // A call in progress has ended before the next read of both servers.
    for server in [&eva, &there] {
        while !server.get("/metrics").await.text.contains(r#"turno_destination_down{queue="mails"} 1"#) {
            if receiver.has_more() {
                receiver.next().await.answer(503);
            }
        }
    }
    while receiver.has_more() {
        receiver.next().await.answer(503);
    }
    for _ in 0..3 {
        let probe = receiver.next().await;
        let before = eva.get("/v1/queues/mails").await.expect(200)["destination"].clone();
        assert!(!receiver.has_more(), "only one server probes");
        probe.answer(503);
        let moved = |now: &Value| now["next_probe_at"] != before["next_probe_at"];
        destination(&there, "mails", moved).await;
    }
}

async fn a_new_endpoint_is_called_at_once(world: World) {
    let mut receiver = Receiver::start().await;
    let push = |url: String| json!({ "url": url, "probe_ms": 3_600_000, "concurrency": 1 });
    let policy = json!({ "kind": "inbox", "backoff_ms": 1 });
    let eva = pushed(&world, "mails", policy.clone(), push(receiver.url("/wrong"))).await;
    add(&eva, "mails", changes(&["m-1", "m-2"])).await;
    for _ in 0..3 {
        receiver.next().await.answer(404);
    }
    down(&eva, "mails").await;
    pushed(&world, "mails", policy, push(receiver.url("/right"))).await;
    for _ in 0..2 {
        let call = receiver.next().await;
        assert_eq!(call.uri.path(), "/right");
        call.answer(200);
    }
    for id in ["m-1", "m-2"] {
        item_in(&eva, "mails", id, "processed").await;
    }
}

async fn a_worker_may_claim_items_that_wait_for_a_destination_that_is_down(world: World) {
    let mut receiver = Receiver::start().await;
    let push = json!({ "url": receiver.url("/"), "probe_ms": 600_000, "concurrency": 1 });
    let eva = pushed(&world, "mails", json!({ "kind": "inbox", "backoff_ms": 1 }), push).await;
    add(&eva, "mails", changes(&["m-1", "m-2"])).await;
    for _ in 0..3 {
        receiver.next().await.answer(503);
    }
    down(&eva, "mails").await;
    add(&eva, "mails", changes(&["m-3"])).await;
    let mut got = Vec::new();
    while got.len() < 3 {
        for delivery in claim(&eva, "mails", "w").await {
            got.extend(ids(std::slice::from_ref(&delivery)).into_iter().map(str::to_owned));
            assert_eq!(settle(&eva, "mails", "ack", &delivery, json!({})).await["outcome"], "acked");
        }
    }
    got.sort_unstable();
    assert_eq!(got, ["m-1", "m-2", "m-3"]);
    assert!(!receiver.has_more(), "no other worker gets the item");
}

async fn keys_refused_for_their_payload_are_exhausted_and_delay_no_other_key(world: World) {
    let mut receiver = Receiver::start().await;
    let push = json!({ "url": receiver.url("/"), "probe_ms": 3_600_000, "concurrency": 1 });
    let policy = json!({ "kind": "sync", "backoff_ms": 1, "max_attempts": 4 });
    let eva = pushed(&world, "users", policy, push).await;
    add(&eva, "users", changes(&["bad-0", "bad-1"])).await;
    for _ in 0..8 {
        receiver.next().await.answer_with(422, &[], "no such module");
    }
    for id in ["bad-0", "bad-1"] {
        let item = item_in(&eva, "users", id, "exhausted").await;
        assert_eq!(item["errors"].as_array().map(Vec::len), Some(4), "every refusal is an attempt: {item}");
    }
    add(&eva, "users", changes(&["well"])).await;
    receiver.next().await.answer(200);
    item_in(&eva, "users", "well", "processed").await;
    let seen = eva.get("/v1/queues/users").await.expect(200);
    assert_ne!(seen["destination"]["down"], true, "{seen}");
    let why = eva.get("/v1/queues/users/items/bad-0/why").await.expect(200);
    assert_eq!((&why["reason"], &why["error"]), (&json!("exhausted"), &json!("HTTP 422: no such module")));
}

async fn keys_that_always_fail_delay_a_healthy_key_by_at_most_one_probe(world: World) {
    let mut receiver = Receiver::start().await;
    let push = json!({ "url": receiver.url("/"), "probe_ms": 500, "concurrency": 1 });
    let eva = pushed(&world, "users", json!({ "kind": "sync", "backoff_ms": 1 }), push).await;
    add(&eva, "users", changes(&["bad-0", "bad-1", "bad-2"])).await;
    for _ in 0..3 {
        receiver.next().await.answer(500);
    }
    down(&eva, "users").await;
    // A probe with one of the failing keys is in progress when a healthy key comes. The next call is for the healthy
    // key.
    let probe = receiver.next().await;
    add(&eva, "users", changes(&["well"])).await;
    probe.answer(500);
    let probe = receiver.next().await;
    assert_eq!(probe.ids(), ["well"]);
    probe.answer(200);
    item_in(&eva, "users", "well", "processed").await;
    destination(&eva, "users", |destination| destination["down"] == false).await;
}

async fn a_refused_payload_counts_as_an_answer_to_the_probe(world: World) {
    let mut receiver = Receiver::start().await;
    let push = json!({ "url": receiver.url("/"), "probe_ms": 100, "concurrency": 1 });
    let eva = pushed(&world, "mails", json!({ "kind": "inbox", "backoff_ms": 3_600_000 }), push).await;
    add(&eva, "mails", changes(&["m-1", "m-2", "m-3"])).await;
    for _ in 0..3 {
        receiver.next().await.answer(503);
    }
    down(&eva, "mails").await;
    add(&eva, "mails", changes(&["m-4"])).await;
    let probe = receiver.next().await;
    assert_eq!(probe.ids(), ["m-4"]);
    probe.answer(422);
    destination(&eva, "mails", |destination| destination["down"] == false).await;
    let item = item_in(&eva, "mails", "m-4", "error").await;
    assert_eq!(item["errors"].as_array().map(Vec::len), Some(1), "the refusal counts as an attempt: {item}");
}
