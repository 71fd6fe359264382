//! Titles of tasks, for pages about leases: people know a task by its title, a lease names it `task:98`.

use std::collections::HashMap;

use turno::core::lease::State;
use turno::core::task::TaskId;
use turno::task::TaskQuery;
use turno::{Error, Turno};

/// How many tasks are looked up for one page. Beyond that, the page shows the resource's name.
const TASKS_MAX: u32 = 500;

/// Titles by task.
pub(super) struct Titles(HashMap<TaskId, String>);

impl Titles {
    /// Reads the titles of all tasks among these leases, with one query.
    pub(super) async fn load(turno: &Turno, leases: &[State]) -> Result<Titles, Error> {
        if !leases.iter().any(|state| TaskId::from_resource(&state.resource).is_some()) {
            return Ok(Titles(HashMap::new()));
        }
        let found = turno.tasks(TaskQuery { locked: Some(true), limit: TASKS_MAX, ..TaskQuery::default() }).await?;
        Ok(Titles(found.tasks.into_iter().map(|(task, _)| (task.id, task.title)).collect()))
    }

    /// Returns the title of the task that this lease belongs to.
    pub(super) fn get(&self, lease: &State) -> Option<&str> {
        self.0.get(&TaskId::from_resource(&lease.resource)?).map(String::as_str)
    }
}
