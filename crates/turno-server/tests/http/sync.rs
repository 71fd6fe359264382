//! Sync sources: the configuration, the installed triggers, and sending a key again.

use serde_json::json;
use std::time::Duration;
use turno::access::{NewToken, Permission};
use turno::core::queue::Act;
use turno::core::sync::{Difference, Source};
use turno::queue::{Claim, Settlement};

use crate::cases;
use crate::queue::audited;
use crate::receiver::PATIENCE;
use crate::world::{Client, Running, World};

cases![
    a_source_shows_its_triggers_and_its_waiting_keys,
    sending_a_key_again_needs_the_permission,
    a_key_acked_by_a_worker_is_stored_as_delivered,
    a_key_completed_in_a_workers_transaction_is_stored_as_delivered,
    a_key_with_nothing_to_send_is_skipped_and_the_item_shows_it,
    an_unreadable_row_waits_with_its_error_when_a_worker_claims_it,
    keys_enqueued_over_the_api_are_normalised_as_in_the_table,
    a_missing_table_is_shown_and_is_no_failure,
    the_demo_on_postgresql_delivers_changes_of_a_table,
    source_changes_are_audited_and_a_source_item_cannot_be_edited,
];

/// Starts a server with the preset, beside the world's own.
fn with_preset(world: &World) -> Running {
    let port = world.server.base.rsplit(':').next().unwrap();
    let file = std::env::temp_dir().join(format!("turno-sources-{port}.toml"));
    std::fs::write(&file, "[[sync.source]]\npreset = \"siper\"\n").unwrap();
    Running::start(&world.url, &["--config", file.to_str().unwrap()])
}

/// Returns a connection to the users' table, or `None` on SQLite.
pub(crate) async fn users(world: &World) -> Option<tokio_postgres::Client> {
    let sync = world.turno.sync(Source::siper());
    if !sync.has_triggers() {
        // Triggers need PostgreSQL. On SQLite the plan is refused.
        assert!(world.url.starts_with("sqlite:") && sync.plan().await.is_err(), "a plan is refused");
        return None;
    }
    let (client, connection) = tokio_postgres::connect(&world.url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(include_str!("../../../../docs/guides/sync-siper.sql")).await.unwrap();
    Some(client)
}

async fn source(client: &Client) -> serde_json::Value {
    let listed = client.get("/v1/sync/sources").await.expect(200);
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    let one = client.get("/v1/sync/sources/usuarios").await.expect(200);
    assert_eq!((&one["installed"], &one["parts"]), (&listed["items"][0]["installed"], &listed["items"][0]["parts"]));
    assert_eq!(listed["items"][0]["left"], json!(null), "a list does not count the keys");
    one
}

async fn a_source_shows_its_triggers_and_its_waiting_keys(world: World) {
    let database = users(&world).await;
    let server = with_preset(&world);
    let vera = world.client("vera").await.at(&server);
    let seen = source(&vera).await;
    assert_eq!(
        (&seen["table"], &seen["key"], &seen["on_leave"]),
        (&json!("siper.usuarios"), &json!("idper"), &json!("ignore"))
    );
    assert_eq!(
        (&seen["action_update"], &seen["trigger"]),
        (&json!("ACTUALIZAR"), &json!("tr_sincro_usuarios_modulo_global"))
    );
    let Some(database) = database else {
        assert_eq!((&seen["installed"], &seen["parts"]), (&json!("no_triggers"), &json!([])));
        assert!(seen["problem"].as_str().unwrap().contains("triggers need PostgreSQL"), "r10: {seen}");
        return;
    };
    assert_eq!(seen["installed"], "absent");
    let plan = world.turno.sync(Source::siper()).plan().await.unwrap();
    database.batch_execute(&plan).await.unwrap();
    database.execute(include_str!("../cli/sync_user.sql"), &[&42]).await.unwrap();
    let seen = source(&vera).await;
    assert_eq!((&seen["installed"], &seen["waiting"]), (&json!("installed"), &json!(1)));
    assert_eq!((&seen["left"], &seen["gone"]), (&json!(0), &json!(0)));
    let problem = seen["problem"].as_str().unwrap();
    assert!(problem.contains("the variable MODULE_SECRET") && problem.contains("is not set"), "r10: {problem}");
    assert_eq!(seen["parts"][0], json!({ "what": "function", "name": "turno.sync_usuarios", "state": "good" }));
    assert_eq!(seen["queue"]["counts"]["pending"], 1);
    vera.get("/v1/sync/sources/otra").await.problem(404, "not_found");
    // A claim of a worker gets the same content that a destination would get.
    let ana = world.client("ana").await.at(&server);
    let got = ana.post("/v1/queues/usuarios_modulo/claim", json!({ "instance": "w1" })).await.expect(200);
    let item = &got["deliveries"][0]["items"][0];
    assert_eq!((&item["action"], &item["payload"]["idper"]), (&json!("ACTUALIZAR"), &json!(42)));
}

async fn sending_a_key_again_needs_the_permission(world: World) {
    let database = users(&world).await;
    let server = with_preset(&world);
    let path = "/v1/sync/sources/usuarios/resync";
    world.client("ana").await.at(&server).post(path, json!({ "key": "42" })).await.problem(403, "forbidden");
    let only = NewToken {
        scope: Some(vec![Permission::SyncManage].into_iter().collect()),
        ..NewToken::for_user("eva").unwrap()
    };
    let eva = world.token(only).await.at(&server);
    eva.post(path, json!({ "clave": "42" })).await.problem(400, "bad_field");
    let answer = eva.post(path, json!({ "key": "42" })).await;
    if database.is_none() {
        assert!(answer.problem(400, "invalid")["detail"].as_str().is_some());
        return;
    }
    answer.expect(202);
    let queue = world.turno.queue("usuarios_modulo").await.unwrap();
    let got = queue.claim(Claim::by("worker").wait(Duration::from_secs(5))).await.unwrap();
    assert_eq!(got[0].key.as_ref().unwrap().as_str(), "42");
}

async fn an_unreadable_row_waits_with_its_error_when_a_worker_claims_it(world: World) {
    let Some(database) = users(&world).await else { return };
    let server = with_preset(&world);
    database.batch_execute(&world.turno.sync(Source::siper()).plan().await.unwrap()).await.unwrap();
    database.execute(include_str!("../cli/sync_user.sql"), &[&42]).await.unwrap();
    database.batch_execute("alter table siper.usuarios rename apellido to otro").await.unwrap();
    let ana = world.client("ana").await.at(&server);
    let (claim, why) = ("/v1/queues/usuarios_modulo/claim", "/v1/queues/usuarios_modulo/keys/42/why");
    let wanted = json!({ "instance": "w", "wait_ms": 5000 });
    for _ in 0..2 {
        let refused = ana.post(claim, wanted.clone()).await.problem(409, "not_available");
        assert!(refused["detail"].as_str().unwrap().contains("apellido"), "{refused}");
    }
    let seen = ana.get(why).await.expect(200);
    assert_eq!((&seen["reason"], &seen["attempt"]), (&json!("retry_later"), &json!(0)), "{seen}");
    let detail = seen["detail"].as_str().unwrap();
    assert!(detail.starts_with("No se pudo ni intentar") && detail.contains("apellido"), "{detail}");
    let item =
        ana.get(&format!("/v1/queues/usuarios_modulo/items/{}", seen["item"].as_str().unwrap())).await.expect(200);
    assert_eq!(item["errors"].as_array().unwrap().len(), 1, "an equal error is kept once: {item}");
    database.batch_execute("alter table siper.usuarios rename otro to apellido").await.unwrap();
    let got = ana.post(claim, wanted).await.expect(200);
    assert_eq!((&got["deliveries"][0]["key"], &got["deliveries"][0]["attempt"]), (&json!("42"), &json!(1)));
    // The item was tried, failed, and is unreadable again: the reason is the row and not the attempt.
    let failed = json!({ "delivery": got["deliveries"][0]["delivery"], "fence": got["deliveries"][0]["fence"],
        "error": "HTTP 500", "retry_in_ms": 1 });
    ana.post("/v1/queues/usuarios_modulo/fail", json!({ "deliveries": [failed] })).await.expect(200);
    database.batch_execute("alter table siper.usuarios rename apellido to otro").await.unwrap();
    ana.post(claim, json!({ "instance": "w", "wait_ms": 5000 })).await.problem(409, "not_available");
    let seen = ana.get(why).await.expect(200);
    let detail = seen["detail"].as_str().unwrap();
    assert!(detail.starts_with("No se pudo ni intentar") && detail.contains("apellido"), "{detail}");
    assert_eq!(seen["attempt"], 1, "the counted attempt stays counted");
}

async fn a_key_acked_by_a_worker_is_stored_as_delivered(world: World) {
    let Some(database) = users(&world).await else { return };
    let server = with_preset(&world);
    let sync = world.turno.sync(Source::siper());
    database.batch_execute(&sync.plan().await.unwrap()).await.unwrap();
    let ana = world.client("ana").await.at(&server);
    // In one transaction, so that both marks are taken in together and one claim gets both.
    database.batch_execute("begin").await.unwrap();
    for idper in [42, 43] {
        database.execute(include_str!("../cli/sync_user.sql"), &[&idper]).await.unwrap();
    }
    database.batch_execute("commit").await.unwrap();
    let path = |what: &str| format!("/v1/queues/usuarios_modulo/{what}");
    let got = ana.post(&path("claim"), json!({ "instance": "w", "max": 2, "wait_ms": 5000 })).await.expect(200);
    let reference: Vec<_> = got["deliveries"].as_array().unwrap().iter().collect();
    assert_eq!(reference.len(), 2);
    // A change that bypasses the trigger after the delivery was not delivered.
    let past = "set session_replication_role = replica; update siper.usuarios set nombre = 'x' where idper = 43";
    database.batch_execute(past).await.unwrap();
    let named = |one: &serde_json::Value| json!({ "delivery": one["delivery"], "fence": one["fence"] });
    let acked = json!({ "deliveries": reference.iter().map(|one| named(one)).collect::<Vec<_>>() });
    let answers = ana.post(&path("ack"), acked).await.expect(200);
    assert_eq!(
        (&answers["results"][0]["outcome"], &answers["results"][1]["outcome"]),
        (&json!("acked"), &json!("acked"))
    );
    let found = sync.check(false, None, |_| {}).await.unwrap();
    assert_eq!(found.differences, [("43".to_owned(), Difference::Differs)]);
    let shown = "select string_agg(distinct concat_ws(' ', accion, estado), ',') from siper.cola_sincronizacion_usuarios_modulo";
    assert_eq!(database.query_one(shown, &[]).await.unwrap().get::<_, &str>(0), "ACTUALIZAR PROCESADO");
}

/// Starts a server with a source without a destination. Returns a connection, the server and its consumer.
async fn consumed(world: &World) -> Option<(tokio_postgres::Client, Running, Client)> {
    let database = users(world).await?;
    let server = with_preset(world);
    world.turno.sync(Source::siper()).install().await.unwrap();
    let ana = world.client("ana").await.at(&server);
    Some((database, server, ana))
}

async fn a_key_completed_in_a_workers_transaction_is_stored_as_delivered(world: World) {
    let Some((database, _server, ana)) = consumed(&world).await else { return };
    database.execute(include_str!("../cli/sync_user.sql"), &[&42]).await.unwrap();
    let claim = json!({ "instance": "w", "wait_ms": 5000 });
    let got = ana.post("/v1/queues/usuarios_modulo/claim", claim).await.expect(200)["deliveries"][0].clone();
    let sync = world.turno.sync(Source::siper());
    let check = async || sync.check(false, None, |_| {}).await.unwrap();
    assert_eq!(check().await.on_its_way, 1, "the key is not delivered yet");
    let (delivery, fence) = (got["delivery"].as_str().unwrap(), got["fence"].as_i64().unwrap());
    database.execute("select turno.complete($1, $2)", &[&delivery, &fence]).await.unwrap();
    world.turno.queue("usuarios_modulo").await.unwrap().counts().await.unwrap();
    let known = async { while check().await.differing + check().await.on_its_way > 0 {} };
    tokio::time::timeout(PATIENCE, known).await.expect("the completed delivery is stored");
    let kept = database.query("select key, action, digest is not null from turno.sync_delivered", &[]).await.unwrap();
    let kept: Vec<(&str, &str, bool)> = kept.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    assert_eq!(kept, [("42", "ACTUALIZAR", true)]);
}

async fn a_key_with_nothing_to_send_is_skipped_and_the_item_shows_it(world: World) {
    let Some((database, _server, ana)) = consumed(&world).await else { return };
    database.execute(include_str!("../cli/sync_user.sql"), &[&42]).await.unwrap();
    let items = ana.get("/v1/queues/usuarios_modulo/items").await.expect(200);
    let path = format!("/v1/queues/usuarios_modulo/items/{}", items["items"][0]["id"].as_str().unwrap());
    assert_eq!(items["items"][0]["action"], json!(null), "the action is decided at the delivery");
    database.batch_execute("update siper.usuarios set algoritmo_pass = 'MD5' where idper = 42").await.unwrap();
    let got = ana.post("/v1/queues/usuarios_modulo/claim", json!({ "instance": "w" })).await.expect(200);
    assert_eq!(got["deliveries"], json!([]));
    let item = ana.get(&path).await.expect(200);
    assert_eq!((&item["state"], &item["action"]), (&json!("processed"), &json!("nothing_to_do")));
    let what: Vec<_> = item["timeline"].as_array().unwrap().iter().map(|happened| happened["what"].clone()).collect();
    assert_eq!(what, ["enqueued", "skipped"]);
}

async fn keys_enqueued_over_the_api_are_normalised_as_in_the_table(world: World) {
    let database = users(&world).await;
    let server = with_preset(&world);
    let ana = world.client("ana").await.at(&server);
    let add = |key: &str| json!({ "id": format!("c-{key}"), "key": key, "payload": null });
    let path = "/v1/queues/usuarios_modulo/items";
    ana.post(path, add("0100")).await.expect(201);
    let key = ana.get("/v1/queues/usuarios_modulo/items/c-0100").await.expect(200)["key"].clone();
    if database.is_none() {
        assert_eq!(key, "0100", "without a table the key stays as sent");
        return;
    }
    assert_eq!(key, "100");
    let refused = ana.post(path, json!([add("7"), add("x")])).await.problem(400, "bad_field");
    assert!(refused["detail"].as_str().unwrap().contains("clave de la columna idper"), "{refused}");
    ana.get("/v1/queues/usuarios_modulo/items/c-7").await.problem(404, "not_found");
    let eva = world.client("eva").await.at(&server);
    let resync = "/v1/sync/sources/usuarios/resync";
    for wrong in [json!({ "key": "x" }), json!({ "key": "" }), json!({}), json!({ "key": "1", "all": true })] {
        assert_eq!(eva.post(resync, wrong.clone()).await.problem(400, "bad_field")["field"], "key", "{wrong}");
    }
    eva.post(resync, json!({ "key": " 100" })).await.expect(202);
    let counts = eva.get("/v1/queues/usuarios_modulo").await.expect(200)["counts"].clone();
    assert_eq!(counts["pending"], 1, "both spellings are one key: {counts}");
}

async fn a_missing_table_is_shown_and_is_no_failure(world: World) {
    let server = with_preset(&world);
    let seen = source(&world.client("vera").await.at(&server)).await;
    if world.url.starts_with("sqlite:") {
        assert_eq!(seen["installed"], "no_triggers");
        assert!(seen["problem"].as_str().unwrap().contains("MODULE_SECRET"), "r10: {seen}");
    } else {
        assert_eq!(seen["installed"], "unknown");
        assert!(seen["problem"].as_str().unwrap().contains("there is no table siper.usuarios"), "{seen}");
    }
}

/// Runs the demo on its own database with real triggers and real calls.
async fn the_demo_on_postgresql_delivers_changes_of_a_table(world: World) {
    if world.url.starts_with("sqlite:") {
        return assert!(users(&world).await.is_none());
    }
    let refused = Running::demo(&world.url).err().expect("the demo refuses a database that is in use");
    assert!(refused.contains("already has a schema turno") && refused.contains("createdb"), "{refused}");
    let fresh = turno_testkit::postgres::Cluster::for_tests().fresh_database().await;
    let _demo = Running::demo(&fresh).unwrap_or_else(|stderr| panic!("{stderr}"));
    let (database, connection) = tokio_postgres::connect(&fresh, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let delivered = "select count(*) from siper.cola_sincronizacion_usuarios_modulo where estado = 'PROCESADO'";
    let arrives = async { while database.query_one(delivered, &[]).await.unwrap().get::<_, i64>(0) < 2 {} };
    tokio::time::timeout(PATIENCE, arrives).await.expect("changes of the table are delivered");
}

async fn source_changes_are_audited_and_a_source_item_cannot_be_edited(world: World) {
    let Some(database) = users(&world).await else { return };
    let server = with_preset(&world);
    let sync = world.turno.sync(Source::siper());
    sync.install().await.unwrap();
    assert_eq!(audited(&world, "sync_install").await, [("system".to_owned(), "sync/usuarios".to_owned())]);
    for idper in [42, 43] {
        database.execute(include_str!("../cli/sync_user.sql"), &[&idper]).await.unwrap();
    }
    let eva = world.client("eva").await.at(&server);
    let resync = "/v1/sync/sources/usuarios/resync";
    eva.post(resync, json!({ "key": "42" })).await.expect(202);
    assert_eq!(audited(&world, "sync_resync").await, [("eva".to_owned(), "sync/usuarios".to_owned())]);
    for neither in [json!({}), json!({ "key": "42", "all": true })] {
        eva.post(resync, neither).await.problem(400, "bad_field");
    }
    eva.post(resync, json!({ "all": true })).await.expect(202);
    let all = async { while audited(&world, "sync_resync").await.len() < 2 {} };
    tokio::time::timeout(PATIENCE, all).await.expect("the end of the resync is announced");
    // The delivery contains the row, so an edited payload would be ignored.
    let queue = world.turno.queue("usuarios_modulo").await.unwrap();
    let got = queue.claim(Claim::by("worker").wait(Duration::from_secs(5))).await.unwrap().remove(0);
    let act = Act::Fail { error: "no".to_owned(), item: None, retry_in: None, give_up: true };
    queue.settle(vec![Settlement { reference: got.reference, act }]).await.unwrap();
    let path = format!("/v1/queues/usuarios_modulo/items/{}/retry", got.items[0].id);
    let refused = eva.post(&path, json!({ "payload": { "nombre": "x" } })).await.problem(400, "bad_field");
    assert!(refused["detail"].as_str().unwrap().contains("la fila de siper.usuarios"), "{refused}");
    assert_eq!(eva.post(&path, json!({})).await.expect(200)["state"], "pending");
    sync.remove().await.unwrap();
    sync.remove().await.unwrap();
    assert_eq!(audited(&world, "sync_remove").await.len(), 1, "the second removal finds nothing");
}
