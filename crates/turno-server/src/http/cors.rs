//! Which pages of other origins may call the API from a browser.
//!
//! They come with a token, never with the console's cookie: credentials are not allowed across origins. A browser asks
//! beforehand without a token, so that question is answered before anybody is asked who they are.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, Method, header};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::caller::ACTOR;
use super::guard::REQUEST_ID;

/// For how long a browser may remember the answer.
const REMEMBERED: Duration = Duration::from_secs(600);

/// The layer for these origins; without any, nothing at all is answered to other pages.
pub(super) fn layer(origins: &[String]) -> Option<CorsLayer> {
    if origins.is_empty() {
        return None;
    }
    let named = origins.iter().filter_map(|origin| HeaderValue::from_str(origin.trim_end_matches('/')).ok());
    let allowed =
        if origins.iter().any(|origin| origin == "*") { AllowOrigin::any() } else { AllowOrigin::list(named) };
    let sent = [
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
            .allow_headers(sent)
            .expose_headers([header::ETAG, header::RETRY_AFTER, REQUEST_ID])
            .max_age(REMEMBERED),
    )
}

#[cfg(test)]
mod tests {
    use crate::http::testing::Bench;
    use axum::http::HeaderMap;

    const PAGE: &str = "https://tienda.example";

    fn said(headers: &HeaderMap, name: &str) -> Option<String> {
        headers.get(name).map(|value| value.to_str().expect("text").to_owned())
    }

    fn asking(origin: &str) -> [(&str, &str); 3] {
        let wanted = "authorization,idempotency-key,turno-actor,last-event-id";
        [("origin", origin), ("access-control-request-method", "POST"), ("access-control-request-headers", wanted)]
    }

    #[tokio::test]
    async fn a_page_of_a_listed_origin_may_call_and_reads_the_answer_too_if_it_is_a_refusal() {
        let bench = Bench::with(|app| app.cors_origins = vec![PAGE.to_owned()]).await;
        let asked = bench.call("OPTIONS", "/v1/leases/caja:1/claim", &asking(PAGE)).await;
        assert!(asked.status().is_success(), "without a token: {}", asked.status());
        let headers = asked.headers();
        assert_eq!(said(headers, "access-control-allow-origin").as_deref(), Some(PAGE));
        let allowed = said(headers, "access-control-allow-headers").expect("some headers");
        for name in ["authorization", "content-type", "idempotency-key", "turno-actor", "last-event-id", "x-request-id"]
        {
            assert!(allowed.contains(name), "{name} in {allowed}");
        }
        assert_eq!(said(headers, "access-control-allow-credentials"), None);
        let refused = bench.call("POST", "/v1/leases/caja:1/claim", &[("origin", PAGE)]).await;
        assert_eq!(refused.status(), 401);
        assert_eq!(said(refused.headers(), "access-control-allow-origin").as_deref(), Some(PAGE));
        let exposed = said(refused.headers(), "access-control-expose-headers").expect("some headers");
        assert!(exposed.contains("retry-after") && exposed.contains("x-request-id"), "{exposed}");
    }

    #[tokio::test]
    async fn other_origins_are_told_nothing_and_without_a_list_all_are_others() {
        for origins in [vec![], vec![PAGE.to_owned()]] {
            let bench = Bench::with(|app| app.cors_origins = origins).await;
            for (method, path) in [("OPTIONS", "/v1/leases/caja:1/claim"), ("GET", "/healthz")] {
                let answer = bench.call(method, path, &asking("https://evil.example")).await;
                assert_eq!(said(answer.headers(), "access-control-allow-origin"), None, "{method} {path}");
            }
        }
    }

    #[tokio::test]
    async fn every_origin_is_let_in_by_a_star_and_never_with_credentials() {
        let bench = Bench::with(|app| app.cors_origins = vec!["*".to_owned()]).await;
        let asked = bench.call("OPTIONS", "/v1/me", &asking("https://anybody.example")).await;
        assert_eq!(said(asked.headers(), "access-control-allow-origin").as_deref(), Some("*"));
        assert_eq!(said(asked.headers(), "access-control-allow-credentials"), None);
    }
}
