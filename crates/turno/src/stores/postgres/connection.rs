//! One connection: its statements, and trips over it.
//!
//! The only session state that is relied on between transactions are prepared statements, and those only if the session
//! is known to be the server's own. The driver names statements by counting, so behind a pooler that shares sessions a
//! name can belong to a statement of another process. So every connection sends a mark in its startup packet and reads
//! it back: a session without this mark is a pooler's, and its calls are sent as text. `docs/decisions/0020` says why.

use super::call::Call;
use super::error::TripError;
use super::sql::{self, Sql};
use super::tls::Connector;
use super::url::PostgresUrl;
use crate::error::Misuse;
use crate::store::StoreError;
use futures_util::FutureExt;
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Row, Socket, Statement};

/// The time limit for connecting. After that the database counts as unreachable.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long sent bytes may stay unacknowledged before the network counts as lost.
const NETWORK_TIMEOUT: Duration = Duration::from_secs(10);

/// The address of the database, and how to talk to it.
#[derive(Clone, Debug)]
pub(super) struct Address {
    pub(super) url: PostgresUrl,
    /// A pooler that keeps no prepared statements was met; from then on all calls are sent as text.
    pub(super) unprepared: Arc<AtomicBool>,
    /// A pooler refused the mark; from then on no connection sends one.
    unmarked: Arc<AtomicBool>,
    /// The pooler was logged.
    noticed: Arc<AtomicBool>,
}

/// The driver's half of a connection, which a task polls.
type Connection = tokio_postgres::Connection<Socket, <Connector as MakeTlsConnect<Socket>>::Stream>;

/// A connection as the driver returns it.
pub(super) struct Opened {
    pub(super) client: Client,
    pub(super) connection: Connection,
    /// The mark that the startup packet carried. Empty if a pooler refuses marks.
    pub(super) mark: String,
}

impl Opened {
    /// Asks the server whether a pooler may share the session.
    pub(super) async fn is_pooled(client: &Client, mark: &str) -> Result<bool, TripError> {
        let rows = client.query_typed(&sql::SERVER.text, &[]).await?;
        let found = rows.first().map_or(Ok(""), |row| row.try_get(2))?;
        Ok(mark.is_empty() || found != mark)
    }
}

impl Address {
    pub(super) fn parse(url: &str) -> Result<Address, Misuse> {
        PostgresUrl::parse(url).map(Address::new)
    }

    fn new(mut url: PostgresUrl) -> Address {
        let config = &mut url.config;
        if config.get_application_name().is_none() {
            config.application_name("turno");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(NETWORK_TIMEOUT);
        }
        config.keepalives_idle(NETWORK_TIMEOUT).keepalives_interval(Duration::from_secs(2));
        Address { url, unprepared: Arc::default(), unmarked: Arc::default(), noticed: Arc::default() }
    }

    /// Connects, and finds out whether the session is the server's own.
    pub(super) async fn connect(&self) -> Result<Link, TripError> {
        let Opened { client, connection, mark } = self.open().await?;
        // Callers that wait for an answer receive the connection's error too, so it is dropped here.
        tokio::spawn(connection.map(drop));
        let mut link = Link {
            client,
            unprepared: self.unprepared.clone(),
            is_pooled: true,
            statements: HashMap::new(),
            life: Arc::from(""),
            version: String::new(),
        };
        let answers = link.trip(&[Call::new(&sql::SERVER)]).await?;
        let row = answers
            .first()
            .and_then(|rows| rows.first())
            .ok_or_else(|| TripError::Garbled("the server has no version".into()))?;
        link.version = row.try_get::<_, &str>(0)?.split(' ').next().unwrap_or_default().to_owned();
        link.life = row.try_get::<_, &str>(1)?.into();
        link.is_pooled = mark.is_empty() || row.try_get::<_, &str>(2)? != mark;
        if link.is_pooled && !self.noticed.swap(true, Ordering::Relaxed) {
            tracing::info!("a pooler shares the database's sessions; statements are sent unprepared");
        }
        Ok(link)
    }

    /// Connects with a mark, and without one if a pooler refuses it.
    pub(super) async fn open(&self) -> Result<Opened, TripError> {
        if !self.unmarked.load(Ordering::Relaxed) {
            let mark = uuid::Uuid::now_v7().simple().to_string();
            match self.open_with(mark).await {
                Err(failure) if failure.code().is_some_and(refuses_parameters) => {
                    self.unmarked.store(true, Ordering::Relaxed);
                }
                opened => return opened,
            }
        }
        self.open_with(String::new()).await
    }

    async fn open_with(&self, mark: String) -> Result<Opened, TripError> {
        let mut config = self.url.config.clone();
        if !mark.is_empty() {
            let given = config.get_options().unwrap_or_default();
            config.options(format!("{given} -c turno.mark={mark}").trim_start().to_owned());
        }
        let first = self.attempt(&config).await;
        // As in libpq, `prefer` also falls back if the handshake fails, or if the server admits no TLS to this user.
        let (client, connection) = match first {
            Err(failure) if config.get_ssl_mode() == SslMode::Prefer && failure.may_pass_without_tls() => {
                self.attempt(config.ssl_mode(SslMode::Disable)).await?
            }
            attempted => attempted?,
        };
        Ok(Opened { client, connection, mark })
    }

    async fn attempt(&self, config: &Config) -> Result<(Client, Connection), TripError> {
        let connector = self.url.tls.connector()?;
        // The configured limit is per host and does not cover the handshake.
        let made = tokio::time::timeout(CONNECT_TIMEOUT * 2, config.connect(connector.clone())).await;
        let made = made.map_err(|_| TripError::Lost("no answer to the handshake".into()))?;
        made.map_err(|error| match self.url.tls.fault(&error, &connector) {
            Some(fault) => fault.into(),
            None => error.into(),
        })
    }
}

impl PostgresUrl {
    /// Connects a client of the embedding program, with the same TLS as Turno's own connections. A task keeps the
    /// connection until the client is dropped.
    pub async fn connect(&self) -> Result<Client, StoreError> {
        let address = Address::new(self.clone());
        let Opened { client, connection, .. } = address.open().await?;
        tokio::spawn(connection.map(drop));
        Ok(client)
    }
}

/// Returns whether the code is one with which poolers refuse a startup parameter: a violation of their protocol, or a
/// feature, value or name that they do not know.
fn refuses_parameters(code: &str) -> bool {
    ["08", "0A", "22", "42"].iter().any(|class| code.starts_with(class))
}

/// One connection.
pub(super) struct Link {
    pub(super) client: Client,
    unprepared: Arc<AtomicBool>,
    /// Whether a pooler may share the session. Then nothing of the session is relied on.
    pub(super) is_pooled: bool,
    statements: HashMap<&'static str, Statement>,
    /// Changes when the server recovers from a crash.
    pub(super) life: Arc<str>,
    pub(super) version: String,
}

/// A call that was sent, or is sent when first polled.
type Sent<'a, T> = Pin<Box<dyn Future<Output = Result<T, TripError>> + Send + 'a>>;
type Answer<'a> = Sent<'a, Vec<Row>>;

impl Link {
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Sends all calls at once and waits for all answers: one round trip.
    ///
    /// Reports the first refusal in order, because later ones only say that the transaction is aborted.
    pub(super) async fn trip(&mut self, calls: &[Call<'_>]) -> Result<Vec<Vec<Row>>, TripError> {
        if self.is_pooled || self.unprepared.load(Ordering::Relaxed) {
            return in_order(calls.iter().map(|call| self.send_text(call)).collect()).await;
        }
        self.prepare(calls.iter().map(|call| call.sql)).await?;
        in_order(calls.iter().map(|call| self.send(call)).collect()).await
    }

    /// Ends the transaction and waits until its locks are released.
    pub(super) async fn roll_back(&mut self) -> Result<(), TripError> {
        self.trip(&[Call::new(&sql::ROLLBACK)]).await.map(drop)
    }

    /// Sends a rollback without waiting for its answer. Later calls on this connection run after it.
    pub(super) fn abandon(&self) {
        match self.statements.get(sql::ROLLBACK.name.as_str()) {
            Some(statement) => drop(self.client.query(statement, &[]).now_or_never()),
            None => drop(self.client.batch_execute(&sql::ROLLBACK.text).now_or_never()),
        }
    }

    /// Runs several statements without parameters, such as a migration.
    pub(super) async fn script(&self, text: &str) -> Result<(), TripError> {
        Ok(self.client.batch_execute(text).await?)
    }

    /// Prepares statements that this connection has not used yet, in a separate trip.
    async fn prepare(&mut self, wanted: impl Iterator<Item = &'static Sql>) -> Result<(), TripError> {
        let new = |sql: &&'static Sql| !sql::is_script(sql) && !self.statements.contains_key(sql.name.as_str());
        let mut missing: Vec<&'static Sql> = wanted.filter(new).collect();
        if missing.is_empty() {
            return Ok(());
        }
        missing.push(&sql::ROLLBACK);
        missing.sort_by_key(|sql| sql.name.as_str());
        missing.dedup_by_key(|sql| sql.name.as_str());
        let prepared = missing.iter().map(|sql| self.client.prepare(&sql.text).map(|made| Ok(made?)).boxed());
        let prepared = in_order(prepared.collect()).await?;
        self.statements.extend(missing.iter().map(|sql| sql.name.as_str()).zip(prepared));
        Ok(())
    }

    fn send<'a>(&'a self, call: &'a Call<'a>) -> Answer<'a> {
        if sql::is_script(call.sql) {
            return self.send_script(call.sql);
        }
        let statement = self.statements.get(call.sql.name.as_str()).expect("`trip` prepares what it sends");
        Box::pin(async move {
            let params: Vec<&(dyn ToSql + Sync)> =
                call.params.iter().map(|(value, _)| &**value as &(dyn ToSql + Sync)).collect();
            Ok(self.client.query(statement, &params).await?)
        })
    }

    fn send_script(&self, sql: &'static Sql) -> Answer<'_> {
        Box::pin(async {
            self.client.batch_execute(&sql.text).await?;
            Ok(Vec::new())
        })
    }

    fn send_text<'a>(&'a self, call: &'a Call<'a>) -> Answer<'a> {
        if sql::is_script(call.sql) {
            return self.send_script(call.sql);
        }
        Box::pin(async move {
            let params: Vec<_> =
                call.params.iter().map(|(value, kind)| (&**value as &(dyn ToSql + Sync), kind.clone())).collect();
            Ok(self.client.query_typed(&call.sql.text, &params).await?)
        })
    }
}

/// Starts the futures in order and waits for all of them.
///
/// Starts nothing after a failure: a commit must not be sent behind a write that could not be encoded, because the
/// server does not know about that write.
async fn in_order<T>(mut waiting: Vec<Sent<'_, T>>) -> Result<Vec<T>, TripError> {
    let mut answers: Vec<Option<Result<T, TripError>>> = waiting.iter().map(|_| None).collect();
    poll_fn(|cx| {
        let mut open = false;
        for index in 0..answers.len() {
            if answers[index].is_none() {
                match waiting[index].as_mut().poll(cx) {
                    Poll::Pending => open = true,
                    Poll::Ready(answer) => answers[index] = Some(answer),
                }
            }
            if matches!(answers[index], Some(Err(_))) {
                answers.truncate(index + 1);
                break;
            }
        }
        if open { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    answers.into_iter().flatten().collect()
}
