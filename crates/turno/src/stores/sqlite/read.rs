//! Statements on a connection: their rows as values.

use crate::store::StoreError;
use rusqlite::{Connection, Error, OptionalExtension, Params, Row};

/// Returns all rows that a statement finds.
pub(super) fn all<T>(
    db: &Connection,
    text: &str,
    values: impl Params,
    from_row: impl FnMut(&Row<'_>) -> Result<T, Error>,
) -> Result<Vec<T>, StoreError> {
    let mut read = db.prepare_cached(text)?;
    Ok(read.query_map(values, from_row)?.collect::<Result<_, _>>()?)
}

/// Returns the first row that a statement finds, if there is one.
pub(super) fn first<T>(
    db: &Connection,
    text: &str,
    values: impl Params,
    from_row: impl FnOnce(&Row<'_>) -> Result<T, Error>,
) -> Result<Option<T>, StoreError> {
    Ok(db.prepare_cached(text)?.query_row(values, from_row).optional()?)
}

/// Returns the row of a statement that always has one.
pub(super) fn only<T>(
    db: &Connection,
    text: &str,
    values: impl Params,
    from_row: impl FnOnce(&Row<'_>) -> Result<T, Error>,
) -> Result<T, StoreError> {
    Ok(db.prepare_cached(text)?.query_row(values, from_row)?)
}

/// Runs a statement. Returns how many rows it changed.
pub(super) fn execute(db: &Connection, text: &str, values: impl Params) -> Result<usize, StoreError> {
    Ok(db.prepare_cached(text)?.execute(values)?)
}
