//! Claims over HTTP: order, one winner, repeats, and clients that disconnect.

use crate::cases;
use crate::queue::{add, claim, claim_with, ids, made, settle};
use crate::world::{Answer, Client, World};
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

cases![
    a_key_has_one_delivery_in_flight_and_its_items_come_in_order,
    messages_of_one_window_are_delivered_together,
    an_invalid_claim_is_refused_with_the_field_named,
    exactly_one_of_many_claims_of_one_id_is_granted,
    a_refused_claim_of_one_item_has_its_reason,
    a_repeated_claim_of_one_item_gets_the_same_delivery,
    a_repeated_request_gets_the_same_deliveries,
    an_expired_claim_is_available_again_and_the_late_ack_is_stale,
    a_waiting_claim_gets_the_next_item,
    a_client_that_disconnects_during_a_waiting_claim_loses_no_item,
    a_stopping_server_ends_waiting_claims_and_hands_out_nothing,
    two_servers_share_a_queue_and_a_crash_loses_no_item,
];

async fn a_key_has_one_delivery_in_flight_and_its_items_come_in_order(world: World) {
    let eva = made(&world, "bot", json!({ "kind": "lane", "window_ms": 0, "batch_max": 1 })).await;
    let item = |id: &str, key: &str| json!({ "id": id, "key": key, "action": "say", "payload": id });
    add(&eva, "bot", json!([item("a1", "ana"), item("a2", "ana"), item("l1", "leo"), item("a3", "ana")])).await;
    let mut got = claim(&eva, "bot", "w-1").await;
    assert_eq!(ids(&got), ["a1", "l1"]);
    assert!(claim(&eva, "bot", "w-2").await.is_empty(), "ana's other items wait for her first");
    let first = got.remove(0);
    assert_eq!((&first["key"], &first["attempt"]), (&json!("ana"), &json!(1)));
    assert!((1..=15_000).contains(&first["expires_in_ms"].as_i64().unwrap()));
    assert!(first.get("revision").is_none(), "only deliveries of a sync queue have a revision");
    let item = &first["items"][0];
    assert_eq!((&item["action"], &item["payload"], &item["attempt"]), (&json!("say"), &json!("a1"), &json!(1)));
    let mut order = vec!["a1".to_owned()];
    let mut held = first;
    for _ in 0..2 {
        assert_eq!(settle(&eva, "bot", "ack", &held, json!({})).await["outcome"], "acked");
        let mut next = claim(&eva, "bot", "w-1").await;
        assert_eq!(next.len(), 1);
        held = next.remove(0);
        order.push(held["items"][0]["id"].as_str().unwrap().to_owned());
    }
    assert_eq!(order, ["a1", "a2", "a3"]);
}

async fn messages_of_one_window_are_delivered_together(world: World) {
    let eva = made(&world, "bot", json!({ "kind": "lane", "window_ms": 150, "max_wait_ms": 5_000 })).await;
    add(&eva, "bot", json!({ "id": "hola", "key": "ana", "payload": 1 })).await;
    add(&eva, "bot", json!({ "id": "¿hay lugar?", "key": "ana", "payload": 2 })).await;
    let got = claim_with(&eva, "bot", json!({ "instance": "w", "wait_ms": 10_000 })).await;
    assert_eq!((got.len(), ids(&got)), (1, vec!["hola", "¿hay lugar?"]));
    add(&eva, "bot", json!({ "id": "tarde", "key": "ana", "payload": 3 })).await;
    assert!(claim(&eva, "bot", "w").await.is_empty(), "a later item is not part of the delivery");
}

async fn an_invalid_claim_is_refused_with_the_field_named(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    add(&eva, "mails", json!({ "id": "m-1", "payload": 1 })).await;
    for (body, field) in [
        (json!({ "instance": "" }), "instance"),
        (json!({ "instance": "a\u{7}b" }), "instance"),
        (json!({ "instance": 3 }), "instance"),
        (json!({ "instance": "w", "max": 0 }), "max"),
        (json!({ "instance": "w", "max": 1_001 }), "max"),
        (json!({ "instance": "w", "max": -1 }), "max"),
        (json!({ "instance": "w", "wait_ms": 30_001 }), "wait_ms"),
        (json!({ "instance": "w", "wait_ms": -1 }), "wait_ms"),
        (json!({ "instance": "w", "request_id": "" }), "request_id"),
        (json!({ "instance": "w", "count": 1 }), "count"),
    ] {
        let refused = eva.post("/v1/queues/mails/claim", body.clone()).await.problem(400, "bad_field");
        assert_eq!(refused["field"], field, "{body}");
    }
    for path in ["claim", "items/m-1/claim"] {
        let path = format!("/v1/queues/mails/{path}");
        for body in [json!({}), json!({ "instance": null })] {
            let refused = eva.post(&path, body).await.problem(400, "instance_required");
            assert_eq!(refused["field"], "instance");
        }
    }
    assert_eq!(claim(&eva, "mails", "w").await[0]["attempt"], 1, "the refused claims handed out nothing");
}

/// Claims by id, all at the same time, each over its own connection.
async fn claim_all(clients: &[Client], id_of: impl Fn(usize) -> String) -> Vec<Answer> {
    let calls = clients.iter().enumerate().map(|(index, client)| {
        let path = format!("/v1/queues/mails/items/{}/claim", id_of(index));
        async move { client.post(&path, json!({ "instance": format!("w-{index}") })).await }
    });
    join_all(calls).await
}

async fn exactly_one_of_many_claims_of_one_id_is_granted(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    let clients: Vec<Client> = (0..16).map(|_| eva.fresh()).collect();
    let items =
        |round: usize| -> Value { (0..16).map(|n| json!({ "id": format!("r{round}-{n}"), "payload": n })).collect() };
    for round in 0..5 {
        add(&eva, "mails", items(round)).await;
        let answers = claim_all(&clients, |_| format!("r{round}-0")).await;
        let won: Vec<&Answer> = answers.iter().filter(|answer| answer.status == 200).collect();
        assert_eq!(won.len(), 1, "{answers:?}");
        for lost in answers.iter().filter(|answer| answer.status != 200) {
            lost.problem(409, "already_claimed");
        }
        // The control: with one item each, every claim is granted. So the others above lost only to the winner.
        let mine = claim_all(&clients[1..], |index| format!("r{round}-{}", index + 1)).await;
        assert!(mine.iter().all(|answer| answer.status == 200), "{mine:?}");
    }
}

async fn a_refused_claim_of_one_item_has_its_reason(world: World) {
    let eva = made(&world, "bot", json!({ "kind": "lane", "window_ms": 0, "batch_max": 1 })).await;
    let item = |id: &str| json!({ "id": id, "key": "ana", "payload": id });
    add(&eva, "bot", json!([item("m-1"), item("m-2")])).await;
    let claim_item =
        async |id: &str| eva.post(&format!("/v1/queues/bot/items/{id}/claim"), json!({ "instance": "w" })).await;
    claim_item("none").await.problem(404, "not_found");
    let behind = claim_item("m-2").await.problem(409, "not_available");
    assert_eq!((&behind["reason"], &behind["behind"]), (&json!("behind_head"), &json!("m-1")));
    assert!(behind["detail"].as_str().unwrap().contains("m-1"), "{behind}");
    let held = claim_item("m-1").await.expect(200);
    assert_eq!((&held["items"][0]["id"], &held["attempt"]), (&json!("m-1"), &json!(1)));
    let mine = claim_item("m-1").await.problem(409, "already_claimed");
    assert_eq!(mine["mine"], true);
    assert!(mine["detail"].as_str().unwrap().contains("Esta misma instancia"), "{mine}");
    let other = eva.post("/v1/queues/bot/items/m-1/claim", json!({ "instance": "w-2" })).await;
    let other = other.problem(409, "already_claimed");
    assert_eq!(other["mine"], false);
    assert!(other["detail"].as_str().unwrap().contains("Otro proceso"), "{other}");
    assert_eq!(claim_item("m-2").await.problem(409, "not_available")["reason"], "behind_in_flight");
    settle(&eva, "bot", "ack", &held, json!({})).await;
    claim_item("m-1").await.problem(409, "already_processed");
    assert_eq!(claim_item("m-2").await.expect(200)["items"][0]["id"], "m-2");
}

async fn a_repeated_claim_of_one_item_gets_the_same_delivery(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    add(&eva, "mails", json!({ "id": "m-1", "payload": 1 })).await;
    let ask = async |instance: &str, request: &str| {
        let body = json!({ "instance": instance, "request_id": request });
        eva.post("/v1/queues/mails/items/m-1/claim", body).await
    };
    let first = ask("w", "r-1").await.expect(200);
    let again = ask("w", "r-1").await.expect(200);
    assert_eq!(
        (&again["delivery"], &again["fence"], &again["attempt"]),
        (&first["delivery"], &first["fence"], &json!(1))
    );
    assert_eq!(ask("w", "r-2").await.problem(409, "already_claimed")["mine"], true);
    assert_eq!(ask("w-2", "r-1").await.problem(409, "already_claimed")["mine"], false);
}

async fn a_repeated_request_gets_the_same_deliveries(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    add(&eva, "mails", json!([{ "payload": 1 }, { "payload": 2 }, { "payload": 3 }])).await;
    let ask = |request: &str| json!({ "instance": "w-1", "max": 2, "request_id": request });
    let first = claim_with(&eva, "mails", ask("r-1")).await;
    let again = claim_with(&eva, "mails", ask("r-1")).await;
    let names = |got: &[Value]| -> Vec<(Value, Value, Value)> {
        got.iter().map(|one| (one["delivery"].clone(), one["fence"].clone(), one["attempt"].clone())).collect()
    };
    assert_eq!((first.len(), names(&again)), (2, names(&first)));
    let other = claim_with(&eva, "mails", ask("r-2")).await;
    assert_eq!(other.len(), 1, "another request gets other items");
    let leo = world.client("leo").await;
    assert!(claim_with(&leo, "mails", ask("r-1")).await.is_empty(), "a request id counts per user");
    for delivery in &first {
        settle(&eva, "mails", "ack", delivery, json!({})).await;
    }
    assert!(claim_with(&eva, "mails", ask("r-1")).await.is_empty(), "settled deliveries are not returned again");
}

async fn an_expired_claim_is_available_again_and_the_late_ack_is_stale(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox", "lock_timeout_ms": 150 })).await;
    add(&eva, "mails", json!({ "id": "m-1", "payload": 1 })).await;
    let dead = claim(&eva, "mails", "w-dead").await.remove(0);
    let next = claim_with(&eva, "mails", json!({ "instance": "w-2", "wait_ms": 20_000 })).await.remove(0);
    assert_eq!((ids(std::slice::from_ref(&next)), &next["attempt"]), (vec!["m-1"], &json!(2)));
    assert!(next["fence"].as_i64() > dead["fence"].as_i64());
    for how in ["ack", "return", "heartbeat"] {
        assert_eq!(settle(&eva, "mails", how, &dead, json!({})).await["outcome"], "stale", "{how}");
    }
    assert_eq!(settle(&eva, "mails", "fail", &dead, json!({ "error": "late" })).await["outcome"], "stale");
    let item = eva.get("/v1/queues/mails/items/m-1").await.expect(200);
    let error = &item["errors"][0];
    assert_eq!((&error["attempt"], &error["instance"], &error["fence"]), (&json!(1), &json!("w-dead"), &dead["fence"]));
}

async fn a_waiting_claim_gets_the_next_item(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    let waiting = claim_with(&eva, "mails", json!({ "instance": "w", "wait_ms": 30_000 }));
    let arriving = add(&eva, "mails", json!({ "id": "m-1", "payload": 1 }));
    let (got, _) = tokio::join!(waiting, arriving);
    assert_eq!(ids(&got), ["m-1"]);
    assert!(
        claim_with(&eva, "mails", json!({ "instance": "w", "wait_ms": 100 })).await.is_empty(),
        "the claim ends empty after its wait"
    );
}

async fn a_client_that_disconnects_during_a_waiting_claim_loses_no_item(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    for round in 0..3 {
        // The clients hang up while they wait.
        let leaving = (0..4).map(|_| {
            let client = eva.fresh();
            async move {
                let asked = client.post("/v1/queues/mails/claim", json!({ "instance": "ghost", "wait_ms": 30_000 }));
                assert!(tokio::time::timeout(Duration::from_millis(200), asked).await.is_err(), "the claim waits");
            }
        });
        join_all(leaving).await;
        add(&eva, "mails", json!({ "id": format!("m-{round}"), "payload": round })).await;
        let got = claim_with(&eva, "mails", json!({ "instance": "w", "wait_ms": 10_000 })).await;
        assert_eq!((ids(&got), &got[0]["attempt"]), (vec![format!("m-{round}").as_str()], &json!(1)));
    }
    // A client that hangs up after the answer keeps the delivery until it expires.
    add(&eva, "mails", json!({ "id": "taken", "payload": 1 })).await;
    assert_eq!(claim(&eva.fresh(), "mails", "gone").await.len(), 1);
    assert!(claim_with(&eva, "mails", json!({ "instance": "w", "wait_ms": 200 })).await.is_empty());
}

async fn a_stopping_server_ends_waiting_claims_and_hands_out_nothing(mut world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    made(&world, "empty", json!({ "kind": "inbox" })).await;
    add(&eva, "mails", json!({ "id": "m-1", "payload": 1 })).await;
    let waiting = eva.post("/v1/queues/empty/claim", json!({ "instance": "w", "wait_ms": 30_000 }));
    tokio::pin!(waiting);
    assert!(tokio::time::timeout(Duration::from_secs(1), &mut waiting).await.is_err(), "the claim waits");
    let late = HalfAsked::claim(&world, &eva, "mails").await;
    world.server.tell_to_stop();
    assert_eq!(waiting.await.expect(200), json!({ "deliveries": [] }), "the claim ends at once, not after its wait");
    let refused = late.finish(r#"{"instance":"w"}"#).await;
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains(r#""code":"stopping""#), "{refused}");
    assert_eq!(world.server.stop(), Some(0));
    assert_eq!(world.turno.queue("mails").await.unwrap().counts().await.unwrap().pending, 1);
}

/// A claim without its body. The handler waits for it.
struct HalfAsked(TcpStream);

impl HalfAsked {
    const BODY: usize = 16;

    async fn claim(world: &World, client: &Client, queue: &str) -> HalfAsked {
        let host = world.server.base.trim_start_matches("http://");
        let mut stream = TcpStream::connect(host).await.unwrap();
        let (secret, size) = (client.secret(), HalfAsked::BODY);
        let head = format!(
            "POST /v1/queues/{queue}/claim HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {secret}\r\n\
             content-length: {size}\r\nexpect: 100-continue\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut go_on = [0; 25];
        stream.read_exact(&mut go_on).await.unwrap();
        assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n", "the handler asks for the body");
        HalfAsked(stream)
    }

    async fn finish(mut self, body: &str) -> String {
        assert_eq!(body.len(), HalfAsked::BODY);
        self.0.write_all(body.as_bytes()).await.unwrap();
        let mut answer = String::new();
        self.0.read_to_string(&mut answer).await.unwrap();
        answer
    }
}

async fn two_servers_share_a_queue_and_a_crash_loses_no_item(world: World) {
    let mut second = world.second();
    let eva = made(&world, "mails", json!({ "kind": "inbox", "lock_timeout_ms": 5_000 })).await;
    let there = eva.at(&second);
    let items: Vec<Value> = (0..20).map(|n| json!({ "id": format!("m-{n}"), "payload": n })).collect();
    add(&there, "mails", json!(items)).await;
    let ask = |instance: &str| json!({ "instance": instance, "max": 5 });
    let (here, theirs) = tokio::join!(claim_with(&eva, "mails", ask("w-1")), claim_with(&there, "mails", ask("w-2")));
    let mut seen: Vec<&str> = ids(&here).into_iter().chain(ids(&theirs)).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 10, "each item is delivered once");
    // A delivery of one server is settled at the other.
    assert_eq!(settle(&eva, "mails", "ack", &theirs[0], json!({})).await["outcome"], "acked");
    second.kill();
    let mut done = 1;
    while done < 20 {
        let got = claim_with(&eva, "mails", json!({ "instance": "w-1", "max": 100, "wait_ms": 20_000 })).await;
        assert!(!got.is_empty(), "the deliveries of the killed server come back");
        for delivery in &got {
            done += usize::from(settle(&eva, "mails", "ack", delivery, json!({})).await["outcome"] == "acked");
        }
    }
    let counts = &eva.get("/v1/queues/mails").await.expect(200)["counts"];
    assert_eq!((&counts["processed"], &counts["in_process"], &counts["pending"]), (&json!(20), &json!(0), &json!(0)));
}
