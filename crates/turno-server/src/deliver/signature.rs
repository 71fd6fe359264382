//! Signatures after Standard Webhooks: whoever shares the secret can tell that a call is ours, and when it was made.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use turno::core::time::Time;

/// What both sides know. Never shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(Vec<u8>);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// `whsec_` and base64, as Standard Webhooks writes them; any other text is taken as it is.
    pub(crate) fn new(text: &str) -> Secret {
        let decoded = text.strip_prefix("whsec_").and_then(|encoded| STANDARD.decode(encoded).ok());
        Secret(decoded.unwrap_or_else(|| text.as_bytes().to_vec()))
    }

    /// The value of `webhook-signature` for a call that is called `id` and made `at`.
    pub(crate) fn sign(&self, id: &str, at: Time, body: &[u8]) -> String {
        let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(&self.0).expect("a key of any length is good for HMAC");
        mac.update(format!("{id}.{}.", seconds(at)).as_bytes());
        mac.update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

/// The value of `webhook-timestamp`.
pub(crate) fn seconds(at: Time) -> i64 {
    at.0.div_euclid(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_specification_is_signed_as_it_says() {
        let secret = Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let signed = secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", Time(1_614_265_330_000), br#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_is_never_shown() {
        assert_eq!(format!("{:?}", Secret::new("hush")), "Secret");
    }
}
