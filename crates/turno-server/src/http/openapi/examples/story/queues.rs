//! A queue of mails shared by two workers, and a lane of chats.

use serde_json::{Value, json};

use super::super::recorder::{Call, Recorder};
use super::Cast;

fn mails(operation: &'static str, body: Value) -> Call {
    Call::new(operation).with("queue", "mails").body(body)
}

/// Returns the only delivery of a claim, as settlements name it.
fn delivery(claimed: &Value) -> Value {
    let delivery = &claimed["deliveries"][0];
    json!({ "delivery": delivery["delivery"], "fence": delivery["fence"] })
}

/// Adds members to a delivery.
fn and(mut delivery: Value, more: Value) -> Value {
    let more = more.as_object().cloned().unwrap_or_default();
    delivery.as_object_mut().expect("a delivery").extend(more);
    delivery
}

pub(super) async fn play(recorder: &mut Recorder, cast: &Cast) {
    let (ana, eva) = (&cast.ana, &cast.eva);
    recorder.call(mails("queue_put", json!({ "kind": "inbox", "max_attempts": 3 })).by(eva)).await;
    let items: Vec<Value> =
        (1..=5).map(|n| json!({ "id": format!("mail-{n}"), "payload": { "to": "ana@example.com" } })).collect();
    recorder.call(mails("item_add", json!(items)).by(ana)).await;

    let claim = json!({ "instance": "worker-1" });
    let first = recorder.call(mails("queue_claim", claim.clone()).by(ana)).await;
    let first = delivery(&first.body);
    recorder.call(mails("queue_heartbeat", json!({ "deliveries": [first] })).by(ana)).await;
    recorder.call(mails("queue_ack", json!({ "deliveries": [first] })).by(ana)).await;
    let second = delivery(&recorder.step(mails("queue_claim", claim.clone()).by(ana)).await);
    let failed = and(second, json!({ "error": "mailbox is full", "final": true }));
    recorder.call(mails("queue_fail", json!({ "deliveries": [failed] })).by(ana)).await;
    let third = delivery(&recorder.step(mails("queue_claim", claim.clone()).by(ana)).await);
    recorder.call(mails("queue_return", json!({ "deliveries": [third] })).by(ana)).await;

    let item = |operation, id, body| mails(operation, body).with("id", id);
    let look = |operation, id: &str| Call::new(operation).with("queue", "mails").with("id", id.to_owned());
    recorder.call(item("item_claim", "mail-4", claim.clone()).by(ana)).await;
    recorder
        .refused(item("item_claim", "mail-4", json!({ "instance": "worker-2" })).by(&cast.leo), "already_claimed")
        .await;
    recorder.call(look("item_why", "mail-4").by(ana)).await;
    recorder.call(look("item_get", "mail-2").by(ana)).await;
    recorder.call(Call::new("item_list").with("queue", "mails").with("state", "exhausted").by(ana)).await;
    recorder.call(item("item_retry", "mail-2", json!({ "payload": { "to": "ana.perez@example.com" } })).by(eva)).await;
    let again = mails("queue_retry_exhausted", json!({ "error": "mailbox is full", "dry_run": true }));
    recorder.call(again.by(eva)).await;
    recorder.call(item("item_cancel", "mail-5", json!({})).by(eva)).await;
    recorder.call(mails("queue_purge", json!({ "dry_run": true })).by(eva)).await;
    recorder.call(mails("queue_pause", json!({})).by(eva)).await;
    recorder.call(Call::new("queue_get").with("queue", "mails").by(ana)).await;
    recorder.call(mails("queue_resume", json!({})).by(eva)).await;

    let chats = |operation, body| Call::new(operation).with("queue", "chats").body(body);
    recorder.step(chats("queue_put", json!({ "kind": "lane", "window_ms": 5_000 })).by(eva)).await;
    recorder.step(chats("item_add", json!({ "id": "m-1", "key": "549112233", "payload": "Hola" })).by(ana)).await;
    recorder.call(chats("queue_typing", json!({ "key": "549112233" })).by(ana)).await;
    recorder.call(Call::new("key_why").with("queue", "chats").with("key", "549112233").by(ana)).await;
    recorder.call(Call::new("queue_list").with("limit", 1).by(ana)).await;
    recorder.call(Call::new("locks_get").by(ana)).await;
    recorder.call(Call::new("locks_clear").body(json!({})).by(eva)).await;
}
