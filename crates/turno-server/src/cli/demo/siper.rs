//! Sync on PostgreSQL: a table of an application, real triggers, and a module that is down at times.
//!
//! The demo plays both sides: the application, which changes its table over its own connection, and the module, which
//! is called over HTTP. Between them is only what a real installation has: trigger, queue and deliveries.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio_postgres::Client;
use turno::core::queue::{Kind, Policy};
use turno::core::sync::Source;
use turno::core::time::Span;
use turno::store::PostgresUrl;
use turno::{Error, Turno};

use crate::config::endpoint::EndpointFields;
use crate::config::sync::SyncSource;
use crate::config::{Environment, PushGuard};
use crate::deliver::{Deliveries, Guard};
use crate::failure::{Failure, io_cause};
use crate::texts::causes;
use crate::texts::message::Message;

/// The interval between two probes while the module is down.
const PROBE: Span = Span::from_secs(4);
/// Number of users. It shares no divisor with the number of changes, so every change reaches every user.
const PEOPLE: usize = 11;
/// The changes, one after another.
const CHANGES: [&str; 8] = [
    include_str!("siper/add.sql"),
    include_str!("siper/rename.sql"),
    include_str!("siper/add.sql"),
    include_str!("siper/call.sql"),
    include_str!("siper/rename.sql"),
    include_str!("siper/move.sql"),
    include_str!("siper/add.sql"),
    include_str!("siper/remove.sql"),
];
const NAMES: [&str; 5] = ["Ana", "Luis", "Eva", "Mar", "Paz"];

/// The application: a connection to its table.
pub(super) struct Siper {
    sql: Client,
}

/// Connects to the database. Refuses one that already has a schema the demo would create.
pub(super) async fn connect(url: &str) -> Result<Siper, Failure> {
    let failed = |error: tokio_postgres::Error| {
        Failure::failed(Message::new("demo-unreachable").text("cause", render_cause(&error)))
    };
    let unreachable = |cause: Message| Failure::failed(Message::new("demo-unreachable").message("cause", cause));
    let url = PostgresUrl::parse(url).map_err(|misuse| unreachable(causes::message(&misuse)))?;
    let sql = url.connect().await.map_err(|error| unreachable(causes::message(&error)))?;
    let found = sql.query(include_str!("siper/fresh.sql"), &[]).await.map_err(failed)?;
    if let Some(schema) = found.first().map(|row| row.get::<_, String>(0)) {
        return Err(Failure::usage(Message::new("demo-not-empty").text("schema", schema)));
    }
    Ok(Siper { sql })
}

/// Creates the table and installs its source. Returns the source with the module as its destination.
pub(super) async fn install(siper: &Siper, turno: &Turno, module: &TcpListener) -> Result<SyncSource, Failure> {
    let table = include_str!("../../../../../docs/guides/sync-siper.sql");
    let failed = |cause: Message| Failure::failed(Message::new("demo-setup").message("cause", cause));
    let library = |error: Error| failed(causes::message(&error));
    siper.sql.batch_execute(table).await.map_err(|error| failed(Message::verbatim(render_cause(&error))))?;
    let source = Source::siper();
    let policy = Policy { backoff: Span(1_000), ..Policy::for_kind(Kind::Sync) };
    turno.put_queue(source.queue.clone(), policy).await.map_err(library)?;
    turno.sync(source.clone()).install().await.map_err(library)?;
    let address = module.local_addr().map_err(|error| failed(io_cause(&error)))?;
    let fields = EndpointFields {
        url: format!("http://{address}/usuarios/{{key}}"),
        method: None,
        timeout_ms: Some(5_000),
        secret_env: None,
        concurrency: None,
        probe_ms: Some(PROBE.0),
    };
    let endpoint = fields.endpoint("PUT").map_err(|bad| failed(bad.message()))?;
    Ok(SyncSource { source, probe: PROBE, deliver: Some(endpoint), deliver_is_presets: false })
}

/// Returns the database's own words, or the error of the connection.
fn render_cause(error: &tokio_postgres::Error) -> String {
    error.as_db_error().map_or_else(|| error.to_string(), |refused| refused.message().to_owned())
}

/// Returns the deliveries to the module.
pub(super) fn deliveries(source: &SyncSource, turno: &Turno) -> Result<Deliveries, Failure> {
    let guard = Guard::new(&PushGuard::default(), Environment::Development);
    Deliveries::from_settings(guard, &BTreeMap::new(), std::slice::from_ref(source), |_| None, turno)
}

/// Changes the application's table until the future is dropped.
pub(super) async fn change(siper: Siper) -> Result<(), Error> {
    for n in 0usize.. {
        let person = 1_000 + i32::try_from(n / 2 % PEOPLE).unwrap_or(0);
        let name = NAMES[n % NAMES.len()];
        // If the database fails, the demo skips one change.
        let _ = siper.sql.execute(CHANGES[n % CHANGES.len()], &[&person, &name]).await;
        tokio::time::sleep(Duration::from_millis(900)).await;
    }
    Ok(())
}

/// Serves the module until the future is dropped. Of 60 calls in a row, the last ones find it down.
pub(super) async fn module(listener: TcpListener) -> Result<(), Error> {
    let calls = Arc::new(AtomicU32::new(0));
    while let Ok((stream, _)) = listener.accept().await {
        let calls = calls.clone();
        let service = service_fn(move |_: Request<Incoming>| {
            let down = calls.fetch_add(1, Ordering::Relaxed) % 60 > 52;
            async move {
                tokio::time::sleep(Duration::from_millis(200)).await;
                let mut response = Response::new(String::new());
                *response.status_mut() =
                    if down { hyper::StatusCode::SERVICE_UNAVAILABLE } else { hyper::StatusCode::OK };
                Ok::<_, Infallible>(response)
            }
        });
        // A caller may disconnect at any time.
        tokio::spawn(async move { drop(http1::Builder::new().serve_connection(TokioIo::new(stream), service).await) });
    }
    Ok(())
}
