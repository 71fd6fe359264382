//! The stock ledger: the stock of articles, and its change by a line.

use super::read::{all, execute, first, only};
use super::row::{json, name};
use super::sql;
use crate::store::{StockLevel, StoreError};
use rusqlite::{Connection, params};
use std::collections::BTreeSet;
use turno_core::id::{Serial, Sku};
use turno_core::task::{Apply, Line, Posting, Stock};
use turno_core::time::Time;

/// Reads the stock of a line's article.
pub(super) fn read(tx: &Connection, line: &Line) -> Result<Stock, StoreError> {
    let sku = line.sku.as_str();
    let quantity: Option<i64> = first(tx, &sql::STOCK_READ, [sku], |row| row.get(0))?;
    let serialized = only(tx, &sql::STOCK_COUNT, [sku], |row| row.get(0))?;
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
    execute(tx, &sql::STOCK_SAVE, (sku, stock.quantity + posting.delta))?;
    for serial in &posting.came {
        execute(tx, &sql::SERIAL_ADD, (sku, serial.as_str()))?;
    }
    for serial in &posting.went {
        execute(tx, &sql::SERIAL_REMOVE, (sku, serial.as_str()))?;
    }
    let moved: Vec<&Serial> = posting.came.iter().chain(&posting.went).collect();
    let (task, fence, user) = (apply.task.0, apply.fence.0, apply.who.user.as_str());
    let values = params![task, apply.number, sku, posting.delta, json(&moved), fence, user, now.0];
    execute(tx, &sql::STOCK_MOVE_ADD, values)?;
    Ok(())
}

/// Returns the whole stock of an article, as of one instant.
pub(super) fn level(db: &mut Connection, sku: Sku) -> Result<Option<StockLevel>, StoreError> {
    let tx = db.transaction()?;
    let Some(quantity) = first(&tx, &sql::STOCK_READ, [sku.as_str()], |row| row.get(0))? else {
        return Ok(None);
    };
    let serials = all(&tx, &sql::SERIAL_LIST, [sku.as_str()], |row| name(row, 0, Serial::new).map(String::from))?;
    Ok(Some(StockLevel { sku, quantity, serials }))
}
