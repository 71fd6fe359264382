//! A page: the person who looks, their language and theme, and the functions that templates may call.

use std::sync::Arc;

use askama::Template;
use axum::extract::{FromRequestParts, OptionalFromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use fluent_bundle::FluentArgs;
use turno::Turno;
use turno::core::access::{Permission, Principal, Token, TokenKind};
use turno::core::time::Time;

use super::badge::Badge;
use super::directory::Names;
use super::flash::Flash;
use super::form::local;
use super::when::When;
use super::who::Who;
use super::{assets, badge};
use crate::http::{App, Caller, Code, Problem, Shared, TOKENS_SOON, cookie, identify};
use crate::texts::Language;
use crate::texts::message::Message;

/// The cookie with the chosen language.
pub(super) const LANGUAGE: &str = "turno_language";
/// The cookie with the chosen theme.
pub(super) const THEME: &str = "turno_theme";

/// The actor that the audit names for actions of the system itself.
const SYSTEM: &str = "system";

/// Light, dark, or the preference of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Theme {
    Auto,
    Light,
    Dark,
}

impl Theme {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Theme::Auto => "auto",
            Theme::Light => "light",
            Theme::Dark => "dark",
        }
    }

    pub(super) fn named(name: &str) -> Option<Theme> {
        [Theme::Auto, Theme::Light, Theme::Dark].into_iter().find(|theme| theme.name() == name)
    }

    /// Returns the themes that the button may switch to. From `Auto`, only the browser knows whether dark or light is
    /// the other one, so both are rendered and the style sheet shows one.
    pub(crate) fn next(self) -> &'static [&'static str] {
        match self {
            Theme::Auto => &["dark", "light"],
            Theme::Dark => &["light"],
            Theme::Light => &["auto"],
        }
    }
}

/// Returns the reader's language: the chosen one, or else the browser's preference, or else `default`.
pub(crate) fn language(headers: &HeaderMap, default: Language) -> Language {
    match cookie(headers, LANGUAGE) {
        Some("es") => Language::Spanish,
        Some("en") => Language::English,
        _ => {
            let accepted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
            Language::preferred(accepted.unwrap_or_default(), default)
        }
    }
}

/// The page that is being rendered. Templates have it as their field `page`.
#[derive(Debug)]
pub(crate) struct Page {
    app: Shared,
    me: Option<(Turno, Arc<Principal>)>,
    language: Language,
    theme: Theme,
    /// The path with its query, to which forms return.
    path: String,
    flash: Option<Flash>,
    /// The host name and port by which the browser reaches the server.
    host: String,
    /// Names of people by their ids. Empty on pages without sign-in.
    names: Arc<Names>,
}

impl Page {
    /// Makes a page for a caller, who may be unknown.
    pub(crate) fn new(app: Shared, headers: &HeaderMap, path: &str, caller: Option<&Caller>) -> Page {
        let is_refresh = headers.contains_key("hx-request");
        Page {
            me: caller.and_then(|caller| Some((caller.0.clone(), caller.0.principal()?))),
            language: language(headers, app.language),
            theme: cookie(headers, THEME).and_then(Theme::named).unwrap_or(Theme::Auto),
            path: path.to_owned(),
            flash: Flash::from_headers(headers).filter(|_| !is_refresh),
            host: headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("127.0.0.1:7171").to_owned(),
            names: Arc::default(),
            app,
        }
    }

    /// Returns the library's handle in the name of the signed-in person.
    pub(crate) fn turno(&self) -> Result<&Turno, Problem> {
        self.me.as_ref().map(|(turno, _)| turno).ok_or_else(|| Problem::new(Code::Unauthenticated))
    }

    /// Returns the signed-in person as the API's handlers know them.
    pub(crate) fn caller(&self) -> Result<Caller, Problem> {
        self.turno().cloned().map(Caller::new)
    }

    /// Returns the shared state of all handlers.
    pub(crate) fn shared(&self) -> Shared {
        self.app.clone()
    }

    pub(crate) fn app(&self) -> &App {
        &self.app
    }

    pub(crate) fn language(&self) -> Language {
        self.language
    }

    /// Renders the template that `make` returns.
    pub(crate) fn show<T: Template>(self, make: impl FnOnce(Page) -> T) -> Result<Response, Problem> {
        self.show_as(StatusCode::OK, make)
    }

    /// Renders the template with this status.
    pub(crate) fn show_as<T: Template>(
        self,
        status: StatusCode,
        make: impl FnOnce(Page) -> T,
    ) -> Result<Response, Problem> {
        let (language, flashed) = (self.language, self.flash.is_some());
        let text = make(self).render().map_err(|error| {
            tracing::error!(%error, "a page could not be made");
            Problem::new(Code::Internal)
        })?;
        let headers = [
            (header::CONTENT_LANGUAGE, language.tag()),
            (header::VARY, "accept-language, cookie, hx-request"),
            (header::CACHE_CONTROL, "no-store"),
            // Not `no-referrer`: with it a form would not send its origin, and could not be told from a form of another
            // site.
            (header::REFERRER_POLICY, "same-origin"),
        ];
        let mut answer = (status, headers, Html(text)).into_response();
        if flashed {
            put_cookie(&mut answer, &Flash::expired_cookie());
        }
        Ok(answer)
    }

    /// Answers a form with a redirect to a page of this site, which shows the outcome once.
    pub(crate) fn after(&self, back: Option<&str>, outcome: Result<String, Problem>) -> Response {
        match outcome {
            Ok(said) => redirect_with(back, &Flash::good(said)),
            Err(problem) => self.refused(back, self.problem_text(&problem)),
        }
    }

    /// Answers a form with a redirect and this refusal.
    pub(crate) fn refused(&self, back: Option<&str>, said: String) -> Response {
        redirect_with(back, &Flash::bad(said))
    }

    /// Renders a message.
    pub(crate) fn render(&self, message: &Message) -> String {
        message.render(&self.app.texts, self.language)
    }

    /// Renders a problem as a sentence.
    pub(crate) fn problem_text(&self, problem: &Problem) -> String {
        let document = problem.document(&self.app.texts, self.language, None);
        document["detail"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns a text. Returns its id if the text does not exist, which tests refuse.
    pub(crate) fn t(&self, id: &str) -> String {
        self.text(id, &FluentArgs::new())
    }

    /// Returns a text, or `other` if it does not exist.
    pub(crate) fn t_or(&self, id: &str, other: &str) -> String {
        let found = self.app.texts.find(self.language, id, &FluentArgs::new()).map(std::borrow::Cow::into_owned);
        found.unwrap_or_else(|| other.to_owned())
    }

    /// Returns a text with one argument.
    pub(crate) fn t1(&self, id: &str, name: &'static str, value: impl std::fmt::Display) -> String {
        let mut args = FluentArgs::new();
        set(&mut args, name, &value);
        self.text(id, &args)
    }

    /// Returns a text with two arguments.
    pub(crate) fn t2(
        &self,
        id: &str,
        first: &'static str,
        value: impl std::fmt::Display,
        second: &'static str,
        other: impl std::fmt::Display,
    ) -> String {
        let mut args = FluentArgs::new();
        set(&mut args, first, &value);
        set(&mut args, second, &other);
        self.text(id, &args)
    }

    /// Returns a text with any number of arguments, all of them strings.
    pub(crate) fn text_with(&self, id: &str, values: &[(&'static str, String)]) -> String {
        let mut args = FluentArgs::new();
        values.iter().for_each(|(name, value)| args.set(*name, value.as_str()));
        self.text(id, &args)
    }

    fn text(&self, id: &str, args: &FluentArgs<'_>) -> String {
        self.app.texts.find(self.language, id, args).map_or_else(|| id.to_owned(), std::borrow::Cow::into_owned)
    }

    /// Renders a state as a badge. Its word is the text `state-STATE`. All pages show states this way.
    pub(crate) fn badge(&self, state: &str) -> Badge {
        Badge::new(state, self.t(&format!("state-{state}")))
    }

    /// Returns the tone of a state, for elements that are coloured like its badge.
    pub(crate) fn tone(&self, state: &str) -> &'static str {
        badge::tone(state)
    }

    /// Renders a person by name.
    pub(crate) fn who(&self, id: impl std::fmt::Display) -> Who {
        let id = id.to_string();
        let name = self.names.get(&id).cloned().or_else(|| (id == SYSTEM).then(|| self.t("who-system")));
        Who::new(id, name)
    }

    /// Returns the name of a person as plain text.
    pub(crate) fn name_of(&self, id: &str) -> String {
        self.names.get(id).cloned().unwrap_or_else(|| id.to_owned())
    }

    /// Renders a permission in words.
    pub(crate) fn permission(&self, name: impl std::fmt::Display) -> String {
        self.app.texts.permission(self.language, &name.to_string())
    }

    /// Renders a rate: with a decimal only below 10, and with the reader's decimal mark.
    pub(crate) fn rate(&self, rate: &f64) -> String {
        let text = if *rate >= 10.0 || rate.fract() == 0.0 { format!("{rate:.0}") } else { format!("{rate:.1}") };
        match self.language {
            Language::Spanish => text.replace('.', ","),
            Language::English => text,
        }
    }

    /// Renders a time as plain text, in UTC, which the text says.
    pub(crate) fn day(&self, at: &Time) -> String {
        When::day(*at)
    }

    /// Renders a time relative to now.
    pub(crate) fn ago(&self, at: &Time, now: &Time) -> When {
        When::ago(self, *at, *now)
    }

    /// Returns whether a token of a person or program expires soon, so that it should be rotated.
    pub(crate) fn expires_soon(&self, token: &Token) -> bool {
        let now = self.app.trusted().now();
        let soon = |at: Time| now < at && at <= now + TOKENS_SOON.into();
        token.kind() == TokenKind::Token && token.expires_at.is_some_and(soon)
    }

    /// Renders a time of day.
    pub(crate) fn clock(&self, at: &Time) -> When {
        When::clock(*at)
    }

    /// Renders a time of day with seconds.
    pub(crate) fn exact_clock(&self, at: &Time) -> When {
        When::exact_clock(*at)
    }

    /// Returns the address of an asset.
    pub(crate) fn asset(&self, name: &str) -> String {
        assets::address(name)
    }

    /// Encodes a name as a part of an address, because names may contain any character.
    pub(crate) fn part(&self, name: impl std::fmt::Display) -> String {
        percent_encoding::utf8_percent_encode(&name.to_string(), percent_encoding::NON_ALPHANUMERIC).to_string()
    }

    /// Returns the address of the form for a verb on a thing.
    pub(crate) fn action(&self, noun: &str, name: impl std::fmt::Display, verb: &str) -> String {
        format!("/console/{noun}/{}/{verb}", self.part(name))
    }

    /// Returns whether the signed-in person has this permission. Pages hide actions without it.
    pub(crate) fn may(&self, permission: &str) -> bool {
        let wanted = permission.parse::<Permission>();
        let held = self.me.as_ref().map(|(_, me)| me.permissions);
        wanted.is_ok_and(|permission| held.is_some_and(|held| held.has(permission)))
    }

    pub(crate) fn signed_in(&self) -> bool {
        self.me.is_some()
    }

    /// Returns the name of the signed-in person.
    pub(crate) fn name(&self) -> &str {
        self.me.as_ref().map_or("", |(_, me)| &me.name)
    }

    /// Returns the id of the signed-in person.
    pub(crate) fn user(&self) -> &str {
        self.me.as_ref().map_or("", |(_, me)| me.user.as_str())
    }

    pub(crate) fn lang(&self) -> &'static str {
        self.language.tag()
    }

    pub(crate) fn theme(&self) -> Theme {
        self.theme
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Returns whether the page belongs to this section: the first part of the address.
    pub(crate) fn is_in(&self, section: &str) -> bool {
        let path = self.path.split(['?', '#']).next().unwrap_or_default();
        // A form that is rendered again with its errors has the address `/console/…` of its section.
        let path = path.strip_prefix("/console").unwrap_or(path);
        path.split('/').nth(1).unwrap_or_default() == section
    }

    /// Returns whether the address has filters. If so, an empty list does not mean that nothing exists.
    pub(crate) fn is_filtered(&self) -> bool {
        let query = self.path.split_once('?').map_or("", |(_, query)| query);
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.into_iter().any(|(name, value)| !value.is_empty() && !["cursor", "queue"].contains(&name))
    }

    /// Returns the server's base URL, for commands that can be pasted.
    pub(crate) fn base(&self) -> String {
        let settings = self.app.settings.iter().find(|row| row.key == "public_url");
        let public = settings.and_then(|row| row.value.clone());
        public.unwrap_or_else(|| format!("http://{}", self.host))
    }

    /// Returns the id of a person, given an id or a name in any case.
    pub(crate) fn user_of(&self, typed: &str) -> String {
        let called = || self.names.iter().find(|(_, name)| name.to_lowercase() == typed.to_lowercase());
        if self.names.contains_key(typed) { None } else { called() }.map_or(typed, |(id, _)| id).to_owned()
    }

    pub(crate) fn flash(&self) -> Option<&Flash> {
        self.flash.as_ref()
    }
}

fn redirect_with(back: Option<&str>, flash: &Flash) -> Response {
    let mut answer = Redirect::to(local(back)).into_response();
    put_cookie(&mut answer, &flash.cookie());
    answer
}

/// Passes numbers as numbers, so that Fluent chooses the right plural.
fn set(args: &mut FluentArgs<'_>, name: &'static str, value: &dyn std::fmt::Display) {
    let text = value.to_string();
    match text.parse::<i64>() {
        Ok(number) => args.set(name, number),
        Err(_) => args.set(name, text),
    }
}

pub(super) fn put_cookie(answer: &mut Response, cookie: &str) {
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        answer.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

impl FromRequestParts<Shared> for Page {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Self, Problem> {
        // The guard has identified the caller, except on public routes.
        let caller = match parts.extensions.get::<Caller>() {
            Some(caller) => caller.clone(),
            None => identify(app, &parts.method, &parts.headers).await?,
        };
        let confined = caller.0.principal().is_some_and(|me| me.is_bounded());
        if confined {
            // A confined token is made for one page of another application and gets no access to the console.
            return Err(Problem::new(Code::OtherResource).arg("resource", parts.uri.path()));
        }
        let page = Page::new(app.clone(), &parts.headers, &address(parts), Some(&caller));
        // If the names cannot be read, pages show ids.
        Ok(Page { names: app.directory.names(app.trusted()).await.unwrap_or_default(), ..page })
    }
}

impl OptionalFromRequestParts<Shared> for Page {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Option<Self>, Problem> {
        match <Page as FromRequestParts<Shared>>::from_request_parts(parts, app).await {
            Ok(page) => Ok(Some(page)),
            Err(problem) if problem.is_unauthenticated() => Ok(None),
            Err(problem) => Err(problem),
        }
    }
}

fn address(parts: &Parts) -> String {
    parts.uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string)
}
