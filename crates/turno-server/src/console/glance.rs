//! An overview of all queues, cached for all open pages of the console.

use futures_util::{StreamExt, stream};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use turno::queue::Overview;
use turno::{Error, Turno};

use crate::stopwatch::Stopwatch;

/// How long the overview is cached. Pages do not refresh more often.
const FRESH: Duration = Duration::from_millis(900);
/// How many queues are read in parallel, so that database connections are left for others.
const SIDE_BY_SIDE: usize = 4;
/// How many queues the console shows. The API returns all of them.
pub(crate) const QUEUES_MAX: usize = 300;

/// The cached overview.
#[derive(Debug, Default)]
pub(crate) struct Glance(Mutex<Option<(Stopwatch, Arc<Vec<Overview>>)>>);

impl Glance {
    /// Returns the queues by name. `turno` is the program's own handle, because everyone who may open the console may
    /// read all queues.
    pub(crate) async fn queues(&self, turno: &Turno) -> Result<Arc<Vec<Overview>>, Error> {
        // The lock is held during the read, so that concurrent pages share one read.
        let mut last = self.0.lock().await;
        if let Some((at, seen)) = last.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
            let _ = at;
            return Ok(seen.clone());
        }
        let mut names: Vec<_> = turno.queues().await?.into_iter().map(|row| row.name).collect();
        names.sort();
        names.truncate(QUEUES_MAX);
        let look = |name| async move { turno.queue(name).await?.overview().await };
        let looks: Vec<Result<Overview, Error>> =
            stream::iter(names.into_iter().map(look)).buffered(SIDE_BY_SIDE).collect().await;
        let seen: Arc<Vec<Overview>> = Arc::new(looks.into_iter().collect::<Result<_, _>>()?);
        *last = Some((Stopwatch::start(), seen.clone()));
        Ok(seen)
    }

    /// Drops the cache after a change, so that the next page shows the change.
    pub(crate) async fn forget(&self) {
        *self.0.lock().await = None;
    }
}
