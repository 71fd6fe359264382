//! The two pages of the way in: to sign in, and for the first administrator. No script; mistakes are said on the page.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use fluent_bundle::FluentArgs;

use crate::http::app::App;
use crate::http::html::{escaped, fill};
use crate::http::problem::Problem;
use crate::texts::Language;

const TEMPLATE: &str = include_str!("page.html");

/// A page to be shown.
pub(super) struct Page<'a> {
    app: &'a App,
    language: Language,
    kind: Kind,
    user: String,
    link: String,
    error: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    SignIn,
    Setup,
}

impl Kind {
    /// Its part of the names of its texts.
    fn name(self) -> &'static str {
        match self {
            Kind::SignIn => "sign_in",
            Kind::Setup => "setup",
        }
    }

    fn action(self) -> &'static str {
        match self {
            Kind::SignIn => "/sign-in",
            Kind::Setup => "/setup",
        }
    }

    /// What a keeper of passwords should do here: fill in, or propose a new one.
    fn autocomplete(self) -> &'static str {
        match self {
            Kind::SignIn => "current-password",
            Kind::Setup => "new-password",
        }
    }
}

impl<'a> Page<'a> {
    pub(super) fn sign_in(app: &'a App, language: Language) -> Page<'a> {
        Page::of(app, language, Kind::SignIn)
    }

    pub(super) fn setup(app: &'a App, language: Language) -> Page<'a> {
        Page::of(app, language, Kind::Setup)
    }

    fn of(app: &'a App, language: Language, kind: Kind) -> Page<'a> {
        Page { app, language, kind, user: String::new(), link: String::new(), error: String::new() }
    }

    /// With what was typed before; never the password.
    pub(super) fn filled(mut self, user: Option<String>) -> Page<'a> {
        self.user = user.unwrap_or_default();
        self
    }

    /// With the secret of the link, which the form sends along.
    pub(super) fn linked(mut self, link: String) -> Page<'a> {
        self.link = link;
        self
    }

    pub(super) fn shown(self) -> Response {
        let headers = [
            (header::CONTENT_LANGUAGE, self.language.tag()),
            (header::VARY, "accept-language"),
            (header::CACHE_CONTROL, "no-store"),
            // Not `no-referrer`: under it a form would not say where it comes from, and could not be told from another
            // site's.
            (header::REFERRER_POLICY, "same-origin"),
        ];
        (headers, Html(self.render())).into_response()
    }

    /// With what went wrong, in a sentence, and under its status.
    pub(super) fn with(mut self, problem: &Problem) -> Response {
        let document = problem.document(&self.app.texts, self.language, None);
        self.error = document["detail"].as_str().unwrap_or_default().to_owned();
        let answer = problem.clone().into_response();
        let retry: Option<HeaderValue> = answer.headers().get(header::RETRY_AFTER).cloned();
        let status: StatusCode = answer.status();
        let mut page = self.shown();
        *page.status_mut() = status;
        if let Some(retry) = retry {
            page.headers_mut().insert(header::RETRY_AFTER, retry);
        }
        page
    }

    fn render(&self) -> String {
        fill(TEMPLATE, |name| match name {
            "lang" => self.language.tag().to_owned(),
            "action" => self.kind.action().to_owned(),
            "autocomplete" => self.kind.autocomplete().to_owned(),
            "user" => escaped(&self.user),
            "link" if self.link.is_empty() => String::new(),
            "link" => format!("<input type=\"hidden\" name=\"link\" value=\"{}\">", escaped(&self.link)),
            "error" if self.error.is_empty() => String::new(),
            "error" => format!("<p class=\"error\" id=\"error\" role=\"alert\">{}</p>", escaped(&self.error)),
            "described" if self.error.is_empty() => String::new(),
            "described" => " aria-describedby=\"error\" aria-invalid=\"true\"".to_owned(),
            text => escaped(&self.text(text)),
        })
    }

    /// A text of this page; empty if there is none, which a test refuses.
    fn text(&self, name: &str) -> String {
        let id = format!("page-{}.{name}", self.kind.name());
        self.app.texts.find(self.language, &id, &FluentArgs::new()).unwrap_or_default().into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::Texts;

    #[test]
    fn every_name_in_the_template_has_a_text_in_both_languages() {
        let texts = Texts::load();
        let computed = ["lang", "action", "autocomplete", "user", "link", "error", "described"];
        for name in TEMPLATE.split("{{").skip(1).filter_map(|piece| piece.split("}}").next()) {
            for (language, kind) in [(Language::Spanish, Kind::SignIn), (Language::English, Kind::Setup)] {
                let id = format!("page-{}.{name}", kind.name());
                let known = texts.find(language, &id, &FluentArgs::new()).is_some();
                assert!(computed.contains(&name) || known, "{id} in {language:?}");
            }
        }
    }

    #[test]
    fn the_page_brings_no_script_and_no_style_of_its_own() {
        for forbidden in ["<script", "<style", "style=", " onload", " onclick", "http:", "https:"] {
            assert!(!TEMPLATE.contains(forbidden), "{forbidden}");
        }
    }
}
