//! Runs the checks.

use super::sql;
use crate::store::{Check, Damaged, Finding, StoreError};
use rusqlite::{Connection, Row};
use turno_core::id::{Lane, QueueId, Seq};

pub(super) fn run(db: &Connection, check: Check, limit: u32) -> Result<Vec<Finding>, StoreError> {
    let mut read = db.prepare(sql::of_check(check))?;
    let found = read.query_map([limit], |row| {
        let damaged = check.mendable.then(|| damaged(row)).transpose()?;
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
