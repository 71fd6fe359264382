//! The secrets of tokens: made from the system's randomness, shown once, and kept only as hashes.

use crate::error::Error;
use turno_core::audit::Hash;

/// What every token begins with, so that people and scanners of leaked secrets recognise one.
const PREFIX: &str = "turno_";
/// Bytes of randomness in a secret: far beyond guessing, so that a fast hash suffices.
const SECRET: usize = 32;
/// Bytes of randomness in a token's id.
const ID: usize = 6;

/// A new token's id and secret.
fn make() -> Result<(String, String), getrandom::Error> {
    let mut bytes = [0; ID + SECRET];
    getrandom::fill(&mut bytes)?;
    let (id, secret) = bytes.split_at(ID);
    Ok((hex(id), format!("{PREFIX}{}", hex(secret))))
}

/// The same, with what the engine says if the system has no randomness.
pub(super) fn fresh() -> Result<(String, String), Error> {
    make().map_err(|error| Error::Invalid(format!("the system has no randomness: {error}")))
}

/// The hash of a secret, if it looks like one.
pub(super) fn hash(secret: &str) -> Option<Hash> {
    let shaped = secret.len() == PREFIX.len() + 2 * SECRET && secret.starts_with(PREFIX);
    shaped.then(|| Hash(*blake3::hash(secret.as_bytes()).as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_only_their_shape_is_hashed() {
        let (first, second) = (make().expect("random"), make().expect("random"));
        assert_ne!(first, second);
        assert!(hash(&first.1).is_some() && hash(&first.1) != hash(&second.1));
        assert_eq!((hash(""), hash("turno_"), hash(&first.1.to_uppercase())), (None, None, None));
        assert!(!first.1.contains(&first.0), "the id, which is listed, tells nothing of the secret");
    }
}
