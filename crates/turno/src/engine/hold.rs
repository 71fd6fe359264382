//! A lease held by a program: renewed in the background, released at the end, and watched for its loss.
//!
//! A lost lease does not stop the program that held it. [`Hold::run`] does: it drops its future at the moment of the
//! loss. Send [`Hold::fence`] with every effect on another system, so that the other system can refuse an outdated
//! holder.

use super::Turno;
use crate::error::Error;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use turno_core::id::{Fence, Instance, Resource};
use turno_core::lease::{Action, Cause, Command, Ending, Grant, Outcome, Refused};
use turno_core::time::{Span, Time};

/// The time limit, after the expiry, of the heartbeat that asks for the cause of the loss.
const LAST_WORD: Duration = Duration::from_millis(500);

/// A request for a lease. Awaiting it claims the lease and returns `None` if it is held.
#[derive(Debug)]
#[must_use = "a request does nothing until it is awaited"]
pub struct HoldRequest {
    turno: Turno,
    resource: Result<Resource, Error>,
    instance: Result<Option<Instance>, Error>,
    ttl: Option<Span>,
    wait: Span,
    at_least: Span,
}

/// A held lease. Dropping it releases the lease.
#[derive(Debug)]
pub struct Hold {
    turno: Turno,
    command: Command,
    grant: Grant,
    claimed_at: Time,
    /// How long the lease stays held after the claim, also if it is released earlier.
    at_least: Span,
    worked: Arc<AtomicBool>,
    lost: watch::Receiver<Option<Loss>>,
    beating: Option<tokio::task::JoinHandle<()>>,
}

/// Why a lease was lost.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    /// The ownership ended. `Some` if the ending is known.
    #[error("the lease was lost: {}", .0.as_ref().map_or("it has expired", |ending| cause(ending.cause)))]
    Ended(Option<Ending>),
    /// No heartbeat reached the database before the expiry, so the lease counts as expired.
    #[error("the lease was lost: the database could not be reached in time")]
    Unreachable,
    /// The holder lost the permission to hold it.
    #[error("the lease was lost: the permission was taken away")]
    Denied,
}

fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::NoHeartbeat => "no heartbeat arrived in time",
        Cause::Idle => "its holder was idle",
        Cause::RollingTimeout => "too long without work",
        Cause::Override => "another user took it over",
        Cause::UserDisabled => "its holder was disabled",
        Cause::Released => "it was released",
    }
}

impl HoldRequest {
    pub(super) fn new(
        turno: Turno,
        resource: Result<Resource, Error>,
        instance: Result<Option<Instance>, Error>,
    ) -> HoldRequest {
        HoldRequest { turno, resource, instance, ttl: None, wait: Span::ZERO, at_least: Span::ZERO }
    }

    /// Waits in line for at most `wait`.
    pub fn wait(mut self, wait: Duration) -> HoldRequest {
        self.wait = wait.into();
        self
    }

    /// Sets another ttl than the policy's. If this program dies, the lease becomes free after the ttl.
    pub fn ttl(mut self, ttl: Duration) -> HoldRequest {
        self.ttl = Some(ttl.into());
        self
    }

    /// Keeps the lease held for at least `time` after the claim, also if it is released or dropped earlier. Then no
    /// process, this one included, can claim it before that time is over: a job runs once per period.
    ///
    /// The claim is refused with [`Refused::KeepOutOfBounds`] if `time` is above the policy's `max_ttl`. If this program
    /// dies before the release, the lease becomes free after its ttl.
    pub fn at_least_for(mut self, time: Duration) -> HoldRequest {
        self.at_least = time.into();
        self
    }

    /// Claims in a separate task. If the caller is dropped before the grant arrives, the lease is released.
    async fn claim_or_give_back(self) -> Result<Option<Hold>, Error> {
        let (sender, answer) = oneshot::channel();
        tokio::spawn(async move { drop(sender.send(self.claim().await)) });
        answer.await.map_err(|_| Error::Closed)?
    }

    async fn claim(self) -> Result<Option<Hold>, Error> {
        let HoldRequest { turno, resource, instance, ttl, wait, at_least } = self;
        let who = turno.holder(instance?);
        let command = turno.command_of(resource?, who, Action::Claim { ttl, wait: false });
        let max = command.policy.max_ttl;
        if at_least > max {
            return Err(Error::Lease(Refused::KeepOutOfBounds { max }));
        }
        let answer = if wait > Span::ZERO {
            turno.lease_wait(command.clone(), wait.into()).await?
        } else {
            turno.lease_command(command.clone()).await?
        };
        match answer.answer {
            Ok(_) => {}
            Err(Refused::HeldBy { .. } | Refused::OfferedTo { .. }) => return Ok(None),
            Err(refused) => return Err(Error::Lease(refused)),
        }
        let grant = answer.state.grant.ok_or(Error::Bug("an accepted claim has no grant"))?;
        let (report_loss, lost) = watch::channel(None);
        let worked = Arc::new(AtomicBool::new(false));
        let beat =
            Beat { turno: turno.clone(), command: command.clone(), grant: grant.clone(), worked: worked.clone() };
        let beating = Some(tokio::spawn(beat.run(report_loss)));
        Ok(Some(Hold { turno, command, grant, claimed_at: answer.now, at_least, worked, lost, beating }))
    }
}

impl IntoFuture for HoldRequest {
    type Output = Result<Option<Hold>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.claim_or_give_back())
    }
}

impl Hold {
    /// Returns the fence of this ownership. Pass it to every system that acts on the resource, so that it can refuse
    /// older fences.
    pub fn fence(&self) -> Fence {
        self.grant.fence
    }

    /// Returns the grant as it was claimed: holder, fence and start.
    pub fn grant(&self) -> &Grant {
        &self.grant
    }

    /// Reports real work. The next heartbeat then restarts the policy's rolling timeout.
    pub fn worked(&self) {
        self.worked.store(true, Ordering::Relaxed);
    }

    /// Waits until the lease is lost and returns the cause. Never returns if the lease is not lost.
    pub async fn lost(&self) -> Loss {
        let mut lost = self.lost.clone();
        let loss = lost.wait_for(Option::is_some).await.ok().and_then(|loss| loss.clone());
        match loss {
            Some(loss) => loss,
            None => std::future::pending().await,
        }
    }

    /// Runs `work` while the lease is held. If the lease is lost, drops `work` and returns the cause.
    pub async fn run<T>(&self, work: impl Future<Output = T>) -> Result<T, Loss> {
        tokio::select! {
            biased;
            loss = self.lost() => Err(loss),
            done = work => Ok(done),
        }
    }

    /// Releases the lease and waits for the commit. With [`HoldRequest::at_least_for`] the lease stays held for the rest
    /// of that time. Returns [`Error::Lost`] if the lease was lost before.
    pub async fn release(mut self) -> Result<(), Error> {
        if let Some(beating) = self.beating.take() {
            beating.abort();
        }
        let answer = self.turno.lease_command(self.release_command()).await?;
        match answer.answer {
            Ok(Outcome::Released { .. }) => Ok(()),
            Err(Refused::Lost { ending }) => Err(Error::Lost(Loss::Ended(ending))),
            _ => Err(Error::Lost(Loss::Ended(None))),
        }
    }

    fn release_command(&self) -> Command {
        // Naming the claim keeps a late release from freeing a newer ownership of the same instance.
        let (fence, claim) = (self.grant.fence, Some(self.grant.claim));
        let rest = self.turno.inner.clock.estimate().until(self.claimed_at + self.at_least).min(self.at_least);
        let action = match rest {
            Span::ZERO => Action::Release { fence, claim },
            keep => Action::Keep { fence, claim, keep },
        };
        Command { action, ..self.command.clone() }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let Some(beating) = self.beating.take() else {
            return;
        };
        beating.abort();
        // Best effort: without a runtime, or if the process ends first, the lease expires by itself.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (turno, release) = (self.turno.clone(), self.release_command());
            runtime.spawn(async move { turno.lease_command(release).await.map(drop) });
        }
    }
}

/// The background task that sends a hold's heartbeats.
struct Beat {
    turno: Turno,
    command: Command,
    grant: Grant,
    worked: Arc<AtomicBool>,
}

impl Beat {
    async fn run(self, report_loss: watch::Sender<Option<Loss>>) {
        let clock = self.turno.inner.clock.clone();
        let every = self.command.policy.heartbeat_interval.min(Span(self.grant.ttl.0 / 3)).max(Span(1));
        let mut expires_at = self.grant.expires_at;
        let mut next = clock.estimate() + every;
        loop {
            clock.sleep_until(next.min(expires_at)).await;
            let beat = self.beat();
            tokio::pin!(beat);
            // If the database does not answer, the hold ends at its expiry. If it answers late, the answer tells the
            // cause.
            let answer = tokio::select! {
                answer = &mut beat => answer,
                () = clock.sleep_until(expires_at) => {
                    let late = tokio::time::timeout(LAST_WORD, beat).await;
                    match late {
                        Ok(Ok(Ok(_)) | Err(_)) | Err(_) => Ok(Err(Loss::Unreachable)),
                        Ok(Ok(Err(loss))) => Ok(Err(loss)),
                    }
                }
            };
            match answer {
                Ok(Ok(until)) => {
                    expires_at = until;
                    next = clock.estimate() + every;
                }
                Ok(Err(loss)) => {
                    report_loss.send_replace(Some(loss));
                    return;
                }
                Err(error) => {
                    tracing::debug!(%error, resource = %self.command.resource, "a beat was not delivered; trying again");
                    next = clock.estimate() + Span((every.0 / 4).max(1));
                }
            }
        }
    }

    /// Sends one heartbeat and returns the new expiry.
    async fn beat(&self) -> Result<Result<Time, Loss>, Error> {
        let worked = self.worked.swap(false, Ordering::Relaxed);
        let action = Action::Heartbeat { fence: self.grant.fence, idle: Some(Span::ZERO), worked };
        let answer = match self.turno.lease_command(Command { action, ..self.command.clone() }).await {
            Ok(answer) => answer,
            Err(Error::Denied(_)) => return Ok(Err(Loss::Denied)),
            Err(error) => {
                self.worked.fetch_or(worked, Ordering::Relaxed);
                return Err(error);
            }
        };
        let own = answer.state.grant.filter(|grant| grant.fence == self.grant.fence);
        Ok(match (answer.answer, own) {
            (Ok(_), Some(grant)) => Ok(grant.expires_at),
            (Err(Refused::Lost { ending }), _) => Err(Loss::Ended(ending)),
            _ => Err(Loss::Ended(None)),
        })
    }
}
