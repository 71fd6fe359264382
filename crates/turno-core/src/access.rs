//! Access: which user sends a request, and what that user may do.
//!
//! - A *person* has a role: viewer, editor or admin. The role gives permissions.
//! - A *token* is a secret that acts for a person or a machine, with at most the permissions of its owner. Only the
//!   hash of the secret is stored.
//! - A *session* is a short-lived token that an application's backend makes for one of its own users.
//! - A *console session* is the token of a person who has signed in.
//!
//! The engine looks a token up once and keeps the result as a [`Principal`]. The [`Epoch`] is a stored number that
//! grows when roles, tokens or disabled accounts change. Every command compares it with the epoch of its principal. If
//! they differ, the engine looks the token up again.
//!
//! [`change()`] decides the changes of access. This module neither hashes passwords nor reads secrets from requests:
//! the server does both.

mod change;
mod console;
mod identity;
mod pace;
mod reach;
mod refused;
mod rotate;
#[cfg(test)]
mod tests;

use change::NOT_FOR_SESSIONS;
pub use change::{Change, Changed, View, change};
pub use console::{FailedSignIns, Link, LinkFor, SignIn, SignInMethod};
pub use identity::Identity;
pub use pace::{
    PAIR_PACE, Pace, PaceCounts, PaceKeys, PaceStep, PaceVerdict, SIGN_IN_DELAY_MAX, SOURCE_PACE, USER_PACE, pace,
};
pub use refused::{BadChange, ChangeRefused};

use crate::audit::Hash;
use crate::fault::{UnknownWord, Vocabulary};
use crate::id::{QueueName, Resource, UserId};
use crate::named::named;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

named! {
    /// One thing that a user may be allowed to do. Reading leases needs no permission, only a valid token.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Permission {
        /// Process tasks.
        InventoryManage = "inventory.manage",
        /// Claim, renew and release leases.
        LeasesUse = "leases.use",
        /// Enqueue items.
        QueuesProduce = "queues.produce",
        /// Claim items and settle them.
        QueuesConsume = "queues.consume",
        /// Override the leases of other holders.
        LocksOverride = "locks.override",
        /// Change queues, retry and cancel items.
        QueuesManage = "queues.manage",
        /// Read the audit.
        AuditRead = "audit.read",
        /// Manage people and their tokens.
        UsersManage = "users.manage",
        /// Manage sources and their synchronisation.
        SyncManage = "sync.manage",
        /// Make sessions for an application's own users, and act on their behalf.
        SessionsMint = "sessions.mint",
        /// Read queues, their items and payloads.
        QueuesRead = "queues.read",
        /// Read tasks and stock.
        TasksRead = "tasks.read",
        /// Read the metrics.
        MetricsRead = "metrics.read",
    } else Vocabulary::Permission
}

/// A set of permissions.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Permissions(u16);

impl Permissions {
    /// The default permissions of a session: what a page of an application needs to claim leases and process tasks.
    pub const OF_A_PAGE: Permissions =
        Permissions(1 << Permission::InventoryManage as u16 | 1 << Permission::LeasesUse as u16);

    /// The permissions to read, which every role has.
    pub const TO_READ: Permissions = Permissions(
        1 << Permission::QueuesRead as u16 | 1 << Permission::TasksRead as u16 | 1 << Permission::MetricsRead as u16,
    );

    /// Returns all permissions.
    pub fn all() -> Permissions {
        Permission::ALL.into_iter().collect()
    }

    /// Returns whether the set contains a permission.
    pub fn has(self, permission: Permission) -> bool {
        self.0 & 1 << permission as u16 != 0
    }

    /// Returns the permissions that both sets contain.
    pub fn and(self, other: Permissions) -> Permissions {
        Permissions(self.0 & other.0)
    }

    /// Returns the permissions that at least one of the sets contains.
    pub fn or(self, other: Permissions) -> Permissions {
        Permissions(self.0 | other.0)
    }

    /// Returns the permissions of this set that `other` does not contain.
    pub fn without(self, other: Permissions) -> Permissions {
        Permissions(self.0 & !other.0)
    }

    /// Returns the first permission of this set that `other` does not contain.
    pub fn beyond(self, other: Permissions) -> Option<Permission> {
        self.iter().find(|permission| !other.has(*permission))
    }

    /// Iterates over the permissions.
    pub fn iter(self) -> impl Iterator<Item = Permission> {
        Permission::ALL.into_iter().filter(move |permission| self.has(*permission))
    }
}

impl Permissions {
    /// Renders the set for the stores: the permissions that 0.1.0 knows, and those to read. They are stored apart, so
    /// that a program of 0.1.0 can read the first on the same database.
    pub fn to_stored(self) -> (String, String) {
        (self.without(Permissions::TO_READ).to_string(), self.and(Permissions::TO_READ).to_string())
    }

    /// Parses the two stored texts.
    pub fn from_stored(known_to_0_1_0: &str, to_read: &str) -> Result<Permissions, UnknownWord> {
        Ok(known_to_0_1_0.parse::<Permissions>()?.or(to_read.parse()?))
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(permissions: I) -> Permissions {
        permissions.into_iter().fold(Permissions(0), |set, permission| Permissions(set.0 | 1 << permission as u16))
    }
}

impl fmt::Debug for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Permission::as_str)).finish()
    }
}

/// Renders the names separated by spaces, as the stores keep them.
impl fmt::Display for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(Permission::as_str).collect();
        f.write_str(&names.join(" "))
    }
}

impl FromStr for Permissions {
    type Err = UnknownWord;
    fn from_str(text: &str) -> Result<Permissions, UnknownWord> {
        text.split_whitespace().map(str::parse).collect::<Result<Vec<Permission>, _>>().map(Permissions::from_iter)
    }
}

named! {
    /// The role of a person, which gives permissions.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Role {
        /// May read.
        Viewer = "viewer",
        /// May also process tasks and use leases and queues.
        Editor = "editor",
        /// May do everything.
        Admin = "admin",
    } else Vocabulary::Role
}

impl Role {
    /// Returns the permissions of the role.
    pub fn permissions(self) -> Permissions {
        use Permission::{InventoryManage, LeasesUse, QueuesConsume, QueuesProduce};
        match self {
            Role::Viewer => Permissions::TO_READ,
            Role::Editor => [InventoryManage, LeasesUse, QueuesProduce, QueuesConsume]
                .into_iter()
                .collect::<Permissions>()
                .or(Permissions::TO_READ),
            Role::Admin => Permissions::all(),
        }
    }
}

/// A user whom Turno stores: a person or a machine's account.
#[derive(Clone, PartialEq, Eq)]
pub struct Person {
    /// The id.
    pub id: UserId,
    /// The display name.
    pub name: String,
    /// The role.
    pub role: Role,
    /// The account is disabled.
    pub disabled: bool,
    /// The hash of the password, if there is one. The server computes and compares it.
    pub password: Option<String>,
    /// When the person was added.
    pub created_at: Time,
    /// The person at an OpenID provider, if one signs them in.
    pub identity: Option<Identity>,
}

/// Omits the hash of the password, so that it cannot get into a log.
impl fmt::Debug for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Person { id, name, role, disabled, created_at, .. } = self;
        write!(f, "Person({id}, {name:?}, {}, disabled: {disabled}, {created_at:?})", role.as_str())
    }
}

/// A stored token. It contains the hash of the secret, never the secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The id, to list and revoke the token.
    pub id: String,
    /// The hash of the secret.
    pub hash: Hash,
    /// The user that the token acts for: its owner.
    pub user: UserId,
    /// The display name of a session's user, whom Turno need not store.
    pub name: Option<String>,
    /// The token acts for a machine, which must name its instance to hold a lease.
    pub machine: bool,
    /// The permissions of the token are limited to these. `None` means all permissions of its owner.
    pub scope: Option<Permissions>,
    /// The token is limited to leases whose names begin with one of these, and to the tasks behind them.
    pub resources: Vec<String>,
    /// The token is limited to queues with these names, or with these prefixes if they end in `*`.
    pub queues: Vec<String>,
    /// When the token expires.
    pub expires_at: Option<Time>,
    /// When the token was made.
    pub created_at: Time,
    /// The user who made the token.
    pub created_by: UserId,
    /// For a session, the token that made it. Revoking that token ends the session.
    pub parent: Option<String>,
    /// A console session: the person signed in with a password or a link. A new password ends it.
    pub console: bool,
    /// When the token was last used, approximately.
    pub last_used_at: Option<Time>,
}

named! {
    /// The kind of a token.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum TokenKind {
        /// A long-lived token for a person or a program.
        Token = "token",
        /// A session that an application made for one of its own users.
        Session = "session",
        /// A console session.
        Console = "console",
    }
}

/// The user of a request and what the request may do. Valid for one epoch of access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// The user.
    pub user: UserId,
    /// The display name of the user.
    pub name: String,
    /// The account that acts on behalf of the user, if it is another one.
    pub via: Option<UserId>,
    /// The user is a machine.
    pub machine: bool,
    /// The permissions of the request.
    pub permissions: Permissions,
    /// The token has a list of permissions of its own.
    pub listed: bool,
    /// The request comes with a session that an application made for one of its own users.
    pub session: bool,
    /// The request is limited to leases whose names begin with one of these.
    pub resources: Vec<String>,
    /// The request is limited to queues with these names, or with these prefixes if they end in `*`.
    pub queues: Vec<String>,
    /// The id of the token.
    pub token: String,
    /// When the token expires.
    pub expires_at: Option<Time>,
}

/// The reason why a request is denied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// The token does not exist, has expired or was revoked, or its owner is disabled. The caller does not learn which.
    #[error("the token is not valid (any more); sign in again or ask for a new one")]
    Unauthenticated,
    /// The principal lacks this permission.
    #[error("this needs the permission {0}; ask an administrator for it")]
    Missing(Permission),
    /// The token is limited to other resources.
    #[error("this token is not for {0}; use one whose resources include it")]
    OtherResource(Resource),
    /// The token is limited to other queues.
    #[error("this token is not for the queue {0}; use one whose queues include it")]
    OtherQueue(QueueName),
}

impl Token {
    /// Returns the kind of the token.
    pub fn kind(&self) -> TokenKind {
        match (&self.parent, self.console) {
            (_, true) => TokenKind::Console,
            (Some(_), false) => TokenKind::Session,
            (None, false) => TokenKind::Token,
        }
    }

    /// Returns the principal of this token at `now`. `owner` and `maker` are the stored persons, if there are any; only
    /// a session has a maker.
    ///
    /// Turno need not store the user of a session. If it does and the user is disabled, the session is denied. A
    /// session has at most the permissions that its maker has now. If the maker is disabled or may no longer make
    /// sessions, the session is denied.
    pub fn principal(&self, owner: Option<&Person>, maker: Option<&Person>, now: Time) -> Result<Principal, Denied> {
        if self.expires_at.is_some_and(|at| at <= now) || owner.is_some_and(|owner| owner.disabled) {
            return Err(Denied::Unauthenticated);
        }
        let (permissions, name, via) = match (&self.parent, owner) {
            (Some(_), owner) => {
                let mut may = self.scope.unwrap_or_default();
                if self.created_by != crate::audit::Actor::system().user {
                    let maker_permissions = maker.filter(|maker| !maker.disabled).map(|maker| maker.role.permissions());
                    let maker_permissions =
                        maker_permissions.filter(|maker_permissions| maker_permissions.has(Permission::SessionsMint));
                    may = may.and(maker_permissions.ok_or(Denied::Unauthenticated)?);
                }
                let name = self.name.clone().or_else(|| owner.map(|owner| owner.name.clone()));
                (may, name, Some(self.created_by.clone()))
            }
            (None, Some(owner)) => {
                let may = owner.role.permissions();
                (self.scope.map_or(may, |scope| may.and(scope)), Some(owner.name.clone()), None)
            }
            (None, None) => return Err(Denied::Unauthenticated),
        };
        Ok(Principal {
            user: self.user.clone(),
            name: name.unwrap_or_else(|| self.user.to_string()),
            via,
            machine: self.machine,
            permissions,
            listed: self.scope.is_some(),
            session: self.kind() == TokenKind::Session,
            resources: self.resources.clone(),
            queues: self.queues.clone(),
            token: self.id.clone(),
            expires_at: self.expires_at,
        })
    }
}

impl Principal {
    /// Denies the request if it lacks the permission.
    pub fn require(&self, permission: Permission) -> Result<(), Denied> {
        if self.permissions.has(permission) { Ok(()) } else { Err(Denied::Missing(permission)) }
    }

    /// Returns the principal of the same request on behalf of `user`. `known` is the stored person; Turno need not
    /// store the user. An unknown user has the permissions of a page, and those in the token's own list that a session
    /// can have.
    pub fn on_behalf_of(&self, user: UserId, known: Option<&Person>) -> Result<Principal, Denied> {
        self.require(Permission::SessionsMint)?;
        if known.is_some_and(|person| person.disabled) {
            return Err(Denied::Unauthenticated);
        }
        let granted = match known {
            Some(person) => person.role.permissions(),
            None if self.listed => self.mintable().without(NOT_FOR_SESSIONS.into_iter().collect()),
            None => Permissions::OF_A_PAGE,
        };
        Ok(Principal {
            name: known.map_or_else(|| user.to_string(), |person| person.name.clone()),
            user,
            via: Some(self.user.clone()),
            machine: false,
            permissions: granted.and(self.mintable()),
            ..self.clone()
        })
    }

    /// Returns whether the principal is unrestricted: all permissions of `role`, no bounds, no machine, and not on
    /// behalf of another user. Only an unrestricted principal may make a token without restrictions.
    pub fn is_unrestricted(&self, role: Role) -> bool {
        let all = role.permissions().beyond(self.permissions).is_none();
        all && self.via.is_none() && !self.machine && !self.is_bounded()
    }

    /// Returns the most permissions that a session made by this principal may have: its own, and those of a page.
    pub fn mintable(&self) -> Permissions {
        self.permissions.or(Permissions::OF_A_PAGE)
    }

    /// Returns the actor for the audit.
    pub fn actor(&self) -> crate::audit::Actor {
        crate::audit::Actor { user: self.user.clone(), via: self.via.clone() }
    }
}

/// The epoch of access: a stored number that grows when roles, tokens or disabled accounts change. A principal from
/// another epoch must be looked up again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub i64);
