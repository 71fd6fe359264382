//! The log on stderr: the life of a lock and of a queue, and never a secret.

use crate::cases;
use crate::world::{Client, Running, World};
use reqwest::Method;
use serde_json::{Value, json};
use turno::access::NewToken;
use turno::queue::{Draft, Kind, Policy};
use turno::{Options, Turno};

cases![
    the_log_has_every_step_of_a_lock,
    an_expired_lease_is_logged_without_a_request,
    the_log_has_every_step_of_a_queue_item,
    the_log_names_the_failed_item_of_a_group,
    log_lines_beyond_the_info_limit_are_summed_up,
    locks_of_people_are_never_dropped_from_the_log,
    equal_refusals_of_a_caller_are_counted_in_the_log_and_none_is_lost,
    a_refused_password_is_logged_with_its_user_and_its_source,
    the_log_never_contains_secrets_payloads_or_messages,
    a_request_is_one_line_at_debug_with_its_route_and_its_user,
];

/// Starts a second instance on the same database and keeps its log.
fn listening(world: &World, filter: &str) -> Running {
    Running::with_log(&world.url, &[("TURNO_LOG_LEVEL", filter), ("TURNO_LOG_FORMAT", "json")])
}

async fn client(world: &World, server: &Running, user: &str) -> Client {
    world.client(user).await.at(server)
}

/// Starts the server whose log is read as the only announcer, because the instance that ends a lease logs it.
async fn listening_alone(world: &mut World, filter: &str) -> Running {
    world.server.kill();
    // Before any engine is opened: waiting for the server blocks this thread and the engine's tasks on it.
    let server = listening(world, filter);
    world.turno = Turno::open_with(&world.url, Options { sweep: false, ..Options::default() }).await.unwrap();
    server
}

async fn an_expired_lease_is_logged_without_a_request(mut world: World) {
    let mut server = listening_alone(&mut world, "info").await;
    let ana = client(&world, &server, "ana").await;
    let lease = ana.post("/v1/leases/caja:1/claim", json!({ "ttl_ms": 200 })).await.expect(200);
    let expired = server.log_line("lease expired");
    assert_eq!((&expired["resource"], &expired["by"]), (&json!("caja:1"), &json!("ana")));
    assert_eq!((&expired["fence"], &expired["why"]), (&lease["fence"], &json!("no_heartbeat")));
}

async fn the_log_has_every_step_of_a_lock(mut world: World) {
    let mut server = listening_alone(&mut world, "info").await;
    let (ana, leo) = (client(&world, &server, "ana").await, client(&world, &server, "leo").await);
    let lease = ana.post("/v1/leases/caja:1/claim", json!({ "ttl_ms": 200 })).await.expect(200);
    leo.post("/v1/leases/caja:1/claim", json!({})).await.problem(409, "lease_held");
    // Waits until Ana's lease expires.
    leo.post("/v1/leases/caja:1/claim", json!({ "wait_ms": 20_000 })).await.expect(200);
    ana.post("/v1/leases/caja:1/heartbeat", json!({ "fence": lease["fence"] })).await.problem(409, "lease_lost");

    let claimed = server.log_line("lease claimed");
    assert_eq!((&claimed["resource"], &claimed["by"]), (&json!("caja:1"), &json!("ana")));
    assert_eq!(claimed["fence"], lease["fence"]);
    let refused = server.log_line("claim refused");
    assert_eq!((&refused["by"], &refused["holder"], &refused["why"]), (&json!("leo"), &json!("ana"), &json!("held")));
    let expired = server.log_line("lease expired");
    assert_eq!((&expired["by"], &expired["why"]), (&json!("ana"), &json!("no_heartbeat")));
    assert_eq!(server.log_line("lease claimed")["by"], "leo");
    let late = server.log_line("heartbeat refused");
    assert_eq!((&late["by"], &late["why"], &late["level"]), (&json!("ana"), &json!("no_heartbeat"), &json!("INFO")));
}

async fn the_log_has_every_step_of_a_queue_item(world: World) {
    let mut server = listening(&world, "info");
    let eva = client(&world, &server, "eva").await;
    eva.send(Method::PUT, "/v1/queues/bot", json!({ "kind": "lane", "window_ms": 0 })).await.expect(200);
    for (id, waiting) in [("m1", 1), ("m2", 2)] {
        eva.post("/v1/queues/bot/items", json!({ "id": id, "key": "u1", "payload": "hola" })).await.expect(201);
        let queued = server.log_line("item queued");
        assert_eq!((&queued["queue"], &queued["key"], &queued["item"]), (&json!("bot"), &json!("u1"), &json!(id)));
        assert_eq!((&queued["outcome"], &queued["waiting"]), (&json!("queued"), &json!(waiting)));
    }
    eva.post("/v1/queues/bot/items", json!({ "id": "m1", "key": "u1", "payload": "hola" })).await.expect(201);
    assert_eq!(server.log_line("duplicate item")["outcome"], "duplicate", "a duplicate is not logged as queued");
    let claimed = eva.post("/v1/queues/bot/claim", json!({ "instance": "w1" })).await.expect(200);
    let delivery = &claimed["deliveries"][0];
    let locked = server.log_line("key locked");
    assert_eq!((&locked["key"], &locked["instance"], &locked["items"]), (&json!("u1"), &json!("w1"), &json!(2)));
    assert_eq!(locked["fence"], delivery["fence"]);
    for id in ["m1", "m2"] {
        let processing = server.log_line("processing");
        assert_eq!((&processing["item"], &processing["attempt"]), (&json!(id), &json!(1)));
    }
    let ack = json!({ "deliveries": [{ "delivery": delivery["delivery"], "fence": delivery["fence"] }] });
    eva.post("/v1/queues/bot/ack", ack).await.expect(200);
    let processed = server.log_line("processed");
    assert_eq!((&processed["key"], &processed["items"]), (&json!("u1"), &json!(2)));
    assert_eq!(server.log_line("key released")["key"], "u1");
    eva.post("/v1/queues/bot/items", json!({ "id": "m3", "key": "u2", "payload": "chau" })).await.expect(201);
    eva.post("/locks/clear", json!({})).await.expect(200);
    let cleared = server.log_line("lane cleared");
    assert_eq!((&cleared["queue"], &cleared["by"], &cleared["items"]), (&json!("bot"), &json!("eva"), &json!(1)));
}

async fn the_log_names_the_failed_item_of_a_group(world: World) {
    let mut server = listening(&world, "info");
    let eva = client(&world, &server, "eva").await;
    eva.send(Method::PUT, "/v1/queues/bot", json!({ "kind": "lane", "window_ms": 0 })).await.expect(200);
    let item = |id: &str| json!({ "id": id, "key": "u1", "payload": "hola" });
    eva.post("/v1/queues/bot/items", json!([item("m1"), item("m2"), item("m3")])).await.expect(201);
    let claimed = eva.post("/v1/queues/bot/claim", json!({ "instance": "w1" })).await.expect(200);
    let (delivery, fence) = (&claimed["deliveries"][0]["delivery"], &claimed["deliveries"][0]["fence"]);
    let fail = json!({ "delivery": delivery, "fence": fence, "error": "no", "item": "m2", "final": true });
    eva.post("/v1/queues/bot/fail", json!({ "deliveries": [fail] })).await.expect(200);
    let settled = server.log_line("delivery settled");
    assert_eq!((&settled["item"], &settled["outcome"]), (&json!("m2"), &json!("exhausted")));
    assert_eq!(settled["items"], 3, "the line has the size of the group");
    let figures = eva.get("/metrics").await.text;
    assert!(figures.contains(r#"turno_items_total{queue="bot",outcome="exhausted"} 1"#), "{figures}");
}

/// Enqueues `items` items in one call.
async fn burst(client: &Client, items: usize) {
    client.send(Method::PUT, "/v1/queues/busy", json!({ "kind": "inbox" })).await.expect(200);
    let items: Vec<Value> = (0..items).map(|n| json!({ "id": format!("i{n}"), "payload": n })).collect();
    client.post("/v1/queues/busy/items", json!(items)).await.expect(201);
}

async fn log_lines_beyond_the_info_limit_are_summed_up(world: World) {
    let mut server = listening(&world, "info");
    let eva = client(&world, &server, "eva").await;
    burst(&eva, 60).await;
    let mut written = 0;
    let left_out = loop {
        let line = server.next_log_line();
        match line["message"].as_str().unwrap() {
            "item queued" => written += 1,
            "more happened than is written at this level" => break line["lines"].as_i64().unwrap(),
            _ => {}
        }
    };
    assert!(left_out >= 1 && written + left_out <= 60, "{written} and {left_out}");
}

async fn locks_of_people_are_never_dropped_from_the_log(world: World) {
    let mut server = listening(&world, "info");
    let (ana, eva) = (client(&world, &server, "ana").await, client(&world, &server, "eva").await);
    for round in 0..10 {
        // More lines than the limit per second at info.
        burst(&eva, 100).await;
        for n in 0..4 {
            let path = format!("/v1/leases/caja:{round}-{n}");
            ana.post(&format!("{path}/claim"), json!({})).await.expect(200);
            eva.post(&format!("{path}/force-claim"), json!({ "reason": "urge" })).await.expect(200);
        }
    }
    let (mut claimed, mut taken) = (0, 0);
    while taken < 40 {
        let line = server.next_log_line();
        match line["message"].as_str().unwrap() {
            "lease claimed" => claimed += usize::from(line["by"] == "ana"),
            "lease taken by override" => taken += usize::from(line["by"] == "eva"),
            _ => {}
        }
        assert!(!line.to_string().contains("urge"), "the reason is in the audit only");
    }
    assert_eq!(claimed, 40);
}

async fn equal_refusals_of_a_caller_are_counted_in_the_log_and_none_is_lost(world: World) {
    let mut server = listening(&world, "info");
    let (ana, leo) = (client(&world, &server, "ana").await, client(&world, &server, "leo").await);
    let lease = ana.post("/v1/leases/caja:1/claim", json!({})).await.expect(200);
    for _ in 0..60 {
        leo.post("/v1/leases/caja:1/claim", json!({})).await.problem(409, "lease_held");
    }
    ana.post("/v1/leases/caja:1/release", json!({ "fence": lease["fence"] })).await.expect(200);
    let (mut lines, mut refused) = (0, 0);
    loop {
        let line = server.next_log_line();
        match line["message"].as_str().unwrap() {
            "claim refused" => {
                assert_eq!((&line["resource"], &line["by"]), (&json!("caja:1"), &json!("leo")));
                lines += 1;
                refused += line["count"].as_i64().unwrap();
            }
            "lease released" => break,
            _ => {}
        }
    }
    assert_eq!(refused, 60);
    assert!(lines < 60, "{lines} lines");
}

async fn a_refused_password_is_logged_with_its_user_and_its_source(world: World) {
    let mut server = listening(&world, "info");
    let stranger = Client::new(&server.base, None);
    for (user, logged) in [("ana", "ana"), ("nobody\u{7}", "")] {
        let wrong = json!({ "user": user, "password": "not-the-password" });
        stranger.post("/sign-in", wrong).await.problem(401, "wrong_password");
        let line = server.log_line("sign-in failed");
        let fields = (&line["user"], &line["source"], &line["level"]);
        assert_eq!(fields, (&json!(logged), &json!("127.0.0.1"), &json!("WARN")));
    }
}

async fn the_log_never_contains_secrets_payloads_or_messages(world: World) {
    let mut server = listening(&world, "trace");
    let (_, secret) = world.turno.create_token(NewToken::for_user("eva").unwrap()).await.unwrap();
    let eva = Client::new(&server.base, Some(secret.clone()));
    let (payload, password, message) = ("p4yl0ad-in-clear", "p4ssw0rd-in-clear", "m3ssage-in-clear");
    // Some of these calls are refused. Their content must not be logged either way.
    eva.post("/v1/leases/caja:2/claim", json!({ "ttl_ms": 60_000 })).await.expect(200);
    eva.post("/v1/leases/caja:2/request-release", json!({ "message": message })).await;
    eva.post("/v1/leases/caja:2/force-release", json!({ "reason": message })).await;
    let rosa = json!({ "id": "rosa", "name": "Rosa", "role": "editor", "password": password });
    eva.post("/v1/users", rosa).await.expect(201);
    let stranger = Client::new(&server.base, None);
    stranger.post("/sign-in", json!({ "user": "rosa", "password": password })).await.expect(200);
    let wrong = json!({ "user": "rosa", "password": format!("{password}!") });
    stranger.post("/sign-in", wrong).await.problem(401, "wrong_password");
    let queue =
        world.turno.put_queue("bot", Policy { window: turno::core::time::Span::ZERO, ..Policy::for_kind(Kind::Lane) });
    let queue = queue.await.unwrap();
    let draft = Draft::json(payload).unwrap().key("u1").unwrap();
    queue.enqueue(vec![draft]).await.unwrap();
    eva.post("/v1/queues/bot/items", json!({ "key": "u2", "payload": payload })).await;
    eva.post("/v1/queues/bot/claim", json!({ "instance": "w1", "max": 10 })).await;
    eva.post("/v1/leases/caja:3/claim", json!({ "instance": { "secret": payload } })).await.problem(400, "bad_field");
    let wrong = Client::new(&server.base, Some(format!("{secret}x")));
    wrong.get("/v1/leases/caja:2").await.problem(401, "unauthenticated");
    eva.post("/v1/leases/caja:4/claim", json!({})).await.expect(200);

    // The log is complete up to the line of the last call.
    let mut log = String::new();
    loop {
        let line = server.next_log_line();
        log.push_str(&line.to_string());
        if line["message"] == "lease claimed" && line["resource"] == "caja:4" {
            break;
        }
    }
    assert!(log.contains("caja:2") && log.contains("\"DEBUG\""), "the log is at debug");
    for hidden in [&secret[..], payload, password, message] {
        assert!(!log.contains(hidden), "{hidden} is in the log");
    }
}

async fn a_request_is_one_line_at_debug_with_its_route_and_its_user(world: World) {
    let mut server = listening(&world, "turno::http=debug");
    let ana = client(&world, &server, "ana").await;
    ana.get("/v1/leases/caja:9").await.expect(200);
    let line: Value = server.log_line("request");
    assert_eq!((&line["method"], &line["route"]), (&json!("GET"), &json!("/v1/leases/{resource}")));
    assert_eq!((&line["status"], &line["user"], &line["level"]), (&json!(200), &json!("ana"), &json!("DEBUG")));
    assert!(line["request_id"].is_string() && line["ms"].is_number(), "{line}");
    assert!(!line.to_string().contains("caja:9"), "the line has the route and not the path: {line}");
}
