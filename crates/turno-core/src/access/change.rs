//! Changes of access: who may make them, and which would lock everybody out.

use super::{Denied, Link, Permission, Permissions, Person, Principal, Role, Token};
use crate::audit::{Actor, Draft, Hash};
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
        /// The console's session that stays if the password changes: the one in which that is done.
        spare: Option<String>,
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
    /// Somebody has signed in, which the caller has made sure of.
    OpenSession {
        /// The token to be.
        token: Token,
        /// How long it lives.
        ttl: Span,
    },
    /// A link that lets somebody in once.
    MakeLink {
        /// The link to be.
        link: Link,
        /// How long it lives.
        ttl: Span,
    },
    /// Somebody came with a link: from now on it is worth nothing.
    RedeemLink(Link),
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
    /// The console's sessions of that person, oldest first.
    pub consoles: Vec<String>,
    /// The link that the change is about.
    pub link: Option<Link>,
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
    /// Tokens that are dead, with the sessions made by them.
    pub revoked: Vec<String>,
    /// The new link.
    pub link: Option<Link>,
    /// The link that was used.
    pub spent: Option<Hash>,
    /// A person whose links are worth nothing any more.
    pub unlinked: Option<UserId>,
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
    /// A link for the first administrator was asked for, and there is an administrator.
    #[error("there is an administrator already; ask them, or make a link to sign in as somebody")]
    HasAdmin,
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
        Change::OpenSession { token, ttl } => work.open_session(token, *ttl, view),
        Change::MakeLink { link, ttl } => work.make_link(link, *ttl, view),
        Change::RedeemLink(link) => work.redeem_link(link, view),
    }
}

pub(super) struct Work<'a> {
    pub(super) by: Option<&'a Principal>,
    pub(super) now: Time,
}

impl Work<'_> {
    fn require(&self, permission: Permission) -> Result<(), ChangeRefused> {
        Ok(self.by.map_or(Ok(()), |by| by.require(permission))?)
    }

    /// People are managed with the permission, and by nobody who is confined to some resources: they could let others,
    /// or themselves, out.
    fn manages(&self) -> Result<(), ChangeRefused> {
        self.require(Permission::UsersManage)?;
        if self.by.is_some_and(|by| !by.resources.is_empty()) {
            return Err(ChangeRefused::Invalid("a token for some resources cannot manage people".to_owned()));
        }
        Ok(())
    }

    /// Themselves, and not somebody who speaks for them.
    fn is(&self, user: &UserId) -> bool {
        self.by.is_some_and(|by| by.user == *user && by.via.is_none())
    }

    fn holds(&self, permissions: Permissions) -> Result<(), ChangeRefused> {
        let beyond = self.by.and_then(|by| permissions.beyond(by.permissions));
        beyond.map_or(Ok(()), |permission| Err(ChangeRefused::MoreThanHeld(permission)))
    }

    pub(super) fn entry(&self, action: &'static str, resource: String) -> Draft {
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
        self.manages()?;
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
        let Change::ChangePerson { name, role, disabled, password, spare, .. } = wish else {
            return Err(ChangeRefused::Unknown(id.to_string()));
        };
        let myself = self.is(id);
        if !myself || role.is_some() || disabled.is_some() {
            self.manages()?;
        }
        let before = view.person.ok_or_else(|| ChangeRefused::Unknown(id.to_string()))?;
        if myself && !self.by.is_some_and(|by| by.is_whole(before.role)) {
            // Whoever has found a token that may next to nothing must not become its owner by it.
            return Err(ChangeRefused::Invalid("only a full token of your own can change your account".to_owned()));
        }
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
        // Whoever had got in with the old password, or is locked out, is out everywhere.
        let out = after.disabled && !before.disabled;
        let ends = |id: &String| out || (password.is_some() && spare.as_ref() != Some(id));
        let revoked: Vec<String> = view.consoles.into_iter().filter(ends).collect();
        let unlinked = (out || password.is_some()).then(|| id.clone());
        let raises_epoch = before.role != after.role || before.disabled != after.disabled || !revoked.is_empty();
        let audit = self.entry("user_change", id.to_string()).with([
            ("role", Value::from(after.role.as_str())),
            ("role_before", Value::from(before.role.as_str())),
            ("disabled", Value::from(after.disabled)),
            ("password_changed", Value::from(password.is_some())),
        ]);
        Ok(Changed { person: Some(after), revoked, unlinked, raises_epoch, ..nothing(audit) })
    }

    fn remove(&self, id: &UserId, view: View) -> Result<Changed, ChangeRefused> {
        self.manages()?;
        let person = view.person.ok_or_else(|| ChangeRefused::Unknown(id.to_string()))?;
        self.holds(person.role.permissions())?;
        if person.role == Role::Admin && !person.disabled && view.admins <= 1 {
            return Err(ChangeRefused::LastAdmin(id.clone()));
        }
        let audit = self.entry("user_remove", id.to_string()).with([("role", Value::from(person.role.as_str()))]);
        Ok(Changed { removed: Some(id.clone()), unlinked: Some(id.clone()), raises_epoch: true, ..nothing(audit) })
    }

    fn create_token(&self, token: &Token, view: View) -> Result<Changed, ChangeRefused> {
        let owner = view.person.ok_or_else(|| ChangeRefused::Unknown(token.user.to_string()))?;
        let own = self.is(&token.user);
        if !own {
            self.manages()?;
        }
        let may = owner.role.permissions();
        if let Some(by) = self.by.filter(|by| own && !by.is_whole(owner.role)) {
            within(by, token)?;
        }
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
        let (created_at, created_by) = (self.now, self.creator());
        let token = Token { parent: None, console: false, created_at, created_by, ..token.clone() };
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
        if let Some(permission) = scope.iter().find(|one| NOT_FOR_SESSIONS.contains(one)) {
            return Err(ChangeRefused::Invalid(format!("a session cannot hold {permission}; use a token of its own")));
        }
        // Somebody whom Turno knows gets no more than they have.
        let scope = view.person.as_ref().map_or(scope, |person| scope.and(person.role.permissions()));
        if let Some(permission) = self.by.and_then(|by| scope.beyond(by.mintable())) {
            return Err(ChangeRefused::MoreThanHeld(permission));
        }
        if let Some(by) = self.by {
            reaches_no_further(by, token)?;
        }
        let until = self.now + ttl;
        let until = self.by.and_then(|by| by.expires_at).map_or(until, |at| at.min(until));
        let parent = self.by.map_or_else(|| "system".to_owned(), |by| by.token.clone());
        let token = Token {
            scope: Some(scope),
            name: token.name.as_deref().map(kept),
            machine: false,
            expires_at: Some(until),
            created_at: self.now,
            created_by: self.creator(),
            parent: Some(parent),
            console: false,
            ..token.clone()
        };
        let audit = self.token_entry("session_mint", &token);
        Ok(Changed { token: Some(token), ..nothing(audit) })
    }

    fn revoke(&self, id: &str, view: View) -> Result<Changed, ChangeRefused> {
        let token = view.token.ok_or_else(|| ChangeRefused::Unknown(format!("token {id}")))?;
        // A session may end itself.
        let itself = self.by.is_some_and(|by| by.token == token.id);
        if !self.is(&token.user) && !itself {
            self.manages()?;
        }
        let audit = self.token_entry("token_revoke", &token);
        // Whoever ends the session in which they speak has signed out.
        let audit = if itself && token.console { audit.and("signed_out", Value::from(true)) } else { audit };
        Ok(Changed { revoked: vec![id.to_owned()], raises_epoch: true, ..nothing(audit) })
    }

    fn creator(&self) -> UserId {
        self.by.map_or_else(|| Actor::system().user, |by| by.via.clone().unwrap_or_else(|| by.user.clone()))
    }

    pub(super) fn token_entry(&self, action: &'static str, token: &Token) -> Draft {
        self.entry(action, token.user.to_string()).with([
            ("token", Value::from(token.id.as_str())),
            ("machine", Value::from(token.machine)),
            ("scope", token.scope.map_or(Value::Null, |scope| Value::from(scope.to_string()))),
            ("expires_at_ms", token.expires_at.map_or(Value::Null, |at| Value::from(at.0))),
        ])
    }
}

/// What a short-lived token for somebody else's user must not be able to do: go on for ever by making the next one, or
/// manage people.
const NOT_FOR_SESSIONS: [Permission; 2] = [Permission::SessionsMint, Permission::UsersManage];

/// Who is not whole makes nothing wider or longer-lived than themselves.
fn within(by: &Principal, token: &Token) -> Result<(), ChangeRefused> {
    reaches_no_further(by, token)?;
    let outlives = by.expires_at.is_some_and(|at| token.expires_at.is_none_or(|until| until > at));
    if outlives || (by.machine && !token.machine) {
        return Err(ChangeRefused::Invalid(
            "this token cannot make one that outlives it or is of another kind".to_owned(),
        ));
    }
    Ok(())
}

/// Who is confined to some resources cannot let others out of them.
fn reaches_no_further(by: &Principal, token: &Token) -> Result<(), ChangeRefused> {
    let inside = |resource: &String| by.resources.iter().any(|prefix| resource.starts_with(prefix.as_str()));
    if by.resources.is_empty() || (!token.resources.is_empty() && token.resources.iter().all(inside)) {
        return Ok(());
    }
    Err(ChangeRefused::Invalid("a token cannot reach further than the one that makes it".to_owned()))
}

pub(super) fn nothing(audit: Draft) -> Changed {
    Changed {
        person: None,
        removed: None,
        token: None,
        revoked: Vec::new(),
        link: None,
        spent: None,
        unlinked: None,
        raises_epoch: false,
        audit,
    }
}
