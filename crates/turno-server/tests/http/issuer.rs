//! An OpenID provider that signs whatever a case wants, so that cases can forge tokens. `web/test/oidc.test.mjs` uses a
//! certified provider.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::receiver::axum_serve;

pub(crate) const CLIENT: (&str, &str) = ("turno", "s3cret & more");

/// What the provider answers to one code.
struct Grant {
    challenge: String,
    id_token: String,
}

struct Inner {
    base: String,
    pair: EcdsaKeyPair,
    grants: Mutex<HashMap<String, Grant>>,
    userinfo: Mutex<Value>,
}

/// A running provider.
pub(crate) struct Issuer {
    inner: Arc<Inner>,
    _server: JoinSet<()>,
}

impl Issuer {
    pub(crate) async fn start() -> Issuer {
        Issuer::at(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    /// Starts a provider on a bound port.
    pub(crate) fn at(listener: TcpListener) -> Issuer {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let inner = Arc::new(Inner { base, pair, grants: Mutex::default(), userinfo: Mutex::default() });
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/keys", get(keys))
            .route("/token", post(token))
            .route("/userinfo", get(userinfo))
            .with_state(inner.clone());
        let mut server = JoinSet::new();
        server.spawn(axum_serve(listener, router));
        Issuer { inner, _server: server }
    }

    pub(crate) fn url(&self) -> &str {
        &self.inner.base
    }

    /// Makes a code for a signed token. `query` is that of the authorization address.
    pub(crate) fn grant(&self, code: &str, query: &HashMap<String, String>, header: &Value, claims: &Value) {
        let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", part(header), part(claims));
        let signed = match header["alg"].as_str() {
            Some("none") => Vec::new(),
            _ => self.inner.pair.sign(&SystemRandom::new(), message.as_bytes()).unwrap().as_ref().to_vec(),
        };
        let id_token = format!("{message}.{}", BASE64_URL_SAFE_NO_PAD.encode(signed));
        let grant = Grant { challenge: query["code_challenge"].clone(), id_token };
        self.inner.grants.lock().unwrap().insert(code.to_owned(), grant);
    }

    /// Sets the answer of the userinfo endpoint.
    pub(crate) fn tell(&self, claims: Value) {
        *self.inner.userinfo.lock().unwrap() = claims;
    }
}

async fn discovery(State(inner): State<Arc<Inner>>) -> Json<Value> {
    let base = &inner.base;
    Json(json!({
        "issuer": base,
        "authorization_endpoint": format!("{base}/authorize?tenant=1"),
        "token_endpoint": format!("{base}/token"),
        "jwks_uri": format!("{base}/keys"),
        "userinfo_endpoint": format!("{base}/userinfo"),
        "end_session_endpoint": format!("{base}/end"),
    }))
}

async fn keys(State(inner): State<Arc<Inner>>) -> Json<Value> {
    let point = inner.pair.public_key().as_ref();
    let part = |range: std::ops::Range<usize>| BASE64_URL_SAFE_NO_PAD.encode(&point[range]);
    Json(json!({ "keys": [
        { "kty": "EC", "crv": "P-256", "kid": "k-1", "use": "sig", "alg": "ES256", "x": part(1..33), "y": part(33..65) },
    ] }))
}

/// Checks the client, the code and the verifier, as a real provider does.
async fn token(State(inner): State<Arc<Inner>>, headers: HeaderMap, body: String) -> (StatusCode, Json<Value>) {
    let refused = |error: &str| (StatusCode::BAD_REQUEST, Json(json!({ "error": error })));
    let encoded = format!("{}:{}", CLIENT.0, "s3cret%20%26%20more");
    if headers["authorization"] != format!("Basic {}", BASE64_STANDARD.encode(encoded)) {
        return refused("invalid_client");
    }
    let form: HashMap<String, String> = form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    let Some(grant) = inner.grants.lock().unwrap().remove(&form["code"]) else {
        return refused("invalid_grant");
    };
    let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(form["code_verifier"].as_bytes()));
    if form["grant_type"] != "authorization_code" || challenge != grant.challenge {
        return refused("invalid_grant");
    }
    (StatusCode::OK, Json(json!({ "id_token": grant.id_token, "access_token": "a-1", "token_type": "Bearer" })))
}

async fn userinfo(State(inner): State<Arc<Inner>>, headers: HeaderMap) -> (StatusCode, Json<Value>) {
    if headers["authorization"] != "Bearer a-1" {
        return (StatusCode::UNAUTHORIZED, Json(json!({})));
    }
    (StatusCode::OK, Json(inner.userinfo.lock().unwrap().clone()))
}
