//! One connection: its statements, and trips over it.
//!
//! The only session state that is relied on between transactions are prepared statements, and those only until a pooler
//! turns out not to keep them. Then the same calls are sent as text.

use super::call::Call;
use super::error::TripError;
use super::sql::{self, Sql};
use futures_util::FutureExt;
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, Row, Statement};

/// The time limit for connecting. After that the database counts as unreachable.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long sent bytes may stay unacknowledged before the network counts as lost.
const NETWORK_TIMEOUT: Duration = Duration::from_secs(10);

/// The address of the database, and how to talk to it.
#[derive(Clone, Debug)]
pub(super) struct Address {
    pub(super) config: Config,
    /// A pooler that keeps no prepared statements was met; from then on all calls are sent as text.
    pub(super) unprepared: Arc<AtomicBool>,
}

impl Address {
    pub(super) fn parse(url: &str) -> Result<Address, TripError> {
        let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
            let source = std::error::Error::source(&error).map(ToString::to_string);
            TripError::Refused {
                code: None,
                message: format!("the database's url: {}", source.unwrap_or_else(|| error.to_string())),
            }
        })?;
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
        Ok(Address { config, unprepared: Arc::default() })
    }

    pub(super) async fn connect(&self) -> Result<Link, TripError> {
        let made = self.config.connect(NoTls);
        // The configured limit is per host and does not cover the handshake.
        let made = tokio::time::timeout(CONNECT_TIMEOUT * 2, made).await;
        let (client, connection) = made.map_err(|_| TripError::Lost("no answer to the handshake".into()))??;
        // Callers that wait for an answer receive the connection's error too, so it is dropped here.
        tokio::spawn(connection.map(drop));
        let mut link = Link {
            client,
            unprepared: self.unprepared.clone(),
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
        Ok(link)
    }
}

/// One connection.
pub(super) struct Link {
    pub(super) client: Client,
    unprepared: Arc<AtomicBool>,
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
        if self.unprepared.load(Ordering::Relaxed) {
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
