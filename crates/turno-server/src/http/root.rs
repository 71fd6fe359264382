//! Serves the browser module `turno.js`, also to pages of other applications. Browsers revalidate it on every use.

use axum::http::header;
use axum::response::IntoResponse;

pub(super) async fn module() -> impl IntoResponse {
    public_file("text/javascript; charset=utf-8", include_str!("../../../../web/turno.js"))
}

/// Serves the module's type definitions.
pub(super) async fn module_types() -> impl IntoResponse {
    public_file("text/plain; charset=utf-8", include_str!("../../../../web/turno.d.ts"))
}

fn public_file(kind: &'static str, content: &'static str) -> impl IntoResponse {
    let headers =
        [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache"), (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*")];
    (headers, content)
}
