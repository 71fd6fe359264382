//! S1, S3 and S4 end to end: two servers, a destination that fails at random, and applications that update, move,
//! delete and reinsert rows over several connections. In the end the destination has the state of the table.
//! Meanwhile deliveries of a key never overlap and never go back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio_postgres::NoTls;
use turno::core::sync::Source;

use crate::cases;
use crate::push_sync::Dice;
use crate::receiver::{PATIENCE, Received, Receiver};
use crate::world::{Client, Running, World};

cases![
    two_servers_and_a_failing_destination_end_with_the_state_of_the_table,
    control_the_destination_notices_overlapping_and_older_deliveries,
];

const WRITERS: u64 = 3;
const ROUNDS: u64 = 60;
const KEYS: u64 = 6;

/// The state of the destination, and all violations.
#[derive(Default)]
struct Known {
    data: BTreeMap<String, Value>,
    last: BTreeMap<String, (i64, i64)>,
    busy: BTreeSet<String>,
    wrong: Vec<String>,
}

impl Known {
    fn begin(&mut self, key: &str, revision: i64, fence: i64) {
        if !self.busy.insert(key.to_owned()) {
            self.wrong.push(format!("two deliveries of {key} at once"));
        }
        let last = self.last.insert(key.to_owned(), (revision, fence)).unwrap_or_default();
        if revision < last.0 || fence <= last.1 {
            self.wrong.push(format!("{key} went back from {last:?} to {:?}", (revision, fence)));
        }
    }

    fn end(&mut self, key: &str, taken: Option<Value>) {
        self.busy.remove(key);
        if let Some(data) = taken {
            self.data.insert(key.to_owned(), data);
        }
    }

    /// Returns the active keys with their data.
    fn active(&self) -> BTreeMap<String, Value> {
        self.data.iter().filter(|(_, data)| !data.is_null()).map(|(key, data)| (key.clone(), data.clone())).collect()
    }
}

/// Handles calls until it is dropped. Each takes a while, and one in three fails.
async fn module(mut receiver: Receiver, known: Arc<Mutex<Known>>, mut dice: Dice) {
    loop {
        let (call, takes, while_) = (receiver.next().await, dice.roll(3) > 0, dice.roll(30));
        tokio::spawn(take(call, known.clone(), takes, while_));
    }
}

async fn take(call: Received, known: Arc<Mutex<Known>>, takes: bool, while_: u64) {
    let body = call.json();
    let key = body["key"].as_str().unwrap().to_owned();
    known.lock().unwrap().begin(&key, body["revision"].as_i64().unwrap(), body["fence"].as_i64().unwrap());
    for _ in 0..while_ {
        tokio::task::yield_now().await;
    }
    known.lock().unwrap().end(&key, takes.then(|| body["data"].clone()));
    call.answer(if takes { 204 } else { 503 });
}

fn statement(dice: &mut Dice) -> String {
    let (one, other, name) = (dice.roll(KEYS), dice.roll(KEYS), dice.roll(1_000_000));
    let add = format!(
        "insert into siper.usuarios (idper, nombre, apellido, hashpass, algoritmo_pass, principal)
         values ({one}, 'n{name}', 'a', 'h', 'PG-SHA256', true);"
    );
    match dice.roll(8) {
        0 | 1 => format!("update siper.usuarios set nombre = 'n{name}' where idper = {one}"),
        2 => format!("update siper.usuarios set idper = {other}, hashpass = 'h{name}' where idper = {one}"),
        3 => format!("delete from siper.usuarios where idper = {one}"),
        4 => format!("update siper.usuarios set principal = not principal where idper = {one}"),
        5 => format!("begin; delete from siper.usuarios where idper = {one}; {add} commit"),
        6 => format!("begin; update siper.usuarios set idper = {other} where idper = {one}; rollback"),
        _ => add,
    }
}

async fn connect(world: &World) -> tokio_postgres::Client {
    let (sql, connection) = tokio_postgres::connect(&world.url, NoTls).await.unwrap();
    tokio::spawn(connection);
    sql
}

async fn write(sql: tokio_postgres::Client, mut dice: Dice) {
    for _ in 0..ROUNDS {
        // The index refuses a second principal, and two writers may deadlock. Both end in a rollback.
        if sql.batch_execute(&statement(&mut dice)).await.is_err() {
            sql.batch_execute("rollback").await.unwrap();
        }
    }
}

/// Returns the keys that should be active, with their data.
async fn table(sql: &tokio_postgres::Client) -> BTreeMap<String, Value> {
    let rows = "select idper::text, row_to_json(p)::text from (select idper, nombre, apellido, activo, hashpass
        from siper.usuarios where principal and idper is not null and algoritmo_pass = 'PG-SHA256') p";
    let rows = sql.query(rows, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), serde_json::from_str(row.get(1)).unwrap())).collect()
}

/// Waits until nothing is left to deliver.
async fn settled(eva: &Client) {
    let nothing_left = async {
        loop {
            let counts = eva.get("/v1/queues/usuarios_modulo").await.expect(200)["counts"].clone();
            if ["pending", "error", "in_process", "exhausted"].iter().all(|state| counts[*state] == 0) {
                return;
            }
        }
    };
    tokio::time::timeout(2 * PATIENCE, nothing_left).await.expect("every key is delivered in the end");
}

fn servers(world: &World, receiver: &Receiver) -> [Running; 2] {
    let file = std::env::temp_dir().join(format!("turno-soak-{}-{}.toml", std::process::id(), receiver.address.port()));
    let text = format!(
        "[[sync.source]]\npreset = \"siper\"\nbackoff_ms = 1\nprobe_ms = 100\nmax_attempts = 10000\n\
         deliver = {{ url = \"{}\" }}\n",
        receiver.url("/usuarios/{key}")
    );
    std::fs::write(&file, text).unwrap();
    let started = [(); 2].map(|()| Running::start(&world.url, &["--config", file.to_str().unwrap()]));
    std::fs::remove_file(&file).unwrap();
    started
}

async fn two_servers_and_a_failing_destination_end_with_the_state_of_the_table(world: World) {
    if world.url.starts_with("sqlite:") {
        // SQLite has one server and no triggers, so there is nothing to test.
        return assert!(!world.turno.sync(Source::siper()).has_triggers());
    }
    let receiver = Receiver::start().await;
    let running = servers(&world, &receiver);
    let sql = connect(&world).await;
    sql.batch_execute(include_str!("../../../../docs/guides/sync-siper.sql")).await.unwrap();
    let sync = world.turno.sync(Source::siper());
    sync.install().await.unwrap();
    let known = Arc::new(Mutex::new(Known::default()));
    let module = tokio::spawn(module(receiver, known.clone(), Dice(99)));
    let mut writers = tokio::task::JoinSet::new();
    for seed in 1..=WRITERS {
        writers.spawn(write(connect(&world).await, Dice(seed)));
    }
    writers.join_all().await;
    settled(&world.client("eva").await.at(&running[0])).await;
    let (held, compared) = (table(&sql).await, sync.check(false, None, |_| {}).await.unwrap());
    module.abort();
    let known = known.lock().unwrap();
    assert_eq!(known.wrong, [""; 0]);
    assert_eq!(known.active(), held);
    assert!(known.last.len() as u64 > KEYS / 2, "keys were delivered: {:?}", known.last);
    assert_eq!((compared.differing, compared.on_its_way), (0, 0), "the stored deliveries equal the table");
}

/// The negative control: the same destination with calls that must not happen.
async fn control_the_destination_notices_overlapping_and_older_deliveries(_: World) {
    let receiver = Receiver::start().await;
    let url = receiver.url("/usuarios/7");
    let known = Arc::new(Mutex::new(Known::default()));
    let module = tokio::spawn(module(receiver, known.clone(), Dice(1)));
    let tell = async |revision: i64, fence: i64| {
        let body = json!({ "key": "7", "action": "ACTUALIZAR", "revision": revision, "fence": fence, "data": {} });
        reqwest::Client::new().put(&url).body(body.to_string()).send().await.unwrap();
    };
    tell(5, 50).await;
    tell(6, 60).await;
    assert_eq!(known.lock().unwrap().wrong, [""; 0]);
    tell(5, 70).await;
    tell(7, 65).await;
    assert_eq!(known.lock().unwrap().wrong.len(), 2, "an older revision and an older fence are found");
    module.abort();
    let mut known = known.lock().unwrap();
    known.begin("8", 1, 1);
    known.begin("8", 2, 2);
    assert_eq!(known.wrong.last().unwrap(), "two deliveries of 8 at once");
}
