//! Errors of the library. A command as data returns a refusal as an answer; a verb of a handle returns it as
//! [`Error::Lease`] or [`Error::Task`].

use crate::store::{StoreError, UrlFault};
use std::convert::Infallible;
use turno_core::access::{ChangeRefused, Denied};
use turno_core::fault::{Fault, Invalid, Thing};
use turno_core::id::{BadName, UserId};
use turno_core::queue::BadPolicy;
use turno_core::sync::SourceRefused;

/// Why an operation was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A field of the call is invalid.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// A text is not a valid name.
    #[error(transparent)]
    Name(#[from] BadName),
    /// The call does not fit this handle or this program.
    #[error(transparent)]
    Misuse(#[from] Misuse),
    /// The policy of a queue or of a lease is invalid.
    #[error(transparent)]
    Policy(#[from] BadPolicy),
    /// The caller is not authenticated, or lacks a permission.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// The change of access is not allowed or not possible.
    #[error(transparent)]
    Refused(ChangeRefused),
    /// A lease refused the command.
    #[error(transparent)]
    Lease(#[from] turno_core::lease::Refused),
    /// A task refused the command.
    #[error(transparent)]
    Task(#[from] turno_core::task::Refused),
    /// A held lease was lost before it was released.
    #[error(transparent)]
    Lost(#[from] crate::engine::hold::Loss),
    /// A machine's token must name an instance to hold a lease.
    #[error("a machine's token must name its instance; add one")]
    InstanceRequired,
    /// The task's status does not allow a lease.
    #[error("task {task} is {status}, and cannot be locked")]
    WrongStatus {
        /// The task.
        task: i64,
        /// Its status.
        status: &'static str,
    },
    /// The named thing does not exist.
    #[error("{0} is not known; create it first")]
    Unknown(Thing),
    /// The source's description does not fit the database.
    #[error(transparent)]
    Source(#[from] SourceRefused),
    /// Too many commands are waiting. Nothing was stored; try again in a moment.
    #[error("overloaded; nothing was stored, try again in a moment")]
    Overloaded,
    /// The database could not be reached or did not answer. Nothing was stored unless the error says otherwise.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The engine has been closed.
    #[error("closed; open it again")]
    Closed,
    /// The system has no random numbers for secrets, with its own text.
    #[error("the system has no randomness: {0}")]
    NoRandomness(String),
    /// A state that cannot occur: the error is Turno's.
    #[error("a bug: {0}")]
    Bug(&'static str),
}

/// A call that does not fit its handle or its program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misuse {
    /// The handle has a caller, and only the embedding program's own handle may do this.
    #[error("a handle that acts for a caller cannot go around the rules")]
    TrustedOnly,
    /// The handle has no caller who could act for another user.
    #[error("only an authenticated caller can act for another user; authenticate first")]
    NotAuthenticated,
    /// The caller would hold a lease as another user.
    #[error("{caller} cannot hold anything as {holder}; act on their behalf instead")]
    OtherHolder {
        /// The caller.
        caller: UserId,
        /// The user in the command.
        holder: UserId,
    },
    /// The caller's token is restricted, or its user is no administrator.
    #[error("only a full administrator's token can copy the database")]
    FullAdminOnly,
    /// Leases of a user end when the user is disabled. No call ends them directly.
    #[error("disable the user instead; their leases end with that")]
    Expel,
    /// The engine looks at leases itself, when they are due.
    #[error("the engine looks at leases itself, when they are due")]
    Look,
    /// The delivery has no key, so it belongs to no source.
    #[error("a delivery without a key belongs to no source")]
    NoKey,
    /// The text names no database.
    #[error("the database must be given as sqlite:PATH or postgres://USER@HOST/DATABASE")]
    DatabaseUrl,
    /// A parameter of the database's URL cannot be used.
    #[error(transparent)]
    DatabaseParameter(#[from] UrlFault),
}

impl Error {
    /// Returns the stable code of the error, the same as in the HTTP API.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Invalid(Invalid { fault: Fault::TooDeep { .. }, .. }) => "payload_too_deep",
            Error::Invalid(_) | Error::Name(_) | Error::Misuse(_) | Error::Policy(_) | Error::Source(_) => "invalid",
            Error::Denied(denied) | Error::Refused(ChangeRefused::Denied(denied)) => denied_code(denied),
            Error::Refused(ChangeRefused::MoreThanHeld(_)) => "more_than_held",
            Error::Refused(ChangeRefused::LastAdmin(_)) => "last_admin",
            Error::Refused(ChangeRefused::Exists(_)) => "already_exists",
            Error::Refused(ChangeRefused::Linked(_)) => "identity_linked",
            Error::Refused(ChangeRefused::Unknown(_)) => "not_found",
            Error::Refused(ChangeRefused::HasAdmin | ChangeRefused::Invalid(_)) => "invalid",
            Error::Lease(refused) => refused.code(),
            Error::Task(refused) => refused.code(),
            Error::Lost(_) => "lease_lost",
            Error::InstanceRequired => "instance_required",
            Error::WrongStatus { .. } => "wrong_status",
            Error::Unknown(_) => "not_found",
            Error::Overloaded => "overloaded",
            Error::Store(StoreError::Unavailable(_) | StoreError::Tls(_) | StoreError::Conflict(_)) => {
                "database_unavailable"
            }
            Error::Store(StoreError::File(fault)) => fault.code(),
            Error::Store(StoreError::Unknown(_)) => "outcome_unknown",
            Error::Store(_) | Error::NoRandomness(_) | Error::Bug(_) => "internal",
            Error::Closed => "stopping",
        }
    }
}

fn denied_code(denied: &Denied) -> &'static str {
    match denied {
        Denied::Unauthenticated => "unauthenticated",
        Denied::Missing(_) => "forbidden",
        Denied::OtherResource(_) | Denied::OtherQueue(_) => "other_resource",
    }
}

/// Lets functions that convert a text into a name also accept the name itself.
impl From<Infallible> for Error {
    fn from(never: Infallible) -> Error {
        match never {}
    }
}
