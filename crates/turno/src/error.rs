//! What can go wrong. A refusal is not here: it is an answer.

use crate::store::StoreError;
use std::convert::Infallible;
use turno_core::access::{ChangeRefused, Denied};
use turno_core::id::BadName;
use turno_core::limits::PAYLOAD_DEPTH_MAX;
use turno_core::queue::BadPolicy;
use turno_core::sync::SourceRefused;

/// Why an operation could not be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// What was asked for cannot be asked for.
    #[error("{0}")]
    Invalid(String),
    /// A payload is nested deeper than [`turno_core::limits::PAYLOAD_DEPTH_MAX`] levels.
    #[error("{place} is nested deeper than {PAYLOAD_DEPTH_MAX} levels; flatten it, or send it as a text")]
    TooDeep {
        /// Which one, as in `/3/payload`.
        place: String,
    },
    /// A queue cannot have this policy.
    #[error(transparent)]
    Policy(#[from] BadPolicy),
    /// Not let in, or not allowed to.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// A change of access that nobody may make, or that makes no sense.
    #[error(transparent)]
    Refused(ChangeRefused),
    /// A machine holds nothing without saying which of its processes does.
    #[error("a machine's token must name its instance; add one")]
    InstanceRequired,
    /// A task cannot be locked in its status.
    #[error("task {task} is {status}, and cannot be locked")]
    WrongStatus {
        /// Which task.
        task: i64,
        /// Its status.
        status: &'static str,
    },
    /// There is no such thing.
    #[error("{0} is not known; create it first")]
    Unknown(String),
    /// A source cannot be used as it is described.
    #[error(transparent)]
    Source(#[from] SourceRefused),
    /// Too much work is waiting already; nothing was stored. Try again in a moment.
    #[error("overloaded; nothing was stored, try again in a moment")]
    Overloaded,
    /// The database could not be asked, or did not answer; nothing was stored unless said otherwise.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The engine has been closed.
    #[error("closed; open it again")]
    Closed,
}

/// So that a name that is one already can be passed where a text could be.
impl From<Infallible> for Error {
    fn from(never: Infallible) -> Error {
        match never {}
    }
}

impl From<BadName> for Error {
    fn from(bad: BadName) -> Error {
        Error::Invalid(bad.to_string())
    }
}
