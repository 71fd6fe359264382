//! Conversion of rows to the core's values. Columns are read by position; statements that use a function here list them
//! in its order.

pub(super) mod access;
pub(super) mod lease;
pub(super) mod task;

use rusqlite::types::Type;
use rusqlite::{Error, Row};
use serde::Serialize;
use std::str::FromStr;
use std::sync::Arc;
use turno_core::fault::UnknownWord;
use turno_core::id::{BadName, Fence, ItemId, Key, Lane, QueueId, QueueName, Seq};
use turno_core::queue::{AttemptError, Body, Done, Ended, Item, Last, UncountedDelivery, WorkerName};
use turno_core::time::Time;

use crate::store::QueueRow;

/// The number of columns that [`item`] reads.
pub(super) const ITEM_COLUMNS: usize = 17;
/// The number of columns of a body.
pub(super) const BODY_COLUMNS: usize = 7;

/// Reads a validated name. Names are validated before they are stored, so a failure means a damaged file.
pub(super) fn name<T>(
    row: &Row<'_>,
    at: usize,
    parse: impl FnOnce(Arc<str>) -> Result<T, BadName>,
) -> Result<T, Error> {
    parse(row.get(at)?).map_err(|bad| damaged(at, bad))
}

/// Reads a column that may hold a name.
pub(super) fn name_if<T>(
    row: &Row<'_>,
    at: usize,
    parse: impl FnOnce(Arc<str>) -> Result<T, BadName>,
) -> Result<Option<T>, Error> {
    let text: Option<Arc<str>> = row.get(at)?;
    text.map(|text| parse(text).map_err(|bad| damaged(at, bad))).transpose()
}

/// Builds the error for a value that this program cannot have written.
pub(super) fn damaged(at: usize, why: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::FromSqlConversionFailure(at, Type::Text, Box::new(why))
}

/// Reads a value that the core parses from text.
pub(super) fn parsed<T: FromStr<Err = UnknownWord>>(row: &Row<'_>, at: usize) -> Result<T, Error> {
    row.get_ref(at)?.as_str()?.parse().map_err(|unknown| damaged(at, unknown))
}

/// Renders a small value as JSON.
pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("names, texts and numbers can always be written as JSON")
}

pub(super) fn item(row: &Row<'_>) -> Result<Item, Error> {
    Ok(Item {
        seq: Seq(row.get(0)?),
        queue: QueueId(row.get(1)?),
        lane: row.get::<_, Option<i64>>(2)?.map(Lane),
        enqueued_at: Time(row.get(3)?),
        not_before: Time(row.get(4)?),
        ready_at: row.get::<_, Option<i64>>(5)?.map(Time),
        expires_at: row.get::<_, Option<i64>>(6)?.map(Time),
        claimed_at: row.get::<_, Option<i64>>(7)?.map(Time),
        attempt: row.get(8)?,
        fence: Fence(row.get(9)?),
        group: Fence(row.get(10)?),
        last: last(row, 11)?,
        revision: row.get(12)?,
        handed: row.get(13)?,
        parked: row.get(14)?,
        holder: row.get::<_, Option<Arc<str>>>(15)?.map(WorkerName::from),
        size: row.get::<_, Option<u32>>(16)?.unwrap_or(1),
    })
}

/// Reads a column with a size in bytes. A missing one counts as 0.
pub(super) fn size(row: &Row<'_>, column: usize) -> Result<usize, Error> {
    let size: i64 = row.get::<_, Option<i64>>(column)?.unwrap_or(0);
    usize::try_from(size).map_err(|_| Error::IntegralValueOutOfRange(column, size))
}

pub(super) fn body(row: &Row<'_>) -> Result<Body, Error> {
    Ok(Body {
        seq: Seq(row.get(0)?),
        queue: QueueId(row.get(1)?),
        id: name(row, 2, ItemId::new)?,
        key: name_if(row, 3, Key::new)?,
        action: row.get(4)?,
        payload: row.get(5)?,
        enqueued_at: Time(row.get(6)?),
    })
}

pub(super) fn done(row: &Row<'_>) -> Result<Done, Error> {
    Ok(Done {
        seq: Seq(row.get(0)?),
        queue: QueueId(row.get(1)?),
        ended: Ended::from_number(row.get(2)?).ok_or(Error::IntegralValueOutOfRange(2, row.get(2)?))?,
        at: Time(row.get(3)?),
        attempt: row.get(4)?,
        fence: Fence(row.get(5)?),
        revision: row.get(6)?,
        holder: row.get::<_, Option<Arc<str>>>(7)?.map(WorkerName::from),
        handed_at: row.get::<_, Option<i64>>(8)?.map(Time),
    })
}

pub(super) fn attempt_error(row: &Row<'_>) -> Result<AttemptError, Error> {
    let error: String = row.get(4)?;
    Ok(AttemptError {
        seq: Seq(row.get(0)?),
        attempt: row.get(1)?,
        fence: Fence(row.get(2)?),
        at: Time(row.get(3)?),
        retry_at: row.get::<_, Option<i64>>(5)?.map(Time),
        holder: row.get::<_, Option<Arc<str>>>(6)?.map(WorkerName::from),
        handed_at: row.get::<_, Option<i64>>(7)?.map(Time),
        expired: AttemptError::expired_from(row.get(8)?, &error),
        error,
    })
}

pub(super) fn came_back(row: &Row<'_>) -> Result<UncountedDelivery, Error> {
    Ok(UncountedDelivery {
        seq: Seq(row.get(0)?),
        fence: Fence(row.get(1)?),
        how: last(row, 2)?,
        at: Time(row.get(3)?),
        holder: row.get::<_, Option<Arc<str>>>(4)?.map(WorkerName::from),
        handed_at: row.get::<_, Option<i64>>(5)?.map(Time),
        error: row.get(6)?,
    })
}

pub(super) fn last(row: &Row<'_>, at: usize) -> Result<Last, Error> {
    Last::from_number(row.get(at)?).ok_or(Error::IntegralValueOutOfRange(at, row.get(at)?))
}

pub(super) fn queue(row: &Row<'_>) -> Result<QueueRow, Error> {
    let policy: String = row.get(2)?;
    Ok(QueueRow {
        id: QueueId(row.get(0)?),
        name: name(row, 1, QueueName::new)?,
        policy: serde_json::from_str(&policy).map_err(|error| damaged(2, error))?,
        version: row.get(3)?,
        paused: row.get(4)?,
        purged: row.get(5)?,
        push: row.get(6)?,
    })
}

/// Returns the stored size of a delivery. Most deliveries have one item, so a size of 1 is stored as null.
pub(super) fn size_number(size: u32) -> Option<u32> {
    (size != 1).then_some(size)
}
