//! Ana and Leo share a cash desk. Eva overrides.

use serde_json::{Value, json};

use super::super::recorder::{Call, Recorder};
use super::Cast;

fn desk(operation: &'static str, body: Value) -> Call {
    Call::new(operation).with("resource", "caja:3").body(body)
}

pub(super) async fn play(recorder: &mut Recorder, cast: &Cast) {
    let Cast { ana, leo, eva } = cast;
    let claimed = recorder.call(desk("lease_claim", json!({ "ttl_ms": 120_000 })).by(ana)).await;
    let fence = &claimed.body["fence"];
    recorder.refused(desk("lease_claim", json!({})).by(leo), "lease_held").await;
    recorder.call(Call::new("lease_get").with("resource", "caja:3").by(leo)).await;
    recorder.call(Call::new("lease_list").with("prefix", "caja:").by(leo)).await;
    let beat = |fence: Value| desk("lease_heartbeat", json!({ "fence": fence, "idle_ms": 4_000 }));
    recorder.call(beat(fence.clone()).by(ana)).await;
    let ask = json!({ "message": "I need the cash desk for the closing" });
    recorder.call(desk("lease_request_release", ask).by(leo)).await;
    let decline = json!({ "fence": fence, "message": "Ten minutes more" });
    recorder.call(desk("lease_decline_release", decline).by(ana)).await;
    recorder.call(desk("lease_turn", json!({})).by(leo)).await;
    recorder.call(desk("lease_turn_leave", json!({})).by(leo)).await;
    recorder.call(desk("lease_release", json!({ "fence": fence })).by(ana)).await;
    recorder.refused(beat(fence.clone()).by(ana), "lease_lost").await;
    recorder.call(Call::new("lease_history").with("resource", "caja:3").with("limit", 1).by(ana)).await;

    recorder.step(desk("lease_claim", json!({})).by(leo)).await;
    let reason = json!({ "reason": "Leo went home" });
    recorder.call(desk("lease_force_claim", reason).by(eva)).await;
    recorder.call(desk("lease_force_release", json!({ "reason": "The desk is closed" })).by(eva)).await;

    let claims = json!({ "leases": [{ "resource": "camion:1" }, { "resource": "camion:2", "ttl_ms": 60_000 }] });
    let claimed = recorder.call(Call::new("leases_claim").body(claims).by(ana)).await;
    let fence = |at: usize| &claimed.body["results"][at]["lease"]["fence"];
    let beats = json!({ "leases": [
        { "resource": "camion:1", "fence": fence(0) }, { "resource": "camion:2", "fence": fence(1), "idle_ms": 500 },
    ] });
    recorder.call(Call::new("leases_heartbeat").body(beats).by(ana)).await;
    let releases = json!({ "leases": [
        { "resource": "camion:1", "fence": fence(0) }, { "resource": "camion:2", "fence": fence(1) },
    ] });
    recorder.call(Call::new("leases_release").body(releases).by(ana)).await;
    for operation in ["lease_named_claim", "lease_named_heartbeat", "lease_named_release"] {
        recorder.call(Call::new(operation).by(ana)).await;
    }
}
