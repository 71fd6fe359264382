//! Hashes and verifies passwords with argon2id.
//!
//! A hash takes 19 MiB and much of a processor for some hundredths of a second, and every visitor can cause one. So at
//! most `PARALLEL` hashes run at once, `WAITING` more wait, and further calls are refused as busy. Verifying takes
//! equally long for users that do not exist, so the time does not reveal whether a user exists.

mod common;

use std::sync::Arc;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Minimum length of a password, in characters.
pub(crate) const SHORTEST: usize = 8;
/// Maximum length of a password, in bytes. It bounds the time that hashing takes.
pub(crate) const LONGEST: usize = 1_000;
/// How many hashes run at once.
const PARALLEL: usize = 2;
/// How many calls may wait for a hash.
const WAITING: usize = 16;

/// A hash that no password matches. Verifying against it takes as long as against a real one; a test compares the
/// parameters.
const UNMATCHABLE: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Why a password was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PasswordRefused {
    /// The password is too short or too long.
    #[error("a password has at least {SHORTEST} characters and at most {LONGEST} bytes; choose another")]
    Weak,
    /// The password is one that guessers try first.
    #[error("this password is easy to guess; choose another")]
    Common,
    /// Too many passwords are being hashed.
    #[error("too many passwords are being checked; try again in a moment")]
    Busy,
    /// The system has no randomness, or no memory.
    #[error("the password could not be hashed; try again")]
    Failed,
}

/// Hashes and verifies passwords, with a bound on parallel work.
#[derive(Debug)]
pub(crate) struct Passwords {
    parallel: Arc<Semaphore>,
    seats: Arc<Semaphore>,
}

impl Passwords {
    pub(crate) fn new() -> Passwords {
        Passwords { parallel: Arc::new(Semaphore::new(PARALLEL)), seats: Arc::new(Semaphore::new(PARALLEL + WAITING)) }
    }

    /// Returns the hash of a new password. `about` has words about the person, which are no passwords.
    pub(crate) async fn hash(&self, password: String, about: &[&str]) -> Result<String, PasswordRefused> {
        acceptable(&password, about)?;
        self.work(move || hashed(&password)).await?
    }

    /// Returns whether the password belongs to this hash. Without a hash returns false, after the same time.
    pub(crate) async fn matches(&self, password: String, hash: Option<String>) -> Result<bool, PasswordRefused> {
        if password.len() > LONGEST {
            return Ok(false);
        }
        self.work(move || same(&password, hash.as_deref())).await
    }

    async fn work<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, PasswordRefused> {
        let seat = self.seats.clone().try_acquire_owned().map_err(|_| PasswordRefused::Busy)?;
        let hand = self.parallel.clone().acquire_owned().await.map_err(|_| PasswordRefused::Busy)?;
        // The permits stay with the work, because a blocking task goes on after its caller has left.
        let permits: [OwnedSemaphorePermit; 2] = [seat, hand];
        let done = tokio::task::spawn_blocking(move || {
            let answer = work();
            drop(permits);
            answer
        });
        done.await.map_err(|_| PasswordRefused::Failed)
    }
}

/// Refuses a new password that is too short, too long or easy to guess. `about` has the user's id and name. Stored
/// passwords stay valid.
pub(crate) fn acceptable(password: &str, about: &[&str]) -> Result<(), PasswordRefused> {
    let fits = password.chars().count() >= SHORTEST && password.len() <= LONGEST;
    match fits {
        true if common::is_common(password, about) => Err(PasswordRefused::Common),
        true => Ok(()),
        false => Err(PasswordRefused::Weak),
    }
}

/// Hashes a password on the calling thread. A server uses [`Passwords::hash`], which bounds the work.
pub(crate) fn hashed(password: &str) -> Result<String, PasswordRefused> {
    let hash: Result<PasswordHash, _> = Argon2::default().hash_password(password.as_bytes());
    hash.map(|hash| hash.to_string()).map_err(|_| PasswordRefused::Failed)
}

fn same(password: &str, hash: Option<&str>) -> bool {
    let known = hash.and_then(|hash| PasswordHash::new(hash).ok());
    let compared = known.clone().or_else(|| PasswordHash::new(UNMATCHABLE).ok());
    let equal = compared.is_some_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok());
    equal && known.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_password_matches_its_hash() {
        let hash = hashed("correcto caballo").expect("hashed");
        assert!(same("correcto caballo", Some(&hash)));
        assert!(!same("correcto caballo ", Some(&hash)));
        assert!(!same("", None) && !same("\0", Some("no hash at all")));
    }

    #[test]
    fn the_unmatchable_hash_has_the_cost_of_a_real_one() {
        let real = hashed("correcto caballo").expect("hashed");
        let cost = |hash: &str| hash.split('$').take(4).collect::<Vec<_>>().join("$");
        assert_eq!(cost(&real), cost(UNMATCHABLE));
        assert!(PasswordHash::new(UNMATCHABLE).is_ok(), "the hash is valid");
    }

    #[test]
    fn a_password_outside_its_bounds_is_refused() {
        for good in ["31 de oc".to_owned(), "ñandúñan".to_owned(), "x7".to_owned() + &"-".repeat(LONGEST - 2)] {
            assert_eq!(acceptable(&good, &[]), Ok(()), "{good}");
        }
        for bad in ["".to_owned(), "1234567".to_owned(), "x".repeat(LONGEST + 1)] {
            assert_eq!(acceptable(&bad, &[]), Err(PasswordRefused::Weak), "{bad}");
        }
        assert_eq!(acceptable("12345678", &[]), Err(PasswordRefused::Common));
    }

    #[tokio::test]
    async fn a_password_check_is_refused_as_busy_once_every_seat_is_taken() {
        let passwords = Passwords::new();
        let taken = passwords.seats.clone().acquire_many_owned((PARALLEL + WAITING) as u32).await.expect("free");
        assert_eq!(passwords.matches("12345678".to_owned(), None).await, Err(PasswordRefused::Busy));
        drop(taken);
        assert_eq!(passwords.matches("12345678".to_owned(), None).await, Ok(false));
    }
}
