//! Tokens that a provider signs, and forged ones: every check refuses its own forgery and nothing else.

use super::*;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use serde_json::json;

const NOW_S: i64 = 1_800_000_000;
const EXPECTED: Expected<'_> =
    Expected { issuer: "https://id.example", client_id: "turno", nonce: "n-1", now_s: NOW_S };

/// A provider's key, which signs any header and claims.
struct Signer {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl Signer {
    fn new() -> Signer {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap();
        Signer { pair, random }
    }

    fn keys(&self, kid: &str) -> Jwks {
        let point = self.pair.public_key().as_ref();
        let part = |range: std::ops::Range<usize>| BASE64_URL_SAFE_NO_PAD.encode(&point[range]);
        let key = json!({ "kty": "EC", "crv": "P-256", "kid": kid, "use": "sig", "x": part(1..33), "y": part(33..65) });
        serde_json::from_value(json!({ "keys": [{ "kty": "oct", "kid": "other" }, key] })).unwrap()
    }

    fn sign(&self, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", part(header), part(claims));
        let signed = self.pair.sign(&self.random, message.as_bytes()).unwrap();
        format!("{message}.{}", BASE64_URL_SAFE_NO_PAD.encode(signed))
    }
}

fn header() -> Value {
    json!({ "alg": "ES256", "kid": "k-1" })
}

fn claims() -> Value {
    json!({ "iss": "https://id.example", "aud": "turno", "sub": "s-1", "nonce": "n-1", "iat": NOW_S, "exp": NOW_S + 300 })
}

fn with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[name] = value;
    claims
}

#[test]
fn valid_token_is_accepted() {
    let signer = Signer::new();
    let verified = |header: &Value, claims: &Value| verify(&signer.sign(header, claims), &signer.keys("k-1"), EXPECTED);
    assert_eq!(verified(&header(), &claims()).unwrap()["sub"], "s-1");
    assert!(verified(&json!({ "alg": "ES256" }), &claims()).is_ok(), "without a key id every key is tried");
    let mut several = with("aud", json!(["turno", "api"]));
    several["azp"] = "turno".into();
    assert!(verified(&header(), &several).is_ok());
    assert!(verified(&header(), &with("exp", json!(NOW_S - 59))).is_ok(), "clocks may differ by a minute");
}

#[test]
fn token_with_a_wrong_claim_is_refused() {
    let signer = Signer::new();
    let wrong = [
        ("iss", json!("https://evil.example"), "its issuer is another one"),
        ("aud", json!("other"), "its audience is another client"),
        ("aud", json!(["turno", "api"]), "it has several audiences and no authorized party"),
        ("azp", json!("api"), "its authorized party is another client"),
        ("exp", json!(NOW_S - 60), "it has expired"),
        ("exp", json!("soon"), "it has no expiry"),
        ("iat", json!(NOW_S + 61), "it was issued in the future"),
        ("nbf", json!(NOW_S + 61), "it is not valid yet"),
        ("nonce", json!("n-2"), "its nonce is another one"),
        ("nonce", Value::Null, "its nonce is another one"),
        ("sub", json!(""), "it has no valid subject"),
    ];
    for (name, value, reason) in wrong {
        let token = signer.sign(&header(), &with(name, value));
        assert_eq!(verify(&token, &signer.keys("k-1"), EXPECTED).unwrap_err(), Invalid(reason), "{name}");
    }
}

#[test]
fn unsigned_and_symmetric_tokens_are_refused() {
    let signer = Signer::new();
    for alg in ["none", "None", "HS256", ""] {
        let token = signer.sign(&json!({ "alg": alg, "kid": "k-1" }), &claims());
        let refused = verify(&token, &signer.keys("k-1"), EXPECTED).unwrap_err();
        assert_eq!(refused, Invalid("its algorithm is not accepted"), "{alg}");
        let bare = format!("{}.", token.rsplit_once('.').unwrap().0);
        assert!(verify(&bare, &signer.keys("k-1"), EXPECTED).is_err());
    }
}

#[test]
fn token_of_another_key_is_refused() {
    let (signer, thief) = (Signer::new(), Signer::new());
    let stolen = thief.sign(&header(), &claims());
    assert_eq!(verify(&stolen, &signer.keys("k-1"), EXPECTED).unwrap_err(), Invalid("its signature is wrong"));
    let unknown = verify(&signer.sign(&header(), &claims()), &signer.keys("k-2"), EXPECTED);
    assert_eq!(unknown.unwrap_err(), TokenRefused::UnknownKey);
    let wrong_kind = signer.sign(&json!({ "alg": "RS256", "kid": "k-1" }), &claims());
    assert_eq!(verify(&wrong_kind, &signer.keys("k-1"), EXPECTED).unwrap_err(), Invalid("its signature is wrong"));
    let extended = signer.sign(&json!({ "alg": "ES256", "kid": "k-1", "crit": ["b64"] }), &claims());
    assert_eq!(verify(&extended, &signer.keys("k-1"), EXPECTED).unwrap_err(), Invalid("it needs an extension"));
}

#[test]
fn edwards_signature_is_accepted() {
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
    let x = BASE64_URL_SAFE_NO_PAD.encode(pair.public_key().as_ref());
    let keys = json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "kid": "k-1", "alg": "EdDSA", "x": x }] });
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", part(&json!({ "alg": "EdDSA", "kid": "k-1" })), part(&claims()));
    let signed = BASE64_URL_SAFE_NO_PAD.encode(pair.sign(message.as_bytes()));
    assert!(verify(&format!("{message}.{signed}"), &serde_json::from_value(keys).unwrap(), EXPECTED).is_ok());
}

#[test]
fn garbage_is_refused() {
    for garbage in ["", ".", "..", "a.b.c", "e30.e30.e30", "e30.e30"] {
        assert!(verify(garbage, &Jwks::default(), EXPECTED).is_err(), "{garbage}");
    }
}
