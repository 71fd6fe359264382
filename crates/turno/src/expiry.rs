//! Announces expired leases.
//!
//! Correctness never depends on it: every decision and every read evaluates the expiry itself. The announcer serves
//! listeners. It reads the due leases without a lock and submits an ordinary `Look` command for each, which checks the
//! expiry again under the lock. So every instance may announce, also for leases of processes that died, and each end
//! is announced once.

use crate::clock::Clock;
use crate::engine::{Committers, Job, LOOK_AGAIN};
use crate::error::Error;
use crate::store::Store;
use futures_util::future::join_all;
use std::sync::Arc;
use turno_core::id::{Resource, UserId};
use turno_core::lease::{Action, Command, Holder, Policies};
use turno_core::time::{Span, Time};

/// The longest pause between two reads. A claim may ask for a ttl shorter than the time until the next known expiry.
const EVERY: Span = Span(250);
/// The largest number of leases per round. Small, so that claims on the same route hardly wait.
const AT_ONCE: u32 = 500;

/// Submits a look for each lease that is due.
pub(crate) struct Announcer {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) committers: Committers,
    /// The current policies, which set the length of a following offer.
    pub(crate) leases: Policies,
}

impl Announcer {
    /// Looks at due leases until the engine is closed.
    pub(crate) async fn run(self) {
        loop {
            let began = self.clock.estimate();
            let again = match self.look().await {
                Ok(next) => next.unwrap_or(began + EVERY).min(began + EVERY),
                Err(error) => {
                    tracing::warn!(%error, "could not announce expired leases; trying again");
                    began + LOOK_AGAIN
                }
            };
            self.clock.sleep_until(again).await;
        }
    }

    /// Looks at the due leases. Returns when the next look is due, if that is soon.
    async fn look(&self) -> Result<Option<Time>, Error> {
        loop {
            let (due, next) = self.store.due_leases(AT_ONCE).await?;
            let all = due.len() < AT_ONCE as usize;
            let looks = due.into_iter().map(|resource| self.command(resource));
            let looks = looks.map(|command| self.committers.submit(None, |reply| Job::Lease(command, reply)));
            // A look that failed stays due, and the next round repeats it.
            join_all(looks).await.into_iter().try_for_each(|looked| looked.map(drop))?;
            if all {
                return Ok(next);
            }
        }
    }

    fn command(&self, resource: Resource) -> Command {
        let user = UserId::new("turno").expect("a valid name");
        let who = Holder { name: user.to_string(), user, instance: None };
        let policy = self.leases.for_resource(&resource).clone();
        Command { resource, who, via: None, policy, action: Action::Look }
    }
}
