//! Processing a task under the caller's own lock: its lines, and the finalize.

use crate::cases;
use crate::task::{claimed, made, ready, task};
use crate::world::{Client, World};
use reqwest::Method;
use serde_json::{Value, json};

cases![
    a_line_is_changed_under_the_callers_own_lock,
    a_late_change_of_a_line_from_another_tab_overwrites_nothing,
    a_line_accepts_only_fields_of_its_kind,
    a_line_is_validated_against_the_stock,
    finalizing_applies_every_line_and_releases_the_lock,
    a_failing_line_stops_no_other_and_can_be_corrected,
    finalizing_again_with_the_same_fence_gets_the_same_answer,
    concurrent_finalizes_with_one_fence_count_as_one,
    a_finalize_after_the_lock_was_lost_lists_the_applied_lines,
    a_finalize_after_another_user_completed_the_task_is_refused_as_lost,
    a_task_with_applied_lines_is_cancelled_only_with_keep_applied,
    the_stock_of_an_unknown_article_is_zero,
];

async fn patch(client: &Client, id: i64, number: u32, body: Value) -> crate::world::Answer {
    client.send(Method::PATCH, &format!("/v1/tasks/{id}/lines/{number}"), body).await
}

async fn finalized(client: &Client, id: i64, fence: &Value) -> Value {
    client.post(&format!("/v1/tasks/{id}/finalize"), json!({ "fence": fence })).await.expect(200)
}

async fn a_line_is_changed_under_the_callers_own_lock(world: World) {
    let ana = world.client("ana").await;
    let id = ready(&ana).await;
    patch(&ana, id, 1, json!({ "fence": 1, "quantity": 7 })).await.problem(409, "lease_lost");
    let lock = claimed(&ana, id).await;
    let fence = &lock["fence"];
    let line = patch(&ana, id, 1, json!({ "fence": fence, "quantity": 7, "movement": "out" })).await.expect(200);
    let fields = ["number", "kind", "movement", "sku", "quantity", "status"].map(|member| line[member].clone());
    assert_eq!(fields, [json!(1), json!("quantity"), json!("out"), json!("clavos"), json!(7), json!("pending")]);
    assert_eq!((&line["lock"]["fence"], &line["lock"]["mine"]), (fence, &json!(true)));
    let line = patch(&ana, id, 2, json!({ "fence": fence, "serials": ["T-3"], "sku": "sierra" })).await.expect(200);
    assert_eq!((&line["serials"], &line["sku"]), (&json!(["T-3"]), &json!("sierra")));
    let body = json!({ "fence": fence, "kind": "serialized", "serials": ["C-1"] });
    let line = patch(&ana, id, 1, body).await.expect(200);
    assert_eq!((&line["kind"], &line["serials"], line.get("quantity")), (&json!("serialized"), &json!(["C-1"]), None));
    let stored = task(&ana, id).await;
    assert_eq!((&stored["lines"][0]["serials"], &stored["lines"][1]["sku"]), (&json!(["C-1"]), &json!("sierra")));
    patch(&ana, id, 3, json!({ "fence": fence, "quantity": 7 })).await.problem(404, "not_found");
    patch(&ana, id, 3, json!({ "fence": fence, "sku": "x" })).await.problem(404, "not_found");
    patch(&ana, id, 0, json!({ "fence": fence, "sku": "x" })).await.problem(404, "not_found");
    let path = format!("/v1/tasks/{id}/lines/x/validate");
    ana.post(&path, json!({ "fence": fence })).await.problem(404, "not_found");
}

async fn a_late_change_of_a_line_from_another_tab_overwrites_nothing(world: World) {
    let ana = world.client("ana").await;
    let id = ready(&ana).await;
    let fence = claimed(&ana, id).await["fence"].clone();
    let line = ana.get(&format!("/v1/tasks/{id}")).await.expect(200)["lines"][0].clone();
    let change = |sku: &str, version: &Value| json!({ "fence": fence, "sku": sku, "version": version });
    let changed = patch(&ana, id, 1, change("primera", &line["version"])).await.expect(200);
    assert_ne!(changed["version"], line["version"]);
    let late = patch(&ana, id, 1, change("tarde", &line["version"])).await.problem(409, "line_changed");
    assert_eq!(late["line"], 1);
    patch(&ana, id, 1, change("x", &json!("no es una"))).await.problem(409, "line_changed");
    patch(&ana, id, 1, change("primera", &line["version"])).await.expect(200);
    patch(&ana, id, 1, change("segunda", &changed["version"])).await.expect(200);
    patch(&ana, id, 1, json!({ "fence": fence, "sku": "tercera" })).await.expect(200);
}

async fn a_line_accepts_only_fields_of_its_kind(world: World) {
    let ana = world.client("ana").await;
    let id = ready(&ana).await;
    let before = task(&ana, id).await["lines"].clone();
    let fence = claimed(&ana, id).await["fence"].clone();
    for (number, body, field) in [
        (1, json!({ "quantity": 7 }), "fence"),
        (1, json!({ "fence": fence, "serials": ["A"] }), "serials"),
        (1, json!({ "fence": fence, "kind": "serialized" }), "serials"),
        (1, json!({ "fence": fence, "kind": "serialized", "quantity": 7 }), "quantity"),
        (1, json!({ "fence": fence, "quantity": 0 }), "quantity"),
        (1, json!({ "fence": fence, "quantity": 7, "serials": ["A"] }), "serials"),
        (2, json!({ "fence": fence, "quantity": 7 }), "quantity"),
        (2, json!({ "fence": fence, "serials": [] }), "serials"),
        (2, json!({ "fence": fence, "serials": ["A", "A"] }), "serials"),
        (2, json!({ "fence": fence, "kind": "quantity" }), "quantity"),
        (2, json!({ "fence": fence, "movement": "sideways" }), "movement"),
        (2, json!({ "fence": fence, "sku": "" }), "sku"),
        (2, json!({ "fence": fence, "status": "applied" }), "status"),
    ] {
        let problem = patch(&ana, id, number, body.clone()).await.problem(400, "bad_field");
        assert_eq!(problem["field"], field, "{body}");
    }
    assert_eq!(task(&ana, id).await["lines"], before);
}

async fn a_line_is_validated_against_the_stock(world: World) {
    let ana = world.client("ana").await;
    let id = made(
        &ana,
        json!([
            { "kind": "quantity", "sku": "clavos", "quantity": 30 },
            { "kind": "quantity", "movement": "out", "sku": "clavos", "quantity": 5 },
            { "kind": "serialized", "movement": "out", "sku": "taladro", "serials": ["T-1"] },
        ]),
    )
    .await;
    let fence = claimed(&ana, id).await["fence"].clone();
    let validate = async |number: u32| {
        ana.post(&format!("/v1/tasks/{id}/lines/{number}/validate"), json!({ "fence": fence })).await
    };
    assert_eq!(validate(1).await.expect(200)["status"], "validated");
    let short = validate(2).await.problem(422, "line_invalid");
    assert_eq!((&short["line"], &short["error"]["code"]), (&json!(2), &json!("not_enough")));
    assert_eq!((&short["error"]["wanted"], &short["error"]["available"]), (&json!(5), &json!(0)));
    assert!(short["detail"].as_str().unwrap().contains("se piden 5 y hay 0"), "{short}");
    let unknown = validate(3).await.problem(422, "line_invalid");
    assert_eq!((&unknown["error"]["code"], &unknown["error"]["serial"]), (&json!("unknown_serial"), &json!("T-1")));
    let lines = task(&ana, id).await["lines"].clone();
    let statuses: Vec<_> = lines.as_array().unwrap().iter().map(|line| line["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["validated", "pending", "pending"]);
    let line = patch(&ana, id, 1, json!({ "fence": fence, "quantity": 31 })).await.expect(200);
    assert_eq!(line["status"], "pending", "a changed line must be validated again");
}

async fn finalizing_applies_every_line_and_releases_the_lock(world: World) {
    let ana = world.client("ana").await;
    let id = ready(&ana).await;
    let fence = claimed(&ana, id).await["fence"].clone();
    let done = finalized(&ana, id, &fence).await;
    assert_eq!(done["status"], "completed");
    assert_eq!(done["lines"], json!([{ "number": 1, "outcome": "applied" }, { "number": 2, "outcome": "applied" }]));
    assert_eq!((&done["repeated"], &done["lock"]["state"]), (&json!(false), &json!("free")));
    let after = task(&ana, id).await;
    assert_eq!((&after["status"], &after["lock"]["holder"]), (&json!("completed"), &Value::Null));
    assert_eq!((&after["lines"][0]["status"], &after["lines"][0]["applied_by"]), (&json!("applied"), &json!("ana")));
    assert_eq!(
        ana.get("/v1/stock/clavos").await.expect(200),
        json!({ "sku": "clavos", "quantity": 30, "serials": [] })
    );
    let drills = ana.get("/v1/stock/taladro").await.expect(200);
    assert_eq!(drills, json!({ "sku": "taladro", "quantity": 2, "serials": ["T-1", "T-2"] }));
    let late = patch(&ana, id, 1, json!({ "fence": fence, "quantity": 7 })).await.problem(409, "lease_lost");
    assert_eq!(late["reason"], "released");
}

async fn a_failing_line_stops_no_other_and_can_be_corrected(world: World) {
    let ana = world.client("ana").await;
    let id = made(
        &ana,
        json!([
            { "kind": "quantity", "movement": "out", "sku": "clavos", "quantity": 5 },
            { "kind": "quantity", "sku": "tornillos", "quantity": 8 },
        ]),
    )
    .await;
    let fence = claimed(&ana, id).await["fence"].clone();
    let done = finalized(&ana, id, &fence).await;
    assert_eq!(done["status"], "partially_completed");
    assert_eq!(
        (&done["lines"][0]["outcome"], &done["lines"][0]["error"]["code"]),
        (&json!("failed"), &json!("not_enough"))
    );
    assert_eq!(done["lines"][0]["error"]["message"], "se piden 5 y hay 0");
    assert_eq!(done["lines"][1], json!({ "number": 2, "outcome": "applied" }));
    let failed = task(&ana, id).await["lines"][0].clone();
    assert_eq!((&failed["status"], &failed["error"]["code"]), (&json!("failed"), &json!("not_enough")));
    let again = claimed(&ana, id).await;
    assert_eq!(
        task(&ana, id).await["status"],
        "partially_completed",
        "the task is partially completed until every line is applied"
    );
    let applied =
        patch(&ana, id, 2, json!({ "fence": again["fence"], "quantity": 9 })).await.problem(409, "line_applied");
    assert_eq!(applied["line"], 2);
    let path = format!("/v1/tasks/{id}/lines/2/validate");
    ana.post(&path, json!({ "fence": again["fence"] })).await.problem(409, "line_applied");
    let mended = patch(&ana, id, 1, json!({ "fence": again["fence"], "movement": "in" })).await.expect(200);
    assert_eq!((&mended["status"], &mended["error"]), (&json!("pending"), &Value::Null));
    let done = finalized(&ana, id, &again["fence"]).await;
    assert_eq!(done["status"], "completed");
    assert_eq!(done["lines"], json!([{ "number": 1, "outcome": "applied" }, { "number": 2, "outcome": "skipped" }]));
    assert_eq!(ana.get("/v1/stock/tornillos").await.expect(200)["quantity"], 8, "the line was applied once");
    assert_eq!(ana.get("/v1/stock/clavos").await.expect(200)["quantity"], 5);
}

async fn finalizing_again_with_the_same_fence_gets_the_same_answer(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let id = ready(&ana).await;
    let fence = claimed(&ana, id).await["fence"].clone();
    let first = finalized(&ana, id, &fence).await;
    let again = finalized(&ana, id, &fence).await;
    assert_eq!(
        (&again["status"], &again["lines"], &again["repeated"]),
        (&first["status"], &first["lines"], &json!(true))
    );
    assert_eq!(ana.get("/v1/stock/clavos").await.expect(200)["quantity"], 30);
    let other = leo.post(&format!("/v1/tasks/{id}/finalize"), json!({ "fence": fence.as_i64().unwrap() + 1 })).await;
    other.problem(409, "lease_lost");
    let his = leo.post(&format!("/v1/tasks/{id}/finalize"), json!({ "fence": fence })).await;
    his.problem(409, "lease_lost");
}

async fn concurrent_finalizes_with_one_fence_count_as_one(world: World) {
    let ana = world.client("ana").await;
    let id = ready(&ana).await;
    let fence = claimed(&ana, id).await["fence"].clone();
    let other = world.second();
    let calls: Vec<_> = (0..8)
        .map(|call| {
            let (client, fence) = (if call % 2 == 0 { ana.clone() } else { ana.at(&other) }, fence.clone());
            tokio::spawn(async move { finalized(&client, id, &fence).await })
        })
        .collect();
    let mut first = 0;
    for call in calls {
        let answer = call.await.unwrap();
        first += usize::from(answer["repeated"] == false);
        let applied = json!([{ "number": 1, "outcome": "applied" }, { "number": 2, "outcome": "applied" }]);
        assert_eq!((&answer["status"], &answer["lines"]), (&json!("completed"), &applied));
    }
    assert_eq!(first, 1, "one call finalizes, the others repeat its answer");
    assert_eq!(ana.get("/v1/stock/clavos").await.expect(200)["quantity"], 30);
    let history = ana.get(&format!("/v1/tasks/{id}/history")).await.expect(200);
    let finalized = history["items"].as_array().unwrap().iter().filter(|item| item["what"] == "finalized").count();
    assert_eq!(finalized, 1);
}

async fn a_finalize_after_the_lock_was_lost_lists_the_applied_lines(world: World) {
    let (ana, eva) = (world.client("ana").await, world.client("eva").await);
    let id = ready(&ana).await;
    let fence = claimed(&ana, id).await["fence"].clone();
    eva.post(&format!("/v1/tasks/{id}/force-release"), json!({ "reason": "cierre" })).await.expect(200);
    let path = format!("/v1/tasks/{id}/finalize");
    let lost = ana.post(&path, json!({ "fence": fence })).await.problem(409, "lease_lost");
    assert_eq!((&lost["reason"], &lost["note"], &lost["lines"]), (&json!("forced"), &json!("cierre"), &json!([])));
    assert!(lost["detail"].as_str().unwrap().contains("Este pedido no cambió nada"), "{lost}");
    assert_eq!(ana.get("/v1/stock/clavos").await.expect(200)["quantity"], 0);
    for body in [json!({}), json!({ "fence": "x" }), json!({ "fence": 1, "lines": [] })] {
        ana.post(&path, body).await.problem(400, "bad_field");
    }
}

/// Creates a task whose second line is applied. Returns its id and the fence of that finalize.
async fn half_applied(client: &Client) -> (i64, Value) {
    let lines = json!([
        { "kind": "quantity", "movement": "out", "sku": "clavos", "quantity": 5 },
        { "kind": "quantity", "sku": "tornillos", "quantity": 8 },
    ]);
    let id = made(client, lines).await;
    let fence = claimed(client, id).await["fence"].clone();
    assert_eq!(finalized(client, id, &fence).await["status"], "partially_completed");
    (id, fence)
}

async fn a_finalize_after_another_user_completed_the_task_is_refused_as_lost(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let (id, fence) = half_applied(&ana).await;
    let taken = claimed(&leo, id).await["fence"].clone();
    patch(&leo, id, 1, json!({ "fence": taken, "movement": "in" })).await.expect(200);
    assert_eq!(finalized(&leo, id, &taken).await["status"], "completed");
    let late = ana.post(&format!("/v1/tasks/{id}/finalize"), json!({ "fence": fence })).await;
    let late = late.problem(409, "lease_lost");
    let lines = json!([{ "number": 1, "outcome": "skipped" }, { "number": 2, "outcome": "applied" }]);
    assert_eq!((&late["lines"], &late["reason"]), (&lines, &json!("released")));
}

async fn a_task_with_applied_lines_is_cancelled_only_with_keep_applied(world: World) {
    let ana = world.client("ana").await;
    let (id, _) = half_applied(&ana).await;
    let path = format!("/v1/tasks/{id}/cancel");
    let refused = ana.post(&path, json!({})).await.problem(409, "lines_applied");
    assert_eq!(refused["lines"], json!([{ "number": 2, "outcome": "applied" }]));
    assert!(refused["detail"].as_str().unwrap().contains("keep_applied"), "{refused}");
    ana.post(&path, json!({ "keep_applied": "yes" })).await.problem(400, "bad_field");
    let cancelled = ana.post(&path, json!({ "keep_applied": true })).await.expect(200);
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(ana.get("/v1/stock/tornillos").await.expect(200)["quantity"], 8, "the applied stock stays");
}

async fn the_stock_of_an_unknown_article_is_zero(world: World) {
    let vera = world.client("vera").await;
    let none = vera.get("/v1/stock/a%2Fb%20%C3%B1").await.expect(200);
    assert_eq!(none, json!({ "sku": "a/b ñ", "quantity": 0, "serials": [] }));
    vera.get("/v1/stock/%0A").await.problem(404, "not_found");
    world.anonymous().get("/v1/stock/x").await.problem(401, "unauthenticated");
}
