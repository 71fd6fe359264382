//! Builds the documentation without warnings, and checks links and that translations match.

use crate::tidy;
use crate::tools::{Problem, StepResult, cargo_with};

/// Runs the three checks. The cheap ones run also if rustdoc has failed.
pub(crate) fn run() -> StepResult {
    let arguments = ["doc", "--workspace", "--no-deps", "--locked"];
    let built = cargo_with(&arguments, &[("RUSTDOCFLAGS", "-D warnings")]);
    let texts = tidy::texts();
    match (built, texts) {
        (Ok(()), texts) => texts,
        (built, Ok(())) => built,
        (Err(built), Err(texts)) => Err(Problem::failed(format!("{built}; {texts}"))),
    }
}
