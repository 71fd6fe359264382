//! Changes of access and what is read of it.

use turno_core::access::{Change, ChangeRefused, Changed, Epoch, Person, Principal, Token, View, change};
use turno_core::audit::{Entry, Hash, Head, chain};
use turno_core::id::UserId;
use turno_core::time::Time;

/// One change of access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessGroup {
    /// Who asks for it; nobody means the program that embeds Turno, or its command line.
    pub by: Option<Principal>,
    /// What is asked for.
    pub wish: Change,
}

/// What the store read, with all of access locked against other changes.
#[derive(Debug)]
pub struct AccessRead {
    /// The database's clock, read after the locks.
    pub now: Time,
    /// About the person and the token that the change names.
    pub view: View,
    /// The head of the audit, locked.
    pub head: Head,
}

/// What is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessWrite {
    /// People and tokens; its `raises_epoch` says whether the epoch grows by one.
    pub changed: Changed,
    /// The entry of the audit.
    pub audit: Vec<Entry>,
}

/// The answer.
pub type AccessOutcome = Result<Changed, ChangeRefused>;

impl AccessGroup {
    /// The person to be read.
    pub fn user(&self) -> Option<&UserId> {
        self.wish.user()
    }

    /// The token to be read.
    pub fn token(&self) -> Option<&str> {
        self.wish.token()
    }

    /// The link to be read.
    pub fn link(&self) -> Option<Hash> {
        self.wish.link()
    }

    /// Decides; a refusal writes nothing.
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

/// Who came with a token, as the database knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenFound {
    /// The token with its owner; nothing if there is no such token.
    pub token: Option<(Token, Option<Person>)>,
    /// The epoch of access, read with it.
    pub epoch: Epoch,
    /// The database's time.
    pub now: Time,
}

/// Which entries of the audit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// Only behind this number, oldest first.
    pub after: Option<i64>,
    /// Only before this number, newest first; ignored if `after` is given.
    pub before: Option<i64>,
    /// Only this action.
    pub action: Option<String>,
    /// Only by this user, or by somebody for whom this user spoke.
    pub actor: Option<UserId>,
    /// Only about this.
    pub resource: Option<String>,
    /// At most so many.
    pub limit: u32,
}
