//! Tokens: created and shown once, listed without secrets, revoked.

use askama::Template;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use std::time::Duration;
use turno::access::NewToken;
use turno::core::access::{Permission, Permissions, Token};
use turno::core::fault::Fault;
use turno::core::id::UserId;

use super::Secret;
use crate::console::form::{Form, address, given, local};
use crate::console::page::Page;
use crate::http::{Code, Path, Problem, Query, Wanted};

/// The longest life of a token that the console creates, in days: ten years.
const DAYS_MAX: i64 = 3_660;

/// The filters in the address.
#[derive(Deserialize)]
pub(super) struct Filter {
    user: Option<String>,
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "admin/tokens.html")]
struct Tokens {
    page: Page,
    user: String,
    tokens: Vec<Token>,
    first: String,
    next: String,
}

pub(super) async fn list(page: Page, Query(filter): Query<Filter>) -> Result<Response, Problem> {
    let wanted = Wanted::new(None, filter.cursor.as_deref())?;
    let user = given(filter.user).unwrap_or_default();
    let of = Some(user.as_str())
        .filter(|user| !user.is_empty())
        .map(|typed| UserId::new(page.user_of(typed)))
        .transpose()?;
    let found = page.turno()?.tokens(of, wanted.after.clone(), wanted.one_more()).await?;
    let found = wanted.page(found, |token| token.id.clone());
    let to = |cursor: &str| address("/admin/tokens", &[("user", &user), ("cursor", cursor)]);
    let next = found.next_cursor.map(|cursor| to(&cursor)).unwrap_or_default();
    let first = filter.cursor.map(|_| to("")).unwrap_or_default();
    page.show(|page| Tokens { page, user, tokens: found.items, first, next })
}

/// The fields of a new token.
#[derive(Deserialize)]
pub(super) struct New {
    /// `person` or `machine`.
    speaks: String,
    /// `all`, or one permission.
    scope: String,
    days: Option<String>,
}

pub(super) async fn create(page: Page, Path(id): Path<UserId>, Form(form): Form<New>) -> Response {
    let back = format!("/admin/people/{}", page.part(&id));
    let made = async {
        let days = given(form.days).map(|days| days.parse::<i64>()).transpose();
        let bounds = || {
            let fault = Fault::OutOfBounds { min: 1, max: DAYS_MAX };
            Problem::new(Code::BadField).field("days").cause(fault)
        };
        let days = days.map_err(|_| bounds())?;
        if days.is_some_and(|days| !(1..=DAYS_MAX).contains(&days)) {
            return Err(bounds());
        }
        let scope = match form.scope.as_str() {
            "all" => None,
            name => {
                let wrong = |cause| Problem::new(Code::BadField).field("scope").cause(cause);
                Some([name.parse::<Permission>().map_err(wrong)?].into_iter().collect::<Permissions>())
            }
        };
        let new = NewToken {
            user: id.clone(),
            name: None,
            machine: form.speaks == "machine",
            scope,
            resources: Vec::new(),
            queues: Vec::new(),
            expires_in: days.map(|days| Duration::from_secs(days.unsigned_abs() * 86_400)),
        };
        Ok(page.turno()?.create_token(new).await?.1)
    };
    match made.await {
        Err(problem) => page.after(Some(&back), Err(problem)),
        Ok(secret) => {
            let (title, what) = (page.t1("token-title", "name", &id), page.t("token-what"));
            let shown = page.show(|page| Secret { page, title, what, secret, back });
            shown.unwrap_or_else(IntoResponse::into_response)
        }
    }
}

/// The address to return to.
#[derive(Deserialize)]
pub(super) struct Back {
    back: Option<String>,
}

pub(super) async fn revoke(page: Page, Path(id): Path<String>, Form(form): Form<Back>) -> Response {
    let outcome = async {
        page.turno()?.revoke_token(&id).await?;
        Ok(page.t("token-revoked"))
    };
    page.after(form.back.as_deref(), outcome.await)
}

/// Replaces a token at once and shows the new secret.
pub(super) async fn rotate(page: Page, Path(id): Path<String>, Form(form): Form<Back>) -> Response {
    let rotated = async { Ok::<_, Problem>(page.turno()?.rotate_token(&id, Duration::ZERO).await?) };
    match rotated.await {
        Err(problem) => page.after(form.back.as_deref(), Err(problem)),
        Ok((token, secret)) => {
            let back = local(form.back.as_deref()).to_owned();
            let (title, what) = (page.t1("token-title", "name", &token.user), page.t("token-what"));
            let shown = page.show(|page| Secret { page, title, what, secret, back });
            shown.unwrap_or_else(IntoResponse::into_response)
        }
    }
}
