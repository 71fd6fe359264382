//! Overrides of task locks by administrators, and lines that are applied exactly once, over HTTP. The normal flow of
//! claim, heartbeat and release is in `task_exclusive.rs`.

use crate::cases;
use crate::task::{claimed, made, ready, task};
use crate::world::{Client, World};
use serde_json::{Value, json};
use turno::store::AuditQuery;

cases![
    a_force_release_frees_any_holders_task_and_may_be_repeated,
    a_force_claim_takes_the_task_or_renews_the_callers_own_lock,
    an_override_of_a_task_needs_an_administrator_and_a_reason,
    a_line_is_applied_once_by_concurrent_finalizes,
    a_failing_line_leaves_the_other_lines_applied,
];

/// Returns the action, the actor and the reason of every override of a task, oldest first.
async fn audited(world: &World, id: i64) -> Vec<(String, String, String)> {
    let query = AuditQuery { resource: Some(format!("task:{id}")), limit: 50, ..AuditQuery::default() };
    let mut entries = world.turno.audit(query).await.unwrap();
    entries.sort_by_key(|entry| entry.n);
    let to_tuple = |entry: &turno::core::audit::Entry| {
        let detail: Value = serde_json::from_str(&entry.detail).unwrap();
        (entry.action.clone(), entry.actor.user.to_string(), detail["reason"].as_str().unwrap_or_default().to_owned())
    };
    entries.iter().map(to_tuple).collect()
}

async fn forced(client: &Client, id: i64, verb: &str, reason: &str) -> Value {
    client.post(&format!("/v1/tasks/{id}/force-{verb}"), json!({ "reason": reason })).await.expect(200)
}

async fn a_force_release_frees_any_holders_task_and_may_be_repeated(world: World) {
    let (ana, eva) = (world.client("ana").await, world.client("eva").await);
    let id = ready(&ana).await;
    let hers = claimed(&ana, id).await;
    for reason in ["se fue", "por las dudas"] {
        let freed = forced(&eva, id, "release", reason).await;
        assert_eq!(
            (&freed["state"], &freed["holder"], &freed["locked_at"]),
            (&json!("free"), &Value::Null, &Value::Null)
        );
    }
    let path = format!("/v1/tasks/{id}/heartbeat");
    let lost = ana.post(&path, json!({ "fence": hers["fence"], "idle_ms": 0 })).await.problem(409, "lease_lost");
    assert_eq!((&lost["reason"], &lost["by"], &lost["note"]), (&json!("forced"), &json!("eva"), &json!("se fue")));
    let entry = |reason: &str| ("lock_force_release".to_owned(), "eva".to_owned(), reason.to_owned());
    assert_eq!(
        audited(&world, id).await,
        [entry("se fue"), entry("por las dudas")],
        "an override without effect is audited, too"
    );
    claimed(&ana, id).await;
}

async fn a_force_claim_takes_the_task_or_renews_the_callers_own_lock(world: World) {
    let (ana, eva) = (world.client("ana").await, world.client("eva").await);
    let id = ready(&ana).await;
    let hers = claimed(&ana, id).await;
    let taken = forced(&eva, id, "claim", "cierre").await;
    assert_eq!((&taken["holder"]["id"], &taken["mine"]), (&json!("eva"), &json!(true)));
    assert!(taken["fence"].as_i64() > hers["fence"].as_i64());
    let renewed = forced(&eva, id, "claim", "sigo").await;
    assert_eq!(
        (&renewed["fence"], &renewed["locked_at"]),
        (&taken["fence"], &taken["locked_at"]),
        "a force-claim by the holder renews"
    );
    let late = ana.post(&format!("/v1/tasks/{id}/finalize"), json!({ "fence": hers["fence"] })).await;
    late.problem(409, "lease_lost");
    assert_eq!(ana.get("/v1/stock/clavos").await.expect(200)["quantity"], 0, "no line was applied under the old lock");
    let actions: Vec<_> = audited(&world, id).await.into_iter().map(|(action, ..)| action).collect();
    assert_eq!(actions, ["lock_force_claim", "lock_force_claim"]);
}

async fn an_override_of_a_task_needs_an_administrator_and_a_reason(world: World) {
    let (ana, leo, eva) = (world.client("ana").await, world.client("leo").await, world.client("eva").await);
    let id = ready(&ana).await;
    let hers = claimed(&ana, id).await;
    for verb in ["claim", "release"] {
        let path = format!("/v1/tasks/{id}/force-{verb}");
        leo.post(&path, json!({ "reason": "la quiero" })).await.problem(403, "forbidden");
        eva.post(&path, json!({})).await.problem(400, "bad_field");
        eva.post(&path, json!({ "reason": "  " })).await.problem(400, "bad_field");
    }
    assert_eq!(task(&ana, id).await["lock"]["fence"], hers["fence"], "ana still holds the lock");
    assert_eq!(audited(&world, id).await, []);
}

async fn a_line_is_applied_once_by_concurrent_finalizes(world: World) {
    let (ana, eva) = (world.client("ana").await, world.client("eva").await);
    let id = made(
        &ana,
        json!([
            { "kind": "quantity", "sku": "clavos", "quantity": 30 },
            { "kind": "quantity", "movement": "out", "sku": "cables", "quantity": 5 },
        ]),
    )
    .await;
    let path = format!("/v1/tasks/{id}/finalize");
    let hers = claimed(&ana, id).await;
    let first = ana.post(&path, json!({ "fence": hers["fence"] })).await.expect(200);
    assert_eq!(first["lines"][0]["outcome"], "applied");
    let evas = claimed(&eva, id).await;
    let second = eva.post(&path, json!({ "fence": evas["fence"] })).await.expect(200);
    assert_eq!((&second["lines"][0]["outcome"], &second["lines"][1]["outcome"]), (&json!("skipped"), &json!("failed")));
    assert_eq!(ana.get("/v1/stock/clavos").await.expect(200)["quantity"], 30, "once");
    let applied = &task(&ana, id).await["lines"][0]["applied_by"];
    assert_eq!(applied, "ana");
}

async fn a_failing_line_leaves_the_other_lines_applied(world: World) {
    let ana = world.client("ana").await;
    let id = made(
        &ana,
        json!([
            { "kind": "quantity", "sku": "clavos", "quantity": 1 },
            { "kind": "serialized", "movement": "out", "sku": "taladro", "serials": ["T-9"] },
            { "kind": "quantity", "sku": "tuercas", "quantity": 3 },
        ]),
    )
    .await;
    let lock = claimed(&ana, id).await;
    let done = ana.post(&format!("/v1/tasks/{id}/finalize"), json!({ "fence": lock["fence"] })).await.expect(200);
    let outcomes = [0, 1, 2].map(|line: usize| done["lines"][line]["outcome"].as_str().unwrap().to_owned());
    assert_eq!(outcomes, ["applied", "failed", "applied"]);
    assert_eq!((&done["status"], &done["lock"]["state"]), (&json!("partially_completed"), &json!("free")));
    assert_eq!(done["lines"][1]["error"]["code"], "unknown_serial");
    for (sku, quantity) in [("clavos", 1), ("taladro", 0), ("tuercas", 3)] {
        assert_eq!(ana.get(&format!("/v1/stock/{sku}")).await.expect(200)["quantity"], quantity, "{sku}");
    }
}
