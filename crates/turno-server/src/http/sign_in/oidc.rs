//! Signing in with an OpenID provider: the way to the provider and back, and signing out there.
//!
//! The values of a sign-in are in a cookie of ten minutes, so that any instance can answer the provider's redirect. They
//! need no signature: a person can only change their own attempt, and `__Host-` keeps other hosts from setting the cookie
//! in production.

use askama::Template;
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Redirect, Response};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use turno::Error;
use turno::access::{ChangeRefused, SignInMethod};

use super::page::Page;
use super::{SESSION_MOST, Source, begin, cookie, open};
use crate::config::Environment;
use crate::console::{self, local};
use crate::http::app::{App, Shared};
use crate::http::caller;
use crate::http::extract::Query;
use crate::http::problem::{Code, Problem};
use crate::http::server::Peer;
use crate::oidc::{Attempt, OidcFault, Provider, claims};

/// How long a person may take at the provider, in seconds.
const ATTEMPT_S: i64 = 600;
/// The longest path to continue to. A cookie has 4 KiB.
const NEXT_MAX: usize = 1_000;
/// The value of the cookie in a session that the provider opened. Signing out then ends the provider's session, too.
const SIGNED_IN: &str = "signed-in";

/// A sign-in under way, as the cookie keeps it.
#[derive(Serialize, Deserialize)]
struct UnderWay {
    #[serde(flatten)]
    attempt: Attempt,
    next: Option<String>,
}

/// Returns the name of the cookie. The prefix `__Host-` needs TLS.
fn cookie_name(environment: Environment) -> &'static str {
    match environment {
        Environment::Production => "__Host-turno_oidc",
        Environment::Development => "turno_oidc",
    }
}

/// Adds the cookie to an answer. The provider's redirect comes from another site, which `SameSite=Strict` would refuse.
fn with_cookie(app: &App, value: &str, seconds: i64, answer: impl IntoResponse) -> Response {
    let secure = if app.environment == Environment::Production { "; Secure" } else { "" };
    let name = cookie_name(app.environment);
    let text = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
    let mut answer = answer.into_response();
    if let Ok(cookie) = HeaderValue::from_str(&text) {
        answer.headers_mut().append(header::SET_COOKIE, cookie);
    }
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

/// Returns the address under which the browser reaches this server.
fn base(app: &App, provider: &Provider, headers: &HeaderMap) -> String {
    let scheme = if app.behind_proxy { "https" } else { "http" };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("127.0.0.1:7171");
    provider.public_url.clone().unwrap_or_else(|| format!("{scheme}://{host}"))
}

fn callback_url(app: &App, provider: &Provider, headers: &HeaderMap) -> String {
    format!("{}/oidc/callback", base(app, provider, headers))
}

fn configured(app: &App) -> Result<&Provider, Problem> {
    app.oidc.as_ref().ok_or_else(|| Problem::new(Code::NotFound).arg("thing", "oidc"))
}

/// Reports a fault as a problem, and logs its reason, which the page does not show.
fn refuse(fault: &OidcFault) -> Problem {
    tracing::warn!(target: "turno::http", reason = fault.reason(), "sign-in with the OpenID provider failed");
    let code = match fault {
        OidcFault::Unavailable(_) => Code::OidcUnavailable,
        _ => Code::OidcRefused,
    };
    Problem::new(code).cause(fault.message())
}

/// The query of the way to the provider.
#[derive(Deserialize)]
pub(super) struct StartQuery {
    /// The local path to continue to.
    next: Option<String>,
}

/// Sends the browser to the provider.
pub(super) async fn start(
    State(app): State<Shared>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    Query(query): Query<StartQuery>,
) -> Response {
    let next = query.next.filter(|next| next.len() <= NEXT_MAX);
    let begun = async {
        let provider = configured(&app)?;
        begin(&app, Source::new(peer), "").await?;
        let attempt = Attempt::new().map_err(|_| Problem::new(Code::Internal))?;
        let url = provider.authorization_url(&attempt, &callback_url(&app, provider, &headers)).await;
        Ok::<_, Problem>((url.map_err(|fault| refuse(&fault))?, attempt))
    };
    match begun.await {
        Ok((url, attempt)) => {
            let under_way = serde_json::to_vec(&UnderWay { attempt, next }).unwrap_or_default();
            with_cookie(&app, &BASE64_URL_SAFE_NO_PAD.encode(under_way), ATTEMPT_S, Redirect::to(&url))
        }
        Err(problem) => Page::sign_in(&app, &headers).with_next(next).render_problem(&problem),
    }
}

/// The provider's answer. A provider may add parameters of its own.
#[derive(Deserialize)]
pub(super) struct CallbackQuery {
    code: Option<String>,
    state: Option<String>,
    error: Option<String>,
    iss: Option<String>,
}

/// Signs in the person that the provider vouches for. Whatever the outcome, the attempt is over.
pub(super) async fn callback(
    State(app): State<Shared>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    Query(query): Query<CallbackQuery>,
) -> Response {
    let under_way = caller::cookie(&headers, cookie_name(app.environment))
        .and_then(|cookie| BASE64_URL_SAFE_NO_PAD.decode(cookie).ok())
        .and_then(|json| serde_json::from_slice::<UnderWay>(&json).ok());
    let next = under_way.as_ref().and_then(|under_way| under_way.next.clone());
    let entered = async {
        let provider = configured(&app)?;
        let source = Source::new(peer);
        let attempt = begin(&app, source, "").await?;
        let secret = enter(&app, provider, &headers, source, under_way, query).await?;
        app.pace.succeed(app.trusted(), attempt).await?;
        Ok::<_, Problem>(secret)
    };
    match entered.await {
        Ok(secret) => {
            let answer = cookie::set(&app, &headers, &secret, Redirect::to(local(next.as_deref())));
            with_cookie(&app, SIGNED_IN, SESSION_MOST.0 / 1_000, answer)
        }
        Err(problem) => {
            let page = Page::sign_in(&app, &headers).with_next(next).render_problem(&problem);
            with_cookie(&app, "", 0, page)
        }
    }
}

/// Checks the provider's answer and returns the secret of a new session.
async fn enter(
    app: &App,
    provider: &Provider,
    headers: &HeaderMap,
    source: Source,
    under_way: Option<UnderWay>,
    query: CallbackQuery,
) -> Result<String, Problem> {
    let fault = |fault: OidcFault| refuse(&fault);
    let attempt = under_way.map(|under_way| under_way.attempt);
    let attempt = attempt.filter(|attempt| query.state.as_deref() == Some(attempt.state.as_str()));
    let attempt = attempt.ok_or_else(|| fault(OidcFault::State))?;
    if let Some(code) = query.error {
        return Err(fault(OidcFault::Provider(code.chars().take(100).collect())));
    }
    if query.iss.is_some_and(|issuer| issuer != provider.settings.issuer) {
        return Err(fault(OidcFault::Token("the answer is another issuer's")));
    }
    let code = query.code.ok_or_else(|| fault(OidcFault::Provider("no code".to_owned())))?;
    let redirect = callback_url(app, provider, headers);
    let found = provider.claims(&attempt, &code, &redirect, app.trusted().now()).await.map_err(fault)?;
    let person = claims::person(&provider.settings, &found).map_err(fault)?;
    let (id, subject) = (person.id.clone(), person.identity.subject.clone());
    let signed_in = app.trusted().sign_in_identity(person).await;
    let problem = match signed_in {
        Ok(Some(person)) => return open(app, person.id, SignInMethod::Provider, source).await,
        Ok(None) => Problem::new(Code::NoRole),
        Err(Error::Refused(ChangeRefused::Exists(user))) => {
            Problem::new(Code::IdentityNotLinked).arg("user", user).arg("subject", &subject)
        }
        Err(Error::Denied(_)) => Problem::new(Code::UserDisabled),
        Err(error) => return Err(error.into()),
    };
    app.failures.add(app.trusted(), source, Some(&id), problem.code());
    Err(problem)
}

#[derive(Template)]
#[template(path = "leaving.html")]
struct Leaving {
    page: console::Page,
    provider: String,
    url: String,
}

/// Returns the answer to a sign-out that also ends the person's session at the provider. `None` if the provider did not
/// sign the person in, or has no such address.
///
/// A page leads to the provider instead of a redirect, because the policy for forms allows redirects to this site only.
pub(super) async fn sign_out(app: &Shared, headers: &HeaderMap) -> Option<Response> {
    let provider = app.oidc.as_ref()?;
    if caller::cookie(headers, cookie_name(app.environment)) != Some(SIGNED_IN) {
        return None;
    }
    let url = provider.end_session_url(&format!("{}/sign-in", base(app, provider, headers))).await?;
    let page = console::Page::new(app.clone(), headers, "/sign-in", None);
    let refresh = HeaderValue::from_str(&format!("0;url={url}")).ok()?;
    let mut answer = page.show(|page| Leaving { page, provider: provider.name(), url }).ok()?;
    answer.headers_mut().insert(header::REFRESH, refresh);
    Some(with_cookie(app, "", 0, answer))
}
