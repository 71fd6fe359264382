//! The self-check finds nothing in an intact database, even in one in use, and finds every kind of planted corruption.

#![expect(clippy::unwrap_used, reason = "a test without the harness is a test all the same")]

#[path = "check/repair.rs"]
mod repair;

use libtest_mimic::{Arguments, Failed, Trial};
use turno::Turno;
use turno::access::{NewPerson, NewToken, Role};
use turno::core::id::{Instance, Sku};
use turno::core::lease::{Action, Holder};
use turno::core::queue::Act;
use turno::core::task::{self, Goods, Movement, NewLine};
use turno::core::time::Span;
use turno::queue::{Claim, Draft, Kind, Policy, QueueHandle, Settlement};
use turno::store::{Check, Sequenced};
use turno::task::NewTask;
use turno_testkit::conformance::{Backend, World};

/// Corruptions to plant, each with the check that must find it. `turno.` is the schema on PostgreSQL.
const PLANTED: &[(&str, &str)] = &[
    ("check_fence_reused", "update turno.lease set fence = 1 where fence is not null"),
    ("check_fence_ahead", "update turno.lease set fence = 9007199254740990 where resource = 'r'"),
    ("check_history_overlap", "update turno.lease_history set locked_at = 0 where resource = 'r'"),
    (
        "check_heads",
        "update turno.hot set ready_at = 1 where lane is not null and seq in (select seq from turno.body where key = 'waits')",
    ),
    (
        "check_deliveries",
        "update turno.hot set ready_at = 1 where expires_at is null and seq in (select seq from turno.body where key = 'runs')",
    ),
    (
        "check_groups",
        "update turno.hot set size = 2 where expires_at is not null and seq in (select seq from turno.body where key = 'runs')",
    ),
    (
        "check_finished_twice",
        "insert into turno.done (seq, queue, ended, at, attempt, fence, revision)
         select seq, queue, 0, 1, 1, fence, revision from turno.hot where seq = (select min(seq) from turno.hot)",
    ),
    ("check_lost", "delete from turno.hot where seq = (select min(seq) from turno.hot)"),
    ("check_conditions", "update turno.hot set ready_at = 1 where expires_at is not null and lane is null"),
    ("check_errors_kept", "delete from turno.attempt_error"),
    ("check_stuck", "update turno.hot set ready_at = null where lane is null and ready_at is not null"),
    ("check_sync_doubles", "update turno.body set key = 'same' where action = 'sync'"),
    ("check_revisions", "update turno.hot set handed = revision + 1 where seq = (select min(seq) from turno.hot)"),
    ("check_moves", "update turno.task_line set status = 'failed' where number = 1"),
    ("check_fences_of_lines", "update turno.task_line set applied_fence = applied_fence + 1 where number = 1"),
    ("check_stock", "update turno.stock set quantity = quantity + 1"),
    ("check_positions", "delete from turno.event_log where pos = 3"),
    ("check_secrets", "update turno.token set hash = turno.short"),
];

fn main() {
    let mut trials = Vec::new();
    for (prefix, backend) in [("sqlite", Backend::Sqlite), ("postgres", Backend::Postgres)] {
        for (check, sql) in PLANTED {
            let name = format!("{prefix}::planted_corruption_is_found_by_{check}");
            trials.push(trial(name, move || assert_found(backend, check, sql)));
        }
        let name = format!("{prefix}::an_altered_entry_of_the_audit_is_found");
        trials.push(trial(name, move || assert_tampering_is_found(backend)));
        let name = format!("{prefix}::checking_a_database_in_use_finds_nothing");
        trials.push(trial(name, move || assert_intact_in_use(backend)));
        trials.extend(repairs(prefix, backend));
    }
    trials.push(Trial::test("every_check_has_a_planted_corruption", || {
        let missing: Vec<_> =
            Check::ALL.iter().filter(|check| !PLANTED.iter().any(|(planted, _)| *planted == check.statement)).collect();
        if missing.is_empty() { Ok(()) } else { Err(Failed::from(format!("{missing:?}"))) }
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn repairs(prefix: &str, backend: Backend) -> Vec<Trial> {
    let damaged = |shape: &'static repair::Shape| {
        let claim = "a_damaged_lane_is_found_and_repaired_and_drains_in_order";
        let name = format!("{prefix}::{claim}::{}", shape.name);
        trial(name, move || repair::a_damaged_lane_is_found_and_repaired_and_drains_in_order(backend, *shape))
    };
    let mut trials: Vec<Trial> = repair::SHAPES.iter().map(damaged).collect();
    let name = |claim: &str| format!("{prefix}::{claim}");
    trials.push(trial(name("a_repair_reaches_running_instances"), move || {
        repair::a_repair_reaches_running_instances(backend)
    }));
    trials.push(trial(name("an_inbox_item_that_is_not_ready_is_repaired"), move || {
        repair::an_inbox_item_that_is_not_ready_is_repaired(backend)
    }));
    trials.push(trial(name("a_lane_without_a_head_is_found_beside_an_exhausted_item"), move || {
        repair::a_lane_without_a_head_is_found_beside_an_exhausted_item(backend)
    }));
    trials.push(trial(name("two_unfinished_items_of_a_sync_key_are_merged"), move || {
        repair::two_unfinished_items_of_a_sync_key_are_merged(backend)
    }));
    trials
}

fn trial<F>(name: String, run: impl FnOnce() -> F + Send + 'static) -> Trial
where
    F: Future<Output = ()>,
{
    Trial::test(name, move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        runtime.block_on(run());
        Ok(())
    })
}

/// Runs statements directly on the database.
async fn plant(world: &World, sql: &str) {
    if let Some(path) = world.url().strip_prefix("sqlite:") {
        let sql = sql
            .replace("turno.short", "x'00'")
            .replace("event_log where pos", "event_in where n")
            .replace("turno.", "");
        rusqlite::Connection::open(path).unwrap().execute_batch(&sql).unwrap();
        return;
    }
    let (client, connection) = tokio_postgres::connect(world.url(), tokio_postgres::NoTls).await.unwrap();
    let connection = tokio::spawn(connection);
    client.batch_execute(&sql.replace("turno.short", "decode('00', 'hex')")).await.unwrap();
    drop(client);
    drop(connection.await);
}

async fn findings(turno: &Turno) -> Vec<(&'static str, String)> {
    let mut last = 0;
    let found = turno.check(|progress| last = progress.done).await.unwrap();
    assert_eq!(last, Check::ALL.len() + 1, "progress is reported to its end");
    found
        .into_iter()
        .map(|finding| (finding.invariant, format!("{}: {:?}", finding.subject, finding.problem)))
        .collect()
}

async fn assert_found(backend: Backend, statement: &str, sql: &str) {
    let world = World::on(backend).await;
    fill(&world).await;
    assert_eq!(findings(&world.turno).await, [], "intact before");
    plant(&world, sql).await;
    let found = findings(&world.turno).await;
    let check = Check::ALL.into_iter().find(|check| check.statement == statement).unwrap();
    assert!(found.iter().any(|(invariant, _)| *invariant == check.invariant), "{check:?} not among {found:?}");
}

async fn assert_tampering_is_found(backend: Backend) {
    let world = World::on(backend).await;
    fill(&world).await;
    match backend {
        Backend::Sqlite => plant(&world, "drop trigger audit_is_final").await,
        Backend::Postgres => plant(&world, "alter table turno.audit disable trigger user").await,
    }
    plant(&world, "update turno.audit set actor = 'nadie' where n = 2").await;
    let found = findings(&world.turno).await;
    assert_eq!(found, [("U2", ": AuditBroken(Altered(2))".to_owned())]);
}

/// Fills the database: ended and live leases, items in every state, a task with stock, a token, events.
async fn fill(world: &World) {
    let turno = &world.turno;
    for user in ["ana", "luis", "eva"] {
        let action = Action::ForceClaim { reason: "turno".to_owned(), fence: None };
        turno.lease_command(turno.command("r", user, action).unwrap()).await.unwrap();
        world.advance(1_000);
    }
    let plain = |kind| Policy { window: Span::ZERO, batch_max: 1, max_attempts: 1, ..Policy::for_kind(kind) };
    let lane = turno.put_queue("lane", plain(Kind::Lane)).await.unwrap();
    push(&lane, &[("1", "runs"), ("2", "runs")]).await;
    take(&lane).await;
    push(&lane, &[("3", "waits"), ("4", "waits"), ("5", "waits")]).await;
    let inbox = turno.put_queue("inbox", plain(Kind::Inbox)).await.unwrap();
    push(&inbox, &[("1", "k"), ("2", "k"), ("3", "k"), ("4", "k")]).await;
    let first = take(&inbox).await;
    inbox.ack([first]).await.unwrap();
    let reference = take(&inbox).await;
    let act = Act::Fail { error: "no".to_owned(), item: None, retry_in: None, give_up: true };
    inbox.settle(vec![Settlement { reference, act }]).await.unwrap();
    take(&inbox).await;
    let sync = turno.put_queue("sync", plain(Kind::Sync)).await.unwrap();
    let draft = |key: &str| Draft { action: Some("sync".to_owned()), ..Draft::json(key).unwrap().key(key).unwrap() };
    sync.enqueue(vec![draft("a"), draft("b")]).await.unwrap();
    // A newer change while the older one is handed out.
    take(&sync).await;
    sync.enqueue(vec![draft("a")]).await.unwrap();
    let who = Holder { instance: Some(Instance::new("i").unwrap()), ..turno.holder(None) };
    let line = |movement, quantity| NewLine { movement, sku: Sku::new("x").unwrap(), goods: Goods::Quantity(quantity) };
    let lines = vec![line(Movement::In, 5), line(Movement::Out, 2)];
    let id = turno.create_task(who.clone(), NewTask::titled("t").lines(lines).ready()).await.unwrap().id();
    let claim = task::Action::Lease(Action::Claim { ttl: None, wait: false });
    let fence = turno.task_command(Some(id), who.clone(), claim).await.unwrap().lease.grant.unwrap().fence;
    turno.task_finalize(id, who, fence).await.unwrap().answer.unwrap();
    turno.add_person(NewPerson::new("ana", "Ana", Role::Admin).unwrap()).await.unwrap();
    turno.create_token(NewToken::for_user("ana").unwrap()).await.unwrap();
    while let Sequenced::Full(_) | Sequenced::Busy = turno.store().unwrap().sequence().await.unwrap() {}
}

async fn push(queue: &QueueHandle, items: &[(&str, &str)]) {
    let draft = |(id, key): &(&str, &str)| Draft::json(id).unwrap().id(id).unwrap().key(key).unwrap();
    queue.enqueue(items.iter().map(draft).collect()).await.unwrap();
}

async fn take(queue: &QueueHandle) -> turno::core::queue::DeliveryRef {
    queue.claim(Claim::by("w")).await.unwrap()[0].reference
}

/// Checks repeatedly while two instances work.
async fn assert_intact_in_use(backend: Backend) {
    let world = World::on(backend).await;
    let other = world.instance().await;
    let policy = Policy { window: Span::ZERO, batch_max: 3, ..Policy::for_kind(Kind::Lane) };
    let queue = world.turno.put_queue("lane", policy).await.unwrap();
    let mut work = tokio::task::JoinSet::new();
    for (n, turno) in [world.turno.clone(), other].into_iter().enumerate() {
        let queue = turno.queue(queue.row().await.unwrap().name.clone()).await.unwrap();
        work.spawn(async move {
            for round in 0..40 {
                push(
                    &queue,
                    &[(&format!("{n}-{round}-a"), "k"), (&format!("{n}-{round}-b"), &format!("k{}", round % 3))],
                )
                .await;
                let got = queue.claim(Claim::by("w").max(2)).await.unwrap();
                queue.ack(got.iter().map(|got| got.reference)).await.unwrap();
                let take = Action::ForceClaim { reason: "x".to_owned(), fence: None };
                turno.lease_command(turno.command("r", &format!("u{n}"), take).unwrap()).await.unwrap();
            }
        });
    }
    while !work.is_empty() {
        assert_eq!(findings(&world.turno).await, []);
        while let Some(done) = work.try_join_next() {
            done.unwrap();
        }
    }
    assert_eq!(findings(&world.turno).await, []);
    repair::repairing_an_intact_database_changes_nothing(&world.turno).await;
}
