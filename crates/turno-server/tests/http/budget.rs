//! Budgets in bytes: payloads in lists and claims, and the memory of the server (S1).

use crate::cases;
use crate::world::{Client, Running, World};
use serde_json::{Value, json};
use turno::core::queue::{Kind, Policy};
use turno::core::time::Span;
use turno::queue::Draft;

cases![
    a_list_cuts_large_payloads_and_ends_by_bytes,
    a_claim_and_a_group_end_by_bytes,
    a_payload_above_the_limit_is_refused_with_its_field,
    readers_of_large_payloads_do_not_exhaust_memory,
];

const MIB: usize = 1 << 20;

fn sized(id: &str, bytes: usize) -> Draft {
    let payload = format!("\"{}\"", "x".repeat(bytes - 2));
    Draft { payload: payload.into(), ..Draft::json("x").unwrap().id(id).unwrap().key("ana").unwrap() }
}

async fn inbox(world: &World, sizes: impl Iterator<Item = usize>) {
    let queue = world.turno.put_queue("mails", Policy::for_kind(Kind::Inbox)).await.unwrap();
    for (n, bytes) in sizes.enumerate() {
        queue.enqueue(vec![sized(&format!("m{n:02}"), bytes)]).await.unwrap();
    }
}

fn ids(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

async fn a_list_cuts_large_payloads_and_ends_by_bytes(world: World) {
    inbox(&world, [4_096, 4_097, 60_000, 60_000].into_iter()).await;
    let server = Running::start(&world.url, &["--limits-answer-bytes", "100000"]);
    let vera = world.client("vera").await.at(&server);
    let page = vera.get("/v1/queues/mails/items").await.expect(200);
    assert_eq!(page["next_cursor"], Value::Null, "cut payloads fit");
    let small = &page["items"][0];
    assert!(small["payload"].as_str().is_some_and(|text| text.len() == 4_094) && small.get("payload_cut").is_none());
    for (index, bytes) in [(1, 4_097), (2, 60_000), (3, 60_000)] {
        let item = &page["items"][index];
        let cut = (&item["payload"], &item["payload_cut"], &item["payload_bytes"]);
        assert_eq!(cut, (&Value::Null, &json!(true), &json!(bytes)));
    }
    let (mut cursor, mut pages) = (String::new(), Vec::new());
    loop {
        let page = vera.get(&format!("/v1/queues/mails/items?payload=full{cursor}")).await.expect(200);
        assert!(page["items"].as_array().unwrap().iter().all(|item| item["payload"].is_string()));
        pages.push(ids(&page["items"]));
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(pages, [vec!["m00", "m01", "m02"], vec!["m03"]]);
    vera.get("/v1/queues/mails/items?payload=half").await.problem(400, "bad_query");
    let one = vera.get("/v1/queues/mails/items/m03").await.expect(200);
    assert!(one["payload"].is_string() && one.get("payload_cut").is_none(), "one item is whole");
}

async fn a_claim_and_a_group_end_by_bytes(world: World) {
    inbox(&world, [40_000; 5].into_iter()).await;
    let policy = Policy { window: Span(60_000), max_wait: Span(60_000), ..Policy::for_kind(Kind::Lane) };
    world.turno.put_queue("chat", policy).await.unwrap();
    let server = Running::start(&world.url, &["--limits-answer-bytes", "100000"]);
    let ana = world.client("ana").await.at(&server);
    let claim = async |queue: &str| {
        let body = json!({ "instance": "w1", "max": 100 });
        let got = ana.post(&format!("/v1/queues/{queue}/claim"), body).await.expect(200);
        let deliveries = got["deliveries"].as_array().unwrap();
        deliveries.iter().map(|delivery| ids(&delivery["items"])).collect::<Vec<_>>()
    };
    assert_eq!(claim("mails").await, [["m00"], ["m01"]]);
    assert_eq!(claim("mails").await, [["m02"], ["m03"]]);
    assert_eq!(claim("mails").await, [["m04"]]);
    for id in ["1", "2", "3"] {
        assert_eq!(claim("chat").await, Vec::<Vec<String>>::new(), "the window is open");
        let item = json!({ "id": id, "key": "ana", "payload": "x".repeat(40_000) });
        ana.post("/v1/queues/chat/items", item).await.expect(201);
    }
    assert_eq!(claim("chat").await, [["1", "2"]]);
}

async fn a_payload_above_the_limit_is_refused_with_its_field(world: World) {
    inbox(&world, std::iter::empty()).await;
    let server = Running::start(&world.url, &["--limits-payload-bytes", "2048"]);
    let ana = world.client("ana").await.at(&server);
    let item = |bytes: usize| json!({ "payload": "x".repeat(bytes - 2) });
    ana.post("/v1/queues/mails/items", item(2_048)).await.expect(201);
    let refused = ana.post("/v1/queues/mails/items", item(2_049)).await.problem(413, "too_large");
    assert_eq!((&refused["field"], &refused["max_bytes"]), (&json!("payload"), &json!(2_048)));
    let refused = ana.post("/v1/queues/mails/items", json!([item(9), item(3_000)])).await.problem(413, "too_large");
    assert_eq!(refused["field"], "[1].payload");
    let stored = ana.get("/v1/queues/mails").await.expect(200);
    assert_eq!(stored["counts"]["pending"], 1, "{stored}");
}

/// Lists and claims large payloads by four callers at once. Returns how far the server's memory rose above idle.
async fn attack(server: &Running, readers: &[Client]) -> usize {
    readers[0].at(server).get("/v1/queues/mails/items?limit=1").await.expect(200);
    let idle = server.memory("VmRSS");
    let attacks = readers.iter().map(|reader| {
        let reader = reader.at(server);
        tokio::spawn(async move {
            for _ in 0..2 {
                reader.get("/v1/queues/mails/items?limit=100&payload=full").await.expect(200);
                reader.get("/v1/queues/mails/items?limit=100").await.expect(200);
                let claim = json!({ "instance": "w1", "max": 100 });
                reader.post("/v1/queues/mails/claim", claim).await.expect(200);
            }
        })
    });
    for attack in attacks.collect::<Vec<_>>() {
        attack.await.unwrap();
    }
    server.memory("VmHWM").saturating_sub(idle)
}

async fn readers_of_large_payloads_do_not_exhaust_memory(world: World) {
    inbox(&world, [3 * MIB; 40].into_iter()).await;
    let mut readers = Vec::new();
    for user in ["ana", "leo", "eva", "ana"] {
        readers.push(world.client(user).await);
    }
    let unlimited = Running::start(&world.url, &["--limits-answer-bytes", "1073741824"]);
    let rise = attack(&unlimited, &readers).await;
    assert!(rise > 200 * MIB, "the negative control: without the budget memory rises by {} MiB", rise / MIB);
    drop(unlimited);
    let rise = attack(&world.server, &readers).await;
    assert!(rise < 200 * MIB, "memory rose by {} MiB", rise / MIB);
}
