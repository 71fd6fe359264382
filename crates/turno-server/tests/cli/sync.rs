//! `turno sync` beside a running server.

use serde_json::{Value, json};
use std::time::Duration;
use tokio_postgres::{Client, NoTls};
use turno::core::destination::DeliveryFailure;
use turno::core::id::Lane;
use turno::core::queue::Act;
use turno::queue::{Claim, Draft, Kind, Policy, Settlement};

use crate::cases;
use crate::shell::{Output, Shell};
use crate::world::World;

cases![
    BOTH: [
        without_a_source_the_error_explains_how_to_add_one,
        an_unknown_source_is_refused_with_the_known_ones,
        the_status_shows_the_state_of_the_destination,
        the_option_after_needs_one_source,
    ],
    POSTGRES: [
        the_plan_is_sql_that_a_dba_can_run,
        a_source_is_installed_shown_and_removed,
        the_status_names_a_conflicting_object_instead_of_advising_to_install,
        duplicate_principals_are_listed_and_nothing_is_installed,
        existing_rows_are_sent_and_compared,
        one_key_is_sent_again,
        a_key_that_cannot_be_queued_is_named_and_fails_the_check,
        a_failing_source_does_not_hide_the_others_and_is_named_at_the_end,
        r10_a_status_without_the_secret_fails_and_names_the_variable,
        s12_a_status_fails_for_missing_rows_exhausted_items_and_disabled_triggers,
    ],
    SQLITE: [on_sqlite_triggers_are_refused_with_an_alternative],
];

const PRESET: &str = "[[sync.source]]\npreset = \"siper\"\n";

/// Returns a shell with the preset in its configuration.
fn shell(world: &World) -> Shell {
    configured(world, "sync", PRESET)
}

/// Returns a shell with this configuration.
fn configured(world: &World, name: &str, text: &str) -> Shell {
    let port = world.server.base.rsplit(':').next().unwrap();
    let file = std::env::temp_dir().join(format!("turno-{name}-{port}.toml"));
    std::fs::write(&file, text).unwrap();
    Shell::at(world).with("TURNO_CONFIG", file.to_str().unwrap()).with("MODULE_SECRET", "hush")
}

/// Creates the users' table and returns a connection to it.
async fn users(world: &World) -> Client {
    let (client, connection) = tokio_postgres::connect(&world.url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(include_str!("../../../../docs/guides/sync-siper.sql")).await.unwrap();
    client
}

async fn add(client: &Client, idper: i32) {
    let add = include_str!("sync_user.sql");
    client.execute(add, &[&idper]).await.unwrap();
}

/// Returns the source in the JSON of `sync status`, whatever its exit code.
fn source_in(output: &Output) -> Value {
    let seen: Value = serde_json::from_str(&output.out).unwrap_or_else(|_| panic!("no JSON: {output:?}"));
    seen["sources"][0].clone()
}

async fn without_a_source_the_error_explains_how_to_add_one(world: World) {
    for command in ["plan", "install", "status", "check", "remove"] {
        let refused = Shell::at(&world).run(&["sync", command]).await;
        assert!(refused.refused(1).contains("preset = \"siper\""), "{refused:?}");
    }
}

async fn an_unknown_source_is_refused_with_the_known_ones(world: World) {
    let refused = shell(&world).run(&["sync", "status", "--source", "user"]).await;
    assert!(refused.refused(2).contains("use one of: usuarios"), "{refused:?}");
}

async fn the_status_shows_the_state_of_the_destination(world: World) {
    let shell = shell(&world);
    if !world.url.starts_with("sqlite:") {
        users(&world).await;
    }
    let queue = world.turno.put_queue("usuarios_modulo", Policy::for_kind(Kind::Sync)).await.unwrap();
    let well = shell.run(&["sync", "status"]).await;
    assert!(
        well.out.contains("http://127.0.0.1:9000/usuarios/{key}") && well.out.contains("no failures known"),
        "{well:?}"
    );
    // Three calls in a row fail for more than one key, so the whole destination is down.
    for (lane, output) in [(1, "the last call failed"), (2, "the last 2 calls failed"), (3, "down for")] {
        let (of, error) = (Lane(lane), "HTTP 503".to_owned());
        let failure = DeliveryFailure { of, handed_at: world.turno.now(), error, unreached: false, round_began: None };
        queue.destination_failed(&failure, Duration::from_secs(600)).await.unwrap();
        let card = shell.run(&["sync", "status"]).await;
        assert!(card.out.contains(output) && card.out.contains("HTTP 503"), "{output}: {card:?}");
    }
    let source = source_in(&shell.run(&["sync", "status", "--json"]).await);
    let destination = &source["destination"];
    assert_eq!((&destination["down"], &destination["failures"]), (&json!(true), &json!(3)));
    assert!(destination["down_since"].is_string() && destination["next_probe_at"].is_string(), "{destination}");
    assert_eq!(destination["last_error"], "HTTP 503");
    assert_eq!(destination["url"], "http://127.0.0.1:9000/usuarios/{key}", "the URL is complete, for programs");
    assert!(destination["summary"].as_str().unwrap().starts_with("PUT http://127.0.0.1:9000/"), "{destination}");
}

async fn the_option_after_needs_one_source(world: World) {
    let second = "[[sync.source]]\npreset = \"siper\"\nname = \"otros\"\nqueue = \"otros\"\ntrigger = \"tr_otros\"\n";
    let second = format!("{second}view = \"siper.cola_otros\"\n");
    let shell = configured(&world, "two", &format!("{PRESET}\n{second}"));
    for command in [&["sync", "check", "--after", "2"][..], &["sync", "resync", "--all", "--after", "2"]] {
        let refused = shell.run(command).await;
        assert!(refused.refused(2).contains("--source NAME"), "{refused:?}");
    }
}

async fn the_plan_is_sql_that_a_dba_can_run(world: World) {
    let (shell, client) = (shell(&world), users(&world).await);
    let plan = shell.run(&["sync", "plan"]).await;
    assert!(plan.done().contains("tr_sincro_usuarios_modulo_global"), "{plan:?}");
    let absent = shell.run(&["sync", "status", "--json"]).await;
    assert_eq!((absent.code, &source_in(&absent)["installed"]), (Some(1), &json!("absent")), "a plan changes nothing");
    client.batch_execute(plan.done()).await.unwrap();
    let status = shell.run(&["sync", "status", "--json"]).await.json();
    assert_eq!(status["sources"][0]["installed"], "installed", "{status}");
}

async fn a_source_is_installed_shown_and_removed(world: World) {
    let (shell, client) = (shell(&world), users(&world).await);
    let absent = shell.run(&["sync", "status"]).await;
    assert!(absent.refused(1).contains("its triggers are not installed"), "{absent:?}");
    assert!(absent.out.contains("no: run `turno sync install`"), "{absent:?}");
    for _ in 0..2 {
        let installed = shell.run(&["sync", "install"]).await;
        assert_eq!(installed.done(), "");
        assert!(installed.talk.contains("siper.usuarios go into the queue usuarios_modulo"), "{installed:?}");
    }
    add(&client, 42).await;
    let status = shell.run(&["sync", "status", "--json"]).await.json();
    let source = &status["sources"][0];
    assert_eq!((&source["name"], &source["installed"]), (&json!("usuarios"), &json!("installed")));
    assert_eq!((&source["waiting"], &source["exhausted"]), (&json!(1), &json!(0)));
    assert!(source["oldest_waiting_ms"].as_i64().is_some() && source["parts"].as_array().unwrap().len() == 5);
    let card = shell.run(&["sync", "status"]).await;
    assert!(card.done().contains("yes, as configured") && card.out.contains("waiting"), "{card:?}");
    let removed = shell.run(&["sync", "remove", "--json"]).await.json();
    assert_eq!(removed["sources"][0]["removed"].as_array().unwrap().len(), 5, "{removed}");
    let again = shell.run(&["sync", "remove"]).await;
    assert!(again.done().is_empty() && again.talk.contains("not installed"), "{again:?}");
}

async fn the_status_names_a_conflicting_object_instead_of_advising_to_install(world: World) {
    let (shell, client) = (shell(&world), users(&world).await);
    let theirs = "create table siper.cola_sincronizacion_usuarios_modulo (id int)";
    client.batch_execute(theirs).await.unwrap();
    world.turno.put_queue("usuarios_modulo", Policy::for_kind(Kind::Sync)).await.unwrap();
    let cause = "table siper.cola_sincronizacion_usuarios_modulo exists already and is not of this source";
    let card = shell.run(&["sync", "status"]).await;
    assert!(card.refused(1).contains(cause), "{card:?}");
    assert!(card.out.contains("no, and `turno sync install` refuses") && card.out.contains(cause), "{card:?}");
    assert!(card.out.contains("choose another name in the source"), "{card:?}");
    assert!(!card.out.contains("is missing"), "a missing part is not reported: {card:?}");
    let spanish = configured(&world, "sync", PRESET).with("TURNO_LANG", "es").run(&["sync", "status"]).await;
    assert!(spanish.out.contains("la tabla siper.cola_sincronizacion_usuarios_modulo ya existe"), "{spanish:?}");
    assert!(spanish.out.contains("qué hacer") && spanish.out.contains("elija otro nombre en la fuente"), "{spanish:?}");
    let source = source_in(&shell.run(&["sync", "status", "--json"]).await);
    assert_eq!((&source["installed"], &source["problem"]), (&json!("blocked"), &json!(cause)), "{source}");
    assert!(shell.run(&["sync", "install"]).await.refused(1).contains(cause), "install has the same cause");
    client.batch_execute("drop table siper.cola_sincronizacion_usuarios_modulo").await.unwrap();
    shell.run(&["sync", "install"]).await.done();
}

async fn duplicate_principals_are_listed_and_nothing_is_installed(world: World) {
    let (shell, client) = (shell(&world), users(&world).await);
    add(&client, 7).await;
    add(&client, 7).await;
    let refused = shell.run(&["sync", "install"]).await;
    let output = refused.refused(1);
    assert!(
        output.contains("more than one current row for 1 key of siper.usuarios, with the number of rows: 7 (2)"),
        "{output}"
    );
    assert!(output.contains("one_current_per_key = false"), "{output}");
    assert_eq!(source_in(&shell.run(&["sync", "status", "--json"]).await)["installed"], "absent");
}

async fn existing_rows_are_sent_and_compared(world: World) {
    let (shell, client) = (shell(&world), users(&world).await);
    for idper in [1, 2, 3] {
        add(&client, idper).await;
    }
    shell.run(&["sync", "install"]).await.done();
    let missing = shell.run(&["sync", "check"]).await;
    assert!(
        missing.refused(1).contains("3 keys differ") && missing.out.contains("usuarios  missing  1"),
        "{missing:?}"
    );
    let sent = shell.run(&["sync", "resync", "--all", "--json"]).await.json();
    assert_eq!(sent["sources"][0], json!({ "name": "usuarios", "keys": 3, "queued": 3, "unfit": 0, "unfit_keys": [] }));
    let checked = shell.run(&["sync", "check", "--queue-differences", "--json"]).await.json();
    assert_eq!((&checked["sources"][0]["differing"], &checked["sources"][0]["keys"]), (&json!(0), &json!(3)));
    assert_eq!(checked["sources"][0]["on_its_way"], 3);
    let output = shell.run(&["sync", "check"]).await;
    assert!(
        output.done().is_empty()
            && output.talk.contains("3 keys are still being delivered\n")
            && output.talk.contains("nothing else differs"),
        "{output:?}"
    );
    for source in [&["--source", "usuarios"][..], &[]] {
        let words = [&["sync", "resync", "--all", "--after", "2", "--json"], source].concat();
        let rest = shell.run(&words).await.json();
        assert_eq!(rest["sources"][0]["keys"], 1, "after a key; the only source needs no name");
    }
    let neither = shell.run(&["sync", "resync"]).await;
    assert_eq!(neither.code, Some(2), "{neither:?}");
}

async fn one_key_is_sent_again(world: World) {
    let (shell, _client) = (shell(&world), users(&world).await);
    shell.run(&["sync", "install"]).await.done();
    let sent = shell.run(&["sync", "resync", "--key", "42"]).await;
    assert!(sent.done().is_empty() && sent.talk.contains("42 is queued"), "{sent:?}");
    let queue = world.turno.queue("usuarios_modulo").await.unwrap();
    let got = queue.claim(Claim::by("worker")).await.unwrap();
    assert_eq!(got[0].key.as_ref().unwrap().as_str(), "42");
}

async fn a_key_that_cannot_be_queued_is_named_and_fails_the_check(world: World) {
    let client = users(&world).await;
    let shell =
        configured(&world, "unfit", "[[sync.source]]\npreset = \"siper\"\nkey = \"mail\"\nenqueue_when = \"true\"\n");
    for mail in ["a@x", "two\nlines"] {
        let add = "insert into siper.usuarios (nombre, apellido, principal, mail) values ('a', 'b', true, $1)";
        client.execute(add, &[&mail]).await.unwrap();
    }
    shell.run(&["sync", "install"]).await.done();
    let offered = shell.run(&["sync", "check"]).await;
    let output = offered.refused(1);
    assert!(
        output.contains("1 key differs") && output.contains("--queue-differences"),
        "the key that can be queued: {output}"
    );
    assert!(output.contains(r#"1 key cannot be queued: "two\nlines""#), "{output}");
    let checked = shell.run(&["sync", "check", "--queue-differences"]).await;
    let output = checked.refused(1);
    assert!(
        output.contains("1 key differs; queued") && output.contains(r#"1 key cannot be queued: "two\nlines""#),
        "{output}"
    );
    let again = shell.run(&["sync", "resync", "--all"]).await;
    assert!(again.refused(1).contains("1 key cannot be queued"), "{again:?}");
    let nothing = shell.run(&["sync", "check"]).await;
    let output = nothing.refused(1);
    assert!(
        output.contains("1 key cannot be queued") && !output.contains("--queue-differences"),
        "queueing would fail: {output}"
    );
}

async fn a_failing_source_does_not_hide_the_others_and_is_named_at_the_end(world: World) {
    let client = users(&world).await;
    let broken =
        "[[sync.source]]\nname = \"rota\"\nqueue = \"rota\"\ntable = \"siper.nadie\"\nkey = \"id\"\nwatch = [\"a\"]\n";
    let shell = configured(&world, "broken", &format!("{broken}{PRESET}"));
    let installed = shell.run(&["sync", "install"]).await;
    let output = installed.refused(1);
    assert!(
        output.contains("rota: there is no table siper.nadie") && output.contains("1 of 2 sources failed: rota"),
        "{output}"
    );
    add(&client, 42).await;
    let plan = shell.run(&["sync", "plan"]).await;
    assert!(plan.out.contains("tr_sincro_usuarios_modulo_global"), "the valid source is printed: {plan:?}");
    assert!(plan.refused(1).contains("rota: there is no table siper.nadie"), "the failed source is named: {plan:?}");
    let status = shell.run(&["sync", "status", "--json"]).await;
    let seen: serde_json::Value = serde_json::from_str(&status.out).unwrap();
    assert_eq!((status.code, &seen["sources"][1]["installed"]), (Some(1), &json!("installed")), "{status:?}");
    assert_eq!(seen["sources"][0]["problem"], "there is no table siper.nadie");
    let checked = shell.run(&["sync", "check", "--queue-differences"]).await;
    assert!(checked.refused(1).contains("1 of 2 sources failed: rota"), "{checked:?}");
    assert!(checked.talk.contains("usuarios: 1 key,"), "the other source was compared: {checked:?}");
}

async fn on_sqlite_triggers_are_refused_with_an_alternative(world: World) {
    let shell = shell(&world);
    let queue = world.turno.put_queue("usuarios_modulo", Policy::for_kind(Kind::Sync)).await.unwrap();
    queue.enqueue(vec![Draft::json("x").unwrap().key("42").unwrap()]).await.unwrap();
    for words in [&["plan"][..], &["install"], &["remove"], &["check"], &["resync", "--all"], &["resync", "--key", "4"]]
    {
        let refused = shell.run(&[&["sync"], words].concat()).await;
        let output = refused.refused(1);
        assert!(output.contains("triggers need PostgreSQL") && output.contains("turno queue enqueue"), "{output}");
    }
    let status = shell.run(&["sync", "status", "--json"]).await;
    let source = source_in(&status);
    assert_eq!((&source["installed"], &source["waiting"]), (&json!("no_triggers"), &json!(1)));
    assert_eq!((&source["left"], &source["gone"]), (&json!(0), &json!(0)));
    let output = status.refused(1);
    assert!(output.contains("triggers need PostgreSQL"), "a source without triggers is a failure: {output}");
}

async fn r10_a_status_without_the_secret_fails_and_names_the_variable(world: World) {
    let (shell, _client) = (shell(&world), users(&world).await);
    shell.run(&["sync", "install"]).await.done();
    shell.run(&["sync", "status"]).await.done();
    let shell = shell.without("MODULE_SECRET");
    let output = shell.run(&["sync", "status"]).await;
    assert!(
        output.refused(1).contains("the variable MODULE_SECRET, which is to sign deliveries, is not set"),
        "{output:?}"
    );
    let source = source_in(&shell.run(&["sync", "status", "--json"]).await);
    assert_eq!(source["problems"].as_array().map(Vec::len), Some(1), "{source}");
    // Without a destination the source is complete: workers claim from its queue.
    let workers = "[[sync.source]]\nname = \"usuarios\"\nqueue = \"usuarios_modulo\"\ntable = \"siper.usuarios\"\nkey = \"idper\"\n\
                   watch = [\"nombre\"]\n";
    let shell = configured(&world, "workers", workers).without("MODULE_SECRET");
    shell.run(&["sync", "install"]).await.done();
    assert!(shell.run(&["sync", "status"]).await.done().contains("workers claim the changes from the queue"));
}

/// Delivers every waiting item of the source's queue, as a destination would.
async fn delivered(world: &World) {
    let sync = world.turno.sync(turno::core::sync::Source::siper());
    let queue = world.turno.queue("usuarios_modulo").await.unwrap();
    while let Some(got) = queue.claim(Claim::by("worker")).await.unwrap().pop() {
        let turno::sync::Prepared::Send(change) = sync.prepare(&got).await.unwrap() else { panic!("{got:?}") };
        sync.delivered(&change).await.unwrap();
        queue.ack([got.reference]).await.unwrap();
    }
}

async fn s12_a_status_fails_for_missing_rows_exhausted_items_and_disabled_triggers(world: World) {
    let (shell, client) = (shell(&world), users(&world).await);
    shell.run(&["sync", "install"]).await.done();
    for idper in [1, 2, 3] {
        add(&client, idper).await;
    }
    delivered(&world).await;
    let status = async || shell.run(&["sync", "status", "--json"]).await;
    let counted =
        |output: &Output| ["left", "gone", "exhausted", "refused"].map(|name| source_in(output)[name].as_i64());
    let output = status().await;
    assert_eq!((output.code, counted(&output)), (Some(0), [Some(0); 4]), "{output:?}");
    client.batch_execute("update siper.usuarios set algoritmo_pass = 'MD5' where idper = 1").await.unwrap();
    let output = status().await;
    assert_eq!(
        (output.code, counted(&output)[0]),
        (Some(0), Some(1)),
        "a key that left as configured is no failure: {output:?}"
    );
    let missed = "set session_replication_role = replica; delete from siper.usuarios where idper = 2; reset session_replication_role";
    client.batch_execute(missed).await.unwrap();
    let output = status().await;
    assert_eq!((output.code, counted(&output)[1]), (Some(1), Some(1)), "{output:?}");
    assert!(output.refused(1).contains("active at the destination, without a row: 1 key"), "{output:?}");
    let card = shell.run(&["sync", "status"]).await;
    assert!(card.out.contains("1 key is active at the destination without a row"), "{card:?}");
    shell.run(&["sync", "check", "--queue-differences"]).await;
    let output = status().await;
    assert_eq!((output.code, counted(&output)[1]), (Some(0), Some(0)), "its deactivation is queued: {output:?}");
    let queue = world.turno.queue("usuarios_modulo").await.unwrap();
    let got = queue.claim(Claim::by("worker")).await.unwrap().remove(0);
    let act = Act::Fail { error: "HTTP 500".to_owned(), item: None, retry_in: None, give_up: true };
    queue.settle(vec![Settlement { reference: got.reference, act }]).await.unwrap();
    let output = status().await;
    assert!(output.refused(1).contains("exhausted: 1 key"), "{output:?}");
    assert_eq!(counted(&output)[2], Some(1));
    let worker = shell.run(&["sync", "status"]).await;
    assert!(worker.talk.contains("turno queue retry-exhausted usuarios_modulo"), "{worker:?}");
    queue.retry_exhausted(None, 10).await.unwrap();
    delivered(&world).await;
    assert_eq!(status().await.code, Some(0), "the status is good again");
    client.batch_execute("alter table siper.usuarios disable trigger tr_sincro_usuarios_modulo_global").await.unwrap();
    let output = status().await;
    assert!(output.refused(1).contains("its triggers are not as configured"), "{output:?}");
}
