//! Tasks over HTTP: lines, processing under one's own lock, stock.

use utoipa_axum::router::OpenApiRouter;

use super::app::Shared;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
}
