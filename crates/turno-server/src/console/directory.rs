//! Names of people by id, cached for all open pages of the console. The library returns ids, and people know each other
//! by name.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use turno::{Error, Turno};

use crate::stopwatch::Stopwatch;

/// How long the names are cached. A new person is shown by id until then.
const FRESH: Duration = Duration::from_secs(5);
/// Page size when reading people.
const PAGE: u32 = 500;
/// How many names are cached. Beyond that, people are shown by id.
const PEOPLE_MAX: usize = 5_000;

/// Names by id.
pub(crate) type Names = HashMap<String, String>;

/// The cached names.
#[derive(Debug, Default)]
pub(crate) struct Directory(Mutex<Option<(Stopwatch, Arc<Names>)>>);

impl Directory {
    /// Returns the names. `turno` is the program's own handle, because everyone who may see an id may see its name.
    pub(crate) async fn names(&self, turno: &Turno) -> Result<Arc<Names>, Error> {
        // The lock is held during the read, so that concurrent pages share one read.
        let mut last = self.0.lock().await;
        if let Some((_, names)) = last.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
            return Ok(names.clone());
        }
        let (mut names, mut after) = (Names::new(), None);
        while names.len() < PEOPLE_MAX {
            let people = turno.people(after, PAGE).await?;
            let Some(latest) = people.last() else { break };
            after = Some(latest.id.clone());
            let full = people.len() == PAGE as usize;
            names.extend(people.into_iter().map(|person| (person.id.to_string(), person.name)));
            if !full {
                break;
            }
        }
        let names = Arc::new(names);
        *last = Some((Stopwatch::start(), names.clone()));
        Ok(names)
    }
}
