//! Kept answers of calls with a once key.

use super::read::{execute, first};
use super::{SqliteStore, sql};
use crate::store::{Answer, AnswerStore, Pending, StoreError};
use rusqlite::{Connection, params};
use turno_core::audit::Hash;
use turno_core::id::Once;
use turno_core::time::Time;

fn read(db: &Connection, once: &Once) -> Result<Option<(Answer, Time)>, StoreError> {
    first(db, &sql::ANSWER_READ, (once.scope(), once.key()), |row| {
        let answer = Answer { fingerprint: Hash(row.get(0)?), status: row.get(1)?, body: row.get(2)? };
        Ok((answer, Time(row.get(3)?)))
    })
}

impl AnswerStore for SqliteStore {
    fn answer(&self, once: Once) -> Pending<'_, Option<(Answer, Time)>> {
        self.looks.run(move |db| read(db, &once))
    }

    fn keep_answer(&self, once: Once, answer: Answer, at: Time, lapsed: Time) -> Pending<'_, Answer> {
        self.write(move |write| {
            let Answer { fingerprint, status, body } = answer;
            let values = params![once.scope(), once.key(), fingerprint.0, status, body, at.0, lapsed.0];
            execute(&write.tx, &sql::ANSWER_KEEP, values)?;
            let kept = read(&write.tx, &once)?.map(|(kept, _)| kept);
            write.commit()?;
            kept.ok_or(StoreError::Bug("an answer that was just kept is not there"))
        })
    }
}
