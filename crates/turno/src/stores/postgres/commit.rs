//! From a group to its committed answers, even if the connection is lost.

use super::call::Call;
use super::error::TripError;
use super::floor::Scan;
use super::slot::{Slot, Taken};
use super::sql;
use super::tx::{Plan, Tx, Write};
use super::{PostgresStore, access, changes, claim, enqueue, lease, manage, row, settle, task};
use crate::store::{ClaimOutcome, Group, Outcomes, StoreError};
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio_postgres::Row;
use turno_core::access::Epoch;
use turno_core::id::Seq;
use turno_core::life::Occasion;
use turno_core::queue::SettleOutcome;
use turno_core::time::{Span, Time};

/// How often, and with which pause, the status of a lost commit is asked for: a server that restarts needs some seconds
/// to recover.
const ASKS: u32 = 40;
const ASK_PAUSE: Duration = Duration::from_millis(250);

/// How far the recorded time may lag behind the time of decisions.
const MARK_LAG: Span = Span::from_secs(1);

impl PostgresStore {
    /// Commits one group on one route.
    pub(super) async fn commit_one(
        &self,
        route: usize,
        group: &Group,
        as_of: Option<Epoch>,
    ) -> Result<Outcomes, StoreError> {
        let slot = self.routes.get(route).ok_or(StoreError::Bug("there is no such route"))?;
        match group {
            Group::Enqueue(group) if group.needs_no_read() && !self.mark_is_late() => {
                self.arrive(slot, group, as_of).await
            }
            group => self.commit_decided(slot, group, as_of).await,
        }
    }

    /// Locks, reads and decides in one trip or more; writes and commits in the last trip.
    pub(super) async fn commit_decided(
        &self,
        slot: &Slot,
        group: &Group,
        as_of: Option<Epoch>,
    ) -> Result<Outcomes, StoreError> {
        let mut again = true;
        loop {
            let mut link = slot.take(&self.address).await?;
            match self.plan(&mut link, group, as_of).await {
                Ok(plan) => return self.finish(link, plan).await,
                Err(failure) => self.failed(link, failure, &mut again).await?,
            }
        }
    }

    /// Returns whether the recorded time must be raised. It lags by at most a second, so that no later process decides
    /// with an earlier time.
    fn mark_is_late(&self) -> bool {
        let recorded = self.shared.recorded.get(self.shared.lives.generation());
        recorded.is_none_or(|recorded| recorded + MARK_LAG <= self.shared.clock.estimate())
    }

    /// Raises the recorded time in its own transaction.
    pub(super) async fn mark_raise(&self, now: Time) -> Result<(), StoreError> {
        let generation = self.shared.lives.generation();
        self.read(vec![Call::new(&sql::MARK_SAVE).big(now.0)]).await?;
        self.shared.recorded.raise(generation, now);
        Ok(())
    }

    async fn plan(&self, link: &mut Taken<'_>, group: &Group, as_of: Option<Epoch>) -> Result<Plan, TripError> {
        let tx = &mut Tx::new(link, &self.shared, as_of);
        match group {
            Group::Lease(group) => lease::plan(tx, group).await,
            Group::Enqueue(group) => enqueue::plan(tx, &self.shared, group).await,
            Group::Claim(group) => claim::plan(tx, &self.shared, group).await,
            Group::Settle(group) => settle::plan(tx, &self.shared, group).await,
            Group::Manage(group) => manage::plan(tx, group).await,
            Group::Clear(group) => manage::clear(tx, group).await,
            Group::Typing(group) => manage::typing(tx, &self.shared, group).await,
            Group::Task(group) => task::plan(tx, group).await,
            Group::Access(group) => access::plan(tx, group).await,
        }
    }

    /// Handles a failure before a commit was sent, so that nothing is stored. Returns `Ok` if one more attempt makes
    /// sense.
    pub(super) async fn failed(
        &self,
        mut link: Taken<'_>,
        failure: TripError,
        again: &mut bool,
    ) -> Result<(), StoreError> {
        let pooler = failure.is_from_pooler();
        if pooler {
            self.address.unprepared.store(true, Ordering::Relaxed);
        }
        // A connection that a restarted server has closed is noticed only when it is used.
        let stale = failure.is_lost() && !link.fresh;
        if failure.is_lost() || pooler || link.roll_back().await.is_err() {
            drop(link);
        } else {
            link.put_back();
        }
        let again = std::mem::take(again);
        match failure {
            TripError::AnotherLife => {
                Box::pin(self.begin_life(Occasion::Met)).await?;
                if again { Ok(()) } else { Err(failure.into()) }
            }
            _ if again && (stale || pooler) => Ok(()),
            _ => Err(failure.into()),
        }
    }

    /// Writes and commits in one trip, and finds out the outcome if the connection is lost.
    pub(super) async fn finish(&self, mut link: Taken<'_>, mut plan: Plan) -> Result<Outcomes, StoreError> {
        let mut calls = match &plan.write {
            Write::Nothing if plan.taken_in.is_empty() => {
                // Roll back instead of commit, because committing row locks alone would flush the log.
                if hides_rows(&plan.outcomes) {
                    if link.roll_back().await.is_ok() {
                        plan.scan.take().into_iter().for_each(Scan::confirm);
                        link.put_back();
                    }
                } else {
                    link.cancel();
                }
                return Ok(plan.outcomes);
            }
            Write::Nothing => Vec::new(),
            Write::Lease(write) => lease::calls(write),
            Write::Queue(changes) => changes::calls(changes),
            Write::Task(write) => task::calls(write),
            Write::Access(write) => access::calls(write),
        };
        calls.extend(std::mem::take(&mut plan.taken_in));
        let reads = (!plan.bodies.is_empty()).then(|| bodies(&plan.bodies));
        let rows = match self.commit_calls(link, calls, reads, plan.xid.as_deref()).await? {
            Some(rows) => rows,
            None => self.read(vec![bodies(&plan.bodies)]).await?.take(),
        };
        self.committed(&mut plan, &rows)?;
        Ok(plan.outcomes)
    }

    /// Sends the last writes of a transaction, a read and the commit in one trip, and finds out the outcome. Returns
    /// the rows read; `None` if the transaction was committed but its answer was lost with the connection.
    pub(super) async fn commit_calls(
        &self,
        mut link: Taken<'_>,
        mut calls: Vec<Call<'_>>,
        reads: Option<Call<'_>>,
        xid: Option<&str>,
    ) -> Result<Option<Vec<Row>>, StoreError> {
        // The mark is the last write, because all transactions share its row: no transaction waits while it holds that
        // lock.
        let generation = self.shared.lives.generation();
        let raises = self.mark_is_late();
        let now = self.shared.clock.estimate();
        if raises {
            calls.push(Call::new(&sql::MARK_SAVE).big(now.0));
        }
        let has_read = reads.is_some();
        calls.extend(reads);
        calls.push(Call::new(&sql::COMMIT));
        match link.trip(&calls).await {
            Ok(mut answers) => {
                link.put_back();
                if raises {
                    self.shared.recorded.raise(generation, now);
                }
                Ok(Some(if has_read { answers.pop().and(answers.pop()).unwrap_or_default() } else { Vec::new() }))
            }
            Err(TripError::Lost(message)) => {
                drop(calls);
                let life = link.life.clone();
                drop(link);
                self.was_committed(xid, &life, &message.text).await?;
                Ok(None)
            }
            Err(failure) => {
                if link.roll_back().await.is_ok() {
                    link.put_back();
                }
                if failure.is_from_pooler() {
                    self.address.unprepared.store(true, Ordering::Relaxed);
                    return Err(StoreError::Conflict("a pooler lost the prepared statements".into()));
                }
                Err(failure.into())
            }
        }
    }

    /// Updates the floors after the commit, and adds the bodies to the answers.
    fn committed(&self, plan: &mut Plan, rows: &[Row]) -> Result<(), StoreError> {
        if let Some(changes) = plan.changes() {
            self.shared.floors.wrote(changes);
        }
        plan.scan.take().into_iter().for_each(Scan::confirm);
        if let Outcomes::Claim(ClaimOutcome::Claimed { bodies, .. }) = &mut plan.outcomes {
            bodies.reserve(rows.len());
            for row in rows {
                let body = row::body(row)?;
                bodies.insert(body.seq, body);
            }
        }
        Ok(())
    }

    /// Asks the server whether a transaction was committed, after the connection was lost at commit.
    async fn was_committed(&self, xid: Option<&str>, life: &str, lost: &str) -> Result<(), StoreError> {
        let unknown = |why: &str| Err(StoreError::Unknown(format!("{lost}; {why}")));
        let Some(xid) = xid else {
            return unknown("the transaction had no number");
        };
        for _ in 0..ASKS {
            match self.ask(xid).await {
                // A transaction whose connection is lost and that is not committed by now never will be.
                Ok((Some(status), _)) if status == "aborted" => {
                    return Err(StoreError::Unavailable(lost.into()));
                }
                // After a crash the server may have given the same id to another transaction, whose commit this would
                // be.
                Ok((Some(status), now)) if status == "committed" => {
                    return if now == life { Ok(()) } else { unknown("the server has recovered from a crash") };
                }
                Ok((None, _)) => return unknown("the server has forgotten the transaction"),
                // The server has not given out this id yet: a crash has taken our transaction back.
                Err(TripError::Refused { code: Some(code), .. }) if code.code() == "22023" => {
                    return Err(StoreError::Unavailable(lost.into()));
                }
                Ok(_) | Err(TripError::Lost(_) | TripError::Tls(_)) => tokio::time::sleep(ASK_PAUSE).await,
                Err(failure) => return unknown(&StoreError::from(failure).to_string()),
            }
        }
        unknown("the server could not be asked")
    }

    /// Returns the transaction's status, and the life of the server that reported it.
    async fn ask(&self, xid: &str) -> Result<(Option<String>, String), TripError> {
        let mut link = self.address.connect().await?;
        let rows = link.trip(&[Call::new(&sql::XACT_STATUS).text(xid)]).await?;
        let row = rows.first().and_then(|rows| rows.first());
        let status = row.map_or(Ok(None), |row| row::get(row, 0))?;
        Ok((status, link.life.to_string()))
    }
}

/// Returns whether the group locked heads of queues, or a task. Other transactions skip locked rows instead of waiting.
/// So the answer is sent only after the rollback, because the caller's next call must find these rows unlocked.
fn hides_rows(outcomes: &Outcomes) -> bool {
    match outcomes {
        Outcomes::Claim(_)
        | Outcomes::Enqueue(_)
        | Outcomes::Manage { .. }
        | Outcomes::Clear(_)
        | Outcomes::Task(_) => true,
        // A stale settlement may have locked an item that is waiting again; a renewal locks only its own delivery.
        Outcomes::Settle { answers, .. } => {
            answers.iter().any(|answer| !matches!(answer, SettleOutcome::Renewed { .. }))
        }
        Outcomes::Lease { .. } | Outcomes::Typing | Outcomes::Access(_) => false,
    }
}

fn bodies<'a>(seqs: &[Seq]) -> Call<'a> {
    Call::new(&sql::BODY_READ).bigs(seqs.iter().map(|seq| seq.0))
}
