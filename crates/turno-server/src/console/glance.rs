//! All queues at a glance, looked at once for everybody who has the console open.

use futures_util::{StreamExt, stream};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use turno::{Error, Overview, Turno};

use crate::uptime::Uptime;

/// Newer than this it need not be: pages are not read again sooner.
const FRESH: Duration = Duration::from_millis(900);
/// Queues looked at side by side, so that connections are left for others.
const SIDE_BY_SIDE: usize = 4;
/// Queues that are shown; the API knows them all.
pub(crate) const QUEUES_MAX: usize = 300;

/// The last look.
#[derive(Debug, Default)]
pub(crate) struct Glance(Mutex<Option<(Uptime, Arc<Vec<Overview>>)>>);

impl Glance {
    /// The queues by name. `turno` is the program's own handle: whoever may look at a page may look at all queues.
    pub(crate) async fn queues(&self, turno: &Turno) -> Result<Arc<Vec<Overview>>, Error> {
        // Held while looking: whoever comes meanwhile gets the same answer instead of asking the same.
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
        *last = Some((Uptime::start(), seen.clone()));
        Ok(seen)
    }

    /// After something was changed by hand, the next look is a fresh one.
    pub(crate) async fn forget(&self) {
        *self.0.lock().await = None;
    }
}
