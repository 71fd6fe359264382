//! Leases over HTTP.

use crate::cases;
use crate::world::World;
use serde_json::json;

cases![a_claim_is_refused_while_another_holds, a_stranger_is_told_so_before_anything_is_read];

async fn a_claim_is_refused_while_another_holds(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let held = ana.post("/v1/leases/caja%3A3/claim", json!({})).await.expect(200);
    assert_eq!(
        (&held["state"], &held["mine"], &held["holder"]["name"]),
        (&json!("locked"), &json!(true), &json!("Ana Pérez"))
    );
    let refused = leo.post("/v1/leases/caja%3A3/claim", json!({})).await.problem(409, "lease_held");
    assert_eq!(refused["holder"]["id"], "ana");
    assert_eq!(refused["locked_at"], held["locked_at"]);
    let beat = ana.post("/v1/leases/caja%3A3/heartbeat", json!({ "fence": held["fence"] })).await.expect(200);
    assert_eq!(beat["renewed"], true);
}

async fn a_stranger_is_told_so_before_anything_is_read(world: World) {
    world.nobody().post("/v1/leases/x/claim", json!({ "nonsense": 1 })).await.problem(401, "unauthenticated");
    let vera = world.client("vera").await;
    let refused = vera.post("/v1/leases/x/claim", json!({ "nonsense": 1 })).await.problem(403, "forbidden");
    assert_eq!(refused["permission"], "leases.use");
}
