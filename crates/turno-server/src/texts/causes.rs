//! Turns the errors of the library into messages, variant by variant.
//!
//! The library's errors carry data. Their messages are in `locales/errors.*.ftl`, in both languages.

mod access;
mod fault;
mod lease;
mod source;
mod store;

use turno::{Error, Misuse};

use super::message::Message;

/// An error that has a message for people.
pub(crate) trait Cause {
    /// Returns the message of the error.
    fn message(&self) -> Message;
}

/// Returns the message of an error.
pub(crate) fn message(error: &impl Cause) -> Message {
    error.message()
}

impl Cause for Message {
    fn message(&self) -> Message {
        self.clone()
    }
}

impl Cause for Error {
    fn message(&self) -> Message {
        match self {
            Error::Invalid(invalid) => invalid.message(),
            Error::Name(bad) => bad.message(),
            Error::Misuse(misuse) => misuse.message(),
            Error::Policy(bad) => bad.message(),
            Error::Denied(denied) => denied.message(),
            Error::Refused(refused) => refused.message(),
            Error::Lease(refused) => refused.message(),
            Error::Lost(loss) => loss.message(),
            Error::InstanceRequired => Message::new("error-instance-required"),
            Error::WrongStatus { task, status } => Message::new("error-wrong-status")
                .text("task", task)
                .message("status", Message::new("task-status").text("status", status)),
            Error::Unknown(thing) => Message::new("error-unknown").message("thing", thing.message()),
            Error::Source(refused) => refused.message(),
            Error::Overloaded => Message::new("error-overloaded"),
            Error::Store(error) => error.message(),
            Error::Closed => Message::new("error-closed"),
            Error::NoRandomness(cause) => Message::new("error-no-randomness").text("cause", cause),
            Error::Bug(what) => Message::new("error-bug").text("what", what),
            // The server executes tasks as commands, whose refusals are answers.
            error => Message::verbatim(error.to_string()),
        }
    }
}

impl Cause for Misuse {
    fn message(&self) -> Message {
        match self {
            Misuse::TrustedOnly => Message::new("error-trusted-only"),
            Misuse::NotAuthenticated => Message::new("error-not-authenticated"),
            Misuse::OtherHolder { caller, holder } => {
                Message::new("error-other-holder").text("caller", caller).text("holder", holder)
            }
            Misuse::FullAdminOnly => Message::new("error-full-admin-only"),
            Misuse::Expel => Message::new("error-expel"),
            Misuse::Look => Message::new("error-look"),
            Misuse::NoKey => Message::new("error-no-key"),
            Misuse::DatabaseUrl => Message::new("error-database-url"),
            Misuse::DatabaseParameter(fault) => fault.message(),
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
