//! The API for users and tokens.

use super::secret;
use super::{Needs, Turno};
use crate::engine::commit::Job;
use crate::engine::lease::retry_while_pinned;
use crate::error::Error;
use crate::store::{AccessGroup, LeaseQuery};
use std::time::Duration;
use turno_core::access::{Change, ChangeRefused, Changed, Permission, Permissions, Person, Role, Token};
use turno_core::audit::Hash;
use turno_core::id::{BadName, UserId};
use turno_core::lease::{Action, Command, Refused, State};
use turno_core::limits::BATCH_MAX;
use turno_core::time::{Span, Time};

/// A person to add.
#[derive(Clone, PartialEq, Eq)]
pub struct NewPerson {
    /// The user id.
    pub id: UserId,
    /// The display name.
    pub name: String,
    /// The role.
    pub role: Role,
    /// The password's hash, computed by the caller. Turno never sees the password.
    pub password: Option<String>,
}

impl NewPerson {
    /// Creates a person without a password.
    pub fn new(id: &str, name: &str, role: Role) -> Result<NewPerson, BadName> {
        Ok(NewPerson { id: UserId::new(id)?, name: name.to_owned(), role, password: None })
    }
}

/// Changes to a person. `None` leaves the field unchanged.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PersonChange {
    /// The display name.
    pub name: Option<String>,
    /// The role.
    pub role: Option<Role>,
    /// `true` disables the person and ends their leases. `false` enables them again.
    pub disabled: Option<bool>,
    /// The hash of a new password. A new password ends the person's console sessions and sign-in links.
    pub password: Option<String>,
    /// The id of the session token that a new password does not end: the session in which it is changed.
    pub spare: Option<String>,
}

/// A token to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    /// The user that the token acts for.
    pub user: UserId,
    /// The display name, for sessions of users that Turno does not know.
    pub name: Option<String>,
    /// Whether the token is for a machine, which must name its instance.
    pub machine: bool,
    /// The permissions it is limited to. `None` means all permissions of its owner.
    pub scope: Option<Permissions>,
    /// Prefixes of the resource names it is limited to. With `queues` and without `resources` it reaches no lease.
    pub resources: Vec<String>,
    /// Names of the queues it is limited to, or prefixes that end in `*`. With `resources` and without `queues` it
    /// reaches no queue.
    pub queues: Vec<String>,
    /// How long it is valid. `None` means until it is revoked.
    pub expires_in: Option<Duration>,
}

impl NewToken {
    /// Creates a token with all permissions of its owner.
    pub fn for_user(user: &str) -> Result<NewToken, BadName> {
        Ok(NewToken::whole(UserId::new(user)?))
    }

    pub(super) fn whole(user: UserId) -> NewToken {
        NewToken {
            user,
            name: None,
            machine: false,
            scope: None,
            resources: Vec::new(),
            queues: Vec::new(),
            expires_in: None,
        }
    }

    pub(super) fn into_token(self, now: Time) -> Result<(Token, String), Error> {
        let (id, secret) = secret::fresh()?;
        let hash = secret::hash(&secret).expect("a generated secret is well-formed");
        let token = Token {
            id,
            hash,
            user: self.user.clone(),
            name: self.name,
            machine: self.machine,
            scope: self.scope,
            resources: self.resources,
            queues: self.queues,
            expires_at: self.expires_in.map(|duration| now + Span::from(duration)),
            created_at: now,
            created_by: self.user,
            parent: None,
            console: false,
            last_used_at: None,
        };
        Ok((token, secret))
    }
}

impl Turno {
    /// Adds a person.
    ///
    /// ```
    /// # use turno::access::{NewPerson, Role};
    /// # turno_testkit::example(async |turno| {
    /// let ana = turno.add_person(NewPerson::new("ana", "Ana", Role::Editor)?).await?;
    /// assert!(!ana.disabled);
    /// # Ok(()) });
    /// ```
    pub async fn add_person(&self, person: NewPerson) -> Result<Person, Error> {
        let NewPerson { id, name, role, password } = person;
        let changed = self.change_access(Change::AddPerson { id, name, role, password }).await?;
        changed.person.ok_or(Error::Bug("a changed person is not there"))
    }

    /// Changes a person. If the change disables them, also ends their leases and tickets.
    ///
    /// ```
    /// # use turno::access::{NewPerson, PersonChange, Role};
    /// # turno_testkit::example(async |turno| {
    /// turno.add_person(NewPerson::new("ana", "Ana", Role::Editor)?).await?;
    /// let out = PersonChange { disabled: Some(true), ..PersonChange::default() };
    /// assert!(turno.change_person("ana".try_into()?, out).await?.disabled);
    /// # Ok(()) });
    /// ```
    pub async fn change_person(&self, id: UserId, change: PersonChange) -> Result<Person, Error> {
        let PersonChange { name, role, disabled, password, spare } = change;
        let wish = Change::ChangePerson { id, name, role, disabled, password, spare };
        let person = self.change_access(wish).await?.person.ok_or(Error::Bug("a changed person is not there"))?;
        if person.disabled {
            self.expel(&person.id).await?;
        }
        Ok(person)
    }

    /// Removes a person with their tokens, and ends their leases and tickets.
    ///
    /// ```
    /// # use turno::access::{NewPerson, Role};
    /// # turno_testkit::example(async |turno| {
    /// turno.add_person(NewPerson::new("ana", "Ana", Role::Editor)?).await?;
    /// turno.remove_person("ana".try_into()?).await?;
    /// assert!(turno.people(None, 10).await?.is_empty());
    /// # Ok(()) });
    /// ```
    pub async fn remove_person(&self, id: UserId) -> Result<(), Error> {
        self.change_access(Change::RemovePerson { id: id.clone() }).await?;
        self.expel(&id).await
    }

    /// Creates a token and returns it with its secret. Turno does not store the secret.
    ///
    /// ```
    /// # use turno::access::{NewPerson, NewToken, Permission, Role};
    /// # turno_testkit::example(async |turno| {
    /// turno.add_person(NewPerson::new("ana", "Ana", Role::Editor)?).await?;
    /// let scope = [Permission::QueuesProduce].into_iter().collect();
    /// let new = NewToken { machine: true, scope: Some(scope), ..NewToken::for_user("ana")? };
    /// let (token, secret) = turno.create_token(new).await?;
    /// assert!(turno.authenticate(&secret).await.is_ok() && token.machine);
    /// # Ok(()) });
    /// ```
    pub async fn create_token(&self, new: NewToken) -> Result<(Token, String), Error> {
        let (token, secret) = new.into_token(self.inner.clock.estimate())?;
        let changed = self.change_access(Change::CreateToken(token)).await?;
        Ok((changed.token.ok_or(Error::Bug("a created token is not there"))?, secret))
    }

    /// Creates a short-lived token for an application's user, who may be unknown to Turno. Needs `sessions.mint`.
    ///
    /// ```
    /// # use turno::access::NewToken;
    /// # turno_testkit::example(async |turno| {
    /// use std::time::Duration;
    /// let new = NewToken { name: Some("Paco".to_owned()), ..NewToken::for_user("laravel-31")? };
    /// let (_, secret) = turno.mint_session(new, Duration::from_secs(900)).await?;
    /// assert_eq!(turno.authenticate(&secret).await?.principal().expect("the handle has a caller").name, "Paco");
    /// # Ok(()) });
    /// ```
    pub async fn mint_session(&self, new: NewToken, ttl: Duration) -> Result<(Token, String), Error> {
        let (token, secret) = new.into_token(self.inner.clock.estimate())?;
        let changed = self.change_access(Change::MintSession { token, ttl: ttl.into() }).await?;
        Ok((changed.token.ok_or(Error::Bug("a created token is not there"))?, secret))
    }

    /// Revokes a token and the sessions that it created, from the next request on.
    ///
    /// ```
    /// # use turno::access::{NewPerson, NewToken, Role};
    /// # turno_testkit::example(async |turno| {
    /// turno.add_person(NewPerson::new("ana", "Ana", Role::Editor)?).await?;
    /// let (token, secret) = turno.create_token(NewToken::for_user("ana")?).await?;
    /// turno.revoke_token(&token.id).await?;
    /// assert!(turno.authenticate(&secret).await.is_err());
    /// # Ok(()) });
    /// ```
    pub async fn revoke_token(&self, id: &str) -> Result<(), Error> {
        self.change_access(Change::RevokeToken { id: id.to_owned() }).await.map(drop)
    }

    /// Returns a person. Needs `users.manage`, except for one's own record.
    ///
    /// ```
    /// # use turno::access::{NewPerson, Role};
    /// # turno_testkit::example(async |turno| {
    /// turno.add_person(NewPerson::new("ana", "Ana", Role::Editor)?).await?;
    /// assert_eq!(turno.person("ana".try_into()?).await?.expect("the person exists").role, Role::Editor);
    /// # Ok(()) });
    /// ```
    pub async fn person(&self, id: UserId) -> Result<Option<Person>, Error> {
        let own = self.principal().is_some_and(|principal| principal.user == id && principal.via.is_none());
        self.authorize_read(if own { Needs::READING } else { Needs::permission(Permission::UsersManage) }).await?;
        Ok(self.inner.store.person(id).await?.map(|person| self.without_secret(person)))
    }

    /// Returns a user's display name. `None` if the user is unknown. Needs no permission, because every lease shows
    /// its holder's name.
    ///
    /// ```
    /// # use turno::access::{NewPerson, Role};
    /// # turno_testkit::example(async |turno| {
    /// turno.add_person(NewPerson::new("ana", "Ana María", Role::Editor)?).await?;
    /// assert_eq!(turno.name_of("ana".try_into()?).await?.as_deref(), Some("Ana María"));
    /// # Ok(()) });
    /// ```
    pub async fn name_of(&self, id: UserId) -> Result<Option<String>, Error> {
        self.authorize_read(Needs::READING).await?;
        Ok(self.inner.store.person(id).await?.map(|person| person.name))
    }

    /// Removes the password's hash for callers with a token. Only the embedding program, which compares passwords,
    /// gets it.
    fn without_secret(&self, person: Person) -> Person {
        Person { password: person.password.filter(|_| self.caller.is_none()), ..person }
    }

    /// Returns people, ordered by id.
    ///
    /// ```
    /// # use turno::access::{NewPerson, Role};
    /// # turno_testkit::example(async |turno| {
    /// turno.add_person(NewPerson::new("ana", "Ana", Role::Editor)?).await?;
    /// assert_eq!(turno.people(None, 10).await?.len(), 1);
    /// # Ok(()) });
    /// ```
    pub async fn people(&self, after: Option<UserId>, limit: u32) -> Result<Vec<Person>, Error> {
        self.authorize_read(Needs::permission(Permission::UsersManage)).await?;
        let people = self.inner.store.people(after, limit).await?;
        Ok(people.into_iter().map(|person| self.without_secret(person)).collect())
    }

    /// Returns tokens, ordered by id. Without `users.manage`, only the caller's own.
    ///
    /// ```
    /// # use turno::access::{NewPerson, NewToken, Role};
    /// # turno_testkit::example(async |turno| {
    /// turno.add_person(NewPerson::new("ana", "Ana", Role::Editor)?).await?;
    /// turno.create_token(NewToken::for_user("ana")?).await?;
    /// assert_eq!(turno.tokens(Some("ana".try_into()?), None, 10).await?.len(), 1);
    /// # Ok(()) });
    /// ```
    pub async fn tokens(&self, user: Option<UserId>, after: Option<String>, limit: u32) -> Result<Vec<Token>, Error> {
        let all = self.principal().is_none_or(|principal| principal.permissions.has(Permission::UsersManage));
        let on_behalf = self.principal().is_some_and(|principal| principal.via.is_some());
        let needs = if on_behalf { Needs::permission(Permission::UsersManage) } else { Needs::READING };
        self.authorize_read(needs).await?;
        let user = if all { user } else { self.principal().map(|principal| principal.user.clone()) };
        let mut tokens = self.inner.store.tokens(user, after, limit).await?;
        if self.caller.is_some() {
            tokens.iter_mut().for_each(|token| token.hash = Hash::default());
        }
        Ok(tokens)
    }

    pub(super) async fn change_access(&self, wish: Change) -> Result<Changed, Error> {
        if self.check_cached(Needs::permission(Permission::UsersManage)).is_err() {
            self.inner.access.own_turn().await;
        }
        // Built for each try, because the caller's rights can change between tries.
        let group = |wish| Box::new(AccessGroup { by: self.principal().map(|by| (*by).clone()), wish });
        let answer = self.submit(Needs::READING, wish, |wish, reply| Job::Access(group(wish), reply)).await?;
        answer.map_err(|refused| match refused {
            ChangeRefused::Denied(denied) => Error::Denied(denied),
            other => Error::Refused(other),
        })
    }

    /// Ends the leases and tickets of a disabled user. If this process stops halfway, the leases expire by themselves,
    /// because the user's heartbeats are refused.
    async fn expel(&self, user: &UserId) -> Result<(), Error> {
        let mut query = LeaseQuery { holder: Some(user.clone()), limit: BATCH_MAX as u32, ..LeaseQuery::default() };
        loop {
            let states = self.inner.store.leases(query.clone()).await?.states;
            let Some(last) = states.last() else {
                break;
            };
            query.after = Some(last.resource.clone());
            self.expel_from(user, states).await?;
        }
        let mut after = None;
        loop {
            let mut states = self.inner.store.lines(after, BATCH_MAX as u32).await?;
            let Some(last) = states.last() else {
                return Ok(());
            };
            after = Some(last.resource.clone());
            states.retain(|state| state.waits(user));
            self.expel_from(user, states).await?;
        }
    }

    async fn expel_from(&self, user: &UserId, states: Vec<State>) -> Result<(), Error> {
        for state in states {
            let policy = self.inner.leases.for_resource(&state.resource).clone();
            let (who, via) = (self.holder(None), self.principal().and_then(|principal| principal.via.clone()));
            let action = Action::Expel { user: user.clone() };
            let command = Command { resource: state.resource, who, via, policy, action };
            // An open transaction may pin the lease: wait until it has finished.
            let ask = || self.inner.submit(|reply| Job::Lease(command.clone(), reply));
            retry_while_pinned(ask, |(decision, ..)| decision.answer == Err(Refused::Pinned)).await?;
        }
        Ok(())
    }
}
