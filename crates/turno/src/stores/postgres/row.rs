//! Conversion between rows and items, bodies and queues.

pub(super) mod access;
pub(super) mod lease;
pub(super) mod task;

use super::error::TripError;
use crate::store::QueueRow;
use std::str::FromStr;
use std::sync::Arc;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;
use turno_core::fault::UnknownWord;
use turno_core::id::{Fence, ItemId, Key, Lane, QueueId, QueueName, Seq};
use turno_core::queue::{AttemptError, Body, Done, Ended, Item, Last, UncountedDelivery, WorkerName};
use turno_core::time::Time;

/// The number of columns of an item, the same in every statement that reads one.
pub(super) const ITEM: usize = 17;
/// The number of columns of a body.
pub(super) const BODY: usize = 7;
/// The number of columns of a finished item's end.
pub(super) const DONE: usize = 9;

/// Reads a column's value.
pub(super) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, TripError> {
    row.try_get(column).map_err(|error| garbled(format!("column {column}: {error}")))
}

pub(super) fn garbled(what: impl std::fmt::Display) -> TripError {
    TripError::Garbled(format!("the database holds something that this version cannot have written: {what}"))
}

/// Parses one of the core's fixed names.
pub(super) fn parsed<T: FromStr<Err = UnknownWord>>(text: &str) -> Result<T, TripError> {
    text.parse().map_err(garbled)
}

/// Reads a column that holds a name.
pub(super) fn name<N>(
    row: &Row,
    column: usize,
    new: impl Fn(Arc<str>) -> Result<N, turno_core::id::BadName>,
) -> Result<N, TripError> {
    new(get::<&str>(row, column)?.into()).map_err(garbled)
}

/// Reads a column that may hold a name.
pub(super) fn maybe_name<N>(
    row: &Row,
    column: usize,
    new: impl Fn(Arc<str>) -> Result<N, turno_core::id::BadName>,
) -> Result<Option<N>, TripError> {
    get::<Option<&str>>(row, column)?.map(|text| new(text.into())).transpose().map_err(garbled)
}

/// Reads a column with the size of a payload. A missing payload counts as empty.
pub(super) fn size(row: &Row, column: usize) -> Result<usize, TripError> {
    get::<Option<i32>>(row, column)?.map_or(Ok(0), usize::try_from).map_err(garbled)
}

/// Reads the item in the columns from `at` on.
pub(super) fn item(row: &Row, at: usize) -> Result<Item, TripError> {
    Ok(Item {
        seq: Seq(get(row, at)?),
        queue: QueueId(get(row, at + 1)?),
        lane: get::<Option<i64>>(row, at + 2)?.map(Lane),
        enqueued_at: Time(get(row, at + 3)?),
        not_before: Time(get(row, at + 4)?),
        ready_at: get::<Option<i64>>(row, at + 5)?.map(Time),
        expires_at: get::<Option<i64>>(row, at + 6)?.map(Time),
        claimed_at: get::<Option<i64>>(row, at + 7)?.map(Time),
        attempt: attempt(row, at + 8)?,
        fence: Fence(get(row, at + 9)?),
        group: Fence(get(row, at + 10)?),
        last: last_from(get(row, at + 11)?)?,
        revision: get(row, at + 12)?,
        handed: get(row, at + 13)?,
        parked: get(row, at + 14)?,
        holder: get::<Option<&str>>(row, at + 15)?.map(WorkerName::from),
        size: get::<Option<i16>>(row, at + 16)?.map_or(Ok(1), u32::try_from).map_err(garbled)?,
    })
}

/// Reads the body in the first columns.
pub(super) fn body(row: &Row) -> Result<Body, TripError> {
    Ok(Body {
        seq: Seq(get(row, 0)?),
        queue: QueueId(get(row, 1)?),
        id: name(row, 2, ItemId::new)?,
        key: maybe_name(row, 3, Key::new)?,
        action: get(row, 4)?,
        payload: get::<&str>(row, 5)?.into(),
        enqueued_at: Time(get(row, 6)?),
    })
}

/// Reads the `done` row in the columns from `at` on.
pub(super) fn done(row: &Row, at: usize) -> Result<Done, TripError> {
    Ok(Done {
        seq: Seq(get(row, at)?),
        queue: QueueId(get(row, at + 1)?),
        ended: ended_from(get(row, at + 2)?)?,
        at: Time(get(row, at + 3)?),
        attempt: attempt(row, at + 4)?,
        fence: Fence(get(row, at + 5)?),
        revision: get(row, at + 6)?,
        holder: get::<Option<&str>>(row, at + 7)?.map(WorkerName::from),
        handed_at: get::<Option<i64>>(row, at + 8)?.map(Time),
    })
}

pub(super) fn attempt_error(row: &Row) -> Result<AttemptError, TripError> {
    let error: String = get(row, 4)?;
    Ok(AttemptError {
        seq: Seq(get(row, 0)?),
        attempt: attempt(row, 1)?,
        fence: Fence(get(row, 2)?),
        at: Time(get(row, 3)?),
        retry_at: get::<Option<i64>>(row, 5)?.map(Time),
        holder: get::<Option<&str>>(row, 6)?.map(WorkerName::from),
        handed_at: get::<Option<i64>>(row, 7)?.map(Time),
        expired: AttemptError::expired_from(get(row, 8)?, &error),
        error,
    })
}

pub(super) fn came_back(row: &Row) -> Result<UncountedDelivery, TripError> {
    Ok(UncountedDelivery {
        seq: Seq(get(row, 0)?),
        fence: Fence(get(row, 1)?),
        how: last_from(get(row, 2)?)?,
        at: Time(get(row, 3)?),
        holder: get::<Option<&str>>(row, 4)?.map(WorkerName::from),
        handed_at: get::<Option<i64>>(row, 5)?.map(Time),
        error: get(row, 6)?,
    })
}

pub(super) fn queue(row: &Row) -> Result<QueueRow, TripError> {
    Ok(QueueRow {
        id: QueueId(get(row, 0)?),
        name: name(row, 1, QueueName::new)?,
        policy: serde_json::from_str(get(row, 2)?).map_err(garbled)?,
        version: get(row, 3)?,
        paused: get(row, 4)?,
        purged: get(row, 5)?,
        push: get::<Option<&str>>(row, 6)?.map(Arc::from),
    })
}

fn attempt(row: &Row, column: usize) -> Result<u32, TripError> {
    u32::try_from(get::<i16>(row, column)?).map_err(garbled)
}

/// Converts an attempt number. Attempts are bounded well below what two bytes hold.
pub(super) fn attempt_to(attempt: u32) -> i16 {
    i16::try_from(attempt).unwrap_or(i16::MAX)
}

/// Returns the stored size of a delivery. Most deliveries have one item, so a size of 1 is stored as null.
pub(super) fn size_to(size: u32) -> Option<i16> {
    i16::try_from(size).ok().filter(|size| *size != 1)
}

pub(super) fn last_from(number: i16) -> Result<Last, TripError> {
    Last::from_number(number).ok_or_else(|| garbled(format!("last = {number}")))
}

pub(super) fn ended_from(number: i16) -> Result<Ended, TripError> {
    Ended::from_number(number).ok_or_else(|| garbled(format!("ended = {number}")))
}
