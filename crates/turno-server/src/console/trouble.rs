//! Problems as pages: for browsers, what goes wrong on a page is said in a page, with the way on.

use askama::Template;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};

use super::page::Page;
use crate::http::{Problem, Shared, identify};

/// A request whose answer is read by a person, as far as a page about its trouble needs it.
#[derive(Debug)]
pub(crate) struct Asked {
    headers: HeaderMap,
    method: Method,
    path: String,
}

impl Asked {
    /// Nothing if a program asks, or for the API.
    pub(crate) fn of(request: &Request) -> Option<Asked> {
        let path = request.uri().path();
        let accepts = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
        let api = path == "/v1" || path.starts_with("/v1/") || path.starts_with("/locks") || path == "/metrics";
        if api || !accepts.unwrap_or_default().contains("text/html") {
            return None;
        }
        let address = request.uri().path_and_query().map_or_else(|| path.to_owned(), ToString::to_string);
        Some(Asked { headers: request.headers().clone(), method: request.method().clone(), path: address })
    }
}

#[derive(Template)]
#[template(path = "trouble.html")]
struct Trouble {
    page: Page,
    status: u16,
    title: String,
    detail: String,
    request: String,
}

/// The page for a problem. Whoever is not in is shown the way in, and comes back from there.
pub(crate) async fn answer(app: &Shared, asked: Asked, problem: &Problem, request: &str) -> Response {
    let again = asked.headers.contains_key("hx-request");
    if problem.is_unauthenticated() {
        let next = if asked.method == Method::GET { asked.path.as_str() } else { "/" };
        let next = percent_encoding::utf8_percent_encode(next, percent_encoding::NON_ALPHANUMERIC);
        let way_in = format!("/sign-in?next={next}");
        if !again {
            return Redirect::to(&way_in).into_response();
        }
        // A part of a page cannot be sent on; the page itself is.
        let mut answer = StatusCode::UNAUTHORIZED.into_response();
        if let Ok(way_in) = HeaderValue::from_str(&way_in) {
            answer.headers_mut().insert("hx-redirect", way_in);
        }
        return answer;
    }
    let caller = identify(app, &Method::GET, &asked.headers).await.ok();
    let page = Page::new(app.clone(), &asked.headers, &asked.path, caller.as_ref());
    let document = problem.document(&app.texts, page.language(), None);
    let text = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
    let (title, detail, request) = (text("title"), text("detail"), request.to_owned());
    let bare = problem.clone().into_response();
    let status = bare.status();
    let shown = page.show_as(status, |page| Trouble { page, status: status.as_u16(), title, detail, request });
    let mut answer = shown.unwrap_or_else(|_| status.into_response());
    if let Some(retry) = bare.headers().get(header::RETRY_AFTER) {
        answer.headers_mut().insert(header::RETRY_AFTER, retry.clone());
    }
    answer
}
