//! Is the process alive, and can it do its work.

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::Shared;
use super::extract::Json;
use super::problem::{Code, Problem};

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(alive)).routes(routes!(ready))
}

/// What a probe reads.
#[derive(Debug, serde::Serialize, utoipa::ToSchema)]
pub(crate) struct Health {
    /// `ok`.
    status: &'static str,
    /// Of the program.
    version: &'static str,
}

const OK: Health = Health { status: "ok", version: env!("CARGO_PKG_VERSION") };

/// Whether the process is alive.
#[utoipa::path(get, path = "/healthz", tag = "operation", responses((status = 200, body = Health)), security(()))]
async fn alive() -> impl IntoResponse {
    ([(header::CACHE_CONTROL, "no-store")], Json(OK))
}

/// Whether it can do its work: the database answers, its schema fits, and it is not stopping.
#[utoipa::path(get, path = "/readyz", tag = "operation", responses((status = 200, body = Health)), security(()))]
async fn ready(State(app): State<Shared>) -> Result<impl IntoResponse, Problem> {
    if app.is_stopping() {
        return Err(Problem::new(Code::Stopping));
    }
    app.trusted().store()?.epoch().await.map_err(turno::Error::from)?;
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(OK)))
}
