//! Messages of the stores' errors.

use turno::store::{FileFault, SchemaFault, StoreError, TlsFault, UrlFault};

use super::Cause;
use crate::texts::message::Message;

impl Cause for StoreError {
    fn message(&self) -> Message {
        match self {
            StoreError::Unavailable(cause) => Message::new("error-store-unavailable").text("cause", cause),
            StoreError::Tls(fault) => fault.message(),
            StoreError::Unknown(cause) => Message::new("error-store-unknown").text("cause", cause),
            StoreError::Conflict(cause) => Message::new("error-store-conflict").text("cause", cause),
            StoreError::Rejected(cause) => Message::new("error-store-rejected").text("cause", cause),
            StoreError::AccessChanged => Message::new("error-access-changed"),
            StoreError::QueueGone => Message::new("error-queue-gone"),
            StoreError::KindStays { name, kind } => {
                Message::new("error-kind-stays").text("name", name).text("kind", kind.as_str())
            }
            StoreError::Bug(what) => Message::new("error-bug").text("what", what),
            StoreError::Schema(fault) => fault.message(),
            StoreError::File(fault) => fault.message(),
        }
    }
}

impl Cause for SchemaFault {
    fn message(&self) -> Message {
        match self {
            SchemaFault::Missing { wanted } => Message::new("error-schema-missing").number("wanted", *wanted),
            SchemaFault::Old { found, wanted } => {
                Message::new("error-schema-old").number("found", *found).number("wanted", *wanted)
            }
            SchemaFault::New { found, wanted } => {
                Message::new("error-schema-new").number("found", *found).number("wanted", *wanted)
            }
            SchemaFault::Garbled(text) => Message::verbatim(text),
        }
    }
}

impl Cause for TlsFault {
    fn message(&self) -> Message {
        let message = Message::new("error-tls").text("fault", self.code());
        match self {
            TlsFault::WrongName { host, names } => message.text("host", host).text("names", names.join(", ")),
            TlsFault::Certificate(cause) | TlsFault::Handshake(cause) => message.text("cause", cause),
            TlsFault::File { parameter, path, problem } => Message::new("error-tls-file")
                .text("parameter", parameter)
                .text("path", path)
                .text("problem", problem.code()),
            _ => message,
        }
    }
}

impl Cause for UrlFault {
    fn message(&self) -> Message {
        let message = Message::new("error-url").text("fault", self.code());
        match self {
            UrlFault::Unknown(name) | UrlFault::Value(name) => message.text("name", name),
            _ => message,
        }
    }
}

impl Cause for FileFault {
    fn message(&self) -> Message {
        let message = Message::new("error-file").text("fault", self.code());
        match self {
            FileFault::Unwritable(cause) => message.text("cause", cause),
            _ => message,
        }
    }
}
