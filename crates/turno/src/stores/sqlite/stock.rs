//! The stock ledger: the stock of articles, and its change by a line.

use super::row::{json, name};
use super::sql;
use crate::store::{StockLevel, StoreError};
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::BTreeSet;
use turno_core::id::{Serial, Sku};
use turno_core::task::{Apply, Line, Posting, Stock};
use turno_core::time::Time;

/// Reads the stock of a line's article.
pub(super) fn read(tx: &Connection, line: &Line) -> Result<Stock, StoreError> {
    let sku = line.sku.as_str();
    let quantity: Option<i64> = tx.prepare_cached(&sql::STOCK_READ)?.query_row([sku], |row| row.get(0)).optional()?;
    let serialized = tx.prepare_cached(&sql::STOCK_COUNT)?.query_row([sku], |row| row.get(0))?;
    let mut find = tx.prepare_cached(&sql::SERIAL_FIND)?;
    let mut serials = BTreeSet::new();
    for serial in line.goods.serials() {
        if find.exists((sku, serial.as_str()))? {
            serials.insert(serial.clone());
        }
    }
    Ok(Stock { sku: line.sku.clone(), quantity: quantity.unwrap_or_default(), serialized, serials })
}

/// Writes a line's change of `stock`, which was read in the same transaction.
pub(super) fn write(
    tx: &Connection,
    apply: &Apply,
    stock: &Stock,
    posting: &Posting,
    now: Time,
) -> Result<(), StoreError> {
    let sku = posting.sku.as_str();
    tx.prepare_cached(&sql::STOCK_SAVE)?.execute((sku, stock.quantity + posting.delta))?;
    let mut add = tx.prepare_cached(&sql::SERIAL_ADD)?;
    for serial in &posting.came {
        add.execute((sku, serial.as_str()))?;
    }
    let mut remove = tx.prepare_cached(&sql::SERIAL_REMOVE)?;
    for serial in &posting.went {
        remove.execute((sku, serial.as_str()))?;
    }
    let moved: Vec<&Serial> = posting.came.iter().chain(&posting.went).collect();
    tx.prepare_cached(&sql::STOCK_MOVE_ADD)?.execute(params![
        apply.task.0,
        apply.number,
        sku,
        posting.delta,
        json(&moved),
        apply.fence.0,
        apply.who.user.as_str(),
        now.0,
    ])?;
    Ok(())
}

/// Returns the whole stock of an article, as of one instant.
pub(super) fn level(db: &mut Connection, sku: Sku) -> Result<Option<StockLevel>, StoreError> {
    let tx = db.transaction()?;
    let quantity = tx.prepare_cached(&sql::STOCK_READ)?.query_row([sku.as_str()], |row| row.get(0)).optional()?;
    let Some(quantity) = quantity else {
        return Ok(None);
    };
    let mut read = tx.prepare_cached(&sql::SERIAL_LIST)?;
    let serials = read.query_map([sku.as_str()], |row| name(row, 0, Serial::new))?;
    let serials = serials.map(|serial| serial.map(String::from)).collect::<Result<_, _>>()?;
    Ok(Some(StockLevel { sku, quantity, serials }))
}
