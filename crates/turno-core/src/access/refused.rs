//! The reasons why a change of access is refused.

use super::{Denied, Permission, Role};
use crate::fault::Thing;
use crate::id::UserId;
use crate::time::Span;

/// The reason why a change is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeRefused {
    /// The caller lacks a permission.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// The caller does not hold this permission, so the caller cannot grant it.
    #[error("you do not hold {0} yourself, so you cannot grant or take it; ask a user who holds it")]
    MoreThanHeld(Permission),
    /// The change would leave no administrator.
    #[error("{0} is the last administrator; make another user administrator first")]
    LastAdmin(UserId),
    /// A setup link was requested, but there is already an administrator.
    #[error("there is an administrator already; ask them, or create a sign-in link for a user")]
    HasAdmin,
    /// The person already exists.
    #[error("{0} exists already; change them, or choose another id")]
    Exists(UserId),
    /// The identity belongs to this person already.
    #[error("this identity is linked to {0} already; remove that link first")]
    Linked(UserId),
    /// There is no such person, token or link.
    #[error("{0} is not known")]
    Unknown(Thing),
    /// The input is invalid, or the caller's token is too restricted.
    #[error(transparent)]
    Invalid(#[from] BadChange),
}

/// The reason why a change can never take place as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadChange {
    /// The caller's token is limited to some resources or queues, so it cannot manage people.
    #[error("a token for some resources or queues cannot manage people")]
    LimitedToken,
    /// The caller's token is restricted, so it cannot change its owner's account.
    #[error("only a full token of your own can change your account")]
    RestrictedToken,
    /// The owner's role lacks a permission, so no token of the owner can have it.
    #[error("{user} is {} and may not {permission}, so no token of theirs can; change the role first", .role.as_str())]
    RoleLacks {
        /// The owner.
        user: UserId,
        /// The owner's role.
        role: Role,
        /// The permission.
        permission: Permission,
    },
    /// The token's expiry is in the past.
    #[error("the token would have expired already; give it a later time")]
    Expired,
    /// The owner has as many tokens as possible.
    #[error("{user} has {max} tokens, which is the most; revoke some first")]
    TooManyTokens {
        /// The owner.
        user: UserId,
        /// The most tokens.
        max: i64,
    },
    /// The ttl of a session is out of bounds.
    #[error("a session lives 1 to {} seconds", .max.0 / 1000)]
    SessionTtl {
        /// The longest ttl.
        max: Span,
    },
    /// The ttl of a link is out of bounds.
    #[error("a link lives 1 to {} seconds", .max.0 / 1000)]
    LinkTtl {
        /// The longest ttl.
        max: Span,
    },
    /// The overlap of a rotated token is out of bounds.
    #[error("the old token stays valid for at most {} seconds", .max.0 / 1000)]
    Overlap {
        /// The longest overlap.
        max: Span,
    },
    /// A session cannot have this permission.
    #[error("a session cannot hold {0}; use a token of its own")]
    NotForSessions(Permission),
    /// The new token would outlive the restricted token that makes it, or be of another kind.
    #[error("this token cannot make one that outlives it or is of another kind")]
    Outlives,
    /// The new token would reach more resources or queues than the token that makes it.
    #[error("a token cannot reach further than the one that makes it")]
    ReachesFurther,
    /// Only the program that embeds Turno may do this.
    #[error("only the program that embeds Turno signs users in, and makes and uses links")]
    ProgramOnly,
}
