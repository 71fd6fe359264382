//! The statement of each check.

use super::sql;
use crate::store::{Check, Damaged, Finding, StoreError};
use rusqlite::{Connection, Row};
use turno_core::id::{Lane, QueueId, Seq};

pub(super) fn run(db: &Connection, check: Check, limit: u32) -> Result<Vec<Finding>, StoreError> {
    let mut read = db.prepare(text(check))?;
    let found = read.query_map([limit], |row| {
        let damaged = check.is_mendable().then(|| damaged(row)).transpose()?;
        Ok((row.get::<_, String>(0)?, damaged))
    })?;
    let finding = |found: Result<(String, Option<Damaged>), _>| {
        let (json, damaged) = found?;
        Finding::from_json(check, &json, damaged)
    };
    found.map(finding).collect()
}

fn damaged(row: &Row<'_>) -> Result<Damaged, rusqlite::Error> {
    let (lane, seq) = (row.get::<_, Option<i64>>(2)?.map(Lane), row.get::<_, Option<i64>>(3)?.map(Seq));
    Ok(Damaged { queue: QueueId(row.get(1)?), lane, seq })
}

fn text(check: Check) -> &'static str {
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
