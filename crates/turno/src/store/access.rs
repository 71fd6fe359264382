//! Changes of access, and reads about it.

use turno_core::access::{Change, ChangeRefused, Changed, Epoch, Person, Principal, Token, View, change};
use turno_core::audit::{Entry, Hash, Head, chain};
use turno_core::id::UserId;
use turno_core::time::Time;

/// One change of access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessGroup {
    /// The principal; `None` for the program that embeds Turno and for the command line.
    pub by: Option<Principal>,
    /// The requested change.
    pub wish: Change,
}

/// The rows that the store read, with all of access locked against other changes.
#[derive(Debug)]
pub struct AccessRead {
    /// The database's clock, read after the locks.
    pub now: Time,
    /// The person, the token and the link that the change names.
    pub view: View,
    /// The head of the audit, locked.
    pub head: Head,
}

/// The rows to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessWrite {
    /// People and tokens. `raises_epoch` says whether the epoch grows by one.
    pub changed: Changed,
    /// The audit entry.
    pub audit: Vec<Entry>,
}

/// The answer to a change of access.
pub type AccessOutcome = Result<Changed, ChangeRefused>;

impl AccessGroup {
    /// Returns the person to read.
    pub fn user(&self) -> Option<&UserId> {
        self.wish.user()
    }

    /// Returns the token to read.
    pub fn token(&self) -> Option<&str> {
        self.wish.token()
    }

    /// Returns the link to read.
    pub fn link(&self) -> Option<Hash> {
        self.wish.link()
    }

    /// Decides the change. A refusal writes nothing.
    pub fn decide(&self, read: AccessRead) -> (Option<AccessWrite>, AccessOutcome) {
        let AccessRead { now, view, mut head } = read;
        match change(self.by.as_ref(), &self.wish, view, now) {
            Ok(changed) => {
                let audit = chain(&mut head, now, vec![changed.audit.clone()]);
                (Some(AccessWrite { changed: changed.clone(), audit }), Ok(changed))
            }
            Err(refused) => (None, Err(refused)),
        }
    }
}

/// The result of looking up a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenFound {
    /// The token with its owner; `None` if the token does not exist.
    pub token: Option<(Token, Option<Person>)>,
    /// The epoch of access, read together with the token.
    pub epoch: Epoch,
    /// The database's time.
    pub now: Time,
}

/// A filter for audit entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// Only entries behind this number, oldest first.
    pub after: Option<i64>,
    /// Only entries before this number, newest first; ignored if `after` is given.
    pub before: Option<i64>,
    /// Only entries with this action.
    pub action: Option<String>,
    /// Only entries by this user, or by a principal on whose behalf this user acted.
    pub actor: Option<UserId>,
    /// Only entries about this resource.
    pub resource: Option<String>,
    /// The maximum number of entries.
    pub limit: u32,
}
