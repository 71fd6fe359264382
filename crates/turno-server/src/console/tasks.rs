//! Tasks: their place in the console.

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::get;

use super::page::Page;
use crate::http::{Problem, Shared};

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/tasks", get(list))
}

#[derive(Template)]
#[template(path = "tasks.html")]
struct Tasks {
    page: Page,
}

async fn list(page: Page) -> Result<Response, Problem> {
    page.show(|page| Tasks { page })
}
