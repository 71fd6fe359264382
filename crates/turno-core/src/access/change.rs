//! Decides changes of access: people, tokens, sessions and links.
//!
//! Two rules protect access. A principal cannot grant permissions that it does not hold, and the last administrator
//! cannot be demoted, disabled or removed.

use super::reach::covers;
use super::refused::{BadChange, ChangeRefused};
use super::{Denied, FailedSignIns, Identity, Link, Permission, Permissions, Person, Principal, Role, SignIn, Token};
use crate::audit::{Actor, AuditAction, Draft, Hash};
use crate::fault::Thing;
use crate::id::UserId;
use crate::limits::{SESSION_TTL_MAX, TOKENS_MAX};
use crate::text::clip_text;
use crate::time::{Span, Time};
use serde_json::Value;

/// A command that changes access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Add a person.
    AddPerson {
        /// The id.
        id: UserId,
        /// The display name.
        name: String,
        /// The role.
        role: Role,
        /// The hash of the password, if the person gets one.
        password: Option<String>,
    },
    /// Change the name, role, password or disabled flag of a person. A field that is `None` stays as it is.
    ChangePerson {
        /// The person.
        id: UserId,
        /// The new display name.
        name: Option<String>,
        /// The new role.
        role: Option<Role>,
        /// Disable the account, or enable it again.
        disabled: Option<bool>,
        /// The hash of a new password.
        password: Option<String>,
        /// The console session that survives a new password: the one in which the password is changed.
        spare: Option<String>,
    },
    /// Remove a person and all their tokens.
    RemovePerson {
        /// The person.
        id: UserId,
    },
    /// Create a token. The caller has generated the secret.
    CreateToken(Token),
    /// Make a session for an application's own user.
    MintSession {
        /// The new token. Without a scope it gets the default permissions of a session.
        token: Token,
        /// How long the session lives.
        ttl: Span,
    },
    /// Revoke a token and the sessions that it made.
    RevokeToken {
        /// The id of the token.
        id: String,
    },
    /// Open a console session. The caller has checked the person's password or link.
    OpenSession {
        /// The new token.
        token: Token,
        /// How long the session lives.
        ttl: Span,
        /// How the person signed in, for the audit. `None` if the embedding program does not say.
        sign_in: Option<SignIn>,
    },
    /// Record failed sign-ins in the audit.
    RecordFailures(FailedSignIns),
    /// Make a link that can be used once.
    MakeLink {
        /// The new link.
        link: Link,
        /// How long the link lives.
        ttl: Span,
    },
    /// Use a link, so that it cannot be used again.
    RedeemLink(Link),
    /// Link a person to an identity of an OpenID provider.
    LinkIdentity {
        /// The person.
        id: UserId,
        /// The identity. `None` removes the link.
        identity: Option<Identity>,
    },
    /// Sign an identity in. The caller has checked that the provider vouches for it.
    SignInIdentity {
        /// The identity.
        identity: Identity,
        /// The id of the person, if the person is new.
        id: UserId,
        /// The display name of the person, if the person is new.
        name: String,
        /// The role that the provider gives. `None` ends the person's access.
        role: Option<Role>,
    },
    /// Replace a token by a new one with the same rights.
    RotateToken {
        /// The id of the token to replace.
        id: String,
        /// The new token, of which only id and hash count.
        token: Token,
        /// How long the old token stays valid.
        overlap: Span,
    },
}

/// The rows that the store read, with access locked against other changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The person that the change is about.
    pub person: Option<Person>,
    /// The token that the change is about.
    pub token: Option<Token>,
    /// The number of administrators who are not disabled.
    pub admins: i64,
    /// The number of the person's tokens.
    pub tokens: i64,
    /// The ids of the person's console sessions, oldest first.
    pub consoles: Vec<String>,
    /// The link that the change is about.
    pub link: Option<Link>,
    /// The person with the identity that the change is about.
    pub linked: Option<Person>,
}

/// The decision about a change: what the store must write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The person to write.
    pub person: Option<Person>,
    /// The person to remove, with all their tokens.
    pub removed: Option<UserId>,
    /// The new token.
    pub token: Option<Token>,
    /// The tokens to revoke, with the sessions that they made.
    pub revoked: Vec<String>,
    /// The person whose tokens and sessions all end.
    pub ended: Option<UserId>,
    /// The token that ends earlier, and when.
    pub shortened: Option<(String, Time)>,
    /// The new link.
    pub link: Option<Link>,
    /// The link that was used.
    pub spent: Option<Hash>,
    /// The person whose links are removed.
    pub unlinked: Option<UserId>,
    /// The epoch must grow, because cached principals are no longer correct.
    pub raises_epoch: bool,
    /// The audit entry.
    pub audit: Draft,
}

/// Decides a change that `by` asks for. `None` is the program that embeds Turno, or its command line.
pub fn change(by: Option<&Principal>, command: &Change, view: View, now: Time) -> Result<Changed, ChangeRefused> {
    let context = ChangeContext { by, now };
    match command {
        Change::AddPerson { id, name, role, password } => context.add(id, name, *role, password.as_deref(), view),
        Change::ChangePerson { id, .. } => context.change(id, command, view),
        Change::RemovePerson { id } => context.remove(id, view),
        Change::CreateToken(token) => context.create_token(token, view),
        Change::MintSession { token, ttl } => context.mint(token, *ttl, view),
        Change::RevokeToken { id } => context.revoke(id, view),
        Change::OpenSession { token, ttl, sign_in } => context.open_session(token, *ttl, sign_in.as_ref(), view),
        Change::RecordFailures(failures) => context.record_failures(failures),
        Change::MakeLink { link, ttl } => context.make_link(link, *ttl, view),
        Change::RedeemLink(link) => context.redeem_link(link, view),
        Change::LinkIdentity { id, identity } => context.link_identity(id, identity.as_ref(), view),
        Change::SignInIdentity { .. } => context.sign_in_identity(command, view),
        Change::RotateToken { id, token, overlap } => context.rotate(id, token, *overlap, view),
    }
}

/// The caller and the time of a change.
pub(super) struct ChangeContext<'a> {
    pub(super) by: Option<&'a Principal>,
    pub(super) now: Time,
}

impl ChangeContext<'_> {
    fn require(&self, permission: Permission) -> Result<(), ChangeRefused> {
        Ok(self.by.map_or(Ok(()), |by| by.require(permission))?)
    }

    /// Refuses a caller who may not manage people. This includes a token that is limited to some resources or queues:
    /// it could make an account without that limit.
    pub(super) fn require_managing(&self) -> Result<(), ChangeRefused> {
        self.require(Permission::UsersManage)?;
        if self.by.is_some_and(Principal::is_bounded) {
            return Err(BadChange::LimitedToken.into());
        }
        Ok(())
    }

    /// Returns whether the caller is this user, and does not act on behalf of the user.
    pub(super) fn is_self(&self, user: &UserId) -> bool {
        self.by.is_some_and(|by| by.user == *user && by.via.is_none())
    }

    pub(super) fn require_held(&self, permissions: Permissions) -> Result<(), ChangeRefused> {
        let beyond = self.by.and_then(|by| permissions.beyond(by.permissions));
        beyond.map_or(Ok(()), |permission| Err(ChangeRefused::MoreThanHeld(permission)))
    }

    pub(super) fn entry(&self, action: AuditAction, resource: String) -> Draft {
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
        self.require_managing()?;
        self.require_held(role.permissions())?;
        if view.person.is_some() {
            return Err(ChangeRefused::Exists(id.clone()));
        }
        let person = Person {
            id: id.clone(),
            name: clip_text(name),
            role,
            disabled: false,
            password: password.map(str::to_owned),
            created_at: self.now,
            identity: None,
        };
        let audit = self.entry(AuditAction::UserAdd, id.to_string()).with([("role", Value::from(role.as_str()))]);
        Ok(Changed { person: Some(person), ..only_audit(audit) })
    }

    fn change(&self, id: &UserId, command: &Change, view: View) -> Result<Changed, ChangeRefused> {
        let Change::ChangePerson { name, role, disabled, password, spare, .. } = command else {
            return Err(ChangeRefused::Unknown(Thing::User(id.clone())));
        };
        let myself = self.is_self(id);
        if !myself || role.is_some() || disabled.is_some() {
            self.require_managing()?;
        }
        let before = view.person.ok_or_else(|| ChangeRefused::Unknown(Thing::User(id.clone())))?;
        if myself && !self.by.is_some_and(|by| by.is_unrestricted(before.role)) {
            // Otherwise a stolen token with few permissions would be enough to take over its owner's account.
            return Err(BadChange::RestrictedToken.into());
        }
        let after = Person {
            name: name.as_deref().map_or_else(|| before.name.clone(), clip_text),
            role: role.unwrap_or(before.role),
            disabled: disabled.unwrap_or(before.disabled),
            password: password.clone().or_else(|| before.password.clone()),
            ..before.clone()
        };
        if !myself || after.role != before.role {
            // The old role is checked, too, because resetting an administrator's password is a way to become one.
            self.require_held(before.role.permissions())?;
            self.require_held(after.role.permissions())?;
        }
        let admin = |person: &Person| person.role == Role::Admin && !person.disabled;
        if admin(&before) && !admin(&after) && view.admins <= 1 {
            return Err(ChangeRefused::LastAdmin(id.clone()));
        }
        // A new password ends the other console sessions. Disabling the account ends all of them.
        let out = after.disabled && !before.disabled;
        let ends = |id: &String| out || (password.is_some() && spare.as_ref() != Some(id));
        let revoked: Vec<String> = view.consoles.into_iter().filter(ends).collect();
        let unlinked = (out || password.is_some()).then(|| id.clone());
        let raises_epoch = before.role != after.role || before.disabled != after.disabled || !revoked.is_empty();
        let audit = self.entry(AuditAction::UserChange, id.to_string()).with([
            ("role", Value::from(after.role.as_str())),
            ("role_before", Value::from(before.role.as_str())),
            ("disabled", Value::from(after.disabled)),
            ("password_changed", Value::from(password.is_some())),
        ]);
        Ok(Changed { person: Some(after), revoked, unlinked, raises_epoch, ..only_audit(audit) })
    }

    fn remove(&self, id: &UserId, view: View) -> Result<Changed, ChangeRefused> {
        self.require_managing()?;
        let person = view.person.ok_or_else(|| ChangeRefused::Unknown(Thing::User(id.clone())))?;
        self.require_held(person.role.permissions())?;
        if person.role == Role::Admin && !person.disabled && view.admins <= 1 {
            return Err(ChangeRefused::LastAdmin(id.clone()));
        }
        let audit =
            self.entry(AuditAction::UserRemove, id.to_string()).with([("role", Value::from(person.role.as_str()))]);
        Ok(Changed { removed: Some(id.clone()), unlinked: Some(id.clone()), raises_epoch: true, ..only_audit(audit) })
    }

    fn create_token(&self, token: &Token, view: View) -> Result<Changed, ChangeRefused> {
        let owner = view.person.ok_or_else(|| ChangeRefused::Unknown(Thing::User(token.user.clone())))?;
        let own = self.is_self(&token.user);
        if !own {
            self.require_managing()?;
        }
        let may = owner.role.permissions();
        if let Some(by) = self.by.filter(|by| own && !by.is_unrestricted(owner.role)) {
            check_no_wider(by, token)?;
        }
        if let Some(permission) = token.scope.and_then(|scope| scope.beyond(may)) {
            return Err(BadChange::RoleLacks { user: owner.id, role: owner.role, permission }.into());
        }
        self.require_held(token.scope.unwrap_or(may))?;
        if token.expires_at.is_some_and(|at| at <= self.now) {
            return Err(BadChange::Expired.into());
        }
        if view.tokens >= TOKENS_MAX {
            return Err(BadChange::TooManyTokens { user: owner.id, max: TOKENS_MAX }.into());
        }
        let (created_at, created_by) = (self.now, self.creator());
        let token = Token { parent: None, console: false, created_at, created_by, ..token.clone() };
        let audit = self.token_entry(AuditAction::TokenCreate, &token);
        Ok(Changed { token: Some(token), ..only_audit(audit) })
    }

    fn mint(&self, token: &Token, ttl: Span, view: View) -> Result<Changed, ChangeRefused> {
        self.require(Permission::SessionsMint)?;
        if ttl < Span::from_secs(1) || ttl > SESSION_TTL_MAX {
            return Err(BadChange::SessionTtl { max: SESSION_TTL_MAX }.into());
        }
        if view.person.as_ref().is_some_and(|person| person.disabled) {
            return Err(ChangeRefused::Denied(Denied::Unauthenticated));
        }
        // A stored viewer reads tasks on a page. An editor reads them by `inventory.manage`.
        let of_viewer = Permissions::OF_A_PAGE.or([Permission::TasksRead].into_iter().collect());
        let scope = token.scope.unwrap_or(match &view.person {
            Some(_) => self.by.map_or(of_viewer, |by| of_viewer.and(by.mintable())),
            None => Permissions::OF_A_PAGE,
        });
        if let Some(permission) = scope.iter().find(|one| NOT_FOR_SESSIONS.contains(one)) {
            return Err(BadChange::NotForSessions(permission).into());
        }
        // The session of a stored person has at most the permissions of the person.
        let scope = view.person.as_ref().map_or(scope, |person| scope.and(person.role.permissions()));
        if let Some(permission) = self.by.and_then(|by| scope.beyond(by.mintable())) {
            return Err(ChangeRefused::MoreThanHeld(permission));
        }
        if let Some(by) = self.by {
            check_reach(by, token)?;
        }
        let until = self.now + ttl;
        let until = self.by.and_then(|by| by.expires_at).map_or(until, |at| at.min(until));
        let parent = self.by.map_or_else(|| "system".to_owned(), |by| by.token.clone());
        let token = Token {
            scope: Some(scope),
            name: token.name.as_deref().map(clip_text),
            machine: false,
            expires_at: Some(until),
            created_at: self.now,
            created_by: self.creator(),
            parent: Some(parent),
            console: false,
            ..token.clone()
        };
        let audit = self.token_entry(AuditAction::SessionMint, &token);
        Ok(Changed { token: Some(token), ..only_audit(audit) })
    }

    fn revoke(&self, id: &str, view: View) -> Result<Changed, ChangeRefused> {
        let token = view.token.ok_or_else(|| ChangeRefused::Unknown(Thing::Token(id.to_owned())))?;
        // A token may always revoke itself.
        let itself = self.by.is_some_and(|by| by.token == token.id);
        if !itself {
            self.require_whole(view.person.as_ref())?;
            if !self.is_self(&token.user) {
                self.require_managing()?;
            }
        }
        let audit = self.token_entry(AuditAction::TokenRevoke, &token);
        // A console session that revokes itself is a sign-out.
        let audit = if itself && token.console { audit.and("signed_out", Value::from(true)) } else { audit };
        Ok(Changed { revoked: vec![id.to_owned()], raises_epoch: true, ..only_audit(audit) })
    }

    /// Refuses a token that does not have all rights of its owner. Otherwise a stolen narrow token could end its owner's
    /// other tokens and sessions. `owner` is the caller's person.
    fn require_whole(&self, owner: Option<&Person>) -> Result<(), ChangeRefused> {
        let Some(by) = self.by.filter(|by| by.via.is_none()) else {
            return Ok(());
        };
        self.require_held(owner.map_or_else(Permissions::all, |owner| owner.role.permissions()))?;
        if by.is_bounded() { Err(Denied::Missing(Permission::UsersManage).into()) } else { Ok(()) }
    }

    pub(super) fn creator(&self) -> UserId {
        self.by.map_or_else(|| Actor::system().user, |by| by.via.clone().unwrap_or_else(|| by.user.clone()))
    }

    pub(super) fn token_entry(&self, action: AuditAction, token: &Token) -> Draft {
        self.entry(action, token.user.to_string()).with([
            ("token", Value::from(token.id.as_str())),
            ("machine", Value::from(token.machine)),
            ("scope", token.scope.map_or(Value::Null, |scope| Value::from(scope.to_string()))),
            ("resources", Value::from(token.resources.join(" "))),
            ("queues", Value::from(token.queues.join(" "))),
            ("expires_at_ms", token.expires_at.map_or(Value::Null, |at| Value::from(at.0))),
        ])
    }
}

/// Permissions that a session cannot have: it must not make the next session, because then it would never end, and it
/// must not manage people.
pub(super) const NOT_FOR_SESSIONS: [Permission; 2] = [Permission::SessionsMint, Permission::UsersManage];

/// Refuses a restricted token that makes a token with a wider reach or a later expiry, or a machine's that makes a
/// person's.
fn check_no_wider(by: &Principal, token: &Token) -> Result<(), ChangeRefused> {
    check_reach(by, token)?;
    let outlives = by.expires_at.is_some_and(|at| token.expires_at.is_none_or(|until| until > at));
    if outlives || (by.machine && !token.machine) {
        return Err(BadChange::Outlives.into());
    }
    Ok(())
}

/// Refuses a token that is limited to some resources or queues and makes one that reaches others.
fn check_reach(by: &Principal, token: &Token) -> Result<(), ChangeRefused> {
    let inside = |resource: &String| by.resources.iter().any(|prefix| resource.starts_with(prefix.as_str()));
    let queue_inside = |queue: &String| by.queues.iter().any(|outer| covers(outer, queue));
    // Without any bound the new token would reach everything, or as a session all leases outside of tasks.
    let bounded = !token.resources.is_empty() || !token.queues.is_empty();
    let within = token.resources.iter().all(inside) && token.queues.iter().all(queue_inside);
    if (by.resources.is_empty() && by.queues.is_empty()) || (bounded && within) {
        return Ok(());
    }
    Err(BadChange::ReachesFurther.into())
}

/// Returns a decision that writes only the audit entry.
pub(super) fn only_audit(audit: Draft) -> Changed {
    Changed {
        person: None,
        removed: None,
        token: None,
        revoked: Vec::new(),
        ended: None,
        shortened: None,
        link: None,
        spent: None,
        unlinked: None,
        raises_epoch: false,
        audit,
    }
}
