//! Runs the checks.

use super::PostgresStore;
use super::call::Call;
use super::error::TripError;
use super::row::get;
use super::sql;
use crate::store::{Check, Damaged, Finding, StoreError};
use tokio_postgres::Row;
use turno_core::id::{Lane, QueueId, Seq};

impl PostgresStore {
    /// Runs a check with sequential scans, and therefore without the settings that forbid them.
    pub(super) async fn findings(&self, check: Check, limit: u32) -> Result<Vec<Finding>, StoreError> {
        let rows = self.scan(Call::new(sql::of_check(check)).big(limit.into())).await?;
        let finding = |row| {
            let damaged = check.mendable.then(|| damaged(row)).transpose()?;
            Finding::from_json(check, get(row, 0)?, damaged)
        };
        rows.iter().map(finding).collect()
    }
}

fn damaged(row: &Row) -> Result<Damaged, TripError> {
    let (lane, seq) = (get::<Option<i64>>(row, 2)?.map(Lane), get::<Option<i64>>(row, 3)?.map(Seq));
    Ok(Damaged { queue: QueueId(get(row, 1)?), lane, seq })
}
