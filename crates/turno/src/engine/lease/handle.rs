//! A lease by its name: claim, renew, release, and the overrides.
//!
//! A verb builds a command for [`Turno::lease_command`]. A refusal is an [`Error::Lease`] whose code says why.

use super::{LeaseAnswer, Turno};
use crate::engine::hold::HoldRequest;
use crate::error::Error;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::time::Duration;
use turno_core::id::{Fence, Instance, Resource};
use turno_core::lease::{Action, Ending, Grant, Holder, Outcome, State};
use turno_core::time::{Span, Time};

/// A handle to the lease of one resource: [`Turno::lease`].
#[derive(Clone, Debug)]
pub struct Lease {
    turno: Turno,
    resource: Result<Resource, Error>,
}

impl Turno {
    /// Returns a handle to the lease of a resource, and reads nothing. The first verb reports a wrong name.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// use std::time::Duration;
    /// let till = turno.lease("caja:3");
    /// let grant = till.claim("ana").ttl(Duration::from_secs(20)).await?;
    /// assert_eq!(till.claim("luis").await.unwrap_err().code(), "lease_held");
    ///
    /// let grant = till.heartbeat(&grant).worked().await?;
    /// println!("held under fence {} until {:?}", grant.fence.0, grant.expires_at);
    /// till.release(&grant).await?;
    /// assert!(till.claim("luis").wait(Duration::from_secs(5)).await.is_ok());
    /// # Ok(()) });
    /// ```
    pub fn lease<R>(&self, resource: R) -> Lease
    where
        R: TryInto<Resource>,
        Error: From<R::Error>,
    {
        Lease { turno: self.clone(), resource: resource.try_into().map_err(Error::from) }
    }
}

impl Lease {
    /// Claims the lease for a user, or for any [`Holder`]. Await the result, or first set ttl and waiting time.
    pub fn claim<H>(&self, who: H) -> ClaimLease
    where
        H: TryInto<Holder>,
        Error: From<H::Error>,
    {
        let who = who.try_into().map_err(Error::from);
        ClaimLease { lease: self.clone(), who, ttl: None, wait: Span::ZERO }
    }

    /// Claims the lease for this program as `instance` and renews it in the background until it is released or lost.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// let report = turno.lease("report:nightly");
    /// let hold = report.hold("worker-1").await?.expect("the lease is free");
    /// assert!(report.hold("worker-2").await?.is_none(), "worker-1 holds it");
    /// let written = hold.run(async { format!("written under fence {}", hold.fence().0) }).await;
    /// assert!(written.is_ok(), "the lease was not lost");
    /// hold.release().await?;
    /// # Ok(()) });
    /// ```
    pub fn hold(&self, instance: &str) -> HoldRequest {
        let instance = Instance::new(instance).map(Some).map_err(Error::from);
        HoldRequest::new(self.turno.clone(), self.resource.clone(), instance)
    }

    /// Renews a grant and returns it with its new expiry.
    pub fn heartbeat(&self, grant: &Grant) -> Heartbeat {
        Heartbeat { lease: self.clone(), grant: grant.clone(), idle: None, worked: false }
    }

    /// Releases a grant. If the holder has claimed again since, the newer claim keeps the lease.
    pub async fn release(&self, grant: &Grant) -> Result<(), Error> {
        let action = Action::Release { fence: grant.fence, claim: Some(grant.claim) };
        self.accepted(grant.holder.clone(), action).await.map(drop)
    }

    /// Releases a grant, but keeps the lease held for `time`, without heartbeats. Until then every claim is refused, also
    /// the former holder's. Refused with [`Refused::KeepOutOfBounds`](turno_core::lease::Refused::KeepOutOfBounds) if
    /// `time` is above the policy's `max_ttl`.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// use std::time::Duration;
    /// let report = turno.lease("report:nightly");
    /// let grant = report.claim("ana").await?;
    /// report.release_and_keep(&grant, Duration::from_secs(1800)).await?;
    /// assert_eq!(report.claim("ana").await.unwrap_err().code(), "lease_held");
    /// # Ok(()) });
    /// ```
    pub async fn release_and_keep(&self, grant: &Grant, time: Duration) -> Result<(), Error> {
        let action = Action::Keep { fence: grant.fence, claim: Some(grant.claim), keep: time.into() };
        self.accepted(grant.holder.clone(), action).await.map(drop)
    }

    /// Takes the lease from its holder. Needs `locks.override`, and is audited with the reason.
    pub async fn force_claim<H>(&self, who: H, reason: &str) -> Result<Grant, Error>
    where
        H: TryInto<Holder>,
        Error: From<H::Error>,
    {
        let action = Action::ForceClaim { reason: reason.to_owned(), fence: None };
        granted(self.accepted(who.try_into()?, action).await?)
    }

    /// Ends the lease of its holder and returns whether there was one. Needs `locks.override`, and is audited with the
    /// reason.
    pub async fn force_release<H>(&self, who: H, reason: &str) -> Result<bool, Error>
    where
        H: TryInto<Holder>,
        Error: From<H::Error>,
    {
        let action = Action::ForceRelease { reason: reason.to_owned(), fence: None };
        let answer = self.accepted(who.try_into()?, action).await?;
        Ok(matches!(answer.answer, Ok(Outcome::ForceReleased { changed: true })))
    }

    /// Asks the holder to release the lease. Returns whether there is a holder to ask.
    pub async fn request_release<H>(&self, who: H, message: Option<&str>) -> Result<bool, Error>
    where
        H: TryInto<Holder>,
        Error: From<H::Error>,
    {
        let action = Action::RequestRelease { message: message.map(str::to_owned) };
        let answer = self.accepted(who.try_into()?, action).await?;
        Ok(matches!(answer.answer, Ok(Outcome::ReleaseRequested { delivered: true })))
    }

    /// Returns the lease as a claim would find it now, with the database's time. Changes nothing.
    pub async fn state(&self) -> Result<(Time, State), Error> {
        self.turno.lease_state(self.resource.clone()?).await
    }

    /// Returns the past ownerships, newest first, as [`Turno::lease_history`] does.
    pub async fn history(&self, before: Option<Fence>, limit: u32) -> Result<Vec<Ending>, Error> {
        self.turno.lease_history(self.resource.clone()?, before, limit).await
    }

    /// Executes a command and turns its refusal into an error.
    async fn accepted(&self, who: Holder, action: Action) -> Result<LeaseAnswer, Error> {
        let command = self.turno.command_of(self.resource.clone()?, who, action);
        accept(self.turno.lease_command(command).await?)
    }
}

fn accept(answer: LeaseAnswer) -> Result<LeaseAnswer, Error> {
    match answer.answer {
        Ok(_) => Ok(answer),
        Err(refused) => Err(Error::Lease(refused)),
    }
}

/// Returns the caller's grant. An accepted claim always has one.
fn granted(answer: LeaseAnswer) -> Result<Grant, Error> {
    answer.state.grant.ok_or(Error::Bug("an accepted claim has no grant"))
}

/// A claim that is not sent yet: [`Lease::claim`].
#[derive(Debug)]
#[must_use = "a claim does nothing until it is awaited"]
pub struct ClaimLease {
    lease: Lease,
    who: Result<Holder, Error>,
    ttl: Option<Span>,
    wait: Span,
}

impl ClaimLease {
    /// Claims for one running process of the user.
    pub fn instance(mut self, instance: &str) -> ClaimLease {
        let named = Instance::new(instance).map_err(Error::from);
        self.who = self.who.and_then(|who| Ok(Holder { instance: Some(named?), ..who }));
        self
    }

    /// Sets another ttl than the policy's.
    pub fn ttl(mut self, ttl: Duration) -> ClaimLease {
        self.ttl = Some(ttl.into());
        self
    }

    /// Waits in line for at most `wait` if the lease is held.
    pub fn wait(mut self, wait: Duration) -> ClaimLease {
        self.wait = wait.into();
        self
    }

    async fn claim(self) -> Result<Grant, Error> {
        let turno = &self.lease.turno;
        let action = Action::Claim { ttl: self.ttl, wait: false };
        let command = turno.command_of(self.lease.resource.clone()?, self.who?, action);
        let answer = match self.wait {
            Span::ZERO => turno.lease_command(command).await?,
            wait => turno.lease_wait(command, wait.into()).await?,
        };
        granted(accept(answer)?)
    }
}

impl IntoFuture for ClaimLease {
    type Output = Result<Grant, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.claim())
    }
}

/// A heartbeat that is not sent yet: [`Lease::heartbeat`].
#[derive(Debug)]
#[must_use = "a heartbeat does nothing until it is awaited"]
pub struct Heartbeat {
    lease: Lease,
    grant: Grant,
    idle: Option<Span>,
    worked: bool,
}

impl Heartbeat {
    /// Says for how long the person has been idle. A policy with an idle guard needs it.
    pub fn idle(mut self, idle: Duration) -> Heartbeat {
        self.idle = Some(idle.into());
        self
    }

    /// Says that the holder has worked, which restarts the rolling timeout.
    pub fn worked(mut self) -> Heartbeat {
        self.worked = true;
        self
    }

    async fn send(self) -> Result<Grant, Error> {
        let action = Action::Heartbeat { fence: self.grant.fence, idle: self.idle, worked: self.worked };
        granted(self.lease.accepted(self.grant.holder, action).await?)
    }
}

impl IntoFuture for Heartbeat {
    type Output = Result<Grant, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}
