//! Two instances on one database, one of them killed and restarted repeatedly: nothing is lost, nothing is out of
//! order, no line is applied twice.
//!
//! The program starts itself as the instance to kill. Its work leaves two kinds of traces: a line in a file (an effect
//! outside the database, which may be repeated but never missing) and stock (an effect inside the database, which is
//! exact). The negative control acks before its effect and must be detected.

#![expect(clippy::unwrap_used, reason = "a test without the harness is a test all the same")]

use libtest_mimic::{Arguments, Trial};
use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use turno::core::event::Topic;
use turno::core::id::{Sku, UserId};
use turno::core::lease::{self, Holder, Policies};
use turno::core::task::{self, Goods, Movement, NewLine, Status};
use turno::core::time::Span;
use turno::lease::Action;
use turno::queue::{Claim, Draft, Job, Kind, Policy, QueueHandle, RunningWorker};
use turno::store::TaskQuery;
use turno::task::NewTask;
use turno::{Options, Turno};
use turno_testkit::postgres::Cluster;

const KEYS: usize = 4;
const ITEMS: usize = 120;
const TASKS: usize = 12;
const LINES: i64 = 4;
const KILLS: usize = 5;
/// Longer than any step takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, mode, url, file] = &arguments[..]
        && matches!(mode.as_str(), "instance" | "careless")
    {
        return runtime().block_on(instance(url, Path::new(file), mode == "careless"));
    }
    let trials = ["sqlite", "postgres"].into_iter().flat_map(|database| {
        let test = |name: &str, careless| {
            Trial::test(format!("{database}::{name}"), move || {
                runtime().block_on(survive(database, careless));
                Ok(())
            })
        };
        [
            test("killing_an_instance_repeatedly_loses_nothing", false),
            test("control_acking_before_the_effect_is_detected", true),
        ]
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

async fn open(url: &str) -> Turno {
    let quick =
        lease::Policy { ttl: Span(400), max_ttl: Span(400), heartbeat_interval: Span(100), ..lease::Policy::default() };
    let leases = Policies { by_prefix: [("task".to_owned(), quick)].into(), ..Policies::default() };
    Turno::open_with(url, Options { leases, ..Options::default() }).await.unwrap()
}

fn policy() -> Policy {
    let lane = Policy {
        window: Span::ZERO,
        batch_max: 2,
        lock_timeout: Span(400),
        max_hold: None,
        ..Policy::for_kind(Kind::Lane)
    };
    // A kill counts as an attempt, and an item may be hit by every kill.
    Policy { max_attempts: 50, ..lane }
}

/// The instance to kill: handles items and tasks, and prints each item.
async fn instance(url: &str, file: &Path, careless: bool) {
    let turno = open(url).await;
    let queue = turno.put_queue("work", policy()).await.unwrap();
    if careless {
        return careless_work(&queue, file).await;
    }
    let _worker = work(&queue, file.to_owned(), true);
    process_tasks(&turno, "killed").await;
    std::future::pending::<()>().await;
}

/// Acks first, writes afterwards, and aborts in between.
async fn careless_work(queue: &QueueHandle, file: &Path) {
    for round in 0.. {
        let got = queue.claim(Claim::by("careless").wait(Duration::from_millis(1_000))).await.unwrap();
        queue.ack(got.iter().map(|got| got.reference)).await.unwrap();
        if round == 2 {
            std::process::abort();
        }
        got.iter().flat_map(|got| &got.items).for_each(|item| leave_trace(file, &item.payload));
    }
}

fn work(queue: &QueueHandle, file: PathBuf, prints: bool) -> RunningWorker {
    let worker = queue.worker(move |job: Job<(String, usize)>| {
        let (file, (key, number)) = (file.clone(), job.payload);
        async move {
            leave_trace(&file, &format!("[\"{key}\",{number}]"));
            if prints {
                println!("item");
            }
            Ok(())
        }
    });
    worker.concurrency(3).start().unwrap()
}

/// A single write, so that a kill leaves the whole line or none.
fn leave_trace(file: &Path, payload: &str) {
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(file).unwrap();
    file.write_all(format!("{payload}\n").as_bytes()).unwrap();
}

/// Claims every free task and finalizes it, until all tasks are completed.
async fn process_tasks(turno: &Turno, user: &str) {
    let who = Holder { user: UserId::new(user).unwrap(), name: user.to_owned(), instance: None };
    loop {
        let mut open = 0;
        for (task, _) in turno.tasks(TaskQuery { limit: 100, ..TaskQuery::default() }).await.unwrap().tasks {
            if task.status == Status::Completed {
                continue;
            }
            open += 1;
            let claim = task::Action::Lease(Action::Claim { ttl: None, wait: false });
            let answer = turno.task_command(Some(task.id), who.clone(), claim).await.unwrap();
            if let (Ok(_), Some(grant)) = (answer.answer, answer.lease.grant) {
                drop(turno.task_finalize(task.id, who.clone(), grant.fence).await);
            }
        }
        if open == 0 {
            return;
        }
        tokio::task::yield_now().await;
    }
}

async fn fill(turno: &Turno) -> QueueHandle {
    let queue = turno.put_queue("work", policy()).await.unwrap();
    for number in 0..ITEMS {
        let key = format!("k{}", number % KEYS);
        let draft = Draft::json(&(&key, number)).unwrap().id(&number.to_string()).unwrap().key(&key).unwrap();
        queue.enqueue(vec![draft]).await.unwrap();
    }
    let line = NewLine { movement: Movement::In, sku: Sku::new("x").unwrap(), goods: Goods::Quantity(1) };
    for _ in 0..TASKS {
        let lines = vec![line.clone(); LINES as usize];
        turno.task_command(None, turno.holder(None), NewTask::titled("t").lines(lines).ready().into()).await.unwrap();
    }
    queue
}

async fn survive(database: &str, careless: bool) {
    let folder = std::env::temp_dir().join(format!("turno-killed-{careless}-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).unwrap();
    let url = match database {
        "sqlite" => format!("sqlite:{}", folder.join("turno.db").display()),
        _ => Cluster::for_tests().fresh_database().await,
    };
    let file = folder.join("traces");
    let turno = open(&url).await;
    let queue = fill(&turno).await;
    if careless {
        let mut child = start("careless", &url, &file);
        assert!(
            !tokio::time::timeout(PATIENCE, child.wait()).await.unwrap().unwrap().success(),
            "the careless instance aborts"
        );
    } else {
        kill_repeatedly(&url, &file).await;
    }
    tokio::time::timeout(PATIENCE, finish(&turno, &queue, &file)).await.expect("the rest is handled in time");

    let missing = missing(&file);
    if careless {
        assert!(!missing.is_empty(), "an item acked before its effect is lost, which must be detected");
        return;
    }
    assert_eq!(missing, BTreeSet::new(), "every item left its trace");
    assert_in_order(&file);
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.processed, counts.pending + counts.error + counts.in_process), (ITEMS as i64, 0));
    let stock = turno.stock_level(Sku::new("x").unwrap()).await.unwrap();
    assert_eq!(stock.quantity, TASKS as i64 * LINES, "each line moved stock exactly once");
    assert_eq!(turno.check(|_| {}).await.unwrap(), []);
    drop(std::fs::remove_dir_all(&folder));
}

fn start(mode: &str, url: &str, file: &Path) -> tokio::process::Child {
    let program = std::env::current_exe().unwrap();
    let mut command = tokio::process::Command::new(program);
    command.arg(mode).arg(url).arg(file).stdout(Stdio::piped()).kill_on_drop(true);
    command.spawn().unwrap()
}

/// Kills the instance each time after it has started some items, at an arbitrary point.
async fn kill_repeatedly(url: &str, file: &Path) {
    for round in 0..KILLS {
        let mut child = start("instance", url, file);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for _ in 0..5 + 2 * round {
            let line =
                tokio::time::timeout(PATIENCE, lines.next_line()).await.expect("the instance handles items").unwrap();
            assert_eq!(line.as_deref(), Some("item"));
        }
        child.start_kill().unwrap();
        child.wait().await.unwrap();
    }
}

/// The other instance handles the rest.
async fn finish(turno: &Turno, queue: &QueueHandle, file: &Path) {
    let mut changes = turno.subscribe(Topic::Queues.into(), None).await.unwrap();
    let worker = work(queue, file.to_owned(), false);
    process_tasks(turno, "other").await;
    while queue.counts().await.unwrap().processed < ITEMS as i64 {
        // Look after every change, and regularly in case no change is reported.
        drop(tokio::time::timeout(Duration::from_millis(200), changes.next()).await);
    }
    worker.stop().await;
}

fn traces(file: &Path) -> Vec<(String, usize)> {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn missing(file: &Path) -> BTreeSet<usize> {
    let seen: BTreeSet<usize> = traces(file).into_iter().map(|(_, number)| number).collect();
    (0..ITEMS).filter(|number| !seen.contains(number)).collect()
}

/// Checks the order within each key: items may be repeated, but a new item never comes before an earlier one.
fn assert_in_order(file: &Path) {
    let mut next: HashMap<String, usize> = HashMap::new();
    for (key, number) in traces(file) {
        let expected = next.entry(key.clone()).or_insert_with(|| key[1..].parse().unwrap());
        assert!(number <= *expected, "{number} of {key} came before {expected}");
        if number == *expected {
            *expected += KEYS;
        }
    }
}
