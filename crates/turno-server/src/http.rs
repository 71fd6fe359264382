//! HTTP: the routes around the library. A file under `http/` per noun; what they share is in
//! `guard` (who may), `extract` (what comes in), `problem` (what goes wrong), `listing` (pages).

mod access;
mod app;
mod audit;
mod caller;
mod cors;
mod docs;
mod events;
mod extract;
mod guard;
mod health;
mod html;
mod idempotency;
mod lease;
mod listing;
mod locks;
mod metrics;
mod openapi;
mod people;
mod problem;
mod queue;
mod reader;
mod report;
mod room;
mod root;
mod server;
mod sign_in;
mod stamp;
mod stop;
mod sync;
mod task;
#[cfg(test)]
mod testing;

pub(crate) use app::{App, Shared};
pub(crate) use caller::{Caller, identify, not_foreign};
pub(crate) use extract::{Path, Query};
pub(crate) use lease::{act as lease_act, text as lease_text};
pub(crate) use listing::Wanted;
pub(crate) use problem::{Code, Problem};
pub(crate) use queue::{refused as queue_managed, sentence as queue_why};
pub(crate) use server::Server;
pub(crate) use stamp::Stamp;

use axum::Router;
use axum::extract::Request;
use axum::middleware;
use axum::routing::get;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa_axum::router::OpenApiRouter;

use crate::console;

/// The routes of the API, with their description.
fn api() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .merge(health::routes())
        .merge(metrics::routes())
        .merge(docs::routes())
        .merge(sign_in::routes())
        .merge(people::routes())
        .merge(audit::routes())
        .merge(events::routes())
        .merge(lease::routes())
        .merge(task::routes())
        .merge(queue::routes())
        .merge(locks::routes())
        .merge(sync::routes())
}

fn router(app: Shared) -> Router {
    let (api, generated) = api().split_for_parts();
    let document = openapi::document(generated);
    let module = Router::new().route("/turno.js", get(root::module));
    let served = console::routes()
        .merge(module)
        .merge(api)
        .merge(openapi::routes(&document))
        .merge(docs::pages(&document, &app.texts));
    served
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(app.clone(), guard::guard))
        .layer(CatchPanicLayer::custom(|_| axum::response::IntoResponse::into_response(Problem::new(Code::Internal))))
        .layer(cors::layer(&app.cors_origins))
        .layer(middleware::from_fn_with_state(app.clone(), guard::edge))
        .with_state(app)
}

async fn unknown(request: Request) -> Problem {
    Problem::new(Code::NotFound).arg("thing", request.uri().path())
}

async fn wrong_method(request: Request) -> Problem {
    Problem::new(Code::MethodNotAllowed).arg("method", request.method()).arg("path", request.uri().path())
}
