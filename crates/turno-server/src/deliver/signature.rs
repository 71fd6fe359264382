//! Signatures after Standard Webhooks. A receiver that shares the secret can verify the sender and the time of a call.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use turno::core::time::Time;

/// The shared secret. Never printed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(Vec<u8>);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// Decodes `whsec_` plus base64, the form of Standard Webhooks. Uses any other text as it is.
    pub(crate) fn new(text: &str) -> Secret {
        let decoded = text.strip_prefix("whsec_").and_then(|encoded| STANDARD.decode(encoded).ok());
        Secret(decoded.unwrap_or_else(|| text.as_bytes().to_vec()))
    }

    /// Returns the value of `webhook-signature` for the call with this id and time.
    pub(crate) fn sign(&self, id: &str, at: Time, body: &[u8]) -> String {
        let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(&self.0).expect("HMAC accepts keys of any length");
        mac.update(format!("{id}.{}.", seconds(at)).as_bytes());
        mac.update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

/// Returns the value of `webhook-timestamp`.
pub(crate) fn seconds(at: Time) -> i64 {
    at.0.div_euclid(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signature_matches_the_specification_example() {
        let secret = Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let signed = secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", Time(1_614_265_330_000), br#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn secret_is_not_printed() {
        assert_eq!(format!("{:?}", Secret::new("hush")), "Secret");
    }
}
