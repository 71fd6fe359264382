//! The browser module, for pages of other applications too, which look whether it has changed.

use axum::http::header;
use axum::response::IntoResponse;

pub(super) async fn module() -> impl IntoResponse {
    for_everybody("text/javascript; charset=utf-8", include_str!("../../../../web/turno.js"))
}

/// Its types, for editors and compilers.
pub(super) async fn module_types() -> impl IntoResponse {
    for_everybody("text/plain; charset=utf-8", include_str!("../../../../web/turno.d.ts"))
}

fn for_everybody(kind: &'static str, content: &'static str) -> impl IntoResponse {
    let headers =
        [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache"), (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*")];
    (headers, content)
}
