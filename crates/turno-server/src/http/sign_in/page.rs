//! The pages to sign in and to create the first administrator. They need no script, and show errors on the page.

use askama::Template;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::console;
use crate::http::app::Shared;
use crate::http::problem::Problem;

/// A sign-in or setup page to render.
#[derive(Debug)]
pub(super) struct Page {
    app: Shared,
    headers: HeaderMap,
    kind: Kind,
    user: String,
    link: String,
    next: String,
    error: String,
}

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage {
    page: console::Page,
    kind: &'static str,
    action: &'static str,
    autocomplete: &'static str,
    user: String,
    link: String,
    next: String,
    error: String,
    /// The OpenID provider's name. Empty if there is none.
    provider: String,
    /// The address of the way to the provider.
    start: String,
    /// Passwords are off.
    only: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    SignIn,
    /// Asks whether to sign in with a link.
    Link,
    Setup,
}

impl Kind {
    /// The page's name in the texts.
    fn name(self) -> &'static str {
        match self {
            Kind::SignIn => "sign_in",
            Kind::Link => "link",
            Kind::Setup => "setup",
        }
    }

    fn action(self) -> &'static str {
        match self {
            Kind::SignIn => "/sign-in",
            Kind::Link => "/sign-in/link",
            Kind::Setup => "/setup",
        }
    }

    /// What a password manager should do: fill in the password, or propose a new one.
    fn autocomplete(self) -> &'static str {
        match self {
            Kind::SignIn | Kind::Link => "current-password",
            Kind::Setup => "new-password",
        }
    }
}

impl Page {
    pub(super) fn sign_in(app: &Shared, headers: &HeaderMap) -> Page {
        Page::new(app, headers, Kind::SignIn)
    }

    /// Returns the page that asks whether to sign in with a link.
    pub(super) fn link(app: &Shared, headers: &HeaderMap) -> Page {
        Page::new(app, headers, Kind::Link)
    }

    pub(super) fn setup(app: &Shared, headers: &HeaderMap) -> Page {
        Page::new(app, headers, Kind::Setup)
    }

    fn new(app: &Shared, headers: &HeaderMap, kind: Kind) -> Page {
        let [user, link, next, error] = [const { String::new() }; 4];
        Page { app: app.clone(), headers: headers.clone(), kind, user, link, next, error }
    }

    /// Fills in the user that was entered before. Never the password.
    pub(super) fn with_user(mut self, user: Option<String>) -> Page {
        self.user = user.unwrap_or_default();
        self
    }

    /// Sets the link's secret, which the form sends along.
    pub(super) fn with_link(mut self, link: String) -> Page {
        self.link = link;
        self
    }

    /// Sets the local path to continue to.
    pub(super) fn with_next(mut self, next: Option<String>) -> Page {
        self.next = next.unwrap_or_default();
        self
    }

    pub(super) fn render(self) -> Response {
        let Page { app, headers, kind, user, link, next, error } = self;
        let part =
            |text: &str| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string();
        // The address to return to after a change of language.
        let here = match (link.is_empty(), next.is_empty()) {
            (false, _) if kind == Kind::Link => format!("/sign-in?link={}", part(&link)),
            (false, _) => format!("{}?link={}", kind.action(), part(&link)),
            (true, false) => format!("{}?next={}", kind.action(), part(&next)),
            (true, true) => kind.action().to_owned(),
        };
        let oidc = app.oidc.as_ref().filter(|_| kind == Kind::SignIn);
        let (provider, only) = oidc.map_or((String::new(), false), |oidc| (oidc.name(), oidc.settings.only));
        let start = format!("/oidc/start?next={}", part(&next));
        let page = console::Page::new(app, &headers, &here, None);
        let (name, action, autocomplete) = (kind.name(), kind.action(), kind.autocomplete());
        let make = |page| SignInPage {
            page,
            kind: name,
            action,
            autocomplete,
            user,
            link,
            next,
            error,
            provider,
            start,
            only,
        };
        let rendered = page.show(make);
        rendered.unwrap_or_else(IntoResponse::into_response)
    }

    /// Renders the page with the problem's sentence and status.
    pub(super) fn render_problem(mut self, problem: &Problem) -> Response {
        let document = problem.document(&self.app.texts, console::language(&self.headers, self.app.language), None);
        self.error = document["detail"].as_str().unwrap_or_default().to_owned();
        let answer = problem.clone().into_response();
        let retry: Option<HeaderValue> = answer.headers().get(header::RETRY_AFTER).cloned();
        let status: StatusCode = answer.status();
        let mut page = self.render();
        *page.status_mut() = status;
        if let Some(retry) = retry {
            page.headers_mut().insert(header::RETRY_AFTER, retry);
        }
        page
    }
}
