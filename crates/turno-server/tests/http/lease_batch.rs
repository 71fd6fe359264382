//! Batches of lease calls.

use crate::cases;
use crate::lease::claimed;
use crate::world::{World, answer};
use reqwest::Method;
use serde_json::{Value, json};
use turno::access::{NewToken, Permission, Permissions};

cases![
    a_batch_answers_every_entry_separately,
    entries_about_one_resource_are_carried_out_in_order,
    a_batch_checks_the_permission_of_each_entry,
    a_malformed_name_fails_only_its_entry,
    an_invalid_batch_changes_nothing,
    a_thousand_leases_are_claimed_kept_and_released_at_once,
    an_entry_of_a_batch_may_wait,
    a_lease_named_like_a_batch_route_can_be_read_and_used,
];

async fn a_batch_answers_every_entry_separately(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    claimed(&leo, "b", json!({})).await;
    let batch = json!({ "leases": [
        { "resource": "a", "ttl_ms": 60_000 },
        { "resource": "b" },
        { "resource": "c", "ttl_ms": 99 },
        { "resource": "task:77" },
        { "resource": "d", "wait_ms": -1 },
    ] });
    let claims = ana.post("/v1/leases/claim", batch).await.expect(200);
    let results = claims["results"].as_array().unwrap();
    let names: Vec<_> = results.iter().map(|result| result["resource"].as_str().unwrap()).collect();
    assert_eq!(names, ["a", "b", "c", "task:77", "d"]);
    assert_eq!((&results[0]["lease"]["holder"]["id"], results[0].get("problem")), (&json!("ana"), None));
    let codes: Vec<_> = results[1..].iter().map(|result| result["problem"]["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["lease_held", "ttl_out_of_bounds", "not_found", "bad_field"]);
    assert_eq!(
        (&results[1]["problem"]["status"], &results[1]["problem"]["holder"]["id"]),
        (&json!(409), &json!("leo"))
    );
    assert_eq!(results[1]["problem"]["title"], "Bloqueada por otra persona");

    let fence = &results[0]["lease"]["fence"];
    let batch =
        json!({ "leases": [{ "resource": "a", "fence": fence, "worked": true }, { "resource": "b", "fence": 1 }] });
    let beats = ana.request(Method::POST, "/v1/leases/heartbeat").header("accept-language", "en").json(&batch);
    let beats = answer(beats.send().await.unwrap()).await.expect(200);
    assert_eq!(
        (&beats["results"][0]["lease"]["renewed"], &beats["results"][0]["lease"]["fence"]),
        (&json!(true), fence)
    );
    let lost = &beats["results"][1]["problem"];
    assert_eq!(
        (&lost["code"], &lost["reason"], &lost["title"]),
        (&json!("lease_lost"), &json!("taken"), &json!("The lease was lost"))
    );

    let batch = json!({ "leases": [{ "resource": "b", "fence": 1 }, { "resource": "a", "fence": fence, "claim": 1 }] });
    for repeated in [false, true] {
        let releases = ana.post("/v1/leases/release", batch.clone()).await.expect(200);
        assert_eq!(releases["results"][0]["problem"]["code"], "lease_lost");
        let released = &releases["results"][1]["lease"];
        let answered = [&released["state"], &released["released"], &released["repeated"]];
        assert_eq!(answered, [&json!("free"), &json!(true), &json!(repeated)]);
    }
}

async fn entries_about_one_resource_are_carried_out_in_order(world: World) {
    let bot = world.token(NewToken { machine: true, ..NewToken::for_user("ana").unwrap() }).await;
    let batch = json!({ "leases": [
        { "resource": "a", "instance": "one" }, { "resource": "a", "instance": "two" }, { "resource": "a" },
    ] });
    let claims = bot.post("/v1/leases/claim", batch).await.expect(200);
    assert_eq!(claims["results"][0]["lease"]["holder"]["instance"], "one");
    assert_eq!(claims["results"][1]["problem"]["code"], "lease_held");
    assert_eq!(claims["results"][2]["problem"]["code"], "instance_required");
}

async fn a_batch_checks_the_permission_of_each_entry(world: World) {
    let vera = world.client("vera").await;
    for verb in ["claim", "heartbeat", "release"] {
        world.anonymous().post(&format!("/v1/leases/{verb}"), json!({ "x": 1 })).await.problem(401, "unauthenticated");
        vera.post(&format!("/v1/leases/{verb}"), json!({ "x": 1 })).await.problem(403, "forbidden");
    }
    let scope = Some(Permissions::from_iter([Permission::LeasesUse]));
    let resources = vec!["caja:".to_owned(), "task:".to_owned()];
    let ana = world.token(NewToken { scope, resources, ..NewToken::for_user("ana").unwrap() }).await;
    let batch = json!({ "leases": [{ "resource": "caja:1" }, { "resource": "mesa:1" }, { "resource": "task:1" }] });
    let claims = ana.post("/v1/leases/claim", batch).await.expect(200);
    assert_eq!(claims["results"][0]["lease"]["state"], "locked");
    assert_eq!(claims["results"][1]["problem"]["code"], "other_resource");
    assert_eq!(claims["results"][2]["problem"]["permission"], "inventory.manage");
}

async fn a_malformed_name_fails_only_its_entry(world: World) {
    let ana = world.client("ana").await;
    let long = "x".repeat(201);
    for verb in ["claim", "heartbeat", "release"] {
        let mut batch = json!({ "leases": [{ "resource": "" }, { "resource": "a" }, { "resource": long },
            { "resource": "a\u{1}" }, { "resource": "b", "instance": "" }] });
        if verb != "claim" {
            let leases = batch["leases"].as_array_mut().unwrap();
            leases.iter_mut().for_each(|entry| entry["fence"] = json!(1));
            leases[1]["fence"] = ana.get("/v1/leases/a").await.expect(200)["fence"].clone();
        }
        let answer = ana.post(&format!("/v1/leases/{verb}"), batch).await.expect(200);
        let results = answer["results"].as_array().unwrap();
        let codes: Vec<_> = results.iter().map(|result| result["problem"]["code"].as_str()).collect();
        let wrong = Some("not_found");
        assert_eq!(codes, [wrong, None, wrong, wrong, Some("bad_field")], "{verb}: the same codes as for single calls");
        assert_eq!(results[1]["lease"]["resource"], "a", "{verb}");
        assert_eq!((&results[2]["resource"], &results[4]["problem"]["field"]), (&json!(long), &json!("instance")));
    }
    ana.post("/v1/leases/%01/claim", json!({})).await.problem(404, "not_found");
}

async fn an_invalid_batch_changes_nothing(world: World) {
    let ana = world.client("ana").await;
    let many: Vec<Value> = (0..1_001).map(|number| json!({ "resource": format!("r{number}"), "fence": 1 })).collect();
    for (verb, body, field) in [
        ("claim", json!({}), "leases"),
        ("claim", json!({ "leases": [{ "resource": "a" }, { "resource": 7 }] }), "leases[1].resource"),
        ("claim", json!({ "leases": [{ "resource": "a" }, {}] }), "leases[1].resource"),
        ("claim", json!({ "leases": [{ "resource": "a" }, { "resource": "b", "ttl": 1 }] }), "leases[1].ttl"),
        ("claim", json!({ "leases": [], "more": 1 }), "more"),
        ("heartbeat", json!({ "leases": [{ "resource": "a" }] }), "leases[0].fence"),
        ("heartbeat", json!({ "leases": many }), "leases"),
        ("release", json!({ "leases": [{ "resource": "a", "fence": "1" }] }), "leases[0].fence"),
    ] {
        let problem = ana.post(&format!("/v1/leases/{verb}"), body).await.problem(400, "bad_field");
        assert_eq!(problem["field"], field, "{verb}");
    }
    assert_eq!(ana.get("/v1/leases/a").await.expect(200)["state"], "free");
    for verb in ["claim", "heartbeat", "release"] {
        let none = ana.post(&format!("/v1/leases/{verb}"), json!({ "leases": [] })).await.expect(200);
        assert_eq!(none, json!({ "results": [] }));
    }
}

async fn a_thousand_leases_are_claimed_kept_and_released_at_once(world: World) {
    let ana = world.client("ana").await;
    let names: Vec<Value> = (0..1_000).map(|number| json!({ "resource": format!("r{number}") })).collect();
    let claims = ana.post("/v1/leases/claim", json!({ "leases": names })).await.expect(200);
    let held: Vec<Value> = claims["results"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
        .map(|(number, result)| {
            assert_eq!(result["resource"], format!("r{number}"));
            json!({ "resource": result["resource"], "fence": result["lease"]["fence"] })
        })
        .collect();
    for (verb, member) in [("heartbeat", "renewed"), ("release", "released")] {
        let results = ana.post(&format!("/v1/leases/{verb}"), json!({ "leases": held })).await.expect(200);
        let results = results["results"].as_array().unwrap().clone();
        assert_eq!(results.len(), 1_000);
        assert!(results.iter().all(|result| result["lease"][member] == true), "{verb}");
    }
}

async fn an_entry_of_a_batch_may_wait(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    claimed(&leo, "a", json!({ "ttl_ms": 150 })).await;
    let batch = json!({ "leases": [{ "resource": "a", "wait_ms": 10_000 }, { "resource": "b" }] });
    let claims = ana.post("/v1/leases/claim", batch).await.expect(200);
    let holders: Vec<_> = claims["results"].as_array().unwrap().iter().map(|r| &r["lease"]["holder"]["id"]).collect();
    assert_eq!(holders, ["ana", "ana"]);
}

async fn a_lease_named_like_a_batch_route_can_be_read_and_used(world: World) {
    let ana = world.client("ana").await;
    for name in ["claim", "heartbeat", "release"] {
        let held = claimed(&ana, name, json!({})).await;
        assert_eq!(held["resource"], name);
        let seen = ana.get(&format!("/v1/leases/{name}")).await.expect(200);
        assert_eq!((&seen["resource"], &seen["fence"]), (&json!(name), &held["fence"]));
        ana.get(&format!("/v1/leases/{name}/history")).await.expect(200);
        ana.post(&format!("/v1/leases/{name}/release"), json!({ "fence": held["fence"] })).await.expect(200);
    }
    world.anonymous().get("/v1/leases/claim").await.problem(401, "unauthenticated");
}
