//! Changes of access, and reads about it.

use super::Pending;
use turno_core::access::{
    Change, ChangeRefused, Changed, Epoch, Identity, Link, PaceKeys, PaceStep, PaceVerdict, Person, Principal, Token,
    View, change,
};
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
    /// Returns the person to read. For a revocation this is the caller, whose rights the token must have.
    pub fn user(&self) -> Option<&UserId> {
        let by = self.by.as_ref().filter(|_| self.wish.token().is_some());
        self.wish.user().or(by.map(|by| &by.user))
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

/// People, tokens and links. Other changes of access are groups.
pub trait AccessStore {
    /// Finds a token by the hash of its secret, with its owner.
    fn token(&self, hash: Hash) -> Pending<'_, TokenFound>;

    /// Finds a link by the hash of its secret.
    fn link(&self, hash: Hash) -> Pending<'_, Option<Link>>;

    /// Returns how many administrators can sign in.
    fn admins(&self) -> Pending<'_, i64>;

    /// Returns the epoch of access.
    fn epoch(&self) -> Pending<'_, Epoch>;

    /// Returns a person.
    fn person(&self, id: UserId) -> Pending<'_, Option<Person>>;

    /// Returns the person with an identity of an OpenID provider.
    fn person_of(&self, identity: Identity) -> Pending<'_, Option<Person>>;

    /// Returns people ordered by id.
    fn people(&self, after: Option<UserId>, limit: u32) -> Pending<'_, Vec<Person>>;

    /// Returns tokens ordered by id, sessions included, of one user or of all users.
    fn tokens(&self, user: Option<UserId>, after: Option<String>, limit: u32) -> Pending<'_, Vec<Token>>;

    /// Counts the tokens, without sessions, that expire after `after` and not after `until`.
    fn tokens_expiring(&self, after: Time, until: Time) -> Pending<'_, i64>;

    /// Records when tokens were last used. A recorded time never moves back.
    fn touch_tokens(&self, used: Vec<(String, Time)>) -> Pending<'_, ()>;

    /// Extends a console session until `until`, if the session exists and would end earlier. Returns whether it was
    /// extended.
    fn renew_session(&self, id: String, until: Time) -> Pending<'_, bool>;

    /// Counts a step of a sign-in under the locks of its counts, as [`pace`](turno_core::access::pace) decides. Removes
    /// some counts that have no effect any more.
    fn pace_sign_in(&self, keys: PaceKeys, step: PaceStep) -> Pending<'_, PaceVerdict>;
}
