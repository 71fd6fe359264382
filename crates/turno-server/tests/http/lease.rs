//! Leases over HTTP: claims, heartbeats, expiry and releases. A name with the prefix `acN` shows acceptance criterion
//! N of the lock requirements.

use crate::cases;
use crate::world::{Answer, Client, World};
use serde_json::{Value, json};
use turno::access::{NewToken, Permission, Permissions};
use turno::store::AuditQuery;

cases![
    a_resource_never_seen_is_free,
    ac1_a_claim_is_refused_while_another_holds,
    ac1_one_of_many_concurrent_claims_is_granted,
    ac2_every_reader_sees_the_holder_and_the_start,
    ac3_a_heartbeat_and_the_holders_own_claim_renew_the_lease,
    ac5_ac6_an_expired_lease_is_claimable_and_its_late_holder_is_refused,
    ac6_a_late_heartbeat_on_a_free_lease_is_refused_as_expired,
    a_heartbeat_with_another_holders_fence_is_refused,
    ac7_a_release_frees_the_lease_and_is_safe_to_repeat,
    a_release_as_of_an_older_claim_frees_nothing,
    a_kept_lease_is_refused_to_every_caller_until_its_time,
    an_override_takes_the_lease_with_a_reason_and_is_audited,
    an_override_without_a_reason_or_the_permission_changes_nothing,
    a_lease_history_has_the_holders_and_the_endings,
    held_leases_are_listed_page_by_page,
    ac8_a_caller_without_permission_is_refused_before_the_body_is_read,
    the_leases_of_tasks_need_the_permission_of_tasks,
    a_token_for_some_resources_cannot_claim_others,
    a_machine_needs_an_instance_to_claim_but_not_to_renew,
    names_may_contain_anything_but_control_characters,
    bad_input_is_refused_with_the_field_named,
];

/// Claims a lease, asserts success and returns the body.
pub(crate) async fn claimed(client: &Client, resource: &str, body: Value) -> Value {
    client.post(&format!("/v1/leases/{resource}/claim"), body).await.expect(200)
}

async fn beat(client: &Client, resource: &str, fence: &Value) -> Answer {
    client.post(&format!("/v1/leases/{resource}/heartbeat"), json!({ "fence": fence })).await
}

/// Waits until every lease claimed before for at most 200 ms has expired, by waiting for a lease that was claimed
/// after them for a little longer.
pub(crate) async fn until_expired(world: &World) {
    let (leo, eva) = (world.client("leo").await, world.client("eva").await);
    claimed(&leo, "clock", json!({ "ttl_ms": 250 })).await;
    let clock = claimed(&eva, "clock", json!({ "wait_ms": 10_000 })).await;
    eva.post("/v1/leases/clock/release", json!({ "fence": clock["fence"] })).await.expect(200);
}

async fn a_resource_never_seen_is_free(world: World) {
    let free = world.client("vera").await.get("/v1/leases/caja%3A3").await.expect(200);
    assert_eq!((&free["resource"], &free["state"]), (&json!("caja:3"), &json!("free")));
    for member in ["holder", "fence", "claim", "locked_at", "heartbeat_at", "expires_at", "expires_in_ms", "offered_to"]
    {
        assert_eq!(free.get(member), Some(&Value::Null), "{member}");
    }
    assert_eq!((&free["mine"], &free["waiting"], &free["requests"]), (&json!(false), &json!(0), &json!([])));
    let policy = json!({ "ttl_ms": 30_000, "max_ttl_ms": 3_600_000, "heartbeat_interval_ms": 10_000,
        "idle_guard_ms": null, "rolling_timeout_ms": null, "offer_ms": 30_000 });
    assert_eq!(free["policy"], policy);
}

async fn ac1_a_claim_is_refused_while_another_holds(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let held = claimed(&ana, "caja%3A3", json!({})).await;
    assert_eq!((&held["state"], &held["mine"]), (&json!("locked"), &json!(true)));
    assert_eq!(held["holder"], json!({ "id": "ana", "name": "Ana Pérez", "instance": null }));
    let refused = leo.post("/v1/leases/caja%3A3/claim", json!({})).await.problem(409, "lease_held");
    assert_eq!(refused["holder"]["id"], "ana");
    assert_eq!((&refused["locked_at"], &refused["expires_at"]), (&held["locked_at"], &held["expires_at"]));
    assert_eq!((&refused["lease"]["fence"], &refused["lease"]["mine"]), (&held["fence"], &json!(false)));
    assert!(refused["detail"].as_str().unwrap().contains("Ana Pérez"), "{refused}");
    assert_eq!(leo.get("/v1/leases/caja%3A3").await.expect(200)["holder"]["id"], "ana", "the holder is unchanged");
}

/// Returns how many of sixteen concurrent callers at two instances get the lease that each claims.
async fn winners(world: &World, resource: impl Fn(usize) -> String) -> usize {
    let bot = world.token(NewToken { machine: true, ..NewToken::for_user("ana").unwrap() }).await;
    let other = world.second();
    let calls: Vec<_> = (0..16)
        .map(|call| {
            let client = if call % 2 == 0 { bot.clone() } else { bot.at(&other) };
            let path = format!("/v1/leases/{}/claim", resource(call));
            tokio::spawn(async move { client.post(&path, json!({ "instance": call.to_string() })).await })
        })
        .collect();
    let mut won = 0;
    for call in calls {
        let answer = call.await.unwrap();
        if answer.status == 200 {
            won += 1;
        } else {
            answer.problem(409, "lease_held");
        }
    }
    won
}

async fn ac1_one_of_many_concurrent_claims_is_granted(world: World) {
    assert_eq!(winners(&world, |_| "caja".to_owned()).await, 1);
    assert_eq!(
        winners(&world, |call| format!("caja:{call}")).await,
        16,
        "all claims of different resources are granted"
    );
}

async fn ac2_every_reader_sees_the_holder_and_the_start(world: World) {
    let (ana, vera) = (world.client("ana").await, world.client("vera").await);
    let held = claimed(&ana, "caja", json!({ "ttl_ms": 60_000 })).await;
    let seen = vera.get("/v1/leases/caja").await.expect(200);
    assert_eq!((&seen["state"], &seen["holder"]["name"]), (&json!("locked"), &json!("Ana Pérez")));
    for member in ["fence", "claim", "locked_at", "heartbeat_at", "expires_at"] {
        assert_eq!(seen[member], held[member], "{member}");
    }
    assert_eq!(seen["mine"], false, "`mine` is false for a viewer");
    let left = seen["expires_in_ms"].as_i64().unwrap();
    assert!((1..=60_000).contains(&left), "{left}");
    assert!(seen["server_time"].as_str().unwrap() < seen["expires_at"].as_str().unwrap(), "{seen}");
}

async fn ac3_a_heartbeat_and_the_holders_own_claim_renew_the_lease(world: World) {
    let ana = world.client("ana").await;
    let held = claimed(&ana, "caja", json!({ "ttl_ms": 20_000 })).await;
    let beaten =
        ana.post("/v1/leases/caja/heartbeat", json!({ "fence": held["fence"], "worked": true })).await.expect(200);
    assert_eq!(
        (&beaten["renewed"], &beaten["fence"], &beaten["state"]),
        (&json!(true), &held["fence"], &json!("locked"))
    );
    assert!(beaten.get("reason").is_none() && beaten["expires_at"].as_str() >= held["expires_at"].as_str(), "{beaten}");
    let again = claimed(&ana, "caja", json!({ "ttl_ms": 50_000 })).await;
    assert_eq!(
        (&again["fence"], &again["locked_at"]),
        (&held["fence"], &held["locked_at"]),
        "the ownership is the same"
    );
    assert_eq!((held["claim"].as_i64(), again["claim"].as_i64()), (Some(1), Some(2)));
    assert!(again["expires_in_ms"].as_i64() > Some(20_000), "{again}");
}

async fn ac5_ac6_an_expired_lease_is_claimable_and_its_late_holder_is_refused(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let hers = claimed(&ana, "caja", json!({ "ttl_ms": 200 })).await;
    let his = claimed(&leo, "caja", json!({ "wait_ms": 10_000 })).await;
    assert_eq!(his["holder"]["id"], "leo");
    assert!(his["fence"].as_i64() > hers["fence"].as_i64(), "a fence only grows");
    for verb in ["heartbeat", "release"] {
        let path = format!("/v1/leases/caja/{verb}");
        let lost = ana.post(&path, json!({ "fence": hers["fence"] })).await.problem(409, "lease_lost");
        assert_eq!((&lost["reason"], &lost["cause"]), (&json!("taken"), &json!("no_heartbeat")), "{verb}");
        assert_eq!((&lost["lease"]["fence"], &lost["lease"]["mine"]), (&his["fence"], &json!(false)));
        assert_eq!(lost["title"], "Lock perdido");
        let detail = lost["detail"].as_str().unwrap();
        assert!(
            detail.contains("dejó de renovarlo; ahora lo tiene Leo Díaz. Lo que ya estaba guardado sigue así"),
            "{detail}"
        );
    }
    let english = ana.request(reqwest::Method::POST, "/v1/leases/caja/heartbeat").header("accept-language", "en");
    let english = english.json(&json!({ "fence": hers["fence"] })).send().await.unwrap();
    let english = crate::world::answer(english).await.problem(409, "lease_lost");
    assert!(english["detail"].as_str().unwrap().contains("stopped renewing it; Leo Díaz has it now"), "{english}");
    assert_eq!(leo.get("/v1/leases/caja").await.expect(200)["fence"], his["fence"], "leo keeps the lease");
}

async fn ac6_a_late_heartbeat_on_a_free_lease_is_refused_as_expired(world: World) {
    let ana = world.client("ana").await;
    let held = claimed(&ana, "caja", json!({ "ttl_ms": 100 })).await;
    until_expired(&world).await;
    let free = ana.get("/v1/leases/caja").await.expect(200);
    assert_eq!((&free["state"], &free["holder"], &free["fence"]), (&json!("free"), &Value::Null, &Value::Null));
    let lost = beat(&ana, "caja", &held["fence"]).await.problem(409, "lease_lost");
    assert_eq!(
        (&lost["reason"], &lost["cause"], &lost["by"]),
        (&json!("expired"), &json!("no_heartbeat"), &Value::Null)
    );
    let again = claimed(&ana, "caja", json!({})).await;
    assert!(again["fence"].as_i64() > held["fence"].as_i64());
    let lost = beat(&ana, "caja", &held["fence"]).await.problem(409, "lease_lost");
    assert_eq!(
        (&lost["reason"], &lost["lease"]["mine"]),
        (&json!("expired"), &json!(true)),
        "ana holds a newer lease herself"
    );
}

async fn a_heartbeat_with_another_holders_fence_is_refused(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let held = claimed(&ana, "caja", json!({})).await;
    let lost = beat(&leo, "caja", &held["fence"]).await.problem(409, "lease_lost");
    assert_eq!((&lost["reason"], &lost["cause"]), (&json!("taken"), &Value::Null), "the fence never belonged to leo");
    leo.post("/v1/leases/caja/release", json!({ "fence": held["fence"] })).await.problem(409, "lease_lost");
    beat(&leo, "never-seen", &json!(1)).await.problem(409, "lease_lost");
    assert_eq!(beat(&ana, "caja", &held["fence"]).await.expect(200)["renewed"], true);
}

async fn ac7_a_release_frees_the_lease_and_is_safe_to_repeat(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let held = claimed(&ana, "caja", json!({})).await;
    let release = json!({ "fence": held["fence"], "claim": held["claim"] });
    let freed = ana.post("/v1/leases/caja/release", release.clone()).await.expect(200);
    assert_eq!(
        (&freed["state"], &freed["released"], &freed["repeated"]),
        (&json!("free"), &json!(true), &json!(false))
    );
    assert_eq!((&freed["holder"], &freed["fence"], &freed["expires_at"]), (&Value::Null, &Value::Null, &Value::Null));
    let again = ana.post("/v1/leases/caja/release", release.clone()).await.expect(200);
    assert_eq!((&again["released"], &again["repeated"]), (&json!(true), &json!(true)));
    let his = claimed(&leo, "caja", json!({})).await;
    assert!(his["fence"].as_i64() > held["fence"].as_i64());
    let late = ana.post("/v1/leases/caja/release", release).await.expect(200);
    assert_eq!((&late["repeated"], &late["fence"], &late["mine"]), (&json!(true), &his["fence"], &json!(false)));
    let lost = beat(&ana, "caja", &held["fence"]).await.problem(409, "lease_lost");
    assert_eq!((&lost["reason"], &lost["cause"]), (&json!("released"), &json!("released")));
}

async fn a_release_as_of_an_older_claim_frees_nothing(world: World) {
    let ana = world.client("ana").await;
    let page = claimed(&ana, "caja", json!({})).await;
    let reload = claimed(&ana, "caja", json!({})).await;
    let body = json!({ "fence": page["fence"], "claim": page["claim"] });
    let kept = ana.post("/v1/leases/caja/release", body).await.expect(200);
    assert_eq!((&kept["released"], &kept["state"], &kept["mine"]), (&json!(false), &json!("locked"), &json!(true)));
    let body = json!({ "fence": reload["fence"], "claim": reload["claim"] });
    assert_eq!(ana.post("/v1/leases/caja/release", body).await.expect(200)["released"], true);
}

async fn a_kept_lease_is_refused_to_every_caller_until_its_time(world: World) {
    let (ana, leo, eva) = (world.client("ana").await, world.client("leo").await, world.client("eva").await);
    let held = claimed(&ana, "report", json!({})).await;
    let keep = |ms: i64| json!({ "fence": held["fence"], "keep_ms": ms });
    let long = ana.post("/v1/leases/report/release", keep(3_600_001)).await.problem(400, "ttl_out_of_bounds");
    assert_eq!((&long["field"], &long["max_ms"]), (&json!("keep_ms"), &json!(3_600_000)));
    let both = json!({ "fence": held["fence"], "keep_ms": 1, "grace_ms": 1 });
    for wrong in [keep(-1), both] {
        let refused = ana.post("/v1/leases/report/release", wrong).await.problem(400, "bad_field");
        assert_eq!(refused["field"], "keep_ms");
    }
    let kept = ana.post("/v1/leases/report/release", keep(1_800_000)).await.expect(200);
    assert_eq!((&kept["released"], &kept["repeated"]), (&json!(true), &json!(false)));
    assert!(kept["expires_in_ms"].as_i64() > Some(1_700_000), "{kept}");
    let seen = leo.get("/v1/leases/report").await.expect(200);
    assert_eq!((&seen["state"], &seen["kept"], &seen["holder"]["id"]), (&json!("locked"), &json!(true), &json!("ana")));
    assert_eq!(ana.get("/v1/leases/report").await.expect(200)["mine"], false);
    for client in [&ana, &leo] {
        let refused = client.post("/v1/leases/report/claim", json!({})).await.problem(409, "lease_held");
        assert_eq!((&refused["holder"]["id"], &refused["expires_at"]), (&json!("ana"), &seen["expires_at"]));
    }
    assert_eq!(beat(&ana, "report", &held["fence"]).await.problem(409, "lease_lost")["reason"], "released");
    let again = ana.post("/v1/leases/report/release", keep(5)).await.expect(200);
    assert_eq!((&again["repeated"], &again["expires_at"]), (&json!(true), &seen["expires_at"]));
    eva.post("/v1/leases/report/force-release", json!({ "reason": "otra vez" })).await.expect(200);
    let entry =
        json!({ "resource": "report", "fence": claimed(&ana, "report", json!({})).await["fence"], "keep_ms": 60_000 });
    let batch = ana.post("/v1/leases/release", json!({ "leases": [entry] })).await.expect(200);
    assert_eq!(batch["results"][0]["lease"]["kept"], true, "{batch}");
}

async fn an_override_takes_the_lease_with_a_reason_and_is_audited(world: World) {
    let (ana, eva) = (world.client("ana").await, world.client("eva").await);
    let hers = claimed(&ana, "caja", json!({})).await;
    let taken = eva.post("/v1/leases/caja/force-claim", json!({ "reason": "se fue a casa" })).await.expect(200);
    assert_eq!((&taken["holder"]["id"], &taken["mine"]), (&json!("eva"), &json!(true)));
    assert!(taken["fence"].as_i64() > hers["fence"].as_i64());
    let lost = beat(&ana, "caja", &hers["fence"]).await.problem(409, "lease_lost");
    let shown = ["reason", "cause", "by", "note"].map(|member| lost[member].as_str().unwrap_or_default());
    assert_eq!(shown, ["forced", "override", "eva", "se fue a casa"]);
    assert!(lost["detail"].as_str().unwrap().contains("Eva Ruiz lo tomó o lo liberó. Motivo: se fue a casa"), "{lost}");
    let freed = eva.post("/v1/leases/caja/force-release", json!({ "reason": "listo" })).await.expect(200);
    assert_eq!((&freed["state"], &freed["holder"]), (&json!("free"), &Value::Null));
    eva.post("/v1/leases/caja/force-release", json!({ "reason": "otra vez" })).await.expect(200);
    let entries = world.turno.audit(AuditQuery { resource: Some("caja".into()), limit: 10, ..AuditQuery::default() });
    let mut entries: Vec<_> =
        entries.await.unwrap().into_iter().map(|entry| (entry.n, entry.action, entry.detail)).collect();
    entries.sort();
    let actions: Vec<&str> = entries.iter().map(|(_, action, _)| action.as_str()).collect();
    assert_eq!(actions, ["lock_force_claim", "lock_force_release", "lock_force_release"]);
    let detail: Value = serde_json::from_str(&entries[0].2).unwrap();
    assert_eq!((&detail["reason"], &detail["holder_before"]), (&json!("se fue a casa"), &json!("ana")));
}

async fn an_override_without_a_reason_or_the_permission_changes_nothing(world: World) {
    let (ana, leo, eva) = (world.client("ana").await, world.client("leo").await, world.client("eva").await);
    let held = claimed(&ana, "caja", json!({})).await;
    for verb in ["force-claim", "force-release"] {
        let path = format!("/v1/leases/caja/{verb}");
        let refused = leo.post(&path, json!({ "reason": "quiero" })).await.problem(403, "forbidden");
        assert_eq!(refused["permission"], "locks.override");
        for body in
            [json!({}), json!({ "reason": "" }), json!({ "reason": "  \n" }), json!({ "reason": "ñ".repeat(2_001) })]
        {
            assert_eq!(eva.post(&path, body).await.problem(400, "bad_field")["field"], "reason");
        }
    }
    assert_eq!(beat(&ana, "caja", &held["fence"]).await.expect(200)["fence"], held["fence"]);
    let entries = world.turno.audit(AuditQuery { resource: Some("caja".into()), limit: 10, ..AuditQuery::default() });
    assert_eq!(entries.await.unwrap().len(), 0);
}

async fn a_lease_history_has_the_holders_and_the_endings(world: World) {
    let (ana, leo, eva) = (world.client("ana").await, world.client("leo").await, world.client("eva").await);
    let hers = claimed(&ana, "caja", json!({ "ttl_ms": 200 })).await;
    let his = claimed(&leo, "caja", json!({ "wait_ms": 10_000 })).await;
    leo.post("/v1/leases/caja/release", json!({ "fence": his["fence"] })).await.expect(200);
    claimed(&ana, "caja", json!({})).await;
    eva.post("/v1/leases/caja/force-release", json!({ "reason": "inventario" })).await.expect(200);
    // Eva may read the audit, so she sees the reasons.
    let all = eva.get("/v1/leases/caja/history").await.expect(200);
    let endings: Vec<_> = all["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| {
            ["holder", "reason", "cause", "by", "note"].map(|member| match member {
                "holder" => item["holder"]["id"].as_str().unwrap(),
                member => item[member].as_str().unwrap_or("-"),
            })
        })
        .collect();
    assert_eq!(
        endings,
        [
            ["ana", "forced", "override", "eva", "inventario"],
            ["leo", "released", "released", "-", "-"],
            ["ana", "expired", "no_heartbeat", "-", "-"],
        ]
    );
    let last = &all["items"][2];
    assert_eq!(
        (&last["fence"], &last["locked_at"], &last["ended_at"]),
        (&hers["fence"], &hers["locked_at"], &hers["expires_at"])
    );
    assert_eq!(all["next_cursor"], Value::Null);
    let mut seen = Vec::new();
    let mut path = "/v1/leases/caja/history?limit=1".to_owned();
    loop {
        let page = eva.get(&path).await.expect(200);
        seen.extend(page["items"].as_array().unwrap().iter().cloned());
        let Some(next) = page["next_cursor"].as_str() else { break };
        path = format!("/v1/leases/caja/history?limit=1&cursor={next}");
    }
    assert_eq!(json!(seen), all["items"]);
    assert_eq!(eva.get("/v1/leases/other/history").await.expect(200)["items"], json!([]));
    eva.get("/v1/leases/caja/history?limit=0").await.problem(400, "bad_query");
    eva.get("/v1/leases/caja/history?cursor=zz").await.problem(400, "bad_query");
}

async fn held_leases_are_listed_page_by_page(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    for (client, resource) in [(&ana, "caja:1"), (&leo, "caja:2"), (&ana, "caja:3"), (&ana, "mesa:1")] {
        claimed(client, resource, json!({})).await;
    }
    let free = claimed(&ana, "caja:4", json!({})).await;
    ana.post("/v1/leases/caja:4/release", json!({ "fence": free["fence"] })).await.expect(200);
    let names = |page: &Value| -> Vec<String> {
        page["items"].as_array().unwrap().iter().map(|item| item["resource"].as_str().unwrap().to_owned()).collect()
    };
    for (query, expected) in [
        ("", vec!["caja:1", "caja:2", "caja:3", "mesa:1"]),
        ("?holder=ana", vec!["caja:1", "caja:3", "mesa:1"]),
        ("?prefix=caja:", vec!["caja:1", "caja:2", "caja:3"]),
        ("?holder=ana&prefix=caja%3A", vec!["caja:1", "caja:3"]),
        ("?holder=&prefix=", vec!["caja:1", "caja:2", "caja:3", "mesa:1"]),
        ("?holder=nobody", vec![]),
    ] {
        let page = leo.get(&format!("/v1/leases{query}")).await.expect(200);
        assert_eq!(names(&page), expected, "{query}");
        assert_eq!(page["next_cursor"], Value::Null);
    }
    let first = leo.get("/v1/leases?holder=ana&limit=2").await.expect(200);
    assert_eq!(names(&first), ["caja:1", "caja:3"]);
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = leo.get(&format!("/v1/leases?holder=ana&limit=2&cursor={cursor}")).await.expect(200);
    assert_eq!((names(&second), &second["next_cursor"]), (vec!["mesa:1".to_owned()], &Value::Null));
    assert_eq!((&second["items"][0]["state"], &second["items"][0]["mine"]), (&json!("locked"), &json!(false)));
    for bad in ["?limit=0", "?limit=1001", "?limit=x", "?cursor=1", "?holders=ana", "?holder=%0A"] {
        leo.get(&format!("/v1/leases{bad}")).await.problem(400, "bad_query");
    }
}

async fn ac8_a_caller_without_permission_is_refused_before_the_body_is_read(world: World) {
    let (anonymous, vera) = (world.anonymous(), world.client("vera").await);
    let nonsense = || json!({ "nonsense": 1 });
    for verb in ["claim", "heartbeat", "release", "request-release", "turn", "force-claim", "force-release"] {
        let path = format!("/v1/leases/caja/{verb}");
        anonymous.post(&path, nonsense()).await.problem(401, "unauthenticated");
        let refused = vera.post(&path, nonsense()).await.problem(403, "forbidden");
        let permission = if verb.starts_with("force") { "locks.override" } else { "leases.use" };
        assert_eq!(refused["permission"], permission, "{verb}");
    }
    vera.delete("/v1/leases/caja/turn").await.problem(403, "forbidden");
    for path in ["/v1/leases/caja", "/v1/leases", "/v1/leases/caja/history"] {
        anonymous.get(path).await.problem(401, "unauthenticated");
        vera.get(path).await.expect(200);
    }
    assert_eq!(vera.get("/v1/leases/caja").await.expect(200)["state"], "free", "nothing was claimed");
}

async fn the_leases_of_tasks_need_the_permission_of_tasks(world: World) {
    let only = |permission| NewToken {
        scope: Some(Permissions::from_iter([permission])),
        ..NewToken::for_user("ana").unwrap()
    };
    let leases = world.token(only(Permission::LeasesUse)).await;
    let refused = leases.post("/v1/leases/task%3A1/claim", json!({})).await.problem(403, "forbidden");
    assert_eq!(refused["permission"], "inventory.manage");
    leases.post("/v1/leases/caja/claim", json!({})).await.expect(200);
    let tasks = world.token(only(Permission::InventoryManage)).await;
    let refused = tasks.post("/v1/leases/caja/claim", json!({})).await.problem(403, "forbidden");
    assert_eq!(refused["permission"], "leases.use");
    tasks.post("/v1/leases/task%3A1/claim", json!({})).await.problem(404, "not_found");
}

async fn a_token_for_some_resources_cannot_claim_others(world: World) {
    let token = NewToken { resources: vec!["caja:".to_owned()], ..NewToken::for_user("ana").unwrap() };
    let ana = world.token(token).await;
    claimed(&ana, "caja:1", json!({})).await;
    claimed(&world.client("leo").await, "mesa:1", json!({})).await;
    ana.post("/v1/leases/mesa:2/claim", json!({})).await.problem(403, "other_resource");
    ana.get("/v1/leases/mesa:1").await.problem(403, "other_resource");
    let listed = ana.get("/v1/leases").await.expect(200);
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
}

async fn a_machine_needs_an_instance_to_claim_but_not_to_renew(world: World) {
    let bot = world.token(NewToken { machine: true, ..NewToken::for_user("ana").unwrap() }).await;
    for verb in ["claim", "turn"] {
        let refused = bot.post(&format!("/v1/leases/caja/{verb}"), json!({})).await.problem(400, "instance_required");
        assert_eq!(refused["field"], "instance", "{verb}");
    }
    let held = claimed(&bot, "caja", json!({ "instance": "one" })).await;
    assert_eq!((&held["holder"]["instance"], &held["mine"]), (&json!("one"), &json!(true)));
    let other = bot.post("/v1/leases/caja/claim", json!({ "instance": "two" })).await.problem(409, "lease_held");
    assert_eq!((&other["holder"]["instance"], &other["lease"]["mine"]), (&json!("one"), &json!(false)));
    assert_eq!(bot.get("/v1/leases/caja").await.expect(200)["mine"], true, "the caller's own instance holds it");
    let foreign = json!({ "fence": held["fence"], "instance": "two" });
    bot.post("/v1/leases/caja/heartbeat", foreign).await.problem(409, "lease_lost");
    assert_eq!(beat(&bot, "caja", &held["fence"]).await.expect(200)["renewed"], true);
    let turn = bot.post("/v1/leases/caja/turn", json!({ "instance": "two" })).await.expect(200);
    assert_eq!((&turn["position"], &turn["waiting"]), (&json!(1), &json!(1)));
    let left = bot.delete("/v1/leases/caja/turn?instance=two").await.expect(200);
    assert_eq!(left["waiting"], 0);
    assert_eq!(
        bot.post("/v1/leases/caja/release", json!({ "fence": held["fence"] })).await.expect(200)["released"],
        true
    );
}

async fn names_may_contain_anything_but_control_characters(world: World) {
    let ana = world.client("ana").await;
    let longest = "ñ".repeat(200);
    for (path, name) in [
        ("a%2Fb%3Fc%23d", "a/b?c#d"),
        ("%C3%B1and%C3%BA%20%F0%9F%90%A6", "ñandú 🐦"),
        ("100%25", "100%"),
        (longest.as_str(), longest.as_str()),
    ] {
        assert_eq!(claimed(&ana, path, json!({})).await["resource"], name);
        assert_eq!(ana.get(&format!("/v1/leases/{path}")).await.expect(200)["resource"], name);
    }
    for bad in ["a%0Ab", "%00", "%FF", "ñ".repeat(201).as_str()] {
        ana.get(&format!("/v1/leases/{bad}")).await.problem(404, "not_found");
        ana.post(&format!("/v1/leases/{bad}/claim"), json!({})).await.problem(404, "not_found");
    }
}

async fn bad_input_is_refused_with_the_field_named(world: World) {
    let ana = world.client("ana").await;
    for (verb, body, code, field) in [
        ("claim", json!({ "wait": 1 }), "bad_field", "wait"),
        ("claim", json!({ "ttl_ms": "5" }), "bad_field", "ttl_ms"),
        ("claim", json!({ "ttl_ms": -1 }), "bad_field", "ttl_ms"),
        ("claim", json!({ "ttl_ms": 99 }), "ttl_out_of_bounds", "ttl_ms"),
        ("claim", json!({ "ttl_ms": 3_600_001 }), "ttl_out_of_bounds", "ttl_ms"),
        ("claim", json!({ "ttl_ms": i64::MAX }), "ttl_out_of_bounds", "ttl_ms"),
        ("claim", json!({ "wait_ms": 30_001 }), "bad_field", "wait_ms"),
        ("claim", json!({ "wait_ms": -1 }), "bad_field", "wait_ms"),
        ("claim", json!({ "instance": "" }), "bad_field", "instance"),
        ("claim", json!({ "instance": "x".repeat(201) }), "bad_field", "instance"),
        ("heartbeat", json!({}), "bad_field", "fence"),
        ("heartbeat", json!({ "fence": 1.5 }), "bad_field", "fence"),
        ("heartbeat", json!({ "fence": 1, "idle_ms": -1 }), "bad_field", "idle_ms"),
        ("heartbeat", json!({ "fence": 1, "worked": "yes" }), "bad_field", "worked"),
        ("release", json!({ "claim": 1 }), "bad_field", "fence"),
        ("release", json!({ "fence": 1, "claim": "1" }), "bad_field", "claim"),
        ("turn", json!({ "position": 1 }), "bad_field", "position"),
        ("request-release", json!({ "message": 1 }), "bad_field", "message"),
        ("request-release", json!({ "message": "x".repeat(4_001) }), "bad_field", "message"),
    ] {
        let problem = ana.post(&format!("/v1/leases/caja/{verb}"), body.clone()).await.problem(400, code);
        assert_eq!(problem["field"], field, "{verb} {body}");
    }
    assert_eq!(ana.get("/v1/leases/caja").await.expect(200)["state"], "free");
}
