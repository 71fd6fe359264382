//! Announces leases whose time has run out.
//!
//! Correctness never depends on this: every decision about a lease ends what has expired first, and reads evaluate it.
//! The announcer is for those who only listen. It reads which leases are due without a lock, and has each looked at by an
//! ordinary command, which repeats the condition under the lock. So every instance may announce, also for leases of
//! processes that died, and each end is announced once.

use crate::clock::Clock;
use crate::engine::{Committers, Job, LOOK_AGAIN};
use crate::error::Error;
use crate::store::Store;
use futures_util::future::join_all;
use std::sync::Arc;
use turno_core::id::{Resource, UserId};
use turno_core::lease::{Action, Command, Holder, Policies};
use turno_core::time::{Span, Time};

/// How often it reads what is due, if it knows of nothing sooner: a claim may ask for less time than this.
const EVERY: Span = Span(250);
/// How many leases are looked at together: little enough that claims on the same route hardly wait.
const AT_ONCE: u32 = 500;

/// Looks at leases when they are due.
pub(crate) struct Announcer {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) committers: Committers,
    /// The policies in force: an offer that follows lasts as long as they say.
    pub(crate) leases: Policies,
}

impl Announcer {
    /// Looks again and again until the engine is closed.
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

    /// Looks at what is due. Returns when the next look is due, if that is near.
    async fn look(&self) -> Result<Option<Time>, Error> {
        loop {
            let (due, next) = self.store.due_leases(AT_ONCE).await?;
            let all = due.len() < AT_ONCE as usize;
            let looks = due.into_iter().map(|resource| self.command(resource));
            let looks = looks.map(|command| self.committers.submit(None, |reply| Job::Lease(command, reply)));
            // One that failed stays due: the next round looks at it again.
            join_all(looks).await.into_iter().try_for_each(|looked| looked.map(drop))?;
            if all {
                return Ok(next);
            }
        }
    }

    fn command(&self, resource: Resource) -> Command {
        let user = UserId::new("turno").expect("a valid name");
        let who = Holder { name: user.to_string(), user, instance: None };
        let policy = self.leases.of(&resource).clone();
        Command { resource, who, via: None, policy, action: Action::Look }
    }
}
