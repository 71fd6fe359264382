//! Memory budgets for bodies. Callers share a budget, and one caller may hold at most a quarter of it.
//!
//! A body waits for memory instead of being refused at once, because the client has nothing to correct. The caller's
//! share is taken before the shared memory, so that a caller who waits for a share holds nothing that other callers
//! wait for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::caller::CallerId;
use crate::http::problem::{Code, Problem};

/// Memory is counted in KiB, because a semaphore hands out at most 2³² permits at once.
const UNIT: usize = 1 << 10;
/// The part of a budget that one caller may hold.
const PART: usize = 4;
/// Unused shares are removed when the map has this many entries, and again when it has twice the used ones.
const SWEEP_MIN: usize = 64;

/// The memory of one kind of bodies.
#[derive(Debug)]
pub(crate) struct Budget {
    size: usize,
    shared: Arc<Semaphore>,
    shares: Mutex<Shares>,
}

/// The remaining share of each caller. A share is unused if no body holds it or waits for it.
#[derive(Debug)]
struct Shares {
    by_caller: HashMap<CallerId, Weak<Semaphore>>,
    sweep_at: usize,
}

/// Memory that a body holds. Freed when dropped.
#[derive(Debug)]
pub(crate) struct Reserved {
    share: OwnedSemaphorePermit,
    shared: OwnedSemaphorePermit,
}

impl Budget {
    pub(super) fn new(bytes: usize) -> Budget {
        let size = bytes / UNIT;
        let shares = Shares { by_caller: HashMap::new(), sweep_at: SWEEP_MIN };
        Budget { size, shared: Arc::new(Semaphore::new(size)), shares: Mutex::new(shares) }
    }

    /// Reserves this much memory. Waits at most `patience` for the caller's share and again for the shared memory.
    /// Returns `too_many_requests` if the caller's own bodies use up its share, and `overloaded` if all bodies use up
    /// the budget.
    pub(super) async fn reserve(
        &self,
        caller: CallerId,
        bytes: usize,
        patience: Duration,
    ) -> Result<Reserved, Problem> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let acquire = async |from: Arc<Semaphore>, code| {
            let acquired = tokio::time::timeout(patience, from.acquire_many_owned(units)).await;
            acquired.ok().and_then(Result::ok).ok_or_else(|| Problem::new(code))
        };
        let share = acquire(self.share(caller), Code::TooMany).await?;
        let shared = acquire(self.shared.clone(), Code::Overloaded).await?;
        Ok(Reserved { share, shared })
    }

    /// Returns the number of reserved bytes.
    pub(crate) fn reserved(&self) -> usize {
        self.size.saturating_sub(self.shared.available_permits()).saturating_mul(UNIT)
    }

    fn share(&self, caller: CallerId) -> Arc<Semaphore> {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        if shares.by_caller.len() >= shares.sweep_at {
            shares.by_caller.retain(|_, share| share.strong_count() > 0);
            shares.sweep_at = shares.by_caller.len().saturating_mul(2).max(SWEEP_MIN);
        }
        let known = shares.by_caller.entry(caller).or_default();
        known.upgrade().unwrap_or_else(|| {
            let fresh = Arc::new(Semaphore::new(self.size / PART));
            *known = Arc::downgrade(&fresh);
            fresh
        })
    }
}

impl Reserved {
    /// Frees what is beyond this many bytes.
    pub(super) fn shrink(&mut self, bytes: usize) {
        for permit in [&mut self.share, &mut self.shared] {
            drop(permit.split(permit.num_permits().saturating_sub(bytes.div_ceil(UNIT))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    const MIB: usize = 1 << 20;
    const PATIENCE: Duration = Duration::from_secs(600);

    fn caller(name: &str) -> CallerId {
        CallerId::user(name.try_into().expect("a valid id"))
    }

    fn at_once(budget: &Budget, name: &str, bytes: usize) -> Option<Reserved> {
        budget.reserve(caller(name), bytes, PATIENCE).now_or_never().map(|reserved| reserved.expect("memory is free"))
    }

    #[tokio::test]
    async fn one_caller_reserves_a_quarter_and_leaves_the_rest_to_others() {
        let budget = Budget::new(64 * MIB);
        let _held = [8, 8].map(|size| at_once(&budget, "ana", size * MIB).expect("within the share"));
        assert!(at_once(&budget, "ana", 1).is_none(), "ana has her quarter");
        assert!(at_once(&budget, "leo", 16 * MIB).is_some());
        assert_eq!(budget.reserved(), 16 * MIB);
    }

    #[tokio::test]
    async fn four_callers_reserve_everything_and_the_fifth_waits_for_the_first_who_ends() {
        let budget = Budget::new(64 * MIB);
        let mut held: Vec<_> = ["ana", "leo", "eva", "sol"].map(|name| at_once(&budget, name, 16 * MIB)).into();
        assert!(held.iter().all(Option::is_some) && budget.reserved() == 64 * MIB);
        let mut fifth = Box::pin(budget.reserve(caller("rosa"), MIB, PATIENCE));
        assert!(fifth.as_mut().now_or_never().is_none(), "the negative control: nothing is left");
        held.pop();
        assert!(fifth.await.is_ok());
    }

    #[tokio::test]
    async fn a_wait_that_is_too_long_names_the_reason() {
        let budget = Budget::new(4 * MIB);
        let _held = at_once(&budget, "ana", MIB).expect("her share");
        let refused = budget.reserve(caller("ana"), 1, Duration::ZERO).await.expect_err("her share is taken");
        assert_eq!(refused.code(), Code::TooMany);
        let _others = ["leo", "eva", "sol"].map(|name| at_once(&budget, name, MIB).expect("their shares"));
        let refused = budget.reserve(caller("rosa"), 1, Duration::ZERO).await.expect_err("all is taken");
        assert_eq!(refused.code(), Code::Overloaded);
    }

    #[tokio::test]
    async fn a_shrunken_reservation_gives_the_rest_back() {
        let budget = Budget::new(64 * MIB);
        let mut held = at_once(&budget, "ana", 16 * MIB).expect("her share");
        held.shrink(1_500);
        assert_eq!(budget.reserved(), 2 << 10, "rounded up");
        assert!(at_once(&budget, "ana", 15 * MIB).is_some());
        held.shrink(0);
        assert_eq!(budget.reserved(), 0);
    }

    #[tokio::test]
    async fn shares_without_bodies_are_forgotten() {
        let budget = Budget::new(64 * MIB);
        for n in 0..1_000 {
            budget.reserve(caller(&format!("u{n}")), MIB, PATIENCE).await.expect("memory is free");
        }
        assert!(budget.shares.lock().expect("not poisoned").by_caller.len() <= SWEEP_MIN);
    }
}
