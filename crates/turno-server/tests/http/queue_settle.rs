//! Settlements over HTTP: ack, fail, return, heartbeat, and their repeats.

use crate::cases;
use crate::queue::{add, claim, claim_with, ids, made, named, settle};
use crate::world::World;
use serde_json::{Value, json};

cases![
    an_ack_finishes_an_item_and_a_repeat_is_marked_as_repeated,
    an_ack_through_an_item_returns_the_rest,
    a_failed_item_is_retried_until_its_attempts_are_used_up,
    a_final_failure_exhausts_at_once,
    a_failed_item_of_a_group_leaves_the_items_before_it_processed,
    a_return_counts_no_attempt,
    a_heartbeat_renews_but_not_beyond_the_longest_hold,
    foreign_deliveries_are_stale_and_the_others_are_settled,
    a_failure_of_a_changed_sync_item_is_superseded,
    an_invalid_settlement_is_refused_with_the_field_named,
];

async fn an_ack_finishes_an_item_and_a_repeat_is_marked_as_repeated(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    add(&eva, "mails", json!({ "id": "m-1", "payload": 1 })).await;
    let got = claim(&eva, "mails", "w").await.remove(0);
    let first = settle(&eva, "mails", "ack", &got, json!({})).await;
    assert_eq!(first, json!({ "delivery": got["delivery"], "outcome": "acked" }));
    let again = settle(&eva, "mails", "ack", &got, json!({})).await;
    assert_eq!(again, json!({ "delivery": got["delivery"], "outcome": "acked", "repeated": true }));
    let twice = json!({ "deliveries": [named(&got), named(&got)] });
    let answers = eva.post("/v1/queues/mails/ack", twice).await.expect(200);
    assert!(answers["results"].as_array().unwrap().iter().all(|result| result["repeated"] == true));
    assert_eq!(
        settle(&eva, "mails", "return", &got, json!({})).await["outcome"],
        "stale",
        "a return does not repeat an ack"
    );
    let item = eva.get("/v1/queues/mails/items/m-1").await.expect(200);
    assert_eq!((&item["state"], &item["attempts"]), (&json!("processed"), &json!(1)));
}

async fn an_ack_through_an_item_returns_the_rest(world: World) {
    let eva = made(&world, "bot", json!({ "kind": "lane", "window_ms": 0 })).await;
    let items: Vec<Value> = (1..=3).map(|n| json!({ "id": format!("m-{n}"), "key": "ana", "payload": n })).collect();
    add(&eva, "bot", json!(items)).await;
    let got = claim(&eva, "bot", "w").await.remove(0);
    let wrong = settle(&eva, "bot", "ack", &got, json!({ "through": "m-9" })).await;
    assert_eq!(wrong["outcome"], "not_in_delivery");
    let first = settle(&eva, "bot", "ack", &got, json!({ "through": "m-1" })).await;
    assert_eq!(first["outcome"], "acked");
    let rest = claim(&eva, "bot", "w").await;
    assert_eq!((ids(&rest), &rest[0]["attempt"]), (vec!["m-2", "m-3"], &json!(1)));
    let again = settle(&eva, "bot", "ack", &got, json!({ "through": "m-1" })).await;
    assert_eq!((&again["outcome"], &again["repeated"]), (&json!("acked"), &json!(true)));
    // Another ack is no repeat: it would mark returned items as processed.
    for other in [json!({ "through": "m-3" }), json!({}), json!({ "through": "m-9" })] {
        assert_eq!(settle(&eva, "bot", "ack", &got, other.clone()).await["outcome"], "stale", "{other}");
    }
    let whole = settle(&eva, "bot", "ack", &rest[0], json!({})).await;
    assert_eq!((&whole["outcome"], &whole["repeated"]), (&json!("acked"), &Value::Null));
    let whole = settle(&eva, "bot", "ack", &rest[0], json!({})).await;
    assert_eq!((&whole["outcome"], &whole["repeated"]), (&json!("acked"), &json!(true)));
}

async fn a_failed_item_is_retried_until_its_attempts_are_used_up(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox", "max_attempts": 2, "backoff_ms": 100 })).await;
    add(&eva, "mails", json!({ "id": "m-1", "payload": 1 })).await;
    let got = claim(&eva, "mails", "w").await.remove(0);
    let first = settle(&eva, "mails", "fail", &got, json!({ "error": "busy" })).await;
    assert_eq!(first["outcome"], "retrying");
    let again = settle(&eva, "mails", "fail", &got, json!({ "error": "busy" })).await;
    assert_eq!((&again["retry_at"], &again["repeated"]), (&first["retry_at"], &json!(true)));
    let item = eva.get("/v1/queues/mails/items/m-1").await.expect(200);
    assert_eq!((&item["state"], &item["last_error"]), (&json!("error"), &json!("busy")));
    let next = claim_with(&eva, "mails", json!({ "instance": "w", "wait_ms": 10_000 })).await.remove(0);
    assert_eq!(next["attempt"], 2);
    assert_eq!(settle(&eva, "mails", "fail", &next, json!({ "error": "still busy" })).await["outcome"], "exhausted");
    assert!(claim(&eva, "mails", "w").await.is_empty());
    let item = eva.get("/v1/queues/mails/items/m-1").await.expect(200);
    let errors: Vec<&Value> = item["errors"].as_array().unwrap().iter().map(|error| &error["error"]).collect();
    assert_eq!((&item["state"], errors), (&json!("exhausted"), vec![&json!("busy"), &json!("still busy")]));
    assert_eq!(item["errors"][0]["retry_at"], first["retry_at"]);
}

async fn a_final_failure_exhausts_at_once(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    add(&eva, "mails", json!([{ "id": "m-1", "payload": 1 }, { "id": "m-2", "payload": 2 }])).await;
    let got = claim(&eva, "mails", "w").await;
    let over = settle(&eva, "mails", "fail", &got[0], json!({ "error": "no such address", "final": true })).await;
    assert_eq!((&over["outcome"], over.get("retry_at")), (&json!("exhausted"), None));
    let soon = settle(&eva, "mails", "fail", &got[1], json!({ "error": "busy", "retry_in_ms": 0 })).await;
    assert_eq!(soon["outcome"], "retrying");
    let next = claim_with(&eva, "mails", json!({ "instance": "w", "wait_ms": 10_000 })).await;
    assert_eq!(ids(&next), ["m-2"], "the retry is due as soon as the worker asked");
}

async fn a_failed_item_of_a_group_leaves_the_items_before_it_processed(world: World) {
    let eva = made(&world, "bot", json!({ "kind": "lane", "window_ms": 0, "backoff_ms": 60_000 })).await;
    let items: Vec<Value> = (1..=3).map(|n| json!({ "id": format!("m-{n}"), "key": "ana", "payload": n })).collect();
    add(&eva, "bot", json!(items)).await;
    let got = claim(&eva, "bot", "w").await.remove(0);
    let failure = json!({ "error": "cannot read it", "item": "m-2" });
    assert_eq!(settle(&eva, "bot", "fail", &got, failure.clone()).await["outcome"], "retrying");
    assert_eq!(settle(&eva, "bot", "fail", &got, failure).await["repeated"], true);
    let mut states = Vec::new();
    for id in ["m-1", "m-2", "m-3"] {
        let item = eva.get(&format!("/v1/queues/bot/items/{id}")).await.expect(200);
        states.push((item["state"].as_str().unwrap().to_owned(), item["attempts"].as_u64().unwrap()));
    }
    let expected = [("processed", 1), ("error", 1), ("pending", 0)];
    assert_eq!(states, expected.map(|(state, attempts)| (state.to_owned(), attempts)));
    assert!(claim(&eva, "bot", "w").await.is_empty(), "a failing head blocks its own key");
    add(&eva, "bot", json!({ "id": "l-1", "key": "leo", "payload": 1 })).await;
    assert_eq!(ids(&claim(&eva, "bot", "w").await), ["l-1"], "other keys are not blocked");
}

async fn a_return_counts_no_attempt(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox", "max_attempts": 1 })).await;
    add(&eva, "mails", json!({ "id": "m-1", "payload": 1 })).await;
    for _ in 0..3 {
        let got = claim(&eva, "mails", "w").await.remove(0);
        assert_eq!(got["attempt"], 1);
        assert_eq!(settle(&eva, "mails", "return", &got, json!({})).await["outcome"], "returned");
        assert_eq!(settle(&eva, "mails", "return", &got, json!({})).await["repeated"], true);
        assert_eq!(settle(&eva, "mails", "ack", &got, json!({})).await["outcome"], "stale");
        let other = claim(&eva, "mails", "other").await.remove(0);
        let again = settle(&eva, "mails", "return", &got, json!({})).await;
        assert_eq!(
            (&again["outcome"], &again["repeated"]),
            (&json!("returned"), &json!(true)),
            "also while another delivery is live"
        );
        assert_eq!(settle(&eva, "mails", "return", &other, json!({})).await["outcome"], "returned");
    }
    let item = eva.get("/v1/queues/mails/items/m-1").await.expect(200);
    assert_eq!((&item["state"], &item["attempts"]), (&json!("pending"), &json!(0)));
}

async fn a_heartbeat_renews_but_not_beyond_the_longest_hold(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox", "lock_timeout_ms": 60_000 })).await;
    add(&eva, "mails", json!({ "payload": 1 })).await;
    let got = claim(&eva, "mails", "w").await.remove(0);
    let beat = settle(&eva, "mails", "heartbeat", &got, json!({})).await;
    assert_eq!(beat["outcome"], "renewed");
    assert!(beat["expires_at"].as_str() >= got["expires_at"].as_str());
    assert_eq!(beat["limited_by"], json!(null), "nothing limits the renewal");
    let held = made(&world, "bot", json!({ "kind": "lane", "window_ms": 0 })).await;
    add(&held, "bot", json!({ "key": "ana", "payload": 1 })).await;
    let got = claim(&held, "bot", "w").await.remove(0);
    let beat = settle(&held, "bot", "heartbeat", &got, json!({})).await;
    assert_eq!(
        (&beat["outcome"], &beat["expires_at"]),
        (&json!("renewed"), &got["expires_at"]),
        "the longest hold is 15 s"
    );
    assert_eq!(beat["limited_by"], "max_hold", "the answer names the limit");
}

async fn foreign_deliveries_are_stale_and_the_others_are_settled(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    made(&world, "other", json!({ "kind": "inbox" })).await;
    add(&eva, "mails", json!([{ "payload": 1 }, { "payload": 2 }])).await;
    add(&eva, "other", json!({ "id": "o-1", "payload": 1 })).await;
    let (got, foreign) = (claim(&eva, "mails", "w").await, claim(&eva, "other", "w").await.remove(0));
    let token = got[1]["delivery"].as_str().unwrap();
    let altered =
        [format!("{token}0"), token.replacen('a', "b", 1), token.to_uppercase(), String::new(), "nope".into()];
    for how in ["heartbeat", "ack", "return", "fail"] {
        let mut deliveries: Vec<Value> =
            altered.iter().map(|delivery| json!({ "delivery": delivery, "fence": got[1]["fence"] })).collect();
        deliveries.push(json!({ "delivery": token, "fence": got[1]["fence"].as_i64().unwrap() + 1 }));
        deliveries.push(named(&foreign));
        deliveries.push(named(&got[0]));
        if how == "fail" {
            deliveries.iter_mut().for_each(|one| one["error"] = json!("broken"));
        }
        let answer =
            eva.post(&format!("/v1/queues/mails/{how}"), json!({ "deliveries": deliveries })).await.expect(200);
        let outcomes: Vec<&Value> = answer["results"].as_array().unwrap().iter().map(|one| &one["outcome"]).collect();
        assert_eq!(outcomes.len(), deliveries.len());
        assert!(outcomes[..7].iter().all(|outcome| *outcome == "stale"), "{how}: {outcomes:?}");
        let names: Vec<&Value> = answer["results"].as_array().unwrap().iter().map(|one| &one["delivery"]).collect();
        assert_eq!(
            names,
            deliveries.iter().map(|one| &one["delivery"]).collect::<Vec<_>>(),
            "results are in the order of the request"
        );
        let ours = match how {
            "heartbeat" => "renewed",
            "ack" => "acked",
            _ => "stale",
        };
        assert_eq!(outcomes[7], ours, "{how}");
    }
    assert_eq!(
        settle(&eva, "other", "ack", &foreign, json!({})).await["outcome"],
        "acked",
        "the foreign delivery is unchanged"
    );
    assert_eq!(settle(&eva, "mails", "ack", &got[1], json!({})).await["outcome"], "acked");
}

async fn a_failure_of_a_changed_sync_item_is_superseded(world: World) {
    let eva = made(&world, "users", json!({ "kind": "sync" })).await;
    add(&eva, "users", json!({ "key": "7", "payload": "old" })).await;
    let got = claim(&eva, "users", "w").await.remove(0);
    add(&eva, "users", json!({ "key": "7", "payload": "new" })).await;
    let failed = settle(&eva, "users", "fail", &got, json!({ "error": "down" })).await;
    assert_eq!(failed["outcome"], "superseded");
    let next = claim(&eva, "users", "w").await.remove(0);
    assert_eq!(
        (&next["items"][0]["payload"], &next["attempt"]),
        (&json!("new"), &json!(1)),
        "due at once with attempt 1"
    );
    // The timeline keeps the superseded attempt with its error, holder and fence, although it does not count.
    settle(&eva, "users", "ack", &next, json!({})).await;
    let listed = eva.get("/v1/queues/users/items").await.expect(200);
    let id = listed["items"][0]["id"].as_str().unwrap();
    let life = eva.get(&format!("/v1/queues/users/items/{id}")).await.expect(200);
    let error = &life["errors"][0];
    assert_eq!((&error["error"], &error["attempt"], &error["fence"]), (&json!("down"), &json!(0), &got["fence"]));
    assert_eq!((&life["last_error"], &life["attempts"]), (&json!("down"), &json!(1)));
    let what = |at: usize| life["timeline"][at]["what"].as_str().unwrap().to_owned();
    assert_eq!([what(0), what(1), what(2)], ["enqueued", "superseded", "processed"]);
    let superseded = &life["timeline"][1];
    assert_eq!((&superseded["fence"], &superseded["instance"]), (&got["fence"], &json!("w")));
    assert_eq!((&superseded["error"], &superseded["attempt"]), (&json!("down"), &Value::Null));
}

async fn an_invalid_settlement_is_refused_with_the_field_named(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    add(&eva, "mails", json!({ "payload": 1 })).await;
    let got = claim(&eva, "mails", "w").await.remove(0);
    let with = |more: Value| {
        let mut wrong = named(&got);
        wrong.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "deliveries": [named(&got), wrong] })
    };
    for (how, body, field) in [
        ("ack", json!({}), "deliveries"),
        ("ack", json!({ "deliveries": {} }), "deliveries"),
        ("ack", json!({ "deliveries": [{ "fence": 1 }] }), "deliveries[0].delivery"),
        ("ack", json!({ "deliveries": [{ "delivery": "a1-1-1" }] }), "deliveries[0].fence"),
        ("ack", with(json!({ "fence": "1" })), "deliveries[1].fence"),
        ("ack", with(json!({ "fence": 1.5 })), "deliveries[1].fence"),
        ("ack", with(json!({ "through": "" })), "deliveries[1].through"),
        ("ack", with(json!({ "error": "x" })), "deliveries[1].error"),
        ("heartbeat", with(json!({ "ttl": 1 })), "deliveries[1].ttl"),
        ("return", with(json!({ "through": "m-1" })), "deliveries[1].through"),
        ("fail", json!({ "deliveries": [named(&got)] }), "deliveries[0].error"),
        ("fail", json!({ "deliveries": [{ "delivery": "x", "fence": 1, "error": 3 }] }), "deliveries[0].error"),
        (
            "fail",
            json!({ "deliveries": [{ "delivery": "x", "fence": 1, "error": "e", "retry_in_ms": -1 }] }),
            "deliveries[0].retry_in_ms",
        ),
        (
            "fail",
            json!({ "deliveries": [{ "delivery": "x", "fence": 1, "error": "e", "final": "yes" }] }),
            "deliveries[0].final",
        ),
    ] {
        let refused = eva.post(&format!("/v1/queues/mails/{how}"), body.clone()).await.problem(400, "bad_field");
        assert_eq!(refused["field"], field, "{how} {body}");
    }
    let many: Vec<Value> = (0..1_001).map(|_| named(&got)).collect();
    let refused = eva.post("/v1/queues/mails/ack", json!({ "deliveries": many })).await.problem(400, "bad_field");
    assert_eq!(refused["field"], "deliveries");
    assert_eq!(
        eva.post("/v1/queues/mails/ack", json!({ "deliveries": [] })).await.expect(200),
        json!({ "results": [] })
    );
    assert_eq!(
        settle(&eva, "mails", "heartbeat", &got, json!({})).await["outcome"],
        "renewed",
        "the delivery is still live"
    );
}
