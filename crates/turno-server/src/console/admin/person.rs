//! The page of a person: name, role, access, password and tokens.

use askama::Template;
use axum::response::Response;
use serde::Deserialize;
use turno::access::PersonChange;
use turno::core::access::{Person, Role, Token};
use turno::core::id::UserId;

use super::{ROLES, role};
use crate::console::form::{Form, given};
use crate::console::page::Page;
use crate::http::{Code, Path, Problem, password_hashed, person_identity, person_name};

/// How many tokens are shown. The list of tokens has all of them.
const TOKENS: u32 = 100;

#[derive(Template)]
#[template(path = "admin/person.html")]
struct PersonPage {
    page: Page,
    person: Person,
    tokens: Vec<Token>,
}

impl PersonPage {
    fn roles(&self) -> [Role; 3] {
        ROLES
    }

    /// Returns the configured issuer, which the form proposes. Empty if there is none.
    fn issuer(&self) -> &str {
        self.page.app().oidc.as_ref().map_or("", |provider| &provider.settings.issuer)
    }

    fn is_me(&self) -> bool {
        self.person.id.as_str() == self.page.user()
    }
}

pub(super) async fn show(page: Page, Path(id): Path<UserId>) -> Result<Response, Problem> {
    let unknown = || Problem::new(Code::NotFound).arg("thing", &id);
    let person = page.turno()?.person(id.clone()).await?.ok_or_else(unknown)?;
    let tokens = page.turno()?.tokens(Some(id.clone()), None, TOKENS).await?;
    page.show(|page| PersonPage { page, person, tokens })
}

/// The fields of the form.
#[derive(Deserialize)]
pub(super) struct Changed {
    name: Option<String>,
    role: Option<String>,
}

fn path_of(page: &Page, id: &UserId) -> String {
    format!("/admin/people/{}", page.part(id))
}

async fn apply_change(page: &Page, id: &UserId, change: PersonChange) -> Result<String, Problem> {
    // People who change themselves keep the session they use.
    let spare = page.turno()?.principal().filter(|me| me.user == *id).map(|me| me.token.clone());
    let outcome = match change.disabled {
        Some(true) => "people-disabled",
        Some(false) => "people-enabled",
        None => "people-changed",
    };
    let person = page.turno()?.change_person(id.clone(), PersonChange { spare, ..change }).await?;
    Ok(page.t1(outcome, "name", person.name))
}

pub(super) async fn change(page: Page, Path(id): Path<UserId>, Form(form): Form<Changed>) -> Response {
    let outcome = async {
        let name = given(form.name).map(|name| person_name("name", name)).transpose()?;
        let role = form.role.as_deref().map(role).transpose()?;
        apply_change(&page, &id, PersonChange { name, role, ..PersonChange::default() }).await
    };
    page.after(Some(&path_of(&page, &id)), outcome.await)
}

pub(super) async fn disable(page: Page, Path(id): Path<UserId>) -> Response {
    let outcome = apply_change(&page, &id, PersonChange { disabled: Some(true), ..PersonChange::default() }).await;
    page.after(Some(&path_of(&page, &id)), outcome)
}

pub(super) async fn enable(page: Page, Path(id): Path<UserId>) -> Response {
    let outcome = apply_change(&page, &id, PersonChange { disabled: Some(false), ..PersonChange::default() }).await;
    page.after(Some(&path_of(&page, &id)), outcome)
}

pub(super) async fn remove(page: Page, Path(id): Path<UserId>) -> Response {
    let outcome = async {
        page.turno()?.remove_person(id.clone()).await?;
        Ok(page.t1("people-removed", "name", &id))
    };
    match outcome.await {
        Ok(said) => page.after(Some("/admin"), Ok(said)),
        Err(problem) => page.after(Some(&path_of(&page, &id)), Err(problem)),
    }
}

/// The form that sets a password.
#[derive(Deserialize)]
pub(super) struct NewPassword {
    password: String,
}

/// Sets a person's password. Sign-in links are made on the server's machine only: the library refuses them to a
/// signed-in caller.
pub(super) async fn password(page: Page, Path(id): Path<UserId>, Form(form): Form<NewPassword>) -> Response {
    let outcome = async {
        let password = Some(password_hashed(page.app(), "password", form.password, &[id.as_str()]).await?);
        apply_change(&page, &id, PersonChange { password, ..PersonChange::default() }).await
    };
    page.after(Some(&path_of(&page, &id)), outcome.await)
}

/// The form that links a person to an identity of the OpenID provider.
#[derive(Deserialize)]
pub(super) struct NewLink {
    issuer: String,
    subject: String,
}

pub(super) async fn link(page: Page, Path(id): Path<UserId>, Form(form): Form<NewLink>) -> Response {
    let outcome = async {
        let wrong = |(field, fault)| Problem::new(Code::BadField).field(field).cause(fault);
        let identity = person_identity(form.issuer.trim(), form.subject.trim()).map_err(wrong)?;
        let person = page.turno()?.link_identity(id.clone(), Some(identity)).await?;
        Ok(page.t1("people-linked", "name", person.name))
    };
    page.after(Some(&path_of(&page, &id)), outcome.await)
}

pub(super) async fn unlink(page: Page, Path(id): Path<UserId>) -> Response {
    let outcome = async {
        let person = page.turno()?.link_identity(id.clone(), None).await?;
        Ok(page.t1("people-unlinked", "name", person.name))
    };
    page.after(Some(&path_of(&page, &id)), outcome.await)
}
