//! Signing in: passwords, one-time links, the console's session.

use utoipa_axum::router::OpenApiRouter;

use super::app::Shared;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
}
