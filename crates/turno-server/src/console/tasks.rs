//! Tasks: the list, the page of a task with process mode, and the form for drafts.
//!
//! Process mode runs in the browser (`web/console/process.js`), because only the page knows whether its user is active.
//! It changes tasks through the API, with the fence of its lease. The handlers here render tasks, and process the forms
//! that need no lease.

mod draft;
mod history;
mod list;
mod lock;
mod page;

use axum::Router;
use axum::routing::{get, post};

use crate::http::Shared;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/tasks", get(list::list))
        .route("/tasks/new", get(draft::fresh))
        .route("/tasks/{id}", get(page::show))
        .route("/tasks/{id}/edit", get(draft::edit))
        .route("/console/tasks", post(draft::create))
        .route("/console/tasks/{id}/edit", post(draft::save))
        .route("/console/tasks/{id}/ready", post(page::ready))
        .route("/console/tasks/{id}/cancel", post(page::cancel))
}
