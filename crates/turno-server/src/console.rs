//! The console: pages for people, rendered on the server.
//!
//! Each page has a file under `console/`, its markup in `templates/` and its texts in `locales/console.*.ftl`. Every
//! page works without scripts: filters are in the address, and each change is a form that is answered with a redirect.
//! With scripts, pages update themselves (`web/console/console.js`).
//!
//! A page's handler takes a [`Page`], calls the library in the name of the signed-in person, and renders a template
//! whose field `page` is the page. A form's handler takes a [`Page`] and a [`Form`] and answers with [`Page::after`].
//!
//! The console contains no rules, and it is not the API.

mod admin;
mod assets;
mod audit;
mod badge;
mod directory;
mod flash;
mod form;
mod glance;
mod leases;
mod login;
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
pub(crate) use trouble::{BrowserRequest, answer};

use axum::Router;
use axum::routing::{get, post};

use crate::http::Shared;

/// Returns the routes of all pages and their forms.
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
        .merge(login::routes())
}
