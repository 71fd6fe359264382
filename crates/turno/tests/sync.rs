//! Synchronisation from a table by triggers, on a real PostgreSQL. The application changes its table over its own
//! connection, as a role without any right on Turno's tables.
//!
//! Tests are named after the sentences that they prove: sentences of the preset's specification. Comments name the ids
//! of the invariants (S1 to S12).

#![expect(clippy::unwrap_used, reason = "unwrapping is how a test says that something must be so")]

#[path = "sync/actions.rs"]
mod actions;
#[path = "sync/altered.rs"]
mod altered;
#[path = "sync/compare.rs"]
mod compare;
#[path = "sync/conditions.rs"]
mod conditions;
#[path = "sync/gone.rs"]
mod gone;
#[path = "sync/install.rs"]
mod install;
#[path = "sync/keys.rs"]
mod keys;
#[path = "sync/leave.rs"]
mod leave;
#[path = "sync/page.rs"]
mod page;
#[path = "sync/paths.rs"]
mod paths;
#[path = "sync/rights.rs"]
mod rights;
#[path = "sync/soak.rs"]
mod soak;
#[path = "sync/trigger.rs"]
mod trigger;
#[path = "sync/upsert.rs"]
mod upsert;
#[path = "sync/view.rs"]
mod view;
#[path = "sync/worker.rs"]
mod worker;

use tokio_postgres::{Client, NoTls};
use turno::core::id::{Key, QueueName};
use turno::core::queue::{Act, Kind, Policy};
use turno::core::sync::{OnLeave, Relation, Source};
use turno::core::time::Span;
use turno::queue::{Claim, Delivery, QueueHandle, Settlement};
use turno::sync::{Prepared, SyncChange, SyncHandle};
use turno::{Options, Turno};
use turno_testkit::postgres::Cluster;

const SCHEMA: &str = include_str!("../../../docs/guides/sync-siper.sql");
const VIEW: &str = "siper.cola_sincronizacion_usuarios_modulo";

/// An engine on a fresh database with the users' table, its installed source, and an application.
struct World {
    turno: Turno,
    url: String,
    /// A connection with all rights.
    sql: Client,
    /// The application: may change the users' table and nothing else.
    app: Client,
    sync: SyncHandle,
    queue: QueueHandle,
}

/// The source of `preset = "siper"`.
fn siper() -> Source {
    Source::siper()
}

fn policy() -> Policy {
    Policy { lock_timeout: Span(60_000), max_attempts: 5, backoff: Span(1_000), ..Policy::for_kind(Kind::Sync) }
}

impl World {
    async fn new() -> World {
        World::with(siper()).await
    }

    /// Without background tasks: calls take in rows themselves.
    async fn with(source: Source) -> World {
        let world = World::bare(source).await;
        world.sync.install().await.unwrap();
        world
    }

    /// Creates the table and the queue, and installs nothing.
    async fn bare(source: Source) -> World {
        let url = Cluster::for_tests().fresh_database().await;
        let turno = World::engine(&url).await;
        let sql = connect(&url, None).await;
        sql.batch_execute(SCHEMA).await.unwrap();
        let role = role(&url, "web");
        let rights = format!(
            "create role {role} login; grant usage on schema siper to {role};
             grant select, insert, update, delete, truncate on siper.usuarios to {role};"
        );
        sql.batch_execute(&rights).await.unwrap();
        let app = connect(&url, Some(&role)).await;
        let queue = turno.put_queue(source.queue.clone(), policy()).await.unwrap();
        let sync = turno.sync(source);
        World { turno, url, sql, app, sync, queue }
    }

    async fn engine(url: &str) -> Turno {
        Turno::open_with(url, Options { sweep: false, ..Options::default() }).await.unwrap()
    }

    /// Runs statements as the application.
    async fn run(&self, sql: &str) {
        self.app.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    /// Adds a principal with PG-SHA256 for each id and delivers it, so that nothing is pending.
    async fn people(&self, ids: &[i32]) {
        for id in ids {
            self.run(&person(*id)).await;
        }
        self.drain().await;
    }

    /// Returns the unfinished events from the view: key, action, state, attempts.
    async fn events(&self) -> Vec<String> {
        let sql = format!(
            "select concat_ws(' ', idper, accion, estado, intentos) from {VIEW}
             where estado not in ('PROCESADO', 'CANCELADO') order by idper"
        );
        self.sql.query(&sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
    }

    /// Asserts the events before and after they are taken in: a committed event is visible without a server.
    async fn assert_events(&self, expected: &[&str]) {
        assert_eq!(self.events().await, expected, "before the intake is read");
        self.queue.counts().await.unwrap();
        assert_eq!(self.events().await, expected, "after the intake is read");
        assert_eq!(
            self.number("select (select count(*) from turno.intake) + (select count(*) from turno.sync_mark)").await,
            0
        );
    }

    async fn claim(&self) -> Option<Delivery> {
        self.queue.claim(Claim::by("worker")).await.unwrap().pop()
    }

    /// Returns the change to send for a delivery.
    async fn change(&self, got: &Delivery) -> SyncChange {
        match self.sync.prepare(got).await.unwrap() {
            Prepared::Send(change) => change,
            other => panic!("{other:?}"),
        }
    }

    /// Delivers one event: reads the current data, sends them, acks.
    async fn deliver(&self, got: &Delivery) -> String {
        let key = got.key.clone().unwrap();
        let change = match self.sync.prepare(got).await.unwrap() {
            Prepared::Send(change) => change,
            Prepared::Nothing => {
                self.queue.settle(vec![Settlement { reference: got.reference, act: Act::Skip }]).await.unwrap();
                return format!("nothing {key}");
            }
            Prepared::Wait { error, .. } => panic!("{error}"),
        };
        self.sync.delivered(&change).await.unwrap();
        self.queue.ack([got.reference]).await.unwrap();
        let action = change.action;
        change.data.map_or(format!("{action} {key}"), |data| format!("{action} {key} {data}"))
    }

    /// Delivers all pending events and returns what was sent.
    async fn drain(&self) -> Vec<String> {
        let mut sent = Vec::new();
        while let Some(got) = self.claim().await {
            sent.push(self.deliver(&got).await);
        }
        sent.sort();
        sent
    }

    async fn fail(&self, got: &Delivery, error: &str) {
        let act = Act::Fail { error: error.to_owned(), item: None, retry_in: None, give_up: false };
        self.queue.settle(vec![Settlement { reference: got.reference, act }]).await.unwrap();
    }

    /// Lets time pass for the functions and for the engine.
    async fn advance(&self, ms: i64) {
        self.sql.execute("update turno.mark set high = turno.time_ms() + $1", &[&ms]).await.unwrap();
        self.turno.store().unwrap().peek(Vec::new()).await.unwrap();
    }

    async fn number(&self, sql: &str) -> i64 {
        self.sql.query_one(sql, &[]).await.unwrap().get(0)
    }
}

/// Returns a statement that adds a principal.
fn person(id: i32) -> String {
    user(&format!("{id}"), "PG-SHA256", true)
}

/// Returns a statement that adds a user.
fn user(id: &str, algorithm: &str, principal: bool) -> String {
    format!(
        "insert into siper.usuarios (idper, nombre, apellido, hashpass, algoritmo_pass, principal, telefono, mail)
         values ({id}, 'Nombre {id}', 'Apellido {id}', 'h{id}', '{algorithm}', {principal}, '0{id}', 'u{id}@x');"
    )
}

/// Returns the delivery of a person who was added and not changed.
fn sent(id: i32) -> String {
    format!(
        "ACTUALIZAR {id} {{\"idper\":{id},\"nombre\":\"Nombre {id}\",\"apellido\":\"Apellido {id}\",\"activo\":true,\
         \"hashpass\":\"h{id}\"}}"
    )
}

/// Returns a role name that is unique to this database, because roles belong to the whole server.
fn role(url: &str, name: &str) -> String {
    format!("{name}_{}", url.rsplit('/').next().unwrap())
}

async fn connect(url: &str, user: Option<&str>) -> Client {
    let mut config: tokio_postgres::Config = url.parse().unwrap();
    if let Some(user) = user {
        config.user(user);
    }
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

/// Returns the SQLSTATE of a refusal.
fn refused<T: std::fmt::Debug>(answer: Result<T, tokio_postgres::Error>) -> String {
    answer.expect_err("the call is refused").code().expect("the server refused the call").code().to_owned()
}
