//! Kept answers of calls with an idempotency key, for repeats of the call.

use super::Pending;
use turno_core::audit::Hash;
use turno_core::id::Once;
use turno_core::time::Time;

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

/// Answers to calls with an idempotency key.
pub trait AnswerStore {
    /// Returns the answer kept under a key, and when it was made.
    fn answer(&self, once: Once) -> Pending<'_, Option<(Answer, Time)>>;

    /// Keeps an answer made at `at`, unless one made at `lapsed` or later is kept already. Returns the kept answer.
    fn keep_answer(&self, once: Once, answer: Answer, at: Time, lapsed: Time) -> Pending<'_, Answer>;
}
