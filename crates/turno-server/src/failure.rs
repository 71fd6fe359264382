//! The error of a command, as a person reads it: the cause, and what to do next.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use crate::texts::message::Message;
use crate::texts::terminal::render;

/// A command that ended without doing what was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The cause, as a lowercase fragment. Its attribute `next` says what the person can do.
    message: Message,
    code: u8,
}

impl Failure {
    /// A refusal or an error: exit code 1.
    pub(crate) fn failed(message: Message) -> Self {
        Self { message, code: 1 }
    }

    /// Wrong usage: exit code 2.
    pub(crate) fn usage(message: Message) -> Self {
        Self { message, code: 2 }
    }

    /// Returns the same failure with another exit code, so that scripts can tell it apart.
    pub(crate) fn with_code(self, code: u8) -> Self {
        Self { code, ..self }
    }

    /// Returns the cause, for a message that contains it.
    pub(crate) fn into_message(self) -> Message {
        self.message
    }

    /// Returns a message with the cause and the next step of a source's failure.
    pub(crate) fn message_about(&self, source: &str) -> Message {
        let message = Message::new("sync-failure").text("source", source);
        message.text("cause", self.cause()).text("next", self.next())
    }

    /// Renders the cause in the language of the process.
    pub(crate) fn cause(&self) -> String {
        render(&self.message)
    }

    /// Renders the next step in the language of the process.
    pub(crate) fn next(&self) -> String {
        render(&self.message.next())
    }

    /// Writes the failure to stderr and returns the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        let (cause, next, label) = (self.cause(), self.next(), render(&Message::new("failure-next")));
        // A closed stderr is ignored: the exit code still reports the failure.
        let _ = writeln!(std::io::stderr(), "error: {cause}\n  {label}: {next}");
        ExitCode::from(self.code)
    }
}

/// Describes an error of the operating system by its kind. Shows the system's own words if the kind has no message.
pub(crate) fn io_cause(error: &std::io::Error) -> Message {
    match error.kind() {
        ErrorKind::NotFound => Message::new("io-not-found"),
        ErrorKind::PermissionDenied => Message::new("io-permission"),
        ErrorKind::AlreadyExists => Message::new("io-exists"),
        ErrorKind::IsADirectory => Message::new("io-folder"),
        ErrorKind::NotADirectory => Message::new("io-no-folder"),
        ErrorKind::InvalidData => Message::new("io-not-utf8"),
        ErrorKind::StorageFull => Message::new("io-full"),
        ErrorKind::ReadOnlyFilesystem => Message::new("io-read-only"),
        ErrorKind::AddrInUse => Message::new("io-address-in-use"),
        ErrorKind::AddrNotAvailable => Message::new("io-address-unknown"),
        ErrorKind::ConnectionRefused => Message::new("io-refused"),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof => Message::new("io-reset"),
        ErrorKind::TimedOut => Message::new("io-timeout"),
        _ => Message::verbatim(error),
    }
}
