//! `turno queue work`: scripts as workers, at a server and directly on the database.

use std::path::PathBuf;

use serde_json::json;
use turno::core::id::ItemId;
use turno::core::time::Span;
use turno::queue::{Draft, ItemRecord, ItemState, Kind, Policy, QueueHandle};

use crate::cases;
use crate::shell::Shell;
use crate::world::World;

cases![
    BOTH: [
        a_script_gets_the_delivery_on_stdin_and_in_its_environment,
        the_exit_code_of_a_command_settles_its_delivery,
        a_run_until_empty_leaves_returned_items_for_another_run,
        a_delivery_is_renewed_while_its_command_runs_and_a_lost_one_stops_it,
    ],
    POSTGRES: [a_deeply_nested_delivery_reaches_its_command_unchanged],
    SQLITE: [
        a_stopped_worker_waits_for_its_command_or_returns_the_delivery,
        as_many_commands_run_at_once_as_the_concurrency_allows,
        a_command_that_cannot_be_run_ends_the_worker_and_keeps_the_attempt,
        a_worker_reports_a_paused_queue,
        a_missing_or_forbidden_queue_ends_the_worker,
    ],
];

/// Creates a queue with these items, all due.
async fn queue(world: &World, policy: Policy, ids: &[&str]) -> QueueHandle {
    let queue = world.turno.put_queue("mails", policy).await.unwrap();
    let draft = |id: &&str| Draft::json(&json!({ "text": id })).unwrap().id(id).unwrap().key("ana").unwrap();
    queue.enqueue(ids.iter().map(draft).collect()).await.unwrap();
    queue
}

fn inbox() -> Policy {
    Policy { backoff: Span(1), ..Policy::for_kind(Kind::Inbox) }
}

async fn item(queue: &QueueHandle, id: &str) -> ItemRecord {
    queue.item(ItemId::new(id).unwrap()).await.unwrap().unwrap()
}

/// Returns the state and the attempts of an item.
async fn state(queue: &QueueHandle, id: &str) -> (ItemState, u32) {
    let record = item(queue, id).await;
    (record.state(record.now), record.attempts())
}

/// Creates an empty directory in which scripts leave files.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("turno-work-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

async fn a_deeply_nested_delivery_reaches_its_command_unchanged(world: World) {
    let queue = queue(&world, inbox(), &[]).await;
    let (client, connection) = tokio_postgres::connect(&world.url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
    let ask = include_str!("queue_deep.sql");
    client.execute(ask, &[&deep]).await.unwrap();
    // A read takes in what applications have committed. From then on the item can be claimed.
    assert_eq!(state(&queue, "m-1").await, (ItemState::Pending, 0));
    let shell = Shell::signed_in(&world, "ana").await;
    let script = format!("grep -cF '{deep}'");
    let output = shell.run(&["queue", "work", "mails", "--until-empty", "--", "sh", "-c", &script]).await;
    assert_eq!(output.done(), "1");
    assert_eq!(state(&queue, "m-1").await, (ItemState::Processed, 1));
    assert!(shell.run(&["queue", "item", "mails", "m-1"]).await.done().contains('…'));
}

async fn a_script_gets_the_delivery_on_stdin_and_in_its_environment(world: World) {
    let queue = queue(&world, inbox(), &["m-1"]).await;
    let script = "cat; echo $TURNO_QUEUE $TURNO_KEY $TURNO_FENCE $TURNO_DELIVERY $TURNO_ATTEMPT";
    let words = ["queue", "work", "mails", "--until-empty", "--instance", "w-1", "--", "sh", "-c", script];
    let remote = Shell::signed_in(&world, "ana").await.run(&words).await;
    let (delivery, variables) = remote.done().split_once('\n').unwrap();
    let delivery: serde_json::Value = serde_json::from_str(delivery).unwrap();
    assert_eq!(delivery["items"][0]["payload"], json!({ "text": "m-1" }));
    let expected = format!("mails ana {} {} 1", delivery["fence"], delivery["delivery"].as_str().unwrap());
    assert_eq!(variables, expected);
    assert_eq!(state(&queue, "m-1").await, (ItemState::Processed, 1));
    let taker = item(&queue, "m-1").await.hand_out().unwrap().taker;
    assert_eq!((taker.instance(), taker.user()), ("w-1", Some("ana")));

    // The same on the database: no token is needed, and `TURNO_URL` in the environment is ignored.
    queue.enqueue(vec![Draft::json("hola").unwrap().id("m-2").unwrap()]).await.unwrap();
    let typed = [&words[..3], &["--database", &world.url], &words[3..]].concat();
    let direct = Shell::at(&world).with("TURNO_URL", "http://127.0.0.1:1").run(&typed).await;
    let delivery: serde_json::Value = serde_json::from_str(direct.done().lines().next().unwrap()).unwrap();
    assert_eq!((&delivery["items"][0]["id"], &delivery["key"]), (&json!("m-2"), &json!(null)));
    assert!(delivery["expires_in_ms"].as_i64().unwrap() > 0, "{delivery}");
    assert_eq!(state(&queue, "m-2").await, (ItemState::Processed, 1));
}

async fn the_exit_code_of_a_command_settles_its_delivery(world: World) {
    let queue = queue(&world, Policy { max_attempts: 2, ..inbox() }, &["done", "not_now", "wrong"]).await;
    let folder = folder("codes");
    // A returned item is delivered again in another run, and the second time it is processed.
    let script = format!(
        "read -r line; case $line in *done*) exit 0;; *wrong*) echo first >&2; echo 'no route' >&2; exit 3;; esac
         echo $TURNO_ATTEMPT >> {0}/seen; [ $(wc -l < {0}/seen) -ge 2 ] || exit 75",
        folder.display()
    );
    let shell = Shell::signed_in(&world, "ana").await;
    let words = ["queue", "work", "mails", "--until-empty", "--", "sh", "-c", &script];
    // A failed item waits for its back-off, so a second run finds it at the latest.
    shell.run(&words).await.done();
    assert_eq!(state(&queue, "not_now").await, (ItemState::Pending, 0));
    shell.run(&words).await.done();
    while state(&queue, "wrong").await.0 != ItemState::Exhausted {
        shell.run(&words).await.done();
    }
    assert_eq!(state(&queue, "done").await, (ItemState::Processed, 1));
    assert_eq!(state(&queue, "not_now").await, (ItemState::Processed, 1), "a returned delivery counts no attempt");
    assert_eq!(std::fs::read_to_string(folder.join("seen")).unwrap(), "1\n1\n");
    let wrong = item(&queue, "wrong").await;
    assert_eq!(wrong.errors.len(), 2);
    assert_eq!(wrong.last_error(), Some("exit code 3: first\nno route"));
    std::fs::remove_dir_all(folder).unwrap();
}

async fn a_run_until_empty_leaves_returned_items_for_another_run(world: World) {
    let queue = queue(&world, inbox(), &["m-1", "m-2", "m-3"]).await;
    let folder = folder("back");
    // Three items cannot be processed now, and a fourth arrives behind them during the run.
    let shell = Shell::signed_in(&world, "ana").await;
    let late = ["queue", "enqueue", "mails", "--id", "late", "1"].join(" ");
    let script = format!(
        "read -r line; case $line in *late*) echo late; exit 0;; esac; echo tried >> {0}/tried
         [ -e {0}/sent ] || {{ touch {0}/sent; {1} {late} >/dev/null 2>&1; }}; exit 75",
        folder.display(),
        env!("CARGO_BIN_EXE_turno"),
    );
    for (round, place) in [&[][..], &["--database", &world.url]].into_iter().enumerate() {
        let hands = if round == 0 { "1" } else { "3" };
        let start = ["queue", "work", "mails", "--until-empty", "--concurrency", hands];
        let output = shell.run(&[&start[..], place, &["--", "sh", "-c", &script]].concat()).await;
        assert_eq!(output.code, Some(0), "{output:?}");
        assert!(output.talk.contains("left for another run: 3"), "{output:?}");
        let tried = std::fs::read_to_string(folder.join("tried")).unwrap();
        assert_eq!(tried.lines().count(), 3 * (round + 1), "each item is tried once in a run");
        for id in ["m-1", "m-2", "m-3"] {
            assert_eq!(state(&queue, id).await, (ItemState::Pending, 0), "the item was returned untried");
        }
        assert_eq!(state(&queue, "late").await, (ItemState::Processed, 1), "the item behind them is processed");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

async fn a_delivery_is_renewed_while_its_command_runs_and_a_lost_one_stops_it(world: World) {
    let brief = Policy { lock_timeout: Span(400), max_attempts: 1, ..inbox() };
    let queue = queue(&world, brief.clone(), &["m-1"]).await;
    let shell = Shell::signed_in(&world, "ana").await;
    let longer = ["queue", "work", "mails", "--until-empty", "--", "sleep", "1.5"];
    shell.run(&longer).await.done();
    assert_eq!(
        state(&queue, "m-1").await,
        (ItemState::Processed, 1),
        "the command ran longer than an unrenewed claim lasts"
    );

    // The control: where the claim cannot be renewed, the command and its children end with the claim.
    let queue = world.turno.put_queue("mails", Policy { max_hold: Some(Span(400)), ..brief }).await.unwrap();
    for (id, direct) in [("m-2", false), ("m-3", true)] {
        queue.enqueue(vec![Draft::json("hola").unwrap().id(id).unwrap()]).await.unwrap();
        let place: &[&str] = if direct { &["--database", &world.url] } else { &[] };
        let script = ["--until-empty", "--", "sh", "-c", "echo started; sleep 1000 & wait"];
        let started = shell.start(&[&["queue", "work", "mails"], place, &script].concat()).await;
        let output = started.ended().await;
        assert!(output.talk.contains("was lost"), "{output:?}");
        assert!(output.talk.contains("max_hold_ms of its queue ends it"), "the output has the reason: {output:?}");
        let record = item(&queue, id).await;
        assert_eq!(record.state(record.now), ItemState::Exhausted);
        assert_eq!(record.last_error(), Some("not settled in time"), "the lost claim was not settled");
    }
}

async fn a_stopped_worker_waits_for_its_command_or_returns_the_delivery(world: World) {
    let queue = queue(&world, inbox(), &["m-1"]).await;
    let folder = folder("stop");
    let sign = folder.join("go").display().to_string();
    let script = format!("echo started; until [ -e {sign} ]; do sleep 0.05; done");
    let shell = Shell::signed_in(&world, "ana").await;
    let patient = shell.start(&["queue", "work", "mails", "--grace", "60s", "--", "sh", "-c", &script]).await;
    patient.signal("TERM").await;
    std::fs::write(&sign, "").unwrap();
    assert_eq!(patient.ended().await.code, Some(0));
    assert_eq!(state(&queue, "m-1").await, (ItemState::Processed, 1), "the worker waited for the command");

    queue.enqueue(vec![Draft::json("hola").unwrap().id("m-2").unwrap()]).await.unwrap();
    std::fs::remove_file(&sign).unwrap();
    let hurried = shell.start(&["queue", "work", "mails", "--grace", "0s", "--", "sh", "-c", &script]).await;
    hurried.signal("TERM").await;
    assert_eq!(hurried.ended().await.code, Some(0));
    assert_eq!(state(&queue, "m-2").await, (ItemState::Pending, 0), "the delivery was returned and counts no attempt");
    std::fs::remove_dir_all(folder).unwrap();
}

async fn as_many_commands_run_at_once_as_the_concurrency_allows(world: World) {
    let brief = Policy { max_hold: Some(Span(3_000)), lock_timeout: Span(3_000), max_attempts: 1, ..inbox() };
    let queue = queue(&world, brief, &["m-1", "m-2"]).await;
    let folder = folder("hands");
    // Each command waits for the other's file, so the commands must run at the same time.
    let meet =
        format!("touch {0}/$TURNO_FENCE; until [ $(ls {0} | wc -l) = 2 ]; do sleep 0.05; done", folder.display());
    let shell = Shell::signed_in(&world, "ana").await;
    let words = |hands| ["queue", "work", "mails", "--until-empty", "--concurrency", hands, "--", "sh", "-c", &meet];
    shell.run(&words("2")).await.done();
    assert_eq!(queue.counts().await.unwrap().processed, 2);

    // The control: with a concurrency of one the first command waits in vain.
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::create_dir_all(&folder).unwrap();
    let more = ["m-3", "m-4"].map(|id| Draft::json("hola").unwrap().id(id).unwrap());
    queue.enqueue(more.to_vec()).await.unwrap();
    shell.run(&words("1")).await.done();
    assert_eq!(queue.counts().await.unwrap().exhausted, 1, "the item of the waiting command");
    std::fs::remove_dir_all(folder).unwrap();
}

async fn a_command_that_cannot_be_run_ends_the_worker_and_keeps_the_attempt(world: World) {
    let queue = queue(&world, inbox(), &["m-1"]).await;
    let shell = Shell::signed_in(&world, "ana").await;
    let missing = shell.run(&["queue", "work", "mails", "--", "no-such-program-anywhere"]).await;
    assert!(missing.refused(2).contains("there is no command no-such-program-anywhere"), "{missing:?}");
    assert_eq!(state(&queue, "m-1").await, (ItemState::Pending, 0));
}

async fn a_missing_or_forbidden_queue_ends_the_worker(world: World) {
    queue(&world, inbox(), &["m-1"]).await;
    let ana = Shell::signed_in(&world, "ana").await;
    assert!(ana.run(&["queue", "work", "none", "--", "true"]).await.refused(1).contains("none"));
    let direct = ana.run(&["queue", "work", "none", "--database", &world.url, "--", "true"]).await;
    assert!(direct.refused(1).contains("none"));
    let vera = Shell::signed_in(&world, "vera").await;
    assert!(vera.run(&["queue", "work", "mails", "--", "true"]).await.refused(1).contains("queues.consume"));
}

async fn a_worker_reports_a_paused_queue(world: World) {
    let queue = queue(&world, inbox(), &["m-1"]).await;
    let ana = Shell::signed_in(&world, "ana").await;
    for place in [&[][..], &["--database", &world.url]] {
        let words = [&["queue", "work", "mails", "--until-empty"], place, &["--", "false"]].concat();
        queue.pause().await.unwrap();
        let output = ana.run(&words).await;
        assert!(output.code == Some(0) && output.talk.contains("mails is paused"), "{output:?}");
        assert_eq!(state(&queue, "m-1").await, (ItemState::Pending, 0));
    }
}
