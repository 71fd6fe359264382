//! Tasks over HTTP: creating, editing and reading them.

use crate::cases;
use crate::world::{Client, World, answer};
use reqwest::Method;
use serde_json::{Value, json};
use turno::store::AuditQuery;

cases![
    a_new_task_is_a_draft_by_default,
    an_invalid_task_is_refused_with_the_field_named,
    only_drafts_are_changed_and_become_ready,
    a_draft_changed_by_another_user_meanwhile_is_not_overwritten,
    cancelling_a_task_is_refused_only_while_another_user_holds_it,
    a_list_of_tasks_is_filtered_and_comes_in_pages,
    a_task_history_has_its_events_and_holders,
    an_unknown_task_is_not_found,
];

/// Creates a ready task with a line by quantity and a serialized one.
pub(crate) async fn ready(client: &Client) -> i64 {
    let lines = json!([
        { "kind": "quantity", "sku": "clavos", "quantity": 30 },
        { "kind": "serialized", "movement": "in", "sku": "taladro", "serials": ["T-1", "T-2"] },
    ]);
    made(client, lines).await
}

/// Creates a ready task with these lines.
pub(crate) async fn made(client: &Client, lines: Value) -> i64 {
    let body = json!({ "title": "Entrada 12", "lines": lines, "status": "ready" });
    client.post("/v1/tasks", body).await.expect(201)["id"].as_i64().unwrap()
}

/// Claims a task and returns its lock.
pub(crate) async fn claimed(client: &Client, id: i64) -> Value {
    client.post(&format!("/v1/tasks/{id}/claim"), json!({})).await.expect(200)
}

pub(crate) async fn task(client: &Client, id: i64) -> Value {
    client.get(&format!("/v1/tasks/{id}")).await.expect(200)
}

async fn a_new_task_is_a_draft_by_default(world: World) {
    let ana = world.client("ana").await;
    let lines = json!([
        { "kind": "quantity", "sku": "clavos", "quantity": 30 },
        { "kind": "serialized", "movement": "out", "sku": "taladro", "serials": ["T-1", "T-2"] },
    ]);
    let made = ana.post("/v1/tasks", json!({ "title": " Entrada 12 ", "lines": lines })).await.expect(201);
    assert_eq!(
        (&made["title"], &made["status"], &made["created_by"]),
        (&json!("Entrada 12"), &json!("draft"), &json!("ana"))
    );
    let mut lines = made["lines"].clone();
    let versions = lines.as_array_mut().unwrap().iter_mut().map(|line| line.as_object_mut().unwrap().remove("version"));
    assert!(versions.collect::<Vec<_>>().iter().all(|version| version.as_ref().is_some_and(Value::is_string)));
    assert_eq!(
        lines,
        json!([
            { "number": 1, "kind": "quantity", "movement": "in", "sku": "clavos", "quantity": 30, "status": "pending",
              "error": null, "applied_at": null, "applied_by": null },
            { "number": 2, "kind": "serialized", "movement": "out", "sku": "taladro", "serials": ["T-1", "T-2"],
              "status": "pending", "error": null, "applied_at": null, "applied_by": null },
        ])
    );
    let id = made["id"].as_i64().unwrap();
    assert_eq!((&made["lock"]["resource"], &made["lock"]["state"]), (&json!(format!("task:{id}")), &json!("free")));
    let mut seen = task(&world.client("vera").await, id).await;
    seen["lock"]["server_time"] = made["lock"]["server_time"].clone();
    assert_eq!(seen, made, "every reader sees the same task");
    let empty = ana.post("/v1/tasks", json!({ "title": "Vacía" })).await.expect(201);
    assert_eq!((&empty["lines"], empty["id"].as_i64() > Some(id)), (&json!([]), true));
    let body =
        json!({ "title": "Lista", "lines": [{ "kind": "quantity", "sku": "x", "quantity": 1 }], "status": "ready" });
    assert_eq!(ana.post("/v1/tasks", body).await.expect(201)["status"], "ready");
}

async fn an_invalid_task_is_refused_with_the_field_named(world: World) {
    let ana = world.client("ana").await;
    let line =
        |line: Value| json!({ "title": "x", "lines": [{ "kind": "quantity", "sku": "a", "quantity": 1 }, line] });
    let many: Vec<Value> = (0..501).map(|_| json!({ "kind": "quantity", "sku": "a", "quantity": 1 })).collect();
    let cases = [
        (json!({}), "title"),
        (json!({ "title": "  " }), "title"),
        (json!({ "title": "x".repeat(201) }), "title"),
        (json!({ "title": 1 }), "title"),
        (json!({ "title": "x", "status": "completed" }), "status"),
        (json!({ "title": "x", "status": "ready" }), "lines"),
        (json!({ "title": "x", "lines": many }), "lines"),
        (json!({ "title": "x", "owner": "ana" }), "owner"),
        (line(json!({ "sku": "a", "quantity": 1 })), "lines[1].kind"),
        (line(json!({ "kind": "loose", "sku": "a" })), "lines[1].kind"),
        (line(json!({ "kind": "quantity", "quantity": 1 })), "lines[1].sku"),
        (line(json!({ "kind": "quantity", "sku": "", "quantity": 1 })), "lines[1].sku"),
        (line(json!({ "kind": "quantity", "sku": "a", "quantity": 0 })), "lines[1].quantity"),
        (line(json!({ "kind": "quantity", "sku": "a", "quantity": -3 })), "lines[1].quantity"),
        (line(json!({ "kind": "quantity", "sku": "a", "quantity": 1.5 })), "lines[1].quantity"),
        (line(json!({ "kind": "quantity", "sku": "a" })), "lines[1].quantity"),
        (line(json!({ "kind": "quantity", "sku": "a", "quantity": 1, "serials": ["s"] })), "lines[1].serials"),
        (line(json!({ "kind": "serialized", "sku": "a" })), "lines[1].serials"),
        (line(json!({ "kind": "serialized", "sku": "a", "serials": [] })), "lines[1].serials"),
        (line(json!({ "kind": "serialized", "sku": "a", "serials": ["s", "s"] })), "lines[1].serials"),
        (line(json!({ "kind": "serialized", "sku": "a", "serials": ["s", ""] })), "lines[1].serials[1]"),
        (line(json!({ "kind": "serialized", "sku": "a", "serials": ["s"], "quantity": 1 })), "lines[1].quantity"),
        (line(json!({ "kind": "quantity", "sku": "a", "quantity": 1, "movement": "up" })), "lines[1].movement"),
        (line(json!({ "kind": "quantity", "sku": "a", "quantity": 1, "number": 2 })), "lines[1].number"),
    ];
    for (body, field) in cases {
        let problem = ana.post("/v1/tasks", body.clone()).await.problem(400, "bad_field");
        assert_eq!(problem["field"], field, "{body}");
    }
    assert_eq!(ana.get("/v1/tasks").await.expect(200)["items"], json!([]));
}

async fn only_drafts_are_changed_and_become_ready(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let id = ana.post("/v1/tasks", json!({ "title": "Vacía" })).await.expect(201)["id"].clone();
    let path = format!("/v1/tasks/{id}");
    let without = ana.post(&format!("{path}/ready"), json!({})).await.problem(400, "bad_field");
    assert_eq!(without["field"], "lines");
    let lines = json!([{ "kind": "quantity", "sku": "clavos", "quantity": 3 }]);
    let changed = leo.send(Method::PUT, &path, json!({ "lines": lines })).await.expect(200);
    assert_eq!((&changed["title"], &changed["lines"][0]["quantity"]), (&json!("Vacía"), &json!(3)));
    let changed = leo.send(Method::PUT, &path, json!({ "title": "Entrada" })).await.expect(200);
    assert_eq!(
        (&changed["title"], &changed["lines"][0]["quantity"]),
        (&json!("Entrada"), &json!(3)),
        "fields that are not sent stay"
    );
    let bad = json!({ "lines": [{ "kind": "quantity", "sku": "clavos" }] });
    assert_eq!(leo.send(Method::PUT, &path, bad).await.problem(400, "bad_field")["field"], "lines[0].quantity");
    assert_eq!(leo.post(&format!("{path}/ready"), json!({})).await.expect(200)["status"], "ready");
    let wrong = leo.post(&format!("{path}/ready"), json!({})).await.problem(409, "wrong_status");
    assert_eq!(wrong["status_now"], "ready");
    leo.send(Method::PUT, &path, json!({ "title": "Otra" })).await.problem(409, "wrong_status");
    assert_eq!(ana.get(&path).await.expect(200)["title"], "Entrada");
}

async fn a_draft_changed_by_another_user_meanwhile_is_not_overwritten(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let made = ana.post("/v1/tasks", json!({ "title": "Entrada" })).await.expect(201);
    let path = format!("/v1/tasks/{}", made["id"]);
    let read = ana.get(&path).await;
    let tag = read.headers["etag"].to_str().unwrap().to_owned();
    assert_eq!(
        (tag, &made["version"]),
        (format!("\"{}\"", made["version"].as_str().unwrap()), &read.expect(200)["version"])
    );
    let seen = &made["version"];
    let his = json!({ "title": "De Leo", "version": seen });
    let changed = leo.send(Method::PUT, &path, his.clone()).await.expect(200);
    assert_ne!(changed["version"], *seen);
    ana.send(Method::PUT, &path, json!({ "title": "De Ana", "version": seen })).await.problem(409, "draft_changed");
    assert_eq!(
        leo.send(Method::PUT, &path, his).await.expect(200)["title"],
        "De Leo",
        "the same call twice is one change"
    );
    let matching = |tag: String| {
        let call = ana.request(Method::PUT, &path).header("if-match", tag);
        async move { answer(call.json(&json!({ "title": "De Ana" })).send().await.unwrap()).await }
    };
    for old in [format!("\"{}\"", seen.as_str().unwrap()), "\"nonsense\"".to_owned()] {
        matching(old).await.problem(409, "draft_changed");
    }
    assert_eq!(ana.get(&path).await.expect(200)["title"], "De Leo", "the refused change is not stored");
    let now = changed["version"].as_str().unwrap();
    assert_eq!(
        matching(format!("W/\"{now}\"")).await.expect(200)["title"],
        "De Ana",
        "a change with the newest version is accepted"
    );
    assert_eq!(matching("*".to_owned()).await.expect(200)["title"], "De Ana", "`*` matches any version");
}

async fn cancelling_a_task_is_refused_only_while_another_user_holds_it(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let id = ready(&ana).await;
    let lock = claimed(&ana, id).await;
    let path = format!("/v1/tasks/{id}/cancel");
    let held = leo.post(&path, json!({ "reason": "duplicada" })).await.problem(409, "lease_held");
    assert_eq!(held["holder"]["id"], "ana");
    let cancelled = ana.post(&path, json!({ "reason": "duplicada" })).await.expect(200);
    assert_eq!((&cancelled["status"], &cancelled["lock"]["state"]), (&json!("cancelled"), &json!("free")));
    ana.post(&path, json!({})).await.problem(409, "wrong_status");
    let late = ana.post(&format!("/v1/tasks/{id}/finalize"), json!({ "fence": lock["fence"] })).await;
    assert_eq!(late.status, 409, "{late:?}");
    let query = AuditQuery { action: Some("task_cancel".into()), limit: 10, ..AuditQuery::default() };
    let entries = world.turno.audit(query).await.unwrap();
    assert_eq!(entries.len(), 1);
    assert!(entries[0].detail.contains("duplicada"), "{entries:?}");
    leo.post(&path, json!({ "because": "x" })).await.problem(400, "bad_field");
}

async fn a_list_of_tasks_is_filtered_and_comes_in_pages(world: World) {
    let ana = world.client("ana").await;
    let draft = ana.post("/v1/tasks", json!({ "title": "Borrador" })).await.expect(201)["id"].as_i64().unwrap();
    let (first, second, third) = (ready(&ana).await, ready(&ana).await, ready(&ana).await);
    claimed(&ana, second).await;
    let ids = |page: &Value| -> Vec<i64> {
        page["items"].as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap()).collect()
    };
    for (query, expected) in [
        ("", vec![third, second, first, draft]),
        ("?status=ready", vec![third, first]),
        ("?status=processing", vec![second]),
        ("?locked=true", vec![second]),
        ("?locked=false", vec![third, first, draft]),
        ("?status=draft&locked=false", vec![draft]),
        ("?status=ready&locked=true", vec![]),
        ("?status=&locked=", vec![third, second, first, draft]),
    ] {
        assert_eq!(ids(&ana.get(&format!("/v1/tasks{query}")).await.expect(200)), expected, "{query}");
    }
    let page = ana.get("/v1/tasks?limit=3").await.expect(200);
    assert_eq!(ids(&page), [third, second, first]);
    assert_eq!(
        (&page["items"][1]["lock"]["holder"]["id"], &page["items"][1]["lock"]["mine"]),
        (&json!("ana"), &json!(true))
    );
    let cursor = page["next_cursor"].as_str().unwrap();
    let last = ana.get(&format!("/v1/tasks?limit=3&cursor={cursor}")).await.expect(200);
    assert_eq!((ids(&last), &last["next_cursor"]), (vec![draft], &Value::Null));
    for bad in ["?status=done", "?locked=perhaps", "?limit=0", "?cursor=x", "?title=x"] {
        ana.get(&format!("/v1/tasks{bad}")).await.problem(400, "bad_query");
    }
}

async fn a_task_history_has_its_events_and_holders(world: World) {
    let ana = world.client("ana").await;
    let id = made(&ana, json!([{ "kind": "quantity", "sku": "clavos", "quantity": 2 }])).await;
    let lock = claimed(&ana, id).await;
    ana.post(&format!("/v1/tasks/{id}/finalize"), json!({ "fence": lock["fence"] })).await.expect(200);
    let path = format!("/v1/tasks/{id}/history");
    let all = world.client("vera").await.get(&path).await.expect(200);
    let events = |page: &Value| -> Vec<String> {
        page["items"].as_array().unwrap().iter().map(|item| item["what"].as_str().unwrap().to_owned()).collect()
    };
    let mut names = events(&all);
    assert_eq!(names[..3], ["created", "processing", "line_applied"]);
    names[3..].sort();
    assert_eq!(names[3..], ["finalized", "lock_ended"]);
    let held = all["items"].as_array().unwrap().iter().find(|item| item["what"] == "lock_ended").unwrap();
    assert_eq!(
        (&held["by"], &held["held"]["fence"], &held["held"]["reason"]),
        (&json!("ana"), &lock["fence"], &json!("released"))
    );
    let (mut seen, mut next) = (Vec::new(), path.clone() + "?limit=2");
    loop {
        let page = ana.get(&next).await.expect(200);
        seen.extend(events(&page));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        next = format!("{path}?limit=2&cursor={cursor}");
    }
    assert_eq!(seen, events(&all));
    ana.get(&format!("{path}?cursor=00")).await.problem(400, "bad_query");
}

async fn an_unknown_task_is_not_found(world: World) {
    let (ana, eva) = (world.client("ana").await, world.client("eva").await);
    let id = ready(&ana).await;
    claimed(&ana, id).await;
    for bad in ["999", "0", "-1", "abc", "1.5", "+1", "%20", "99999999999999999999"] {
        for path in [format!("/v1/tasks/{bad}"), format!("/v1/tasks/{bad}/history")] {
            ana.get(&path).await.problem(404, "not_found");
        }
        for (method, verb, body) in [
            (Method::PUT, "", json!({ "title": "x" })),
            (Method::POST, "/ready", json!({})),
            (Method::POST, "/cancel", json!({})),
            (Method::POST, "/claim", json!({})),
            (Method::POST, "/heartbeat", json!({ "fence": 1, "idle_ms": 0 })),
            (Method::POST, "/release", json!({ "fence": 1 })),
            (Method::POST, "/request-release", json!({})),
            (Method::POST, "/turn", json!({})),
            (Method::DELETE, "/turn", json!({})),
            (Method::POST, "/force-claim", json!({ "reason": "x" })),
            (Method::POST, "/force-release", json!({ "reason": "x" })),
            (Method::PATCH, "/lines/1", json!({ "fence": 1, "quantity": 1 })),
            (Method::POST, "/lines/1/validate", json!({ "fence": 1 })),
            (Method::POST, "/finalize", json!({ "fence": 1 })),
        ] {
            let sent = eva.send(method, &format!("/v1/tasks/{bad}{verb}"), body).await;
            assert_eq!(sent.status, 404, "{bad}{verb}: {}", sent.text);
            sent.problem(404, "not_found");
        }
    }
    let english = ana.request(Method::GET, "/v1/tasks/999").header("accept-language", "en").send().await.unwrap();
    let english = answer(english).await.problem(404, "not_found");
    assert!(english["detail"].as_str().unwrap().contains("999"), "{english}");
}
