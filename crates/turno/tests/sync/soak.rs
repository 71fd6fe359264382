//! S1, S3, S4: rows are updated, moved, deleted and inserted again over several connections while the receiver fails
//! at random. At the end the receiver has exactly the state of the source, and no two deliveries of a key overlapped
//! or went back.

use super::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use turno::queue::Claim;

const WRITERS: u64 = 4;
const WORKERS: u64 = 4;
const ROUNDS: u64 = 120;
const KEYS: u64 = 8;

/// A random generator with a seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// The external module: stores the last delivery of each key and detects violations.
#[derive(Default)]
struct Module {
    known: BTreeMap<String, (i64, Option<String>)>,
    busy: BTreeSet<String>,
    wrong: Vec<String>,
}

impl Module {
    fn begin(&mut self, key: &str, revision: i64) {
        if !self.busy.insert(key.to_owned()) {
            self.wrong.push(format!("two deliveries of {key} at once"));
        }
        if self.known.get(key).is_some_and(|(last, _)| revision < *last) {
            self.wrong.push(format!("{key} went back to {revision}"));
        }
    }

    fn end(&mut self, key: &str, revision: i64, data: Option<Option<String>>) {
        self.busy.remove(key);
        if let Some(data) = data {
            self.known.insert(key.to_owned(), (revision, data));
        }
    }

    /// Returns the active keys with their data.
    fn active(&self) -> BTreeMap<String, String> {
        self.known.iter().filter_map(|(key, (_, data))| Some((key.clone(), data.clone()?))).collect()
    }
}

/// Returns the keys that should be active, with their data.
async fn source(world: &World) -> BTreeMap<String, String> {
    let sql = "select idper::text, row_to_json(p)::text from (select idper, nombre, apellido, activo, hashpass
        from siper.usuarios where principal and idper is not null and algoritmo_pass = 'PG-SHA256') p";
    world.sql.query(sql, &[]).await.unwrap().iter().map(|row| (row.get(0), row.get(1))).collect()
}

fn statement(chance: &mut Chance) -> String {
    let (one, other) = (chance.below(KEYS), chance.below(KEYS));
    let name = chance.below(1_000_000);
    match chance.below(9) {
        0 | 1 => format!("update siper.usuarios set nombre = 'n{name}' where idper = {one}"),
        2 => format!("update siper.usuarios set idper = {other}, hashpass = 'h{name}' where idper = {one}"),
        3 => format!("delete from siper.usuarios where idper = {one}"),
        4 => format!("update siper.usuarios set principal = not principal where idper = {one}"),
        5 => format!(
            "begin; delete from siper.usuarios where idper = {one}; {} commit",
            person(i32::try_from(one).unwrap())
        ),
        6 => format!(
            "begin; update siper.usuarios set activo = not activo where idper = {one}; savepoint s;
            delete from siper.usuarios where idper = {other}; rollback to s; commit"
        ),
        7 => format!("begin; update siper.usuarios set idper = {other} where idper = {one}; rollback"),
        _ => person(i32::try_from(one).unwrap()),
    }
}

async fn write(url: String, seed: u64) {
    let app = connect(&url, Some(&role(&url, "web"))).await;
    let mut chance = Chance(seed);
    for _ in 0..ROUNDS {
        // The index refuses a second principal, and two writers may deadlock: both are rolled back.
        if app.batch_execute(&statement(&mut chance)).await.is_err() {
            app.batch_execute("rollback").await.unwrap();
        }
    }
}

async fn work(sync: SyncHandle, queue: QueueHandle, module: Arc<Mutex<Module>>, seed: u64, stop: Arc<AtomicBool>) {
    let mut chance = Chance(seed);
    loop {
        let got = queue.claim(Claim::by(format!("worker-{seed}")).wait(Duration::from_millis(50))).await.unwrap();
        let Some(got) = got.into_iter().next() else {
            if stop.load(Ordering::SeqCst) && queue.counts().await.unwrap().pending == 0 {
                return;
            }
            continue;
        };
        let key = got.key.clone().unwrap();
        module.lock().unwrap().begin(key.as_str(), got.revision);
        let Prepared::Send(change) = sync.prepare(&got).await.unwrap() else { panic!("no row leaves") };
        let data = change.data.as_deref().map(str::to_owned);
        let fails = chance.below(3) == 0;
        module.lock().unwrap().end(key.as_str(), got.revision, (!fails).then_some(data));
        if fails {
            let retry_in = Some(Span(1));
            let act = Act::Fail { error: "HTTP 503".to_owned(), item: None, retry_in, give_up: false };
            queue.settle(vec![Settlement { reference: got.reference, act }]).await.unwrap();
        } else {
            sync.delivered(&change).await.unwrap();
            queue.ack([got.reference]).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_random_changes_the_receiver_has_the_state_of_the_source() {
    let world = World::new().await;
    let endless = Policy { max_attempts: 10_000, ..policy() };
    world.turno.put_queue(siper().queue, endless).await.unwrap();
    let awake = Turno::open(&world.url).await.unwrap();
    let queue = awake.queue(siper().queue).await.unwrap();
    let (module, stop) = (Arc::new(Mutex::new(Module::default())), Arc::new(AtomicBool::new(false)));
    let workers: Vec<_> = (0..WORKERS)
        .map(|seed| tokio::spawn(work(awake.sync(siper()), queue.clone(), module.clone(), seed + 100, stop.clone())))
        .collect();
    let writers: Vec<_> = (0..WRITERS).map(|seed| tokio::spawn(write(world.url.clone(), seed + 1))).collect();
    for writer in writers {
        writer.await.unwrap();
    }
    stop.store(true, Ordering::SeqCst);
    for worker in workers {
        worker.await.unwrap();
    }
    world.drain_into(&module).await;
    let held = source(&world).await;
    let compared = world.sync.check(false, None, |_| {}).await.unwrap();
    let module = module.lock().unwrap();
    assert_eq!(module.wrong, [""; 0]);
    assert_eq!(module.active(), held);
    assert!(module.known.len() > 4, "keys were delivered: {}", module.known.len());
    assert_eq!(compared.differences, [], "the check agrees");
}

impl World {
    /// Delivers the rest: failed items that became due only after the workers had ended.
    async fn drain_into(&self, module: &Arc<Mutex<Module>>) {
        loop {
            self.advance(10_000).await;
            let Some(got) = self.claim().await else { return };
            let key = got.key.clone().unwrap();
            module.lock().unwrap().begin(key.as_str(), got.revision);
            let data = self.sync.current(&key).await.unwrap().into_data();
            module.lock().unwrap().end(key.as_str(), got.revision, Some(data));
            self.deliver(&got).await;
        }
    }
}

/// The negative control: a delivery that reads the data before the claim loses the change in between, and the
/// comparison of the soak test detects that.
#[tokio::test]
async fn control_reading_before_the_claim_loses_a_change_and_is_detected() {
    let world = World::new().await;
    world.run(&person(42)).await;
    let early = world.sync.current(&key("42")).await.unwrap().into_data();
    world.run("update siper.usuarios set nombre = 'Nuevo'").await;
    world.queue.counts().await.unwrap();
    let got = world.claim().await.unwrap();
    let mut module = Module::default();
    module.begin("42", got.revision);
    module.end("42", got.revision, Some(early.clone()));
    let mut change = world.change(&got).await;
    change.data = early.map(Into::into);
    world.sync.delivered(&change).await.unwrap();
    world.queue.ack([got.reference]).await.unwrap();
    assert!(world.claim().await.is_none(), "the change is lost with the ack");
    assert_ne!(module.active(), source(&world).await);
    assert_eq!(world.sync.check(false, None, |_| {}).await.unwrap().differing, 1);
    module.begin("42", got.revision - 1);
    module.begin("42", got.revision);
    assert_eq!(module.wrong.len(), 2, "one delivery went back and two overlapped");
}
