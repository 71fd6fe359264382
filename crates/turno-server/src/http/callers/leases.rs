//! The live leases of one caller, as this server granted them.
//!
//! A lease counts from its claim until its release or its expiry. Leases that another instance granted, or this server
//! before its last start, are not counted.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use turno::core::id::Resource;
use turno::core::time::Time;

use super::{Limit, Usage, refusal};
use crate::http::problem::Problem;

/// The live leases of one caller.
#[derive(Debug, Default)]
pub(crate) struct Leases(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// When each lease expires.
    live: HashMap<Resource, Time>,
    /// The newest time that the caller's leases were seen at.
    now: Time,
    /// Claims under way.
    claimed: usize,
}

impl Inner {
    fn forget_expired(&mut self) {
        let now = self.now;
        self.live.retain(|_, expires_at| now < *expires_at);
    }
}

impl Leases {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many leases are live.
    pub(super) fn live(&self) -> usize {
        let mut inner = self.lock();
        inner.forget_expired();
        inner.live.len()
    }

    /// Records a lease after a command of the caller: its expiry if the caller holds it, otherwise `None`.
    pub(crate) fn record(&self, resource: &Resource, expires_at: Option<Time>, now: Time) {
        let mut inner = self.lock();
        inner.now = inner.now.max(now);
        match expires_at {
            Some(expires_at) => drop(inner.live.insert(resource.clone(), expires_at)),
            None => drop(inner.live.remove(resource)),
        }
    }

    /// Moves the time, so that expired leases stop counting.
    pub(crate) fn observe(&self, now: Time) {
        let mut inner = self.lock();
        inner.now = inner.now.max(now);
    }

    /// Returns whether the caller holds the lease already: a claim then only renews it.
    pub(crate) fn holds(&self, resource: &Resource) -> bool {
        let inner = self.lock();
        inner.live.get(resource).is_some_and(|expires_at| inner.now < *expires_at)
    }
}

/// Places for the leases of claims under way. Freed when dropped, after the granted leases were recorded.
#[derive(Debug)]
pub(crate) struct LeasePlaces {
    usage: Arc<Usage>,
    count: usize,
}

impl LeasePlaces {
    /// Reserves up to `wanted` places below the limit. 0 means no limit.
    pub(super) fn reserve(usage: &Arc<Usage>, wanted: usize, limit: usize) -> LeasePlaces {
        let mut inner = usage.leases.lock();
        let used = |inner: &Inner| inner.live.len().saturating_add(inner.claimed);
        if limit > 0 && used(&inner).saturating_add(wanted) > limit {
            inner.forget_expired();
        }
        let count = if limit == 0 { wanted } else { wanted.min(limit.saturating_sub(used(&inner))) };
        inner.claimed += count;
        drop(inner);
        LeasePlaces { usage: usage.clone(), count }
    }

    /// Returns how many places were reserved.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Reports that a lease has no place.
    pub(crate) fn refusal() -> Problem {
        refusal(Limit::Leases)
    }
}

impl Drop for LeasePlaces {
    fn drop(&mut self) {
        let mut inner = self.usage.leases.lock();
        inner.claimed = inner.claimed.saturating_sub(self.count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(n: usize) -> Resource {
        Resource::new(format!("caja:{n}")).expect("a valid name")
    }

    #[test]
    fn leases_count_from_the_claim_until_release_or_expiry() {
        let usage = Arc::new(Usage::default());
        let reserve = |wanted| LeasePlaces::reserve(&usage, wanted, 3);
        let under_way = reserve(2);
        assert_eq!((under_way.count(), reserve(2).count()), (2, 1), "claims under way count");
        drop(under_way);
        for n in 0..3 {
            usage.leases().record(&resource(n), Some(Time(100 + n as i64)), Time(0));
        }
        assert_eq!((reserve(1).count(), usage.leases().holds(&resource(0))), (0, true));
        usage.leases().record(&resource(2), None, Time(1));
        assert_eq!(reserve(2).count(), 1, "one was released");
        usage.leases().observe(Time(100));
        assert_eq!((reserve(9).count(), usage.leases().live()), (2, 1), "one has expired");
        assert!(!usage.leases().holds(&resource(0)));
        assert_eq!(LeasePlaces::reserve(&usage, 9, 0).count(), 9, "the negative control: no limit");
    }
}
