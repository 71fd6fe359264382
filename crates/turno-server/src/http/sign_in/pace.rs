//! How often somebody may try to get in: as one person, and from one place. Guessing is made slow, mistyping is not.

use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::time::Duration;

use axum::Extension;
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use crate::http::problem::{Code, Problem};
use crate::http::server::Peer;

/// For one person: so many at once, and one more each so often.
const USER: (u32, Duration) = (20, Duration::from_secs(3));
/// From one place, which may be a whole office or a proxy.
const PEER: (u32, Duration) = (100, Duration::from_millis(500));
/// Whoever has tried lately is remembered, but no more than these; beyond, everybody waits until some are forgotten.
const REMEMBERED_MAX: usize = 100_000;

/// Who has tried how often.
pub(crate) struct Pace {
    /// By a hash of what was typed, which may be anything and of any length.
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

    /// One more try as this person, whether there is such a person or not.
    pub(crate) fn user(&self, user: &str) -> Result<(), Problem> {
        self.check(&self.users, &self.hasher.hash_one(user))
    }

    /// One more try from there.
    pub(crate) fn peer(&self, peer: Option<Extension<Peer>>) -> Result<(), Problem> {
        match peer {
            Some(Extension(Peer(address))) => self.check(&self.peers, &place(address.ip())),
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

/// Who has one address of the sixth version has the 2⁶⁴ beside it too.
pub(crate) fn place(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        fourth => fourth,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    #[test]
    fn whoever_guesses_is_made_to_wait_and_others_are_not() {
        let pace = Pace::new();
        let tries = (0..USER.0 + 5).filter(|_| pace.user("ana").is_ok()).count();
        assert!((USER.0 as usize..USER.0 as usize + 2).contains(&tries), "{tries}");
        assert_eq!(pace.user("ana").expect_err("too often").code(), Code::TooMany);
        assert!(pace.user("leo").is_ok());
    }

    #[test]
    fn neighbours_of_the_sixth_version_are_one_place() {
        let pace = Pace::new();
        let from = |text: &str| Some(Extension(Peer(text.parse::<SocketAddr>().expect("an address"))));
        let tries = (0..PEER.0 * 2).filter(|n| pace.peer(from(&format!("[2001:db8::{n:x}]:1"))).is_ok()).count();
        assert!(tries < PEER.0 as usize + 10, "{tries}");
        assert!(pace.peer(from("[2001:db8:0:1::1]:1")).is_ok() && pace.peer(from("192.0.2.7:1")).is_ok());
        assert_eq!(place("::ffff:192.0.2.7".parse().expect("mapped")).to_string(), "192.0.2.7");
    }
}
