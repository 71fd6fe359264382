//! Repair of a damaged lane: locks and reads the lane before the decision.

use super::PostgresStore;
use super::audit;
use super::call::Call;
use super::changes;
use super::error::TripError;
use super::lane;
use super::manage::{completing, spared};
use super::row::{self, ITEM, body, get, item, maybe_name};
use super::sql;
use super::tx::{Moment, Tx};
use crate::store::{Damaged, Found, RepairGroup, RepairOutcome, StoreError};
use tokio_postgres::Row;
use turno_core::id::{ItemId, Key};
use turno_core::queue::{Changes, Item, RepairRead, RepairRow};
use turno_core::time::Time;

impl PostgresStore {
    /// Repairs a lane in its own transaction, outside of the groups' routes.
    pub(super) async fn lane_repair(&self, group: &RepairGroup) -> Result<RepairOutcome, StoreError> {
        let mut again = true;
        loop {
            let mut link = self.keeper.take(&self.address).await?;
            match plan(&mut Tx::new(&mut link, &self.shared, None), group).await {
                Ok((_, outcome, _)) if outcome.repaired.is_nothing() => {
                    link.cancel();
                    return Ok(outcome);
                }
                Ok((changes, outcome, xid)) => {
                    let mut calls = changes::calls(&changes);
                    // The lane's front may begin below the floors that other processes have cached.
                    calls.push(Call::new(&sql::REBIRTH_NOTE));
                    self.commit_calls(link, calls, None, xid.as_deref()).await?;
                    return Ok(outcome);
                }
                Err(failure) => self.failed(link, failure, &mut again).await?,
            }
        }
    }
}

type Planned = (Changes, RepairOutcome, Option<String>);

/// Finds and locks the lane and its rows, reads them, spares deliveries that applications are completing, locks the
/// audit, reads the clock, decides.
async fn plan(tx: &mut Tx<'_>, group: &RepairGroup) -> Result<Planned, TripError> {
    let Damaged { queue, seq, .. } = group.damaged;
    let find = || Call::new(&sql::REPAIR_FIND).maybe_big(seq.map(|seq| seq.0));
    let named = found(&tx.trip(vec![find()]).await?.take())?;
    let lane = group.lane(&named);
    let place = |sql| Call::new(sql).int(queue.0).maybe_big(lane.map(|lane| lane.0)).maybe_big(seq.map(|seq| seq.0));
    let rows = place(&sql::REPAIR_ROWS).big(RepairRead::FIRST.into()).big(RepairRead::ROWS.into());
    let lock = lane::lock(lane.map(|lane| (queue, lane)).into_iter());
    let mut answers = tx.trip(vec![lock, place(&sql::REPAIR_LOCK), rows, find()]).await?;
    answers.take();
    answers.take();
    let read = answers.take();
    let found = found(&answers.take())?;
    let rows = read.iter().map(repair_row).collect::<Result<Vec<_>, _>>()?;
    let keys = read.iter().map(|row| maybe_name(row, ITEM + 1, Key::new)).collect::<Result<Vec<_>, _>>()?;
    let key = keys.into_iter().flatten().next().or_else(|| found.key.clone());
    let reference: Vec<&Item> = rows.iter().map(|row| &row.item).filter(|item| item.expires_at.is_some()).collect();
    let mut calls = completing(&reference);
    if RepairRead::needs_bodies(&group.policy, &rows) {
        calls.push(Call::new(&sql::BODY_READ).bigs(rows.iter().map(|row| row.item.seq.0)));
    }
    calls.extend([audit::lock(), Moment::call(0, true)]);
    let mut answers = tx.trip(calls).await?;
    let spared = spared(&mut answers, &reference)?;
    let bodies = match RepairRead::needs_bodies(&group.policy, &rows) {
        true => answers.take().iter().map(body).collect::<Result<_, _>>()?,
        false => Vec::new(),
    };
    let head = audit::head(&answers.take())?;
    let moment = tx.moment(&answers.take())?;
    let read = RepairRead { bodies, spared, ..group.read(moment.now, lane, rows, &found) };
    let (changes, outcome) = group.decide(read, key, head);
    Ok((changes, outcome, moment.xid))
}

fn found(rows: &[Row]) -> Result<Found, TripError> {
    let row = rows.first().ok_or_else(|| row::garbled("no answer about an item"))?;
    Ok(Found {
        id: maybe_name(row, 0, ItemId::new)?,
        key: maybe_name(row, 1, Key::new)?,
        enqueued_at: Time(get::<Option<i64>>(row, 2)?.unwrap_or_default()),
        is_unfinished: get(row, 3)?,
        is_finished: get(row, 4)?,
    })
}

fn repair_row(row: &Row) -> Result<RepairRow, TripError> {
    Ok(RepairRow { item: item(row, 0)?, id: maybe_name(row, ITEM, ItemId::new)?, is_finished: get(row, ITEM + 2)? })
}
