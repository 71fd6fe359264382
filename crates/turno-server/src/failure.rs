//! The error of a command, as a person reads it: the cause, and what to do next.

use std::io::Write;
use std::process::ExitCode;

use crate::texts::{Language, terminal};

/// A command that ended without doing what was asked.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What happened, as a lowercase fragment.
    pub(crate) cause: String,
    /// What the person can do next.
    pub(crate) next: String,
    code: u8,
}

impl Failure {
    /// A refusal or an error: exit code 1.
    pub(crate) fn failed(cause: impl Into<String>, next: impl Into<String>) -> Self {
        Self { cause: cause.into(), next: next.into(), code: 1 }
    }

    /// Wrong usage: exit code 2.
    pub(crate) fn usage(cause: impl Into<String>, next: impl Into<String>) -> Self {
        Self { cause: cause.into(), next: next.into(), code: 2 }
    }

    /// Returns the same failure with another exit code, so that scripts can tell it apart.
    pub(crate) fn with_code(self, code: u8) -> Self {
        Self { code, ..self }
    }

    /// Writes the failure to stderr in the reader's language, and returns the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        // A closed stderr is ignored: the exit code still reports the failure.
        let next = match terminal::language() {
            Language::English => "next",
            Language::Spanish => "qué hacer",
        };
        let (cause, then) = (terminal::translate(&self.cause), terminal::translate(&self.next));
        let _ = writeln!(std::io::stderr(), "error: {cause}\n  {next}: {then}");
        ExitCode::from(self.code)
    }
}
