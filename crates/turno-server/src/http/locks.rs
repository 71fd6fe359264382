//! `GET /locks` and `POST /locks/clear`: what monitors of lane queues read.

use utoipa_axum::router::OpenApiRouter;

use super::app::Shared;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
}
