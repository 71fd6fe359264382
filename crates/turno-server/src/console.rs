//! The console: pages for people, made on the server.
//!
//! A file per page under `console/`, its markup in `templates/`, its texts in `locales/console.*.ftl`. Every page works
//! without scripts: filters are in the address, and whatever changes something is a form that is answered by being sent
//! on. With scripts pages stay true by themselves (`web/console/console.js`).
//!
//! A handler takes a [`Page`], asks the library in the name of whoever looks, and shows a template that has the page as
//! its field `page`. A form's handler takes a [`Page`] and a [`Form`] and answers with [`Page::after`].
//!
//! Not here: any rule, and the API.

mod admin;
mod assets;
mod audit;
mod badge;
mod directory;
mod flash;
mod form;
mod glance;
mod leases;
mod overview;
mod page;
mod preferences;
mod queues;
mod sync;
mod tasks;
mod titles;
mod trend;
mod trouble;
mod when;
mod who;

pub(crate) use directory::Directory;
pub(crate) use form::local;
pub(crate) use glance::Glance;
pub(crate) use page::{Page, language};
pub(crate) use trend::Trend;
pub(crate) use trouble::{Asked, answer};

use axum::Router;
use axum::routing::{get, post};

use crate::http::Shared;

/// Pages, and the forms on them.
pub(crate) fn routes() -> Router<Shared> {
    Router::new()
        .route("/", get(overview::show))
        .route("/assets/{file}", get(assets::asset))
        .route("/console/preferences", post(preferences::save))
        .merge(tasks::routes())
        .merge(leases::routes())
        .merge(queues::routes())
        .merge(sync::routes())
        .merge(audit::routes())
        .merge(admin::routes())
}
