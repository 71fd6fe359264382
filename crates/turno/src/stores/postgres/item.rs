//! Reads of items, queue summaries, lanes and expiries.

use super::PostgresStore;
use super::call::Call;
use super::enqueue::front_items;
use super::error::TripError;
use super::expiry::EXPIRY_MARGIN;
use super::row::{self, get, size};
use super::settle::trace;
use super::sql;
use crate::engine::LOOK_AGAIN;
use crate::store::{
    Counts, ItemPage, ItemQuery, ItemReader, ItemRecord, ItemSize, LaneFront, LaneLocks, Pending, Pulse, StoreError,
};
use std::collections::HashMap;
use tokio_postgres::Row;
use turno_core::id::{Fence, ItemId, Key, Lane, QueueId, Seq};
use turno_core::queue::{DeliveryRef, ItemState, Trace, Waited};
use turno_core::time::{Span, Time};

impl PostgresStore {
    async fn records(&self, now: Time, rows: &[Row]) -> Result<Vec<ItemRecord>, StoreError> {
        let seqs = rows.iter().map(|row| get(row, 0)).collect::<Result<Vec<i64>, _>>()?;
        let mut errors: HashMap<Seq, Vec<_>> = HashMap::new();
        let mut came_back: HashMap<Seq, Vec<_>> = HashMap::new();
        if !seqs.is_empty() {
            let calls = [&sql::ERROR_LIST, &sql::CAME_BACK_LIST];
            let calls = calls.into_iter().map(|call| Call::new(call).bigs(seqs.iter().copied())).collect();
            let mut answers = self.read(calls).await?;
            for row in &answers.take() {
                let error = row::attempt_error(row)?;
                errors.entry(error.seq).or_default().push(error);
            }
            for row in &answers.take() {
                let back = row::came_back(row)?;
                came_back.entry(back.seq).or_default().push(back);
            }
        }
        let sizes = row::BODY + row::ITEM + row::DONE;
        let record = |row| {
            let body = row::body(row)?;
            let there = |at| get::<Option<i64>>(row, at).map(|seq| seq.is_some());
            let item = if there(row::BODY)? { Some(row::item(row, row::BODY)?) } else { None };
            let at = row::BODY + row::ITEM;
            let done = if there(at)? { Some(row::done(row, at)?) } else { None };
            let errors = errors.remove(&body.seq).unwrap_or_default();
            let came_back = came_back.remove(&body.seq).unwrap_or_default();
            let payload_bytes = size(row, sizes)?;
            Ok(ItemRecord { now, body, item, done, errors, came_back, payload_bytes, payload_cut: false })
        };
        rows.iter().map(record).collect()
    }

    /// Reads the payloads that the list statement left out because of their size, although the query wants them. Marks
    /// the others as cut.
    async fn add_payloads(&self, query: &ItemQuery, items: &mut [ItemRecord]) -> Result<(), StoreError> {
        let late: Vec<&mut ItemRecord> =
            items.iter_mut().filter(|record| record.payload_bytes > query.read_at_once()).collect();
        let (wanted, cut): (Vec<_>, Vec<_>) =
            late.into_iter().partition(|record| record.payload_bytes <= query.payload_max);
        cut.into_iter().for_each(|record| record.payload_cut = true);
        if wanted.is_empty() {
            return Ok(());
        }
        let read = Call::new(&sql::BODY_READ).bigs(wanted.iter().map(|record| record.body.seq.0));
        let rows = self.read(vec![read]).await?.take();
        let bodies = rows.iter().map(|row| row::body(row).map(|body| (body.seq, body)));
        let mut bodies = bodies.collect::<Result<HashMap<_, _>, _>>()?;
        for record in wanted {
            // A purge may have deleted the item meanwhile. Its payload is then gone.
            match bodies.remove(&record.body.seq) {
                Some(body) => (record.payload_bytes, record.body) = (body.payload.len(), body),
                None => record.payload_cut = true,
            }
        }
        Ok(())
    }

    /// Returns the counts, and since when the oldest item waits. Uses a sequential scan, and therefore not the settings
    /// that forbid one.
    async fn counts_and_oldest(&self, queue: QueueId, now: Time) -> Result<(Counts, Option<Time>), StoreError> {
        let rows = self.scan(Call::new(&sql::QUEUE_COUNTS).int(queue.0).big(now.0)).await?;
        let row = rows.first().ok_or_else(|| row::garbled("no counts"))?;
        let counts = Counts {
            pending: get(row, 0)?,
            in_process: get(row, 1)?,
            error: get(row, 2)?,
            exhausted: get::<i64>(row, 3)? + get::<i64>(row, 5)?,
            processed: get(row, 4)?,
            cancelled: get(row, 6)?,
        };
        Ok((counts, get::<Option<i64>>(row, 7)?.map(Time)))
    }
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

/// Reads the sizes behind the other columns of a listed item.
fn item_size(row: &Row) -> Result<ItemSize, TripError> {
    let at = row::BODY + row::ITEM + row::DONE;
    let errors = usize::try_from(get::<Option<i64>>(row, at + 1)?.unwrap_or(0)).unwrap_or(usize::MAX);
    Ok(ItemSize { payload: size(row, at)?, errors })
}

/// Returns the statement that reads the fewest rows for this query.
fn list<'a>(queue: QueueId, query: &'a ItemQuery, now: Time) -> Call<'a> {
    let cut = i32::try_from(query.read_at_once()).unwrap_or(i32::MAX);
    choose(queue, query, now).int(cut)
}

fn choose<'a>(queue: QueueId, query: &'a ItemQuery, now: Time) -> Call<'a> {
    let after = query.after.map_or(i64::MIN, |Seq(seq)| seq);
    let limit = i64::from(query.limit);
    let by_seq = |sql| Call::new(sql).int(queue.0).big(after);
    match (&query.key, query.state) {
        (Some(key), state) => Call::new(&sql::ITEM_OF_KEY)
            .int(queue.0)
            .text(Key::as_str(key))
            .big(after)
            .maybe_text(state.map(ItemState::as_str))
            .big(now.0)
            .big(limit),
        (None, None) => by_seq(&sql::ITEM_LIST).big(limit),
        (None, Some(state @ (ItemState::Pending | ItemState::Error))) => {
            by_seq(&sql::ITEM_WAITING).text(state.as_str()).big(now.0).big(limit)
        }
        (None, Some(ItemState::InProcess)) => by_seq(&sql::ITEM_IN_PROCESS).big(now.0).big(limit),
        (None, Some(ItemState::Processed)) => by_seq(&sql::ITEM_PROCESSED).big(limit),
        (None, Some(ItemState::Exhausted)) => by_seq(&sql::ITEM_EXHAUSTED).big(limit).big(now.0),
        (None, Some(ItemState::Cancelled)) => by_seq(&sql::ITEM_CANCELLED).big(limit),
    }
}

impl ItemReader for PostgresStore {
    fn item(&self, queue: QueueId, id: ItemId) -> Pending<'_, Option<ItemRecord>> {
        Box::pin(async move {
            let rows = self.read(vec![Call::new(&sql::ITEM_READ).int(queue.0).text(id.as_str())]).await?.take();
            Ok(self.records(self.shared.clock.estimate(), &rows).await?.pop())
        })
    }

    fn absorber(&self, queue: QueueId, id: ItemId, key: Key) -> Pending<'_, Option<ItemId>> {
        Box::pin(async move {
            let call = Call::new(&sql::ABSORBER).int(queue.0).text(id.as_str()).text(key.as_str());
            self.first(call, |row| row::name(row, 0, ItemId::new)).await
        })
    }

    fn items(&self, queue: QueueId, query: ItemQuery) -> Pending<'_, ItemPage> {
        Box::pin(async move {
            let now = self.shared.clock.estimate();
            let rows = self.read(vec![list(queue, &query, now)]).await?.take();
            let sizes = rows.iter().map(item_size).collect::<Result<Vec<_>, _>>()?;
            let fitting = query.fitting(sizes.into_iter());
            let mut items = self.records(now, rows.get(..fitting).unwrap_or(&rows)).await?;
            self.add_payloads(&query, &mut items).await?;
            Ok(ItemPage { items, more: fitting < rows.len() })
        })
    }

    fn settled(&self, reference: Vec<DeliveryRef>) -> Pending<'_, Vec<Trace>> {
        Box::pin(async move {
            let call = Call::new(&sql::SETTLED)
                .bigs(reference.iter().map(|reference| reference.seq.0))
                .bigs(reference.iter().map(|reference| reference.fence.0));
            let rows = self.read(vec![call]).await?.take();
            let mut traces = vec![Trace::default(); reference.len()];
            for row in &rows {
                let index = usize::try_from(get::<i32>(row, 0)?).unwrap_or(usize::MAX);
                if let Some(found) = traces.get_mut(index) {
                    *found = trace(row)?;
                }
            }
            Ok(traces)
        })
    }

    fn completing(&self, first: Seq) -> Pending<'_, bool> {
        Box::pin(async move {
            Ok(self.first(Call::new(&sql::COMPLETING).big(first.0), |row| get(row, 0)).await?.unwrap_or(false))
        })
    }

    fn expired(&self, limit: u32) -> Pending<'_, (Vec<DeliveryRef>, Option<Time>)> {
        Box::pin(async move {
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
        })
    }

    fn next_look(&self, queue: QueueId, after: Time) -> Pending<'_, Option<Time>> {
        let call = Call::new(&sql::HOT_NEXT_LOOK).int(queue.0).big(after.0);
        Box::pin(self.first(call, |row| get(row, 0).map(Time)))
    }

    fn counts(&self, queue: QueueId) -> Pending<'_, Counts> {
        Box::pin(async move { Ok(self.counts_and_oldest(queue, self.shared.clock.estimate()).await?.0) })
    }

    fn pulse(&self, queue: QueueId, since: Time) -> Pending<'_, Pulse> {
        Box::pin(async move {
            let now = self.shared.clock.estimate();
            let (counts, oldest) = self.counts_and_oldest(queue, now).await?;
            let rates = Call::new(&sql::QUEUE_RATES).int(queue.0).big(since.0).big(Pulse::MOST);
            let rows = self.scan(rates).await?;
            let row = rows.first().ok_or_else(|| row::garbled("no rates"))?;
            Ok(Pulse { now, counts, oldest, processed: get(row, 0)?, failed: get(row, 1)? })
        })
    }

    fn waits(&self, queue: QueueId, since: Time, limit: u32) -> Pending<'_, Vec<Waited>> {
        Box::pin(async move {
            let call = Call::new(&sql::QUEUE_WAITS).int(queue.0).big(since.0).big(limit.into());
            let waited = |row| Ok(Waited { waited: Span(get(row, 0)?), took: Span(get(row, 1)?) });
            Ok(self.scan(call).await?.iter().map(waited).collect::<Result<_, TripError>>()?)
        })
    }

    fn lane_front(&self, queue: QueueId, lane: Lane, size: u32) -> Pending<'_, LaneFront> {
        Box::pin(async move {
            let queue_lane = (queue, lane);
            let looked_at = i64::from(LaneFront::LOOKED_AT);
            let front = Call::new(&sql::LANE_LOOK).int(queue.0).big(lane.0).big(size.into()).big(looked_at);
            let typing = Call::new(&sql::TYPING_READ).int(queue.0).bigs([lane.0].into_iter());
            let mut answers = self.read(vec![front, typing]).await?;
            let items = front_items(&answers.take())?.remove(&queue_lane).unwrap_or_default();
            let typed_at = answers.take().first().map(|row| get(row, 1)).transpose()?.map(Time);
            Ok(LaneFront { now: self.shared.clock.estimate(), items, typed_at })
        })
    }

    fn lanes(&self, queue: QueueId, after: Option<Lane>, limit: u32) -> Pending<'_, Vec<Lane>> {
        Box::pin(async move {
            let Some(from) = after.map_or(Some(i64::MIN), |Lane(lane)| lane.checked_add(1)) else {
                return Ok(Vec::new());
            };
            let call = Call::new(&sql::LANE_NAMES).int(queue.0).big(from).big(limit.into());
            self.all(call, |row| get(row, 0).map(Lane)).await
        })
    }

    /// Counts with a sequential scan of all unfinished items.
    fn lane_locks(&self) -> Pending<'_, LaneLocks> {
        Box::pin(async move {
            let rows = self.scan(Call::new(&sql::LANE_LOCKS).big(self.shared.clock.estimate().0)).await?;
            let row = rows.first().ok_or_else(|| row::garbled("no counts"))?;
            Ok(LaneLocks { active_locks: get(row, 0)?, active_queues: get(row, 1)?, total_users: get(row, 2)? })
        })
    }
}
