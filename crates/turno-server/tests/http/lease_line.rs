//! Requests to release a held lease, and the waiting line.

use crate::cases;
use crate::events::Listener;
use crate::lease::claimed;
use crate::world::{Client, World};
use serde_json::{Value, json};

cases![
    a_release_request_is_shown_in_the_next_heartbeat,
    the_waiting_line_is_served_in_order,
    leaving_the_line_gives_up_the_ticket_and_the_offer,
    a_waiting_claim_is_granted_on_release,
    a_waiting_claim_that_times_out_names_the_holder,
    the_holder_cannot_join_the_line_of_its_own_lease,
    an_override_bypasses_the_waiting_line,
    waiting_ends_at_once_when_the_server_stops,
    a_disconnected_waiting_claim_leaves_the_line,
    leave_keeps_the_lease_for_a_moment_for_a_reload,
    a_lease_after_leave_without_a_reload_is_released_and_offered,
    every_waiting_user_sees_their_own_position,
    a_declined_release_request_shows_the_answer,
    an_expired_lease_with_a_line_is_shown_as_offered,
];

async fn turn(client: &Client) -> Value {
    client.post("/v1/leases/caja/turn", json!({})).await.expect(200)
}

async fn release(client: &Client, held: &Value) -> Value {
    client.post("/v1/leases/caja/release", json!({ "fence": held["fence"] })).await.expect(200)
}

/// Reads until so many wait.
async fn until_waiting(client: &Client, waiting: usize) {
    while client.get("/v1/leases/caja").await.expect(200)["waiting"] != waiting {}
}

async fn a_release_request_is_shown_in_the_next_heartbeat(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let asked = leo.post("/v1/leases/caja/request-release", json!({})).await.expect(202);
    assert_eq!((&asked["told"], &asked["state"]), (&json!(false), &json!("free")), "the lease is free");
    let held = claimed(&ana, "caja", json!({})).await;
    assert_eq!(held["requests"], json!([]));
    let asked = leo.post("/v1/leases/caja/request-release", json!({ "message": "¿Falta mucho?" })).await.expect(202);
    assert_eq!(asked["told"], true);
    let beaten = ana.post("/v1/leases/caja/heartbeat", json!({ "fence": held["fence"] })).await.expect(200);
    let request = &beaten["requests"][0];
    assert_eq!((&request["by"]["id"], &request["message"]), (&json!("leo"), &json!("¿Falta mucho?")));
    assert!(request["at"].as_str() >= held["locked_at"].as_str(), "{request}");
    leo.post("/v1/leases/caja/request-release", json!({ "message": "  " })).await.expect(202);
    let beaten = ana.post("/v1/leases/caja/heartbeat", json!({ "fence": held["fence"] })).await.expect(200);
    assert_eq!(
        beaten["requests"].as_array().map(Vec::len),
        Some(1),
        "a newer request replaces the older one: {beaten}"
    );
    assert_eq!(beaten["requests"][0]["message"], Value::Null);
    assert_eq!(release(&ana, &held).await["requests"], json!([]));
}

async fn an_expired_lease_with_a_line_is_shown_as_offered(world: World) {
    let (ana, leo, eva) = (world.client("ana").await, world.client("leo").await, world.client("eva").await);
    let mut listener = Listener::open(&eva, "/v1/events?topics=leases").await;
    let held = claimed(&ana, "caja", json!({ "ttl_ms": 200 })).await;
    turn(&leo).await;
    // No client calls the lease from here on: the server announces the expiry and the offer.
    let mut heard = Vec::new();
    while heard.len() < 2 {
        let block = listener.event().await;
        let name = block.event.unwrap_or_default();
        if name == "lease.lost" || name == "lease.offered" {
            heard.push((name, block.data.unwrap_or_default()));
        }
    }
    let [(lost, ended), (offered, made)] = &heard[..] else { panic!("two events: {heard:?}") };
    assert_eq!((lost.as_str(), &ended["by"], &ended["detail"]), ("lease.lost", &json!("ana"), &json!("expired")));
    assert_eq!((&ended["resource"], &ended["fence"]), (&json!("caja"), &held["fence"]));
    assert_eq!((offered.as_str(), &made["by"]), ("lease.offered", &json!("leo")));
    let lease = eva.get("/v1/leases/caja").await.expect(200);
    assert_eq!((&lease["state"], &lease["offered_to"]["id"]), (&json!("offered"), &json!("leo")));
    assert_eq!(lease["waiting"], 1);
    eva.post("/v1/leases/caja/claim", json!({})).await.problem(409, "lease_offered");
}

async fn the_waiting_line_is_served_in_order(world: World) {
    let (ana, leo, eva) = (world.client("ana").await, world.client("leo").await, world.client("eva").await);
    let held = claimed(&ana, "caja", json!({})).await;
    let first = turn(&leo).await;
    assert_eq!((&first["position"], &first["offered"]), (&json!(1), &json!(false)));
    assert_eq!(first["ticket_expires_in_ms"], 30_000);
    assert_eq!(turn(&eva).await["position"], 2);
    assert_eq!(turn(&leo).await["position"], 1, "repeating the call keeps the ticket");
    let freed = release(&ana, &held).await;
    assert_eq!((&freed["state"], &freed["offered_to"]["id"]), (&json!("offered"), &json!("leo")));
    let refused = eva.post("/v1/leases/caja/claim", json!({})).await.problem(409, "lease_offered");
    assert_eq!((&refused["offered_to"]["id"], &refused["lease"]["state"]), (&json!("leo"), &json!("offered")));
    ana.post("/v1/leases/caja/claim", json!({})).await.problem(409, "lease_offered");
    assert_eq!(turn(&ana).await["position"], 3, "the former holder goes to the back");
    let offered = turn(&leo).await;
    assert_eq!((&offered["position"], &offered["offered"]), (&json!(1), &json!(true)));
    let his = claimed(&leo, "caja", json!({})).await;
    assert_eq!((&his["holder"]["id"], &his["waiting"]), (&json!("leo"), &json!(2)));
    assert_eq!(release(&leo, &his).await["offered_to"]["id"], "eva", "the next ticket gets the offer");
}

async fn leaving_the_line_gives_up_the_ticket_and_the_offer(world: World) {
    let (ana, leo, eva) = (world.client("ana").await, world.client("leo").await, world.client("eva").await);
    let left = leo.delete("/v1/leases/caja/turn").await.expect(200);
    assert_eq!(
        (&left["position"], &left["waiting"]),
        (&Value::Null, &json!(0)),
        "leaving without a ticket is accepted, too"
    );
    let held = claimed(&ana, "caja", json!({})).await;
    turn(&leo).await;
    turn(&eva).await;
    release(&ana, &held).await;
    let left = leo.delete("/v1/leases/caja/turn").await.expect(200);
    assert_eq!((&left["offered"], &left["offered_to"]["id"]), (&json!(false), &json!("eva")));
    let left = eva.delete("/v1/leases/caja/turn").await.expect(200);
    assert_eq!((&left["state"], &left["offered_to"]), (&json!("free"), &Value::Null));
    claimed(&ana, "caja", json!({})).await;
}

async fn a_waiting_claim_is_granted_on_release(world: World) {
    let (ana, leo, eva) = (world.client("ana").await, world.client("leo").await, world.client("eva").await);
    let held = claimed(&ana, "caja", json!({})).await;
    let wait = |client: Client| {
        tokio::spawn(
            async move { client.post("/v1/leases/caja/claim", json!({ "wait_ms": 30_000 })).await.expect(200) },
        )
    };
    let first = wait(leo.clone());
    until_waiting(&ana, 1).await;
    let second = wait(eva);
    until_waiting(&ana, 2).await;
    release(&ana, &held).await;
    let his = first.await.unwrap();
    assert_eq!((&his["holder"]["id"], &his["waiting"]), (&json!("leo"), &json!(1)));
    release(&leo, &his).await;
    assert_eq!(second.await.unwrap()["holder"]["id"], "eva");
}

async fn a_waiting_claim_that_times_out_names_the_holder(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    claimed(&ana, "caja", json!({})).await;
    let refused = leo.post("/v1/leases/caja/claim", json!({ "wait_ms": 1 })).await.problem(409, "lease_held");
    assert_eq!((&refused["holder"]["id"], &refused["position"]), (&json!("ana"), &json!(1)));
    assert_eq!(ana.get("/v1/leases/caja").await.expect(200)["waiting"], 0, "the ticket is gone");
}

async fn the_holder_cannot_join_the_line_of_its_own_lease(world: World) {
    let ana = world.client("ana").await;
    let held = claimed(&ana, "caja", json!({})).await;
    let refused = ana.post("/v1/leases/caja/turn", json!({})).await.problem(409, "already_holder");
    assert_eq!(refused["lease"]["mine"], true);
    let again = claimed(&ana, "caja", json!({ "wait_ms": 30_000 })).await;
    assert_eq!(again["fence"], held["fence"], "a waiting claim by the holder renews at once");
}

async fn an_override_bypasses_the_waiting_line(world: World) {
    let (ana, leo, eva) = (world.client("ana").await, world.client("leo").await, world.client("eva").await);
    let held = claimed(&ana, "caja", json!({})).await;
    turn(&leo).await;
    release(&ana, &held).await;
    let forced = eva.post("/v1/leases/caja/force-claim", json!({ "reason": "urgente" })).await.expect(200);
    assert_eq!((&forced["holder"]["id"], &forced["waiting"]), (&json!("eva"), &json!(1)), "the ticket is kept");
    assert_eq!(turn(&leo).await["position"], 1);
}

async fn waiting_ends_at_once_when_the_server_stops(mut world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    claimed(&ana, "caja", json!({})).await;
    let waiting = leo.clone();
    let waiting =
        tokio::spawn(async move { waiting.post("/v1/leases/caja/claim", json!({ "wait_ms": 30_000 })).await });
    until_waiting(&ana, 1).await;
    assert_eq!(world.server.stop(), Some(0));
    let answer = waiting.await.unwrap();
    answer.problem(503, "stopping");
    assert!(answer.headers.contains_key("retry-after"));
    let other = world.second();
    assert_eq!(ana.at(&other).get("/v1/leases/caja").await.expect(200)["waiting"], 0, "the ticket is gone");
}

async fn a_disconnected_waiting_claim_leaves_the_line(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    claimed(&ana, "caja", json!({})).await;
    let waiting =
        tokio::spawn(async move { leo.post("/v1/leases/caja/claim", json!({ "wait_ms": 30_000 })).await.status });
    until_waiting(&ana, 1).await;
    waiting.abort();
    until_waiting(&ana, 0).await;
    assert!(waiting.await.unwrap_err().is_cancelled(), "the claim was still waiting");
}

async fn leave_keeps_the_lease_for_a_moment_for_a_reload(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let held = claimed(&ana, "caja", json!({ "ttl_ms": 300_000 })).await;
    let leave = json!({ "fence": held["fence"], "claim": 1, "grace_ms": 60_000 });
    let left = ana.post("/v1/leases/caja/release", leave.clone()).await.expect(200);
    assert_eq!((&left["released"], &left["state"]), (&json!(false), &json!("locked")));
    assert!(left["expires_in_ms"].as_i64() < Some(63_000), "{left}");
    leo.post("/v1/leases/caja/claim", json!({})).await.problem(409, "lease_held");
    let again = claimed(&ana, "caja", json!({ "ttl_ms": 300_000 })).await;
    assert_eq!((&again["fence"], &again["claim"]), (&held["fence"], &json!(2)), "the ownership is the same");
    assert!(again["expires_in_ms"].as_i64() > Some(200_000), "{again}");
    let late = ana.post("/v1/leases/caja/release", leave).await.expect(200);
    assert!(late["expires_in_ms"].as_i64() > Some(200_000), "the `leave` of the old page changes nothing: {late}");
    for wrong in [-1, 60_001] {
        let bad = json!({ "fence": held["fence"], "grace_ms": wrong });
        assert_eq!(ana.post("/v1/leases/caja/release", bad).await.problem(400, "bad_field")["field"], "grace_ms");
    }
}

async fn a_lease_after_leave_without_a_reload_is_released_and_offered(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let held = claimed(&ana, "caja", json!({})).await;
    turn(&leo).await;
    let leave = json!({ "fence": held["fence"], "claim": 1, "grace_ms": 100 });
    ana.post("/v1/leases/caja/release", leave).await.expect(200);
    // Only the server acts: a read changes nothing.
    while leo.get("/v1/leases/caja").await.expect(200)["state"] != "offered" {}
    let history = leo.get("/v1/leases/caja/history").await.expect(200);
    assert_eq!(
        (&history["items"][0]["reason"], &history["items"][0]["cause"]),
        (&json!("released"), &json!("released"))
    );
}

async fn every_waiting_user_sees_their_own_position(world: World) {
    let (ana, leo, eva) = (world.client("ana").await, world.client("leo").await, world.client("eva").await);
    let held = claimed(&ana, "caja", json!({})).await;
    turn(&leo).await;
    turn(&eva).await;
    for (client, position) in [(&ana, Value::Null), (&leo, json!(1)), (&eva, json!(2))] {
        assert_eq!(client.get("/v1/leases/caja").await.expect(200)["position"], position);
    }
    assert_eq!(held["offer_expires_in_ms"], Value::Null);
    release(&ana, &held).await;
    let left = leo.get("/v1/leases/caja").await.expect(200)["offer_expires_in_ms"].as_i64();
    assert!((1..=30_000).contains(&left.unwrap()), "{left:?}");
}

async fn a_declined_release_request_shows_the_answer(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let held = claimed(&ana, "caja", json!({})).await;
    let decline = json!({ "fence": held["fence"], "message": "en cinco minutos" });
    let unasked = ana.post("/v1/leases/caja/decline-release", decline.clone()).await.expect(200);
    assert_eq!(unasked["told"], false);
    leo.post("/v1/leases/caja/request-release", json!({})).await.expect(202);
    let open = leo.get("/v1/leases/caja").await.expect(200);
    assert_eq!((&open["requests"][0]["declined_at"], &open["requests"][0]["answer"]), (&Value::Null, &Value::Null));
    leo.post("/v1/leases/caja/decline-release", decline.clone()).await.problem(409, "lease_lost");
    assert_eq!(ana.post("/v1/leases/caja/decline-release", decline).await.expect(200)["told"], true);
    let lease = leo.get("/v1/leases/caja").await.expect(200);
    assert_eq!(lease["requests"][0]["answer"], "en cinco minutos");
    assert!(lease["requests"][0]["declined_at"].is_string(), "{lease}");
}
