//! Signing in: passwords, one-time links, the console's session.
//!
//! Each call works for a page without scripts, whose forms get pages and redirects, and for programs, which send and
//! get JSON.

mod cookie;
mod failures;
mod form;
mod link;
mod oidc;
mod pace;
mod page;
mod setup;

pub(crate) use failures::Failures;
use pace::Attempt;
pub(crate) use pace::{Pace, Source, limit_key};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Extension, Router};
use serde::Deserialize;
use turno::Error;
use turno::access::{SignIn, SignInMethod};
use turno::core::id::UserId;
use turno::core::time::Span;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::{App, Shared};
use super::caller::{self, Caller};
use super::extract::{Json, Query};
use super::people::{self, Me};
use super::problem::{Code, Problem};
use super::server::Peer;
use crate::console::local;
use form::Submitted;
use page::Page;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(sign_in_page, sign_in))
        .routes(routes!(sign_out))
        .merge(link::routes())
        .merge(setup::routes())
}

/// Returns the way to the OpenID provider and back, which are for browsers and not part of the API.
pub(super) fn pages() -> Router<Shared> {
    Router::new().route("/oidc/start", get(oidc::start)).route("/oidc/callback", get(oidc::callback))
}

/// How long a console session lasts without work.
const SESSION: Span = Span::from_secs(12 * 3_600);
/// How long a console session lasts at most. After a week everyone must sign in again.
const SESSION_MOST: Span = Span::from_secs(7 * 86_400);

/// The query of the sign-in page.
#[derive(Deserialize)]
struct LinkQuery {
    link: Option<String>,
    /// The local path to continue to.
    next: Option<String>,
}

/// The credentials of a sign-in.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct SignInBody {
    /// The user's id.
    user: String,
    /// The password.
    password: String,
    /// The local path that a form continues to.
    next: Option<String>,
}

/// Returns the sign-in page. With `?link=`, signs in the link's user once. If the request comes from another site, returns
/// a page that asks first.
#[utoipa::path(
    get, path = "/sign-in", tag = "sign-in",
    params(
        ("link" = Option<String>, Query, description = "The secret of a one-time link."),
        ("next" = Option<String>, Query, description = "The local path to continue to."),
    ),
    responses((status = 200, content_type = "text/html", body = String), (status = 303, description = "Signed in by the link."))
)]
async fn sign_in_page(
    State(app): State<Shared>,
    headers: HeaderMap,
    peer: Option<Extension<Peer>>,
    method: Method,
    Query(query): Query<LinkQuery>,
) -> Response {
    let page = Page::sign_in(&app, &headers).with_next(query.next);
    // A HEAD request does not redeem the link, because link scanners send it.
    match query.link.filter(|_| method != Method::HEAD) {
        None => page.render(),
        Some(link) => link::visit(&app, &headers, Source::new(peer), link)
            .await
            .unwrap_or_else(|problem| page.render_problem(&problem)),
    }
}

/// Returns the sign-in page, for the console's address without a session.
pub(crate) fn way_in(app: &Shared, headers: &HeaderMap) -> Response {
    Page::sign_in(app, headers).render()
}

/// Signs in with a password. The answer sets the console's cookie.
#[utoipa::path(
    post, path = "/sign-in", tag = "sign-in",
    request_body(content((SignInBody = "application/json"), (SignInBody = "application/x-www-form-urlencoded"))),
    responses((status = 200, body = Me), (status = 303, description = "Signed in; redirects a form."))
)]
async fn sign_in(
    State(app): State<Shared>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    body: Submitted<SignInBody>,
) -> Result<Response, Problem> {
    let format = body.format();
    let user = body.peek(|body| body.user.clone());
    let next = body.peek(|body| body.next.clone()).flatten();
    let entered = async {
        caller::not_foreign(&headers)?;
        let SignInBody { user, password, .. } = body.read()?;
        by_password(&app, Source::new(peer), &user, password).await
    };
    match (entered.await, format) {
        (Ok(secret), format) => format.signed_in(&app, &headers, &secret, StatusCode::OK, next.as_deref()).await,
        (Err(problem), form::Format::Form) => {
            Ok(Page::sign_in(&app, &headers).with_next(next).with_user(user).render_problem(&problem))
        }
        (Err(problem), form::Format::Json) => Err(problem),
    }
}

/// Checks the password and returns the secret of a new session.
async fn by_password(app: &App, source: Source, user: &str, password: String) -> Result<String, Problem> {
    if app.oidc.as_ref().is_some_and(|provider| provider.settings.only) {
        return Err(Problem::new(Code::PasswordsOff));
    }
    let turno = app.trusted();
    let attempt = begin(app, source, user).await?;
    let person = match UserId::new(user) {
        Ok(id) => turno.person(id).await?,
        Err(_) => None,
    };
    let known = person.as_ref().map(|person| person.id.clone());
    let hash = person.as_ref().and_then(|person| person.password.clone());
    let same = app.passwords.matches(password, hash).await;
    let same = same.map_err(|refused| people::password_problem("password", refused))?;
    let code = match person.filter(|_| same) {
        // Otherwise a person without a role at the provider could still sign in here.
        Some(person) if person.identity.is_some() && app.oidc.is_some() => Code::PasswordsOff,
        Some(person) if !person.disabled => {
            app.pace.succeed(turno, attempt).await?;
            return open(app, person.id, SignInMethod::Password, source).await;
        }
        // Only a caller with the right password learns that the user is disabled.
        Some(_) => Code::UserDisabled,
        None => Code::WrongPassword,
    };
    app.failures.add(turno, source, known.as_ref(), code);
    Err(Problem::new(code))
}

/// Counts an attempt at the entered user. Fails if the source has made too many.
pub(super) async fn begin<'a>(app: &App, source: Source, entered: &'a str) -> Result<Attempt<'a>, Problem> {
    app.pace.begin(app.trusted(), source, entered).await?.map_err(|refused| {
        app.failures.add(app.trusted(), source, refused.user.as_ref(), Code::TooMany);
        refused.problem()
    })
}

/// Opens a session for a user who has signed in, and returns its secret.
async fn open(app: &App, user: UserId, method: SignInMethod, source: Source) -> Result<String, Problem> {
    let by = SignIn { method, source: source.to_string() };
    let (_, secret) = app.trusted().sign_in(user, SESSION.into(), by).await?;
    Ok(secret)
}

/// Returns whether a request counts as work: an opened page, a submitted form or a change. Calls that an open page
/// makes by itself do not count, so that an unattended session expires.
pub(crate) fn is_work(request: &Request) -> bool {
    let (method, headers, path) = (request.method(), request.headers(), request.uri().path());
    let by_itself = ["/heartbeat", "/turn", "/release"].iter().any(|end| path.ends_with(end));
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let opened = accepts.contains("text/html") && !headers.contains_key("hx-request");
    if method.is_safe() { opened } else { !by_itself }
}

/// Extends the console session. A failure has no effect yet, because the next request tries again.
pub(crate) async fn keep(caller: &Caller) {
    if let Err(error) = caller.0.renew_session(SESSION.into(), SESSION_MOST.into()).await {
        tracing::debug!(target: "turno::http", %error, "a session was not renewed");
    }
}

/// Ends the console's session.
#[utoipa::path(
    post, path = "/sign-out", tag = "sign-in",
    responses((status = 204, description = "Signed out."),
        (status = 303, description = "Signed out; redirects a form."))
)]
async fn sign_out(State(app): State<Shared>, headers: HeaderMap) -> Result<Response, Problem> {
    if let Some(secret) = caller::cookie(&headers, caller::cookie_name(app.https, &headers)) {
        if !caller::same_site(&headers) {
            return Err(Problem::new(Code::CrossSite));
        }
        end(&app, secret).await?;
    }
    let answer = match form::Format::from_headers(&headers) {
        form::Format::Form => {
            let at_provider = oidc::sign_out(&app, &headers).await;
            at_provider.unwrap_or_else(|| Redirect::to("/sign-in").into_response())
        }
        form::Format::Json => StatusCode::NO_CONTENT.into_response(),
    };
    Ok(cookie::clear(&app, &headers, answer))
}

/// Ends a session. Succeeds if it has already ended.
async fn end(app: &App, secret: &str) -> Result<(), Problem> {
    let ended = match app.trusted().authenticate(secret).await {
        Ok(handle) => match handle.principal() {
            Some(me) => handle.revoke_token(&me.token).await,
            None => Ok(()),
        },
        Err(error) => Err(error),
    };
    match ended {
        Ok(()) | Err(Error::Denied(_) | Error::Refused(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

impl form::Format {
    /// Builds the answer to a successful sign-in.
    async fn signed_in(
        self,
        app: &App,
        headers: &HeaderMap,
        secret: &str,
        status: StatusCode,
        next: Option<&str>,
    ) -> Result<Response, Problem> {
        if self == form::Format::Form {
            return Ok(cookie::set(app, headers, secret, Redirect::to(local(next))));
        }
        let caller = Caller::new(app.trusted().authenticate(secret).await?);
        Ok(cookie::set(app, headers, secret, (status, Json(Me::load(&caller).await?))))
    }
}
