//! Access: who somebody is and what they may do.
//!
//! A person has a role. A token speaks for a person or a machine, with at most what its owner may do. A session
//! is a short-lived token that an application's backend makes for one of its own users. What a request may do
//! is settled once, as a [`Principal`]; whether that still holds is told by the access *epoch*, a number that
//! grows with every change that takes something away.
//!
//! Deliberately not here: passwords (the server hashes and compares them) and reading secrets from requests.

mod change;
mod console;
#[cfg(test)]
mod tests;

pub use change::{Change, ChangeRefused, Changed, View, change};
pub use console::{Link, LinkFor};

use crate::audit::Hash;
use crate::id::{Resource, UserId};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// One thing that may be allowed. Reading needs none of them, only to be somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    /// Process tasks.
    InventoryManage,
    /// Claim, keep and release leases.
    LeasesUse,
    /// Put items into queues.
    QueuesProduce,
    /// Take items out of queues and settle them.
    QueuesConsume,
    /// Take or free what somebody else holds.
    LocksOverride,
    /// Change queues, retry and cancel items.
    QueuesManage,
    /// Read the audit.
    AuditRead,
    /// Manage people and their tokens.
    UsersManage,
    /// Manage synchronisation.
    SyncManage,
    /// Make sessions for an application's own users, and act on their behalf.
    SessionsMint,
}

impl Permission {
    /// All of them.
    pub const ALL: [Permission; 10] = [
        Permission::InventoryManage,
        Permission::LeasesUse,
        Permission::QueuesProduce,
        Permission::QueuesConsume,
        Permission::LocksOverride,
        Permission::QueuesManage,
        Permission::AuditRead,
        Permission::UsersManage,
        Permission::SyncManage,
        Permission::SessionsMint,
    ];

    /// Its name outside.
    pub fn as_str(self) -> &'static str {
        match self {
            Permission::InventoryManage => "inventory.manage",
            Permission::LeasesUse => "leases.use",
            Permission::QueuesProduce => "queues.produce",
            Permission::QueuesConsume => "queues.consume",
            Permission::LocksOverride => "locks.override",
            Permission::QueuesManage => "queues.manage",
            Permission::AuditRead => "audit.read",
            Permission::UsersManage => "users.manage",
            Permission::SyncManage => "sync.manage",
            Permission::SessionsMint => "sessions.mint",
        }
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Permission {
    type Err = String;
    fn from_str(text: &str) -> Result<Permission, String> {
        let found = Permission::ALL.into_iter().find(|permission| permission.as_str() == text);
        found.ok_or_else(|| {
            let all: Vec<&str> = Permission::ALL.iter().map(|permission| permission.as_str()).collect();
            format!("{text:?} is no permission; there are {}", all.join(", "))
        })
    }
}

/// A set of permissions.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Permissions(u16);

impl Permissions {
    /// What sessions of an application's users may do unless more is asked for: what a page needs that locks.
    pub const OF_A_PAGE: Permissions =
        Permissions(1 << Permission::InventoryManage as u16 | 1 << Permission::LeasesUse as u16);

    /// Everything.
    pub fn all() -> Permissions {
        Permission::ALL.into_iter().collect()
    }

    /// Whether it holds this one.
    pub fn has(self, permission: Permission) -> bool {
        self.0 & 1 << permission as u16 != 0
    }

    /// What both hold.
    pub fn and(self, other: Permissions) -> Permissions {
        Permissions(self.0 & other.0)
    }

    /// What either holds.
    pub fn or(self, other: Permissions) -> Permissions {
        Permissions(self.0 | other.0)
    }

    /// The first of these that `other` does not hold.
    pub fn beyond(self, other: Permissions) -> Option<Permission> {
        self.iter().find(|permission| !other.has(*permission))
    }

    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = Permission> {
        Permission::ALL.into_iter().filter(move |permission| self.has(*permission))
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(permissions: I) -> Permissions {
        permissions.into_iter().fold(Permissions(0), |set, one| Permissions(set.0 | 1 << one as u16))
    }
}

impl fmt::Debug for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Permission::as_str)).finish()
    }
}

/// Names separated by spaces: the way a set is stored.
impl fmt::Display for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(Permission::as_str).collect();
        f.write_str(&names.join(" "))
    }
}

impl FromStr for Permissions {
    type Err = String;
    fn from_str(text: &str) -> Result<Permissions, String> {
        text.split_whitespace().map(str::parse).collect::<Result<Vec<Permission>, _>>().map(Permissions::from_iter)
    }
}

/// What a person is, and hence may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Reads.
    Viewer,
    /// Also works: tasks, leases, queues.
    Editor,
    /// Everything.
    Admin,
}

impl Role {
    /// Its name outside.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Editor => "editor",
            Role::Admin => "admin",
        }
    }

    /// What it may do.
    pub fn permissions(self) -> Permissions {
        use Permission::{InventoryManage, LeasesUse, QueuesConsume, QueuesProduce};
        match self {
            Role::Viewer => Permissions::default(),
            Role::Editor => [InventoryManage, LeasesUse, QueuesProduce, QueuesConsume].into_iter().collect(),
            Role::Admin => Permissions::all(),
        }
    }
}

impl FromStr for Role {
    type Err = String;
    fn from_str(text: &str) -> Result<Role, String> {
        let found = [Role::Viewer, Role::Editor, Role::Admin].into_iter().find(|role| role.as_str() == text);
        found.ok_or_else(|| format!("{text:?} is no role; there are viewer, editor and admin"))
    }
}

/// Somebody whom Turno knows.
#[derive(Clone, PartialEq, Eq)]
pub struct Person {
    /// Their id.
    pub id: UserId,
    /// How people call them.
    pub name: String,
    /// What they are.
    pub role: Role,
    /// Locked out for now.
    pub disabled: bool,
    /// The hash of their password, if they have one; made and compared by the server.
    pub password: Option<String>,
    /// Since when.
    pub created_at: Time,
}

/// Without the password's hash: a value that is printed is a value that is logged.
impl fmt::Debug for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Person { id, name, role, disabled, created_at, .. } = self;
        write!(f, "Person({id}, {name:?}, {}, disabled: {disabled}, {created_at:?})", role.as_str())
    }
}

/// A token as it is kept: never the secret, only its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is called when it is listed or revoked.
    pub id: String,
    /// The hash of its secret.
    pub hash: Hash,
    /// For whom it speaks.
    pub user: UserId,
    /// How people call them, for a user that Turno does not know.
    pub name: Option<String>,
    /// It speaks for a machine, which must name its instance wherever it holds something.
    pub machine: bool,
    /// At most these; nothing means whatever its owner may do.
    pub scope: Option<Permissions>,
    /// Only leases whose names begin with one of these; empty means all.
    pub resources: Vec<String>,
    /// Dead from here on.
    pub expires_at: Option<Time>,
    /// Since when.
    pub created_at: Time,
    /// Who made it.
    pub created_by: UserId,
    /// The token that made this one for somebody else's user: it dies with it.
    pub parent: Option<String>,
    /// Somebody signed in with their password or by a link: it ends when that changes.
    pub console: bool,
    /// About when it was last used.
    pub last_used_at: Option<Time>,
}

/// How a token came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// Made to be kept, by a person or a program.
    Token,
    /// Made by an application for one of its own users.
    Session,
    /// Somebody signed in.
    Console,
}

impl TokenKind {
    /// Its name outside.
    pub fn as_str(self) -> &'static str {
        match self {
            TokenKind::Token => "token",
            TokenKind::Session => "session",
            TokenKind::Console => "console",
        }
    }
}

/// Who a request comes from, and what it may do. Good for one epoch of access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// Whose request it is.
    pub user: UserId,
    /// How people call them.
    pub name: String,
    /// The account that speaks for them, if it is not themselves.
    pub via: Option<UserId>,
    /// It is a machine.
    pub machine: bool,
    /// What it may do.
    pub permissions: Permissions,
    /// Only leases whose names begin with one of these; empty means all.
    pub resources: Vec<String>,
    /// The token it came with.
    pub token: String,
    /// Dead from here on.
    pub expires_at: Option<Time>,
}

/// Why somebody is not let in, or not let do it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// There is no such token, it has expired or was revoked, or its owner is locked out. Which one is not told.
    #[error("the token is not valid (any more); sign in again or ask for a new one")]
    Unauthenticated,
    /// They are known, and may not.
    #[error("this needs the permission {0}; ask an administrator for it")]
    Missing(Permission),
    /// The token is only for other resources.
    #[error("this token is not for {0}; use one whose resources include it")]
    OtherResource(Resource),
}

impl Token {
    /// How it came to be.
    pub fn kind(&self) -> TokenKind {
        match (&self.parent, self.console) {
            (_, true) => TokenKind::Console,
            (Some(_), false) => TokenKind::Session,
            (None, false) => TokenKind::Token,
        }
    }

    /// Who comes with this token at `now`, given its owner and, for a session, its maker as Turno knows them.
    ///
    /// A session's user need not be known; one who is known and locked out stays out. A session may never do more than
    /// its maker could give away now: whoever is locked out or may not make sessions any more has none.
    pub fn principal(&self, owner: Option<&Person>, maker: Option<&Person>, now: Time) -> Result<Principal, Denied> {
        if self.expires_at.is_some_and(|at| at <= now) || owner.is_some_and(|owner| owner.disabled) {
            return Err(Denied::Unauthenticated);
        }
        let (permissions, name, via) = match (&self.parent, owner) {
            (Some(_), owner) => {
                let mut may = self.scope.unwrap_or_default();
                if self.created_by != crate::audit::Actor::system().user {
                    let theirs = maker.filter(|maker| !maker.disabled).map(|maker| maker.role.permissions());
                    let theirs = theirs.filter(|theirs| theirs.has(Permission::SessionsMint));
                    may = may.and(theirs.ok_or(Denied::Unauthenticated)?);
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
            resources: self.resources.clone(),
            token: self.id.clone(),
            expires_at: self.expires_at,
        })
    }
}

impl Principal {
    /// Refuses unless it may.
    pub fn require(&self, permission: Permission) -> Result<(), Denied> {
        if self.permissions.has(permission) { Ok(()) } else { Err(Denied::Missing(permission)) }
    }

    /// Refuses a resource that its token is not for.
    pub fn require_resource(&self, resource: &Resource) -> Result<(), Denied> {
        let matches = |prefix: &String| resource.as_str().starts_with(prefix.as_str());
        if self.resources.is_empty() || self.resources.iter().any(matches) {
            Ok(())
        } else {
            Err(Denied::OtherResource(resource.clone()))
        }
    }

    /// The same request in the name of `user`, whom Turno need not know; `known` if it does.
    pub fn on_behalf_of(&self, user: UserId, known: Option<&Person>) -> Result<Principal, Denied> {
        self.require(Permission::SessionsMint)?;
        if known.is_some_and(|person| person.disabled) {
            return Err(Denied::Unauthenticated);
        }
        let theirs = known.map_or(Permissions::OF_A_PAGE, |person| person.role.permissions());
        Ok(Principal {
            name: known.map_or_else(|| user.to_string(), |person| person.name.clone()),
            user,
            via: Some(self.user.clone()),
            machine: false,
            permissions: theirs.and(self.mintable()),
            ..self.clone()
        })
    }

    /// It is the person as a whole: no machine, nobody's voice, nothing left out. What a narrower token must not do,
    /// such as making a wider one, this one may.
    pub fn is_whole(&self, role: Role) -> bool {
        let all = role.permissions().beyond(self.permissions).is_none();
        all && self.via.is_none() && !self.machine && self.resources.is_empty()
    }

    /// The most that it may hand on: what it holds itself, and what a page needs, which is what minting is for.
    pub fn mintable(&self) -> Permissions {
        self.permissions.or(Permissions::OF_A_PAGE)
    }

    /// Who acts, for the audit.
    pub fn actor(&self) -> crate::audit::Actor {
        crate::audit::Actor { user: self.user.clone(), via: self.via.clone() }
    }
}

/// Grows with every change that takes something away: what was settled under another one must be settled again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub i64);
