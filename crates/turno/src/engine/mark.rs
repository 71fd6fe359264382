//! The recorded time, raised by answers that say that something is over.
//!
//! Commits record the time that they decided with, up to a second late. A read writes nothing: if it says that a lease is
//! free because its time is over, the process is killed and the clock is set back, the next process would find the lease
//! live again. So the time is recorded before such an answer is given. That costs one small commit per expiry, and
//! nothing while nothing expires.

use super::Inner;
use crate::store::StoreError;
use turno_core::time::Time;

impl Inner {
    /// Records `now` durably, if an answer as of `now` depends on one of `ends` being over and that is not recorded yet.
    pub(crate) async fn record(&self, now: Time, ends: impl IntoIterator<Item = Time>) -> Result<(), StoreError> {
        let recorded = self.store.recorded();
        let is_news = |end: &Time| *end <= now && recorded.is_none_or(|recorded| recorded < *end);
        if ends.into_iter().any(|end| is_news(&end)) { self.store.raise_mark(now).await } else { Ok(()) }
    }
}
