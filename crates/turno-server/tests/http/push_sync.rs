//! Deliveries of sync sources: a changed key with its row at the moment of the delivery.

use std::collections::BTreeMap;

use crate::cases;
use crate::push::item_in;
use crate::queue::{add, audited};
use crate::receiver::{PATIENCE, Receiver};
use crate::world::{Client, Running, World};
use serde_json::{Value, json};
use tokio_postgres::NoTls;
use turno::core::sync::Source;

cases![
    an_enqueued_change_is_pushed_with_its_key_action_revision_fence_and_data,
    a_worker_cannot_claim_or_settle_a_queue_that_turno_pushes,
    d9_an_outage_spends_no_attempts_and_its_end_revives_the_exhausted_items,
    a_change_of_the_table_is_delivered_with_its_current_row_and_a_deletion_without_one,
    a_failing_receiver_ends_with_the_state_of_the_table,
    an_unreadable_row_waits_with_its_error_and_is_delivered_after_the_repair,
];

/// Starts a server with the source, whose changes are pushed to the receiver.
async fn synced(world: &World, receiver: &Receiver, more: &str) -> (Running, Client) {
    let file = std::env::temp_dir().join(format!("turno-sync-{}-{}.toml", std::process::id(), receiver.address.port()));
    let text = format!(
        "[[sync.source]]\nname = \"usuarios\"\nqueue = \"usuarios_modulo\"\ntable = \"siper.usuarios\"\nkey = \"idper\"\n\
         watch = [\"nombre\", \"principal\"]\ncurrent_when = \"principal\"\npayload = [\"idper\", \"nombre\"]\n\
         actions = {{ update = \"ACTUALIZAR\", deactivate = \"DESACTIVAR\" }}\nbackoff_ms = 1\n{more}\n\
         deliver = {{ url = \"{}\", secret_env = \"MODULE_SECRET\" }}\n",
        receiver.url("/usuarios/{key}")
    );
    std::fs::write(&file, text).unwrap();
    let arguments = ["--config", file.to_str().unwrap()];
    let server = Running::with(&world.url, &arguments, &[("MODULE_SECRET", "hush")]);
    std::fs::remove_file(&file).unwrap();
    let eva = world.client("eva").await.at(&server);
    (server, eva)
}

fn change(id: &str, key: &str) -> Value {
    json!({ "id": id, "key": key, "payload": { "nombre": key } })
}

async fn an_enqueued_change_is_pushed_with_its_key_action_revision_fence_and_data(world: World) {
    let mut receiver = Receiver::start().await;
    let (_server, eva) = synced(&world, &receiver, "").await;
    add(&eva, "usuarios_modulo", change("c-1", "7/ñ")).await;
    let call = receiver.next().await;
    assert_eq!((call.method.as_str(), call.uri.path()), ("PUT", "/usuarios/7%2F%C3%B1"));
    assert!(call.headers.contains_key("webhook-signature"));
    let body = call.json();
    let fields: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["action", "data", "fence", "key", "revision"]);
    assert_eq!((&body["key"], &body["action"]), (&json!("7/ñ"), &json!("ACTUALIZAR")));
    assert_eq!((&body["data"], body["fence"].as_i64()), (&json!({ "nombre": "7/ñ" }), Some(call.fence())));
    let (id, revision) = (call.header("webhook-id").to_owned(), body["revision"].as_i64().unwrap());
    // The key changes during the delivery: no second call overlaps, and the newest state follows.
    let gone = json!({ "id": "c-2", "key": "7/ñ", "action": "DESACTIVAR", "payload": null });
    add(&eva, "usuarios_modulo", gone).await;
    item_in(&eva, "usuarios_modulo", "c-1", "pending").await;
    assert!(!receiver.has_more(), "deliveries of a key do not overlap");
    call.answer(200);
    let next = receiver.next().await;
    assert_eq!((&next.json()["action"], &next.json()["data"]), (&json!("DESACTIVAR"), &Value::Null));
    assert!(next.json()["revision"].as_i64().unwrap() > revision && next.header("webhook-id") != id);
    next.answer(200);
    item_in(&eva, "usuarios_modulo", "c-1", "processed").await;
    let listed = eva.get("/v1/sync/sources").await.expect(200);
    assert_eq!(listed["items"][0]["queue"]["destination"]["down"], false, "{listed}");
}

async fn a_worker_cannot_claim_or_settle_a_queue_that_turno_pushes(world: World) {
    let mut receiver = Receiver::start().await;
    let (server, eva) = synced(&world, &receiver, "").await;
    add(&eva, "usuarios_modulo", change("c-1", "7")).await;
    let call = receiver.next().await;
    let ana = world.client("ana").await.at(&server);
    let path = |what: &str| format!("/v1/queues/usuarios_modulo/{what}");
    let refused = ana.post(&path("claim"), json!({ "instance": "w" })).await.problem(409, "delivered_by_turno");
    let detail = refused["detail"].as_str().unwrap();
    assert!(detail.contains("usuarios_modulo") && detail.contains("quite deliver de la fuente"), "{detail}");
    ana.post(&path("items/c-1/claim"), json!({ "instance": "w" })).await.problem(409, "delivered_by_turno");
    // The fence, which every reader can see, is not enough to settle.
    let reference = json!({ "deliveries": [{ "delivery": "a1-1-1", "fence": call.fence() }] });
    ana.post(&path("ack"), reference).await.problem(409, "delivered_by_turno");
    assert_eq!(eva.get(&path("items/c-1")).await.expect(200)["state"], "in_process");
    call.answer(200);
    item_in(&eva, "usuarios_modulo", "c-1", "processed").await;
}

async fn d9_an_outage_spends_no_attempts_and_its_end_revives_the_exhausted_items(world: World) {
    let mut receiver = Receiver::start().await;
    let (_server, eva) = synced(&world, &receiver, "max_attempts = 1\nprobe_ms = 1000").await;
    let changes = ["1", "2", "3"].map(|key| change(&format!("c-{key}"), key));
    add(&eva, "usuarios_modulo", json!(changes)).await;
    for _ in 0..3 {
        receiver.next().await.answer(503);
    }
    for key in ["1", "2", "3"] {
        item_in(&eva, "usuarios_modulo", &format!("c-{key}"), "exhausted").await;
    }
    // A change that arrives during the outage waits, whatever the probes do.
    add(&eva, "usuarios_modulo", change("c-4", "4")).await;
    for _ in 0..8 {
        receiver.next().await.answer(503);
    }
    let waits = eva.get("/v1/queues/usuarios_modulo/items/c-4").await.expect(200);
    assert_eq!(waits["errors"], json!([]), "no attempt is counted");
    let delivered = async {
        let mut keys = std::collections::BTreeSet::new();
        while keys.len() < 4 {
            let call = receiver.next().await;
            keys.insert(call.json()["key"].as_str().unwrap().to_owned());
            call.answer(200);
        }
    };
    tokio::time::timeout(PATIENCE, delivered).await.expect("all keys are delivered");
    for key in ["1", "2", "3", "4"] {
        item_in(&eva, "usuarios_modulo", &format!("c-{key}"), "processed").await;
    }
    let revived = audited(&world, "sync_revived").await;
    assert_eq!(revived.len(), 3, "{revived:?}");
    assert!(revived.iter().all(|(by, _)| by == "system"), "{revived:?}");
}

fn source() -> Source {
    let texts = |all: [&str; 2]| all.map(str::to_owned).to_vec();
    Source {
        watch: texts(["nombre", "principal"]),
        payload: texts(["idper", "nombre"]),
        enqueue_when: None,
        one_current_per_key: false,
        trigger: "turno_sync_usuarios".to_owned(),
        view: None,
        ..Source::siper()
    }
}

/// Creates the table with its trigger on PostgreSQL. On SQLite the API feeds the queue.
async fn table(world: &World) -> Option<tokio_postgres::Client> {
    let sync = world.turno.sync(source());
    if !sync.has_triggers() {
        assert!(sync.plan().await.is_err(), "a plan is refused");
        return None;
    }
    let (sql, connection) = tokio_postgres::connect(&world.url, NoTls).await.unwrap();
    tokio::spawn(connection);
    let table = "create schema siper;
        create table siper.usuarios (id int primary key, idper int, nombre text, principal boolean not null default true)";
    sql.batch_execute(table).await.unwrap();
    sync.install().await.unwrap();
    Some(sql)
}

async fn a_change_of_the_table_is_delivered_with_its_current_row_and_a_deletion_without_one(world: World) {
    let mut receiver = Receiver::start().await;
    let (_server, eva) = synced(&world, &receiver, "").await;
    let Some(sql) = table(&world).await else { return };
    sql.batch_execute("insert into siper.usuarios values (1, 7, 'Ana')").await.unwrap();
    let call = receiver.next().await;
    let body = call.json();
    assert_eq!((&body["key"], &body["action"]), (&json!("7"), &json!("ACTUALIZAR")));
    assert_eq!(body["data"], json!({ "idper": 7, "nombre": "Ana" }));
    // The delivery failed. The next attempt reads the row again.
    sql.batch_execute("update siper.usuarios set nombre = 'Ana María' where id = 1").await.unwrap();
    call.answer(500);
    let newest = async {
        loop {
            let call = receiver.next().await;
            let body = call.json();
            call.answer(200);
            if body["data"]["nombre"] == "Ana María" {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, newest).await.expect("the newest state arrives");
    sql.batch_execute("delete from siper.usuarios").await.unwrap();
    let gone = async {
        loop {
            let call = receiver.next().await;
            let body = call.json();
            call.answer(200);
            if body["action"] == "DESACTIVAR" {
                return assert_eq!(body["data"], Value::Null);
            }
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.expect("the deletion arrives");
    let done = async { while eva.get("/v1/queues/usuarios_modulo").await.expect(200)["counts"]["in_process"] != 0 {} };
    tokio::time::timeout(PATIENCE, done).await.unwrap();
    // Deliveries are stored, so a comparison finds no difference.
    let kept = sql.query("select action, digest is null from turno.sync_delivered", &[]).await.unwrap();
    assert_eq!((kept.len(), kept[0].get::<_, &str>(0), kept[0].get::<_, bool>(1)), (1, "DESACTIVAR", true));
}

/// Pseudo-random numbers that are the same in every run.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

async fn a_failing_receiver_ends_with_the_state_of_the_table(world: World) {
    let mut receiver = Receiver::start().await;
    let (_server, eva) = synced(&world, &receiver, "probe_ms = 100\nmax_attempts = 3").await;
    let Some(sql) = table(&world).await else { return };
    let mut dice = Dice(7);
    let mut known: BTreeMap<String, Value> = BTreeMap::new();
    let mut fences: BTreeMap<String, i64> = BTreeMap::new();
    for step in 0..120 {
        let (id, key) = (dice.roll(6), dice.roll(4));
        let text = match dice.roll(5) {
            0 => format!("delete from siper.usuarios where id = {id}"),
            1 => format!("update siper.usuarios set idper = {key} where id = {id}"),
            2 => format!("update siper.usuarios set principal = not principal where id = {id}"),
            _ => format!(
                "insert into siper.usuarios values ({id}, {key}, 'n{step}')
                 on conflict (id) do update set nombre = excluded.nombre"
            ),
        };
        sql.batch_execute(&text).await.unwrap();
        while receiver.has_more() {
            take(receiver.next().await, dice.roll(3) > 0, &mut known, &mut fences);
        }
    }
    // From here on the receiver accepts everything. The destination may be down, and recovers by a probe.
    let settled = async {
        loop {
            while receiver.has_more() {
                take(receiver.next().await, true, &mut known, &mut fences);
            }
            let counts = eva.get("/v1/queues/usuarios_modulo").await.expect(200)["counts"].clone();
            let left = ["pending", "error", "in_process", "exhausted"].map(|state| counts[state].as_i64().unwrap());
            if left == [0; 4] && !receiver.has_more() {
                return;
            }
            if left[3] > 0 && left[..3] == [0; 3] {
                // Keys that failed alone stay exhausted until they are retried.
                eva.post("/v1/queues/usuarios_modulo/retry-exhausted", json!({})).await.expect(200);
            }
        }
    };
    tokio::time::timeout(PATIENCE, settled).await.expect("every key is delivered in the end");
    let rows = "select idper::text, min(nombre) from siper.usuarios
        where principal and idper is not null group by idper having count(*) = 1";
    for row in sql.query(rows, &[]).await.unwrap() {
        let (key, name): (String, String) = (row.get(0), row.get(1));
        assert_eq!(known.get(&key), Some(&json!(name)), "{key}");
    }
    let gone = "select k::text from generate_series(0, 3) k
        where not exists (select from siper.usuarios where idper = k and principal)";
    for row in sql.query(gone, &[]).await.unwrap() {
        let key: String = row.get(0);
        assert!(known.get(&key).is_none_or(Value::is_null), "{key} is gone: {known:?}");
    }
}

/// A receiver as in the guide: a call with a smaller fence is late.
fn take(
    call: crate::receiver::Received,
    takes: bool,
    known: &mut BTreeMap<String, Value>,
    fences: &mut BTreeMap<String, i64>,
) {
    let body = call.json();
    let key = body["key"].as_str().unwrap().to_owned();
    let last = fences.insert(key.clone(), call.fence()).unwrap_or(0);
    assert!(call.fence() > last, "deliveries of {key} never go backwards");
    if takes {
        known.insert(key, body["data"]["nombre"].clone());
        call.answer(200);
    } else {
        call.answer(500);
    }
}

async fn an_unreadable_row_waits_with_its_error_and_is_delivered_after_the_repair(world: World) {
    let mut receiver = Receiver::start().await;
    let (_server, eva) = synced(&world, &receiver, "max_attempts = 1").await;
    let Some(sql) = table(&world).await else { return };
    sql.batch_execute("alter table siper.usuarios rename nombre to otro").await.unwrap();
    sql.batch_execute("insert into siper.usuarios values (1, 7, 'Ana')").await.unwrap();
    let failed = async {
        loop {
            let listed = eva.get("/v1/queues/usuarios_modulo/items?state=error").await.expect(200);
            if let Some(item) = listed["items"].as_array().and_then(|items| items.first()) {
                return item["id"].as_str().unwrap().to_owned();
            }
        }
    };
    let id = tokio::time::timeout(PATIENCE, failed).await.expect("the item shows as failed");
    let item = eva.get(&format!("/v1/queues/usuarios_modulo/items/{id}")).await.expect(200);
    let errors = item["errors"].as_array().unwrap();
    let detail = errors[0]["error"].as_str().unwrap();
    assert!(detail.starts_with("failed to read the row to be delivered: ") && detail.contains("nombre"), "{detail}");
    assert_eq!((errors.len(), &errors[0]["attempt"]), (1, &json!(0)), "one error, with no attempt counted: {item}");
    let listed = eva.get("/v1/sync/sources").await.expect(200);
    let destination = &listed["items"][0]["queue"]["destination"];
    assert!(destination["failures"].as_i64().unwrap_or(0) == 0, "the destination was not called: {destination}");
    assert!(!receiver.has_more(), "the destination was not called");
    sql.batch_execute("alter table siper.usuarios rename otro to nombre").await.unwrap();
    let call = receiver.next().await;
    assert_eq!(call.json()["data"], json!({ "idper": 7, "nombre": "Ana" }));
    call.answer(200);
    item_in(&eva, "usuarios_modulo", &id, "processed").await;
}
