//! SQLite through one connection on one thread, because a file has one write lock.

use crate::measure::{self, Dice, Outcome, Until, blocking_loop};
use crate::result::Sample;
use crate::site::Site;
use rusqlite::{Connection, params};
use std::time::Duration;

const SCHEMA: &str = "
    create table job (id integer primary key, locked_until integer, payload text not null);
    create index job_free on job (id) where locked_until is null;
    create table lease (name text primary key, holder text, expires_at integer) without rowid;";
const INSERT: &str = "insert into job (payload) values (?1)";
const CLAIM: &str = "update job set locked_until = ?1
    where id in (select id from job where locked_until is null order by id limit ?2) returning id, payload";
const ACK: &str = "delete from job where id = ?1";
const RENEW: &str = "update lease set expires_at = ?2 where name = ?1";
const TAKE: &str = "update lease set holder = ?2, expires_at = ?3 where name = ?1 and holder is null";
const GIVE: &str = "update lease set holder = null where name = ?1 and holder = ?2";

/// An open file with empty tables.
pub(crate) struct Raw(Connection);

impl Raw {
    pub(crate) fn open(site: &Site) -> Outcome<Raw> {
        let db = Connection::open(site.file())?;
        db.query_row("pragma journal_mode = wal", [], |_| Ok(()))?;
        db.pragma_update(None, "synchronous", "FULL")?;
        db.execute_batch(SCHEMA)?;
        Ok(Raw(db))
    }

    /// Inserts `batch` rows per commit.
    pub(crate) fn insert(&self, batch: u64, span: Duration) -> Outcome<Sample> {
        blocking_loop(Until::After(span), || self.put(batch))
    }

    /// Claims and deletes, each in its own commit, until the table is empty.
    pub(crate) fn drain(&self, count: u64, batch: u32) -> Outcome<Sample> {
        for _ in 0..count.div_ceil(1_000) {
            self.put(1_000)?;
        }
        blocking_loop(Until::Empty, || {
            let ids: Vec<i64> = self
                .0
                .prepare_cached(CLAIM)?
                .query_map(params![1, batch], |row| {
                    row.get::<_, String>(1)?;
                    row.get(0)
                })?
                .collect::<Result<_, _>>()?;
            let tx = self.0.unchecked_transaction()?;
            let mut ack = tx.prepare_cached(ACK)?;
            for id in &ids {
                ack.execute([id])?;
            }
            drop(ack);
            tx.commit()?;
            Ok(ids.len() as u64)
        })
    }

    /// Renews one of `leases` leases in every commit.
    pub(crate) fn renew(&self, leases: u64, span: Duration) -> Outcome<Sample> {
        self.leases(leases)?;
        let (mut dice, mut at) = (Dice::new(1), 0);
        blocking_loop(Until::After(span), || {
            at += 1;
            let name = format!("lease-{}", dice.below(leases));
            Ok(self.0.prepare_cached(RENEW)?.execute(params![name, at])? as u64)
        })
    }

    /// Claims and releases, each in its own commit.
    pub(crate) fn pairs(&self, leases: u64, span: Duration) -> Outcome<Sample> {
        self.leases(leases)?;
        let mut dice = Dice::new(1);
        blocking_loop(Until::After(span), || {
            let name = format!("lease-{}", dice.below(leases));
            self.0.prepare_cached(TAKE)?.execute(params![name, "holder", 1])?;
            Ok(self.0.prepare_cached(GIVE)?.execute([&name, "holder"])? as u64)
        })
    }

    /// Measures how long one durable insert takes, at intervals.
    pub(crate) async fn commits(&self, probes: u32, pause: Duration) -> Outcome<Sample> {
        let mut took = Vec::new();
        for _ in 0..probes {
            tokio::time::sleep(pause).await;
            let began = measure::now();
            self.put(1)?;
            took.push(began.elapsed());
        }
        measure::probes(took)
    }

    fn put(&self, batch: u64) -> Outcome<u64> {
        let tx = self.0.unchecked_transaction()?;
        let mut insert = tx.prepare_cached(INSERT)?;
        for number in 0..batch {
            insert.execute([format!("{{\"n\":{number}}}")])?;
        }
        drop(insert);
        tx.commit()?;
        Ok(batch)
    }

    fn leases(&self, leases: u64) -> Outcome<()> {
        let tx = self.0.unchecked_transaction()?;
        for number in 0..leases {
            let name = format!("lease-{number}");
            tx.execute("insert into lease (name) values (?1)", [name])?;
        }
        Ok(tx.commit()?)
    }
}
