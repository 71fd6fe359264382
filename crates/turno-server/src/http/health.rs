//! `GET /healthz`: the process is alive. Whether the database is reachable will be `/readyz`'s to say.

use axum::http::header;
use axum::response::IntoResponse;

pub(super) async fn alive() -> impl IntoResponse {
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (headers, concat!(r#"{"status":"ok","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#))
}
