//! Exhausted items over HTTP: their timeline, their holders, retries and purges.

use crate::cases;
use crate::queue::{add, audited, claim, claim_with, ids, made, settle};
use crate::world::World;
use serde_json::{Value, json};

cases![
    the_holder_of_an_item_is_shown_with_user_and_instance,
    the_timeline_has_the_holder_the_fence_and_the_end_of_each_attempt,
    actions_of_people_are_in_the_timeline_only_with_the_audit_permission,
    a_dry_run_counts_the_items_to_retry_and_changes_nothing,
    the_reason_of_a_held_lane_asks_for_a_decision,
    finished_items_beyond_the_retention_are_purged_and_audited,
];

async fn the_holder_of_an_item_is_shown_with_user_and_instance(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    add(&eva, "mails", json!({ "id": "m-1", "payload": 1 })).await;
    let got = claim(&ana, "mails", "till").await.remove(0);
    let holder = eva.get("/v1/queues/mails/items/m-1").await.expect(200)["holder"].clone();
    assert_eq!((&holder["user"], &holder["instance"]), (&json!("ana"), &json!("till")));
    let why = eva.get("/v1/queues/mails/items/m-1/why").await.expect(200);
    assert_eq!((&why["user"], &why["instance"]), (&json!("ana"), &json!("till")));
    assert!(why["detail"].as_str().unwrap().contains("till (ana)"), "{why}");
    settle(&ana, "mails", "fail", &got, json!({ "error": "busy", "retry_in_ms": 0 })).await;
    // The same instance name under another user is another holder.
    let got = claim(&leo, "mails", "till").await.remove(0);
    settle(&leo, "mails", "ack", &got, json!({})).await;
    let item = eva.get("/v1/queues/mails/items/m-1").await.expect(200);
    assert_eq!((&item["errors"][0]["user"], &item["holder"]["user"]), (&json!("ana"), &json!("leo")));
}

/// Returns the timeline of an item in short form.
fn timeline(item: &Value) -> Vec<String> {
    let happened = item["timeline"].as_array().unwrap().iter();
    happened.map(|one| format!("{} {}", one["what"].as_str().unwrap(), one["user"].as_str().unwrap_or("-"))).collect()
}

async fn the_timeline_has_the_holder_the_fence_and_the_end_of_each_attempt(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox", "lock_timeout_ms": 1_500, "backoff_ms": 1 })).await;
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    add(&eva, "mails", json!({ "id": "m-1", "payload": 1 })).await;
    let lost = claim(&ana, "mails", "a").await.remove(0);
    // Ana's process dies. The next claim waits until her delivery expires.
    let failed = claim_with(&leo, "mails", json!({ "instance": "b", "wait_ms": 20_000 })).await.remove(0);
    let held = eva.get("/v1/queues/mails/items/m-1").await.expect(200);
    assert_eq!(timeline(&held), ["enqueued -", "expired ana", "handed_out leo"]);
    settle(&leo, "mails", "fail", &failed, json!({ "error": "busy", "retry_in_ms": 0 })).await;
    let done = claim_with(&leo, "mails", json!({ "instance": "c", "wait_ms": 20_000 })).await.remove(0);
    settle(&leo, "mails", "ack", &done, json!({})).await;
    let item = eva.get("/v1/queues/mails/items/m-1").await.expect(200);
    assert_eq!(timeline(&item), ["enqueued -", "expired ana", "failed leo", "processed leo"]);
    let fences: Vec<&Value> = item["timeline"].as_array().unwrap()[1..].iter().map(|one| &one["fence"]).collect();
    assert_eq!(fences, [&lost["fence"], &failed["fence"], &done["fence"]]);
    let (second, last) = (&item["timeline"][2], &item["timeline"][3]);
    assert_eq!((&second["error"], &second["attempt"], &second["instance"]), (&json!("busy"), &json!(2), &json!("b")));
    assert_eq!((&last["attempt"], &last["instance"]), (&json!(3), &json!("c")));
}

async fn actions_of_people_are_in_the_timeline_only_with_the_audit_permission(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    add(&eva, "mails", json!({ "id": "m-1", "payload": 1 })).await;
    for how in [json!({}), json!({ "payload": 2 })] {
        let got = claim(&eva, "mails", "w").await.remove(0);
        settle(&eva, "mails", "fail", &got, json!({ "error": "no route", "final": true })).await;
        eva.post("/v1/queues/mails/items/m-1/retry", how).await.expect(200);
    }
    eva.post("/v1/queues/mails/items/m-1/cancel", json!({})).await.expect(200);
    let item = eva.get("/v1/queues/mails/items/m-1").await.expect(200);
    let all = ["enqueued -", "exhausted eva", "retried eva", "exhausted eva", "edited eva", "cancelled eva"];
    assert_eq!(timeline(&item), all);
    let seen = world.client("vera").await.get("/v1/queues/mails/items/m-1").await.expect(200);
    assert_eq!(timeline(&seen), ["enqueued -", "exhausted eva", "exhausted eva", "cancelled -"]);
}

async fn a_dry_run_counts_the_items_to_retry_and_changes_nothing(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    let item = |n: i32| json!({ "id": format!("m-{n}"), "key": if n == 1 { "ana" } else { "leo" }, "payload": n });
    add(&eva, "mails", (1..=4).map(item).collect()).await;
    for (got, error) in claim(&eva, "mails", "w").await.iter().zip(["no route", "no route", "bad address", "busy"]) {
        settle(&eva, "mails", "fail", got, json!({ "error": error, "final": true })).await;
    }
    let path = "/v1/queues/mails/retry-exhausted";
    for (which, count) in [
        (json!({}), 4),
        (json!({ "error": "no route" }), 2),
        (json!({ "error": "no route", "key": "ana" }), 1),
        (json!({ "within_ms": 3_600_000 }), 4),
        (json!({ "key": "nadie" }), 0),
    ] {
        let mut asked = which.clone();
        asked["dry_run"] = json!(true);
        let answer = eva.post(path, asked).await.expect(200);
        assert_eq!(answer, json!({ "retried": 0, "matching": count }), "{which}");
    }
    assert!(claim(&eva, "mails", "w").await.is_empty(), "the dry run changed nothing");
    assert!(audited(&world, "item_retry").await.is_empty());
    assert_eq!(eva.post(path, json!({ "error": "no route" })).await.expect(200), json!({ "retried": 2 }));
    let again = claim(&eva, "mails", "w").await;
    let mut again = ids(&again);
    again.sort_unstable();
    assert_eq!(again, ["m-1", "m-2"]);
    eva.post(path, json!({ "within_ms": -1 })).await.problem(400, "bad_field");
}

async fn the_reason_of_a_held_lane_asks_for_a_decision(world: World) {
    let policy = json!({ "kind": "lane", "window_ms": 0, "batch_max": 1, "on_exhausted": "hold" });
    let eva = made(&world, "bot", policy).await;
    add(&eva, "bot", json!([{ "id": "m-1", "key": "ana", "payload": 1 }, { "id": "m-2", "key": "ana", "payload": 2 }]))
        .await;
    let got = claim(&eva, "bot", "w").await.remove(0);
    settle(&eva, "bot", "fail", &got, json!({ "error": "poison", "final": true })).await;
    let why = eva.get("/v1/queues/bot/items/m-2/why").await.expect(200);
    assert_eq!((&why["reason"], &why["behind"]), (&json!("lane_held"), &json!("m-1")));
    assert!(why["detail"].as_str().unwrap().contains("reinténtelo o cancélelo"), "{why}");
    assert_eq!(eva.get("/v1/queues/bot").await.expect(200)["policy"]["on_exhausted"], "hold");
    eva.post("/v1/queues/bot/items/m-1/cancel", json!({})).await.expect(200);
    assert_eq!(ids(&claim(&eva, "bot", "w").await), ["m-2"], "cancelling the exhausted item frees the lane");
}

async fn finished_items_beyond_the_retention_are_purged_and_audited(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox", "retention_s": 1, "lock_timeout_ms": 1_100 })).await;
    add(&eva, "mails", json!([{ "id": "m-1", "payload": 1 }, { "id": "m-2", "payload": 2 }])).await;
    let got = eva.post("/v1/queues/mails/items/m-1/claim", json!({ "instance": "w" })).await.expect(200);
    settle(&eva, "mails", "ack", &got, json!({})).await;
    assert_eq!(eva.post("/v1/queues/mails/purge", json!({})).await.expect(200), json!({ "purged": 0 }));
    // An unsettled claim lasts as long as the retention, so waiting for its expiry covers the retention.
    assert_eq!(ids(&claim(&eva, "mails", "w").await), ["m-2"]);
    assert_eq!(ids(&claim_with(&eva, "mails", json!({ "instance": "w", "wait_ms": 20_000 })).await), ["m-2"]);
    let counted = eva.post("/v1/queues/mails/purge", json!({ "dry_run": true })).await.expect(200);
    assert_eq!(counted, json!({ "purged": 0, "matching": 1 }));
    assert_eq!(eva.post("/v1/queues/mails/purge", json!({})).await.expect(200), json!({ "purged": 1 }));
    eva.get("/v1/queues/mails/items/m-1").await.problem(404, "not_found");
    assert_eq!(audited(&world, "queue_purge").await, [("eva".into(), "mails".into())]);
    eva.get("/v1/queues/mails/items/m-2").await.expect(200);
}
