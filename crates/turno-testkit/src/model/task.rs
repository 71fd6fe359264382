//! The model's tasks and stock.

use super::Rows;
use crate::db::Level;
use turno::core::id::Sku;
use turno::core::lease::State;
use turno::core::task::{
    Apply, Begin, Line, LineDone, LineError, Note, Read, Status, Task, TaskId, begin_line, end_line, post,
};
use turno::core::time::Time;
use turno::store::{
    Dialect, LineStep, LineToApply, Outcomes, Pending, StockLevel, StoreError, TaskGroup, TaskPage, TaskQuery,
    TaskRead, Tx, Value,
};

impl Rows {
    pub(super) fn task(&mut self, group: &TaskGroup, now: Time) -> Outcomes {
        let last = self.db.tasks.keys().next_back().map_or(0, |id| id.0);
        let fresh = group.command.task.is_none().then_some(TaskId(last + 1));
        let made = group.once().and_then(|once| self.task_ids.get(once)).copied();
        let task = group.command.task.or(made).and_then(|id| self.db.tasks.get(&id).cloned());
        let lease = match (group.resource().or(made.map(TaskId::resource)), fresh) {
            (Some(resource), _) => self.db.lease(&resource),
            (None, fresh) => State::unseen(fresh.unwrap_or_default().resource()),
        };
        let line = group
            .validates()
            .and_then(|number| task.as_ref().and_then(|task| task.lines.iter().find(|line| line.number == number)));
        let stock = line.map(|line| self.db.stock_of(line));
        let numbers = self.numbers(group.numbers());
        let head = group.audits().then_some(self.db.head);
        let read = Read { now, numbers, fresh, task, lease, stock };
        let (write, outcome) = group.decide(TaskRead { read, head });
        self.db.write_task(&write);
        self.task_ids.extend(write.once.zip(write.task.map(|task| task.id)));
        let id = outcome.task.as_ref().map(|task| task.id);
        self.notes.extend(id.into_iter().flat_map(|id| write.notes.iter().map(move |note| (id, note.clone()))));
        self.record_ended(write.lease);
        Outcomes::Task(Box::new(outcome))
    }

    /// Decides about a line. Returns the line if its effect is to be applied.
    pub(super) fn begin_line(&self, apply: &Apply, now: Time) -> Result<LineToApply, LineStep> {
        let task = self.db.tasks.get(&apply.task);
        let line = task.and_then(|task| task.lines.iter().find(|line| line.number == apply.number));
        match (begin_line(apply, task, &self.db.lease(&apply.task.resource()), line, now), line) {
            (Begin::Go, Some(line)) => Ok(LineToApply {
                task: apply.task,
                line: line.clone(),
                by: apply.who.user.clone(),
                fence: apply.fence,
                now,
            }),
            (Begin::Go, None) => unreachable!("only an existing line can begin"),
            (Begin::Settled(outcome), _) => Err(LineStep::Settled(outcome)),
            (Begin::Over(finalized), _) => Err(LineStep::Over(finalized)),
            (Begin::Refused(refused), _) => Err(LineStep::Refused(refused)),
        }
    }

    /// Applies the built-in effect of a line: the stock ledger.
    pub(super) fn post(&mut self, line: &Line) -> Result<(), LineError> {
        let posting = post(line, &self.db.stock_of(line))?;
        self.db.move_stock(&posting);
        Ok(())
    }

    pub(super) fn end_line(
        &mut self,
        apply: &Apply,
        going: LineToApply,
        effect: Result<(), LineError>,
        worked_at: Time,
    ) -> LineStep {
        let now = going.now;
        let before = self.db.tasks.get(&apply.task).map_or(Status::Processing, |task| task.status);
        let done = end_line(apply, before, going.line, effect, now);
        self.db.write_line_done(apply.task, &done, now);
        let LineDone { outcome, note, event, .. } = done;
        self.announce([event]);
        self.notes.push((apply.task, note));
        let state = self.db.lease(&apply.task.resource());
        if let Some(grant) = apply.renewed(state.clone(), worked_at) {
            self.db.leases.insert(state.resource.clone(), State { grant: Some(grant), ..state });
        }
        LineStep::Settled(outcome)
    }

    pub(super) fn find_task(&self, id: TaskId) -> Option<Task> {
        self.db.tasks.get(&id).cloned()
    }

    pub(super) fn look(&self, id: TaskId, now: Time) -> TaskPage {
        TaskPage::new(now, 1, self.find_task(id).into_iter().collect(), vec![self.db.lease(&id.resource())])
    }

    pub(super) fn tasks(&self, query: &TaskQuery, now: Time) -> TaskPage {
        let held = |task: &Task| self.db.lease(&task.id.resource()).grant.is_some();
        let wanted = |task: &&Task| {
            query.status.is_none_or(|status| task.status == status)
                && query.before.is_none_or(|before| task.id < before)
                && (query.locked != Some(true) || held(task))
        };
        let tasks = self.db.tasks.values().rev().filter(wanted).take(query.limit as usize + 1).cloned();
        let tasks: Vec<Task> = tasks.collect();
        let leases = tasks.iter().map(|task| self.db.lease(&task.id.resource())).collect();
        TaskPage::new(now, query.limit, tasks, leases)
    }

    pub(super) fn task_notes(&self, id: TaskId, after: i64, limit: u32) -> Vec<(i64, Note)> {
        let numbered = (1..).zip(&self.notes).filter(|(number, (of, _))| *of == id && *number > after);
        numbered.take(limit as usize).map(|(number, (_, note))| (number, note.clone())).collect()
    }

    pub(super) fn stock_level(&self, sku: Sku) -> Option<StockLevel> {
        let Level { quantity, serials } = self.db.stock.get(&sku)?.clone();
        Some(StockLevel { sku, quantity, serials: serials.into_iter().map(String::from).collect() })
    }
}

/// The transaction given to an application's effect. It refuses every statement, because the model has no SQL.
pub(super) struct NoSql;

impl Tx for NoSql {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn execute<'a>(&'a mut self, _sql: &'a str, _params: &'a [Value]) -> Pending<'a, u64> {
        Box::pin(std::future::ready(Err(StoreError::Rejected("the model understands no SQL".into()))))
    }

    fn query<'a>(&'a mut self, _sql: &'a str, _params: &'a [Value]) -> Pending<'a, Vec<Vec<Value>>> {
        Box::pin(std::future::ready(Err(StoreError::Rejected("the model understands no SQL".into()))))
    }
}
