//! The HTTP server: the routes around the library.
//!
//! Each noun has a file under `http/`. The shared parts are `guard` (authorization and limits), `access` (the table of
//! routes), `extract` (request parsing), `problem` (errors) and `listing` (pagination).

mod access;
mod answers;
mod app;
mod audit;
mod body;
mod caller;
mod callers;
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
mod login;
mod metrics;
mod openapi;
mod people;
mod problem;
mod proxies;
mod queue;
mod reader;
mod report;
mod room;
mod root;
mod server;
mod sign_in;
mod sources;
mod stamp;
mod stop;
mod sync;
mod task;
#[cfg(test)]
mod testing;

pub(crate) use app::{App, Shared};
pub(crate) use caller::{Caller, cookie, identify, not_foreign};
pub(crate) use callers::CallerFigures;
pub(crate) use extract::{Path, Query, syntax_message, without_types};
pub(crate) use lease::{act as lease_act, text as lease_text};
pub(crate) use listing::{Page, Wanted};
pub(crate) use metrics::TOKENS_SOON;
pub(crate) use people::{
    RESOURCES_MAX, called as person_called, hashed as password_hashed, identity as person_identity,
    name as person_name, queue_pattern,
};
pub(crate) use problem::{Code, Problem};
pub(crate) use proxies::Proxies;
pub(crate) use queue::{
    DeliveryView, Happened, Payload, audited as queue_audited, explained as queue_why,
    payload_may_change as queue_payload_may_change, refused as queue_managed, timeline as queue_timeline,
};
pub(crate) use reader::Reader;
pub(crate) use server::Server;
pub(crate) use sign_in::way_in;
pub(crate) use stamp::Stamp;
pub(crate) use sync::{
    SourceView, resync as sync_resync, resync_all as sync_resync_all, size as sync_size, sources as sync_sources,
};
pub(crate) use task::{changed as task_changed, line_said as task_line_said, task_id, unknown as task_unknown};

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;

use axum::Router;
use axum::extract::Request;
use axum::http::Method;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use futures_util::FutureExt;
use tower::{Layer, ServiceExt};
use tower_http::cors::CorsLayer;
use utoipa_axum::router::OpenApiRouter;

use crate::console;

/// Returns the API routes with their OpenAPI description.
fn api() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .merge(health::routes())
        .merge(metrics::routes())
        .merge(sign_in::routes())
        .merge(login::routes())
        .merge(people::routes())
        .merge(audit::routes())
        .merge(events::routes())
        .merge(lease::routes())
        .merge(task::routes())
        .merge(queue::routes())
        .merge(locks::routes())
        .merge(sync::routes())
}

/// The service: the layers that every request passes, around the routes.
///
/// The layers are plain functions instead of tower layers, because each tower layer would clone the route's service and
/// box a future for every request.
#[derive(Clone, Debug)]
struct Front {
    app: Shared,
    routes: Router,
    /// Allows pages of other origins to call. `None` if no origin is allowed.
    cors: Option<CorsLayer>,
}

impl Front {
    fn new(app: Shared) -> Front {
        Front { routes: routes(app.clone()), cors: cors::layer(&app.cors_origins), app }
    }

    async fn answer(&self, mut request: Request) -> Response {
        self.app.proxies.resolve(&mut request);
        guard::edge(&self.app, request, |request| self.inside(request)).await
    }

    async fn inside(&self, request: Request) -> Response {
        match &self.cors {
            None => self.guarded(request).await,
            Some(cors) => {
                let inner = tower::service_fn(|request| async { Ok::<_, Infallible>(self.guarded(request).await) });
                // Boxed, so that the future stays small for servers without CORS.
                Box::pin(cors.layer(inner).oneshot(request)).await.unwrap_or_else(|never| match never {})
            }
        }
    }

    async fn guarded(&self, request: Request) -> Response {
        let answered = guard::guard(&self.app, request, |request| self.routes.clone().oneshot(request));
        let caught = AssertUnwindSafe(answered).catch_unwind().await;
        caught.unwrap_or_else(|_| Problem::new(Code::Internal).into_response())
    }
}

fn routes(app: Shared) -> Router {
    let (api, generated) = api().split_for_parts();
    let document = openapi::document(generated);
    let module = Router::new().route("/turno.js", get(root::module)).route("/turno.d.ts", get(root::module_types));
    let served = console::routes()
        .merge(module)
        .merge(sign_in::pages())
        .merge(api)
        .merge(openapi::routes(&document))
        .merge(docs::pages(&document, &app.texts));
    served.fallback(unknown).method_not_allowed_fallback(wrong_method).with_state(app)
}

async fn unknown(request: Request) -> Problem {
    Problem::new(Code::NotFound).arg("thing", request.uri().path())
}

/// Answers a method that the path does not have. A GET of a console form's address redirects to the form's page,
/// because a browser that reloads a form with an error asks for it.
async fn wrong_method(request: Request) -> Response {
    let reads = request.method() == Method::GET || request.method() == Method::HEAD;
    if let Some(page) = access::page_of_form(request.uri().path()).filter(|_| reads) {
        return Redirect::to(page).into_response();
    }
    Problem::new(Code::MethodNotAllowed)
        .arg("method", request.method())
        .arg("path", request.uri().path())
        .into_response()
}
