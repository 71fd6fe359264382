//! Kept answers of calls with a once key.

use super::PostgresStore;
use super::audit::hash;
use super::call::Call;
use super::error::TripError;
use super::row::{garbled, get};
use super::sql;
use crate::store::{Answer, AnswerStore, Pending};
use tokio_postgres::Row;
use turno_core::id::Once;
use turno_core::time::Time;

fn find(once: &Once) -> Call<'_> {
    Call::new(&sql::ANSWER_READ).text(once.scope()).text(once.key())
}

fn answer(row: &Row) -> Result<(Answer, Time), TripError> {
    let status = u16::try_from(get::<i32>(row, 1)?).map_err(garbled)?;
    Ok((Answer { fingerprint: hash(row, 0)?, status, body: get(row, 2)? }, Time(get(row, 3)?)))
}

impl AnswerStore for PostgresStore {
    fn answer(&self, once: Once) -> Pending<'_, Option<(Answer, Time)>> {
        Box::pin(async move { self.first(find(&once), answer).await })
    }

    /// Writes and reads back in one trip. Repeating it after a lost connection is harmless, because the first answer
    /// wins.
    fn keep_answer(&self, once: Once, new: Answer, at: Time, lapsed: Time) -> Pending<'_, Answer> {
        Box::pin(async move {
            let keep = Call::new(&sql::ANSWER_KEEP)
                .text(once.scope())
                .text(once.key())
                .bytes(&new.fingerprint.0)
                .int(new.status.into())
                .text(&new.body)
                .big(at.0)
                .big(lapsed.0);
            let mut answers = self.read(vec![keep, find(&once)]).await?;
            answers.take();
            let kept = answers.take().first().map(answer).transpose()?;
            Ok(kept.map(|(kept, _)| kept).ok_or_else(|| garbled("no answer was kept"))?)
        })
    }
}
