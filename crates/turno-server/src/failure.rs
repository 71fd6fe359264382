//! What a person is told when something does not work: the cause, and what to do next.

use std::io::Write;
use std::process::ExitCode;

use crate::texts::{Language, terminal};

/// An end that was not wished for.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What happened, as a lowercase fragment.
    pub(crate) cause: String,
    /// What the person can do about it.
    pub(crate) next: String,
    code: u8,
}

impl Failure {
    /// It was refused or went wrong: exit code 1.
    pub(crate) fn failed(cause: impl Into<String>, next: impl Into<String>) -> Self {
        Self { cause: cause.into(), next: next.into(), code: 1 }
    }

    /// It was asked for in a way that cannot work: exit code 2.
    pub(crate) fn usage(cause: impl Into<String>, next: impl Into<String>) -> Self {
        Self { cause: cause.into(), next: next.into(), code: 2 }
    }

    /// The same with an exit code that scripts tell apart.
    pub(crate) fn with_code(self, code: u8) -> Self {
        Self { code, ..self }
    }

    /// Says so on stderr.
    pub(crate) fn report(&self) -> ExitCode {
        // If stderr is closed nobody is there to be told; the exit code still says it.
        let next = match terminal::language() {
            Language::English => "next",
            Language::Spanish => "qué hacer",
        };
        let (cause, then) = (terminal::told(&self.cause), terminal::told(&self.next));
        let _ = writeln!(std::io::stderr(), "error: {cause}\n  {next}: {then}");
        ExitCode::from(self.code)
    }
}
