//! The console's session cookie.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::SESSION_MOST;
use crate::config::Environment;
use crate::http::app::App;
use crate::http::caller::COOKIE;

/// Adds the session cookie to an answer. The server decides when the session ends and extends it while the person
/// works, so the cookie lasts as long as a session can.
pub(super) fn set(app: &App, secret: &str, answer: impl IntoResponse) -> Response {
    with(answer, &text(app.environment, secret, SESSION_MOST.0 / 1_000))
}

/// Adds a header to an answer that deletes the cookie.
pub(super) fn clear(app: &App, answer: impl IntoResponse) -> Response {
    with(answer, &text(app.environment, "", 0))
}

fn with(answer: impl IntoResponse, cookie: &str) -> Response {
    let mut answer = answer.into_response();
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        answer.headers_mut().append(header::SET_COOKIE, cookie);
    }
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

/// Renders the cookie. Scripts cannot read it, pages of other sites cannot send it with a form, and in production it
/// needs TLS.
fn text(environment: Environment, secret: &str, seconds: i64) -> String {
    let secure = if environment == Environment::Production { "; Secure" } else { "" };
    format!("{COOKIE}={secret}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookie_is_http_only_and_in_production_secure() {
        let development = text(Environment::Development, "s", 60);
        assert_eq!(development, "turno_session=s; Path=/; Max-Age=60; HttpOnly; SameSite=Lax");
        assert!(text(Environment::Production, "s", 60).ends_with("; HttpOnly; SameSite=Lax; Secure"));
    }
}
