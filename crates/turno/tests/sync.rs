//! Synchronisation from a table by triggers, on a real PostgreSQL: the application changes its table over a connection of
//! its own, as a role that has no right on anything of Turno's.
//!
//! Tests are named after the sentences that they prove: those of the specification of the users' queue, and the ids of
//! the promises (S1 to S10) in their comments.

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
#[path = "sync/upsert.rs"]
mod upsert;
#[path = "sync/view.rs"]
mod view;

use tokio_postgres::{Client, NoTls};
use turno::core::id::{Key, QueueName};
use turno::core::queue::{Act, Kind, Policy};
use turno::core::sync::{OnLeave, Relation, Say, Source};
use turno::core::time::Span;
use turno::{Got, Options, QueueHandle, Settlement, SyncHandle, Turno};
use turno_testkit::postgres::Cluster;

const SCHEMA: &str = include_str!("../../../docs/guides/sync-siper.sql");
const VIEW: &str = "siper.cola_sincronizacion_usuarios_modulo";

/// An engine on a fresh database with the users' table, its source installed, and an application.
struct World {
    turno: Turno,
    url: String,
    /// Somebody who can look at everything.
    sql: Client,
    /// The application: may do anything with the users, and nothing else.
    app: Client,
    sync: SyncHandle,
    queue: QueueHandle,
}

/// The source of `preset = "siper"`.
fn siper() -> Source {
    Source::siper()
}

fn policy() -> Policy {
    Policy { lock_timeout: Span(60_000), max_attempts: 5, backoff: Span(1_000), ..Policy::of(Kind::Sync) }
}

impl World {
    async fn new() -> World {
        World::with(siper()).await
    }

    /// Nothing happens by itself: whoever asks takes in.
    async fn with(source: Source) -> World {
        let world = World::bare(source).await;
        world.sync.install().await.unwrap();
        world
    }

    /// The table and the queue are there, and nothing is installed.
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

    /// The application runs statements.
    async fn run(&self, sql: &str) {
        self.app.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    /// Adds a principal of PG-SHA256 for each id, and delivers that, so that nothing is left to do.
    async fn people(&self, ids: &[i32]) {
        for id in ids {
            self.run(&person(*id)).await;
        }
        self.drain().await;
    }

    /// The unfinished events as people of the database see them: key, action, state, attempts.
    async fn events(&self) -> Vec<String> {
        let sql = format!(
            "select concat_ws(' ', idper, accion, estado, intentos) from {VIEW}
             where estado not in ('PROCESADO', 'CANCELADO') order by idper"
        );
        self.sql.query(&sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
    }

    /// The same before and after the server has taken them in: a committed event never waits for a server to be seen.
    async fn assert_events(&self, expected: &[&str]) {
        assert_eq!(self.events().await, expected, "with no server running");
        self.queue.counts().await.unwrap();
        assert_eq!(self.events().await, expected, "taken in");
        assert_eq!(self.number("select count(*) from turno.intake").await, 0);
    }

    async fn claim(&self) -> Option<Got> {
        self.queue.claim("worker", 1, Span::ZERO).await.unwrap().pop()
    }

    /// Delivers one event as a deliverer does: reads what is true now, tells, acks.
    async fn deliver(&self, got: &Got) -> String {
        let key = got.key.clone().unwrap();
        let say = self.sync.current(&key).await.unwrap();
        if say == Say::Nothing {
            self.sync.skipped(got).await.unwrap();
            self.queue.settle(vec![Settlement { handed: got.handed, act: Act::Skip }]).await.unwrap();
            return format!("nothing {key}");
        }
        let data = say.into_data();
        let action = self.sync.source().action(data.is_some()).to_owned();
        self.sync.delivered(got, &action, data.as_deref()).await.unwrap();
        self.queue.ack([got.handed]).await.unwrap();
        data.map_or(format!("{action} {key}"), |data| format!("{action} {key} {data}"))
    }

    /// Delivers everything that waits.
    async fn drain(&self) -> Vec<String> {
        let mut told = Vec::new();
        while let Some(got) = self.claim().await {
            told.push(self.deliver(&got).await);
        }
        told.sort();
        told
    }

    async fn fail(&self, got: &Got, error: &str) {
        let act = Act::Fail { error: error.to_owned(), item: None, retry_in: None, give_up: false };
        self.queue.settle(vec![Settlement { handed: got.handed, act }]).await.unwrap();
    }

    /// Time passes, for the functions and for the engine.
    async fn pass(&self, ms: i64) {
        self.sql.execute("update turno.mark set high = turno.time_ms() + $1", &[&ms]).await.unwrap();
        self.turno.store().unwrap().peek(Vec::new()).await.unwrap();
    }

    async fn number(&self, sql: &str) -> i64 {
        self.sql.query_one(sql, &[]).await.unwrap().get(0)
    }
}

/// A statement that adds a principal.
fn person(id: i32) -> String {
    user(&format!("{id}"), "PG-SHA256", true)
}

/// A statement that adds a user.
fn user(id: &str, algorithm: &str, principal: bool) -> String {
    format!(
        "insert into siper.usuarios (idper, nombre, apellido, hashpass, algoritmo_pass, principal, telefono, mail)
         values ({id}, 'Nombre {id}', 'Apellido {id}', 'h{id}', '{algorithm}', {principal}, '0{id}', 'u{id}@x');"
    )
}

/// What is sent of a person who was added and not changed since.
fn sent(id: i32) -> String {
    format!(
        "ACTUALIZAR {id} {{\"idper\":{id},\"nombre\":\"Nombre {id}\",\"apellido\":\"Apellido {id}\",\"activo\":true,\
         \"hashpass\":\"h{id}\"}}"
    )
}

/// A role's name of this database's own: roles are the server's.
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

/// The code with which it was refused.
fn refused<T: std::fmt::Debug>(answer: Result<T, tokio_postgres::Error>) -> String {
    answer.expect_err("it is refused").code().expect("by the server").code().to_owned()
}
