//! The story that the examples tell: an administrator sets up the server, people share a cash desk and a task, and
//! programs share queues.

mod leases;
mod people;
mod queues;
mod tasks;

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use turno::Options;
use turno::access::{NewPerson, NewToken, Role};
use turno::clock::{Clock, Manual};
use turno::core::queue::{Kind, Policy};
use turno::core::sync::Source;
use turno::core::time::{Span, Time};
use turno_testkit::postgres::Cluster;

use super::recorder::{Call, Recorder};
use crate::config::sync::SyncSource;
use crate::database;
use crate::http::openapi::tests::{document, operations, sorted};
use crate::http::testing::Bench;

/// 2026-01-15, 10:30 in UTC.
const BEGIN: Time = Time(1_768_473_000_000);

/// The tokens of the people of the story.
struct Cast {
    /// An editor.
    ana: String,
    /// Another editor.
    leo: String,
    /// The administrator.
    eva: String,
}

/// Run with `TURNO_UPDATE_OPENAPI=1` to record the calls.
#[tokio::test]
async fn recorded_examples_are_what_a_server_answers() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http/openapi/examples.json");
    let recorded = format!("{:#}\n", sorted(play().await));
    if std::env::var_os("TURNO_UPDATE_OPENAPI").is_some() {
        std::fs::write(&file, &recorded).expect("the file is written");
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    let differs = committed.lines().zip(recorded.lines()).enumerate().find(|(_, (old, new))| old != new);
    assert!(
        committed == recorded,
        "examples.json is not what a server answers: {differs:?}; run the tests of `openapi` with TURNO_UPDATE_OPENAPI=1 \
         twice: the second run puts the new examples into openapi.json"
    );
}

#[test]
fn every_operation_has_an_example() {
    let document = document();
    for (name, operation) in operations(&document) {
        assert!(super::recorded().get(operation["operationId"].as_str().expect("an id")).is_some(), "{name}");
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let is_given = parameter["in"] != "path" || !parameter["example"].is_null();
            assert!(is_given, "{name}: {}", parameter["name"]);
        }
        let body = operation.get("requestBody").map(|body| &body["content"]["application/json"]["example"]);
        assert!(body.is_none_or(|example| !example.is_null()), "{name}: the body");
        let answers = operation["responses"].as_object().expect("the operation has answers").iter();
        let mut answers = answers.filter(|(status, _)| *status != "default").map(|(_, answer)| &answer["content"]);
        let shows = |content: &Value| match content.as_object().and_then(|kinds| kinds.iter().next()) {
            // An empty answer and a page for people need no example.
            None => true,
            Some((kind, content)) => kind == "text/html" || !content["example"].is_null(),
        };
        assert!(answers.any(shows), "{name}: the answer");
    }
}

async fn play() -> Value {
    // Installed before the first call, because a metric that is set earlier is lost.
    crate::figures::installed();
    let url = Cluster::for_tests().fresh_database().await;
    let time = Manual::starting_at(BEGIN);
    let options = Options { clock: Arc::new(Clock::manual(time.clone())), sweep: false, ..Options::default() };
    let database = database::open_with(&url, options).await.expect("the database opens");
    let source = Source::siper();
    let turno = database.turno.clone();
    let bench = Bench::on(database, |app| {
        let probe = Span::from_secs(30);
        app.sync_sources = vec![SyncSource { source: source.clone(), probe, deliver: None, deliver_is_presets: false }];
    });
    let mut recorder = Recorder::new(bench, time);
    people::set_up(&mut recorder).await;
    let mut secrets = Vec::new();
    for (id, name, role) in [("ana", "Ana Pérez", Role::Editor), ("leo", "Leo Díaz", Role::Editor)] {
        turno.add_person(NewPerson::new(id, name, role).expect("a valid person")).await.expect("the person is added");
    }
    for id in ["ana", "leo", "eva"] {
        let token = NewToken::for_user(id).expect("a valid user");
        secrets.push(turno.create_token(token).await.expect("the token is created").1);
    }
    let [ana, leo, eva] = <[String; 3]>::try_from(secrets).expect("three tokens");
    let cast = Cast { ana, leo, eva };
    people::manage(&mut recorder, &cast).await;
    leases::play(&mut recorder, &cast).await;
    // The events of the cash desk, read after a lost connection.
    let events = Call::new("events_get").with("topics", "leases").with("last_event_id", "18");
    recorder.call(events.by(&cast.ana)).await;
    tasks::play(&mut recorder, &cast).await;
    queues::play(&mut recorder, &cast).await;
    synchronise(&mut recorder, &cast, &url, &source).await;
    operate(&mut recorder, &cast).await;
    recorder.finish()
}

/// Installs a source, changes a row of its table, and sends a key again.
async fn synchronise(recorder: &mut Recorder, cast: &Cast, url: &str, source: &Source) {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.expect("PostgreSQL answers");
    tokio::spawn(connection);
    client.batch_execute(include_str!("../../../../../../docs/guides/sync-siper.sql")).await.expect("the table");
    let turno = recorder.bench.app.trusted().clone();
    let policy = Policy::for_kind(Kind::Sync);
    turno.put_queue(source.queue.clone(), policy).await.expect("the queue is created");
    turno.sync(source.clone()).install().await.expect("the triggers are installed");
    let resync = json!({ "key": "42", "reason": "the module was restored from a backup" });
    recorder.call(Call::new("source_resync").with("name", "usuarios").body(resync).by(&cast.eva)).await;
    recorder.call(Call::new("source_get").with("name", "usuarios").by(&cast.ana)).await;
    recorder.call(Call::new("source_list").with("limit", 10).by(&cast.ana)).await;
}

async fn operate(recorder: &mut Recorder, cast: &Cast) {
    let audit = Call::new("audit_list").with("action", "lock_force_claim").with("limit", 1);
    recorder.call(audit.by(&cast.eva)).await;
    recorder.call(Call::new("audit_verify").by(&cast.eva)).await;
    for operation in ["alive", "ready"] {
        recorder.call(Call::new(operation)).await;
    }
    recorder.call(Call::new("figures_get").by(&cast.ana)).await;
}
