//! Renders problems as pages, for browsers.

use askama::Template;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};

use super::flash::Flash;
use super::page::{Page, put_cookie};
use crate::http::{Problem, Shared, identify};

/// The parts of a browser's request that a problem page needs.
#[derive(Debug)]
pub(crate) struct BrowserRequest {
    headers: HeaderMap,
    method: Method,
    path: String,
}

impl BrowserRequest {
    /// Returns `None` for calls of the API and for clients that do not accept HTML.
    pub(crate) fn from_request(request: &Request) -> Option<BrowserRequest> {
        let path = request.uri().path();
        let accepts = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
        let api = path == "/v1" || path.starts_with("/v1/") || path.starts_with("/locks") || path == "/metrics";
        if api || !accepts.unwrap_or_default().contains("text/html") {
            return None;
        }
        let address = request.uri().path_and_query().map_or_else(|| path.to_owned(), ToString::to_string);
        Some(BrowserRequest { headers: request.headers().clone(), method: request.method().clone(), path: address })
    }

    /// Returns the address of a page that can be opened again: the requested one, or the one whose form was sent.
    fn opened(&self) -> String {
        if self.method == Method::GET {
            return self.path.clone();
        }
        // A form that is rendered again with its errors has the address it was sent to.
        match self.path.strip_prefix("/console/tasks") {
            Some("") => return "/tasks/new".to_owned(),
            Some(rest) if rest.ends_with("/edit") => return format!("/tasks{rest}"),
            _ => {}
        }
        let text = |name| self.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let from = text(header::REFERER).and_then(|from| from.split_once("://")?.1.split_once('/'));
        match from {
            Some((host, path)) if text(header::HOST) == Some(host) && !path.starts_with("console/") => {
                format!("/{path}")
            }
            _ => "/".to_owned(),
        }
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

/// Answers with a page about the problem. A caller who is not signed in is redirected to the sign-in page, and returns
/// from there.
pub(crate) async fn answer(app: &Shared, asked: BrowserRequest, problem: &Problem, request: &str) -> Response {
    if problem.is_unauthenticated() {
        // htmx cannot follow a redirect for a part of a page. The page's script handles 401.
        if asked.headers.contains_key("hx-request") {
            return StatusCode::UNAUTHORIZED.into_response();
        }
        let next = asked.opened();
        let next = percent_encoding::utf8_percent_encode(&next, percent_encoding::NON_ALPHANUMERIC);
        let mut answer = Redirect::to(&format!("/sign-in?next={next}")).into_response();
        if asked.method != Method::GET {
            // Explains why the form was not processed: the session has ended.
            let page = Page::new(app.clone(), &asked.headers, &asked.path, None);
            put_cookie(&mut answer, &Flash::bad(page.t("session-ended")).cookie());
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
