//! Sources: what the configuration says, what the database has, and sending a key again.

use serde_json::json;
use turno::core::time::Span;
use turno::{NewToken, Permission};

use crate::cases;
use crate::world::{Client, Running, World};

cases![
    a_source_tells_whether_its_triggers_are_there_and_what_waits,
    a_key_is_sent_again_by_those_who_may,
    a_table_that_is_not_there_is_shown_and_no_failure,
];

/// A server with the preset, beside the world's own.
fn with_preset(world: &World) -> Running {
    let port = world.server.base.rsplit(':').next().unwrap();
    let file = std::env::temp_dir().join(format!("turno-sources-{port}.toml"));
    std::fs::write(&file, "[[sync.source]]\npreset = \"siper\"\n").unwrap();
    Running::start(&world.url, &["--config", file.to_str().unwrap()])
}

/// Somebody who writes into the users' table; nobody on SQLite.
async fn users(world: &World) -> Option<tokio_postgres::Client> {
    if world.url.starts_with("sqlite:") {
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
    assert_eq!(listed["items"][0]["left"], json!(null), "it is not counted in lists");
    one
}

async fn a_source_tells_whether_its_triggers_are_there_and_what_waits(world: World) {
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
        return;
    };
    assert_eq!(seen["installed"], "absent");
    let plan = world.turno.sync(siper()).plan().await.unwrap();
    database.batch_execute(&plan).await.unwrap();
    database.execute(include_str!("../cli/sync_user.sql"), &[&42]).await.unwrap();
    let seen = source(&vera).await;
    assert_eq!((&seen["installed"], &seen["waiting"], &seen["left"]), (&json!("installed"), &json!(1), &json!(0)));
    assert_eq!(seen["parts"][0], json!({ "what": "function", "name": "turno.sync_usuarios", "state": "good" }));
    assert_eq!(seen["queue"]["counts"]["pending"], 1);
    vera.get("/v1/sync/sources/otra").await.problem(404, "not_found");
    // Whoever claims a change by hand gets what a destination would get.
    let ana = world.client("ana").await.at(&server);
    let got = ana.post("/v1/queues/usuarios_modulo/claim", json!({ "instance": "w1" })).await.expect(200);
    let item = &got["deliveries"][0]["items"][0];
    assert_eq!((&item["action"], &item["payload"]["idper"]), (&json!("ACTUALIZAR"), &json!(42)));
}

/// The preset, as the library knows it.
pub(crate) fn siper() -> turno::core::sync::Source {
    use turno::core::sync::{OnLeave, Relation, Source};
    let texts = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
    Source {
        name: "usuarios".to_owned(),
        queue: "usuarios_modulo".try_into().unwrap(),
        table: Relation::of("siper.usuarios"),
        key: "idper".to_owned(),
        watch: texts(&["nombre", "apellido", "activo", "hashpass", "idper", "principal"]),
        current_when: Some("principal".to_owned()),
        enqueue_when: Some("idper is not null and algoritmo_pass = 'PG-SHA256'".to_owned()),
        on_leave: OnLeave::Ignore,
        one_current_per_key: true,
        trigger: "tr_sincro_usuarios_modulo_global".to_owned(),
        view: Some(Relation::of("siper.cola_sincronizacion_usuarios_modulo")),
        update: "ACTUALIZAR".to_owned(),
        deactivate: "DESACTIVAR".to_owned(),
        payload: texts(&["idper", "nombre", "apellido", "activo", "hashpass"]),
    }
}

async fn a_key_is_sent_again_by_those_who_may(world: World) {
    let database = users(&world).await;
    let server = with_preset(&world);
    let path = "/v1/sync/sources/usuarios/resync";
    world.client("ana").await.at(&server).post(path, json!({ "key": "42" })).await.problem(403, "forbidden");
    let only =
        NewToken { scope: Some(vec![Permission::SyncManage].into_iter().collect()), ..NewToken::of("eva").unwrap() };
    let eva = world.token(only).await.at(&server);
    eva.post(path, json!({ "clave": "42" })).await.problem(400, "bad_field");
    let answer = eva.post(path, json!({ "key": "42" })).await;
    if database.is_none() {
        assert!(answer.problem(400, "invalid")["detail"].as_str().is_some());
        return;
    }
    answer.expect(202);
    let queue = world.turno.queue("usuarios_modulo").await.unwrap();
    let got = queue.claim("worker", 1, Span::from_secs(5)).await.unwrap();
    assert_eq!(got[0].key.as_ref().unwrap().as_str(), "42");
}

async fn a_table_that_is_not_there_is_shown_and_no_failure(world: World) {
    let server = with_preset(&world);
    let seen = source(&world.client("vera").await.at(&server)).await;
    if world.url.starts_with("sqlite:") {
        assert_eq!((&seen["installed"], &seen["problem"]), (&json!("no_triggers"), &json!(null)));
    } else {
        assert_eq!(seen["installed"], "unknown");
        assert!(seen["problem"].as_str().unwrap().contains("there is no table siper.usuarios"), "{seen}");
    }
}
