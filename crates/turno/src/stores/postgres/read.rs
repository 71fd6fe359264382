//! Reads outside of groups: leases, and what the sweep looks for. Reads of items are in `record`.

use super::PostgresStore;
use super::call::Call;
use super::failure::TripError;
use super::row::{self, get};
use super::slot::Slot;
use super::sql;
use super::tx::{Answers, Moment};
use super::{lease, lease_row};
use crate::engine::LOOK_AGAIN;
use crate::store::{LeaseQuery, Past, Peeked, StoreError};
use std::sync::atomic::Ordering;
use tokio_postgres::Row;
use turno_core::id::{Fence, Lane, QueueId, Resource, Seq, UserId};
use turno_core::lease::{Ending, State};
use turno_core::limits::NAME_MAX;
use turno_core::queue::{AttemptError, DeliveryRef, FailedAttempt, SettleOutcome, Trace};
use turno_core::time::{Span, Time};

/// How far behind the clock scans for expired deliveries and due leases start, once all earlier ones are settled.
const EXPIRY_MARGIN: Span = Span::from_secs(60);

impl PostgresStore {
    /// Makes one trip on a reader connection, with the settings that fix the query plans.
    pub(super) async fn read(&self, calls: Vec<Call<'_>>) -> Result<Answers, TripError> {
        self.read_on(free(&self.readers), calls).await
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
                self.begin_life(false).await.map_err(|error| TripError::Lost(error.to_string()))?;
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
                link.abandon();
                link.put_back();
            }
            if !(again && (pooler || (failure.is_lost() && !fresh))) {
                return Err(failure);
            }
            again = false;
        }
    }

    pub(super) async fn lease_peek(&self, resources: Vec<Resource>) -> Result<Peeked, StoreError> {
        let calls =
            vec![Call::new(&sql::LEASE_READ).texts(resources.iter().map(Resource::as_str)), Moment::call(0, false)];
        let mut answers = self.read_on(free(&self.peekers), calls).await?;
        let rows = answers.take();
        let moment = Moment::read(&self.shared.clock, &answers.take())?;
        Ok(Peeked { now: moment.now, epoch: moment.epoch, states: lease::states(&rows, resources)? })
    }

    pub(super) async fn lease_list(&self, query: LeaseQuery) -> Result<Peeked, StoreError> {
        let prefix = query.prefix.as_deref().unwrap_or_default();
        let end = prefix_end(prefix);
        let list = Call::new(&sql::LEASE_LIST)
            .text(query.after.as_ref().map_or("", Resource::as_str))
            .text(prefix)
            .text(&end)
            .maybe_text(query.holder.as_ref().map(UserId::as_str))
            .big(query.limit.into());
        let mut answers = self.read(vec![list, Moment::call(0, false)]).await?;
        let states = answers.take().iter().map(state).collect::<Result<_, _>>()?;
        let moment = Moment::read(&self.shared.clock, &answers.take())?;
        Ok(Peeked { now: moment.now, epoch: moment.epoch, states })
    }

    pub(super) async fn lease_lines(&self, after: Option<&Resource>, limit: u32) -> Result<Vec<State>, StoreError> {
        let call = Call::new(&sql::LEASE_LINES).text(after.map_or("", Resource::as_str)).big(limit.into());
        let rows = self.read(vec![call]).await?.take();
        Ok(rows.iter().map(state).collect::<Result<_, _>>()?)
    }

    pub(super) async fn lease_ending(
        &self,
        resource: &Resource,
        Fence(fence): Fence,
    ) -> Result<Option<Ending>, StoreError> {
        let rows = self.read(vec![Call::new(&sql::HISTORY_READ).text(resource.as_str()).big(fence)]).await?.take();
        Ok(rows.first().map(lease_row::ending).transpose()?)
    }

    pub(super) async fn lease_history(
        &self,
        resource: &Resource,
        from: Past,
        limit: u32,
    ) -> Result<Vec<Ending>, StoreError> {
        let (sql, cursor) = match from {
            Past::Newest { before } => (&sql::HISTORY_LIST, before.map_or(i64::MAX, |Fence(fence)| fence)),
            Past::Oldest { after } => (&sql::HISTORY_AFTER, after.0),
        };
        let call = Call::new(sql).text(resource.as_str()).big(limit.into()).big(cursor);
        let rows = self.read(vec![call]).await?.take();
        Ok(rows.iter().map(lease_row::ending).collect::<Result<_, _>>()?)
    }

    /// Returns the database's time, passed through the guarded clock.
    pub(super) async fn now(&self) -> Result<Time, TripError> {
        let rows = self.read(vec![Moment::call(0, false)]).await?.take();
        Ok(Moment::read(&self.shared.clock, &rows)?.now)
    }

    pub(super) async fn items_expired(&self, limit: u32) -> Result<(Vec<DeliveryRef>, Option<Time>), StoreError> {
        let life = self.shared.lives.generation();
        let now = self.now().await?;
        let from = self.expiry.from(life, now);
        let expired = Call::new(&sql::HOT_EXPIRED).big(from.0).big(now.0).big(limit.into());
        let next = Call::new(&sql::HOT_NEXT_EXPIRY).big(now.0).big((now + LOOK_AGAIN).0);
        let mut answers = self.read(vec![expired, next]).await?;
        let expired: Vec<DeliveryRef> = answers.take().iter().map(reference).collect::<Result<_, _>>()?;
        let next = answers.take().first().map(|row| get(row, 0)).transpose()?.map(Time);
        if expired.is_empty() {
            self.expiry.clear_before(life, now + Span(-EXPIRY_MARGIN.0));
        }
        Ok((expired, next))
    }

    /// Returns leases whose look is due. The scan starts a margin before the clock, because a claim becomes visible
    /// some time after the instant it was decided with.
    pub(super) async fn leases_due(&self, limit: u32) -> Result<(Vec<Resource>, Option<Time>), StoreError> {
        let life = self.shared.lives.generation();
        let now = self.now().await?;
        let from = self.looks.from(life, now);
        let due = Call::new(&sql::LEASE_DUE).big(from.0).big(now.0).big(limit.into());
        let next = Call::new(&sql::LEASE_DUE_NEXT).big(now.0).big((now + LOOK_AGAIN).0);
        let mut answers = self.read(vec![due, next]).await?;
        let rows = answers.take();
        let next = answers.take().first().map(|row| get(row, 0)).transpose()?.map(Time);
        let first = rows.first().map(|row| get(row, 1)).transpose()?.map_or(now, Time);
        self.looks.clear_before(life, first.min(now + Span(-EXPIRY_MARGIN.0)));
        let due = rows.iter().map(|row| row::name(row, 0, Resource::new)).collect::<Result<_, _>>()?;
        Ok((due, next))
    }

    pub(super) async fn queue_next_look(&self, queue: QueueId, after: Time) -> Result<Option<Time>, StoreError> {
        let call = Call::new(&sql::HOT_NEXT_LOOK).int(queue.0).big(after.0);
        let rows = self.read(vec![call]).await?.take();
        Ok(rows.first().map(|row| get(row, 0)).transpose()?.map(Time))
    }

    pub(super) async fn is_completing(&self, first: Seq) -> Result<bool, StoreError> {
        let rows = self.read(vec![Call::new(&sql::COMPLETING).big(first.0)]).await?.take();
        Ok(rows.first().map_or(Ok(false), |row| get(row, 0))?)
    }

    pub(super) async fn items_settled(
        &self,
        reference: Vec<DeliveryRef>,
    ) -> Result<Vec<Option<SettleOutcome>>, StoreError> {
        let call = Call::new(&sql::SETTLED)
            .bigs(reference.iter().map(|reference| reference.seq.0))
            .bigs(reference.iter().map(|reference| reference.fence.0));
        let rows = self.read(vec![call]).await?.take();
        let mut outcomes = vec![None; reference.len()];
        for row in &rows {
            let index = usize::try_from(get::<i32>(row, 0)?).unwrap_or(usize::MAX);
            if let Some(outcome) = outcomes.get_mut(index) {
                *outcome = settled(row)?;
            }
        }
        Ok(outcomes)
    }

    /// Runs one statement without the settings that forbid sequential scans, for reports and checks.
    pub(super) async fn scan(&self, call: Call<'_>) -> Result<Vec<Row>, TripError> {
        let answers = self.trip_with_retry(&self.readers[self.readers.len() - 1], &[call]).await?;
        Ok(answers.into_iter().next().unwrap_or_default())
    }
}

/// Reads the state from a row that begins with its resource.
fn state(row: &Row) -> Result<State, TripError> {
    lease_row::state(row, 1, row::name(row, 0, Resource::new)?)
}

fn reference(row: &Row) -> Result<DeliveryRef, TripError> {
    Ok(DeliveryRef {
        queue: QueueId(get(row, 0)?),
        seq: Seq(get(row, 1)?),
        lane: get::<Option<i64>>(row, 2)?.map(Lane),
        fence: Fence(get(row, 3)?),
        size: u32::try_from(get::<i64>(row, 4)?).unwrap_or(u32::MAX),
    })
}

/// Returns the first text behind all texts that begin with `prefix`, in byte order. Names are compared that way, and
/// UTF-8 keeps the order of characters.
fn prefix_end(prefix: &str) -> String {
    let mut text = prefix.to_owned();
    while let Some(last) = text.pop() {
        let next = ((last as u32 + 1)..=char::MAX as u32).find_map(char::from_u32);
        if let Some(next) = next {
            text.push(next);
            return text;
        }
    }
    // Longer than any name, and made of the last character.
    char::MAX.to_string().repeat(NAME_MAX + 1)
}

/// Returns a free connection, or else one to wait for.
pub(super) fn free(slots: &[Slot]) -> &Slot {
    slots.iter().find(|slot| slot.is_free()).unwrap_or(&slots[0])
}

/// Returns how a delivery ended under exactly its fence, from the rows that are left of it.
fn settled(row: &Row) -> Result<Option<SettleOutcome>, TripError> {
    let ended = get::<Option<i16>>(row, 1)?.map(row::ended_from).transpose()?;
    let back = get::<Option<i16>>(row, 2)?.map(row::last_from).transpose()?;
    let retry_at = get::<Option<i64>>(row, 4)?.map(Time);
    let error: Option<&str> = get(row, 3)?;
    let stored = get(row, 5)?;
    let failed = error.map(|error| FailedAttempt { expired: AttemptError::expired_from(stored, error), retry_at });
    Ok(Trace { ended, back, failed }.settled())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_prefix_is_the_first_text_behind_it() {
        assert_eq!(prefix_end("task:"), "task;");
        assert_eq!(prefix_end("a\u{d7ff}"), "a\u{e000}");
        assert_eq!(prefix_end("a\u{10ffff}"), "b");
        assert!(prefix_end("").as_str() > "\u{10ffff}\u{10ffff}");
    }
}
