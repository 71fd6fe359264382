//! Liveness and readiness.

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use turno::Error;
use turno::store::StoreError;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::Shared;
use super::extract::Json;
use super::problem::{Code, Problem};

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(alive)).routes(routes!(ready))
}

/// The answer of a health check.
#[derive(Debug, serde::Serialize, utoipa::ToSchema)]
pub(crate) struct Health {
    /// Always `ok`.
    status: &'static str,
    /// The version of the server.
    version: &'static str,
}

const OK: Health = Health { status: "ok", version: env!("CARGO_PKG_VERSION") };

/// Reports that the process is alive.
#[utoipa::path(get, path = "/healthz", tag = "operation", responses((status = 200, body = Health)), security(()))]
async fn alive() -> impl IntoResponse {
    ([(header::CACHE_CONTROL, "no-store")], Json(OK))
}

/// Reports whether the server can work.
///
/// It can if it was not asked to stop, the database answers and the schema fits. On SQLite, the file must also still be the
/// opened one and be writable. Otherwise the answer is 503, with a `reason` for schema and file problems.
#[utoipa::path(get, path = "/readyz", tag = "operation", responses((status = 200, body = Health)), security(()))]
async fn ready(State(app): State<Shared>) -> Result<impl IntoResponse, Problem> {
    if app.is_draining() {
        return Err(Problem::new(Code::Stopping));
    }
    app.trusted().ready().await.map_err(|error| match error {
        Error::Store(StoreError::Schema(cause)) => {
            tracing::warn!(%cause, "the schema does not fit any more");
            Problem::unavailable("schema")
        }
        error => error.into(),
    })?;
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(OK)))
}
