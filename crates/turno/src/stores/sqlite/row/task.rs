//! Conversion between rows and tasks and their lines.

use super::{damaged, name, parsed};
use rusqlite::{Error, Row};
use turno_core::id::{Fence, Sku, UserId};
use turno_core::task::{Goods, Line, Task, TaskId};
use turno_core::time::Time;

pub(in super::super) fn task(row: &Row<'_>) -> Result<Task, Error> {
    let finalized: Option<String> = row.get(6)?;
    Ok(Task {
        id: TaskId(row.get(0)?),
        title: row.get(1)?,
        status: parsed(row, 2)?,
        lines: Vec::new(),
        created_at: Time(row.get(3)?),
        created_by: name(row, 4, UserId::new)?,
        updated_at: Time(row.get(5)?),
        finalized: finalized.map(|text| serde_json::from_str(&text).map_err(|error| damaged(6, error))).transpose()?,
    })
}

pub(in super::super) fn line(row: &Row<'_>) -> Result<Line, Error> {
    let serials: Option<String> = row.get(4)?;
    let goods = match serials {
        Some(text) => Goods::Serialized(serde_json::from_str(&text).map_err(|error| damaged(4, error))?),
        None => Goods::Quantity(row.get(3)?),
    };
    let error: Option<String> = row.get(6)?;
    let applied: Option<i64> = row.get(7)?;
    let applied = applied.map(|at| Ok::<_, Error>((Time(at), Fence(row.get(8)?), name(row, 9, UserId::new)?)));
    Ok(Line {
        number: row.get(0)?,
        movement: parsed(row, 1)?,
        sku: name(row, 2, Sku::new)?,
        goods,
        status: parsed(row, 5)?,
        error: error.map(|text| serde_json::from_str(&text).map_err(|error| damaged(6, error))).transpose()?,
        applied: applied.transpose()?,
    })
}
