//! Limits sign-in attempts per user and per source address. The limits slow down guessing, but allow typing errors.

use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::time::Duration;

use axum::Extension;
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::http::problem::{Code, Problem};
use crate::http::server::Peer;

/// Per user: the burst, and the time after which one more attempt is allowed.
const USER: (u32, Duration) = (20, Duration::from_secs(3));
/// Per source address, which may be an office or a proxy.
const PEER: (u32, Duration) = (100, Duration::from_millis(500));
/// The most users or addresses that are remembered. Beyond that, all attempts are refused until some are forgotten.
const REMEMBERED_MAX: usize = 100_000;

/// The attempts per user and per source address.
pub(crate) struct Pace {
    /// Keyed by a hash of the entered name, which may be any text of any length.
    users: DefaultKeyedRateLimiter<u64>,
    peers: DefaultKeyedRateLimiter<IpAddr>,
    hasher: RandomState,
    clock: DefaultClock,
}

impl std::fmt::Debug for Pace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pace")
    }
}

impl Pace {
    pub(crate) fn new() -> Pace {
        Pace {
            users: RateLimiter::keyed(quota(USER)),
            peers: RateLimiter::keyed(quota(PEER)),
            hasher: RandomState::new(),
            clock: DefaultClock::default(),
        }
    }

    /// Counts an attempt for this user, whether the user exists or not.
    pub(crate) fn user(&self, user: &str) -> Result<(), Problem> {
        self.check(&self.users, &self.hasher.hash_one(user))
    }

    /// Counts an attempt from this address.
    pub(crate) fn peer(&self, peer: Option<Extension<Peer>>) -> Result<(), Problem> {
        match peer {
            Some(Extension(Peer(address))) => self.check(&self.peers, &limit_key(address.ip())),
            None => Ok(()),
        }
    }

    fn check<K: std::hash::Hash + Eq + Clone>(
        &self,
        limiter: &DefaultKeyedRateLimiter<K>,
        key: &K,
    ) -> Result<(), Problem> {
        if limiter.len() >= REMEMBERED_MAX {
            limiter.retain_recent();
            if limiter.len() >= REMEMBERED_MAX {
                return Err(Problem::new(Code::TooMany));
            }
        }
        limiter.check_key(key).map_err(|until| {
            let wait = until.wait_time_from(self.clock.now());
            let seconds = u32::try_from(wait.as_secs()).unwrap_or(u32::MAX).saturating_add(1);
            Problem::new(Code::TooMany).retry_after(seconds)
        })
    }
}

fn quota((burst, every): (u32, Duration)) -> Quota {
    let burst = NonZeroU32::new(burst).expect("the constants above are not zero");
    Quota::with_period(every).expect("the constants above are not zero").allow_burst(burst)
}

/// Returns the address that limits count: an IPv4 address, or the /64 network of an IPv6 address, because one client
/// usually has all of it.
pub(crate) fn limit_key(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    #[test]
    fn repeated_attempts_are_limited_per_user() {
        let pace = Pace::new();
        let tries = (0..USER.0 + 5).filter(|_| pace.user("ana").is_ok()).count();
        assert!((USER.0 as usize..USER.0 as usize + 2).contains(&tries), "{tries}");
        assert_eq!(pace.user("ana").expect_err("the limit is reached").code(), Code::TooMany);
        assert!(pace.user("leo").is_ok());
    }

    #[test]
    fn addresses_of_one_ipv6_network_share_a_limit() {
        let pace = Pace::new();
        let from = |text: &str| Some(Extension(Peer(text.parse::<SocketAddr>().expect("a valid address"))));
        let tries = (0..PEER.0 * 2).filter(|n| pace.peer(from(&format!("[2001:db8::{n:x}]:1"))).is_ok()).count();
        assert!(tries < PEER.0 as usize + 10, "{tries}");
        assert!(pace.peer(from("[2001:db8:0:1::1]:1")).is_ok() && pace.peer(from("192.0.2.7:1")).is_ok());
        assert_eq!(limit_key("::ffff:192.0.2.7".parse().expect("a valid address")).to_string(), "192.0.2.7");
    }
}
