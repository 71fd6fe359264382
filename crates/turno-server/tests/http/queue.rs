//! Queues over HTTP: policies, listings and overviews.

use crate::cases;
use crate::world::{Answer, Client, Running, World, answer};
use reqwest::Method;
use serde_json::{Value, json};
use turno::store::AuditQuery;

cases![
    a_queue_gets_the_defaults_of_its_kind,
    a_queue_has_the_given_policy_and_can_be_changed,
    a_full_policy_is_accepted_for_every_kind_and_only_lanes_form_groups,
    a_queue_change_based_on_an_outdated_version_is_refused,
    a_push_stays_until_another_is_set_or_null_ends_it,
    an_invalid_policy_is_refused_with_the_field_named,
    the_kind_of_a_queue_with_items_cannot_change,
    creating_a_queue_needs_a_permission_and_reading_does_not,
    an_unknown_queue_is_not_found_on_any_route,
    queues_are_listed_by_name_in_pages,
    a_queue_shows_its_counts,
    a_paused_queue_hands_out_nothing_until_it_is_resumed,
    a_queue_from_the_configuration_cannot_be_changed_over_the_api,
];

/// Creates a queue as Eva, who has every permission on it.
pub(crate) async fn made(world: &World, name: &str, policy: Value) -> Client {
    let eva = world.client("eva").await;
    eva.send(Method::PUT, &format!("/v1/queues/{name}"), policy).await.expect(200);
    eva
}

/// Enqueues items and returns the results.
pub(crate) async fn add(client: &Client, queue: &str, items: Value) -> Value {
    client.post(&format!("/v1/queues/{queue}/items"), items).await.expect(201)["results"].clone()
}

/// Claims without waiting, as `instance`.
pub(crate) async fn claim(client: &Client, queue: &str, instance: &str) -> Vec<Value> {
    claim_with(client, queue, json!({ "instance": instance, "max": 100 })).await
}

pub(crate) async fn claim_with(client: &Client, queue: &str, body: Value) -> Vec<Value> {
    let answer = client.post(&format!("/v1/queues/{queue}/claim"), body).await.expect(200);
    answer["deliveries"].as_array().unwrap().clone()
}

/// Returns the reference to a delivery for a settlement.
pub(crate) fn named(delivery: &Value) -> Value {
    json!({ "delivery": delivery["delivery"], "fence": delivery["fence"] })
}

/// Settles one delivery and returns its result.
pub(crate) async fn settle(client: &Client, queue: &str, how: &str, delivery: &Value, more: Value) -> Value {
    let mut settlement = named(delivery);
    settlement.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let answer =
        client.post(&format!("/v1/queues/{queue}/{how}"), json!({ "deliveries": [settlement] })).await.expect(200);
    assert_eq!(answer["results"].as_array().unwrap().len(), 1);
    assert_eq!(answer["results"][0]["delivery"], delivery["delivery"]);
    answer["results"][0].clone()
}

/// Returns the item ids of deliveries, in order.
pub(crate) fn ids(deliveries: &[Value]) -> Vec<&str> {
    let items = deliveries.iter().flat_map(|delivery| delivery["items"].as_array().unwrap());
    items.map(|item| item["id"].as_str().unwrap()).collect()
}

/// Returns the user and the resource of every audit entry of this action, oldest first.
pub(crate) async fn audited(world: &World, action: &str) -> Vec<(String, String)> {
    let query = AuditQuery { action: Some(action.to_owned()), after: Some(0), limit: 100, ..AuditQuery::default() };
    let entries = world.turno.audit(query).await.unwrap();
    entries.into_iter().map(|entry| (entry.actor.user.to_string(), entry.resource)).collect()
}

async fn a_queue_gets_the_defaults_of_its_kind(world: World) {
    let eva = world.client("eva").await;
    for (kind, lock, hold, window, batch, attempts) in [
        ("lane", 15_000, json!(15_000), 3_000, 50, 5),
        ("inbox", 60_000, Value::Null, 0, 1, 20),
        ("sync", 60_000, Value::Null, 0, 1, 5),
    ] {
        let policy = eva.send(Method::PUT, &format!("/v1/queues/q-{kind}"), json!({ "kind": kind })).await.expect(200);
        assert_eq!((&policy["name"], &policy["kind"]), (&json!(format!("q-{kind}")), &json!(kind)));
        assert_eq!((&policy["lock_timeout_ms"], &policy["max_hold_ms"]), (&json!(lock), &hold), "{kind}");
        assert_eq!((&policy["window_ms"], &policy["batch_max"]), (&json!(window), &json!(batch)), "{kind}");
        assert_eq!((&policy["max_attempts"], &policy["retention_s"]), (&json!(attempts), &json!(604_800)), "{kind}");
        assert_eq!((&policy["backoff_ms"], &policy["on_exhausted"]), (&json!(1_000), &json!("continue")), "{kind}");
    }
    let lane = eva.get("/v1/queues/q-lane").await.expect(200);
    assert_eq!(
        (&lane["policy"]["typing_extension_ms"], &lane["policy"]["max_wait_ms"]),
        (&json!(3_000), &json!(30_000))
    );
}

async fn a_queue_has_the_given_policy_and_can_be_changed(world: World) {
    let policy = json!({ "kind": "lane", "lock_timeout_ms": 101, "max_hold_ms": 102, "window_ms": 103,
        "typing_extension_ms": 104, "max_wait_ms": 105, "batch_max": 106, "max_attempts": 107, "backoff_ms": 108,
        "retention_s": 109, "on_exhausted": "hold" });
    let eva = made(&world, "bot", policy.clone()).await;
    assert_eq!(eva.get("/v1/queues/bot").await.expect(200)["policy"], policy);
    let changed = eva.send(Method::PUT, "/v1/queues/bot", json!({ "kind": "lane", "window_ms": 0 })).await.expect(200);
    assert_eq!(
        (&changed["window_ms"], &changed["lock_timeout_ms"]),
        (&json!(0), &json!(15_000)),
        "given values, else defaults"
    );
    assert_eq!(audited(&world, "queue_put").await, [("eva".into(), "bot".into()), ("eva".into(), "bot".into())]);
}

async fn a_full_policy_is_accepted_for_every_kind_and_only_lanes_form_groups(world: World) {
    let eva = world.client("eva").await;
    for (kind, at_once) in [("lane", vec!["b"]), ("inbox", vec!["a", "b"]), ("sync", vec!["a", "b"])] {
        let policy = json!({ "kind": kind, "lock_timeout_ms": 101, "max_hold_ms": 102, "window_ms": 60_000,
            "typing_extension_ms": 60_001, "max_wait_ms": 60_002, "batch_max": 2, "max_attempts": 107, "backoff_ms": 108,
            "retention_s": 109, "on_exhausted": "hold" });
        let path = format!("/v1/queues/q-{kind}");
        eva.send(Method::PUT, &path, policy.clone()).await.expect(200);
        assert_eq!(eva.get(&path).await.expect(200)["policy"], policy);
        // In the lane, leo's two items fill their batch, and ana's window is open.
        let leo = json!({ "id": "b", "key": "leo", "payload": 1 });
        add(&eva, &format!("q-{kind}"), json!([{ "id": "a", "key": "ana", "payload": 1 }, leo])).await;
        eva.post(&format!("{path}/typing"), json!({ "key": "ana" })).await.expect(202);
        if kind == "lane" {
            add(&eva, "q-lane", json!({ "id": "c", "key": "leo", "payload": 1 })).await;
        }
        let got = claim(&eva, &format!("q-{kind}"), "w").await;
        let mut firsts: Vec<&str> = got.iter().map(|got| got["items"][0]["id"].as_str().unwrap()).collect();
        firsts.sort_unstable();
        assert_eq!(firsts, at_once, "{kind}");
        let size = if kind == "lane" { 2 } else { 1 };
        assert!(got.iter().all(|got| got["items"].as_array().unwrap().len() == size), "{kind}");
    }
}

async fn a_queue_change_based_on_an_outdated_version_is_refused(world: World) {
    let eva = world.client("eva").await;
    let put = async |header: &str, tag: &str, attempts: u32| {
        let body = json!({ "kind": "inbox", "max_attempts": attempts });
        let request = eva.request(Method::PUT, "/v1/queues/mails").header(header, tag).json(&body);
        answer(request.send().await.unwrap()).await
    };
    let tag = |answer: &Answer| answer.headers["etag"].to_str().unwrap().to_owned();
    let made = put("If-None-Match", "*", 3).await;
    made.expect(200);
    put("If-None-Match", "*", 4).await.problem(409, "queue_changed");
    let read = eva.get("/v1/queues/mails").await;
    assert_eq!(tag(&read), tag(&made));
    assert_eq!(tag(&read), format!("\"{}\"", read.expect(200)["version"]));
    let changed = put("If-Match", &tag(&read), 5).await;
    assert_eq!(changed.expect(200)["max_attempts"], 5);
    for late in [tag(&read), "\"0\"".to_owned(), "\"x\"".to_owned()] {
        let refused = put("If-Match", &late, 6).await.problem(409, "queue_changed");
        assert!(refused["detail"].as_str().unwrap().contains("mails"), "{refused}");
    }
    assert_eq!(eva.get("/v1/queues/mails").await.expect(200)["policy"]["max_attempts"], 5);
    put("If-Match", &format!("W/{}", tag(&changed)), 7).await.expect(200);
    put("If-Match", "*", 8).await.expect(200);
}

async fn a_push_stays_until_another_is_set_or_null_ends_it(world: World) {
    let put = async |eva: &Client, body: Value| eva.send(Method::PUT, "/v1/queues/bot", body).await;
    let push = json!({ "url": "http://127.0.0.1:1/in?t=s3cret", "timeout_ms": 5_000 });
    let eva = made(&world, "bot", json!({ "kind": "lane", "push": push })).await;
    let kept = put(&eva, json!({ "kind": "lane", "window_ms": 0 })).await.expect(200);
    assert_eq!((&kept["window_ms"], &kept["push"]["timeout_ms"]), (&json!(0), &json!(5_000)));
    let row = async || world.turno.queues().await.unwrap().remove(0).push;
    assert!(row().await.unwrap().contains("s3cret"));
    let short = put(&eva, json!({ "kind": "lane", "lock_timeout_ms": 1_000, "max_hold_ms": 1_000 })).await;
    assert_eq!(
        short.problem(400, "bad_field")["field"],
        "push.timeout_ms",
        "the timeout must be shorter than the lock"
    );
    let ended = put(&eva, json!({ "kind": "lane", "push": null })).await.expect(200);
    assert_eq!((&ended["push"], row().await), (&Value::Null, None));
}

async fn an_invalid_policy_is_refused_with_the_field_named(world: World) {
    let eva = world.client("eva").await;
    for (body, field) in [
        (json!({}), "kind"),
        (json!({ "kind": "stack" }), "kind"),
        (json!({ "kind": 3 }), "kind"),
        (json!({ "kind": "lane", "windowms": 1 }), "windowms"),
        (json!({ "kind": "lane", "window_ms": "1" }), "window_ms"),
        (json!({ "kind": "lane", "window_ms": -1 }), "window_ms"),
        (json!({ "kind": "lane", "lock_timeout_ms": 99 }), "lock_timeout_ms"),
        (json!({ "kind": "lane", "max_hold_ms": 99 }), "max_hold_ms"),
        (json!({ "kind": "lane", "batch_max": 1001 }), "batch_max"),
        (json!({ "kind": "inbox", "window_ms": -1 }), "window_ms"),
        (json!({ "kind": "sync", "batch_max": 1001 }), "batch_max"),
        (json!({ "kind": "inbox", "max_attempts": 10_001 }), "max_attempts"),
        (json!({ "kind": "inbox", "max_attempts": 0 }), "max_attempts"),
        (json!({ "kind": "inbox", "backoff_ms": 0 }), "backoff_ms"),
        (json!({ "kind": "inbox", "retention_s": 0 }), "retention_s"),
        (json!({ "kind": "inbox", "retention_s": i64::MAX }), "retention_s"),
        (json!({ "kind": "inbox", "on_exhausted": "stop" }), "on_exhausted"),
        (json!({ "kind": "inbox", "push": { "url": "ftp://127.0.0.1/x" } }), "push.url"),
    ] {
        let refused = eva.send(Method::PUT, "/v1/queues/bot", body.clone()).await.problem(400, "bad_field");
        assert_eq!(refused["field"], field, "{body}");
    }
    eva.send(Method::PUT, "/v1/queues/bot", json!([])).await.problem(400, "bad_body");
    eva.get("/v1/queues/bot").await.problem(404, "not_found");
}

async fn the_kind_of_a_queue_with_items_cannot_change(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    add(&eva, "mails", json!({ "id": "m-1", "payload": 1 })).await;
    let refused = eva.send(Method::PUT, "/v1/queues/mails", json!({ "kind": "lane" })).await.problem(409, "kind_fixed");
    assert_eq!(refused["kind"], "inbox");
    eva.send(Method::PUT, "/v1/queues/mails", json!({ "kind": "inbox", "max_attempts": 2 })).await.expect(200);
    eva.post("/v1/queues/mails/items/m-1/cancel", json!({})).await.expect(200);
    let changed = eva.send(Method::PUT, "/v1/queues/mails", json!({ "kind": "lane" })).await.expect(200);
    assert_eq!(changed["kind"], "lane");
}

async fn creating_a_queue_needs_a_permission_and_reading_does_not(world: World) {
    let (ana, vera) = (world.client("ana").await, world.client("vera").await);
    let refused = ana.send(Method::PUT, "/v1/queues/bot", json!({ "nonsense": 1 })).await.problem(403, "forbidden");
    assert_eq!(refused["permission"], "queues.manage");
    made(&world, "bot", json!({ "kind": "inbox" })).await;
    assert_eq!(vera.get("/v1/queues/bot").await.expect(200)["name"], "bot");
    assert_eq!(vera.get("/v1/queues").await.expect(200)["items"][0]["name"], "bot");
    world.anonymous().get("/v1/queues").await.problem(401, "unauthenticated");
    for (path, permission) in [
        ("items", "queues.produce"),
        ("typing", "queues.produce"),
        ("claim", "queues.consume"),
        ("items/m-1/claim", "queues.consume"),
        ("heartbeat", "queues.consume"),
        ("ack", "queues.consume"),
        ("fail", "queues.consume"),
        ("return", "queues.consume"),
        ("items/m-1/retry", "queues.manage"),
        ("items/m-1/cancel", "queues.manage"),
        ("pause", "queues.manage"),
        ("resume", "queues.manage"),
        ("retry-exhausted", "queues.manage"),
    ] {
        let path = format!("/v1/queues/bot/{path}");
        let refused = vera.post(&path, json!({ "nonsense": 1 })).await.problem(403, "forbidden");
        assert_eq!(refused["permission"], permission, "{path}");
        world.anonymous().post(&path, json!({ "nonsense": 1 })).await.problem(401, "unauthenticated");
    }
}

async fn an_unknown_queue_is_not_found_on_any_route(world: World) {
    let eva = world.client("eva").await;
    for path in ["", "/items", "/items/m-1", "/items/m-1/why", "/keys/ana/why"] {
        eva.get(&format!("/v1/queues/none{path}")).await.problem(404, "not_found");
    }
    let deliveries = json!({ "deliveries": [] });
    for (path, body) in [
        ("items", json!({ "payload": 1, "key": "ana" })),
        ("typing", json!({ "key": "ana" })),
        ("claim", json!({ "instance": "w-1" })),
        ("items/m-1/claim", json!({ "instance": "w-1" })),
        ("heartbeat", deliveries.clone()),
        ("ack", deliveries.clone()),
        ("fail", deliveries.clone()),
        ("return", deliveries),
        ("items/m-1/retry", json!({})),
        ("items/m-1/cancel", json!({})),
        ("pause", json!({})),
        ("resume", json!({})),
        ("retry-exhausted", json!({})),
        ("purge", json!({})),
    ] {
        eva.post(&format!("/v1/queues/none/{path}"), body).await.problem(404, "not_found");
    }
    eva.get(&format!("/v1/queues/{}", "x".repeat(201))).await.problem(404, "not_found");
    eva.get("/v1/queues/a%0Ab").await.problem(404, "not_found");
}

async fn queues_are_listed_by_name_in_pages(world: World) {
    let eva = made(&world, "c", json!({ "kind": "inbox" })).await;
    made(&world, "a", json!({ "kind": "lane" })).await;
    made(&world, "b%2Fb", json!({ "kind": "sync" })).await;
    let first = eva.get("/v1/queues?limit=2").await.expect(200);
    let names = |page: &Value| -> Vec<String> {
        page["items"].as_array().unwrap().iter().map(|queue| queue["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&first), ["a", "b/b"]);
    assert_eq!(first["items"][1]["kind"], "sync");
    let cursor = first["next_cursor"].as_str().unwrap();
    let last = eva.get(&format!("/v1/queues?limit=2&cursor={cursor}")).await.expect(200);
    assert_eq!((names(&last), &last["next_cursor"]), (vec!["c".to_owned()], &Value::Null));
    for wrong in ["limit=0", "limit=1001", "limit=x", "cursor=zz", "page=2"] {
        let problem = eva.get(&format!("/v1/queues?{wrong}")).await.problem(400, "bad_query");
        assert_eq!(problem["field"].as_str(), wrong.split('=').next(), "{wrong}");
    }
}

async fn a_queue_shows_its_counts(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox", "max_attempts": 1 })).await;
    let empty = eva.get("/v1/queues/mails").await.expect(200);
    assert_eq!((&empty["oldest_waiting_at"], &empty["oldest_waiting_ms"]), (&Value::Null, &Value::Null));
    let items: Vec<Value> = (1..=7).map(|n| json!({ "id": format!("m-{n}"), "payload": n })).collect();
    add(&eva, "mails", json!(items)).await;
    for (id, how) in [("m-1", "ack"), ("m-2", "fail"), ("m-3", "heartbeat"), ("m-7", "ack")] {
        let got = eva.post(&format!("/v1/queues/mails/items/{id}/claim"), json!({ "instance": "w" })).await.expect(200);
        let more = if how == "fail" { json!({ "error": "no route" }) } else { json!({}) };
        settle(&eva, "mails", how, &got, more).await;
    }
    eva.post("/v1/queues/mails/items/m-4/cancel", json!({})).await.expect(200);
    let seen = eva.get("/v1/queues/mails").await.expect(200);
    let counts = json!({ "pending": 2, "in_process": 1, "processed": 2, "error": 0, "exhausted": 1, "cancelled": 1 });
    assert_eq!(seen["counts"], counts);
    assert_eq!(seen["rates"], json!({ "processed_per_minute": 2, "failed_per_minute": 1 }));
    let oldest = eva.get("/v1/queues/mails/items/m-5").await.expect(200);
    assert_eq!(seen["oldest_waiting_at"], oldest["enqueued_at"]);
    assert!(seen["oldest_waiting_ms"].as_i64().unwrap() >= 0);
    assert_eq!((&seen["paused"], &seen["managed_by_config"]), (&json!(false), &json!(false)));
}

async fn a_paused_queue_hands_out_nothing_until_it_is_resumed(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    add(&eva, "mails", json!([{ "id": "m-1", "payload": 1 }, { "id": "m-2", "payload": 2 }])).await;
    let before = claim_with(&eva, "mails", json!({ "instance": "w-1" })).await;
    assert_eq!(eva.post("/v1/queues/mails/pause", json!({})).await.expect(200)["paused"], true);
    assert!(claim(&eva, "mails", "w-1").await.is_empty());
    let refused = eva.post("/v1/queues/mails/items/m-2/claim", json!({ "instance": "w" })).await;
    assert_eq!(refused.problem(409, "not_available")["reason"], "paused");
    assert_eq!(
        settle(&eva, "mails", "ack", &before[0], json!({})).await["outcome"],
        "acked",
        "a live delivery can still be settled"
    );
    // Resuming wakes a waiting claim.
    let waiting = claim_with(&eva, "mails", json!({ "instance": "w-2", "wait_ms": 30_000 }));
    let resumed = async { eva.post("/v1/queues/mails/resume", json!({})).await.expect(200) };
    let (got, resumed) = tokio::join!(waiting, resumed);
    assert_eq!((ids(&got), &resumed["paused"]), (vec!["m-2"], &json!(false)));
    assert_eq!(audited(&world, "queue_pause").await, [("eva".into(), "mails".into())]);
    assert_eq!(audited(&world, "queue_resume").await, [("eva".into(), "mails".into())]);
    eva.post("/v1/queues/mails/pause", json!({ "why": 1 })).await.problem(400, "bad_field");
}

async fn a_queue_from_the_configuration_cannot_be_changed_over_the_api(world: World) {
    let port = world.server.base.rsplit(':').next().unwrap();
    let file = std::env::temp_dir().join(format!("turno-managed-{}-{port}.toml", std::process::id()));
    std::fs::write(&file, "[queues.bot]\nkind = \"lane\"\nwindow_ms = 77\n").unwrap();
    let server = Running::start(&world.url, &["--config", file.to_str().unwrap()]);
    std::fs::remove_file(&file).unwrap();
    let eva = world.client("eva").await.at(&server);
    let refused = eva.send(Method::PUT, "/v1/queues/bot", json!({ "kind": "lane" })).await;
    assert!(refused.problem(409, "managed_by_config")["detail"].as_str().unwrap().contains("bot"));
    let seen = eva.get("/v1/queues/bot").await.expect(200);
    assert_eq!((&seen["managed_by_config"], &seen["policy"]["window_ms"]), (&json!(true), &json!(77)));
    assert_eq!(
        eva.post("/v1/queues/bot/pause", json!({})).await.expect(200)["paused"],
        true,
        "a pause is not part of the policy"
    );
    let other = eva.send(Method::PUT, "/v1/queues/other", json!({ "kind": "lane" })).await.expect(200);
    assert_eq!(other["window_ms"], 3_000);
}
