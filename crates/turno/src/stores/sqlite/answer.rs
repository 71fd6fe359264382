//! Kept answers of calls with a once key.

use super::{SqliteStore, Write, sql};
use crate::store::{Answer, AnswerStore, Pending, StoreError};
use rusqlite::{Connection, OptionalExtension, params};
use turno_core::audit::Hash;
use turno_core::id::Once;
use turno_core::time::Time;

pub(super) fn read(db: &Connection, once: &Once) -> Result<Option<(Answer, Time)>, StoreError> {
    let mut read = db.prepare_cached(&sql::ANSWER_READ)?;
    let found = read.query_row((once.scope(), once.key()), |row| {
        let answer = Answer { fingerprint: Hash(row.get(0)?), status: row.get(1)?, body: row.get(2)? };
        Ok((answer, Time(row.get(3)?)))
    });
    Ok(found.optional()?)
}

/// Keeps an answer, unless one made at `lapsed` or later is kept already. Returns the kept answer.
pub(super) fn keep(
    write: Write<'_>,
    once: &Once,
    answer: &Answer,
    at: Time,
    lapsed: Time,
) -> Result<Answer, StoreError> {
    let Answer { fingerprint, status, body } = answer;
    let values = params![once.scope(), once.key(), fingerprint.0, status, body, at.0, lapsed.0];
    write.tx.prepare_cached(&sql::ANSWER_KEEP)?.execute(values)?;
    let kept = read(&write.tx, once)?.map(|(kept, _)| kept);
    write.commit()?;
    kept.ok_or(StoreError::Bug("an answer that was just kept is not there"))
}

impl AnswerStore for SqliteStore {
    fn answer(&self, once: Once) -> Pending<'_, Option<(Answer, Time)>> {
        self.looks.run(move |db| read(db, &once))
    }

    fn keep_answer(&self, once: Once, answer: Answer, at: Time, lapsed: Time) -> Pending<'_, Answer> {
        self.write(move |write| keep(write, &once, &answer, at, lapsed))
    }
}
