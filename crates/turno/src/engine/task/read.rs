//! Reading tasks and their histories.

use crate::engine::Turno;
use crate::engine::access::Needs;
use crate::error::Error;
use crate::store::{Past, StockLevel, TaskPage, TaskQuery};
use std::fmt;
use std::str::FromStr;
use turno_core::fault::{Fault, Invalid};
use turno_core::id::{Fence, Sku};
use turno_core::lease::{Ending, State};
use turno_core::task::{Note, Task, TaskId};
use turno_core::time::Time;

/// One entry of a task's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskEvent {
    /// An action on the task.
    Note(Note),
    /// An ownership of the task's lease that ended.
    Held(Ending),
}

impl TaskEvent {
    /// Returns when the entry happened.
    pub fn at(&self) -> Time {
        match self {
            TaskEvent::Note(note) => note.at,
            TaskEvent::Held(ending) => ending.at,
        }
    }
}

/// A position in a task's history: the last note and the last fence read. Displayed and parsed as text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskCursor {
    note: i64,
    fence: Fence,
}

impl fmt::Display for TaskCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.note, self.fence.0)
    }
}

impl FromStr for TaskCursor {
    type Err = Error;
    fn from_str(text: &str) -> Result<TaskCursor, Error> {
        let parts = text.split_once('.').and_then(|(note, fence)| Some((note.parse().ok()?, fence.parse().ok()?)));
        let (note, fence) = parts.ok_or_else(|| Invalid::new("cursor", Fault::Cursor))?;
        Ok(TaskCursor { note, fence: Fence(fence) })
    }
}

/// A page of a task's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskHistory {
    /// The entries, oldest first.
    pub events: Vec<TaskEvent>,
    /// The cursor of the next page. `None` at the end.
    pub next: Option<TaskCursor>,
}

/// Merges up to `limit` entries by time. Each source keeps its own order, so one cursor per source is enough.
fn merge(from: TaskCursor, notes: Vec<(i64, Note)>, held: Vec<Ending>, limit: usize) -> TaskHistory {
    let (mut notes, mut held) = (notes.into_iter().peekable(), held.into_iter().peekable());
    let mut cursor = from;
    let mut events = Vec::new();
    while events.len() < limit {
        let note_first = match (notes.peek(), held.peek()) {
            (Some((_, note)), Some(ending)) => note.at <= ending.at,
            (note, _) => note.is_some(),
        };
        if note_first && let Some((number, note)) = notes.next() {
            cursor.note = number;
            events.push(TaskEvent::Note(note));
        } else if let Some(ending) = held.next() {
            cursor.fence = ending.grant.fence;
            events.push(TaskEvent::Held(ending));
        } else {
            return TaskHistory { events, next: None };
        }
    }
    let more = notes.peek().is_some() || held.peek().is_some();
    TaskHistory { events, next: more.then_some(cursor) }
}

impl Turno {
    /// Returns a task with its lines and its lease, and the time at which they were read.
    ///
    /// ```
    /// # use turno::queue::Delivery;
    /// # turno_testkit::example(async |turno| {
    /// # use turno::task::{self, Goods, Movement, NewLine, NewTask};
    /// # let line = NewLine { movement: Movement::In, sku: "nails".try_into()?, goods: Goods::Quantity(30) };
    /// # let ana = turno.holder(None);
    /// # let id = turno.create_task(ana.clone(), NewTask::titled("Delivery").lines(vec![line]).ready()).await?.id();
    /// let (now, found) = turno.task_get(id).await?;
    /// let (task, lease) = found.expect("the task exists");
    /// assert!(task.title == "Delivery" && lease.live(now).is_none());
    /// # Ok(()) });
    /// ```
    pub async fn task_get(&self, id: TaskId) -> Result<(Time, Option<(Task, State)>), Error> {
        self.authorize_read(Needs::READING_TASKS.on(&id.resource())).await?;
        let TaskPage { now, mut tasks, .. } = self.inner.store.task_look(id).await?;
        self.inner.record(now, tasks.iter().flat_map(|(_, lease)| lease.ends())).await?;
        Ok((now, tasks.pop().map(|(task, lease)| (task, self.lease_as_of(lease, now)))))
    }

    /// Returns tasks with their lines and leases, newest first, without those that the caller's token may not see.
    /// [`TaskPage::next`] has the cursor of the next page.
    ///
    /// ```
    /// # use turno::queue::Delivery;
    /// # turno_testkit::example(async |turno| {
    /// # use turno::task::{self, Goods, Movement, NewLine, NewTask};
    /// # let line = NewLine { movement: Movement::In, sku: "nails".try_into()?, goods: Goods::Quantity(30) };
    /// # let ana = turno.holder(None);
    /// # let id = turno.create_task(ana.clone(), NewTask::titled("Delivery").lines(vec![line]).ready()).await?.id();
    /// use turno::task::TaskQuery;
    /// let page = turno.tasks(TaskQuery { locked: Some(false), limit: 10, ..TaskQuery::default() }).await?;
    /// assert!(page.tasks[0].0.id == id && page.next.is_none());
    /// # Ok(()) });
    /// ```
    pub async fn tasks(&self, query: TaskQuery) -> Result<TaskPage, Error> {
        self.authorize_read(Needs::READING_TASKS).await?;
        let mut query = query;
        loop {
            let mut page = self.inner.store.tasks(query.clone()).await?;
            let now = page.now;
            self.inner.record(now, page.tasks.iter().flat_map(|(_, lease)| lease.ends())).await?;
            let wanted = |lease: &State| query.locked.is_none_or(|locked| lease.live(now).is_some() == locked);
            let may = |task: &Task| self.check_cached(Needs::READING_TASKS.on(&task.id.resource())).is_ok();
            page.tasks.retain(|(task, lease)| wanted(lease) && may(task));
            page.tasks = page.tasks.into_iter().map(|(task, lease)| (task, self.lease_as_of(lease, now))).collect();
            // Skip empty pages that are not the last one, because callers take an empty page as the end.
            if !page.tasks.is_empty() || page.next.is_none() {
                return Ok(page);
            }
            query.before = page.next;
        }
    }

    /// Returns the history of a task after the cursor `after`, oldest first: its notes and its past holders.
    ///
    /// ```
    /// # use turno::lease::Action;
    /// # use turno::queue::Delivery;
    /// # use turno::task::TaskEvent;
    /// # turno_testkit::example(async |turno| {
    /// # use turno::task::{self, Goods, Movement, NewLine, NewTask};
    /// # let line = NewLine { movement: Movement::In, sku: "nails".try_into()?, goods: Goods::Quantity(30) };
    /// # let ana = turno.holder(None);
    /// # let id = turno.create_task(ana.clone(), NewTask::titled("Delivery").lines(vec![line]).ready()).await?.id();
    /// # let claim = task::Action::Lease(Action::Claim { ttl: None, wait: false });
    /// # let fence = turno.task_command(Some(id), ana.clone(), claim).await?.lease.grant.expect("held").fence;
    /// turno.task_finalize(id, ana, fence).await?;
    /// let history = turno.task_history(id, None, 100).await?;
    /// assert!(history.events.iter().any(|event| matches!(event, TaskEvent::Note(note) if note.what == "line_applied")));
    /// # Ok(()) });
    /// ```
    pub async fn task_history(&self, id: TaskId, after: Option<TaskCursor>, limit: u32) -> Result<TaskHistory, Error> {
        self.authorize_read(Needs::READING_TASKS.on(&id.resource())).await?;
        let TaskCursor { note, fence } = after.unwrap_or_default();
        let more = limit.saturating_add(1);
        let ran_out = self.unrecorded_ending(&id.resource()).await?;
        let notes = self.inner.store.task_notes(id, note, more).await?;
        let mut held = self.inner.store.history(id.resource(), Past::Oldest { after: fence }, more).await?;
        // The expired ownership is the newest entry, so it belongs on the last page.
        let known = |ended: &Ending| held.iter().any(|past| past.grant.fence >= ended.grant.fence);
        if let Some(ended) = ran_out.filter(|ended| ended.grant.fence > fence && !known(ended))
            && held.len() < more as usize
        {
            held.push(ended);
        }
        let held = held.into_iter().map(|ending| self.redact_ending(ending)).collect();
        Ok(merge(TaskCursor { note, fence }, notes, held, limit as usize))
    }

    /// Returns the stock of an article. An article without moves has quantity 0.
    ///
    /// ```
    /// # use turno::lease::Action;
    /// # use turno::queue::Delivery;
    /// # turno_testkit::example(async |turno| {
    /// # use turno::task::{self, Goods, Movement, NewLine, NewTask};
    /// # let line = NewLine { movement: Movement::In, sku: "nails".try_into()?, goods: Goods::Quantity(30) };
    /// # let ana = turno.holder(None);
    /// # let id = turno.create_task(ana.clone(), NewTask::titled("Delivery").lines(vec![line]).ready()).await?.id();
    /// # let claim = task::Action::Lease(Action::Claim { ttl: None, wait: false });
    /// # let fence = turno.task_command(Some(id), ana.clone(), claim).await?.lease.grant.expect("held").fence;
    /// turno.task_finalize(id, ana, fence).await?;
    /// assert_eq!(turno.stock_level("nails".try_into()?).await?.quantity, 30);
    /// # Ok(()) });
    /// ```
    pub async fn stock_level(&self, sku: Sku) -> Result<StockLevel, Error> {
        self.authorize_read(Needs::READING_TASKS).await?;
        let level = self.inner.store.stock(sku.clone()).await?;
        Ok(level.unwrap_or(StockLevel { sku, quantity: 0, serials: Vec::new() }))
    }
}
