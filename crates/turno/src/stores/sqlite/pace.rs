//! The pace of sign-in attempts.

use super::{Write, sql};
use crate::store::StoreError;
use turno_core::access::{PaceCounts, PaceKeys, PaceStep, PaceVerdict, pace};
use turno_core::audit::Hash;
use turno_core::limits::PACE_PURGED;
use turno_core::time::Time;

/// Reads the counts, decides, and writes them, inside the write transaction.
pub(super) fn step(write: Write<'_>, keys: PaceKeys, step: PaceStep) -> Result<PaceVerdict, StoreError> {
    let mut read = write.tx.prepare_cached(&sql::PACE_READ)?;
    let row = |row: &rusqlite::Row<'_>| Ok((Hash(row.get(0)?), Time(row.get(1)?)));
    let rows = read.query_map(keys.to_array().map(|key| key.0), row)?.collect::<Result<Vec<_>, _>>()?;
    drop(read);
    let (verdict, counts) = pace(step, PaceCounts::from_rows(keys, rows), write.now);
    // A refusal changes nothing, so dropping the transaction is enough.
    let Some(counts) = counts else { return Ok(verdict) };
    write.tx.prepare_cached(&sql::PACE_PURGE)?.execute((write.now.0, PACE_PURGED))?;
    let mut save = write.tx.prepare_cached(&sql::PACE_SAVE)?;
    for (key, paid_until) in keys.to_array().into_iter().zip(counts.to_array()) {
        save.execute((key.0, paid_until.0))?;
    }
    drop(save);
    write.commit()?;
    Ok(verdict)
}
