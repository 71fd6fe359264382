//! The browser module, for pages of other applications too, which look whether it has changed.

use axum::http::header;
use axum::response::IntoResponse;

pub(super) async fn module() -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, "text/javascript; charset=utf-8"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
    ];
    (headers, include_str!("../../../../web/turno.js"))
}
