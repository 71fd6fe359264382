//! The pace of sign-in attempts, which all instances share.

use super::PostgresStore;
use super::audit::hash;
use super::call::Call;
use super::error::TripError;
use super::row::get;
use super::sql;
use super::tx::{Moment, Tx};
use crate::store::StoreError;
use tokio_postgres::Row;
use turno_core::access::{PaceCounts, PaceKeys, PaceStep, PaceVerdict, pace};
use turno_core::audit::Hash;
use turno_core::limits::PACE_PURGED;
use turno_core::time::Time;

/// A decision, the counts to write with the time of the decision, and the transaction's id.
type Decided = (PaceVerdict, Option<(PaceCounts, Time)>, Option<String>);

fn keys_of(keys: &[Hash; 3]) -> impl Iterator<Item = &[u8]> {
    keys.iter().map(|key| &key.0[..])
}

/// Locks the counts, reads the clock, decides.
async fn decide(tx: &mut Tx<'_>, keys: PaceKeys, step: PaceStep) -> Result<Decided, TripError> {
    let array = keys.to_array();
    let insert = Call::new(&sql::PACE_INSERT).many_bytes(keys_of(&array));
    let read = Call::new(&sql::PACE_READ).many_bytes(keys_of(&array));
    let mut answers = tx.trip(vec![insert, read, Moment::call(0, true)]).await?;
    answers.take();
    let row = |row: &Row| Ok::<_, TripError>((hash(row, 0)?, Time(get(row, 1)?)));
    let rows = answers.take().iter().map(row).collect::<Result<Vec<_>, _>>()?;
    let moment = tx.moment(&answers.take())?;
    let (verdict, counts) = pace(step, PaceCounts::from_rows(keys, rows), moment.now);
    Ok((verdict, counts.map(|counts| (counts, moment.now)), moment.xid))
}

impl PostgresStore {
    pub(super) async fn pace(&self, keys: PaceKeys, step: PaceStep) -> Result<PaceVerdict, StoreError> {
        let mut again = true;
        loop {
            let mut link = self.keeper.take(&self.address).await?;
            match decide(&mut Tx::new(&mut link, &self.shared, None), keys, step).await {
                Ok((verdict, Some((counts, now)), xid)) => {
                    let array = keys.to_array();
                    let save = Call::new(&sql::PACE_SAVE)
                        .many_bytes(keys_of(&array))
                        .bigs(counts.to_array().iter().map(|at| at.0));
                    let purge = Call::new(&sql::PACE_PURGE).big(now.0).big(PACE_PURGED);
                    self.commit_calls(link, vec![save, purge], None, xid.as_deref()).await?;
                    return Ok(verdict);
                }
                Ok((verdict, None, _)) => {
                    // A refusal changes nothing.
                    if link.roll_back().await.is_ok() {
                        link.put_back();
                    }
                    return Ok(verdict);
                }
                Err(failure) => self.failed(link, failure, &mut again).await?,
            }
        }
    }
}
