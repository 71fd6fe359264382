//! PostgreSQL with prepared statements: each caller has its own connection, and each statement is a commit.

use crate::measure::{self, Dice, Outcome, Until, closed_loop};
use crate::result::Sample;
use crate::site::Site;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::{Client, Statement};

const SCHEMA: &str = "
    create table job (id bigint generated always as identity primary key, locked_until bigint, payload text not null);
    create index job_free on job (id) where locked_until is null;
    create table lease (name text primary key, holder text, expires_at bigint) with (fillfactor = 50);";
const FILL: &str = "insert into job (payload) select '{\"n\":' || n || '}' from generate_series(1, $1::bigint) n";
const LEASES: &str = "insert into lease (name) select 'lease-' || n from generate_series(0, $1::bigint - 1) n";
const INSERT: &str = "insert into job (payload) values ($1)";
const INSERT_MANY: &str = "insert into job (payload) select unnest($1::text[])";
const CLAIM: &str = "update job set locked_until = $1 where id = any (array(
    select id from job where locked_until is null order by id limit $2 for update skip locked)) returning id, payload";
const ACK: &str = "delete from job where id = any ($1)";
const RENEW: &str = "update lease set expires_at = $2 where name = $1";
const TAKE: &str = "update lease set holder = $2, expires_at = $3 where name = $1 and holder is null";
const GIVE: &str = "update lease set holder = null where name = $1 and holder = $2";

/// A database with empty tables.
pub(crate) struct Raw<'a>(&'a Site);

/// A caller's connection with its prepared statements.
#[derive(Clone)]
struct Connection {
    client: Arc<Client>,
    statements: Arc<[Statement]>,
}

impl Raw<'_> {
    pub(crate) async fn open(site: &Site) -> Outcome<Raw<'_>> {
        site.client().await?.batch_execute(SCHEMA).await?;
        Ok(Raw(site))
    }

    async fn callers(&self, count: usize, texts: &[&str]) -> Outcome<Vec<Connection>> {
        let mut callers = Vec::new();
        for _ in 0..count {
            let client = self.0.client().await?;
            let mut statements = Vec::new();
            for text in texts {
                statements.push(client.prepare(text).await?);
            }
            callers.push(Connection { client: Arc::new(client), statements: statements.into() });
        }
        Ok(callers)
    }

    /// Inserts one row in every commit.
    pub(crate) async fn insert(&self, callers: usize, span: Duration) -> Outcome<Sample> {
        let callers = self.callers(callers, &[INSERT]).await?.into_iter();
        let call = |caller: Connection| {
            let mut number = 0;
            move || {
                let caller = caller.clone();
                number += 1;
                let payload = format!("{{\"n\":{number}}}");
                async move {
                    let insert = &caller.statements[0];
                    Ok(caller.client.execute(insert, &[&payload]).await?)
                }
            }
        };
        closed_loop(callers.map(call).collect(), Until::After(span)).await
    }

    /// Inserts many rows in every commit.
    pub(crate) async fn insert_many(&self, callers: usize, batch: u64, span: Duration) -> Outcome<Sample> {
        let callers = self.callers(callers, &[INSERT_MANY]).await?.into_iter();
        let call = |caller: Connection| {
            move || {
                let caller = caller.clone();
                let payloads: Vec<String> = (0..batch).map(|number| format!("{{\"n\":{number}}}")).collect();
                async move {
                    let insert = &caller.statements[0];
                    Ok(caller.client.execute(insert, &[&payloads]).await?)
                }
            }
        };
        closed_loop(callers.map(call).collect(), Until::After(span)).await
    }

    /// Claims and deletes, each in its own commit, until the table is empty.
    pub(crate) async fn drain(&self, callers: usize, count: u64, batch: u32) -> Outcome<Sample> {
        let client = self.0.client().await?;
        client.execute(FILL, &[&(count as i64)]).await?;
        self.0.settle_down().await?;
        let callers = self.callers(callers, &[CLAIM, ACK]).await?.into_iter();
        let call = |caller: Connection| {
            move || {
                let caller = caller.clone();
                async move {
                    let [claim, ack] = &*caller.statements else {
                        return Err("two statements were prepared".into());
                    };
                    let rows = caller.client.query(claim, &[&1_i64, &i64::from(batch)]).await?;
                    let ids: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
                    if ids.is_empty() {
                        return Ok(0);
                    }
                    Ok(caller.client.execute(ack, &[&ids]).await?)
                }
            }
        };
        closed_loop(callers.map(call).collect(), Until::Empty).await
    }

    /// Renews one of `leases` leases in every commit.
    pub(crate) async fn renew(&self, callers: usize, leases: u64, span: Duration) -> Outcome<Sample> {
        self.leases(leases).await?;
        let callers = self.callers(callers, &[RENEW]).await?.into_iter();
        let call = |(index, caller): (usize, Connection)| {
            let (mut dice, mut at) = (Dice::new(index), 0_i64);
            move || {
                let caller = caller.clone();
                let name = format!("lease-{}", dice.below(leases));
                at += 1;
                async move {
                    let renew = &caller.statements[0];
                    Ok(caller.client.execute(renew, &[&name, &at]).await?)
                }
            }
        };
        closed_loop(callers.enumerate().map(call).collect(), Until::After(span)).await
    }

    /// Claims and releases, each in its own commit. A claim of a held lease does not count.
    pub(crate) async fn pairs(&self, callers: usize, leases: u64, span: Duration) -> Outcome<Sample> {
        self.leases(leases).await?;
        let callers = self.callers(callers, &[TAKE, GIVE]).await?.into_iter();
        let call = |(index, caller): (usize, Connection)| {
            let mut dice = Dice::new(index);
            let holder: Arc<str> = format!("holder-{index}").into();
            move || {
                let (caller, holder) = (caller.clone(), holder.clone());
                let name = format!("lease-{}", dice.below(leases));
                async move {
                    let [take, give] = &*caller.statements else {
                        return Err("two statements were prepared".into());
                    };
                    let client = &caller.client;
                    if client.execute(take, &[&name, &&*holder, &1_i64]).await? == 0 {
                        return Ok(0);
                    }
                    Ok(client.execute(give, &[&name, &&*holder]).await?)
                }
            }
        };
        closed_loop(callers.enumerate().map(call).collect(), Until::After(span)).await
    }

    /// Measures how long one durable insert takes, at intervals.
    pub(crate) async fn commits(&self, probes: u32, pause: Duration) -> Outcome<Sample> {
        let client = self.0.client().await?;
        let insert = client.prepare(INSERT).await?;
        let mut took = Vec::new();
        for _ in 0..probes {
            tokio::time::sleep(pause).await;
            let began = measure::now();
            client.execute(&insert, &[&"{\"n\":1}"]).await?;
            took.push(began.elapsed());
        }
        measure::probes(took)
    }

    async fn leases(&self, leases: u64) -> Outcome<()> {
        let client = self.0.client().await?;
        client.execute(LEASES, &[&(leases as i64)]).await?;
        self.0.settle_down().await
    }
}
