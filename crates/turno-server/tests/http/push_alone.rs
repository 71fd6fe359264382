//! An outage that affects one key: the key is exhausted, probed, and delivered after the destination has recovered.

use crate::cases;
use crate::push::{item_in, pushed};
use crate::queue::{add, audited};
use crate::receiver::{PATIENCE, Receiver};
use crate::world::{Client, World};
use serde_json::{Value, json};

cases![
    p6_one_key_exhausted_by_an_outage_is_delivered_after_another_key_succeeds,
    s11_one_exhausted_key_is_probed_and_the_first_success_revives_it_with_one_audit_entry,
    s11_an_outage_of_one_key_survives_a_restart_of_the_server,
    a_key_that_fails_while_others_succeed_stays_exhausted_and_is_not_probed,
    q14_a_key_that_fails_alone_delays_no_other_key,
    a_new_change_of_a_probed_key_is_delivered_and_ends_the_outage,
];

const NEVER: u64 = 3_600_000;
/// Frequent, and far enough apart to read the item between two probes.
const OFTEN: u64 = 1_000;

fn change(id: &str) -> Value {
    json!([{ "id": id, "key": format!("key of {id}"), "payload": id }])
}

/// Creates a sync queue with two attempts per key, pushed to the receiver.
async fn users(world: &World, receiver: &Receiver, probe_ms: u64) -> Client {
    let push = json!({ "url": receiver.url("/"), "probe_ms": probe_ms, "concurrency": 1 });
    let policy = json!({ "kind": "sync", "backoff_ms": 1, "max_attempts": 2, "lock_timeout_ms": 5_000 });
    pushed(world, "users", policy, push).await
}

/// Enqueues a change and answers both of its attempts with this status.
async fn use_up_attempts(client: &Client, receiver: &mut Receiver, id: &str, status: u16) {
    add(client, "users", change(id)).await;
    for _ in 0..2 {
        receiver.next().await.answer(status);
    }
}

/// Waits until the destination of `users` meets a condition.
async fn destination(client: &Client, is: impl Fn(&Value) -> bool) -> Value {
    let waiting = async {
        loop {
            let seen = client.get("/v1/queues/users").await.expect(200)["destination"].clone();
            if is(&seen) {
                return seen;
            }
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("the destination changes")
}

async fn p6_one_key_exhausted_by_an_outage_is_delivered_after_another_key_succeeds(world: World) {
    let mut receiver = Receiver::start().await;
    let eva = users(&world, &receiver, NEVER).await;
    use_up_attempts(&eva, &mut receiver, "alone", 503).await;
    item_in(&eva, "users", "alone", "exhausted").await;
    add(&eva, "users", change("other")).await;
    let call = receiver.next().await;
    assert_eq!(call.ids(), ["other"]);
    call.answer(200);
    let call = receiver.next().await;
    assert_eq!(call.ids(), ["alone"], "the first success revives the key");
    call.answer(200);
    item_in(&eva, "users", "alone", "processed").await;
    assert_eq!(audited(&world, "sync_revived").await, [("system".to_owned(), "users/alone".to_owned())]);
}

async fn s11_one_exhausted_key_is_probed_and_the_first_success_revives_it_with_one_audit_entry(world: World) {
    let mut receiver = Receiver::start().await;
    let eva = users(&world, &receiver, OFTEN).await;
    use_up_attempts(&eva, &mut receiver, "alone", 503).await;
    for _ in 0..3 {
        let probe = receiver.next().await;
        assert_eq!((probe.ids(), receiver.has_more()), (vec!["alone".to_owned()], false), "one probe at a time");
        probe.answer(503);
        let item = item_in(&eva, "users", "alone", "exhausted").await;
        assert_eq!(item["errors"].as_array().map(Vec::len), Some(2), "a probe is not an attempt: {item}");
    }
    assert!(audited(&world, "sync_revived").await.is_empty(), "a failed probe revives nothing");
    let seen = destination(&eva, |destination| destination["next_probe_at"].is_string()).await;
    assert_eq!((&seen["down"], &seen["last_error"]), (&json!(false), &json!("HTTP 503")));
    receiver.next().await.answer(200);
    item_in(&eva, "users", "alone", "processed").await;
    let well = destination(&eva, |destination| destination["failures"] == 0).await;
    assert_eq!(well["next_probe_at"], Value::Null);
    assert_eq!(audited(&world, "sync_revived").await, [("system".to_owned(), "users/alone".to_owned())]);
}

async fn s11_an_outage_of_one_key_survives_a_restart_of_the_server(world: World) {
    let mut world = world;
    let mut receiver = Receiver::start().await;
    let eva = users(&world, &receiver, OFTEN).await;
    use_up_attempts(&eva, &mut receiver, "alone", 503).await;
    item_in(&eva, "users", "alone", "exhausted").await;
    let probe = receiver.next().await;
    world.server.kill();
    drop(probe);
    let server = world.second();
    let eva = eva.at(&server);
    // The killed server's probe holds the key until its lock ends. Another key ends the outage before that.
    add(&eva, "users", change("other")).await;
    let delivered = async {
        loop {
            let call = receiver.next().await;
            let ids = call.ids();
            call.answer(200);
            if ids == ["alone"] {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, delivered).await.expect("the key arrives");
    item_in(&eva, "users", "alone", "processed").await;
}

async fn a_key_that_fails_while_others_succeed_stays_exhausted_and_is_not_probed(world: World) {
    let mut receiver = Receiver::start().await;
    let push = json!({ "url": receiver.url("/"), "probe_ms": OFTEN, "concurrency": 1 });
    let policy = json!({ "kind": "sync", "backoff_ms": 100, "max_attempts": 2 });
    let eva = pushed(&world, "users", policy, push).await;
    add(&eva, "users", change("bad")).await;
    let call = receiver.next().await;
    add(&eva, "users", change("good-1")).await;
    call.answer(500);
    let mut seen = Vec::new();
    while seen.len() < 2 {
        let call = receiver.next().await;
        seen.extend(call.ids());
        call.answer(if seen.last().is_some_and(|id| id == "bad") { 500 } else { 200 });
    }
    assert_eq!(seen, ["good-1", "bad"]);
    item_in(&eva, "users", "bad", "exhausted").await;
    let known = destination(&eva, |destination| destination["failures"] == 1).await;
    assert_eq!(known["next_probe_at"], Value::Null, "no key is left to probe with");
    for id in ["good-2", "good-3"] {
        add(&eva, "users", change(id)).await;
        let call = receiver.next().await;
        assert_eq!(call.ids(), [id]);
        call.answer(200);
        item_in(&eva, "users", id, "processed").await;
    }
    destination(&eva, |destination| destination["failures"] == 0).await;
    assert_eq!(eva.get("/v1/queues/users/items/bad").await.expect(200)["state"], "exhausted");
    assert!(audited(&world, "sync_revived").await.is_empty());
}

async fn q14_a_key_that_fails_alone_delays_no_other_key(world: World) {
    let mut receiver = Receiver::start().await;
    let eva = users(&world, &receiver, NEVER).await;
    use_up_attempts(&eva, &mut receiver, "bad", 500).await;
    item_in(&eva, "users", "bad", "exhausted").await;
    // The next probe is an hour away. A healthy key does not wait for it.
    add(&eva, "users", change("good")).await;
    let call = receiver.next().await;
    assert_eq!(call.ids(), ["good"]);
    call.answer(200);
    item_in(&eva, "users", "good", "processed").await;
}

async fn a_new_change_of_a_probed_key_is_delivered_and_ends_the_outage(world: World) {
    let mut receiver = Receiver::start().await;
    let eva = users(&world, &receiver, OFTEN).await;
    use_up_attempts(&eva, &mut receiver, "alone", 503).await;
    item_in(&eva, "users", "alone", "exhausted").await;
    let probe = receiver.next().await;
    let newer = json!([{ "id": "newer", "key": "key of alone", "payload": "newer" }]);
    add(&eva, "users", newer).await;
    probe.answer(503);
    let newest = async {
        loop {
            let call = receiver.next().await;
            let text = call.text.clone();
            call.answer(200);
            if text.contains("newer") {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, newest).await.expect("the newest state arrives");
    item_in(&eva, "users", "alone", "processed").await;
    destination(&eva, |destination| destination["failures"] == 0).await;
}
