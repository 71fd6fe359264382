//! The ways, each as a team would write it: a scheduler that takes a batch, calls the service and marks the records.

use crate::board::{Board, Struck};
use crate::{BoxError, Outcome, connect};
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Statement};
use turno::Turno;
use turno::core::time::Span;
use turno::queue::{Claim, Draft, Kind, Policy, QueueHandle};

/// The lock timeout of Turno's deliveries.
const LOCK: Span = Span(2_000);
/// The pause after a run of a scheduler that found nothing.
const PAUSE: Duration = Duration::from_millis(20);

const SCHEMA: &str = "
    create table inbox (id bigint primary key, processed boolean not null default false, payload text not null);
    create index inbox_free on inbox (id) where not processed;";
const FILL: &str = "insert into inbox (id, payload) select n, '{}' from generate_series(0, $1::bigint - 1) n";
const SELECT: &str = "select id from inbox where not processed order by id limit $1";
const TAKE: &str = "update inbox set processed = true where id = $1 and not processed";
const LOCKED: &str = "select id from inbox where not processed order by id limit $1 for update skip locked";
const MARK: &str = "update inbox set processed = true where id = any ($1)";
const PARTITION: &str =
    "select id from inbox where not processed and mod(abs(hashint8(id)::bigint), $2) = $3 order by id limit $1";

/// A way to share an inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Selects records, then updates each one if it is still unprocessed: one updated row means won, none means
    /// skipped.
    ConditionalUpdate,
    /// `FOR UPDATE SKIP LOCKED`, with the transaction open while the service works.
    SkipLocked,
    /// Each instance gets a partition by a hash of the id.
    HashPartitions,
    /// `REPEATABLE READ`: updates first and commits after the service call. A collision starts the batch again.
    RepeatableRead,
    /// An inbox queue of Turno.
    Turno,
}

impl Way {
    pub(crate) const ALL: [Way; 5] =
        [Way::ConditionalUpdate, Way::SkipLocked, Way::HashPartitions, Way::RepeatableRead, Way::Turno];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Way::ConditionalUpdate => "conditional update (the seed's solution)",
            Way::SkipLocked => "`SKIP LOCKED`, transaction open meanwhile",
            Way::HashPartitions => "hash partitions",
            Way::RepeatableRead => "`REPEATABLE READ`",
            Way::Turno => "Turno's inbox",
        }
    }

    /// Creates the inbox and fills it.
    pub(crate) async fn fill(self, url: &str, records: usize) -> Outcome<()> {
        if self == Way::Turno {
            let turno = Turno::open(url).await?;
            let inbox =
                turno.put_queue("inbox", Policy { lock_timeout: LOCK, ..Policy::for_kind(Kind::Inbox) }).await?;
            let numbers: Vec<usize> = (0..records).collect();
            for part in numbers.chunks(1_000) {
                inbox.enqueue(part.iter().map(Draft::json).collect::<Result<_, _>>()?).await?;
            }
        } else {
            let client = connect(url).await?;
            client.batch_execute(SCHEMA).await?;
            client.execute(FILL, &[&i64::try_from(records)?]).await?;
        }
        connect(url).await?.batch_execute("vacuum analyze").await?;
        Ok(())
    }
}

/// An instance of the application with its own connections.
pub(crate) struct Instance {
    number: usize,
    batch: usize,
    board: Arc<Board>,
    connections: Connections,
}

/// The connection and statements of an instance.
enum Connections {
    Plain { way: Way, client: Client, statements: Vec<Statement>, instances: usize },
    Turno { inbox: QueueHandle, name: String },
}

/// How a run of the scheduler ended.
enum Ended {
    /// This many records were processed.
    Did(usize),
    Struck,
}

impl Instance {
    pub(crate) async fn start(
        way: Way,
        url: &str,
        number: usize,
        instances: usize,
        batch: usize,
        board: Arc<Board>,
    ) -> Outcome<Instance> {
        let connections = if way == Way::Turno {
            let inbox = Turno::open(url).await?.queue("inbox").await?;
            Connections::Turno { inbox, name: format!("instance-{number}") }
        } else {
            let client = connect(url).await?;
            let mut statements = Vec::new();
            let texts: &[&str] = match way {
                Way::ConditionalUpdate => &[SELECT, TAKE],
                Way::SkipLocked => &[LOCKED, MARK],
                Way::HashPartitions => &[PARTITION, MARK],
                Way::RepeatableRead | Way::Turno => &[SELECT, MARK],
            };
            for text in texts {
                statements.push(client.prepare(text).await?);
            }
            Connections::Plain { way, client, statements, instances }
        };
        Ok(Instance { number, batch, board, connections })
    }

    /// Runs the scheduler until the fault hits the instance, or until it is aborted at the end.
    pub(crate) async fn run(self) -> Outcome<()> {
        loop {
            match self.once().await? {
                Ended::Struck => return Ok(()),
                Ended::Did(0) => tokio::time::sleep(PAUSE).await,
                Ended::Did(_) => {}
            }
        }
    }

    async fn once(&self) -> Outcome<Ended> {
        match &self.connections {
            Connections::Turno { inbox, name } => self.turno(inbox, name).await,
            Connections::Plain { way, client, statements, instances } => {
                let [first, second] = &statements[..] else {
                    return Err("two statements were prepared".into());
                };
                match way {
                    Way::ConditionalUpdate => self.conditional(client, first, second).await,
                    Way::SkipLocked => self.in_transaction(client, "begin", first, second, false).await,
                    Way::HashPartitions => self.partition(client, first, second, *instances).await,
                    Way::RepeatableRead | Way::Turno => {
                        let begin = "begin isolation level repeatable read";
                        self.in_transaction(client, begin, first, second, true).await
                    }
                }
            }
        }
    }

    /// Calls the service for each record. Fails if the fault hits the instance.
    async fn call(&self, ids: &[usize]) -> Result<(), Struck> {
        for (index, id) in ids.iter().enumerate() {
            self.board.call(self.number, *id, &ids[index..]).await?;
        }
        Ok(())
    }

    async fn conditional(&self, client: &Client, select: &Statement, take: &Statement) -> Outcome<Ended> {
        let rows = client.query(select, &[&i64::try_from(self.batch)?]).await?;
        for row in &rows {
            let id: i64 = row.get(0);
            if client.execute(take, &[&id]).await? == 0 {
                self.board.waste(1);
                continue;
            }
            if self.call(&[usize::try_from(id)?]).await.is_err() {
                return Ok(Ended::Struck);
            }
        }
        Ok(Ended::Did(rows.len()))
    }

    async fn partition(&self, client: &Client, select: &Statement, mark: &Statement, of: usize) -> Outcome<Ended> {
        let (of, mine) = (i64::try_from(of)?, i64::try_from(self.number)?);
        let rows = client.query(select, &[&i64::try_from(self.batch)?, &of, &mine]).await?;
        let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        if self.call(&numbers(&ids)?).await.is_err() {
            return Ok(Ended::Struck);
        }
        client.execute(mark, &[&ids]).await?;
        Ok(Ended::Did(ids.len()))
    }

    /// Locks or marks the records, calls the service, and commits afterwards.
    async fn in_transaction(
        &self,
        client: &Client,
        begin: &str,
        select: &Statement,
        mark: &Statement,
        mark_first: bool,
    ) -> Outcome<Ended> {
        client.batch_execute(begin).await?;
        let rows = client.query(select, &[&i64::try_from(self.batch)?]).await?;
        let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        if mark_first && let Err(error) = client.execute(mark, &[&ids]).await {
            client.batch_execute("rollback").await?;
            let collided = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
            if !error.code().is_some_and(|code| collided.contains(code)) {
                return Err(BoxError::from(error));
            }
            // The whole selection was wasted.
            self.board.waste(ids.len() as u64);
            return Ok(Ended::Did(ids.len()));
        }
        if self.call(&numbers(&ids)?).await.is_err() {
            return Ok(Ended::Struck);
        }
        if !mark_first {
            client.execute(mark, &[&ids]).await?;
        }
        client.batch_execute("commit").await?;
        Ok(Ended::Did(ids.len()))
    }

    async fn turno(&self, inbox: &QueueHandle, name: &str) -> Outcome<Ended> {
        let taken = inbox.claim(Claim::by(name).max(u32::try_from(self.batch)?)).await?;
        let ids = taken.iter().map(|got| Ok(got.items[0].payload.parse::<usize>()?)).collect::<Outcome<Vec<_>>>()?;
        if self.call(&ids).await.is_err() {
            return Ok(Ended::Struck);
        }
        let acked = inbox.ack(taken.iter().map(|got| got.reference)).await?;
        let stale = acked.iter().filter(|answer| answer.outcome != turno::core::queue::SettleOutcome::Acked).count();
        self.board.waste(stale as u64);
        Ok(Ended::Did(ids.len()))
    }
}

fn numbers(ids: &[i64]) -> Outcome<Vec<usize>> {
    ids.iter().map(|id| Ok(usize::try_from(*id)?)).collect()
}
