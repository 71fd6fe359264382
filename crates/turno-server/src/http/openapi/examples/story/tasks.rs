//! Ana and Leo process a task that puts goods into stock. Eva overrides.

use serde_json::{Value, json};

use super::super::recorder::{Call, Recorder};
use super::Cast;

fn task(operation: &'static str, id: &Value, body: Value) -> Call {
    Call::new(operation).with("id", id.clone()).body(body)
}

pub(super) async fn play(recorder: &mut Recorder, cast: &Cast) {
    let Cast { ana, leo, eva } = cast;
    let lines = json!([
        { "kind": "quantity", "movement": "in", "sku": "clavos", "quantity": 30 },
        { "kind": "serialized", "movement": "in", "sku": "taladro", "serials": ["T-1", "T-2"] },
    ]);
    let made =
        recorder.call(Call::new("task_create").body(json!({ "title": "Entrada 12", "lines": lines })).by(ana)).await;
    let id = &made.body["id"];
    let draft = |title: &str| json!({ "title": title, "version": made.body["version"] });
    recorder.call(task("task_put", id, draft("Entrada 12, depósito norte")).by(ana)).await;
    recorder.refused(task("task_put", id, draft("Entrada 12, depósito sur")).by(leo), "draft_changed").await;
    recorder.call(task("task_ready", id, json!({})).by(ana)).await;
    recorder.call(Call::new("task_list").with("status", "ready").with("limit", 1).by(ana)).await;

    let claimed = recorder.call(task("task_claim", id, json!({})).by(ana)).await;
    let fence = &claimed.body["fence"];
    recorder.refused(task("task_claim", id, json!({})).by(leo), "lease_held").await;
    let got = recorder.call(Call::new("task_get").with("id", id.clone()).by(leo)).await;
    recorder
        .call(task("task_heartbeat", id, json!({ "fence": fence, "idle_ms": 2_000, "worked": true })).by(ana))
        .await;
    let line = |operation, body| task(operation, id, body).with("number", 1);
    let patch = json!({ "fence": fence, "quantity": 28, "version": got.body["lines"][0]["version"] });
    recorder.call(line("line_patch", patch).by(ana)).await;
    recorder.call(line("line_validate", json!({ "fence": fence })).by(ana)).await;

    recorder.call(task("task_request_release", id, json!({ "message": "Can I finish it?" })).by(leo)).await;
    recorder.call(task("task_decline_release", id, json!({ "fence": fence, "message": "Almost done" })).by(ana)).await;
    recorder.call(task("task_turn", id, json!({})).by(leo)).await;
    recorder.call(task("task_turn_leave", id, json!({})).by(leo)).await;
    recorder.call(task("task_release", id, json!({ "fence": fence })).by(ana)).await;

    recorder.step(task("task_claim", id, json!({})).by(leo)).await;
    let taken = recorder.call(task("task_force_claim", id, json!({ "reason": "Leo went home" })).by(eva)).await;
    let finalize = json!({ "fence": taken.body["fence"] });
    recorder.call(task("task_finalize", id, finalize).by(eva)).await;
    recorder.call(Call::new("task_history").with("id", id.clone()).with("limit", 2).by(ana)).await;
    recorder.call(Call::new("stock_get").with("sku", "clavos").by(ana)).await;

    let other = json!({ "title": "Entrada 13", "status": "ready", "lines": [{ "kind": "quantity", "sku": "clavos", "quantity": 5 }] });
    let other = recorder.step(Call::new("task_create").body(other).by(ana)).await;
    recorder.step(task("task_claim", &other["id"], json!({})).by(leo)).await;
    let reason = json!({ "reason": "The delivery was refused" });
    recorder.call(task("task_force_release", &other["id"], reason.clone()).by(eva)).await;
    recorder.call(task("task_cancel", &other["id"], reason).by(ana)).await;
}
