//! Attacks on narrow rights, as they worked against 0.1.0: foreign deliveries, queues and resources out of scope,
//! reading without permission, private messages, and revoking the tokens of others.

use crate::cases;
use crate::queue::{add, claim, made, named, settle};
use crate::world::World;
use serde_json::json;

cases![a_delivery_is_settled_only_by_the_account_that_claimed_it,];

/// S3: in 0.1.0 every account with `queues.consume` settled every delivery whose name and fence it knew.
async fn a_delivery_is_settled_only_by_the_account_that_claimed_it(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox", "max_attempts": 9 })).await;
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    for n in 1..=3 {
        add(&eva, "mails", json!({ "id": format!("m-{n}"), "payload": n })).await;
    }
    let got = claim(&ana, "mails", "w").await.remove(0);
    let extra = |verb: &str| if verb == "fail" { json!({ "error": "x" }) } else { json!({}) };
    for verb in ["heartbeat", "ack", "fail", "return"] {
        let answer = settle(&leo, "mails", verb, &got, extra(verb)).await;
        assert_eq!(answer, json!({ "delivery": got["delivery"], "outcome": "stale" }), "{verb}");
    }
    let item = ana.get("/v1/queues/mails/items/m-1").await.expect(200);
    assert_eq!((&item["state"], &item["attempts"], &item["errors"]), (&json!("in_process"), &json!(1), &json!([])));
    // In a batch the caller's own delivery is settled, and the other one is stale.
    let own = claim(&leo, "mails", "w").await.remove(0);
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
    let got = claim(&ana, "mails", "w").await.remove(0);
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
