//! The locks of tasks, beyond overrides (`task_override.rs`) and the acceptance criteria (`task_exclusive.rs`).

use crate::cases;
use crate::task::{claimed, made, ready, task};
use crate::world::World;
use reqwest::Method;
use serde_json::json;
use turno::access::NewToken;
use turno::store::AuditQuery;

cases![
    a_task_in_an_unlockable_status_cannot_be_claimed,
    an_override_with_a_fence_affects_only_that_ownership,
    an_override_of_a_task_is_audited_and_shown_to_the_former_holder,
    release_requests_and_the_waiting_line_work_for_tasks,
    a_finished_task_is_not_offered,
    generic_lease_calls_on_a_task_follow_its_rules,
];

async fn a_task_in_an_unlockable_status_cannot_be_claimed(world: World) {
    let (ana, eva) = (world.client("ana").await, world.client("eva").await);
    let draft = ana.post("/v1/tasks", json!({ "title": "Borrador" })).await.expect(201)["id"].clone();
    let cancelled = ready(&ana).await;
    ana.post(&format!("/v1/tasks/{cancelled}/cancel"), json!({})).await.expect(200);
    let completed = made(&ana, json!([{ "kind": "quantity", "sku": "x", "quantity": 1 }])).await;
    let lock = claimed(&ana, completed).await;
    ana.post(&format!("/v1/tasks/{completed}/finalize"), json!({ "fence": lock["fence"] })).await.expect(200);
    for (id, status, text) in [
        (draft, "draft", "en borrador"),
        (json!(cancelled), "cancelled", "anulada"),
        (json!(completed), "completed", "finalizada"),
    ] {
        for (client, verb, body) in
            [(&ana, "claim", json!({})), (&ana, "turn", json!({})), (&eva, "force-claim", json!({ "reason": "ya" }))]
        {
            let wrong = client.post(&format!("/v1/tasks/{id}/{verb}"), body).await.problem(409, "wrong_status");
            assert_eq!(wrong["status_now"], status, "{verb}");
            assert!(wrong["detail"].as_str().unwrap().contains(text), "{wrong}");
        }
        ana.post(&format!("/v1/leases/task%3A{id}/claim"), json!({})).await.problem(409, "wrong_status");
        assert_eq!(ana.get(&format!("/v1/tasks/{id}")).await.expect(200)["lock"]["state"], "free");
    }
}

async fn an_override_with_a_fence_affects_only_that_ownership(world: World) {
    let (ana, leo, eva) = (world.client("ana").await, world.client("leo").await, world.client("eva").await);
    let id = ready(&ana).await;
    for path in [format!("/v1/tasks/{id}"), format!("/v1/leases/task:{id}")] {
        let hers = claimed(&ana, id).await;
        ana.post(&format!("{path}/release"), json!({ "fence": hers["fence"] })).await.expect(200);
        let his = claimed(&leo, id).await;
        let meant = json!({ "reason": "se fue", "fence": hers["fence"] });
        for verb in ["force-release", "force-claim"] {
            let held = eva.post(&format!("{path}/{verb}"), meant.clone()).await.problem(409, "lease_held");
            assert_eq!((&held["holder"]["id"], &held["lease"]["fence"]), (&json!("leo"), &his["fence"]));
        }
        let meant = json!({ "reason": "se fue", "fence": his["fence"] });
        assert_eq!(eva.post(&format!("{path}/force-release"), meant).await.expect(200)["state"], "free");
    }
    let audited = world.turno.audit(AuditQuery { limit: 10, ..AuditQuery::default() }).await.unwrap();
    let forced = audited.iter().filter(|entry| entry.action.starts_with("lock_force")).count();
    assert_eq!(forced, 2, "a refused override is not audited");
}

async fn an_override_of_a_task_is_audited_and_shown_to_the_former_holder(world: World) {
    let (ana, eva) = (world.client("ana").await, world.client("eva").await);
    let id = ready(&ana).await;
    let hers = claimed(&ana, id).await;
    let path = |verb: &str| format!("/v1/tasks/{id}/{verb}");
    eva.post(&path("force-claim"), json!({})).await.problem(400, "bad_field");
    let taken = eva.post(&path("force-claim"), json!({ "reason": "se fue" })).await.expect(200);
    assert_eq!(taken["holder"]["id"], "eva");
    let late = json!({ "fence": hers["fence"], "quantity": 7 });
    let lost = ana.send(Method::PATCH, &path("lines/1"), late).await.problem(409, "lease_lost");
    let shown = ["reason", "cause", "by", "note"].map(|member| lost[member].as_str().unwrap_or_default());
    assert_eq!(shown, ["forced", "override", "eva", "se fue"]);
    assert_eq!(lost["by_name"], "Eva Ruiz");
    assert!(lost["detail"].as_str().unwrap().contains("Eva Ruiz lo tomó o lo liberó. Motivo: se fue"), "{lost}");
    assert_eq!(eva.post(&path("force-release"), json!({ "reason": "listo" })).await.expect(200)["state"], "free");
    let query = AuditQuery { resource: Some(format!("task:{id}")), limit: 10, ..AuditQuery::default() };
    let mut entries = world.turno.audit(query).await.unwrap();
    entries.sort_by_key(|entry| entry.n);
    let audited: Vec<_> = entries.iter().map(|entry| (entry.action.as_str(), entry.actor.user.as_str())).collect();
    assert_eq!(audited, [("lock_force_claim", "eva"), ("lock_force_release", "eva")]);
}

async fn release_requests_and_the_waiting_line_work_for_tasks(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let id = ready(&ana).await;
    let path = |verb: &str| format!("/v1/tasks/{id}/{verb}");
    let lock = claimed(&ana, id).await;
    let asked = leo.post(&path("request-release"), json!({ "message": "¿Sigue?" })).await.expect(202);
    assert_eq!(asked["told"], true);
    let beat = ana.post(&path("heartbeat"), json!({ "fence": lock["fence"], "idle_ms": 0 })).await.expect(200);
    assert_eq!(beat["requests"][0]["message"], "¿Sigue?");
    assert_eq!(leo.post(&path("turn"), json!({})).await.expect(200)["position"], 1);
    ana.post(&path("release"), json!({ "fence": lock["fence"] })).await.expect(200);
    ana.post(&path("claim"), json!({})).await.problem(409, "lease_offered");
    assert_eq!(task(&ana, id).await["lock"]["offered_to"]["id"], "leo");
    assert_eq!(leo.delete(&path("turn")).await.expect(200)["state"], "free");
    let bot = world.token(NewToken { machine: true, ..NewToken::for_user("ana").unwrap() }).await;
    bot.post(&path("claim"), json!({})).await.problem(400, "instance_required");
    let held = bot.post(&path("claim"), json!({ "instance": "one" })).await.expect(200);
    let patch = json!({ "fence": held["fence"], "quantity": 31 });
    bot.send(Method::PATCH, &path("lines/1"), patch).await.expect(200);
}

async fn a_finished_task_is_not_offered(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let good = json!([{ "kind": "quantity", "sku": "x", "quantity": 1 }]);
    let bad = json!([{ "kind": "quantity", "sku": "nada", "quantity": 1, "movement": "out" }]);
    for (lines, verb, status, state) in [
        (good.clone(), "finalize", "completed", "free"),
        (good, "cancel", "cancelled", "free"),
        (bad, "finalize", "partially_completed", "offered"),
    ] {
        let id = made(&ana, lines).await;
        let lock = claimed(&ana, id).await;
        leo.post(&format!("/v1/tasks/{id}/turn"), json!({})).await.expect(200);
        let body = if verb == "finalize" { json!({ "fence": lock["fence"] }) } else { json!({}) };
        ana.post(&format!("/v1/tasks/{id}/{verb}"), body).await.expect(200);
        let now = task(&leo, id).await;
        assert_eq!((&now["status"], &now["lock"]["state"]), (&json!(status), &json!(state)), "{now}");
        assert_eq!(now["lock"]["waiting"], u8::from(state == "offered"));
    }
}

async fn generic_lease_calls_on_a_task_follow_its_rules(world: World) {
    let ana = world.client("ana").await;
    let id = ready(&ana).await;
    let path = |verb: &str| format!("/v1/leases/task%3A{id}/{verb}");
    let lock = ana.post(&path("claim"), json!({})).await.expect(200);
    assert_eq!(lock["policy"]["idle_guard_ms"], 120_000);
    assert_eq!(task(&ana, id).await["status"], "processing", "like the task's own claim");
    ana.post(&path("heartbeat"), json!({ "fence": lock["fence"] })).await.problem(400, "idle_required");
    let patch = json!({ "fence": lock["fence"], "quantity": 31 });
    ana.send(Method::PATCH, &format!("/v1/tasks/{id}/lines/1"), patch).await.expect(200);
    assert_eq!(ana.post(&path("release"), json!({ "fence": lock["fence"] })).await.expect(200)["released"], true);
    for name in ["task%3A999", "task%3A", "task%3Ax", "task%3A07"] {
        for (verb, body) in [
            ("claim", json!({})),
            ("turn", json!({})),
            ("request-release", json!({})),
            ("heartbeat", json!({ "fence": 1, "idle_ms": 0 })),
            ("release", json!({ "fence": 1 })),
        ] {
            ana.post(&format!("/v1/leases/{name}/{verb}"), body).await.problem(404, "not_found");
        }
        ana.get(&format!("/v1/leases/{name}")).await.problem(404, "not_found");
        ana.get(&format!("/v1/leases/{name}/history")).await.problem(404, "not_found");
    }
}
