//! A provider: what it publishes about itself, and the calls that exchange a code for claims.
//!
//! The provider is asked for the first time when a person signs in, so that a server starts while its provider is down.
//! Its answers are kept for an hour. If it is down after that, the old ones are used.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::redirect::Policy as Redirects;
use reqwest::{Client, RequestBuilder, StatusCode, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use turno::core::time::Time;

use super::token::{Claims, Expected, Jwks, TokenRefused, verify};
use super::{OidcFault, claims, pkce};
use crate::client::{part, tls_ready};
use crate::config::oidc::OidcSettings;
use crate::failure::Failure;
use crate::stopwatch::Stopwatch;
use crate::texts::message::Message;

/// How long a call may take. A person waits for it.
const CALL: Duration = Duration::from_secs(10);
/// How long the provider's description and keys are kept.
const KEPT: Duration = Duration::from_secs(3_600);
/// How often the keys are read again at most because of a key that is not among them.
const KEYS_AGAIN: Duration = Duration::from_secs(10);
/// The largest answer that is read.
const ANSWER_MAX: usize = 1 << 20;

/// What a provider publishes about itself.
#[derive(Clone, Debug, Deserialize)]
struct Metadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    userinfo_endpoint: Option<String>,
    end_session_endpoint: Option<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

#[derive(Clone, Debug)]
struct Known {
    metadata: Metadata,
    keys: Jwks,
    read: Stopwatch,
}

#[derive(Deserialize)]
struct TokenAnswer {
    id_token: Option<String>,
    access_token: Option<String>,
    error: Option<String>,
}

/// One sign-in: the values that the provider's answer must match.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, Deserialize)]
pub(crate) struct Attempt {
    pub(crate) state: String,
    pub(crate) nonce: String,
    pub(crate) verifier: String,
}

impl Attempt {
    pub(crate) fn new() -> Result<Attempt, getrandom::Error> {
        Ok(Attempt { state: pkce::random()?, nonce: pkce::random()?, verifier: pkce::random()? })
    }
}

/// The configured provider.
pub(crate) struct Provider {
    pub(crate) settings: OidcSettings,
    /// The address under which people reach this server, if it is configured.
    pub(crate) public_url: Option<String>,
    secret: String,
    http: Client,
    known: Mutex<Option<Arc<Known>>>,
}

/// Omits the secret.
impl std::fmt::Debug for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Provider({})", self.settings.issuer)
    }
}

impl Provider {
    pub(crate) fn new(settings: OidcSettings, secret: String, public_url: Option<String>) -> Result<Provider, Failure> {
        let mut builder = tls_ready()
            .redirect(Redirects::none())
            .timeout(CALL)
            .user_agent(concat!("turno/", env!("CARGO_PKG_VERSION")));
        if Url::parse(&settings.issuer).is_ok_and(|url| url.scheme() == "http") {
            // Plain HTTP is for a provider on this machine, which a proxy cannot reach.
            builder = builder.no_proxy();
        }
        let http = builder.build();
        let http = http.map_err(|error| Failure::failed(Message::new("http-client-failed").text("cause", error)))?;
        Ok(Provider { settings, public_url, secret, http, known: Mutex::default() })
    }

    /// Returns the name of the provider for people: its host.
    pub(crate) fn name(&self) -> String {
        let host = Url::parse(&self.settings.issuer).ok().and_then(|url| url.host_str().map(str::to_owned));
        host.unwrap_or_else(|| self.settings.issuer.clone())
    }

    /// Returns the address at which the provider signs a person in.
    pub(crate) async fn authorization_url(&self, attempt: &Attempt, redirect: &str) -> Result<String, OidcFault> {
        let known = self.known().await?;
        let scopes = self.settings.scopes.join(" ");
        let challenge = pkce::challenge(&attempt.verifier);
        let query = [
            ("response_type", "code"),
            ("client_id", &self.settings.client_id),
            ("redirect_uri", redirect),
            ("scope", &scopes),
            ("state", &attempt.state),
            ("nonce", &attempt.nonce),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ];
        address(&known.metadata.authorization_endpoint, &query)
    }

    /// Returns the address that ends the person's session at the provider. `None` if the provider has none, or is down.
    pub(crate) async fn end_session_url(&self, back: &str) -> Option<String> {
        let known = self.known().await.ok()?;
        let endpoint = known.metadata.end_session_endpoint.as_deref()?;
        address(endpoint, &[("client_id", &self.settings.client_id), ("post_logout_redirect_uri", back)]).ok()
    }

    /// Exchanges a code for the claims of a person. Claims that the ID token lacks come from the provider's userinfo.
    pub(crate) async fn claims(
        &self,
        attempt: &Attempt,
        code: &str,
        redirect: &str,
        now: Time,
    ) -> Result<Claims, OidcFault> {
        let known = self.known().await?;
        let (id_token, access_token) = self.exchange(&known.metadata, attempt, code, redirect).await?;
        let mut found = self.verify(&known, &id_token, &attempt.nonce, now).await?;
        let userinfo = known.metadata.userinfo_endpoint.as_deref();
        if let Some((endpoint, token)) =
            userinfo.zip(access_token).filter(|_| !claims::are_complete(&self.settings, &found))
        {
            let (status, more) = json::<Claims>(self.http.get(endpoint).bearer_auth(token)).await?;
            if !status.is_success() {
                return Err(OidcFault::Unavailable(format!("{endpoint} answered {status}")));
            }
            if more.get("sub") != found.get("sub") {
                return Err(OidcFault::Token("the userinfo is about another person"));
            }
            for (name, value) in more {
                found.entry(name).or_insert(value);
            }
        }
        Ok(found)
    }

    async fn exchange(
        &self,
        metadata: &Metadata,
        attempt: &Attempt,
        code: &str,
        redirect: &str,
    ) -> Result<(String, Option<String>), OidcFault> {
        let (id, secret) = (&self.settings.client_id, &self.secret);
        let methods = metadata.token_endpoint_auth_methods_supported.as_deref();
        let basic = methods.is_none_or(|methods| methods.iter().any(|method| method == "client_secret_basic"));
        let mut fields = vec![("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirect)];
        fields.push(("code_verifier", &attempt.verifier));
        if !basic {
            fields.extend([("client_id", id.as_str()), ("client_secret", secret.as_str())]);
        }
        let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let request = self.http.post(&metadata.token_endpoint);
        // The standard wants both parts encoded before they are joined.
        let request = if basic { request.basic_auth(part(id), Some(part(secret))) } else { request };
        let request = request.header("content-type", "application/x-www-form-urlencoded").body(form);
        let (status, answer) = json::<TokenAnswer>(request).await?;
        match (status.is_success(), answer) {
            (true, TokenAnswer { id_token: Some(token), access_token, .. }) => Ok((token, access_token)),
            (true, _) => Err(OidcFault::Token("there is none")),
            (false, answer) => Err(OidcFault::Provider(answer.error.unwrap_or_else(|| status.to_string()))),
        }
    }

    /// Verifies an ID token. Reads the keys again if the token names a key that is not among them.
    async fn verify(&self, known: &Known, token: &str, nonce: &str, now: Time) -> Result<Claims, OidcFault> {
        let OidcSettings { issuer, client_id, .. } = &self.settings;
        let expected = Expected { issuer, client_id, nonce, now_s: now.0 / 1_000 };
        let refused = match verify(token, &known.keys, expected) {
            Err(TokenRefused::UnknownKey) if known.read.elapsed() >= KEYS_AGAIN => {
                verify(token, &self.read().await?.keys, expected)
            }
            verified => verified,
        };
        refused.map_err(|refused| match refused {
            TokenRefused::UnknownKey => OidcFault::Token("its key is unknown"),
            TokenRefused::Invalid(reason) => OidcFault::Token(reason),
        })
    }

    async fn known(&self) -> Result<Arc<Known>, OidcFault> {
        let kept = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match kept {
            Some(known) if known.read.elapsed() < KEPT => Ok(known),
            Some(old) => Ok(self.read().await.unwrap_or(old)),
            None => self.read().await,
        }
    }

    /// Reads the provider's description and keys.
    async fn read(&self) -> Result<Arc<Known>, OidcFault> {
        let issuer = &self.settings.issuer;
        let url = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let metadata: Metadata = self.fetch(&url).await?;
        if metadata.issuer != *issuer {
            return Err(OidcFault::Unavailable(format!("the issuer calls itself {}, not {issuer}", metadata.issuer)));
        }
        let Metadata { authorization_endpoint, token_endpoint, jwks_uri, userinfo_endpoint, .. } = &metadata;
        let endpoints = [authorization_endpoint, token_endpoint, jwks_uri].into_iter().chain(userinfo_endpoint);
        if let Some(plain) = endpoints.filter(|_| issuer.starts_with("https:")).find(|url| !url.starts_with("https:")) {
            return Err(OidcFault::Unavailable(format!("{plain} is not encrypted")));
        }
        let keys = self.fetch(jwks_uri).await?;
        let known = Arc::new(Known { metadata, keys, read: Stopwatch::start() });
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some(known.clone());
        Ok(known)
    }

    async fn fetch<T: DeserializeOwned>(&self, url: &str) -> Result<T, OidcFault> {
        let (status, value) = json::<Value>(self.http.get(url)).await?;
        if !status.is_success() {
            return Err(OidcFault::Unavailable(format!("{url} answered {status}")));
        }
        serde_json::from_value(value).map_err(|error| OidcFault::Unavailable(format!("{url}: {error}")))
    }
}

/// Returns an endpoint with these parameters added to its query.
fn address(endpoint: &str, query: &[(&str, &str)]) -> Result<String, OidcFault> {
    let mut url = Url::parse(endpoint).map_err(|error| OidcFault::Unavailable(format!("{endpoint}: {error}")))?;
    if !matches!(url.scheme(), "https" | "http") {
        return Err(OidcFault::Unavailable(format!("{endpoint} is no web address")));
    }
    url.query_pairs_mut().extend_pairs(query);
    Ok(url.into())
}

/// Sends a request and reads a bounded JSON answer.
async fn json<T: DeserializeOwned>(request: RequestBuilder) -> Result<(StatusCode, T), OidcFault> {
    let failed = |error: reqwest::Error| OidcFault::Unavailable(error.to_string());
    let mut response = request.header("accept", "application/json").send().await.map_err(failed)?;
    let (status, url) = (response.status(), response.url().clone());
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        body.extend_from_slice(&chunk);
        if body.len() > ANSWER_MAX {
            return Err(OidcFault::Unavailable(format!("{url} answered more than {ANSWER_MAX} bytes")));
        }
    }
    let parsed = serde_json::from_slice(&body);
    parsed.map(|value| (status, value)).map_err(|_| OidcFault::Unavailable(format!("{url} answered {status}, no JSON")))
}
