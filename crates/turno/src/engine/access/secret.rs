//! Secrets of tokens: random, shown once, stored only as hashes.

use crate::error::Error;
use turno_core::audit::Hash;

/// The prefix of every secret, so that people and leak scanners recognise one.
const PREFIX: &str = "turno_";
/// Random bytes in a secret. They cannot be guessed, so a fast hash is enough.
const SECRET: usize = 32;
/// Random bytes in a token's id.
const ID: usize = 6;

/// Makes the id and the secret of a new token.
fn make() -> Result<(String, String), getrandom::Error> {
    let mut bytes = [0; ID + SECRET];
    getrandom::fill(&mut bytes)?;
    let (id, secret) = bytes.split_at(ID);
    Ok((hex(id), format!("{PREFIX}{}", hex(secret))))
}

/// Makes an id and a secret; the error says that the system has no randomness.
pub(super) fn fresh() -> Result<(String, String), Error> {
    make().map_err(|error| Error::NoRandomness(error.to_string()))
}

/// Hashes a secret. Returns `None` if the text does not have a secret's form.
pub(super) fn hash(secret: &str) -> Option<Hash> {
    let shaped = secret.len() == PREFIX.len() + 2 * SECRET && secret.starts_with(PREFIX);
    shaped.then(|| Hash(*blake3::hash(secret.as_bytes()).as_bytes()))
}

/// Hashes a secret together with a text that its user must know too.
pub(super) fn bound_hash(secret: &str, binding: &str) -> Option<Hash> {
    let mut hasher = blake3::Hasher::new();
    // The secret's hash has a fixed length, so no other pair of texts gives the same input.
    hasher.update(&hash(secret)?.0).update(binding.as_bytes());
    Some(Hash(*hasher.finalize().as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_only_well_formed_ones_are_hashed() {
        let (first, second) = (make().expect("the system has randomness"), make().expect("the system has randomness"));
        assert_ne!(first, second);
        assert!(hash(&first.1).is_some() && hash(&first.1) != hash(&second.1));
        assert_eq!((hash(""), hash("turno_"), hash(&first.1.to_uppercase())), (None, None, None));
        assert!(!first.1.contains(&first.0), "the public id is no part of the secret");
    }
}
