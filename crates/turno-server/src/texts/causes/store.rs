//! Messages of the stores' errors.

use turno::store::{FileFault, StoreError};

use super::Cause;
use crate::texts::message::Message;

impl Cause for StoreError {
    fn message(&self) -> Message {
        match self {
            StoreError::Unavailable(cause) => Message::new("error-store-unavailable").text("cause", cause),
            StoreError::Unknown(cause) => Message::new("error-store-unknown").text("cause", cause),
            StoreError::Conflict(cause) => Message::new("error-store-conflict").text("cause", cause),
            StoreError::Rejected(cause) => Message::new("error-store-rejected").text("cause", cause),
            StoreError::AccessChanged => Message::new("error-access-changed"),
            StoreError::QueueGone => Message::new("error-queue-gone"),
            StoreError::Schema(cause) => Message::verbatim(cause),
            StoreError::File(fault) => fault.message(),
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
