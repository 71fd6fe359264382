//! The SQL functions for applications in the same database, called like an application does: over separate
//! connections, in transactions that stay open, commit or roll back.
//!
//! Time is moved through the recorded mark, which both the functions and the engine use.

#![expect(clippy::unwrap_used, reason = "unwrapping is how a test says that something must be so")]

#[path = "sql/bulk.rs"]
mod bulk;
#[path = "sql/complete.rs"]
mod complete;
#[path = "sql/enqueue.rs"]
mod enqueue;
#[path = "sql/lease.rs"]
mod lease;
#[path = "sql/look.rs"]
mod look;
#[path = "sql/open.rs"]
mod open;
#[path = "sql/page.rs"]
mod page;
#[path = "sql/rights.rs"]
mod rights;
#[path = "sql/swept.rs"]
mod swept;

use std::future::Future;
use std::time::Duration;
use tokio_postgres::{Client, NoTls, Row};
use turno::core::id::{ItemId, Key, QueueName};
use turno::core::queue::{Kind, Policy};
use turno::core::time::Span;
use turno::queue::{Claim, Delivery, Draft, QueueHandle};
use turno::{Options, Turno};
use turno_testkit::postgres::Cluster;

/// An engine on a fresh database, and a connection with all rights.
struct World {
    turno: Turno,
    url: String,
    sql: Client,
}

impl World {
    /// Without background tasks: calls take in rows and expire deliveries themselves.
    async fn new() -> World {
        World::at(Cluster::for_tests().fresh_database().await).await
    }

    async fn at(url: String) -> World {
        let turno = World::engine(&url, false).await;
        let sql = connect(&url).await;
        World { turno, url, sql }
    }

    async fn engine(url: &str, sweep: bool) -> Turno {
        Turno::open_with(url, Options { sweep, ..Options::default() }).await.unwrap()
    }

    async fn queue(&self, name: &str, policy: Policy) -> QueueHandle {
        self.turno.put_queue(QueueName::new(name).unwrap(), policy).await.unwrap()
    }

    /// Opens an application's connection with a transaction.
    async fn begin(&self) -> Client {
        let client = connect(&self.url).await;
        client.batch_execute("begin").await.unwrap();
        client
    }

    /// Lets time pass for the functions and for the engine.
    async fn advance(&self, ms: i64) {
        let sql = "update turno.mark set high = turno.time_ms() + $1";
        self.sql.execute(sql, &[&ms]).await.unwrap();
        self.turno.store().unwrap().peek(Vec::new()).await.unwrap();
    }

    async fn number(&self, sql: &str) -> i64 {
        self.sql.query_one(sql, &[]).await.unwrap().get(0)
    }
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// A policy without window and groups, with a lock of 15 s.
fn plain(kind: Kind) -> Policy {
    Policy { window: Span::ZERO, batch_max: 1, lock_timeout: Span(15_000), max_hold: None, ..Policy::for_kind(kind) }
}

fn draft(id: &str, key: &str) -> Draft {
    let id = Some(ItemId::new(id).unwrap());
    Draft { id, key: Some(Key::new(key).unwrap()), payload: "1".into(), ..Draft::default() }
}

fn id(text: &str) -> ItemId {
    ItemId::new(text).unwrap()
}

async fn claim(queue: &QueueHandle) -> Option<Delivery> {
    soon(queue.claim(Claim::by("worker"))).await.unwrap().pop()
}

async fn claimed_ids(queue: &QueueHandle, max: u32) -> Vec<String> {
    let got = soon(queue.claim(Claim::by("worker").max(max))).await.unwrap();
    got.iter().flat_map(|got| got.items.iter().map(|item| item.id.to_string())).collect()
}

async fn complete(client: &Client, got: &Delivery) -> Result<Vec<Row>, tokio_postgres::Error> {
    let (token, fence) = (got.reference.token(), got.reference.fence.0);
    client.query("select turno.complete($1, $2)", &[&token, &fence]).await
}

/// Returns the SQLSTATE of a refusal.
fn refused<T: std::fmt::Debug>(answer: Result<T, tokio_postgres::Error>) -> String {
    answer.expect_err("the call is refused").code().expect("the server refused the call").code().to_owned()
}

async fn end(client: &Client, how: &str) {
    client.batch_execute(how).await.unwrap();
}

/// Runs `work`, which must not wait for any open transaction: only the test ends those.
async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(4), work).await.expect("the call does not wait")
}

/// Asserts that `work` does not complete for now.
async fn waits<F: Future + Unpin>(work: &mut F) {
    assert!(tokio::time::timeout(Duration::from_millis(300), work).await.is_err(), "the call should wait");
}
