//! The statement of each check.

use super::PostgresStore;
use super::call::Call;
use super::error::TripError;
use super::row::get;
use super::sql::{self, Sql};
use crate::store::{Check, Damaged, Finding, StoreError};
use tokio_postgres::Row;
use turno_core::id::{Lane, QueueId, Seq};

impl PostgresStore {
    /// Runs a check with sequential scans, and therefore without the settings that forbid them.
    pub(super) async fn findings(&self, check: Check, limit: u32) -> Result<Vec<Finding>, StoreError> {
        let rows = self.scan(Call::new(statement(check)).big(limit.into())).await?;
        let finding = |row| {
            let damaged = check.is_mendable().then(|| damaged(row)).transpose()?;
            Finding::from_json(check, get(row, 0)?, damaged)
        };
        rows.iter().map(finding).collect()
    }
}

fn damaged(row: &Row) -> Result<Damaged, TripError> {
    let (lane, seq) = (get::<Option<i64>>(row, 2)?.map(Lane), get::<Option<i64>>(row, 3)?.map(Seq));
    Ok(Damaged { queue: QueueId(get(row, 1)?), lane, seq })
}

fn statement(check: Check) -> &'static Sql {
    match check {
        Check::FenceReused => &sql::CHECK_FENCE_REUSED,
        Check::FenceAhead => &sql::CHECK_FENCE_AHEAD,
        Check::HistoryOverlap => &sql::CHECK_HISTORY_OVERLAP,
        Check::Heads => &sql::CHECK_HEADS,
        Check::Deliveries => &sql::CHECK_DELIVERIES,
        Check::Groups => &sql::CHECK_GROUPS,
        Check::FinishedTwice => &sql::CHECK_FINISHED_TWICE,
        Check::Lost => &sql::CHECK_LOST,
        Check::Conditions => &sql::CHECK_CONDITIONS,
        Check::ErrorsKept => &sql::CHECK_ERRORS_KEPT,
        Check::Stuck => &sql::CHECK_STUCK,
        Check::SyncDoubles => &sql::CHECK_SYNC_DOUBLES,
        Check::Revisions => &sql::CHECK_REVISIONS,
        Check::Moves => &sql::CHECK_MOVES,
        Check::FencesOfLines => &sql::CHECK_FENCES_OF_LINES,
        Check::Stock => &sql::CHECK_STOCK,
        Check::Positions => &sql::CHECK_POSITIONS,
        Check::Secrets => &sql::CHECK_SECRETS,
    }
}
