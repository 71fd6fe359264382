//! What people are called, looked up once for everybody who has the console open: the library knows who did something by
//! their id, and people know each other by their names.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use turno::{Error, Turno};

use crate::uptime::Uptime;

/// Somebody new is called by their id for so long at most.
const FRESH: Duration = Duration::from_secs(5);
/// People read at once.
const PAGE: u32 = 500;
/// People whose names are known; in larger houses the rest is called by their ids.
const PEOPLE_MAX: usize = 5_000;

/// Names by ids.
pub(crate) type Names = HashMap<String, String>;

/// The last look.
#[derive(Debug, Default)]
pub(crate) struct Directory(Mutex<Option<(Uptime, Arc<Names>)>>);

impl Directory {
    /// The names as they are, or were a moment ago. `turno` is the program's own handle: whoever may see that somebody did
    /// something may know what they are called.
    pub(crate) async fn names(&self, turno: &Turno) -> Result<Arc<Names>, Error> {
        // Held while looking: whoever comes meanwhile gets the same answer instead of asking the same.
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
        *last = Some((Uptime::start(), names.clone()));
        Ok(names)
    }
}
