//! Passwords: hashed with argon2id, on hands of their own.
//!
//! A hash takes a good part of a processor and 19 MiB for some hundredths of a second, and anybody may ask for one. So
//! only few are made at once, few more may wait, and the rest is told to come back. Whether a person exists cannot be
//! told from how long it takes.

use std::sync::Arc;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Characters of a password at least.
pub(crate) const SHORTEST: usize = 8;
/// Bytes of a password at most: nobody types more, and hashing must not become work by itself.
pub(crate) const LONGEST: usize = 1_000;
/// Hashes at once.
const HANDS: usize = 2;
/// Who waits for one.
const WAITING: usize = 16;

/// Compared with where there is nothing to compare with: the same work, and never equal. A test keeps its parameters
/// those of every new hash.
const NOBODYS: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Why a password was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PasswordRefused {
    /// Too short or too long.
    #[error("a password has at least {SHORTEST} characters and at most {LONGEST} bytes; choose another")]
    Weak,
    /// Too many are being checked.
    #[error("too many passwords are being checked; try again in a moment")]
    Busy,
    /// The system has no randomness, or no memory.
    #[error("the password could not be hashed; try again")]
    Failed,
}

/// Where passwords are hashed and compared.
#[derive(Debug)]
pub(crate) struct Passwords {
    hands: Arc<Semaphore>,
    seats: Arc<Semaphore>,
}

impl Passwords {
    pub(crate) fn new() -> Passwords {
        Passwords { hands: Arc::new(Semaphore::new(HANDS)), seats: Arc::new(Semaphore::new(HANDS + WAITING)) }
    }

    /// The hash of a new password.
    pub(crate) async fn hash(&self, password: String) -> Result<String, PasswordRefused> {
        acceptable(&password)?;
        self.work(move || hashed(&password)).await?
    }

    /// Whether it is the password whose hash this is; without a hash it is not, after the same time.
    pub(crate) async fn matches(&self, password: String, hash: Option<String>) -> Result<bool, PasswordRefused> {
        if password.len() > LONGEST {
            return Ok(false);
        }
        self.work(move || same(&password, hash.as_deref())).await
    }

    async fn work<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, PasswordRefused> {
        let seat = self.seats.clone().try_acquire_owned().map_err(|_| PasswordRefused::Busy)?;
        let hand = self.hands.clone().acquire_owned().await.map_err(|_| PasswordRefused::Busy)?;
        // Both stay with the work, which goes on even if whoever asked has left.
        let places: [OwnedSemaphorePermit; 2] = [seat, hand];
        let done = tokio::task::spawn_blocking(move || {
            let answer = work();
            drop(places);
            answer
        });
        done.await.map_err(|_| PasswordRefused::Failed)
    }
}

/// Refuses what is too easy to guess or too long to hash.
pub(crate) fn acceptable(password: &str) -> Result<(), PasswordRefused> {
    let fits = password.chars().count() >= SHORTEST && password.len() <= LONGEST;
    if fits { Ok(()) } else { Err(PasswordRefused::Weak) }
}

/// The hash of a password, here and now; a server uses [`Passwords::hash`].
pub(crate) fn hashed(password: &str) -> Result<String, PasswordRefused> {
    let hash: Result<PasswordHash, _> = Argon2::default().hash_password(password.as_bytes());
    hash.map(|hash| hash.to_string()).map_err(|_| PasswordRefused::Failed)
}

fn same(password: &str, hash: Option<&str>) -> bool {
    let known = hash.and_then(|hash| PasswordHash::new(hash).ok());
    let compared = known.clone().or_else(|| PasswordHash::new(NOBODYS).ok());
    let equal = compared.is_some_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok());
    equal && known.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_password_matches_and_nobody_has_none() {
        let hash = hashed("correcto caballo").expect("hashed");
        assert!(same("correcto caballo", Some(&hash)));
        assert!(!same("correcto caballo ", Some(&hash)));
        assert!(!same("", None) && !same("\0", Some("no hash at all")));
    }

    #[test]
    fn nobodys_hash_costs_what_a_real_one_costs() {
        let real = hashed("correcto caballo").expect("hashed");
        let cost = |hash: &str| hash.split('$').take(4).collect::<Vec<_>>().join("$");
        assert_eq!(cost(&real), cost(NOBODYS));
        assert!(PasswordHash::new(NOBODYS).is_ok(), "it can be compared with");
    }

    #[test]
    fn what_is_too_short_or_too_long_is_no_password() {
        for good in ["12345678".to_owned(), "ñandúñan".to_owned(), "x".repeat(LONGEST)] {
            assert_eq!(acceptable(&good), Ok(()), "{good}");
        }
        for bad in ["".to_owned(), "1234567".to_owned(), "x".repeat(LONGEST + 1)] {
            assert_eq!(acceptable(&bad), Err(PasswordRefused::Weak), "{bad}");
        }
    }

    #[tokio::test]
    async fn beyond_those_who_wait_everybody_is_turned_away() {
        let passwords = Passwords::new();
        let taken = passwords.seats.clone().acquire_many_owned((HANDS + WAITING) as u32).await.expect("free");
        assert_eq!(passwords.matches("12345678".to_owned(), None).await, Err(PasswordRefused::Busy));
        drop(taken);
        assert_eq!(passwords.matches("12345678".to_owned(), None).await, Ok(false));
    }
}
