//! `turno check --repair`, while a server is running on the database.

use serde_json::json;
use turno::core::time::Span;
use turno::queue::{Kind, Policy};

use crate::cases;
use crate::shell::Shell;
use crate::world::World;

cases![POSTGRES: [a_lane_with_two_heads_is_repaired_beside_the_server]];

/// A lane with two heads, as seen after a failover: no item was handed out, `why` output ready, and a cancel was
/// refused.
async fn a_lane_with_two_heads_is_repaired_beside_the_server(world: World) {
    let eva = world.client("eva").await;
    let policy = Policy { window: Span::ZERO, batch_max: 5, ..Policy::for_kind(Kind::Lane) };
    world.turno.put_queue("bot", policy).await.unwrap();
    let items: Vec<_> = (1..5).map(|n| json!({ "id": format!("m{n}"), "key": "ana", "payload": n })).collect();
    eva.post("/v1/queues/bot/items", json!(items)).await.expect(201);
    let second = "update turno.hot set ready_at = 1 where seq = (select seq from turno.body where id = 'm3')";
    let (client, connection) = tokio_postgres::connect(&world.url, tokio_postgres::NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    client.batch_execute(second).await.unwrap();
    drop(client);
    drop(connection.await);
    let why = eva.get("/v1/queues/bot/keys/ana/why").await.expect(200);
    assert_eq!(why["reason"], "damaged");
    assert!(why["detail"].as_str().unwrap().contains("turno check --repair"), "{why}");
    let shell = Shell::at(&world);
    let found = shell.run(&["check"]).await;
    assert!(found.refused(1).contains("turno check --repair"), "{found:?}");
    assert!(found.out.contains("Q1  queue bot, key ana  2 items are ready at once"), "{found:?}");
    let mended = shell.run(&["check", "--repair"]).await;
    assert_eq!(mended.done(), "repaired  queue bot, key ana  1 item corrected");
    assert_eq!(shell.run(&["check", "--repair", "--json"]).await.json(), json!({ "findings": [], "mended": [] }));
    let entries = eva.get("/v1/audit?action=queue_repair").await.expect(200);
    assert_eq!((&entries["items"][0]["resource"], entries["items"].as_array().unwrap().len()), (&json!("bot/ana"), 1));
    let got = eva.post("/v1/queues/bot/claim", json!({ "instance": "w", "max": 9 })).await.expect(200);
    let ids: Vec<_> = got["deliveries"][0]["items"].as_array().unwrap().iter().map(|item| item["id"].clone()).collect();
    assert_eq!(
        (got["deliveries"].as_array().unwrap().len(), ids),
        (1, vec![json!("m1"), json!("m2"), json!("m3"), json!("m4")])
    );
}
