//! Administration: people and their ways in, tokens, and the settings in force with where each comes from.

mod people;
mod person;
mod tokens;

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};
use turno::core::access::Role;

use super::page::Page;
use crate::config::origin::Shown;
use crate::http::{Code, Problem, Shared};

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/admin", get(people::list))
        .route("/admin/people/{id}", get(person::show))
        .route("/admin/tokens", get(tokens::list))
        .route("/admin/settings", get(settings))
        .route("/console/people", post(people::add))
        .route("/console/people/{id}/change", post(person::change))
        .route("/console/people/{id}/disable", post(person::disable))
        .route("/console/people/{id}/enable", post(person::enable))
        .route("/console/people/{id}/remove", post(person::remove))
        .route("/console/people/{id}/password", post(person::password))
        .route("/console/people/{id}/token", post(tokens::create))
        .route("/console/tokens/{id}/revoke", post(tokens::revoke))
}

/// The roles, the least first.
pub(super) const ROLES: [Role; 3] = [Role::Viewer, Role::Editor, Role::Admin];

fn role(name: &str) -> Result<Role, Problem> {
    let found = ROLES.into_iter().find(|role| role.as_str() == name);
    found.ok_or_else(|| Problem::new(Code::BadField).field("role").cause("viewer, editor or admin"))
}

/// A secret that is shown this once, because nobody keeps it.
#[derive(Template)]
#[template(path = "admin/secret.html")]
struct Secret {
    page: Page,
    title: String,
    what: String,
    secret: String,
    back: String,
}

#[derive(Template)]
#[template(path = "admin/settings.html")]
struct Settings {
    page: Page,
    rows: Vec<Shown>,
}

async fn settings(page: Page) -> Result<Response, Problem> {
    let rows = page.app().settings.clone();
    page.show(|page| Settings { page, rows })
}
