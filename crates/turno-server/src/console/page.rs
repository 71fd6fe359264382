//! A page: who looks, in which language and colours, and what every template may ask.

use std::sync::Arc;

use askama::Template;
use axum::extract::{FromRequestParts, OptionalFromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use fluent_bundle::FluentArgs;
use turno::Turno;
use turno::core::access::{Permission, Principal};
use turno::core::time::Time;

use super::badge::Badge;
use super::directory::Names;
use super::flash::Flash;
use super::form::local;
use super::when::When;
use super::who::Who;
use super::{assets, badge};
use crate::http::{App, Caller, Code, Problem, Shared, cookie, identify};
use crate::texts::{Language, causes};

/// The cookie with the language that somebody chose.
pub(super) const LANGUAGE: &str = "turno_language";
/// The cookie with the colours that somebody chose.
pub(super) const THEME: &str = "turno_theme";

/// Whom the audit names where no person did it.
const SYSTEM: &str = "system";

/// Light, dark, or as the machine has it.
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

    /// What the one button leads to. Which way it is from the machine's own colours only the machine knows: the style
    /// shows one of both.
    pub(crate) fn next(self) -> &'static [&'static str] {
        match self {
            Theme::Auto => &["dark", "light"],
            Theme::Dark => &["light"],
            Theme::Light => &["auto"],
        }
    }
}

/// The reader's language: what they chose, or else what their browser prefers.
pub(crate) fn language(headers: &HeaderMap) -> Language {
    match cookie(headers, LANGUAGE) {
        Some("es") => Language::Spanish,
        Some("en") => Language::English,
        _ => {
            let wish = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
            Language::preferred(wish.unwrap_or_default())
        }
    }
}

/// The page that is being made. Templates have it as their field `page`.
#[derive(Debug)]
pub(crate) struct Page {
    app: Shared,
    me: Option<(Turno, Arc<Principal>)>,
    language: Language,
    theme: Theme,
    /// With its query, for forms to come back to.
    path: String,
    flash: Option<Flash>,
    /// Under which name and port the browser reaches the server.
    host: String,
    /// What people are called; nobody on pages for strangers.
    names: Arc<Names>,
}

impl Page {
    /// For somebody who may not be in.
    pub(crate) fn new(app: Shared, headers: &HeaderMap, path: &str, caller: Option<&Caller>) -> Page {
        let again = headers.contains_key("hx-request");
        Page {
            me: caller.and_then(|caller| Some((caller.0.clone(), caller.0.principal()?))),
            language: language(headers),
            theme: cookie(headers, THEME).and_then(Theme::named).unwrap_or(Theme::Auto),
            path: path.to_owned(),
            flash: Flash::of(headers).filter(|_| !again),
            host: headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("127.0.0.1:7171").to_owned(),
            names: Arc::default(),
            app,
        }
    }

    /// The library, in the name of whoever looks.
    pub(crate) fn turno(&self) -> Result<&Turno, Problem> {
        self.me.as_ref().map(|(turno, _)| turno).ok_or_else(|| Problem::new(Code::Unauthenticated))
    }

    /// Whoever looks, as the API's handlers know them.
    pub(crate) fn caller(&self) -> Result<Caller, Problem> {
        self.turno().cloned().map(Caller)
    }

    /// What all handlers know, to be handed on.
    pub(crate) fn shared(&self) -> Shared {
        self.app.clone()
    }

    pub(crate) fn app(&self) -> &App {
        &self.app
    }

    pub(crate) fn language(&self) -> Language {
        self.language
    }

    /// The answer with this template, which is given the page.
    pub(crate) fn show<T: Template>(self, make: impl FnOnce(Page) -> T) -> Result<Response, Problem> {
        self.show_as(StatusCode::OK, make)
    }

    /// The same under another status.
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
            // Not `no-referrer`: under it a form would not say where it comes from, and could not be told from another
            // site's.
            (header::REFERRER_POLICY, "same-origin"),
        ];
        let mut answer = (status, headers, Html(text)).into_response();
        if flashed {
            put_cookie(&mut answer, &Flash::forgotten());
        }
        Ok(answer)
    }

    /// The answer to a form: back to a page of ours, where what became of it is said.
    pub(crate) fn after(&self, back: Option<&str>, became: Result<String, Problem>) -> Response {
        match became {
            Ok(said) => sent_on(back, &Flash::good(said)),
            Err(problem) => self.refused(back, self.said(&problem)),
        }
    }

    /// The same for what was refused in these words.
    pub(crate) fn refused(&self, back: Option<&str>, said: String) -> Response {
        sent_on(back, &Flash::bad(said))
    }

    /// What went wrong further inside, in the reader's language.
    pub(crate) fn cause(&self, cause: impl std::fmt::Display) -> String {
        causes::told(&self.app.texts, self.language, &cause.to_string())
    }

    /// A problem as a sentence.
    pub(crate) fn said(&self, problem: &Problem) -> String {
        let document = problem.document(&self.app.texts, self.language, None);
        document["detail"].as_str().unwrap_or_default().to_owned()
    }

    /// A text; its name if there is none, which tests refuse.
    pub(crate) fn t(&self, id: &str) -> String {
        self.text(id, &FluentArgs::new())
    }

    /// A text, or something else if there is none.
    pub(crate) fn t_or(&self, id: &str, other: &str) -> String {
        let found = self.app.texts.find(self.language, id, &FluentArgs::new()).map(std::borrow::Cow::into_owned);
        found.unwrap_or_else(|| other.to_owned())
    }

    /// A text with one argument.
    pub(crate) fn t1(&self, id: &str, name: &'static str, value: impl std::fmt::Display) -> String {
        let mut args = FluentArgs::new();
        set(&mut args, name, &value);
        self.text(id, &args)
    }

    /// A text with two.
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

    /// A text with any number of them, as words.
    pub(crate) fn told(&self, id: &str, values: &[(&'static str, String)]) -> String {
        let mut args = FluentArgs::new();
        values.iter().for_each(|(name, value)| args.set(*name, value.as_str()));
        self.text(id, &args)
    }

    fn text(&self, id: &str, args: &FluentArgs<'_>) -> String {
        self.app.texts.find(self.language, id, args).map_or_else(|| id.to_owned(), std::borrow::Cow::into_owned)
    }

    /// The one way to show a state; its word is the text `state-STATE`.
    pub(crate) fn badge(&self, state: &str) -> Badge {
        Badge::new(state, self.t(&format!("state-{state}")))
    }

    /// The tone of a state, for what is coloured like its badge.
    pub(crate) fn tone(&self, state: &str) -> &'static str {
        badge::tone(state)
    }

    /// Somebody by their name.
    pub(crate) fn who(&self, id: impl std::fmt::Display) -> Who {
        let id = id.to_string();
        let name = self.names.get(&id).cloned().or_else(|| (id == SYSTEM).then(|| self.t("who-system")));
        Who::new(id, name)
    }

    /// The same as bare text.
    pub(crate) fn called(&self, id: &str) -> String {
        self.names.get(id).cloned().unwrap_or_else(|| id.to_owned())
    }

    /// A permission in words.
    pub(crate) fn permission(&self, name: impl std::fmt::Display) -> String {
        self.app.texts.permission(self.language, &name.to_string())
    }

    /// A rate as people write it: tenths only where they matter, with the reader's mark.
    pub(crate) fn rate(&self, rate: &f64) -> String {
        let text = if *rate >= 10.0 || rate.fract() == 0.0 { format!("{rate:.0}") } else { format!("{rate:.1}") };
        match self.language {
            Language::Spanish => text.replace('.', ","),
            Language::English => text,
        }
    }

    /// A time where only text can stand, in the server's own zone, which is said.
    pub(crate) fn day(&self, at: &Time) -> String {
        When::day(*at)
    }

    /// How long ago, or how soon.
    pub(crate) fn ago(&self, at: &Time, now: &Time) -> When {
        When::ago(self, *at, *now)
    }

    /// At what o'clock.
    pub(crate) fn clock(&self, at: &Time) -> When {
        When::clock(*at)
    }

    /// At what o'clock, to the second.
    pub(crate) fn exact_clock(&self, at: &Time) -> When {
        When::exact_clock(*at)
    }

    /// Where a file of ours is found.
    pub(crate) fn asset(&self, name: &str) -> String {
        assets::address(name)
    }

    /// A part of an address: names hold anything.
    pub(crate) fn part(&self, name: impl std::fmt::Display) -> String {
        percent_encoding::utf8_percent_encode(&name.to_string(), percent_encoding::NON_ALPHANUMERIC).to_string()
    }

    /// Where the form of a verb on a thing goes.
    pub(crate) fn action(&self, noun: &str, name: impl std::fmt::Display, verb: &str) -> String {
        format!("/console/{noun}/{}/{verb}", self.part(name))
    }

    /// Whether whoever looks may do this; what one may not is not offered.
    pub(crate) fn may(&self, permission: &str) -> bool {
        let wanted = permission.parse::<Permission>();
        let held = self.me.as_ref().map(|(_, me)| me.permissions);
        wanted.is_ok_and(|permission| held.is_some_and(|held| held.has(permission)))
    }

    pub(crate) fn signed_in(&self) -> bool {
        self.me.is_some()
    }

    /// How people call whoever looks.
    pub(crate) fn name(&self) -> &str {
        self.me.as_ref().map_or("", |(_, me)| &me.name)
    }

    /// Their id.
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

    /// Whether this part of the console is the one that is looked at: the first part of the address says so.
    pub(crate) fn is_in(&self, section: &str) -> bool {
        let path = self.path.split(['?', '#']).next().unwrap_or_default();
        // A form that comes back with what is wrong is still in the part where it was sent from.
        let path = path.strip_prefix("/console").unwrap_or(path);
        path.split('/').nth(1).unwrap_or_default() == section
    }

    /// Whether the address chooses some of a list: then an empty list says nothing about what there is.
    pub(crate) fn is_filtered(&self) -> bool {
        let query = self.path.split_once('?').map_or("", |(_, query)| query);
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.into_iter().any(|(name, value)| !value.is_empty() && !["cursor", "queue"].contains(&name))
    }

    /// Where programs find the server, for commands that can be pasted.
    pub(crate) fn base(&self) -> String {
        let settings = self.app.settings.iter().find(|row| row.key == "public_url");
        let public = settings.and_then(|row| row.value.clone());
        public.unwrap_or_else(|| format!("http://{}", self.host))
    }

    /// The id of whom somebody typed: by id or by name, in whichever case.
    pub(crate) fn user_of(&self, typed: &str) -> String {
        let called = || self.names.iter().find(|(_, name)| name.to_lowercase() == typed.to_lowercase());
        if self.names.contains_key(typed) { None } else { called() }.map_or(typed, |(id, _)| id).to_owned()
    }

    pub(crate) fn flash(&self) -> Option<&Flash> {
        self.flash.as_ref()
    }
}

fn sent_on(back: Option<&str>, flash: &Flash) -> Response {
    let mut answer = Redirect::to(local(back)).into_response();
    put_cookie(&mut answer, &flash.cookie());
    answer
}

/// Numbers stay numbers, so that plurals are right.
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
        // The guard has found out who it is, except where anybody may come.
        let caller = match parts.extensions.get::<Caller>() {
            Some(caller) => caller.clone(),
            None => identify(app, &parts.method, &parts.headers).await?,
        };
        let confined = caller.0.principal().is_some_and(|me| !me.resources.is_empty());
        if confined {
            // Made for one page of another application, not to look around here.
            return Err(Problem::new(Code::OtherResource).arg("resource", parts.uri.path()));
        }
        let page = Page::new(app.clone(), &parts.headers, &address(parts), Some(&caller));
        // Without names ids are shown; a page that needs the database will say what is wrong with it.
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
