//! Changes of access: who may make them, and which would lock everybody out.

use super::{Denied, Permission, Permissions, Person, Principal, Role, Token};
use crate::audit::{Actor, Draft};
use crate::id::UserId;
use crate::limits::{SESSION_TTL_MAX, TOKENS_MAX};
use crate::text::kept;
use crate::time::{Span, Time};
use serde_json::Value;

/// A wish to change who may do what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Somebody new.
    AddPerson {
        /// Their id.
        id: UserId,
        /// How people call them.
        name: String,
        /// What they are.
        role: Role,
        /// The hash of their password, if they get one.
        password: Option<String>,
    },
    /// Another name, role or password, or locked out or in again; what is not given stays.
    ChangePerson {
        /// Who.
        id: UserId,
        /// How people call them.
        name: Option<String>,
        /// What they are.
        role: Option<Role>,
        /// Locked out, or not any more.
        disabled: Option<bool>,
        /// The hash of a new password.
        password: Option<String>,
    },
    /// They leave, with all their tokens.
    RemovePerson {
        /// Who.
        id: UserId,
    },
    /// A token whose secret was made by the caller and is never stored.
    CreateToken(Token),
    /// A session for an application's own user.
    MintSession {
        /// The token to be; its scope is filled in if nothing was asked for.
        token: Token,
        /// How long it lives.
        ttl: Span,
    },
    /// A token is dead from now on, with the sessions made by it.
    RevokeToken {
        /// Which.
        id: String,
    },
}

/// What the store read, with all of access locked against other changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The person that the change is about.
    pub person: Option<Person>,
    /// The token that the change is about.
    pub token: Option<Token>,
    /// How many administrators can sign in.
    pub admins: i64,
    /// How many tokens that person has.
    pub tokens: i64,
}

/// What is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The person as they are now.
    pub person: Option<Person>,
    /// A person who is gone, with their tokens.
    pub removed: Option<UserId>,
    /// The new token.
    pub token: Option<Token>,
    /// A token that is dead, with the sessions made by it.
    pub revoked: Option<String>,
    /// Something was taken away: what others remember about access is void.
    pub raises_epoch: bool,
    /// The entry of the audit.
    pub audit: Draft,
}

/// Why not.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeRefused {
    /// The caller may not.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// Nobody grants more than they hold.
    #[error("you do not hold {0} yourself, so you cannot grant or take it; ask somebody who does")]
    MoreThanHeld(Permission),
    /// It would leave nobody who can let others in.
    #[error("{0} is the last administrator; make somebody else administrator first")]
    LastAdmin(UserId),
    /// There is such a person already.
    #[error("{0} exists already; change them, or choose another id")]
    Exists(UserId),
    /// There is no such person or token.
    #[error("{0} is not known")]
    Unknown(String),
    /// A bound or a rule of form.
    #[error("{0}")]
    Invalid(String),
}

/// Decides a change that `by` asks for; nobody means the program that embeds Turno, or its command line.
pub fn change(by: Option<&Principal>, wish: &Change, view: View, now: Time) -> Result<Changed, ChangeRefused> {
    let work = Work { by, now };
    match wish {
        Change::AddPerson { id, name, role, password } => work.add(id, name, *role, password.as_deref(), view),
        Change::ChangePerson { id, .. } => work.change(id, wish, view),
        Change::RemovePerson { id } => work.remove(id, view),
        Change::CreateToken(token) => work.create_token(token, view),
        Change::MintSession { token, ttl } => work.mint(token, *ttl, view),
        Change::RevokeToken { id } => work.revoke(id, view),
    }
}

struct Work<'a> {
    by: Option<&'a Principal>,
    now: Time,
}

impl Work<'_> {
    fn require(&self, permission: Permission) -> Result<(), ChangeRefused> {
        Ok(self.by.map_or(Ok(()), |by| by.require(permission))?)
    }

    fn holds(&self, permissions: Permissions) -> Result<(), ChangeRefused> {
        let beyond = self.by.and_then(|by| permissions.beyond(by.permissions));
        beyond.map_or(Ok(()), |permission| Err(ChangeRefused::MoreThanHeld(permission)))
    }

    fn entry(&self, action: &'static str, resource: String) -> Draft {
        Draft::new(self.by.map_or_else(Actor::system, Principal::actor), action, resource)
    }

    fn add(
        &self,
        id: &UserId,
        name: &str,
        role: Role,
        password: Option<&str>,
        view: View,
    ) -> Result<Changed, ChangeRefused> {
        self.require(Permission::UsersManage)?;
        self.holds(role.permissions())?;
        if view.person.is_some() {
            return Err(ChangeRefused::Exists(id.clone()));
        }
        let person = Person {
            id: id.clone(),
            name: kept(name),
            role,
            disabled: false,
            password: password.map(str::to_owned),
            created_at: self.now,
        };
        let audit = self.entry("user_add", id.to_string()).with([("role", Value::from(role.as_str()))]);
        Ok(Changed { person: Some(person), ..nothing(audit) })
    }

    fn change(&self, id: &UserId, wish: &Change, view: View) -> Result<Changed, ChangeRefused> {
        let Change::ChangePerson { name, role, disabled, password, .. } = wish else {
            return Err(ChangeRefused::Unknown(id.to_string()));
        };
        let myself = self.by.is_some_and(|by| by.user == *id && by.via.is_none() && !by.machine);
        if !myself || role.is_some() || disabled.is_some() {
            self.require(Permission::UsersManage)?;
        }
        let before = view.person.ok_or_else(|| ChangeRefused::Unknown(id.to_string()))?;
        let after = Person {
            name: name.as_deref().map_or_else(|| before.name.clone(), kept),
            role: role.unwrap_or(before.role),
            disabled: disabled.unwrap_or(before.disabled),
            password: password.clone().or_else(|| before.password.clone()),
            ..before.clone()
        };
        if !myself || after.role != before.role {
            // Whoever could reset the password of an administrator could become one.
            self.holds(before.role.permissions())?;
            self.holds(after.role.permissions())?;
        }
        let admin = |person: &Person| person.role == Role::Admin && !person.disabled;
        if admin(&before) && !admin(&after) && view.admins <= 1 {
            return Err(ChangeRefused::LastAdmin(id.clone()));
        }
        let lost = before.role.permissions().beyond(after.role.permissions()).is_some();
        let raises_epoch = before != after && (lost || after.disabled || before.role != after.role || name.is_some());
        let audit = self.entry("user_change", id.to_string()).with([
            ("role", Value::from(after.role.as_str())),
            ("role_before", Value::from(before.role.as_str())),
            ("disabled", Value::from(after.disabled)),
            ("password_changed", Value::from(password.is_some())),
        ]);
        Ok(Changed { person: Some(after), raises_epoch, ..nothing(audit) })
    }

    fn remove(&self, id: &UserId, view: View) -> Result<Changed, ChangeRefused> {
        self.require(Permission::UsersManage)?;
        let person = view.person.ok_or_else(|| ChangeRefused::Unknown(id.to_string()))?;
        self.holds(person.role.permissions())?;
        if person.role == Role::Admin && !person.disabled && view.admins <= 1 {
            return Err(ChangeRefused::LastAdmin(id.clone()));
        }
        let audit = self.entry("user_remove", id.to_string()).with([("role", Value::from(person.role.as_str()))]);
        Ok(Changed { removed: Some(id.clone()), raises_epoch: true, ..nothing(audit) })
    }

    fn create_token(&self, token: &Token, view: View) -> Result<Changed, ChangeRefused> {
        let owner = view.person.ok_or_else(|| ChangeRefused::Unknown(token.user.to_string()))?;
        if !self.by.is_some_and(|by| by.user == token.user && by.via.is_none()) {
            self.require(Permission::UsersManage)?;
        }
        let may = owner.role.permissions();
        if let Some(permission) = token.scope.and_then(|scope| scope.beyond(may)) {
            let role = owner.role.as_str();
            return Err(ChangeRefused::Invalid(format!(
                "{} is {role} and may not {permission}, so no token of theirs can; change the role first",
                owner.id
            )));
        }
        self.holds(token.scope.unwrap_or(may))?;
        if token.expires_at.is_some_and(|at| at <= self.now) {
            return Err(ChangeRefused::Invalid(
                "the token would have expired already; give it a later time".to_owned(),
            ));
        }
        if view.tokens >= TOKENS_MAX {
            return Err(ChangeRefused::Invalid(format!(
                "{} has {TOKENS_MAX} tokens, which is the most; revoke some first",
                owner.id
            )));
        }
        let token = Token { parent: None, created_at: self.now, created_by: self.creator(), ..token.clone() };
        let audit = self.token_entry("token_create", &token);
        Ok(Changed { token: Some(token), ..nothing(audit) })
    }

    fn mint(&self, token: &Token, ttl: Span, view: View) -> Result<Changed, ChangeRefused> {
        self.require(Permission::SessionsMint)?;
        if ttl < Span::from_secs(1) || ttl > SESSION_TTL_MAX {
            let most = SESSION_TTL_MAX.0 / 1000;
            return Err(ChangeRefused::Invalid(format!("a session lives 1 to {most} seconds")));
        }
        if view.person.as_ref().is_some_and(|person| person.disabled) {
            return Err(ChangeRefused::Denied(Denied::Unauthenticated));
        }
        let scope = token.scope.unwrap_or(Permissions::OF_A_PAGE);
        if let Some(permission) = self.by.and_then(|by| scope.beyond(by.mintable())) {
            return Err(ChangeRefused::MoreThanHeld(permission));
        }
        // Who is confined to some resources cannot let others out of them.
        let confined = self.by.map(|by| by.resources.clone()).unwrap_or_default();
        let within = |resource: &String| confined.iter().any(|prefix| resource.starts_with(prefix.as_str()));
        if !confined.is_empty() && (token.resources.is_empty() || !token.resources.iter().all(within)) {
            return Err(ChangeRefused::Invalid(
                "a session cannot reach further than the token that makes it".to_owned(),
            ));
        }
        let parent = self.by.map_or_else(|| "system".to_owned(), |by| by.token.clone());
        let token = Token {
            scope: Some(scope),
            name: token.name.as_deref().map(kept),
            machine: false,
            expires_at: Some(self.now + ttl),
            created_at: self.now,
            created_by: self.creator(),
            parent: Some(parent),
            ..token.clone()
        };
        let audit = self.token_entry("session_mint", &token);
        Ok(Changed { token: Some(token), ..nothing(audit) })
    }

    fn revoke(&self, id: &str, view: View) -> Result<Changed, ChangeRefused> {
        let token = view.token.ok_or_else(|| ChangeRefused::Unknown(format!("token {id}")))?;
        if self.by.is_none_or(|by| by.user != token.user) {
            self.require(Permission::UsersManage)?;
        }
        let audit = self.token_entry("token_revoke", &token);
        Ok(Changed { revoked: Some(id.to_owned()), raises_epoch: true, ..nothing(audit) })
    }

    fn creator(&self) -> UserId {
        self.by.map_or_else(|| Actor::system().user, |by| by.user.clone())
    }

    fn token_entry(&self, action: &'static str, token: &Token) -> Draft {
        self.entry(action, token.user.to_string()).with([
            ("token", Value::from(token.id.as_str())),
            ("machine", Value::from(token.machine)),
            ("scope", token.scope.map_or(Value::Null, |scope| Value::from(scope.to_string()))),
            ("expires_at_ms", token.expires_at.map_or(Value::Null, |at| Value::from(at.0))),
        ])
    }
}

fn nothing(audit: Draft) -> Changed {
    Changed { person: None, removed: None, token: None, revoked: None, raises_epoch: false, audit }
}
