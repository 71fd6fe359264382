//! Attacks on narrow rights, as they worked against 0.1.0: foreign deliveries, queues and resources out of scope,
//! reading without permission, private messages, and revoking the tokens of others.

use crate::cases;
use crate::events::Listener;
use crate::queue::{add, claim, claim_with, made, named, settle};
use crate::world::{Client, World, answer};
use reqwest::Method;
use serde_json::{Value, json};
use turno::access::NewToken;

cases![
    a_delivery_is_settled_only_by_the_account_that_claimed_it,
    a_token_for_one_queue_reaches_no_other_queue,
    a_restricted_token_cannot_make_one_for_other_queues,
    a_session_without_bounds_reads_only_leases,
    private_messages_and_reasons_reach_only_users_concerned,
    a_narrow_token_revokes_only_itself,
    another_user_cannot_save_with_a_fence_that_they_read,
    an_unknown_actor_gets_the_permissions_of_the_tokens_list,
];

/// Claims one delivery of the queue `mails`.
async fn claim_mail(client: &Client) -> Value {
    claim_with(client, "mails", json!({ "instance": "w" })).await.remove(0)
}

/// S3: in 0.1.0 every account with `queues.consume` settled every delivery whose name and fence it knew.
async fn a_delivery_is_settled_only_by_the_account_that_claimed_it(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox", "max_attempts": 9 })).await;
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    for n in 1..=3 {
        add(&eva, "mails", json!({ "id": format!("m-{n}"), "payload": n })).await;
    }
    let got = claim_mail(&ana).await;
    let extra = |verb: &str| if verb == "fail" { json!({ "error": "x" }) } else { json!({}) };
    for verb in ["heartbeat", "ack", "fail", "return"] {
        let answer = settle(&leo, "mails", verb, &got, extra(verb)).await;
        assert_eq!(answer, json!({ "delivery": got["delivery"], "outcome": "stale" }), "{verb}");
    }
    let item = ana.get("/v1/queues/mails/items/m-1").await.expect(200);
    assert_eq!((&item["state"], &item["attempts"], &item["errors"]), (&json!("in_process"), &json!(1), &json!([])));
    // In a batch the caller's own delivery is settled, and the other one is stale.
    let own = claim_mail(&leo).await;
    let both = json!({ "deliveries": [named(&got), named(&own)] });
    let answers = leo.post("/v1/queues/mails/ack", both).await.expect(200);
    assert_eq!(
        (&answers["results"][0]["outcome"], &answers["results"][1]["outcome"]),
        (&json!("stale"), &json!("acked"))
    );
    // Another token of the same account may settle. A repeat by the other account still gets no answer.
    let rotated = world.client("ana").await;
    assert_eq!(settle(&rotated, "mails", "heartbeat", &got, json!({})).await["outcome"], "renewed");
    assert_eq!(settle(&rotated, "mails", "ack", &got, json!({})).await["outcome"], "acked");
    assert_eq!(settle(&leo, "mails", "ack", &got, json!({})).await["outcome"], "stale");
    assert_eq!(settle(&ana, "mails", "ack", &got, json!({})).await["repeated"], true);
    // A manager settles, but does not renew, and the audit names the worker.
    let got = claim_mail(&ana).await;
    assert_eq!(settle(&eva, "mails", "heartbeat", &got, json!({})).await["outcome"], "stale");
    assert_eq!(settle(&eva, "mails", "return", &got, json!({})).await["outcome"], "returned");
    let entries = eva.get("/v1/audit?action=delivery_settle").await.expect(200);
    let entry = &entries["items"][0];
    assert_eq!((&entry["actor"], &entry["resource"]), (&json!("eva"), &json!("mails")));
    assert_eq!((&entry["detail"]["act"], &entry["detail"]["holder"]), (&json!("return"), &json!("w (ana)")));
    assert_eq!(entries["items"].as_array().unwrap().len(), 1, "own settlements are not audited");
    let verified = eva.get("/v1/audit/verify").await.expect(200);
    assert_eq!(verified["ok"], true, "{verified}");
    // Deliveries that the server claimed for itself have no user.
    let queue = world.turno.queue("mails").await.unwrap();
    let pushed = queue.claim(turno::queue::Claim::by("w")).await.unwrap().remove(0).reference;
    let pushed = json!({ "delivery": pushed.token(), "fence": pushed.fence });
    assert_eq!(settle(&leo, "mails", "ack", &pushed, json!({})).await["outcome"], "stale");
}

/// Creates a token over HTTP and returns a client with it.
async fn token(by: &Client, world: &World, body: Value) -> (String, Client) {
    let made = by.post("/v1/tokens", body).await.expect(201);
    let secret = made["token"].as_str().unwrap().to_owned();
    (made["id"].as_str().unwrap().to_owned(), Client::new(&world.server.base, Some(secret)))
}

/// Mints a session over HTTP and returns a client with it.
async fn session(by: &Client, world: &World, body: Value) -> Client {
    let made = by.post("/v1/sessions", body).await.expect(201);
    Client::new(&world.server.base, Some(made["token"].as_str().unwrap().to_owned()))
}

/// S3: in 0.1.0 a token with `resources: ["bot"]` claimed from `secretq`, and no token could be bound to queues.
async fn a_token_for_one_queue_reaches_no_other_queue(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    made(&world, "secretq", json!({ "kind": "inbox" })).await;
    for queue in ["mails", "secretq"] {
        add(&eva, queue, json!({ "id": "m-1", "payload": "x" })).await;
    }
    let bound = |body: Value| token(&eva, &world, body);
    let (_, bot) = bound(json!({ "user": "ana", "resources": ["bot"] })).await;
    let (_, mails) = bound(json!({ "user": "ana", "queues": ["mails", "bot-*"] })).await;
    for client in [&bot, &mails] {
        for (verb, body) in [
            ("claim", json!({ "instance": "w" })),
            ("items", json!({ "payload": 1 })),
            ("ack", json!({ "deliveries": [] })),
            ("items/m-1/claim", json!({ "instance": "w" })),
        ] {
            client.post(&format!("/v1/queues/secretq/{verb}"), body).await.problem(403, "other_resource");
        }
        for path in ["", "/items", "/items/m-1", "/items/m-1/why"] {
            client.get(&format!("/v1/queues/secretq{path}")).await.problem(403, "other_resource");
        }
    }
    let (me, listed) = (mails.get("/v1/me").await.expect(200), mails.get("/v1/queues").await.expect(200));
    assert_eq!(me["queues"], json!(["mails", "bot-*"]));
    let names: Vec<&str> =
        listed["items"].as_array().unwrap().iter().map(|queue| queue["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["mails"]);
    // A claim in scope succeeds, and the stream has the events of that queue only.
    let mut heard = Listener::open(&mails, "/v1/events?topics=queues").await;
    let got = claim(&mails, "mails", "w").await.remove(0);
    let other = claim(&eva, "secretq", "w").await.remove(0);
    settle(&eva, "secretq", "fail", &other, json!({ "error": "secret" })).await;
    settle(&mails, "mails", "fail", &got, json!({ "error": "busy" })).await;
    let failed = next_named(&mut heard, "item.failed").await;
    assert_eq!((&failed["resource"], &failed["detail"]), (&json!("mails/m-1"), &json!("busy")));
    mails.get("/v1/leases/caja:1").await.problem(403, "other_resource");
    eva.post("/v1/tokens", json!({ "queues": [""] })).await.problem(400, "bad_field");
}

async fn a_restricted_token_cannot_make_one_for_other_queues(world: World) {
    let eva = world.client("eva").await;
    let (_, narrow) = token(&eva, &world, json!({ "queues": ["bot-*"] })).await;
    for beyond in
        [json!({}), json!({ "queues": ["mails"] }), json!({ "queues": ["*"] }), json!({ "resources": ["caja:"] })]
    {
        narrow.post("/v1/tokens", beyond.clone()).await.problem(400, "invalid");
        let mut session = beyond;
        session["user"] = json!({ "id": "paco" });
        narrow.post("/v1/sessions", session).await.problem(400, "invalid");
    }
    let made = narrow.post("/v1/tokens", json!({ "queues": ["bot-7"] })).await.expect(201);
    assert_eq!((&made["queues"], &made["resources"]), (&json!(["bot-7"]), &json!([])));
    narrow.post("/v1/sessions", json!({ "user": { "id": "paco" }, "queues": ["bot-7"] })).await.expect(201);
}

/// S4: in 0.1.0 a session without `resources` read every payload, all tasks, the metrics and the console's pages.
async fn a_session_without_bounds_reads_only_leases(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    add(&eva, "mails", json!({ "id": "m-1", "payload": "secret" })).await;
    let line = json!({ "kind": "quantity", "sku": "a", "quantity": 1 });
    let task = eva.post("/v1/tasks", json!({ "title": "T", "lines": [line] })).await.expect(201)["id"].to_string();
    let paths = [
        "/v1/queues",
        "/v1/queues/mails/items",
        "/v1/queues/mails/items/m-1",
        "/v1/tasks",
        "/v1/stock/a",
        "/metrics",
        "/locks",
        "/v1/sync/sources",
        "/v1/tokens",
        "/tasks",
        "/queues/mails",
        "/leases",
    ];
    // Permissions do not widen the reach of a session.
    let all = json!(["inventory.manage", "leases.use", "queues.read", "tasks.read", "metrics.read", "audit.read"]);
    for permissions in [Value::Null, all] {
        let paco = session(&eva, &world, json!({ "user": { "id": "paco" }, "permissions": permissions })).await;
        for path in paths {
            paco.get(path).await.problem(403, "other_resource");
        }
        paco.get(&format!("/v1/tasks/{task}")).await.problem(403, "other_resource");
        paco.post("/v1/leases/caja:1/claim", json!({})).await.expect(200);
        paco.get("/v1/me").await.expect(200);
    }
    // A session for one task reads that task, and neither the others nor queues.
    let page = json!({ "user": { "id": "paco" }, "resources": [format!("task:{task}")] });
    let page = session(&eva, &world, page).await;
    page.get(&format!("/v1/tasks/{task}")).await.expect(200);
    page.get("/v1/tasks/99").await.problem(403, "other_resource");
    page.get("/v1/queues/mails/items").await.problem(403, "other_resource");
    // A list of permissions is exact, also for tokens.
    let (_, worker) = token(&eva, &world, json!({ "permissions": ["queues.consume"] })).await;
    assert_eq!(worker.get("/v1/queues/mails/items").await.problem(403, "forbidden")["permission"], "queues.read");
    assert_eq!(worker.get("/metrics").await.problem(403, "forbidden")["permission"], "metrics.read");
    worker.get("/v1/tasks").await.problem(403, "forbidden");
    assert_eq!(claim(&worker, "mails", "w").await.len(), 1);
}

/// Waits for the next event with this name.
async fn next_named(listener: &mut Listener, name: &str) -> Value {
    loop {
        let block = listener.event().await;
        if block.event.as_deref() == Some(name) {
            return block.data.unwrap();
        }
    }
}

/// S4: in 0.1.0 viewers heard private messages and the reasons of overrides on the event stream.
async fn private_messages_and_reasons_reach_only_users_concerned(world: World) {
    let (ana, leo, eva, vera) =
        (world.client("ana").await, world.client("leo").await, world.client("eva").await, world.client("vera").await);
    let mut streams = Vec::new();
    for client in [&ana, &leo, &eva, &vera] {
        streams.push(Listener::open(client, "/v1/events?topics=leases").await);
    }
    ana.post("/v1/leases/caja:1/claim", json!({})).await.expect(200);
    leo.post("/v1/leases/caja:1/request-release", json!({ "message": "es urgente" })).await.expect(202);
    let requested = [json!("es urgente"), json!("es urgente"), json!("es urgente"), Value::Null];
    for (n, client) in [&ana, &leo, &eva, &vera].into_iter().enumerate() {
        assert_eq!(next_named(&mut streams[n], "lease.requested").await["detail"], requested[n], "stream {n}");
        let lease = client.get("/v1/leases/caja:1").await.expect(200);
        assert_eq!(lease["requests"][0]["message"], requested[n], "lease {n}");
    }
    eva.post("/v1/leases/caja:1/force-release", json!({ "reason": "motivo privado" })).await.expect(200);
    let reason = [json!("motivo privado"), Value::Null, json!("motivo privado"), Value::Null];
    for (n, client) in [&ana, &leo, &eva, &vera].into_iter().enumerate() {
        assert_eq!(next_named(&mut streams[n], "lease.lost").await["detail"], reason[n], "lost {n}");
        assert_eq!(next_named(&mut streams[n], "lease.force_released").await["detail"], reason[n], "released {n}");
        let past = client.get("/v1/leases/caja:1/history").await.expect(200);
        assert_eq!(past["items"][0]["note"], reason[n], "history {n}");
    }
}

/// S6: in 0.1.0 every token revoked the other tokens and sessions of its owner.
async fn a_narrow_token_revokes_only_itself(world: World) {
    let ana = world.client("ana").await;
    let (whole, _) = token(&ana, &world, json!({})).await;
    for narrow in
        [json!({ "permissions": ["leases.use"] }), json!({ "queues": ["mails"] }), json!({ "permissions": [] })]
    {
        let (id, client) = token(&ana, &world, narrow).await;
        assert_eq!(client.delete(&format!("/v1/tokens/{whole}")).await.status, reqwest::StatusCode::FORBIDDEN);
        client.delete(&format!("/v1/tokens/{id}")).await.expect(204);
        client.get("/v1/me").await.problem(401, "unauthenticated");
    }
    // The control: a token with all rights of its owner may.
    ana.delete(&format!("/v1/tokens/{whole}")).await.expect(204);
}

/// S8: another user reads the fence of a lease. With the holder's name the application's save is refused.
async fn another_user_cannot_save_with_a_fence_that_they_read(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    ana.post("/v1/leases/invoice:7/claim", json!({})).await.expect(200);
    let read = leo.get("/v1/leases/invoice:7").await.expect(200);
    assert_eq!(read["holder"]["id"], "ana");
    let fence = read["fence"].as_i64().unwrap();
    // Over HTTP the fence of another user is refused on every database.
    leo.post("/v1/leases/invoice:7/heartbeat", json!({ "fence": fence })).await.problem(409, "lease_lost");
    // Only PostgreSQL has functions for applications.
    if !world.url.starts_with("postgres") {
        return;
    }
    let (sql, connection) = tokio_postgres::connect(&world.url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let assert = async |holder: &str| {
        let answer = sql.query("select turno.assert_lease('invoice:7', $1, $2)", &[&fence, &holder]).await;
        answer.map(drop).map_err(|error| error.code().map(|code| code.code().to_owned()))
    };
    assert_eq!(assert("ana").await, Ok(()));
    assert_eq!(assert("leo").await, Err(Some("TN020".to_owned())));
}

async fn an_unknown_actor_gets_the_permissions_of_the_tokens_list(world: World) {
    let scope = ["sessions.mint", "users.manage", "queues.produce", "queues.read"].map(|one| one.parse().unwrap());
    let listed = NewToken { scope: Some(scope.into_iter().collect()), ..NewToken::for_user("eva").unwrap() };
    let listed = world.token(listed).await;
    let me = listed.request(Method::GET, "/v1/me").header("turno-actor", "paco").send().await.unwrap();
    let me = answer(me).await.expect(200);
    assert_eq!(me["permissions"], json!(["inventory.manage", "leases.use", "queues.produce", "queues.read"]));
    let made = listed.request(Method::POST, "/v1/users").header("turno-actor", "paco").json(&json!({})).send().await;
    answer(made.unwrap()).await.problem(403, "forbidden");
}
