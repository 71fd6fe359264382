//! Connections per source address, so that one machine cannot take all connections (S2).
//!
//! A connection beyond the limit gets one answer, 429, and is closed. It takes no place among the connections of the
//! server.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::proxies::Proxies;
use super::sign_in;

/// The connections of each source.
#[derive(Clone, Debug)]
pub(super) struct Sources(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// The most connections of one source. 0 means no limit.
    limit: usize,
    /// Proxies have no limit, because many clients connect through them.
    proxies: Proxies,
    open: Mutex<HashMap<IpAddr, usize>>,
}

/// An open connection. Ends when dropped.
#[derive(Debug)]
pub(super) struct SourcePlace {
    sources: Sources,
    source: IpAddr,
}

impl Sources {
    pub(super) fn new(limit: usize, proxies: Proxies) -> Sources {
        Sources(Arc::new(Inner { limit, proxies, open: Mutex::default() }))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a connection. Returns `None` if its source has as many as it may.
    pub(super) fn enter(&self, address: IpAddr) -> Option<SourcePlace> {
        let source = sign_in::limit_key(address);
        let mut open = self.lock();
        let count = open.entry(source).or_default();
        if self.0.limit > 0 && *count >= self.0.limit && !self.0.proxies.contains(address) {
            drop(open);
            return None;
        }
        *count += 1;
        drop(open);
        Some(SourcePlace { sources: self.clone(), source })
    }
}

impl Drop for SourcePlace {
    fn drop(&mut self) {
        let mut open = self.sources.lock();
        if let Some(count) = open.get_mut(&self.source) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.source);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Network;

    #[test]
    fn source_at_its_limit_is_refused_and_others_are_not() {
        let [home, proxy, other] = ["192.0.2.7", "10.0.0.1", "192.0.2.8"].map(|text| text.parse().expect("an address"));
        let sources = Sources::new(2, Proxies::new(&[Network::parse("10.0.0.0/8").expect("a network")]));
        let held = [home, home].map(|source| sources.enter(source).expect("within the limit"));
        assert!(sources.enter(home).is_none());
        assert!(sources.enter(other).is_some());
        let _proxied: Vec<_> = (0..9).map(|_| sources.enter(proxy).expect("a proxy has no limit")).collect();
        drop(held);
        assert!(sources.enter(home).is_some());
        assert_eq!(sources.lock().len(), 1, "sources without connections are forgotten");
        let unlimited = Sources::new(0, Proxies::default());
        let all: Vec<_> = (0..9).map(|_| unlimited.enter(home)).collect();
        assert!(all.iter().all(Option::is_some), "the negative control");
    }
}
