//! The recorded time, raised before an answer says that something has expired.
//!
//! Commits record the time of their decisions, up to a second late. A read records nothing by itself. Suppose a read
//! answers that a lease has expired, then the process is killed and the clock is set back: the next process would find
//! the lease live again. So the time is recorded before such an answer. This costs one small commit per expiry, and
//! nothing otherwise.

use super::Inner;
use crate::store::StoreError;
use turno_core::time::Time;

impl Inner {
    /// Records `now` durably if an answer at `now` depends on the expiry of one of `ends` and a time past it is not
    /// recorded yet.
    pub(crate) async fn record(&self, now: Time, ends: impl IntoIterator<Item = Time>) -> Result<(), StoreError> {
        let recorded = self.store.recorded();
        let is_news = |end: &Time| *end <= now && recorded.is_none_or(|recorded| recorded < *end);
        if ends.into_iter().any(|end| is_news(&end)) { self.store.raise_mark(now).await } else { Ok(()) }
    }
}
