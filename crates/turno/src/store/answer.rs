//! Kept answers of calls with an idempotency key, for repeats of the call.

use turno_core::audit::Hash;

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The hash of the request. The same key with another fingerprint is the caller's mistake.
    pub fingerprint: Hash,
    /// The status code of the answer.
    pub status: u16,
    /// The body of the answer.
    pub body: String,
}
