//! CORS: which pages of other origins may call the API from a browser.
//!
//! They call with a token and never with the console's cookie, because credentials are not allowed across origins. A
//! preflight request carries no token, so it is answered before authentication.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Method, header};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::caller::ACTOR;
use super::guard::REQUEST_ID;

/// How long a browser may cache the answer to a preflight request.
const REMEMBERED: Duration = Duration::from_secs(600);

/// Returns the layer for these origins, or `None` if the list is empty. Then browsers refuse calls from other origins.
pub(super) fn layer(origins: &[String]) -> Option<CorsLayer> {
    if origins.is_empty() {
        return None;
    }
    let named = origins.iter().filter_map(|origin| HeaderValue::from_str(origin.trim_end_matches('/')).ok());
    let allowed =
        if origins.iter().any(|origin| origin == "*") { AllowOrigin::any() } else { AllowOrigin::list(named) };
    let headers = [
        header::AUTHORIZATION,
        header::CONTENT_TYPE,
        header::ACCEPT_LANGUAGE,
        header::IF_MATCH,
        REQUEST_ID,
        HeaderName::from_static("idempotency-key"),
        HeaderName::from_static(ACTOR),
        HeaderName::from_static("last-event-id"),
    ];
    Some(
        CorsLayer::new()
            .allow_origin(allowed)
            .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
            .allow_headers(headers)
            .expose_headers([header::ETAG, header::RETRY_AFTER, REQUEST_ID])
            .max_age(REMEMBERED),
    )
}

#[cfg(test)]
mod tests {
    use crate::http::testing::Bench;
    use axum::http::HeaderMap;

    const PAGE: &str = "https://tienda.example";

    fn header_text(headers: &HeaderMap, name: &str) -> Option<String> {
        headers.get(name).map(|value| value.to_str().expect("the header is text").to_owned())
    }

    fn preflight(origin: &str) -> [(&str, &str); 3] {
        let wanted = "authorization,idempotency-key,turno-actor,last-event-id";
        [("origin", origin), ("access-control-request-method", "POST"), ("access-control-request-headers", wanted)]
    }

    #[tokio::test]
    async fn listed_origin_may_call_and_read_refusals() {
        let bench = Bench::with(|app| app.cors_origins = vec![PAGE.to_owned()]).await;
        let asked = bench.call("OPTIONS", "/v1/leases/caja:1/claim", &preflight(PAGE)).await;
        assert!(asked.status().is_success(), "without a token: {}", asked.status());
        let headers = asked.headers();
        assert_eq!(header_text(headers, "access-control-allow-origin").as_deref(), Some(PAGE));
        let allowed = header_text(headers, "access-control-allow-headers").expect("the header is set");
        for name in ["authorization", "content-type", "idempotency-key", "turno-actor", "last-event-id", "x-request-id"]
        {
            assert!(allowed.contains(name), "{name} in {allowed}");
        }
        assert_eq!(header_text(headers, "access-control-allow-credentials"), None);
        let refused = bench.call("POST", "/v1/leases/caja:1/claim", &[("origin", PAGE)]).await;
        assert_eq!(refused.status(), 401);
        assert_eq!(header_text(refused.headers(), "access-control-allow-origin").as_deref(), Some(PAGE));
        let exposed = header_text(refused.headers(), "access-control-expose-headers").expect("the header is set");
        assert!(exposed.contains("retry-after") && exposed.contains("x-request-id"), "{exposed}");
    }

    #[tokio::test]
    async fn unlisted_origin_gets_no_cors_headers() {
        for origins in [vec![], vec![PAGE.to_owned()]] {
            let bench = Bench::with(|app| app.cors_origins = origins).await;
            for (method, path) in [("OPTIONS", "/v1/leases/caja:1/claim"), ("GET", "/healthz")] {
                let answer = bench.call(method, path, &preflight("https://evil.example")).await;
                assert_eq!(header_text(answer.headers(), "access-control-allow-origin"), None, "{method} {path}");
            }
        }
    }

    #[tokio::test]
    async fn star_allows_every_origin_without_credentials() {
        let bench = Bench::with(|app| app.cors_origins = vec!["*".to_owned()]).await;
        let asked = bench.call("OPTIONS", "/v1/me", &preflight("https://anybody.example")).await;
        assert_eq!(header_text(asked.headers(), "access-control-allow-origin").as_deref(), Some("*"));
        assert_eq!(header_text(asked.headers(), "access-control-allow-credentials"), None);
    }
}
