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
use turno_core::id::{Fence, Instance, Resource, UserId};
use turno_core::lease::{Action, Cause, Command, Ending, Grant, Holder, Outcome, Refused};
use turno_core::limits::SPAN_MIN;
use turno_core::time::{Span, Time};

/// How long the last heartbeat may take, after the expiry, to return the cause of the loss.
const LAST_WORD: Duration = Duration::from_millis(500);

/// A request for a lease. Awaiting it claims the lease and returns `None` if it is held.
#[derive(Debug)]
#[must_use = "a wish does nothing until it is awaited"]
pub struct HoldWish {
    turno: Turno,
    resource: Result<Resource, Error>,
    instance: Result<Option<Instance>, Error>,
    ttl: Option<Span>,
    wait: Span,
}

/// A held lease. Dropping it releases the lease.
#[derive(Debug)]
pub struct Hold {
    turno: Turno,
    command: Command,
    grant: Grant,
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
        Cause::Override => "somebody took it over",
        Cause::UserDisabled => "its holder was locked out",
        Cause::Released => "it was given back",
    }
}

impl Turno {
    /// Requests a lease on `resource` for this program as `instance`. Two different instances never hold it at the
    /// same time. Await the result, or first set how long to wait in line.
    ///
    /// ```
    /// # use turno::Turno;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-hold-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// let hold = turno.hold("report:nightly", "worker-1").await?.expect("the lease is free");
    /// assert!(turno.hold("report:nightly", "worker-2").await?.is_none());
    /// let report = hold.run(async { format!("written under fence {}", hold.fence().0) }).await;
    /// assert!(report.is_ok(), "the lease was not lost");
    /// hold.release().await?;
    /// assert!(turno.hold("report:nightly", "worker-2").await?.is_some());
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub fn hold(&self, resource: &str, instance: &str) -> HoldWish {
        HoldWish {
            turno: self.clone(),
            resource: Resource::new(resource).map_err(Error::from),
            instance: Instance::new(instance).map(Some).map_err(Error::from),
            ttl: None,
            wait: Span::ZERO,
        }
    }
}

impl HoldWish {
    /// Waits in line for at most `wait`.
    pub fn wait(mut self, wait: Duration) -> HoldWish {
        self.wait = Span(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX));
        self
    }

    /// Sets another ttl than the policy's. If this program dies, the lease becomes free after the ttl.
    pub fn ttl(mut self, ttl: Duration) -> HoldWish {
        self.ttl = Some(Span(i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX)));
        self
    }

    /// Claims in a separate task. If the caller is dropped before the grant arrives, the lease is released.
    async fn claim_or_give_back(self) -> Result<Option<Hold>, Error> {
        let (sender, answer) = oneshot::channel();
        tokio::spawn(async move { drop(sender.send(self.claim().await)) });
        answer.await.map_err(|_| Error::Closed)?
    }

    async fn claim(self) -> Result<Option<Hold>, Error> {
        let HoldWish { turno, resource, instance, ttl, wait } = self;
        let who = Holder { ..turno.holder(instance?) };
        let command = turno.command_of(resource?, who, Action::Claim { ttl, wait: false });
        let answer = if wait > Span::ZERO {
            turno.lease_wait(command.clone(), wait).await?
        } else {
            turno.lease(command.clone()).await?
        };
        match answer.answer {
            Ok(_) => {}
            Err(Refused::TtlOutOfBounds { max }) => {
                return Err(Error::Invalid(format!("the ttl must lie between {} and {} ms", SPAN_MIN.0, max.0)));
            }
            Err(_) => return Ok(None),
        }
        let grant = answer.state.grant.ok_or(Error::Closed)?;
        let (report_loss, lost) = watch::channel(None);
        let worked = Arc::new(AtomicBool::new(false));
        let beat =
            Beat { turno: turno.clone(), command: command.clone(), grant: grant.clone(), worked: worked.clone() };
        let beating = Some(tokio::spawn(beat.run(report_loss)));
        Ok(Some(Hold { turno, command, grant, worked, lost, beating }))
    }
}

impl IntoFuture for HoldWish {
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

    /// Returns when the ownership began.
    pub fn locked_at(&self) -> Time {
        self.grant.locked_at
    }

    /// Returns the holder's user.
    pub fn user(&self) -> &UserId {
        &self.grant.holder.user
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

    /// Releases the lease and waits for the commit. If the lease was lost before, returns the cause.
    pub async fn release(mut self) -> Result<Result<(), Loss>, Error> {
        if let Some(beating) = self.beating.take() {
            beating.abort();
        }
        let answer = self.turno.lease(self.release_command()).await?;
        Ok(match answer.answer {
            Ok(Outcome::Released { .. }) => Ok(()),
            Err(Refused::Lost { ending }) => Err(Loss::Ended(ending)),
            _ => Err(Loss::Ended(None)),
        })
    }

    fn release_command(&self) -> Command {
        // Naming the claim keeps a late release from freeing a newer ownership of the same instance.
        let action = Action::Release { fence: self.grant.fence, claim: Some(self.grant.claim) };
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
            runtime.spawn(async move { turno.lease(release).await.map(drop) });
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
        let answer = match self.turno.lease(Command { action, ..self.command.clone() }).await {
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
