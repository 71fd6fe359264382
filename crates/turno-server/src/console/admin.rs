//! Administration: people, tokens, and the settings in force with their origins.

mod people;
mod person;
mod tokens;

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};
use std::sync::Arc;
use turno::core::access::Role;
use turno::core::time::Span;
use turno::queue::Overview;

use super::page::Page;
use crate::config::origin::{Origin, Shown};
use crate::http::CallerFigures;
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
        .route("/console/people/{id}/link", post(person::link))
        .route("/console/people/{id}/unlink", post(person::unlink))
        .route("/console/tokens/{id}/rotate", post(tokens::rotate))
        .route("/console/tokens/{id}/revoke", post(tokens::revoke))
}

/// The roles, from the least to the most permissions.
pub(super) const ROLES: [Role; 3] = [Role::Viewer, Role::Editor, Role::Admin];

fn role(name: &str) -> Result<Role, Problem> {
    name.parse::<Role>().map_err(|unknown| Problem::new(Code::BadField).field("role").cause(unknown))
}

/// A secret that is shown once, because only its hash is stored.
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
    queues: Arc<Vec<Overview>>,
    callers: Vec<CallerFigures>,
}

impl Settings {
    fn origin(&self, origin: &Origin) -> String {
        match origin {
            Origin::Default => self.page.t("origin-default"),
            Origin::Demo => self.page.t("origin-demo"),
            Origin::Preset(name) => self.page.t1("origin-preset", "name", name),
            Origin::File { path, line } => self.page.t2("origin-file", "path", path.display(), "line", line),
            Origin::Environment(_) | Origin::Flag(_) => origin.to_string(),
        }
    }

    /// Returns the origin of a queue: the file, whose values are listed with their own origins, or a call of the API.
    fn queue_origin(&self, queue: &Overview) -> String {
        let managed = self.page.app().managed_queues.contains(&queue.row.name);
        self.page.t(if managed { "origin-config" } else { "origin-call" })
    }

    fn kind(&self, queue: &Overview) -> &'static str {
        super::queues::kind(queue.row.policy.kind)
    }

    fn span(&self, span: &Span) -> String {
        super::queues::render_span(*span)
    }
}

async fn settings(page: Page) -> Result<Response, Problem> {
    let rows = page.app().settings.clone();
    let queues = page.app().glance.queues(page.app().trusted()).await?;
    let callers = page.app().callers.largest();
    page.show(|page| Settings { page, rows, queues, callers })
}
