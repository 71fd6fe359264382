//! A task is processed by one person at a time: the acceptance criteria AC1 to AC8 of task locks, over HTTP. The same
//! criteria are tested in a browser (`web/test/process*.test.mjs`) and as rules of the core (`task/tests`).

use crate::cases;
use crate::lease::until_expired;
use crate::task::{claimed, ready, task};
use crate::world::World;
use reqwest::Method;
use serde_json::{Value, json};

cases![
    ac1_a_claim_moves_a_ready_task_to_processing_and_excludes_other_users,
    ac2_every_reader_sees_the_holder_of_a_task_and_the_start,
    ac3_the_lock_of_a_task_follows_the_task_policy,
    ac4_a_heartbeat_of_an_idle_person_renews_nothing,
    ac5_ac6_an_expired_task_lock_is_claimable_and_its_late_holder_changes_nothing,
    ac7_releasing_a_task_frees_its_lock_and_keeps_its_status,
    ac8_a_caller_without_the_task_permission_changes_nothing,
];

async fn ac1_a_claim_moves_a_ready_task_to_processing_and_excludes_other_users(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let id = ready(&ana).await;
    let lock = claimed(&ana, id).await;
    assert_eq!((&lock["resource"], &lock["mine"]), (&json!(format!("task:{id}")), &json!(true)));
    assert_eq!(task(&ana, id).await["status"], "processing");
    let refused = leo.post(&format!("/v1/tasks/{id}/claim"), json!({})).await.problem(409, "lease_held");
    assert_eq!((&refused["holder"]["name"], &refused["locked_at"]), (&json!("Ana Pérez"), &lock["locked_at"]));
    let fence = &lock["fence"];
    for (method, path, body) in [
        (Method::PATCH, "lines/1", json!({ "fence": fence, "quantity": 7 })),
        (Method::POST, "lines/1/validate", json!({ "fence": fence })),
        (Method::POST, "finalize", json!({ "fence": fence })),
        (Method::POST, "heartbeat", json!({ "fence": fence, "idle_ms": 0 })),
        (Method::POST, "release", json!({ "fence": fence })),
    ] {
        let lost = leo.send(method, &format!("/v1/tasks/{id}/{path}"), body).await.problem(409, "lease_lost");
        assert_eq!(lost["reason"], "taken", "{path}");
    }
    let after = task(&leo, id).await;
    assert_eq!((&after["lines"][0]["quantity"], &after["lock"]["fence"]), (&json!(30), fence), "leo changed nothing");
}

async fn ac2_every_reader_sees_the_holder_of_a_task_and_the_start(world: World) {
    let (ana, vera) = (world.client("ana").await, world.client("vera").await);
    let id = ready(&ana).await;
    assert_eq!(task(&vera, id).await["lock"]["state"], "free");
    let lock = claimed(&ana, id).await;
    let seen = task(&vera, id).await["lock"].clone();
    assert_eq!((&seen["state"], &seen["holder"]["name"]), (&json!("locked"), &json!("Ana Pérez")));
    assert_eq!((&seen["locked_at"], &seen["mine"]), (&lock["locked_at"], &json!(false)));
    assert_eq!(task(&ana, id).await["lock"]["mine"], true);
}

async fn ac3_the_lock_of_a_task_follows_the_task_policy(world: World) {
    let ana = world.client("ana").await;
    let id = ready(&ana).await;
    let lock = claimed(&ana, id).await;
    let policy = json!({ "ttl_ms": 180_000, "max_ttl_ms": 180_000, "heartbeat_interval_ms": 10_000,
        "idle_guard_ms": 120_000, "rolling_timeout_ms": 900_000, "offer_ms": 30_000 });
    assert_eq!(lock["policy"], policy);
    assert!((1..=180_000).contains(&lock["expires_in_ms"].as_i64().unwrap()), "{lock}");
    assert!((880_000..=900_000).contains(&lock["rolling_in_ms"].as_i64().unwrap()), "{lock}");
    let path = format!("/v1/tasks/{id}/heartbeat");
    let missing = ana.post(&path, json!({ "fence": lock["fence"] })).await.problem(400, "idle_required");
    assert_eq!(missing["field"], "idle_ms");
    let beat = ana.post(&path, json!({ "fence": lock["fence"], "idle_ms": 500 })).await.expect(200);
    assert_eq!((&beat["renewed"], &beat["fence"]), (&json!(true), &lock["fence"]));
    let long = ana.post(&format!("/v1/tasks/{id}/claim"), json!({ "ttl_ms": 180_001 })).await;
    assert_eq!(long.problem(400, "ttl_out_of_bounds")["max_ms"], 180_000);
}

async fn ac4_a_heartbeat_of_an_idle_person_renews_nothing(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let id = ready(&ana).await;
    let lock = ana.post(&format!("/v1/tasks/{id}/claim"), json!({ "ttl_ms": 2_000 })).await.expect(200);
    let path = format!("/v1/tasks/{id}/heartbeat");
    let idle = ana.post(&path, json!({ "fence": lock["fence"], "idle_ms": 120_000 })).await.expect(200);
    assert_eq!((&idle["renewed"], &idle["reason"]), (&json!(false), &json!("idle")));
    assert_eq!(
        (&idle["expires_at"], &idle["mine"]),
        (&lock["expires_at"], &json!(true)),
        "ana holds the lock until its expiry"
    );
    leo.post(&format!("/v1/tasks/{id}/claim"), json!({ "wait_ms": 10_000 })).await.expect(200);
    let lost = ana.post(&path, json!({ "fence": lock["fence"], "idle_ms": 0 })).await.problem(409, "lease_lost");
    assert_eq!((&lost["reason"], &lost["cause"]), (&json!("taken"), &json!("idle")));
    assert!(lost["detail"].as_str().unwrap().contains("no hubo actividad"), "{lost}");
}

async fn ac5_ac6_an_expired_task_lock_is_claimable_and_its_late_holder_changes_nothing(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let id = ready(&ana).await;
    let hers = ana.post(&format!("/v1/tasks/{id}/claim"), json!({ "ttl_ms": 150 })).await.expect(200);
    until_expired(&world).await;
    let free = task(&leo, id).await;
    assert_eq!(
        (&free["status"], &free["lock"]["state"]),
        (&json!("processing"), &json!("free")),
        "the status stays after the expiry"
    );
    let his = claimed(&leo, id).await;
    assert!(his["fence"].as_i64() > hers["fence"].as_i64());
    for (method, path, body) in [
        (Method::PATCH, "lines/1", json!({ "fence": hers["fence"], "quantity": 7 })),
        (Method::POST, "lines/1/validate", json!({ "fence": hers["fence"] })),
        (Method::POST, "finalize", json!({ "fence": hers["fence"] })),
        (Method::POST, "heartbeat", json!({ "fence": hers["fence"], "idle_ms": 0 })),
        (Method::POST, "release", json!({ "fence": hers["fence"] })),
    ] {
        let lost = ana.send(method, &format!("/v1/tasks/{id}/{path}"), body).await.problem(409, "lease_lost");
        assert_eq!((&lost["reason"], &lost["cause"]), (&json!("taken"), &json!("no_heartbeat")), "{path}");
        assert_eq!(lost["lease"]["holder"]["id"], "leo", "{path}");
    }
    let after = task(&ana, id).await;
    assert_eq!((&after["lines"], &after["lock"]["fence"]), (&free["lines"], &his["fence"]));
    assert_eq!(ana.get("/v1/stock/clavos").await.expect(200)["quantity"], 0);
}

async fn ac7_releasing_a_task_frees_its_lock_and_keeps_its_status(world: World) {
    let ana = world.client("ana").await;
    let id = ready(&ana).await;
    let lock = claimed(&ana, id).await;
    let path = format!("/v1/tasks/{id}/release");
    for repeated in [false, true] {
        let freed = ana.post(&path, json!({ "fence": lock["fence"], "claim": lock["claim"] })).await.expect(200);
        let answered = [&freed["state"], &freed["released"], &freed["repeated"]];
        assert_eq!(answered, [&json!("free"), &json!(true), &json!(repeated)]);
        for member in ["holder", "locked_at", "heartbeat_at", "expires_at"] {
            assert_eq!(freed[member], Value::Null);
        }
    }
    assert_eq!(task(&ana, id).await["status"], "processing");
}

async fn ac8_a_caller_without_the_task_permission_changes_nothing(world: World) {
    let (ana, vera) = (world.client("ana").await, world.client("vera").await);
    let id = ready(&ana).await;
    let lock = claimed(&ana, id).await;
    let before = task(&vera, id).await;
    for (method, path) in [
        (Method::POST, ""),
        (Method::PUT, "/1"),
        (Method::POST, "/1/ready"),
        (Method::POST, "/1/cancel"),
        (Method::POST, "/1/claim"),
        (Method::POST, "/1/heartbeat"),
        (Method::POST, "/1/release"),
        (Method::POST, "/1/request-release"),
        (Method::POST, "/1/turn"),
        (Method::DELETE, "/1/turn"),
        (Method::PATCH, "/1/lines/1"),
        (Method::POST, "/1/lines/1/validate"),
        (Method::POST, "/1/finalize"),
    ] {
        let path = format!("/v1/tasks{}", path.replace("/1", &format!("/{id}")));
        let body = json!({ "fence": lock["fence"], "nonsense": 1 });
        let refused = vera.send(method.clone(), &path, body.clone()).await.problem(403, "forbidden");
        assert_eq!(refused["permission"], "inventory.manage", "{path}");
        world.anonymous().send(method, &path, body).await.problem(401, "unauthenticated");
    }
    for verb in ["force-claim", "force-release"] {
        let refused =
            ana.post(&format!("/v1/tasks/{id}/{verb}"), json!({ "reason": "x" })).await.problem(403, "forbidden");
        assert_eq!(refused["permission"], "locks.override");
    }
    let after = task(&vera, id).await;
    assert_eq!((&after["status"], &after["lock"]["fence"]), (&before["status"], &before["lock"]["fence"]));
}
