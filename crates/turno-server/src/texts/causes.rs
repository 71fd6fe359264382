//! Turns the errors of the library into messages, variant by variant.
//!
//! The library's errors carry data. Their messages are in `locales/errors.*.ftl`, in both languages.

mod lease;
mod source;
mod store;

use std::sync::LazyLock;

use turno::Error;
use turno::core::access::{ChangeRefused, Denied};
use turno::core::id::BadName;
use turno::core::limits::{NAME_MAX, PAYLOAD_DEPTH_MAX, SCOPE_MAX};
use turno::core::queue::BadPolicy;

use super::message::Message;
use super::sentences::Book;
use super::{Language, Texts};
#[expect(unused_imports, reason = "the edges move to messages step by step")]
pub(crate) use source::next_step;

pub(super) const ENGLISH: &str = include_str!("../../locales/causes.en.ftl");

/// An error that has a message for people.
pub(crate) trait Cause {
    /// Returns the message of the error.
    fn message(&self) -> Message;
}

/// Returns the message of an error.
#[expect(dead_code, reason = "the edges move to messages step by step")]
pub(crate) fn message(error: &impl Cause) -> Message {
    error.message()
}

impl Cause for Error {
    fn message(&self) -> Message {
        match self {
            Error::Invalid(text) => prose(text),
            Error::TooDeep { place } => {
                let field = place.trim_start_matches('/');
                Message::new("error-too-deep").text("field", field).number("max", PAYLOAD_DEPTH_MAX)
            }
            Error::Policy(bad) => bad.message(),
            Error::Denied(denied) => denied.message(),
            Error::Refused(refused) => refused.message(),
            Error::Lease(refused) => refused.message(),
            Error::Lost(loss) => loss.message(),
            Error::InstanceRequired => Message::new("error-instance-required"),
            Error::WrongStatus { task, status } => Message::new("error-wrong-status")
                .text("task", task)
                .message("status", Message::new("task-status").text("status", status)),
            Error::Unknown(text) => Message::new("error-unknown").message("thing", prose(text)),
            Error::Source(refused) => refused.message(),
            Error::Overloaded => Message::new("error-overloaded"),
            Error::Store(error) => error.message(),
            Error::Closed => Message::new("error-closed"),
        }
    }
}

impl Cause for BadName {
    fn message(&self) -> Message {
        let (id, kind, max) = match self {
            BadName::Empty(kind) => ("error-name-empty", kind, NAME_MAX),
            BadName::TooLong(kind) => ("error-name-long", kind, NAME_MAX),
            BadName::TooWide(kind) => ("error-name-long", kind, SCOPE_MAX),
            BadName::Control(kind) => ("error-name-control", kind, NAME_MAX),
        };
        let name = Message::new("error-name-kind").text("kind", kind.replace(' ', "_"));
        Message::new(id).message("name", name).number("max", max)
    }
}

impl Cause for BadPolicy {
    fn message(&self) -> Message {
        let BadPolicy { field, min, max } = self;
        Message::new("error-policy").text("field", field).number("min", *min).number("max", *max)
    }
}

impl Cause for Denied {
    fn message(&self) -> Message {
        match self {
            Denied::Unauthenticated => Message::new("error-unauthenticated"),
            Denied::Missing(permission) => Message::new("error-forbidden").text("permission", permission),
            Denied::OtherResource(resource) => Message::new("error-other-resource").text("resource", resource),
        }
    }
}

impl Cause for ChangeRefused {
    fn message(&self) -> Message {
        match self {
            ChangeRefused::Denied(denied) => denied.message(),
            ChangeRefused::MoreThanHeld(permission) => {
                Message::new("error-more-than-held").text("permission", permission)
            }
            ChangeRefused::LastAdmin(user) => Message::new("error-last-admin").text("user", user),
            ChangeRefused::HasAdmin => Message::new("error-has-admin"),
            ChangeRefused::Exists(user) => Message::new("error-user-exists").text("user", user),
            ChangeRefused::Unknown(text) => Message::new("error-unknown").message("thing", prose(text)),
            ChangeRefused::Invalid(text) => prose(text),
        }
    }
}

/// Shows a text as it is.
fn prose(text: impl std::fmt::Display) -> Message {
    Message::new("error-text").text("text", text)
}

/// Every sentence with its message name, in the order of the file.
static SENTENCES: LazyLock<Book> = LazyLock::new(|| Book::default().with(ENGLISH, "because-"));

/// Translates a cause. Returns it unchanged if no sentence matches.
pub(crate) fn translate(texts: &Texts, language: Language, cause: &str) -> String {
    match language {
        Language::English => cause.to_owned(),
        Language::Spanish => SENTENCES.translate(texts, language, cause).unwrap_or_else(|| cause.to_owned()),
    }
}

#[cfg(test)]
pub(super) mod tests;
