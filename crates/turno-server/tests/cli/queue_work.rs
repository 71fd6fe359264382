//! `turno queue work`: scripts as workers, at a server and directly on the database.

use std::path::PathBuf;

use serde_json::json;
use turno::core::id::ItemId;
use turno::core::time::Span;
use turno::{Draft, ItemRecord, ItemState, Kind, Policy, QueueHandle};

use crate::cases;
use crate::shell::Shell;
use crate::world::World;

cases![
    BOTH: [
        a_script_gets_the_delivery_on_stdin_and_in_its_environment,
        the_exit_code_says_how_it_went,
        a_run_until_empty_leaves_what_it_gave_back_for_another,
        a_claim_is_renewed_while_the_command_runs_and_a_lost_one_stops_it,
    ],
    POSTGRES: [a_delivery_that_is_nested_deeper_than_people_read_reaches_its_command_whole],
    SQLITE: [
        a_worker_that_is_stopped_lets_its_command_end_or_gives_the_delivery_back,
        as_many_commands_run_at_once_as_were_asked_for,
        a_command_that_cannot_be_run_ends_the_worker_and_keeps_the_attempt,
        a_paused_queue_is_said_to_be_one,
        a_queue_that_does_not_exist_or_may_not_be_worked_ends_the_worker,
    ],
];

/// A queue with these items, all due.
async fn queue(world: &World, policy: Policy, ids: &[&str]) -> QueueHandle {
    let queue = world.turno.put_queue("mails", policy).await.unwrap();
    let draft = |id: &&str| Draft::json(&json!({ "text": id })).unwrap().id(id).unwrap().key("ana").unwrap();
    queue.enqueue(ids.iter().map(draft).collect()).await.unwrap();
    queue
}

fn inbox() -> Policy {
    Policy { backoff: Span(1), ..Policy::of(Kind::Inbox) }
}

async fn item(queue: &QueueHandle, id: &str) -> ItemRecord {
    queue.item(ItemId::new(id).unwrap()).await.unwrap().unwrap()
}

/// Whether an item is done, and in how many attempts.
async fn state(queue: &QueueHandle, id: &str) -> (ItemState, u32) {
    let record = item(queue, id).await;
    (record.state(record.now), record.attempts())
}

/// Somewhere for scripts to leave signs.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("turno-work-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

async fn a_delivery_that_is_nested_deeper_than_people_read_reaches_its_command_whole(world: World) {
    let queue = queue(&world, inbox(), &[]).await;
    let (client, connection) = tokio_postgres::connect(&world.url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
    let ask = include_str!("queue_deep.sql");
    client.execute(ask, &[&deep]).await.unwrap();
    // Whoever looks finds what applications have committed; from then on it can be claimed.
    assert_eq!(state(&queue, "m-1").await, (ItemState::Pending, 0));
    let shell = Shell::of(&world, "ana").await;
    let script = format!("grep -cF '{deep}'");
    let said = shell.run(&["queue", "work", "mails", "--until-empty", "--", "sh", "-c", &script]).await;
    assert_eq!(said.done(), "1");
    assert_eq!(state(&queue, "m-1").await, (ItemState::Processed, 1));
    assert!(shell.run(&["queue", "item", "mails", "m-1"]).await.done().contains('…'));
}

async fn a_script_gets_the_delivery_on_stdin_and_in_its_environment(world: World) {
    let queue = queue(&world, inbox(), &["m-1"]).await;
    let script = "cat; echo $TURNO_QUEUE $TURNO_KEY $TURNO_FENCE $TURNO_DELIVERY $TURNO_ATTEMPT";
    let words = ["queue", "work", "mails", "--until-empty", "--instance", "w-1", "--", "sh", "-c", script];
    let remote = Shell::of(&world, "ana").await.run(&words).await;
    let (delivery, told) = remote.done().split_once('\n').unwrap();
    let delivery: serde_json::Value = serde_json::from_str(delivery).unwrap();
    assert_eq!(delivery["items"][0]["payload"], json!({ "text": "m-1" }));
    let expected = format!("mails ana {} {} 1", delivery["fence"], delivery["delivery"].as_str().unwrap());
    assert_eq!(told, expected);
    assert_eq!(state(&queue, "m-1").await, (ItemState::Processed, 1));
    let taker = item(&queue, "m-1").await.hand_out().unwrap().taker;
    assert_eq!((taker.instance(), taker.user()), ("w-1", Some("ana")));

    // The same on the database: nobody's token is needed, and a server in the environment does not matter.
    queue.enqueue(vec![Draft::json("hola").unwrap().id("m-2").unwrap()]).await.unwrap();
    let typed = [&words[..3], &["--database", &world.url], &words[3..]].concat();
    let direct = Shell::at(&world).with("TURNO_URL", "http://127.0.0.1:1").run(&typed).await;
    let delivery: serde_json::Value = serde_json::from_str(direct.done().lines().next().unwrap()).unwrap();
    assert_eq!((&delivery["items"][0]["id"], &delivery["key"]), (&json!("m-2"), &json!(null)));
    assert!(delivery["expires_in_ms"].as_i64().unwrap() > 0, "{delivery}");
    assert_eq!(state(&queue, "m-2").await, (ItemState::Processed, 1));
}

async fn the_exit_code_says_how_it_went(world: World) {
    let queue = queue(&world, Policy { max_attempts: 2, ..inbox() }, &["done", "not_now", "wrong"]).await;
    let folder = folder("codes");
    // What is given back comes again in another run; the second time it is done.
    let script = format!(
        "read -r line; case $line in *done*) exit 0;; *wrong*) echo first >&2; echo 'no route' >&2; exit 3;; esac
         echo $TURNO_ATTEMPT >> {0}/seen; [ $(wc -l < {0}/seen) -ge 2 ] || exit 75",
        folder.display()
    );
    let shell = Shell::of(&world, "ana").await;
    let words = ["queue", "work", "mails", "--until-empty", "--", "sh", "-c", &script];
    // What failed waits for its back-off, and then the worker finds it in a second run at the latest.
    shell.run(&words).await.done();
    assert_eq!(state(&queue, "not_now").await, (ItemState::Pending, 0));
    shell.run(&words).await.done();
    while state(&queue, "wrong").await.0 != ItemState::Exhausted {
        shell.run(&words).await.done();
    }
    assert_eq!(state(&queue, "done").await, (ItemState::Processed, 1));
    assert_eq!(state(&queue, "not_now").await, (ItemState::Processed, 1), "what was given back does not count");
    assert_eq!(std::fs::read_to_string(folder.join("seen")).unwrap(), "1\n1\n");
    let wrong = item(&queue, "wrong").await;
    assert_eq!(wrong.errors.len(), 2);
    assert_eq!(wrong.last_error(), Some("exit code 3: first\nno route"));
    std::fs::remove_dir_all(folder).unwrap();
}

async fn a_run_until_empty_leaves_what_it_gave_back_for_another(world: World) {
    let queue = queue(&world, inbox(), &["m-1", "m-2", "m-3"]).await;
    let folder = folder("back");
    // Of three nothing can be done now, and a fourth comes behind them while the run is at it.
    let shell = Shell::of(&world, "ana").await;
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
        let said = shell.run(&[&start[..], place, &["--", "sh", "-c", &script]].concat()).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(said.talk.contains("left for another run: 3"), "{said:?}");
        let tried = std::fs::read_to_string(folder.join("tried")).unwrap();
        assert_eq!(tried.lines().count(), 3 * (round + 1), "each of them once in a run");
        for id in ["m-1", "m-2", "m-3"] {
            assert_eq!(state(&queue, id).await, (ItemState::Pending, 0), "given back untried");
        }
        assert_eq!(state(&queue, "late").await, (ItemState::Processed, 1), "and what stood behind them is done");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

async fn a_claim_is_renewed_while_the_command_runs_and_a_lost_one_stops_it(world: World) {
    let brief = Policy { lock_timeout: Span(400), max_attempts: 1, ..inbox() };
    let queue = queue(&world, brief.clone(), &["m-1"]).await;
    let shell = Shell::of(&world, "ana").await;
    let longer = ["queue", "work", "mails", "--until-empty", "--", "sleep", "1.5"];
    shell.run(&longer).await.done();
    assert_eq!(state(&queue, "m-1").await, (ItemState::Processed, 1), "it took longer than the claim lasts unrenewed");

    // The control: where no renewal helps, the command and all that it has started end with the claim.
    let queue = world.turno.put_queue("mails", Policy { max_hold: Some(Span(400)), ..brief }).await.unwrap();
    for (id, direct) in [("m-2", false), ("m-3", true)] {
        queue.enqueue(vec![Draft::json("hola").unwrap().id(id).unwrap()]).await.unwrap();
        let place: &[&str] = if direct { &["--database", &world.url] } else { &[] };
        let script = ["--until-empty", "--", "sh", "-c", "echo started; sleep 1000 & wait"];
        let started = shell.start(&[&["queue", "work", "mails"], place, &script].concat()).await;
        let said = started.ended().await;
        assert!(said.talk.contains("was lost"), "{said:?}");
        assert!(said.talk.contains("max_hold_ms of its queue ends it"), "the reason is told before: {said:?}");
        let record = item(&queue, id).await;
        assert_eq!(record.state(record.now), ItemState::Exhausted);
        assert_eq!(record.last_error(), Some("not settled in time"), "nothing was settled in its name");
    }
}

async fn a_worker_that_is_stopped_lets_its_command_end_or_gives_the_delivery_back(world: World) {
    let queue = queue(&world, inbox(), &["m-1"]).await;
    let folder = folder("stop");
    let sign = folder.join("go").display().to_string();
    let script = format!("echo started; until [ -e {sign} ]; do sleep 0.05; done");
    let shell = Shell::of(&world, "ana").await;
    let patient = shell.start(&["queue", "work", "mails", "--grace", "60s", "--", "sh", "-c", &script]).await;
    patient.signal("TERM").await;
    std::fs::write(&sign, "").unwrap();
    assert_eq!(patient.ended().await.code, Some(0));
    assert_eq!(state(&queue, "m-1").await, (ItemState::Processed, 1), "it was let end");

    queue.enqueue(vec![Draft::json("hola").unwrap().id("m-2").unwrap()]).await.unwrap();
    std::fs::remove_file(&sign).unwrap();
    let hurried = shell.start(&["queue", "work", "mails", "--grace", "0s", "--", "sh", "-c", &script]).await;
    hurried.signal("TERM").await;
    assert_eq!(hurried.ended().await.code, Some(0));
    assert_eq!(state(&queue, "m-2").await, (ItemState::Pending, 0), "it was given back, and the attempt taken back");
    std::fs::remove_dir_all(folder).unwrap();
}

async fn as_many_commands_run_at_once_as_were_asked_for(world: World) {
    let brief = Policy { max_hold: Some(Span(3_000)), lock_timeout: Span(3_000), max_attempts: 1, ..inbox() };
    let queue = queue(&world, brief, &["m-1", "m-2"]).await;
    let folder = folder("hands");
    // Each waits for the other's sign: one after another they would never meet.
    let meet =
        format!("touch {0}/$TURNO_FENCE; until [ $(ls {0} | wc -l) = 2 ]; do sleep 0.05; done", folder.display());
    let shell = Shell::of(&world, "ana").await;
    let words = |hands| ["queue", "work", "mails", "--until-empty", "--concurrency", hands, "--", "sh", "-c", &meet];
    shell.run(&words("2")).await.done();
    assert_eq!(queue.counts().await.unwrap().processed, 2);

    // The control: with one hand the first waits in vain.
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::create_dir_all(&folder).unwrap();
    let more = ["m-3", "m-4"].map(|id| Draft::json("hola").unwrap().id(id).unwrap());
    queue.enqueue(more.to_vec()).await.unwrap();
    shell.run(&words("1")).await.done();
    assert_eq!(queue.counts().await.unwrap().exhausted, 1, "the one that waited for the other");
    std::fs::remove_dir_all(folder).unwrap();
}

async fn a_command_that_cannot_be_run_ends_the_worker_and_keeps_the_attempt(world: World) {
    let queue = queue(&world, inbox(), &["m-1"]).await;
    let shell = Shell::of(&world, "ana").await;
    let missing = shell.run(&["queue", "work", "mails", "--", "no-such-program-anywhere"]).await;
    assert!(missing.refused(2).contains("there is no command no-such-program-anywhere"), "{missing:?}");
    assert_eq!(state(&queue, "m-1").await, (ItemState::Pending, 0));
}

async fn a_queue_that_does_not_exist_or_may_not_be_worked_ends_the_worker(world: World) {
    queue(&world, inbox(), &["m-1"]).await;
    let ana = Shell::of(&world, "ana").await;
    assert!(ana.run(&["queue", "work", "none", "--", "true"]).await.refused(1).contains("none"));
    let direct = ana.run(&["queue", "work", "none", "--database", &world.url, "--", "true"]).await;
    assert!(direct.refused(1).contains("none"));
    let vera = Shell::of(&world, "vera").await;
    assert!(vera.run(&["queue", "work", "mails", "--", "true"]).await.refused(1).contains("queues.consume"));
}

async fn a_paused_queue_is_said_to_be_one(world: World) {
    let queue = queue(&world, inbox(), &["m-1"]).await;
    let ana = Shell::of(&world, "ana").await;
    for place in [&[][..], &["--database", &world.url]] {
        let words = [&["queue", "work", "mails", "--until-empty"], place, &["--", "false"]].concat();
        queue.pause().await.unwrap();
        let said = ana.run(&words).await;
        assert!(said.code == Some(0) && said.talk.contains("mails is paused"), "{said:?}");
        assert_eq!(state(&queue, "m-1").await, (ItemState::Pending, 0));
    }
}
