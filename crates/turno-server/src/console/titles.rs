//! What tasks are called, for whoever looks at their locks: people know a task by its title, locks by `task:98`.

use std::collections::HashMap;

use turno::core::lease::State;
use turno::core::task::TaskId;
use turno::{Error, TaskQuery, Turno};

/// Tasks whose titles are looked up for one page; beyond, the lock's own name has to do.
const TASKS_MAX: u32 = 500;

/// Titles by tasks.
pub(super) struct Titles(HashMap<TaskId, String>);

impl Titles {
    /// Those of the tasks among these leases, in one look.
    pub(super) async fn of_locked(turno: &Turno, leases: &[State]) -> Result<Titles, Error> {
        if !leases.iter().any(|state| TaskId::of(&state.resource).is_some()) {
            return Ok(Titles(HashMap::new()));
        }
        let found = turno.tasks(TaskQuery { locked: Some(true), limit: TASKS_MAX, ..TaskQuery::default() }).await?;
        Ok(Titles(found.tasks.into_iter().map(|(task, _)| (task.id, task.title)).collect()))
    }

    /// What the task is called whose lock this is.
    pub(super) fn of(&self, lease: &State) -> Option<&str> {
        self.0.get(&TaskId::of(&lease.resource)?).map(String::as_str)
    }
}
