//! Repeated calls under an `Idempotency-Key`.

use crate::cases;
use crate::world::{Answer, Client, World, answer};
use reqwest::Method;
use serde_json::{Value, json};

cases![
    a_call_repeated_under_a_key_creates_nothing_and_gets_the_same_answer,
    a_key_with_another_content_is_refused,
    idempotency_keys_are_separate_per_caller,
    refusals_are_not_kept_under_a_key,
    concurrent_calls_under_one_key_create_one_task_over_two_instances,
    an_invalid_idempotency_key_is_refused,
];

async fn create(client: &Client, key: &str, body: &Value) -> Answer {
    let request = client.request(Method::POST, "/v1/tasks").header("idempotency-key", key).json(body);
    answer(request.send().await.unwrap()).await
}

async fn count(client: &Client) -> usize {
    client.get("/v1/tasks").await.expect(200)["items"].as_array().unwrap().len()
}

fn entry(quantity: i64) -> Value {
    json!({ "title": "Entrada", "lines": [{ "kind": "quantity", "sku": "clavos", "quantity": quantity }] })
}

async fn a_call_repeated_under_a_key_creates_nothing_and_gets_the_same_answer(mut world: World) {
    let ana = world.client("ana").await;
    let first = create(&ana, "k-1", &entry(3)).await;
    let made = first.expect(201);
    assert!(!first.headers.contains_key("idempotency-replayed"));
    ana.send(Method::PUT, &format!("/v1/tasks/{}", made["id"]), json!({ "title": "Otra" })).await.expect(200);
    let again = create(&ana, "k-1", &entry(3)).await;
    assert_eq!((again.expect(201), &again.text), (made.clone(), &first.text), "the first answer is repeated");
    assert_eq!(again.headers["idempotency-replayed"], "true");
    assert_eq!(again.headers["content-type"], "application/json");
    world.server.kill();
    let other = world.second();
    assert_eq!(
        create(&ana.at(&other), "k-1", &entry(3)).await.expect(201),
        made,
        "another instance repeats the answer, too"
    );
    assert_eq!(count(&ana.at(&other)).await, 1);
    assert_ne!(create(&ana.at(&other), "k-2", &entry(3)).await.expect(201)["id"], made["id"]);
}

async fn a_key_with_another_content_is_refused(world: World) {
    let ana = world.client("ana").await;
    create(&ana, "k", &entry(3)).await.expect(201);
    create(&ana, "k", &entry(4)).await.problem(422, "idempotency_key_reused");
    assert_eq!(count(&ana).await, 1);
}

async fn idempotency_keys_are_separate_per_caller(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let hers = create(&ana, "k", &entry(3)).await.expect(201);
    let his = create(&leo, "k", &entry(4)).await.expect(201);
    assert_ne!(hers["id"], his["id"]);
    let (actor, secret) = (world.client("eva").await, "turno-actor");
    let request = actor.request(Method::POST, "/v1/tasks").header("idempotency-key", "k").header(secret, "ana");
    let through = answer(request.json(&entry(5)).send().await.unwrap()).await.expect(201);
    assert_ne!(through["id"], hers["id"], "keys of a caller on behalf of a user are separate, too");
}

async fn refusals_are_not_kept_under_a_key(world: World) {
    let ana = world.client("ana").await;
    create(&ana, "k", &json!({ "title": "" })).await.problem(400, "bad_field");
    create(&ana, "k", &entry(0)).await.problem(400, "bad_field");
    let made = create(&ana, "k", &entry(3)).await;
    made.expect(201);
    assert!(!made.headers.contains_key("idempotency-replayed"));
}

async fn concurrent_calls_under_one_key_create_one_task_over_two_instances(world: World) {
    let ana = world.client("ana").await;
    let other = world.second();
    let calls: Vec<_> = (0..8)
        .map(|call| {
            let client = if call % 2 == 0 { ana.clone() } else { ana.at(&other) };
            tokio::spawn(async move { create(&client, "k", &entry(3)).await })
        })
        .collect();
    let (mut ids, mut fresh) = (Vec::new(), 0);
    for call in calls {
        let answer = call.await.unwrap();
        ids.push(answer.expect(201)["id"].clone());
        fresh += usize::from(!answer.headers.contains_key("idempotency-replayed"));
    }
    ids.dedup();
    assert_eq!((ids.len(), count(&ana).await), (1, 1));
    assert!(fresh <= 1, "at most one call is answered as the first");
    for _ in 0..2 {
        ana.post("/v1/tasks", entry(3)).await.expect(201);
    }
    assert_eq!(count(&ana).await, 3, "without a key every call creates a task");
}

async fn an_invalid_idempotency_key_is_refused(world: World) {
    let ana = world.client("ana").await;
    for bad in ["", "two words", &"k".repeat(201)] {
        let refused = create(&ana, bad, &entry(3)).await.problem(400, "bad_header");
        assert_eq!(refused["header"], "Idempotency-Key");
    }
    create(&ana, &"k".repeat(200), &entry(3)).await.expect(201);
    assert_eq!(count(&ana).await, 1);
}
