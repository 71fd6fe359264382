//! The answer to a call that is done once, kept for whoever repeats it.

use turno_core::audit::Hash;

/// What a call was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Of what was asked: the same key with another one is a mistake of the caller's.
    pub fingerprint: Hash,
    /// A number that says how it went.
    pub status: u16,
    /// What was said.
    pub body: String,
}
