//! Health, stop, overload and production mode.

use crate::cases;
use crate::world::{Running, World};
use reqwest::Method;
use serde_json::json;
use std::time::Duration;
use turno::access::{NewPerson, Role};

cases![
    a_server_reports_liveness_and_readiness,
    a_stop_ends_streams_with_bye_and_waiting_claims_with_nothing,
    overload_refuses_enqueues_at_once_and_never_heartbeats,
    production_refuses_demo_accounts_and_an_unsafe_database,
];

async fn a_server_reports_liveness_and_readiness(world: World) {
    for path in ["/healthz", "/readyz"] {
        assert_eq!(world.anonymous().get(path).await.expect(200)["status"], "ok", "{path}");
    }
}

async fn a_stop_ends_streams_with_bye_and_waiting_claims_with_nothing(mut world: World) {
    let eva = world.client("eva").await;
    eva.send(Method::PUT, "/v1/queues/mails", json!({ "kind": "inbox" })).await.expect(200);
    let mut stream = eva.request(Method::GET, "/v1/events").send().await.unwrap();
    let beginning = stream.chunk().await.unwrap().expect("the stream starts with an event");
    let waiting = eva.clone();
    let claim = tokio::spawn(async move {
        waiting.post("/v1/queues/mails/claim", json!({ "instance": "w", "wait_ms": 30_000 })).await
    });
    // The claim waits once the room for waiting calls counts one.
    let inside = "turno_http_in_progress{room=\"waiting\"} 1";
    while !eva.get("/metrics").await.text.contains(inside) {}
    let stopped = tokio::task::spawn_blocking(move || (world.server.stop(), world));
    let mut text = String::from_utf8(beginning.to_vec()).unwrap();
    while let Some(more) = stream.chunk().await.unwrap() {
        text.push_str(std::str::from_utf8(&more).unwrap());
    }
    assert!(text.contains("event: bye"), "{text}");
    assert_eq!(claim.await.unwrap().expect(200), json!({ "deliveries": [] }));
    // Well before the 30 s that the claim would wait, and the 10 s that a stop may take.
    let stopped =
        tokio::time::timeout(Duration::from_secs(9), stopped).await.expect("open streams do not block the stop");
    assert_eq!(stopped.unwrap().0, Some(0));
}

async fn overload_refuses_enqueues_at_once_and_never_heartbeats(world: World) {
    let eva = world.client("eva").await;
    eva.send(Method::PUT, "/v1/queues/mails", json!({ "kind": "inbox" })).await.expect(200);
    // Without a limit per caller, so that one caller can fill the room.
    let small = Running::start(&world.url, &["--limits-requests", "2", "--limits-requests-per-caller", "0"]);
    let (flood, beats) = (eva.at(&small), eva.at(&small));
    let held = beats.post("/v1/leases/caja:1/claim", json!({ "ttl_ms": 60_000 })).await.expect(200);
    let items: Vec<_> = (0..500).map(|n| json!({ "payload": n })).collect();
    let calls = (0..60).map(|_| {
        let (flood, items) = (flood.clone(), json!(items));
        tokio::spawn(async move { flood.post("/v1/queues/mails/items", items).await })
    });
    let calls: Vec<_> = calls.collect();
    let (mut accepted, mut refused) = (0, 0);
    for call in calls {
        // A heartbeat beside every call of the flood.
        let beat = beats.post("/v1/leases/caja:1/heartbeat", json!({ "fence": held["fence"] })).await.expect(200);
        assert_eq!(beat["renewed"], true);
        let answer = call.await.unwrap();
        if answer.status == 201 {
            accepted += 500;
        } else {
            answer.problem(503, "overloaded");
            assert_eq!(answer.headers["retry-after"], "1");
            refused += 1;
        }
    }
    assert!(accepted > 0 && refused > 0, "{accepted} items accepted, {refused} calls refused");
    assert_eq!(
        eva.get("/v1/queues/mails").await.expect(200)["counts"]["pending"],
        accepted,
        "only accepted items are stored"
    );
    let after = flood.post("/v1/queues/mails/items", json!({ "payload": 1 })).await;
    after.expect(201);
}

/// Invariant R4.
async fn production_refuses_demo_accounts_and_an_unsafe_database(world: World) {
    let safe = world.url.starts_with("sqlite:");
    match Running::in_production(&world.url) {
        Ok(_) => assert!(safe, "the cluster of the tests runs with fsync = off"),
        Err(stderr) => assert!(!safe && stderr.contains("fsync = off"), "{stderr}"),
    }
    world.turno.add_person(NewPerson::new("ana@demo", "Ana", Role::Editor).unwrap()).await.unwrap();
    let stderr = Running::in_production(&world.url).err().expect("the server does not start");
    assert!(stderr.contains("ana@demo is an account of the demo") && stderr.contains("turno user remove"), "{stderr}");
}
