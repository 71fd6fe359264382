//! Tasks, lines and stock, as the stores keep them.

use super::Db;
use std::collections::BTreeSet;
use turno::store::TaskWrite;
use turno_core::id::Serial;
use turno_core::task::{Line, LineDone, Lines, Posting, Stock, Task, TaskId};
use turno_core::time::Time;

/// The stock of one article.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Level {
    pub(crate) quantity: i64,
    pub(crate) serials: BTreeSet<Serial>,
}

impl Db {
    pub(crate) fn line(&self, task: TaskId, number: u32) -> Option<&Line> {
        self.tasks.get(&task)?.lines.iter().find(|line| line.number == number)
    }

    /// Returns the stock that a line's decision needs.
    pub(crate) fn stock_of(&self, line: &Line) -> Stock {
        let level = self.stock.get(&line.sku).cloned().unwrap_or_default();
        let serials = line.goods.serials().iter().filter(|serial| level.serials.contains(*serial)).cloned();
        Stock {
            sku: line.sku.clone(),
            quantity: level.quantity,
            serialized: level.serials.len() as i64,
            serials: serials.collect(),
        }
    }

    pub(crate) fn move_stock(&mut self, posting: &Posting) {
        let level = self.stock.entry(posting.sku.clone()).or_default();
        level.quantity += posting.delta;
        level.serials.extend(posting.came.iter().cloned());
        for serial in &posting.went {
            level.serials.remove(serial);
        }
    }

    /// Writes a line after its effect, and the task's new status.
    pub(crate) fn write_line_done(&mut self, id: TaskId, done: &LineDone, now: Time) {
        self.write_line(id, &done.line);
        if let (Some(task), Some(status)) = (self.tasks.get_mut(&id), done.status) {
            (task.status, task.updated_at) = (status, task.updated_at.max(now));
        }
    }

    fn write_line(&mut self, task: TaskId, line: &Line) {
        let lines = self.tasks.get_mut(&task).map(|task| &mut task.lines);
        if let Some(row) = lines.into_iter().flatten().find(|row| row.number == line.number) {
            *row = line.clone();
        }
    }

    /// Writes the task's row and the lines that the decision names.
    pub(crate) fn write_task(&mut self, write: &TaskWrite) {
        if let Some(task) = &write.task {
            let before = self.tasks.remove(&task.id).map_or_else(Vec::new, |before| before.lines);
            let lines = if write.lines == Lines::All { task.lines.clone() } else { before };
            self.tasks.insert(task.id, Task { lines, ..task.clone() });
            if let Lines::One(number) = write.lines
                && let Some(line) = task.lines.iter().find(|line| line.number == number)
            {
                self.write_line(task.id, line);
            }
        }
        self.write_leases(&write.lease);
    }
}
