//! Access checks: the caller of a handle and its permissions.
//!
//! A token's principal is read once and cached together with the *epoch* of access. Every group compares the epoch in
//! its own transaction. If the epoch has changed, the group stores nothing, the token is read again, and the command
//! is repeated or refused. So a revocation takes effect with the next request on every instance, without a query per
//! request.

mod console;
mod identity;
mod people;
mod secret;
mod sign_in;

pub use identity::IdentityClaims;
pub use people::{NewPerson, NewToken, PersonChange};

use super::commit::{Job, Reply, gather};
use super::{Inner, Turno};
use crate::error::{Error, Misuse};
use crate::store::{Store, StoreError};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use turno_core::access::{Denied, Epoch, Permission, Principal};
use turno_core::audit::{Actor, Hash};
use turno_core::id::{QueueName, Resource, UserId};
use turno_core::lease::Holder;
use turno_core::time::Time;

/// The largest number of cached tokens. Beyond it the cache is emptied.
const REMEMBERED_MAX: usize = 10_000;
/// The largest number of reads that may wait for the epoch.
const WAITING_MAX: usize = 8_192;
/// How often the epoch may change under one command before it fails as overloaded.
pub(super) const RENEWALS_MAX: usize = 8;

/// The pause between two changes that users without `users.manage` make to their own access.
const OWN_CHANGE_PAUSE: std::time::Duration = std::time::Duration::from_millis(100);

/// The caller that a handle acts for.
pub(crate) struct Identity {
    hash: Hash,
    /// The user it acts for, if it acts on behalf of another user.
    behalf: Option<UserId>,
    settled: Mutex<Settled>,
}

/// A principal, and the epoch at which it was read.
#[derive(Clone)]
struct Settled {
    principal: Arc<Principal>,
    epoch: Epoch,
}

/// The permission, the resource and the queue that an operation needs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Needs<'a> {
    permission: Option<Permission>,
    /// A permission that also suffices.
    or: Option<Permission>,
    resource: Option<&'a Resource>,
    queue: Option<&'a QueueName>,
}

impl<'a> Needs<'a> {
    /// Any authenticated caller.
    pub(crate) const READING: Needs<'static> = Needs { permission: None, or: None, resource: None, queue: None };

    /// A caller who may read tasks. A caller who may process them can also read them.
    pub(crate) const READING_TASKS: Needs<'static> = Needs {
        permission: Some(Permission::TasksRead),
        or: Some(Permission::InventoryManage),
        resource: None,
        queue: None,
    };

    pub(crate) const fn permission(permission: Permission) -> Needs<'a> {
        Needs { permission: Some(permission), or: None, resource: None, queue: None }
    }

    pub(crate) fn on(self, resource: &'a Resource) -> Needs<'a> {
        Needs { resource: Some(resource), ..self }
    }

    pub(crate) fn on_queue(self, queue: &'a QueueName) -> Needs<'a> {
        Needs { queue: Some(queue), ..self }
    }
}

/// This process's cache of access.
pub(crate) struct Access {
    remembered: Mutex<HashMap<Hash, Settled>>,
    used: Mutex<HashMap<String, Time>>,
    /// Serializes users' changes to their own access, with a pause between them. Each change makes every process read
    /// all principals again, so no user may trigger that continuously.
    pace: tokio::sync::Mutex<()>,
    epochs: mpsc::Sender<oneshot::Sender<Result<Epoch, StoreError>>>,
}

impl Access {
    pub(super) fn start(tasks: &mut JoinSet<()>, store: &Arc<dyn Store>) -> Access {
        let (epochs, asking) = mpsc::channel(WAITING_MAX);
        tasks.spawn(read_epochs(asking, store.clone()));
        Access { remembered: Mutex::default(), used: Mutex::default(), pace: tokio::sync::Mutex::default(), epochs }
    }

    /// Returns the epoch as read after this call began. Concurrent calls share one read.
    async fn epoch(&self) -> Result<Epoch, Error> {
        let (reply, answer) = oneshot::channel();
        self.epochs.try_send(reply).map_err(|_| Error::Overloaded)?;
        Ok(answer.await.map_err(|_| Error::Closed)??)
    }

    /// Waits for the turn to change one's own access.
    pub(super) async fn own_turn(&self) {
        let _turn = self.pace.lock().await;
        tokio::time::sleep(OWN_CHANGE_PAUSE).await;
    }

    fn remembered(&self) -> MutexGuard<'_, HashMap<Hash, Settled>> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when each token was last used, since the last call.
    pub(crate) fn take_used(&self) -> Vec<(String, Time)> {
        std::mem::take(&mut *self.used.lock().unwrap_or_else(PoisonError::into_inner)).into_iter().collect()
    }

    fn note_use(&self, token: &str, now: Time) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = used.get_mut(token) {
            *at = now.max(*at);
        } else if used.len() < REMEMBERED_MAX {
            used.insert(token.to_owned(), now);
        }
    }
}

async fn read_epochs(mut asking: mpsc::Receiver<oneshot::Sender<Result<Epoch, StoreError>>>, store: Arc<dyn Store>) {
    let mut waiting = Vec::new();
    while gather(&mut asking, &mut waiting, WAITING_MAX).await {
        let epoch = store.epoch().await;
        waiting.drain(..).for_each(|reply| drop(reply.send(epoch.clone())));
    }
}

impl Inner {
    /// Returns whether the principal has expired.
    fn is_over(&self, settled: &Settled) -> bool {
        settled.principal.expires_at.is_some_and(|at| at <= self.clock.estimate())
    }

    /// Reads a token and its owner from the database.
    async fn look_up(&self, hash: Hash) -> Result<Settled, Error> {
        let found = self.store.token(hash).await?;
        let (token, owner) = found.token.ok_or(Denied::Unauthenticated)?;
        self.record(found.now, token.expires_at).await?;
        // Read after the epoch, so that any later change raises the epoch.
        let maker = match &token.parent {
            Some(_) => self.store.person(token.created_by.clone()).await?,
            None => None,
        };
        let principal = Arc::new(token.principal(owner.as_ref(), maker.as_ref(), found.now)?);
        let settled = Settled { principal, epoch: found.epoch };
        let mut remembered = self.access.remembered();
        if remembered.len() >= REMEMBERED_MAX {
            remembered.clear();
        }
        remembered.insert(hash, settled.clone());
        Ok(settled)
    }
}

impl Turno {
    /// Returns a handle that acts with the rights of this token and refuses everything else.
    ///
    /// ```
    /// # use turno::access::{NewPerson, NewToken, Role};
    /// # turno_testkit::example(async |turno| {
    /// turno.add_person(NewPerson::new("ana", "Ana", Role::Viewer)?).await?;
    /// let (_, secret) = turno.create_token(NewToken::for_user("ana")?).await?;
    /// let ana = turno.authenticate(&secret).await?;
    /// let refused = ana.add_person(NewPerson::new("leo", "Leo", Role::Admin)?).await;
    /// assert!(refused.is_err(), "a viewer cannot add people");
    /// # Ok(()) });
    /// ```
    pub async fn authenticate(&self, secret: &str) -> Result<Turno, Error> {
        let hash = secret::hash(secret).ok_or(Denied::Unauthenticated)?;
        let known = self.inner.access.remembered().get(&hash).cloned();
        // A cached session that seems expired may have been renewed by another process.
        let settled = match known.filter(|settled| !self.inner.is_over(settled)) {
            Some(settled) => settled,
            None => self.inner.look_up(hash).await?,
        };
        self.inner.access.note_use(&settled.principal.token, self.inner.clock.estimate());
        let caller = Arc::new(Identity { hash, behalf: None, settled: Mutex::new(settled) });
        let handle = Turno { inner: self.inner.clone(), caller: Some(caller) };
        handle.check_cached(Needs::READING)?;
        Ok(handle)
    }

    /// Returns a handle that acts on behalf of `user`, who may be unknown to Turno. Needs `sessions.mint`. The audit
    /// names both users.
    ///
    /// ```
    /// # use turno::access::{NewPerson, NewToken, Role};
    /// # turno_testkit::example(async |turno| {
    /// turno.add_person(NewPerson::new("portal", "Portal", Role::Admin)?).await?;
    /// let (_, secret) = turno.create_token(NewToken::for_user("portal")?).await?;
    /// let as_paco = turno.authenticate(&secret).await?.on_behalf_of("paco".try_into()?).await?;
    /// assert_eq!(as_paco.principal().expect("the handle has a caller").user.as_str(), "paco");
    /// # Ok(()) });
    /// ```
    pub async fn on_behalf_of(&self, user: UserId) -> Result<Turno, Error> {
        let caller = self.caller.as_ref().ok_or(Misuse::NotAuthenticated)?;
        self.authorize(Needs::permission(Permission::SessionsMint)).await?;
        let settled = self.in_the_name_of(caller.settled(), user.clone()).await?;
        let caller = Identity { hash: caller.hash, behalf: Some(user), settled: Mutex::new(settled) };
        Ok(Turno { inner: self.inner.clone(), caller: Some(Arc::new(caller)) })
    }

    async fn in_the_name_of(&self, own: Settled, user: UserId) -> Result<Settled, Error> {
        let known = self.inner.store.person(user.clone()).await?;
        let principal = own.principal.on_behalf_of(user, known.as_ref())?;
        Ok(Settled { principal: Arc::new(principal), epoch: own.epoch })
    }

    /// Returns the principal of this handle. `None` for the embedding program itself.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// assert!(turno.principal().is_none(), "the embedding program has no principal");
    /// # Ok(()) });
    /// ```
    pub fn principal(&self) -> Option<Arc<Principal>> {
        self.caller.as_ref().map(|caller| caller.settled().principal)
    }

    /// Returns the actor for the audit.
    pub(crate) fn actor(&self) -> Actor {
        self.principal().map_or_else(Actor::system, |principal| principal.actor())
    }

    /// Refuses unless the caller has the permission. Reads the principal again before refusing, so that a right
    /// granted a moment ago counts.
    ///
    /// ```
    /// # use turno::access::{NewPerson, NewToken, Permission, Role};
    /// # turno_testkit::example(async |turno| {
    /// turno.add_person(NewPerson::new("ana", "Ana", Role::Viewer)?).await?;
    /// let (_, secret) = turno.create_token(NewToken::for_user("ana")?).await?;
    /// assert!(turno.authenticate(&secret).await?.require(Permission::LeasesUse).await.is_err());
    /// # Ok(()) });
    /// ```
    pub async fn require(&self, permission: Permission) -> Result<(), Error> {
        self.authorize(Needs::permission(permission)).await.map(drop)
    }

    /// Refuses unless the caller's token is still valid, and refreshes its rights. For answers that read nothing else
    /// from the store.
    ///
    /// ```
    /// # use turno::access::{NewPerson, NewToken, Role};
    /// # turno_testkit::example(async |turno| {
    /// turno.add_person(NewPerson::new("ana", "Ana", Role::Viewer)?).await?;
    /// let (token, secret) = turno.create_token(NewToken::for_user("ana")?).await?;
    /// let ana = turno.authenticate(&secret).await?;
    /// turno.revoke_token(&token.id).await?;
    /// assert!(ana.recheck().await.is_err());
    /// # Ok(()) });
    /// ```
    pub async fn recheck(&self) -> Result<(), Error> {
        self.authorize_read(Needs::READING).await
    }

    /// Checks the cached rights and returns the epoch at which they were read.
    pub(crate) fn check_cached(&self, needs: Needs<'_>) -> Result<Option<Epoch>, Error> {
        let Some(caller) = &self.caller else {
            return Ok(None);
        };
        let settled = caller.settled();
        if self.inner.is_over(&settled) {
            return Err(Denied::Unauthenticated.into());
        }
        let Settled { principal, epoch } = settled;
        let suffices = needs.or.is_some_and(|permission| principal.permissions.has(permission));
        if let Some(permission) = needs.permission.filter(|_| !suffices) {
            principal.require(permission)?;
        }
        if let Some(queue) = needs.queue {
            principal.require_queue(queue)?;
        }
        if let Some(resource) = needs.resource {
            principal.require_resource(resource)?;
        }
        Ok(Some(epoch))
    }

    /// Returns whether the caller may read a private message or reason: it concerns the caller's user, or the caller may
    /// read the audit.
    pub(crate) fn may_read_private(&self, concerns: impl Fn(&UserId) -> bool) -> bool {
        self.principal()
            .is_none_or(|principal| concerns(&principal.user) || principal.permissions.has(Permission::AuditRead))
    }

    /// Checks that the holder is the caller, and that a machine that would become a holder names its instance.
    pub(crate) fn check_holder(&self, who: &Holder, holds: bool) -> Result<(), Error> {
        let Some(principal) = self.principal() else {
            return Ok(());
        };
        if who.user != principal.user {
            return Err(Misuse::OtherHolder { caller: principal.user.clone(), holder: who.user.clone() }.into());
        }
        if holds && principal.machine && who.instance.is_none() { Err(Error::InstanceRequired) } else { Ok(()) }
    }

    /// Returns the caller as a holder, with `instance` if it has one.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// assert_eq!(turno.holder(None).user.as_str(), "system");
    /// # Ok(()) });
    /// ```
    pub fn holder(&self, instance: Option<turno_core::id::Instance>) -> Holder {
        match self.principal() {
            Some(principal) => Holder { user: principal.user.clone(), name: principal.name.clone(), instance },
            None => {
                let user = Actor::system().user;
                Holder { name: user.to_string(), user, instance }
            }
        }
    }

    /// Submits a command with the epoch of the caller's rights. If access changes before the commit, checks again and
    /// repeats it.
    pub(crate) async fn submit<W: Clone, T>(
        &self,
        needs: Needs<'_>,
        work: W,
        job: impl Fn(W, Reply<T>) -> Job,
    ) -> Result<T, Error> {
        if self.caller.is_none() {
            return self.inner.committers.submit(None, |reply| job(work, reply)).await;
        }
        for _ in 0..RENEWALS_MAX {
            let as_of = self.authorize(needs).await?;
            match self.inner.committers.submit(as_of, |reply| job(work.clone(), reply)).await {
                Err(Error::Store(StoreError::AccessChanged)) => self.renew().await?,
                answer => return answer,
            }
        }
        Err(Error::Overloaded)
    }

    /// Checks the caller's current rights before a read.
    pub(crate) async fn authorize_read(&self, needs: Needs<'_>) -> Result<(), Error> {
        if let Some(as_of) = self.authorize(needs).await?
            && self.inner.access.epoch().await? != as_of
        {
            self.renew().await?;
            self.check_cached(needs)?;
        }
        Ok(())
    }

    /// Checks like [`Turno::check_cached`], but reads the principal again before it refuses, so that a right granted meanwhile
    /// counts.
    pub(crate) async fn authorize(&self, needs: Needs<'_>) -> Result<Option<Epoch>, Error> {
        match (self.check_cached(needs), &self.caller) {
            (Err(Error::Denied(denied)), Some(caller)) => {
                let settled = caller.settled();
                // Renewing a session takes no right away, so it does not raise the epoch. Read an expired one again in
                // any case.
                if !self.inner.is_over(&settled) && self.inner.access.epoch().await? == settled.epoch {
                    return Err(denied.into());
                }
                self.renew().await?;
                self.check_cached(needs)
            }
            (answer, _) => answer,
        }
    }

    /// Reads the caller's principal again after access has changed.
    pub(crate) async fn renew(&self) -> Result<(), Error> {
        let Some(caller) = &self.caller else {
            return Ok(());
        };
        self.inner.access.remembered().clear();
        let mut settled = self.inner.look_up(caller.hash).await?;
        if let Some(user) = &caller.behalf {
            settled = self.in_the_name_of(settled, user.clone()).await?;
        }
        *caller.settled.lock().unwrap_or_else(PoisonError::into_inner) = settled;
        Ok(())
    }
}

impl Identity {
    fn settled(&self) -> Settled {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
