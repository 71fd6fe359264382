//! Signing in with a link.
//!
//! A page of another site can send a browser to a link, and so sign a person in as another user unnoticed. So a visit
//! from another site gets a page with a button, whose form no other site can send. A click in a mail program on the web
//! is such a visit too.

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use turno::access::SignInMethod;
use turno::core::access::LinkFor;
use turno::core::id::UserId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::form::{Format, Submitted};
use super::page::Page;
use super::{Source, begin, cookie, open};
use crate::http::app::{App, Shared};
use crate::http::caller;
use crate::http::people::Me;
use crate::http::problem::{Code, Problem};
use crate::http::server::Peer;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(sign_in_link))
}

/// A sign-in with a link.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct LinkBody {
    /// The secret of the link.
    link: String,
}

/// Answers a visit of the sign-in page with a link: signs in, or asks first.
pub(super) async fn visit(
    app: &Shared,
    headers: &HeaderMap,
    source: Source,
    link: String,
) -> Result<Response, Problem> {
    if is_own(headers) {
        let secret = redeem(app, source, &link).await?;
        return Ok(
            secret.map_or_else(|| to_setup(&link), |secret| cookie::set(app, headers, &secret, Redirect::to("/")))
        );
    }
    match target(app, source, &link).await? {
        LinkFor::SignIn(user) => {
            Ok(Page::link(app, headers).with_link(link).with_user(Some(user.to_string())).render())
        }
        LinkFor::Setup => Ok(to_setup(&link)),
    }
}

/// Returns whether the person or a program opened the link, and no page of another site. Browsers without
/// `Sec-Fetch-Site` ask for a page, and get the question. A browser that only prefetches gets it too.
fn is_own(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    match text("sec-fetch-site") {
        Some(site) => matches!(site, "none" | "same-origin") && text("sec-purpose").is_none(),
        None => !text(header::ACCEPT.as_str()).unwrap_or_default().contains("text/html"),
    }
}

/// A setup link was opened at the sign-in page.
fn to_setup(link: &str) -> Response {
    let link = percent_encoding::utf8_percent_encode(link, percent_encoding::NON_ALPHANUMERIC);
    Redirect::to(&format!("/setup?link={link}")).into_response()
}

/// Signs in with a link. The answer sets the console's cookie.
#[utoipa::path(
    post, path = "/sign-in/link", tag = "sign-in",
    request_body(content((LinkBody = "application/json"), (LinkBody = "application/x-www-form-urlencoded"))),
    responses((status = 200, body = Me), (status = 303, description = "Signed in; redirects a form."))
)]
async fn sign_in_link(
    State(app): State<Shared>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    body: Submitted<LinkBody>,
) -> Result<Response, Problem> {
    let format = body.format();
    let entered = async {
        caller::not_foreign(&headers)?;
        redeem(&app, Source::new(peer), &body.read()?.link).await?.ok_or_else(|| Problem::new(Code::LinkUsed))
    };
    match (entered.await, format) {
        (Ok(secret), format) => format.signed_in(&app, &headers, &secret, StatusCode::OK, None).await,
        (Err(problem), Format::Form) => Ok(Page::sign_in(&app, &headers).render_problem(&problem)),
        (Err(problem), Format::Json) => Err(problem),
    }
}

/// Uses up a link and returns the secret of a new session. Returns `None` for a setup link, which stays valid.
async fn redeem(app: &App, source: Source, link: &str) -> Result<Option<String>, Problem> {
    let attempt = begin(app, source, "").await?;
    let user = match find(app, link).await? {
        Some(LinkFor::Setup) => return Ok(None),
        Some(LinkFor::SignIn(user)) if app.open_doors.contains_key(link) => Some(user),
        Some(LinkFor::SignIn(_)) => app.trusted().redeem_link(link).await?.and_then(|to| to.user().cloned()),
        None => None,
    };
    let Some(user) = user else { return Err(unknown(app, source)) };
    app.pace.succeed(app.trusted(), attempt).await?;
    open(app, user, SignInMethod::Link, source).await.map(Some)
}

/// Returns the purpose of a link that the person has not confirmed yet.
async fn target(app: &App, source: Source, link: &str) -> Result<LinkFor, Problem> {
    let attempt = begin(app, source, "").await?;
    let to = find(app, link).await?.ok_or_else(|| unknown(app, source))?;
    app.pace.succeed(app.trusted(), attempt).await?;
    Ok(to)
}

async fn find(app: &App, link: &str) -> Result<Option<LinkFor>, Problem> {
    let open_door: Option<&UserId> = app.open_doors.get(link);
    match open_door {
        Some(user) => Ok(Some(LinkFor::SignIn(user.clone()))),
        None => Ok(app.trusted().peek_link(link).await?),
    }
}

fn unknown(app: &App, source: Source) -> Problem {
    app.failures.add(app.trusted(), source, None, Code::LinkUsed);
    Problem::new(Code::LinkUsed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};

    #[test]
    fn only_the_person_and_programs_open_a_link_without_a_question() {
        let is_own = |pairs: &[(&'static str, &'static str)]| {
            let pairs =
                pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
            is_own(&pairs.collect())
        };
        let html = ("accept", "text/html,application/xhtml+xml");
        for own in
            [&[][..], &[("accept", "*/*")], &[("sec-fetch-site", "none"), html], &[("sec-fetch-site", "same-origin")]]
        {
            assert!(is_own(own), "{own:?}");
        }
        for other in [
            &[("sec-fetch-site", "cross-site"), html][..],
            &[("sec-fetch-site", "same-site")],
            &[("sec-fetch-site", "none"), ("sec-purpose", "prefetch")],
            &[html],
        ] {
            assert!(!is_own(other), "{other:?}");
        }
    }
}
