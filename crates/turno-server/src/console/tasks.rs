//! Tasks: their list, one task with process mode, and drafts.
//!
//! Process mode itself runs in the browser (`web/console/process.js`), because only the page knows whether somebody is
//! there; everything that it changes goes through the API with the fence of its own live lock. What is here shows how a
//! task is, and takes the forms that need no lock.

mod draft;
mod list;
mod lock;
mod one;
mod past;

use axum::Router;
use axum::routing::{get, post};

use crate::http::Shared;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/tasks", get(list::list))
        .route("/tasks/new", get(draft::fresh))
        .route("/tasks/{id}", get(one::one))
        .route("/tasks/{id}/edit", get(draft::edit))
        .route("/console/tasks", post(draft::create))
        .route("/console/tasks/{id}/edit", post(draft::save))
        .route("/console/tasks/{id}/ready", post(one::ready))
        .route("/console/tasks/{id}/cancel", post(one::cancel))
}
