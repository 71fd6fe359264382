//! Trips outside of groups.

use super::PostgresStore;
use super::call::Call;
use super::error::TripError;
use super::row::garbled;
use super::slot::Slot;
use super::sql;
use super::tx::{Answers, Moment};
use crate::store::StoreError;
use std::sync::atomic::Ordering;
use tokio_postgres::Row;
use turno_core::life::Occasion;
use turno_core::time::Time;

impl PostgresStore {
    /// Makes one trip on a reader connection, with the settings that fix the query plans.
    pub(super) async fn read(&self, calls: Vec<Call<'_>>) -> Result<Answers, TripError> {
        self.read_on(free(&self.readers), calls).await
    }

    /// Returns all rows that a statement finds.
    pub(super) async fn all<T>(
        &self,
        call: Call<'_>,
        from_row: impl Fn(&Row) -> Result<T, TripError>,
    ) -> Result<Vec<T>, StoreError> {
        let rows = self.read(vec![call]).await?.take();
        Ok(rows.iter().map(from_row).collect::<Result<_, _>>()?)
    }

    /// Returns the first row that a statement finds, if there is one.
    pub(super) async fn first<T>(
        &self,
        call: Call<'_>,
        from_row: impl Fn(&Row) -> Result<T, TripError>,
    ) -> Result<Option<T>, StoreError> {
        let rows = self.read(vec![call]).await?.take();
        Ok(rows.first().map(from_row).transpose()?)
    }

    /// Returns the row of a statement that always has one.
    pub(super) async fn only<T>(
        &self,
        call: Call<'_>,
        from_row: impl Fn(&Row) -> Result<T, TripError>,
    ) -> Result<T, StoreError> {
        let name = &call.sql.name;
        Ok(self.first(call, from_row).await?.ok_or_else(|| garbled(format!("{name} found no row")))?)
    }

    pub(super) async fn read_on(&self, slot: &Slot, mut calls: Vec<Call<'_>>) -> Result<Answers, TripError> {
        calls.push(Call::new(&sql::COMMIT));
        let mut all = vec![Call::new(&sql::BEGIN)];
        all.extend(calls);
        let mut answers = self.trip_with_retry(slot, &all).await?.into_iter();
        answers.next();
        Ok(Answers::new(answers))
    }

    /// Makes one trip, and repeats it once after a stale connection's loss or a pooler's error.
    async fn trip_with_retry(&self, slot: &Slot, calls: &[Call<'_>]) -> Result<Vec<Vec<Row>>, TripError> {
        let mut again = true;
        loop {
            let mut link = slot.take(&self.address).await?;
            let fresh = link.fresh;
            // A read may start at a cached position, and a new connection may lead to another life.
            if fresh && !self.is_same_life(&mut link).await? {
                link.put_back();
                self.begin_life(Occasion::Met).await.map_err(|error| TripError::Lost(error.to_string().into()))?;
                continue;
            }
            let failure = match link.trip(calls).await {
                Ok(answers) => {
                    link.put_back();
                    return Ok(answers);
                }
                Err(failure) => failure,
            };
            let pooler = failure.is_from_pooler();
            if pooler {
                self.address.unprepared.store(true, Ordering::Relaxed);
            } else if !failure.is_lost() {
                link.cancel();
            }
            if !(again && (pooler || (failure.is_lost() && !fresh))) {
                return Err(failure);
            }
            again = false;
        }
    }

    /// Returns the database's time, passed through the guarded clock.
    pub(super) async fn now(&self) -> Result<Time, TripError> {
        let rows = self.read(vec![Moment::call(0, false)]).await?.take();
        Ok(Moment::read(&self.shared.clock, &rows)?.now)
    }

    /// Runs one statement without the settings that forbid sequential scans, for reports and checks.
    pub(super) async fn scan(&self, call: Call<'_>) -> Result<Vec<Row>, TripError> {
        let answers = self.trip_with_retry(&self.readers[self.readers.len() - 1], &[call]).await?;
        Ok(answers.into_iter().next().unwrap_or_default())
    }
}

/// Returns a free connection, or else one to wait for.
pub(super) fn free(slots: &[Slot]) -> &Slot {
    slots.iter().find(|slot| slot.is_free()).unwrap_or(&slots[0])
}
