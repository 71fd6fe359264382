//! The console's session cookie.

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::SESSION_MOST;
use crate::config::Environment;
use crate::http::app::App;
use crate::http::caller::{COOKIE, cookie_name};

/// Adds the session cookie to an answer. The server decides when the session ends and extends it while the person
/// works, so the cookie lasts as long as a session can.
pub(super) fn set(app: &App, headers: &HeaderMap, secret: &str, answer: impl IntoResponse) -> Response {
    with(answer, &text(app, headers, secret, SESSION_MOST.0 / 1_000))
}

/// Adds a header to an answer that deletes the cookie.
pub(super) fn clear(app: &App, headers: &HeaderMap, answer: impl IntoResponse) -> Response {
    with(answer, &text(app, headers, "", 0))
}

fn with(answer: impl IntoResponse, cookie: &str) -> Response {
    let mut answer = answer.into_response();
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        answer.headers_mut().append(header::SET_COOKIE, cookie);
    }
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

/// Renders the cookie. Scripts cannot read it, pages of other sites cannot send it with a form, and behind HTTPS and in
/// production it needs TLS.
fn text(app: &App, headers: &HeaderMap, secret: &str, seconds: i64) -> String {
    render(cookie_name(app.https, headers), app.environment, secret, seconds)
}

fn render(name: &str, environment: Environment, secret: &str, seconds: i64) -> String {
    let secure = if name != COOKIE || environment == Environment::Production { "; Secure" } else { "" };
    format!("{name}={secret}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookie_is_http_only_and_in_production_and_behind_https_secure() {
        let development = render(COOKIE, Environment::Development, "s", 60);
        assert_eq!(development, "turno_session=s; Path=/; Max-Age=60; HttpOnly; SameSite=Lax");
        assert!(render(COOKIE, Environment::Production, "s", 60).ends_with("; HttpOnly; SameSite=Lax; Secure"));
        assert_eq!(
            render("__Host-turno_session", Environment::Development, "s", 60),
            "__Host-turno_session=s; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure"
        );
    }
}
