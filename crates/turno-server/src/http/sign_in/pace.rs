//! Limits sign-in attempts per source and user. The database counts them for all instances
//! (`turno_core::access::pace`). This file keeps the answers for attempts that are refused again, so that a flood of
//! guesses costs the database nothing.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::Extension;
use turno::Turno;
use turno::access::{PaceStep, PaceVerdict};
use turno::core::access::PaceKeys;
use turno::core::audit::Hash;
use turno::core::id::UserId;
use turno::core::time::{Span, Time};

use crate::http::problem::{Code, Problem};
use crate::http::server::Peer;

/// The most refusals that are remembered. Beyond it all are forgotten, and the database answers.
const REMEMBERED_MAX: usize = 10_000;

/// The source of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source(IpAddr);

impl Source {
    /// Returns the client's address. A request without a connection, as in tests, counts as unspecified.
    pub(crate) fn new(peer: Option<Extension<Peer>>) -> Source {
        Source(peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |Extension(Peer(address))| address.ip().to_canonical()))
    }

    /// Returns the address or network that limits count.
    fn counted(self) -> String {
        limit_key(self.0).to_string()
    }
}

/// Renders the client's whole address, for the log and the audit.
impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// An attempt of a source at a user.
#[derive(Debug)]
pub(crate) struct Attempt<'a> {
    source: Source,
    /// The entered user, whether there is one or not. Empty for a link.
    entered: &'a str,
}

/// A refusal that is still in force.
#[derive(Clone, Debug)]
struct Refusal {
    until: Time,
    user: Option<UserId>,
}

/// The refusals of this process that are still in force.
#[derive(Debug, Default)]
pub(crate) struct Pace(Mutex<HashMap<Hash, Refusal>>);

/// An attempt is refused. Carries the user, if there is one, and the wait.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(super) user: Option<UserId>,
    wait: Span,
}

impl Refused {
    pub(crate) fn problem(&self) -> Problem {
        let seconds = u32::try_from(self.wait.0 / 1_000).unwrap_or(u32::MAX).saturating_add(1);
        Problem::new(Code::TooMany).retry_after(seconds)
    }
}

impl Pace {
    fn lock(&self) -> MutexGuard<'_, HashMap<Hash, Refusal>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an attempt. Waits if many attempts were made at this user. Call [`Pace::succeed`] if it succeeds.
    pub(crate) async fn begin<'a>(
        &self,
        turno: &Turno,
        source: Source,
        entered: &'a str,
    ) -> Result<Result<Attempt<'a>, Refused>, turno::Error> {
        let attempt = Attempt { source, entered };
        let counted = source.counted();
        let key = PaceKeys::new(&counted, entered).pair;
        let now = turno.now();
        if let Some(known) = self.lock().get(&key).filter(|refusal| now < refusal.until) {
            return Ok(Err(Refused { user: known.user.clone(), wait: now.until(known.until) }));
        }
        match turno.pace_sign_in(&counted, entered, PaceStep::Attempt).await? {
            PaceVerdict::Allowed { delay } => {
                tokio::time::sleep(delay.into()).await;
                Ok(Ok(attempt))
            }
            PaceVerdict::Refused { wait } => {
                let user = match UserId::new(entered) {
                    Ok(id) => turno.person(id).await?.map(|person| person.id),
                    Err(_) => None,
                };
                let mut refusals = self.lock();
                if refusals.len() >= REMEMBERED_MAX {
                    refusals.clear();
                }
                refusals.insert(key, Refusal { until: now + wait, user: user.clone() });
                drop(refusals);
                Ok(Err(Refused { user, wait }))
            }
        }
    }

    /// Records that the attempt succeeded, so that it does not count.
    pub(crate) async fn succeed(&self, turno: &Turno, attempt: Attempt<'_>) -> Result<(), turno::Error> {
        turno.pace_sign_in(&attempt.source.counted(), attempt.entered, PaceStep::Success).await.map(drop)
    }
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

    #[test]
    fn addresses_of_one_ipv6_network_share_a_limit() {
        let source = |text: &str| Source(text.parse().expect("a valid address")).counted();
        assert_eq!(source("2001:db8::7"), source("2001:db8::8"));
        assert_ne!(source("2001:db8::7"), source("2001:db8:0:1::7"));
        assert_ne!(source("192.0.2.7"), source("192.0.2.8"));
        assert_eq!(source("::ffff:192.0.2.7"), "192.0.2.7");
    }
}
