//! Tasks: a task command, reads, and the history.

use super::read::{all, execute, first, only};
use super::row::task::{line as line_from_row, task as task_from_row};
use super::row::{json, name, name_if};
use super::{SqliteStore, audit, lease, now, numbers, sql, stock};
use crate::clock::Clock;
use crate::store::{
    Outcomes, Pending, StockLevel, StoreError, TaskGroup, TaskPage, TaskQuery, TaskRead, TaskReader, TaskWrite,
};
use rusqlite::{Connection, Error, Row, params};
use turno_core::audit::Actor;
use turno_core::id::{Once, Sku, UserId};
use turno_core::lease::State;
use turno_core::task::{Goods, Line, Lines, Note, Read, Status, Stock, Task, TaskId};
use turno_core::time::Time;

/// Reads, decides and writes a command, inside the write transaction.
pub(super) fn run(tx: &Connection, now: Time, group: &TaskGroup) -> Result<Outcomes, StoreError> {
    let (task, fresh, lease) = match group.command.task {
        Some(id) => (read(tx, id)?, None, state(tx, id)?),
        None => match find_once(tx, group)? {
            Some(task) => {
                let lease = state(tx, task.id)?;
                (Some(task), None, lease)
            }
            None => {
                let fresh = only(tx, &sql::TASK_NUMBER, [], |row| row.get(0).map(TaskId))?;
                (None, Some(fresh), State::unseen(fresh.resource()))
            }
        },
    };
    let stock = match group.validates() {
        Some(number) => stock_of_line(tx, task.as_ref(), number)?,
        None => None,
    };
    let numbers = numbers(tx, group.numbers())?;
    let head = if group.audits() { Some(audit::head(tx)?) } else { None };
    let (write, outcome) = group.decide(TaskRead { read: Read { now, numbers, fresh, task, lease, stock }, head });
    save(tx, outcome.task.as_ref().map(|task| task.id), &write)?;
    Ok(Outcomes::Task(Box::new(outcome)))
}

/// Finds the task with the once key of a creation.
fn find_once(tx: &Connection, group: &TaskGroup) -> Result<Option<Task>, StoreError> {
    let Some(once) = group.once() else {
        return Ok(None);
    };
    first(tx, &sql::TASK_ONCE, (once.scope(), once.key()), task_from_row)?.map(|task| with_lines(tx, task)).transpose()
}

/// Returns the state of a task's lease.
pub(super) fn state(tx: &Connection, id: TaskId) -> Result<State, StoreError> {
    let found = lease::states(tx, vec![id.resource()])?.pop();
    Ok(found.unwrap_or_else(|| State::unseen(id.resource())))
}

fn stock_of_line(tx: &Connection, task: Option<&Task>, number: u32) -> Result<Option<Stock>, StoreError> {
    let line = task.and_then(|task| task.lines.iter().find(|line| line.number == number));
    line.map(|line| stock::read(tx, line)).transpose()
}

fn save(tx: &Connection, id: Option<TaskId>, write: &TaskWrite) -> Result<(), StoreError> {
    if let Some(task) = &write.task {
        let values = params![
            task.id.0,
            task.title,
            task.status.as_str(),
            task.created_at.0,
            task.created_by.as_str(),
            task.updated_at.0,
            task.finalized.as_ref().map(json),
            write.once.as_ref().map(Once::scope),
            write.once.as_ref().map(Once::key),
        ];
        execute(tx, &sql::TASK_SAVE, values)?;
        if write.lines == Lines::All {
            execute(tx, &sql::LINE_REMOVE, [task.id.0])?;
        }
        let written = |line: &&Line| match write.lines {
            Lines::Kept => false,
            Lines::One(number) => line.number == number,
            Lines::All => true,
        };
        for line in task.lines.iter().filter(written) {
            save_line(tx, task.id, line)?;
        }
    }
    if let Some(id) = id {
        add_notes(tx, id, &write.notes)?;
    }
    lease::write(tx, &write.lease)
}

pub(super) fn save_line(tx: &Connection, task: TaskId, line: &Line) -> Result<(), StoreError> {
    let (quantity, serials) = match &line.goods {
        Goods::Quantity(quantity) => (Some(*quantity), None),
        Goods::Serialized(serials) => (None, Some(json(serials))),
    };
    let values = params![
        line.number,
        line.movement.as_str(),
        line.sku.as_str(),
        quantity,
        serials,
        line.status.as_str(),
        line.error.as_ref().map(json),
        line.applied.as_ref().map(|(at, _, _)| at.0),
        line.applied.as_ref().map(|(_, fence, _)| fence.0),
        line.applied.as_ref().map(|(_, _, by)| by.as_str()),
        task.0,
    ];
    execute(tx, &sql::LINE_SAVE, values)?;
    Ok(())
}

/// Writes a new status of the task.
pub(super) fn save_status(tx: &Connection, task: TaskId, status: Status, now: Time) -> Result<(), StoreError> {
    execute(tx, &sql::TASK_STATUS, (task.0, status.as_str(), now.0))?;
    Ok(())
}

pub(super) fn add_notes(tx: &Connection, task: TaskId, notes: &[Note]) -> Result<(), StoreError> {
    for note in notes {
        let (user, via) = (note.actor.user.as_str(), note.actor.via.as_ref().map(UserId::as_str));
        let values = params![task.0, note.at.0, user, via, note.what, note.line, note.detail];
        execute(tx, &sql::NOTE_ADD, values)?;
    }
    Ok(())
}

/// Reads a task with its lines.
pub(super) fn read(db: &Connection, id: TaskId) -> Result<Option<Task>, StoreError> {
    read_bare(db, id)?.map(|task| with_lines(db, task)).transpose()
}

/// Reads a task without its lines.
pub(super) fn read_bare(db: &Connection, id: TaskId) -> Result<Option<Task>, StoreError> {
    first(db, &sql::TASK_READ, [id.0], task_from_row)
}

pub(super) fn read_line(db: &Connection, task: TaskId, number: u32) -> Result<Option<Line>, StoreError> {
    first(db, &sql::LINE_READ, (task.0, number), line_from_row)
}

fn with_lines(db: &Connection, task: Task) -> Result<Task, StoreError> {
    let lines = all(db, &sql::LINE_LIST, [task.id.0], line_from_row)?;
    Ok(Task { lines, ..task })
}

/// Returns tasks with their leases, as of one instant, and the clock, read afterwards.
fn page(
    db: &mut Connection,
    clock: &Clock,
    limit: u32,
    read: impl FnOnce(&Connection) -> Result<Vec<Task>, StoreError>,
) -> Result<TaskPage, StoreError> {
    let tx = db.transaction()?;
    let tasks = read(&tx)?;
    let leases = lease::states(&tx, tasks.iter().map(|task| task.id.resource()).collect())?;
    tx.commit()?;
    Ok(TaskPage::new(now(clock), limit, tasks, leases))
}

/// Returns tasks, newest first, and one more than the limit if there is one.
fn list(tx: &Connection, query: &TaskQuery) -> Result<Vec<Task>, StoreError> {
    let before = query.before.map_or(i64::MAX, |id| id.0);
    let (held, limit) = (query.locked == Some(true), query.limit.saturating_add(1));
    let tasks = match query.status {
        None => {
            let text = if held { &sql::TASK_HELD } else { &sql::TASK_LIST };
            all(tx, text, (before, limit), task_from_row)?
        }
        Some(status) => {
            let text = if held { &sql::TASK_HELD_IN } else { &sql::TASK_LIST_IN };
            all(tx, text, (before, limit, status.as_str()), task_from_row)?
        }
    };
    tasks.into_iter().map(|task| with_lines(tx, task)).collect()
}

fn note_from_row(row: &Row<'_>) -> Result<(i64, Note), Error> {
    let actor = Actor { user: name(row, 1, UserId::new)?, via: name_if(row, 2, UserId::new)? };
    let (what, line, detail) = (row.get(3)?, row.get(4)?, row.get(5)?);
    Ok((row.get(6)?, Note { at: Time(row.get(0)?), actor, what, line, detail }))
}

impl TaskReader for SqliteStore {
    fn task(&self, id: TaskId) -> Pending<'_, Option<Task>> {
        self.looks.run(move |db| read(&*db.transaction()?, id))
    }

    fn task_look(&self, id: TaskId) -> Pending<'_, TaskPage> {
        let clock = self.clock.clone();
        self.looks.run(move |db| page(db, &clock, 1, |tx| Ok(read(tx, id)?.into_iter().collect())))
    }

    fn tasks(&self, query: TaskQuery) -> Pending<'_, TaskPage> {
        let clock = self.clock.clone();
        self.looks.run(move |db| page(db, &clock, query.limit, |tx| list(tx, &query)))
    }

    fn task_notes(&self, id: TaskId, after: i64, limit: u32) -> Pending<'_, Vec<(i64, Note)>> {
        self.looks.run(move |db| all(db, &sql::NOTE_LIST, (id.0, limit, after), note_from_row))
    }

    fn stock(&self, sku: Sku) -> Pending<'_, Option<StockLevel>> {
        self.looks.run(move |db| stock::level(db, sku))
    }
}
