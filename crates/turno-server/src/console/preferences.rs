//! A visitor's preferences: language and theme, stored in cookies.

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::form::{Form, local};
use super::page::{LANGUAGE, THEME, Theme};
use crate::http::{Problem, not_foreign};

/// How long the cookies are kept: a year.
const KEPT_S: u32 = 31_536_000;

/// The fields of the form.
#[derive(Deserialize)]
pub(super) struct Preferences {
    language: Option<String>,
    theme: Option<String>,
    back: Option<String>,
}

/// Stores the choice in cookies and returns to the page.
pub(super) async fn save(headers: HeaderMap, Form(preferences): Form<Preferences>) -> Result<Response, Problem> {
    not_foreign(&headers)?;
    let mut answer = Redirect::to(local(preferences.back.as_deref())).into_response();
    let language = preferences.language.filter(|language| ["es", "en"].contains(&language.as_str()));
    let theme = preferences.theme.and_then(|theme| Theme::named(&theme)).map(|theme| theme.name().to_owned());
    for (cookie, value) in [(LANGUAGE, language), (THEME, theme)] {
        let Some(value) = value else { continue };
        let cookie = format!("{cookie}={value}; Path=/; Max-Age={KEPT_S}; HttpOnly; SameSite=Lax");
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            answer.headers_mut().append(header::SET_COOKIE, cookie);
        }
    }
    Ok(answer)
}
