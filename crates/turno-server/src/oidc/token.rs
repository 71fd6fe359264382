//! Verifies ID tokens: signature, issuer, audience, times and nonce (OpenID Connect Core, 3.1.3.7).

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::signature::{self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm};
use serde::Deserialize;
use serde_json::{Map, Value};

/// How far the clocks of provider and server may differ, in seconds.
const LEEWAY_S: i64 = 60;
/// The longest subject that OpenID Connect allows.
const SUBJECT_MAX: usize = 255;

/// The claims of a token.
pub(crate) type Claims = Map<String, Value>;

/// The keys of a provider. Keys of unknown kinds stay unused.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Jwks {
    #[serde(default)]
    keys: Vec<Jwk>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    used_for: Option<String>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    crit: Option<Value>,
}

/// The values that an ID token must have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected<'a> {
    pub(super) issuer: &'a str,
    pub(super) client_id: &'a str,
    pub(super) nonce: &'a str,
    /// Seconds since 1970.
    pub(super) now_s: i64,
}

/// The reason why a token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenRefused {
    /// The provider's keys do not have this key. A new one may have been added since they were read.
    UnknownKey,
    Invalid(&'static str),
}

use TokenRefused::Invalid;

/// How a signature is verified. The list is closed: `none` and the algorithms with a shared secret are not in it.
enum Algorithm {
    Rsa(&'static RsaParameters),
    Curve(&'static str, &'static dyn VerificationAlgorithm),
}

fn algorithm(name: &str) -> Option<Algorithm> {
    Some(match name {
        "RS256" => Algorithm::Rsa(&signature::RSA_PKCS1_2048_8192_SHA256),
        "RS384" => Algorithm::Rsa(&signature::RSA_PKCS1_2048_8192_SHA384),
        "RS512" => Algorithm::Rsa(&signature::RSA_PKCS1_2048_8192_SHA512),
        "PS256" => Algorithm::Rsa(&signature::RSA_PSS_2048_8192_SHA256),
        "ES256" => Algorithm::Curve("P-256", &signature::ECDSA_P256_SHA256_FIXED),
        "ES384" => Algorithm::Curve("P-384", &signature::ECDSA_P384_SHA384_FIXED),
        "EdDSA" => Algorithm::Curve("Ed25519", &signature::ED25519),
        _ => return None,
    })
}

impl Jwk {
    fn fits(&self, header: &Header) -> bool {
        let same = |own: &Option<String>, wanted: &str| own.as_deref().is_none_or(|own| own == wanted);
        same(&self.used_for, "sig")
            && same(&self.alg, &header.alg)
            && header.kid.as_deref().is_none_or(|kid| self.kid.as_deref() == Some(kid))
    }

    /// Returns whether the signature is this key's. A key of another kind verifies nothing.
    fn verifies(&self, algorithm: &Algorithm, message: &[u8], signed: &[u8]) -> bool {
        let part = |part: &Option<String>| BASE64_URL_SAFE_NO_PAD.decode(part.as_deref()?).ok();
        let verified = match (algorithm, self.kty.as_str()) {
            (Algorithm::Rsa(parameters), "RSA") => {
                let (Some(n), Some(e)) = (part(&self.n), part(&self.e)) else { return false };
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signed)
            }
            (Algorithm::Curve(curve, algorithm), "EC" | "OKP") if self.crv.as_deref() == Some(*curve) => {
                let Some(x) = part(&self.x) else { return false };
                let key = match (self.kty.as_str(), part(&self.y)) {
                    ("OKP", _) => x,
                    (_, Some(y)) => [vec![4], x, y].concat(),
                    (_, None) => return false,
                };
                UnparsedPublicKey::new(*algorithm, key).verify(message, signed)
            }
            _ => return false,
        };
        verified.is_ok()
    }
}

/// Verifies an ID token and returns its claims.
pub(super) fn verify(token: &str, keys: &Jwks, expected: Expected<'_>) -> Result<Claims, TokenRefused> {
    let malformed = Invalid("it is malformed");
    let (message, signed) = token.rsplit_once('.').ok_or(malformed)?;
    let (header, payload) = message.split_once('.').ok_or(malformed)?;
    let decode = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).map_err(|_| malformed);
    let header: Header = serde_json::from_slice(&decode(header)?).map_err(|_| malformed)?;
    let signed = decode(signed)?;
    let algorithm = algorithm(&header.alg).ok_or(Invalid("its algorithm is not accepted"))?;
    if header.crit.is_some() {
        return Err(Invalid("it needs an extension"));
    }
    let mut fitting = keys.keys.iter().filter(|key| key.fits(&header)).peekable();
    if fitting.peek().is_none() {
        return Err(TokenRefused::UnknownKey);
    }
    if !fitting.any(|key| key.verifies(&algorithm, message.as_bytes(), &signed)) {
        return Err(Invalid("its signature is wrong"));
    }
    let claims: Claims = serde_json::from_slice(&decode(payload)?).map_err(|_| malformed)?;
    check(&claims, expected)?;
    Ok(claims)
}

fn check(claims: &Claims, expected: Expected<'_>) -> Result<(), TokenRefused> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    let require = |holds: bool, reason: &'static str| if holds { Ok(()) } else { Err(Invalid(reason)) };
    require(text("iss") == Some(expected.issuer), "its issuer is another one")?;
    let audiences: Vec<&str> = match claims.get("aud") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    require(audiences.contains(&expected.client_id), "its audience is another client")?;
    let authorized = text("azp");
    require(audiences.len() == 1 || authorized.is_some(), "it has several audiences and no authorized party")?;
    require(authorized.is_none_or(|party| party == expected.client_id), "its authorized party is another client")?;
    #[expect(clippy::cast_possible_truncation, reason = "a time beyond the range is refused anyway")]
    let time = |name: &str| claims.get(name).and_then(Value::as_f64).map(|seconds| seconds as i64);
    let expires = time("exp").ok_or(Invalid("it has no expiry"))?;
    require(expected.now_s < expires.saturating_add(LEEWAY_S), "it has expired")?;
    let issued = time("iat").ok_or(Invalid("it has no time of issue"))?;
    require(issued <= expected.now_s + LEEWAY_S, "it was issued in the future")?;
    require(time("nbf").is_none_or(|at| at <= expected.now_s + LEEWAY_S), "it is not valid yet")?;
    require(text("nonce") == Some(expected.nonce), "its nonce is another one")?;
    let subject = text("sub").unwrap_or_default();
    require((1..=SUBJECT_MAX).contains(&subject.len()), "it has no valid subject")
}

#[cfg(test)]
mod tests;
