//! Passwords: hashed with argon2id, as PHC strings.
//!
//! What the command line needs, here and now. The server's sign-in, where anybody may ask for a hash, adds its own
//! bounds on top.

use argon2::Argon2;
use argon2::password_hash::PasswordHasher;
use argon2::password_hash::phc::PasswordHash;

/// Characters of a password at least.
pub(crate) const SHORTEST: usize = 8;
/// Bytes of a password at most: nobody types more, and hashing must not become work by itself.
pub(crate) const LONGEST: usize = 1_000;

/// Why a password was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PasswordRefused {
    /// Too short or too long.
    #[error("a password has at least {SHORTEST} characters and at most {LONGEST} bytes; choose another")]
    Weak,
    /// The system has no randomness, or no memory.
    #[error("the password could not be hashed; try again")]
    Failed,
}

/// Refuses what is too easy to guess or too long to hash.
pub(crate) fn acceptable(password: &str) -> Result<(), PasswordRefused> {
    let fits = password.chars().count() >= SHORTEST && password.len() <= LONGEST;
    if fits { Ok(()) } else { Err(PasswordRefused::Weak) }
}

/// The hash of a password.
pub(crate) fn hashed(password: &str) -> Result<String, PasswordRefused> {
    let hash: Result<PasswordHash, _> = Argon2::default().hash_password(password.as_bytes());
    hash.map(|hash| hash.to_string()).map_err(|_| PasswordRefused::Failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use argon2::password_hash::PasswordVerifier;

    #[test]
    fn only_the_right_password_matches_its_hash() {
        let hash = hashed("correcto caballo").expect("hashed");
        let hash = PasswordHash::new(&hash).expect("a PHC string");
        assert!(Argon2::default().verify_password(b"correcto caballo", &hash).is_ok());
        assert!(Argon2::default().verify_password(b"correcto caballo ", &hash).is_err());
    }

    #[test]
    fn what_is_too_short_or_too_long_is_no_password() {
        assert_eq!(acceptable("ñandúñan"), Ok(()));
        assert_eq!(acceptable("1234567"), Err(PasswordRefused::Weak));
        assert_eq!(acceptable(&"x".repeat(LONGEST + 1)), Err(PasswordRefused::Weak));
    }
}
