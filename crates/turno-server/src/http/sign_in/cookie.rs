//! The console's cookie.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::SESSION_MOST;
use crate::config::Environment;
use crate::http::app::App;
use crate::http::caller::COOKIE;

/// An answer that lets the browser in from now on. When the session ends is known to the server, which lets it live on while
/// somebody works; the browser keeps the cookie for as long as that can be.
pub(super) fn set(app: &App, secret: &str, answer: impl IntoResponse) -> Response {
    with(answer, &text(app.environment, secret, SESSION_MOST.0 / 1_000))
}

/// An answer that makes the browser forget.
pub(super) fn cleared(app: &App, answer: impl IntoResponse) -> Response {
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

/// Scripts cannot read it and other sites cannot send it with a form; in production it only travels encrypted.
fn text(environment: Environment, secret: &str, seconds: i64) -> String {
    let secure = if environment == Environment::Production { "; Secure" } else { "" };
    format!("{COOKIE}={secret}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_is_for_nobody_but_the_server_and_in_production_for_no_open_line() {
        let development = text(Environment::Development, "s", 60);
        assert_eq!(development, "turno_session=s; Path=/; Max-Age=60; HttpOnly; SameSite=Lax");
        assert!(text(Environment::Production, "s", 60).ends_with("; HttpOnly; SameSite=Lax; Secure"));
    }
}
