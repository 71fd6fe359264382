//! The statement of each check.

use super::PostgresStore;
use super::call::{self, Call, Sql};
use super::failure::TripError;
use super::row::get;
use crate::store::{Check, Damaged, Finding, StoreError};
use tokio_postgres::Row;
use turno_core::id::{Lane, QueueId, Seq};

impl PostgresStore {
    /// Runs a check with sequential scans, and therefore without the settings that forbid them.
    pub(super) async fn findings(&self, check: Check, limit: u32) -> Result<Vec<Finding>, StoreError> {
        let rows = self.scan(Call::new(statement(check)).big(limit.into())).await?;
        let invariant = check.invariant();
        let finding = |row| {
            let damaged = check.is_mendable().then(|| damaged(row)).transpose()?;
            Ok(Finding { invariant, subject: get(row, 0)?, detail: get(row, 1)?, damaged })
        };
        rows.iter().map(finding).collect()
    }
}

fn damaged(row: &Row) -> Result<Damaged, TripError> {
    let (lane, seq) = (get::<Option<i64>>(row, 3)?.map(Lane), get::<Option<i64>>(row, 4)?.map(Seq));
    Ok(Damaged { queue: QueueId(get(row, 2)?), lane, seq })
}

fn statement(check: Check) -> &'static Sql {
    match check {
        Check::FenceReused => &call::CHECK_FENCE_REUSED,
        Check::FenceAhead => &call::CHECK_FENCE_AHEAD,
        Check::HistoryOverlap => &call::CHECK_HISTORY_OVERLAP,
        Check::Heads => &call::CHECK_HEADS,
        Check::Deliveries => &call::CHECK_DELIVERIES,
        Check::Groups => &call::CHECK_GROUPS,
        Check::FinishedTwice => &call::CHECK_FINISHED_TWICE,
        Check::Lost => &call::CHECK_LOST,
        Check::Conditions => &call::CHECK_CONDITIONS,
        Check::ErrorsKept => &call::CHECK_ERRORS_KEPT,
        Check::Stuck => &call::CHECK_STUCK,
        Check::SyncDoubles => &call::CHECK_SYNC_DOUBLES,
        Check::Revisions => &call::CHECK_REVISIONS,
        Check::Moves => &call::CHECK_MOVES,
        Check::FencesOfLines => &call::CHECK_FENCES_OF_LINES,
        Check::Stock => &call::CHECK_STOCK,
        Check::Positions => &call::CHECK_POSITIONS,
        Check::Secrets => &call::CHECK_SECRETS,
    }
}
