//! Figures for Prometheus.

use utoipa_axum::router::OpenApiRouter;

use super::app::Shared;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
}
