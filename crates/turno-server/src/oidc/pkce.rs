//! Random values and PKCE (RFC 7636), for sign-ins at a provider and for sign-ins of the command line.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

/// Returns 32 random bytes as text for an address. Fails if the system has no randomness.
pub(crate) fn random() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns the S256 challenge of a verifier.
pub(crate) fn challenge(verifier: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}

/// Returns whether the text has the form of a challenge or of a verifier: 43 to 128 unreserved characters.
pub(crate) fn is_well_formed(text: &str) -> bool {
    (43..=128).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenge_is_that_of_the_standard() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(challenge(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        let (one, other) = (random().expect("randomness"), random().expect("randomness"));
        assert!(one != other && is_well_formed(&one) && is_well_formed(&challenge(&one)));
        assert!(!is_well_formed("short") && !is_well_formed(&" ".repeat(43)));
    }
}
