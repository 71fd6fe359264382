//! Purges: finished items, ended ownerships, expired tokens, and other old rows.

use super::PostgresStore;
use super::access::count;
use super::audit;
use super::call::Call;
use super::error::TripError;
use super::row::{get, maybe_name};
use super::schema;
use super::sql;
use super::tx::{Moment, Tx};
use crate::store::{
    Check, Finding, Outlived, Pending, Purge, RepairGroup, RepairOutcome, SchemaState, StoreError, Upkeep, purge_entry,
};
use tokio_postgres::Row;
use turno_core::audit::{Actor, Entry, chain};
use turno_core::id::{QueueId, Resource};
use turno_core::life::Occasion;
use turno_core::time::Time;

/// The number of purged items, the audit entry, and the transaction's id.
struct Purged {
    count: i64,
    entries: Vec<Entry>,
    xid: Option<String>,
}

impl PostgresStore {
    async fn purge_items(&self, queue: QueueId, before: Time, by: &Actor, limit: u32) -> Result<u64, StoreError> {
        let mut again = true;
        loop {
            let mut link = self.keeper.take(&self.address).await?;
            match items(&mut Tx::new(&mut link, &self.shared, None), queue, before, by, limit).await {
                Ok(Some(Purged { count, entries, xid })) => {
                    self.commit_calls(link, audit::calls(&entries), None, xid.as_deref()).await?;
                    return Ok(u64::try_from(count).unwrap_or_default());
                }
                Ok(None) => {
                    link.cancel();
                    return Ok(0);
                }
                Err(failure) => self.failed(link, failure, &mut again).await?,
            }
        }
    }
}

/// Deletes the items, adds their number to the queue's count, locks the audit, reads the clock. If there is nothing to
/// delete, the audit is not locked and no entry is written.
async fn items(
    tx: &mut Tx<'_>,
    queue: QueueId,
    before: Time,
    by: &Actor,
    limit: u32,
) -> Result<Option<Purged>, TripError> {
    let remove = Call::new(&sql::ITEM_PURGE).int(queue.0).big(before.0).big(limit.into());
    let mut answers = tx.trip(vec![remove, Call::new(&sql::QUEUE_NAME).int(queue.0)]).await?;
    let count = count(&answers.take())?;
    let Some(draft) = purge_entry(by.clone(), queue_name(&answers.take())?, count, before)? else {
        return Ok(None);
    };
    let counted = Call::new(&sql::QUEUE_PURGED).int(queue.0).big(count);
    let mut answers = tx.trip(vec![counted, audit::lock(), Moment::call(0, true)]).await?;
    answers.take();
    let mut head = audit::head(&answers.take())?;
    let moment = tx.moment(&answers.take())?;
    Ok(Some(Purged { count, entries: chain(&mut head, moment.now, vec![draft]), xid: moment.xid }))
}

fn queue_name(rows: &[Row]) -> Result<Option<&str>, TripError> {
    rows.first().map(|row| get(row, 0)).transpose()
}

/// Deletes the outlived rows that an enqueue found, adds their number to the queues' counts and audits that. Returns
/// the entries, and the time. Takes locks in the same order as [`items`].
pub(super) async fn outlived(tx: &mut Tx<'_>, outlived: &Outlived) -> Result<(Vec<Entry>, Time), TripError> {
    let mut calls = Vec::new();
    for (queue, (before, seqs)) in &outlived.items {
        calls.push(Call::new(&sql::ITEM_PURGE_NAMED).int(queue.0).big(before.0).bigs(seqs.iter().map(|seq| seq.0)));
    }
    if !outlived.absorbed.is_empty() {
        let absorbed = || outlived.absorbed.iter();
        let call = Call::new(&sql::ABSORBED_REMOVE).ints(absorbed().map(|(queue, _)| queue.0));
        calls.push(call.texts(absorbed().map(|(_, id)| id.as_str())));
    }
    let mut answers = tx.trip(calls).await?;
    let mut counts = Vec::new();
    for (queue, (before, _)) in &outlived.items {
        counts.push((*queue, *before, count(&answers.take())?));
    }
    counts.retain(|(_, _, count)| *count > 0);
    let counted = counts.iter().map(|(queue, _, count)| Call::new(&sql::QUEUE_PURGED).int(queue.0).big(*count));
    let mut calls: Vec<Call<'_>> = counted.collect();
    if !counts.is_empty() {
        calls.push(audit::lock());
    }
    calls.push(Moment::call(0, true));
    let mut answers = tx.trip(calls).await?;
    let mut drafts = Vec::new();
    for (_, before, count) in &counts {
        drafts.extend(purge_entry(Actor::system(), queue_name(&answers.take())?, *count, *before)?);
    }
    let head = if counts.is_empty() { None } else { Some(audit::head(&answers.take())?) };
    let now = tx.moment(&answers.take())?.now;
    Ok((head.map(|mut head| chain(&mut head, now, drafts)).unwrap_or_default(), now))
}

impl Upkeep for PostgresStore {
    fn schema(&self) -> Pending<'_, SchemaState> {
        Box::pin(async move { schema::state(&self.read(vec![Call::new(&sql::SCHEMA_READ)]).await?.take()) })
    }

    fn unsafe_settings(&self) -> Pending<'_, Vec<String>> {
        let setting = |row: &Row| Ok(format!("{} = {}", get::<&str>(row, 0)?, get::<&str>(row, 1)?));
        Box::pin(self.all(Call::new(&sql::SETTING_UNSAFE), setting))
    }

    fn purge(&self, what: Purge, before: Time, limit: u32) -> Pending<'_, u64> {
        Box::pin(async move {
            let simple = match what {
                Purge::Items(queue, by) => return self.purge_items(queue, before, &by, limit).await,
                Purge::LeaseHistory => Call::new(&sql::HISTORY_PURGE),
                Purge::Tokens => Call::new(&sql::TOKEN_PURGE),
                Purge::Links => Call::new(&sql::LINK_PURGE),
                Purge::Answers => Call::new(&sql::ANSWER_PURGE),
                Purge::Absorbed(queue) => Call::new(&sql::ABSORBED_PURGE).int(queue.0),
                Purge::Delivered(queue) => Call::new(&sql::DELIVERED_PURGE).int(queue.0),
            };
            let rows = self.read_on(&self.keeper, vec![simple.big(before.0).big(limit.into())]).await?.take();
            Ok(u64::try_from(count(&rows)?).unwrap_or_default())
        })
    }

    fn purge_leases(&self, after: Option<Resource>, before: Time, limit: u32) -> Pending<'_, (u64, Option<Resource>)> {
        Box::pin(async move {
            let after = after.as_ref().map_or("", Resource::as_str);
            let call = Call::new(&sql::LEASE_PURGE).text(after).big(before.0).big(limit.into());
            let rows = self.read_on(&self.keeper, vec![call]).await?.take();
            let last = rows.first().map_or(Ok(None), |row| maybe_name(row, 1, Resource::new))?;
            Ok((u64::try_from(count(&rows)?).unwrap_or_default(), last))
        })
    }

    fn count_purgeable(&self, queue: QueueId, before: Time) -> Pending<'_, u64> {
        Box::pin(async move {
            let rows = self.scan(Call::new(&sql::ITEM_PURGE_COUNT).int(queue.0).big(before.0)).await?;
            Ok(u64::try_from(count(&rows)?).unwrap_or_default())
        })
    }

    fn check(&self, check: Check, limit: u32) -> Pending<'_, Vec<Finding>> {
        Box::pin(self.findings(check, limit))
    }

    fn repair(&self, repair: RepairGroup) -> Pending<'_, RepairOutcome> {
        Box::pin(async move { self.lane_repair(&repair).await })
    }

    fn restored(&self) -> Pending<'_, ()> {
        Box::pin(self.begin_life(Occasion::Restored))
    }

    fn backup(&self, _to: std::path::PathBuf) -> Pending<'_, ()> {
        let message = "PostgreSQL has its own tools for that; use pg_dump, or a base backup with archived logs";
        Box::pin(std::future::ready(Err(StoreError::Rejected(message.into()))))
    }
}
