//! Those who want a lease that somebody else has: asking for it, and the waiting line.

use crate::cases;
use crate::lease::claimed;
use crate::world::{Client, World};
use serde_json::{Value, json};

cases![
    a_request_to_let_go_is_seen_with_the_next_heartbeat,
    the_waiting_line_is_served_in_order,
    who_leaves_the_line_loses_the_place_and_the_offer,
    who_waits_for_a_claim_gets_it_when_it_is_released,
    who_waited_in_vain_is_told_who_has_it,
    whoever_holds_it_cannot_wait_for_it,
    an_override_passes_the_line_by,
    waiting_ends_at_once_when_the_server_stops,
    who_goes_away_while_waiting_leaves_the_line,
];

async fn turn(client: &Client) -> Value {
    client.post("/v1/leases/caja/turn", json!({})).await.expect(200)
}

async fn release(client: &Client, held: &Value) -> Value {
    client.post("/v1/leases/caja/release", json!({ "fence": held["fence"] })).await.expect(200)
}

/// Looks until so many wait.
async fn until_waiting(client: &Client, waiting: usize) {
    while client.get("/v1/leases/caja").await.expect(200)["waiting"] != waiting {}
}

async fn a_request_to_let_go_is_seen_with_the_next_heartbeat(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let asked = leo.post("/v1/leases/caja/request-release", json!({})).await.expect(202);
    assert_eq!((&asked["told"], &asked["state"]), (&json!(false), &json!("free")), "nobody holds it");
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
    assert_eq!(beaten["requests"].as_array().map(Vec::len), Some(1), "the newer one of the same person: {beaten}");
    assert_eq!(beaten["requests"][0]["message"], Value::Null);
    assert_eq!(release(&ana, &held).await["requests"], json!([]));
}

async fn the_waiting_line_is_served_in_order(world: World) {
    let (ana, leo, eva) = (world.client("ana").await, world.client("leo").await, world.client("eva").await);
    let held = claimed(&ana, "caja", json!({})).await;
    let first = turn(&leo).await;
    assert_eq!((&first["position"], &first["offered"]), (&json!(1), &json!(false)));
    assert_eq!(first["ticket_expires_in_ms"], 30_000);
    assert_eq!(turn(&eva).await["position"], 2);
    assert_eq!(turn(&leo).await["position"], 1, "repeating it keeps the place");
    let freed = release(&ana, &held).await;
    assert_eq!((&freed["state"], &freed["offered_to"]["id"]), (&json!("offered"), &json!("leo")));
    let refused = eva.post("/v1/leases/caja/claim", json!({})).await.problem(409, "lease_offered");
    assert_eq!((&refused["offered_to"]["id"], &refused["lease"]["state"]), (&json!("leo"), &json!("offered")));
    ana.post("/v1/leases/caja/claim", json!({})).await.problem(409, "lease_offered");
    assert_eq!(turn(&ana).await["position"], 3, "whoever had it goes to the back");
    let offered = turn(&leo).await;
    assert_eq!((&offered["position"], &offered["offered"]), (&json!(1), &json!(true)));
    let his = claimed(&leo, "caja", json!({})).await;
    assert_eq!((&his["holder"]["id"], &his["waiting"]), (&json!("leo"), &json!(2)));
    assert_eq!(release(&leo, &his).await["offered_to"]["id"], "eva", "the next");
}

async fn who_leaves_the_line_loses_the_place_and_the_offer(world: World) {
    let (ana, leo, eva) = (world.client("ana").await, world.client("leo").await, world.client("eva").await);
    let left = leo.delete("/v1/leases/caja/turn").await.expect(200);
    assert_eq!((&left["position"], &left["waiting"]), (&Value::Null, &json!(0)), "also who never stood in it");
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

async fn who_waits_for_a_claim_gets_it_when_it_is_released(world: World) {
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

async fn who_waited_in_vain_is_told_who_has_it(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    claimed(&ana, "caja", json!({})).await;
    let refused = leo.post("/v1/leases/caja/claim", json!({ "wait_ms": 1 })).await.problem(409, "lease_held");
    assert_eq!((&refused["holder"]["id"], &refused["position"]), (&json!("ana"), &json!(1)));
    assert_eq!(ana.get("/v1/leases/caja").await.expect(200)["waiting"], 0, "and has left the line");
}

async fn whoever_holds_it_cannot_wait_for_it(world: World) {
    let ana = world.client("ana").await;
    let held = claimed(&ana, "caja", json!({})).await;
    let refused = ana.post("/v1/leases/caja/turn", json!({})).await.problem(409, "already_holder");
    assert_eq!(refused["lease"]["mine"], true);
    let again = claimed(&ana, "caja", json!({ "wait_ms": 30_000 })).await;
    assert_eq!(again["fence"], held["fence"], "a claim that would wait finds it is there");
}

async fn an_override_passes_the_line_by(world: World) {
    let (ana, leo, eva) = (world.client("ana").await, world.client("leo").await, world.client("eva").await);
    let held = claimed(&ana, "caja", json!({})).await;
    turn(&leo).await;
    release(&ana, &held).await;
    let forced = eva.post("/v1/leases/caja/force-claim", json!({ "reason": "urgente" })).await.expect(200);
    assert_eq!((&forced["holder"]["id"], &forced["waiting"]), (&json!("eva"), &json!(1)), "who waits keeps the place");
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
    assert_eq!(ana.at(&other).get("/v1/leases/caja").await.expect(200)["waiting"], 0, "and the place is given up");
}

async fn who_goes_away_while_waiting_leaves_the_line(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    claimed(&ana, "caja", json!({})).await;
    let waiting =
        tokio::spawn(async move { leo.post("/v1/leases/caja/claim", json!({ "wait_ms": 30_000 })).await.status });
    until_waiting(&ana, 1).await;
    waiting.abort();
    until_waiting(&ana, 0).await;
    assert!(waiting.await.unwrap_err().is_cancelled(), "nobody answered before");
}
