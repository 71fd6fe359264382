//! Signing in: passwords, one-time links, the console's session.
//!
//! Each call works for a page without scripts, whose forms get pages and redirects, and for programs, which send and
//! get JSON.

mod cookie;
mod form;
mod pace;
mod page;

pub(crate) use pace::{Pace, limit_key};

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use turno::Error;
use turno::core::access::LinkFor;
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
    OpenApiRouter::new().routes(routes!(sign_in_page, sign_in)).routes(routes!(sign_out)).merge(setup::routes())
}

mod setup;

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

/// Returns the sign-in page. With `?link=`, signs in the link's user once.
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
        Some(link) => by_link(&app, peer, &link).await.unwrap_or_else(|problem| page.render_problem(&problem)),
    }
}

/// Returns the sign-in page, for the console's address without a session.
pub(crate) fn way_in(app: &Shared, headers: &HeaderMap) -> Response {
    Page::sign_in(app, headers).render()
}

async fn by_link(app: &App, peer: Option<Extension<Peer>>, link: &str) -> Result<Response, Problem> {
    app.pace.peer(peer)?;
    if let Some(user) = app.open_doors.get(link) {
        return Ok(cookie::set(app, &open(app, user.clone()).await?, Redirect::to("/")));
    }
    match app.trusted().redeem_link(link).await? {
        Some(LinkFor::SignIn(user)) => Ok(cookie::set(app, &open(app, user).await?, Redirect::to("/"))),
        Some(LinkFor::Setup) => {
            // A setup link was opened at the sign-in page. Redeeming has used it up, so a new one is made for the setup
            // page.
            let link = app.trusted().make_link(LinkFor::Setup, setup::LINK.into()).await?;
            Ok(Redirect::to(&format!("/setup?link={link}")).into_response())
        }
        None => Err(Problem::new(Code::LinkUsed)),
    }
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
    let source = peer.as_ref().map(|Extension(Peer(address))| address.ip().to_string());
    let entered = async {
        caller::not_foreign(&headers)?;
        let SignInBody { user, password, .. } = body.read()?;
        by_password(&app, peer, &user, password).await
    };
    let entered = entered.await;
    if let Err(problem) = &entered {
        log_failure(problem, user.as_deref(), source.as_deref());
    }
    match (entered, format) {
        (Ok(secret), format) => format.signed_in(&app, &secret, StatusCode::OK, next.as_deref()).await,
        (Err(problem), form::Format::Form) => {
            Ok(Page::sign_in(&app, &headers).with_next(next).with_user(user).render_problem(&problem))
        }
        (Err(problem), form::Format::Json) => Err(problem),
    }
}

/// Logs a failed sign-in. The entered user is logged only if it is a valid id, because people may type the password
/// there.
fn log_failure(problem: &Problem, user: Option<&str>, source: Option<&str>) {
    if matches!(problem.code(), Code::WrongPassword | Code::UserDisabled) {
        let user = user.and_then(|user| UserId::new(user).ok());
        let user = user.as_ref().map_or("", |user| user.as_str());
        tracing::warn!(target: "turno::http", user, source, code = problem.code().as_str(), "sign-in failed");
    }
}

/// Checks the password and returns the secret of a new session.
async fn by_password(
    app: &App,
    peer: Option<Extension<Peer>>,
    user: &str,
    password: String,
) -> Result<String, Problem> {
    app.pace.peer(peer)?;
    app.pace.user(user)?;
    let person = match UserId::new(user) {
        Ok(id) => app.trusted().person(id).await?,
        Err(_) => None,
    };
    let hash = person.as_ref().and_then(|person| person.password.clone());
    let same = app.passwords.matches(password, hash).await;
    let same = same.map_err(|refused| people::password_problem("password", refused))?;
    match person.filter(|_| same) {
        // Only a caller with the right password learns that the user is disabled.
        Some(person) if person.disabled => Err(Problem::new(Code::UserDisabled)),
        Some(person) => open(app, person.id).await,
        None => Err(Problem::new(Code::WrongPassword)),
    }
}

async fn open(app: &App, user: UserId) -> Result<String, Problem> {
    let (_, secret) = app.trusted().open_session(user, SESSION.into()).await?;
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
    if let Some(secret) = caller::cookie(&headers, caller::COOKIE) {
        if !caller::same_site(&headers) {
            return Err(Problem::new(Code::CrossSite));
        }
        end(&app, secret).await?;
    }
    let answer = match form::Format::from_headers(&headers) {
        form::Format::Form => Redirect::to("/sign-in").into_response(),
        form::Format::Json => StatusCode::NO_CONTENT.into_response(),
    };
    Ok(cookie::clear(&app, answer))
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
        secret: &str,
        status: StatusCode,
        next: Option<&str>,
    ) -> Result<Response, Problem> {
        if self == form::Format::Form {
            return Ok(cookie::set(app, secret, Redirect::to(local(next))));
        }
        let caller = Caller::new(app.trusted().authenticate(secret).await?);
        let mut answer = cookie::set(app, secret, (status, Json(Me::load(&caller).await?)));
        answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(answer)
    }
}
