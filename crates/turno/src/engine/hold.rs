//! A lease that a program holds: beaten in the background, given back at the end, and told when it is lost.
//!
//! Losing a lease cannot stop a program that does not listen. [`Hold::run`] does: what runs in it is dropped at the
//! moment of the loss. What the program does to others should carry [`Hold::fence`], so that they can refuse it.

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

/// How long a beat after the expiry may take to say why it was lost.
const LAST_WORD: Duration = Duration::from_millis(500);

/// How a program that asks for a lease wants it. Awaiting it claims: nothing, if somebody else has it.
#[derive(Debug)]
#[must_use = "a wish does nothing until it is awaited"]
pub struct HoldWish {
    turno: Turno,
    resource: Result<Resource, Error>,
    instance: Result<Option<Instance>, Error>,
    ttl: Option<Span>,
    wait: Span,
}

/// A lease that is held. Dropping it gives it back.
#[derive(Debug)]
pub struct Hold {
    turno: Turno,
    command: Command,
    grant: Grant,
    worked: Arc<AtomicBool>,
    lost: watch::Receiver<Option<Loss>>,
    beating: Option<tokio::task::JoinHandle<()>>,
}

/// Why a lease that was held is not any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    /// It ended; how, if that is known.
    #[error("the lease was lost: {}", .0.as_ref().map_or("it has expired", |ending| cause(ending.cause)))]
    Ended(Option<Ending>),
    /// No beat could be delivered in time: it has to be taken as expired.
    #[error("the lease was lost: the database could not be reached in time")]
    Unreachable,
    /// The holder may not hold it any more.
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
    /// Asks for a lease on `resource` for this program, as `instance`: two programs with different instances never hold
    /// it at once. Await it, or say first how long to stand in line.
    ///
    /// ```
    /// # use turno::Turno;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-hold-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// let hold = turno.hold("report:nightly", "worker-1").await?.expect("nobody else has it");
    /// assert!(turno.hold("report:nightly", "worker-2").await?.is_none());
    /// let report = hold.run(async { format!("written under fence {}", hold.fence().0) }).await;
    /// assert!(report.is_ok(), "and not lost meanwhile");
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
    /// Stands in line for at most this long.
    pub fn wait(mut self, wait: Duration) -> HoldWish {
        self.wait = Span(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX));
        self
    }

    /// Another ttl than the policy's: how soon others may have it after this program has died.
    pub fn ttl(mut self, ttl: Duration) -> HoldWish {
        self.ttl = Some(Span(i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX)));
        self
    }

    /// Claims in a task of its own: should whoever asked have left by the time the lease is granted, it is given back.
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
        let (told, lost) = watch::channel(None);
        let worked = Arc::new(AtomicBool::new(false));
        let beat =
            Beat { turno: turno.clone(), command: command.clone(), grant: grant.clone(), worked: worked.clone() };
        let beating = Some(tokio::spawn(beat.run(told)));
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
    /// Names this ownership for ever. Give it to whoever acts on the resource, so that a later owner's is preferred.
    pub fn fence(&self) -> Fence {
        self.grant.fence
    }

    /// Since when.
    pub fn locked_at(&self) -> Time {
        self.grant.locked_at
    }

    /// Who holds it.
    pub fn user(&self) -> &UserId {
        &self.grant.holder.user
    }

    /// There was real work: a policy's rolling timeout counts from the next beat on.
    pub fn worked(&self) {
        self.worked.store(true, Ordering::Relaxed);
    }

    /// Waits until it is lost, and says why. Of a lease that is never lost it waits for ever.
    pub async fn lost(&self) -> Loss {
        let mut lost = self.lost.clone();
        let loss = lost.wait_for(Option::is_some).await.ok().and_then(|loss| loss.clone());
        match loss {
            Some(loss) => loss,
            None => std::future::pending().await,
        }
    }

    /// Runs `work` for as long as the lease is held; if it is lost, drops it and says why.
    pub async fn run<T>(&self, work: impl Future<Output = T>) -> Result<T, Loss> {
        tokio::select! {
            biased;
            loss = self.lost() => Err(loss),
            done = work => Ok(done),
        }
    }

    /// Gives it back, and waits until that is certain. Of a lease that was lost meanwhile, says so.
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
        // The claim of this hold, so that a hold that is dropped late frees nothing newer of the same instance.
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
        // Best effort: outside of a runtime, or if the process ends first, it expires by itself.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let (turno, release) = (self.turno.clone(), self.release_command());
            runtime.spawn(async move { turno.lease(release).await.map(drop) });
        }
    }
}

/// The heart of a hold.
struct Beat {
    turno: Turno,
    command: Command,
    grant: Grant,
    worked: Arc<AtomicBool>,
}

impl Beat {
    async fn run(self, told: watch::Sender<Option<Loss>>) {
        let clock = self.turno.inner.clock.clone();
        let every = self.command.policy.heartbeat_interval.min(Span(self.grant.ttl.0 / 3)).max(Span(1));
        let mut expires_at = self.grant.expires_at;
        let mut next = clock.estimate() + every;
        loop {
            clock.sleep_until(next.min(expires_at)).await;
            let beat = self.beat();
            tokio::pin!(beat);
            // A database that does not answer must not keep a hold alive beyond its time; one that does says how it ended.
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
                    told.send_replace(Some(loss));
                    return;
                }
                Err(error) => {
                    tracing::debug!(%error, resource = %self.command.resource, "a beat was not delivered; trying again");
                    next = clock.estimate() + Span((every.0 / 4).max(1));
                }
            }
        }
    }

    /// One beat; answers until when the lease now lives.
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
