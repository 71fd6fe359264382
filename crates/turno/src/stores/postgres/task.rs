//! Tasks: the transaction of one command, and reads.

use super::PostgresStore;
use super::audit;
use super::call::Call;
use super::error::TripError;
use super::lease::{self, Lock};
use super::row::task::{add_notes, note, number_to, save_lines, save_task, tasks};
use super::row::{garbled, get};
use super::sql;
use super::stock;
use super::tx::{Moment, Plan, Tx, Write};
use crate::store::{
    Outcomes, Pending, StockLevel, TaskGroup, TaskOutcome, TaskPage, TaskQuery, TaskRead, TaskReader, TaskWrite,
};
use tokio_postgres::Row;
use turno_core::id::{Once, Resource, Sku};
use turno_core::lease::{Refused as LeaseRefused, State};
use turno_core::task::{Line, Lines, Note, Read, Refused, Status, Task, TaskId};

/// Locks and reads the task and its lease, locks the audit, reads the clock, decides.
pub(super) async fn plan(tx: &mut Tx<'_>, group: &TaskGroup) -> Result<Plan, TripError> {
    let Some((id, resource)) = group.command.task.zip(group.resource()) else {
        return create(tx, group).await;
    };
    let resources = [resource];
    let mut lock = Lock::Quick;
    loop {
        let mut answers = tx.trip(reads(group, id, &resources, lock)).await?;
        let locked = !answers.take().is_empty();
        let task = tasks(&answers.take())?.pop();
        answers.take();
        let states = lock.states(&mut answers, &resources, locked)?;
        let stock = if group.validates().is_some() { stock::from_rows(&answers.take())? } else { None };
        let head = if group.audits() { Some(audit::head(&answers.take())?) } else { None };
        let clock = answers.take();
        let state = states.map(|mut states| states.pop().unwrap_or_else(|| State::unseen(resources[0].clone())));
        let lease = match (state, &task) {
            (Some(state), _) => state,
            (None, Some(_)) if locked => {
                tx.restart();
                lock = Lock::Patient;
                continue;
            }
            (None, _) => State::unseen(resources[0].clone()),
        };
        let mut moment = tx.moment(&clock)?;
        if task.is_some() && !locked {
            return Ok(busy(task, lease, &moment));
        }
        let read = Read { now: moment.now, numbers: moment.numbers(), fresh: None, task, lease, stock };
        return Ok(to_plan(group, TaskRead { read, head }, moment.xid));
    }
}

fn reads<'a>(group: &TaskGroup, id: TaskId, resources: &'a [Resource; 1], lock: Lock) -> Vec<Call<'a>> {
    let mut calls = vec![
        Call::new(&sql::TASK_LOCK).big(id.0),
        Call::new(&sql::TASK_READ).big(id.0),
        Call::new(&sql::TASK_LEASE_INSERT).text(resources[0].as_str()).big(id.0),
    ];
    calls.extend(lock.calls(resources));
    if let Some(number) = group.validates() {
        calls.push(Call::new(&sql::STOCK_OF_LINE).big(id.0).int(number_to(number)));
    }
    if group.audits() {
        calls.push(audit::lock());
    }
    calls.push(Moment::call(group.numbers(), false));
    calls
}

/// Creates a task. Its number is new, so there is nothing to lock. An existing task with the same once key is only
/// read. If two commands create one under the same key at once, the unique index refuses the second, which is then
/// repeated.
async fn create(tx: &mut Tx<'_>, group: &TaskGroup) -> Result<Plan, TripError> {
    if let Some(once) = group.once()
        && let Some(plan) = existing(tx, group, once).await?
    {
        return Ok(plan);
    }
    let mut answers = tx.trip(vec![Call::new(&sql::TASK_NUMBER), Moment::call(group.numbers(), true)]).await?;
    let rows = answers.take();
    let id = TaskId(rows.first().map_or_else(|| Err(garbled("no number")), |row| get(row, 0))?);
    let mut moment = tx.moment(&answers.take())?;
    let lease = State::unseen(id.resource());
    let read = Read { now: moment.now, numbers: moment.numbers(), fresh: Some(id), task: None, lease, stock: None };
    Ok(to_plan(group, TaskRead { read, head: None }, moment.xid))
}

/// Returns the answer if a task with this once key exists.
async fn existing(tx: &mut Tx<'_>, group: &TaskGroup, once: &Once) -> Result<Option<Plan>, TripError> {
    let find = Call::new(&sql::TASK_ONCE).text(once.scope()).text(once.key());
    let Some(task) = tasks(&tx.trip(vec![find]).await?.take())?.pop() else {
        return Ok(None);
    };
    let resource = task.id.resource();
    let look = Call::new(&sql::LEASE_READ).texts([resource.as_str()].into_iter());
    let mut answers = tx.trip(vec![look, Moment::call(0, false)]).await?;
    let lease = lease::states(&answers.take(), vec![resource.clone()])?.pop();
    let lease = lease.unwrap_or_else(|| State::unseen(resource.clone()));
    let mut moment = tx.moment(&answers.take())?;
    let (now, numbers) = (moment.now, moment.numbers());
    let read = Read { now, numbers, fresh: None, task: Some(task), lease, stock: None };
    Ok(Some(to_plan(group, TaskRead { read, head: None }, moment.xid)))
}

fn to_plan(group: &TaskGroup, read: TaskRead, xid: Option<String>) -> Plan {
    let (write, outcome) = group.decide(read);
    let write = if write.is_empty() { Write::Nothing } else { Write::Task(Box::new(write)) };
    Plan::new(Outcomes::Task(Box::new(outcome)), write, xid)
}

/// Refuses the command as pinned, without waiting: a line is being applied, or another instance runs a command on the
/// task.
fn busy(task: Option<Task>, lease: State, moment: &Moment) -> Plan {
    let answer = Err(Refused::Lease(LeaseRefused::Pinned));
    let outcome = TaskOutcome { answer, task, lease, expired: Vec::new(), now: moment.now };
    Plan::new(Outcomes::Task(Box::new(outcome)), Write::Nothing, None)
}

/// Returns all writes of a task command.
pub(super) fn calls(write: &TaskWrite) -> Vec<Call<'_>> {
    let mut calls = Vec::with_capacity(8);
    if let Some(task) = &write.task {
        calls.push(save_task(task, write.once.as_ref()));
        let lines: Vec<&Line> = match write.lines {
            Lines::Kept => Vec::new(),
            Lines::One(number) => task.lines.iter().filter(|line| line.number == number).collect(),
            Lines::All => {
                calls.push(Call::new(&sql::LINE_REMOVE).big(task.id.0));
                task.lines.iter().collect()
            }
        };
        if !lines.is_empty() {
            calls.push(save_lines(task.id, &lines));
        }
        if !write.notes.is_empty() {
            calls.push(add_notes(task.id, &write.notes));
        }
    }
    calls.extend(lease::calls(&write.lease));
    calls
}

impl TaskReader for PostgresStore {
    fn task(&self, id: TaskId) -> Pending<'_, Option<Task>> {
        Box::pin(async move {
            let rows = self.read(vec![Call::new(&sql::TASK_READ).big(id.0)]).await?.take();
            Ok(tasks(&rows)?.pop())
        })
    }

    fn task_look(&self, id: TaskId) -> Pending<'_, TaskPage> {
        Box::pin(async move {
            let resource = id.resource();
            let calls = vec![
                Call::new(&sql::TASK_READ).big(id.0),
                Call::new(&sql::LEASE_READ).texts([resource.as_str()].into_iter()),
                Moment::call(0, false),
            ];
            let mut answers = self.read(calls).await?;
            let tasks = tasks(&answers.take())?;
            let leases = lease::states(&answers.take(), vec![resource.clone()])?;
            let moment = Moment::read(&self.shared.clock, &answers.take())?;
            Ok(TaskPage::new(moment.now, 1, tasks, leases))
        })
    }

    /// Takes two trips: the tasks, and then the leases of all of them.
    fn tasks(&self, query: TaskQuery) -> Pending<'_, TaskPage> {
        Box::pin(async move {
            let call = Call::new(&sql::TASK_LIST)
                .maybe_text(query.status.map(Status::as_str))
                .big(query.before.map_or(i64::MAX, |TaskId(id)| id))
                .big(i64::from(query.limit) + 1)
                .flag(query.locked == Some(true));
            let tasks = tasks(&self.read(vec![call]).await?.take())?;
            let resources: Vec<Resource> = tasks.iter().map(|task| task.id.resource()).collect();
            let look = Call::new(&sql::LEASE_READ).texts(resources.iter().map(Resource::as_str));
            let mut answers = self.read(vec![look, Moment::call(0, false)]).await?;
            let leases = lease::states(&answers.take(), resources.clone())?;
            let moment = Moment::read(&self.shared.clock, &answers.take())?;
            Ok(TaskPage::new(moment.now, query.limit, tasks, leases))
        })
    }

    fn task_notes(&self, id: TaskId, after: i64, limit: u32) -> Pending<'_, Vec<(i64, Note)>> {
        let call = Call::new(&sql::NOTE_LIST).big(id.0).big(limit.into()).big(after);
        Box::pin(self.all(call, |row| Ok((get(row, 6)?, note(row)?))))
    }

    fn stock(&self, sku: Sku) -> Pending<'_, Option<StockLevel>> {
        Box::pin(async move {
            let call = Call::new(&sql::STOCK_READ).text(sku.as_str());
            let level = |row: &Row| Ok(StockLevel { quantity: get(row, 0)?, serials: get(row, 1)?, sku: sku.clone() });
            self.first(call, level).await
        })
    }
}
