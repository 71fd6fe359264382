//! The stock ledger: the stock of articles, and its change by a line.

use super::call::Call;
use super::error::TripError;
use super::row::task::{json, number_to};
use super::row::{garbled, get, name};
use super::sql;
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio_postgres::Row;
use turno_core::id::{Serial, Sku};
use turno_core::task::{Apply, Posting, Stock};
use turno_core::time::Time;

/// Reads the stock of a line's article.
pub(super) fn from_rows(rows: &[Row]) -> Result<Option<Stock>, TripError> {
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let sku = name(row, 0, Sku::new)?;
    let serials: Vec<&str> = get(row, 3)?;
    let serials = serials.into_iter().map(|text| Serial::new(Arc::<str>::from(text)).map_err(garbled));
    let serials = serials.collect::<Result<BTreeSet<_>, _>>()?;
    Ok(Some(Stock { sku, quantity: get(row, 1)?, serialized: get(row, 2)?, serials }))
}

/// Returns the statements that write a line's change of the stock.
pub(super) fn calls<'a>(apply: &'a Apply, posting: &'a Posting, at: Time) -> Vec<Call<'a>> {
    let Posting { sku, delta, came, went } = posting;
    let serials: Vec<&Serial> = came.iter().chain(went).collect();
    let mut calls = vec![
        Call::new(&sql::STOCK_SAVE).text(sku.as_str()).big(*delta),
        Call::new(&sql::STOCK_MOVE_ADD)
            .big(apply.task.0)
            .int(number_to(apply.number))
            .text(sku.as_str())
            .big(*delta)
            .made_text(Some(json(&serials)))
            .big(apply.fence.0)
            .text(apply.who.user.as_str())
            .big(at.0),
    ];
    if !came.is_empty() {
        calls.push(Call::new(&sql::SERIAL_ADD).text(sku.as_str()).texts(came.iter().map(Serial::as_str)));
    }
    if !went.is_empty() {
        calls.push(Call::new(&sql::SERIAL_REMOVE).text(sku.as_str()).texts(went.iter().map(Serial::as_str)));
    }
    calls
}
