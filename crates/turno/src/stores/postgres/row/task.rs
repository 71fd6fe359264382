//! Conversion between rows and tasks, lines and notes.

use super::super::call::Call;
use super::super::error::TripError;
use super::super::sql;
use super::{garbled, get, maybe_name, name, parsed};
use serde::Serialize;
use tokio_postgres::Row;
use turno_core::audit::Actor;
use turno_core::id::{Fence, Once, Sku, UserId};
use turno_core::task::{Goods, Line, Note, Task, TaskId};
use turno_core::time::Time;

/// The number of columns of a task, the same in every statement that reads one. The line's columns follow.
const TASK: usize = 7;

/// Reads the task in the first columns, without its lines.
pub(in super::super) fn task(row: &Row) -> Result<Task, TripError> {
    Ok(Task {
        id: TaskId(get(row, 0)?),
        title: get(row, 1)?,
        status: parsed(get(row, 2)?)?,
        lines: Vec::new(),
        created_at: Time(get(row, 3)?),
        created_by: name(row, 4, UserId::new)?,
        updated_at: Time(get(row, 5)?),
        finalized: get::<Option<&str>>(row, 6)?.map(serde_json::from_str).transpose().map_err(garbled)?,
    })
}

/// Reads tasks with their lines from joined rows. Rows of one task are adjacent.
pub(in super::super) fn tasks(rows: &[Row]) -> Result<Vec<Task>, TripError> {
    let mut tasks: Vec<Task> = Vec::new();
    for row in rows {
        if tasks.last().is_none_or(|last| get::<i64>(row, 0).is_ok_and(|id| last.id.0 != id)) {
            tasks.push(task(row)?);
        }
        if get::<Option<i32>>(row, TASK)?.is_some() {
            let line = line(row, TASK)?;
            tasks.last_mut().into_iter().for_each(|task| task.lines.push(line.clone()));
        }
    }
    Ok(tasks)
}

/// Reads the line in the columns from `at` on.
pub(in super::super) fn line(row: &Row, at: usize) -> Result<Line, TripError> {
    let goods = match get::<Option<&str>>(row, at + 4)? {
        Some(serials) => Goods::Serialized(serde_json::from_str(serials).map_err(garbled)?),
        None => Goods::Quantity(get(row, at + 3)?),
    };
    let applied = match get::<Option<i64>>(row, at + 7)? {
        Some(time) => Some((Time(time), Fence(get(row, at + 8)?), name(row, at + 9, UserId::new)?)),
        None => None,
    };
    Ok(Line {
        number: u32::try_from(get::<i32>(row, at)?).map_err(garbled)?,
        movement: parsed(get(row, at + 1)?)?,
        sku: name(row, at + 2, Sku::new)?,
        goods,
        status: parsed(get(row, at + 5)?)?,
        error: get::<Option<&str>>(row, at + 6)?.map(serde_json::from_str).transpose().map_err(garbled)?,
        applied,
    })
}

pub(in super::super) fn note(row: &Row) -> Result<Note, TripError> {
    Ok(Note {
        at: Time(get(row, 0)?),
        actor: Actor { user: name(row, 1, UserId::new)?, via: maybe_name(row, 2, UserId::new)? },
        what: get(row, 3)?,
        line: get::<Option<i32>>(row, 4)?.map(u32::try_from).transpose().map_err(garbled)?,
        detail: get(row, 5)?,
    })
}

pub(in super::super) fn save_task<'a>(task: &'a Task, once: Option<&'a Once>) -> Call<'a> {
    Call::new(&sql::TASK_SAVE)
        .big(task.id.0)
        .text(&task.title)
        .text(task.status.as_str())
        .big(task.created_at.0)
        .text(task.created_by.as_str())
        .big(task.updated_at.0)
        .made_text(task.finalized.as_ref().map(json))
        .maybe_text(once.map(Once::scope))
        .maybe_text(once.map(Once::key))
}

pub(in super::super) fn save_lines<'a>(task: TaskId, lines: &[&'a Line]) -> Call<'a> {
    let lines = || lines.iter().copied();
    let quantity = |line: &Line| match line.goods {
        Goods::Quantity(quantity) => Some(quantity),
        Goods::Serialized(_) => None,
    };
    let serials = |line: &Line| match &line.goods {
        Goods::Serialized(serials) => Some(json(serials)),
        Goods::Quantity(_) => None,
    };
    Call::new(&sql::LINE_SAVE)
        .big(task.0)
        .ints(lines().map(|line| number_to(line.number)))
        .texts(lines().map(|line| line.movement.as_str()))
        .texts(lines().map(|line| line.sku.as_str()))
        .maybe_bigs(lines().map(quantity))
        .made_texts(lines().map(serials))
        .texts(lines().map(|line| line.status.as_str()))
        .made_texts(lines().map(|line| line.error.as_ref().map(json)))
        .maybe_bigs(lines().map(|line| line.applied.as_ref().map(|(at, _, _)| at.0)))
        .maybe_bigs(lines().map(|line| line.applied.as_ref().map(|(_, fence, _)| fence.0)))
        .maybe_texts(lines().map(|line| line.applied.as_ref().map(|(_, _, by)| by.as_str())))
}

pub(in super::super) fn add_notes(task: TaskId, notes: &[Note]) -> Call<'_> {
    Call::new(&sql::NOTE_ADD)
        .big(task.0)
        .bigs(notes.iter().map(|note| note.at.0))
        .texts(notes.iter().map(|note| note.actor.user.as_str()))
        .maybe_texts(notes.iter().map(|note| Some(note.actor.via.as_ref()?.as_str())))
        .texts(notes.iter().map(|note| note.what.as_str()))
        .maybe_ints(notes.iter().map(|note| note.line.map(number_to)))
        .maybe_texts(notes.iter().map(|note| note.detail.as_deref()))
}

/// Converts a line number. Numbers are bounded well below what four bytes hold; a larger one matches no line.
pub(in super::super) fn number_to(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

pub(in super::super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("names, numbers and texts can always be written as JSON")
}
